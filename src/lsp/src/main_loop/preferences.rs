//! What the user wants: the client's settings and the configurations on disk, as they change.

use std::path::PathBuf;

use lsp_server::Response;
use lsp_types::notification::{self as notifications, Notification as _};
use lsp_types::request as requests;
use ptx_check::Options;
use ptx_config::{FILE_NAME, PYPROJECT};
use serde_json::json;

use super::Server;
use crate::configuration::{Reader, path_of};
use crate::settings::{SECTION, Settings};

impl Server {
    /// The client is ready for requests: it is asked for its settings and for news of files.
    pub(super) fn initialized(&mut self) {
        if self.client.watches_files {
            let watcher = |name: &str| json!({ "globPattern": format!("**/{name}") });
            // Launch files have any name.
            let options = json!({ "watchers": [watcher("*.toml")] });
            let registration = lsp_types::Registration {
                id: "files".to_owned(),
                method: notifications::DidChangeWatchedFiles::METHOD.to_owned(),
                register_options: Some(options),
            };
            self.ask::<requests::RegisterCapability>(lsp_types::RegistrationParams {
                registrations: vec![registration],
            });
        }
        self.ask_for_settings();
    }

    /// Takes the news of files: configurations, and launch files.
    pub(super) fn files_changed(&mut self, params: &lsp_types::DidChangeWatchedFilesParams) {
        let files: Vec<PathBuf> =
            params.changes.iter().filter_map(|change| path_of(change.uri.as_str())).collect();
        let is_configuration =
            |file: &PathBuf| file.file_name().is_none_or(|name| name == FILE_NAME || name == PYPROJECT);
        let (configurations, launches): (Vec<_>, Vec<_>) = files.into_iter().partition(is_configuration);
        if !configurations.is_empty() {
            self.reconfigure();
        }
        if !launches.is_empty() {
            self.launches_changed(&launches);
        }
    }

    fn ask_for_settings(&mut self) {
        if self.client.configuration {
            let item = lsp_types::ConfigurationItem { scope_uri: None, section: Some(SECTION.into()) };
            let params = lsp_types::ConfigurationParams { items: vec![item] };
            self.asked_for_settings = Some(self.ask::<requests::WorkspaceConfiguration>(params));
        }
    }

    pub(super) fn settings(&mut self, params: &lsp_types::DidChangeConfigurationParams) {
        if params.settings.is_null() {
            self.ask_for_settings();
        } else {
            self.configure(Settings::read(&params.settings));
        }
    }

    pub(super) fn response(&mut self, response: Response) {
        if self.asked_for_settings.take_if(|id| *id == response.id).is_some()
            && let Ok(settings) = response.response_result
            // A client that has none leaves those that it began with.
            && let Some(settings) = settings.get(0).filter(|it| !it.is_null())
        {
            self.configure(Settings::read(settings));
        }
    }

    /// Takes other settings of the client.
    pub(super) fn configure(&mut self, settings: Result<Settings, String>) {
        match settings {
            Ok(settings) => {
                let is_other = settings.hides_lenses != self.settings.hides_lenses;
                self.settings = settings;
                self.reconfigure();
                if is_other && self.client.refreshes_lenses {
                    self.ask::<requests::CodeLensRefresh>(());
                }
            }
            Err(message) => self.complain(format!("ptx-tc settings: {message}")),
        }
    }

    /// Checks those documents anew whose options have changed.
    pub(super) fn reconfigure(&mut self) {
        let keys: Vec<String> = self.documents.keys().cloned().collect();
        let mut changed = false;
        for (key, options) in keys.iter().zip(self.options(&keys)) {
            if let Some(document) = self.documents.get_mut(key)
                && document.options != options
            {
                document.options = options;
                self.renew(key);
                changed = true;
            }
        }
        if changed && self.client.refreshes_diagnostics {
            self.ask::<requests::WorkspaceDiagnosticRefresh>(());
        }
    }

    /// The options for documents, by the configurations on disk. A new mistake in them is said.
    pub(super) fn options(&mut self, uris: &[String]) -> Vec<Options> {
        let mut reader = Reader::new(&self.settings);
        let (options, problems): (Vec<_>, Vec<_>) = uris.iter().map(|uri| reader.options(uri)).unzip();
        let problem = problems.into_iter().flatten().next();
        if let Some(problem) = problem.clone().filter(|_| problem != self.complaint) {
            self.complain(format!("ptx-tc: {problem}"));
        }
        self.complaint = problem;
        options
    }

    fn complain(&self, message: String) {
        let typ = lsp_types::MessageType::ERROR;
        self.notify::<notifications::ShowMessage>(lsp_types::ShowMessageParams { typ, message });
    }
}
