//! The conversation with the client.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::{Receiver, Sender, select};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::InitializeParams;
use lsp_types::notification::{self as notifications, Notification as _};
use lsp_types::request::{self as requests, Request as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::configuration::Reader;
use super::document::{Document, State};
use super::handlers::{self, Context, Failure, Needs};
use super::settings::{Client, SECTION, Settings};
use super::text::{Change, Place, Text};
use super::to_proto;
use super::transport::{Outgoing, Transport};
use super::worker::{self, Event, Job, Jobs};
use crate::Options;
use crate::config::FILE_NAME;
use crate::source::Span;

/// Serves one client on standard input and output until it leaves; whether it said goodbye.
///
/// # Errors
/// When a thread cannot be started or standard output cannot be written to.
pub fn run() -> io::Result<bool> {
    let transport = Transport::stdio()?;
    let polite = match initialize(&transport) {
        Some((client, settings)) => {
            let (jobs, news) = worker::start()?;
            let mut server = Server::new(client, settings, transport.outgoing.clone(), jobs);
            server.serve(&transport.incoming, &news)
        }
        None => false,
    };
    transport.finish()?;
    Ok(polite)
}

/// Waits for `initialize` and answers it; `None` when the client leaves before.
fn initialize(transport: &Transport) -> Option<(Client, Result<Settings, String>)> {
    for message in &transport.incoming {
        match message {
            Message::Request(request) if request.method == requests::Initialize::METHOD => {
                let params = match serde_json::from_value::<InitializeParams>(request.params) {
                    Ok(params) => params,
                    Err(error) => {
                        let code = ErrorCode::InvalidParams as i32;
                        let answer = Response::new_err(request.id, code, error.to_string());
                        transport.outgoing.send(answer.into()).ok()?;
                        continue;
                    }
                };
                let client = Client::new(&params);
                let settings = params.initialization_options.unwrap_or_default();
                let answer = Response::new_ok(request.id, to_proto::capabilities(client));
                transport.outgoing.send(answer.into()).ok()?;
                return Some((client, Settings::read(&settings)));
            }
            Message::Request(request) => {
                let code = ErrorCode::ServerNotInitialized as i32;
                let answer = Response::new_err(request.id, code, "send `initialize` first".to_owned());
                transport.outgoing.send(answer.into()).ok()?;
            }
            Message::Notification(it) if it.method == notifications::Exit::METHOD => return None,
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
    None
}

struct Server {
    client: Client,
    settings: Settings,
    /// What was wrong with the configuration when it was last read; it is said once.
    complaint: Option<String>,
    out: Sender<Outgoing>,
    jobs: Jobs,
    documents: HashMap<String, Document>,
    revisions: u64,
    /// Our requests to the client are numbered; those for settings are remembered.
    requests: i32,
    asked_for_settings: Option<RequestId>,
    shutting_down: bool,
}

impl Server {
    fn new(client: Client, settings: Result<Settings, String>, out: Sender<Outgoing>, jobs: Jobs) -> Self {
        let mut server = Self {
            client,
            settings: Settings::default(),
            complaint: None,
            out,
            jobs,
            documents: HashMap::new(),
            revisions: 0,
            requests: 0,
            asked_for_settings: None,
            shutting_down: false,
        };
        server.configure(settings);
        server
    }

    /// Runs until the client leaves; whether it said goodbye.
    fn serve(&mut self, incoming: &Receiver<Message>, news: &Receiver<Event>) -> bool {
        loop {
            select! {
                recv(incoming) -> message => {
                    let Ok(message) = message else { return self.shutting_down };
                    if self.message(message) {
                        return self.shutting_down;
                    }
                    // All edits that wait are applied before the text is looked at.
                    while let Ok(message) = incoming.try_recv() {
                        if self.message(message) {
                            return self.shutting_down;
                        }
                    }
                    self.dispatch();
                }
                recv(news) -> event => {
                    let Ok(event) = event else { return false };
                    self.event(event);
                }
            }
        }
    }

    /// Takes one message; whether it was the last.
    fn message(&mut self, message: Message) -> bool {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(it) if it.method == notifications::Exit::METHOD => return true,
            Message::Notification(notification) => self.notification(notification),
            Message::Response(response) => self.response(response),
        }
        false
    }

    fn send(&self, message: impl Into<Outgoing>) {
        // When the writer is gone the client is, too, and the input ends soon.
        let _ = self.out.send(message.into());
    }

    fn fail(&self, id: RequestId, failure: Failure) {
        let mut response = Response::new_err(id, failure.code as i32, failure.message);
        if let Err(error) = &mut response.response_result {
            error.data = failure.data;
        }
        self.send(response);
    }

    fn notify<N: lsp_types::notification::Notification>(&self, params: N::Params) {
        self.send(Notification::new(N::METHOD.to_owned(), params));
    }

    fn ask<R: lsp_types::request::Request>(&mut self, params: R::Params) -> RequestId {
        self.requests += 1;
        let id = RequestId::from(format!("ptx-tc-{}", self.requests));
        self.send(Request::new(id.clone(), R::METHOD.to_owned(), params));
        id
    }

    // ---- requests ----

    fn request(&mut self, request: Request) {
        if self.shutting_down {
            return self
                .fail(request.id, Failure::new(ErrorCode::InvalidRequest, "the server is shutting down"));
        }
        match request.method.as_str() {
            requests::Shutdown::METHOD => {
                self.shutting_down = true;
                self.send(Response::new_ok(request.id, Value::Null));
            }
            requests::WorkspaceSymbolRequest::METHOD => self.workspace_symbols(request),
            requests::ExecuteCommand::METHOD => self.execute(request),
            method => {
                let Some(needs) = handlers::needs(method) else {
                    let failure = Failure::new(ErrorCode::MethodNotFound, format!("no method `{method}`"));
                    return self.fail(request.id, failure);
                };
                let Some(uri) = document_of(&request) else {
                    let failure = Failure::new(ErrorCode::InvalidParams, "no `textDocument.uri`");
                    return self.fail(request.id, failure);
                };
                let Some(document) = self.documents.get_mut(&uri) else {
                    let failure = Failure::new(ErrorCode::InvalidParams, format!("`{uri}` is not open"));
                    return self.fail(request.id, failure);
                };
                if document.answers_early(&request.method, needs) {
                    let last = document.last.as_ref().map(|(snapshot, changes)| (&**snapshot, &**changes));
                    let Request { id, method, params } = request;
                    let text = &document.text;
                    let result =
                        guarded(&method, || handlers::early(self.client, text, &method, params, last));
                    return self.respond(id, result);
                }
                document.waiting.push((request, needs));
                self.answer(&uri);
            }
        }
    }

    /// Answers the requests to a document that have what they need.
    fn answer(&mut self, uri: &str) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        let snapshot = match &document.state {
            State::Pending => return,
            State::Failed => None,
            State::Known(snapshot) => Some(Arc::clone(snapshot)),
        };
        let checked = snapshot.as_ref().is_none_or(|it| it.is_checked());
        let waiting = std::mem::take(&mut document.waiting);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, needs)| checked || *needs != Needs::Findings);
        document.waiting = waiting;
        let (uri, version) = (document.uri.clone(), document.version);
        for (request, _) in ready {
            let Request { id, method, params } = request;
            let Some(snapshot) = &snapshot else {
                self.fail(id, Failure::new(ErrorCode::RequestFailed, "the text cannot be parsed"));
                continue;
            };
            let context = Context { client: self.client, snapshot, uri: &uri, version };
            let result = guarded(&method, || handlers::handle(&context, &method, params));
            self.respond(id, result);
        }
    }

    fn respond(&self, id: RequestId, result: Result<Value, Failure>) {
        match result {
            Ok(value) => self.send(Response::new_ok(id, value)),
            Err(failure) => self.fail(id, failure),
        }
    }

    fn workspace_symbols(&mut self, request: Request) {
        let Ok(params) = serde_json::from_value::<lsp_types::WorkspaceSymbolParams>(request.params) else {
            return self.fail(request.id, Failure::new(ErrorCode::InvalidParams, "no `query`"));
        };
        let mut documents: Vec<_> = self
            .documents
            .values()
            .filter_map(|document| match &document.state {
                State::Known(snapshot) => Some((&document.uri, document.version, snapshot.as_ref())),
                State::Pending | State::Failed => None,
            })
            .collect();
        documents.sort_by_key(|(uri, ..)| *uri);
        let symbols = handlers::workspace_symbols(self.client, &documents, &params.query);
        self.send(Response::new_ok(request.id, symbols));
    }

    fn execute(&mut self, request: Request) {
        let params = serde_json::from_value::<lsp_types::ExecuteCommandParams>(request.params);
        let explained = params.ok().and_then(|params| handlers::explain(&params));
        match explained {
            Some((text, message)) => {
                self.notify::<notifications::ShowMessage>(lsp_types::ShowMessageParams {
                    typ: lsp_types::MessageType::INFO,
                    message,
                });
                self.send(Response::new_ok(request.id, text));
            }
            None => self.fail(request.id, Failure::new(ErrorCode::InvalidParams, "no such command or rule")),
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        let mut cancelled = Vec::new();
        for document in self.documents.values_mut() {
            document.waiting.retain(|(request, _)| {
                let hit = request.id == *id;
                if hit {
                    cancelled.push(request.id.clone());
                }
                !hit
            });
        }
        for id in cancelled {
            self.fail(id, Failure::new(ErrorCode::RequestCanceled, "cancelled"));
        }
    }

    // ---- notifications ----

    fn notification(&mut self, notification: Notification) {
        let method = notification.method.clone();
        let result = match method.as_str() {
            notifications::DidOpenTextDocument::METHOD => params(notification).map(|it| self.open(it)),
            notifications::DidChangeTextDocument::METHOD => {
                params(notification).and_then(|it| self.change(it))
            }
            notifications::DidCloseTextDocument::METHOD => params(notification).map(|it| self.close(&it)),
            notifications::Initialized::METHOD => {
                self.initialized();
                Ok(())
            }
            notifications::DidChangeConfiguration::METHOD => {
                params(notification).map(|it| self.settings(&it))
            }
            // Only configurations are watched.
            notifications::DidChangeWatchedFiles::METHOD => {
                self.reconfigure();
                Ok(())
            }
            notifications::Cancel::METHOD => params(notification).map(|it: lsp_types::CancelParams| {
                self.cancel(&match it.id {
                    lsp_types::NumberOrString::Number(id) => id.into(),
                    lsp_types::NumberOrString::String(id) => id.into(),
                });
            }),
            // `didSave`, `$/setTrace` and whatever else there may be.
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.log(format!("`{method}`: {error}"));
        }
    }

    fn log(&self, message: String) {
        let typ = lsp_types::MessageType::ERROR;
        self.notify::<notifications::LogMessage>(lsp_types::LogMessageParams { typ, message });
    }

    fn open(&mut self, params: lsp_types::DidOpenTextDocumentParams) {
        let item = params.text_document;
        let key = item.uri.as_str().to_owned();
        if let Some(earlier) = self.documents.remove(&key) {
            self.abandon(earlier);
        }
        let options = self.options(std::slice::from_ref(&key)).pop().unwrap_or_default();
        let document = Document {
            uri: item.uri,
            version: item.version,
            text: Text::new(item.text),
            options,
            revision: 0,
            latest: Arc::default(),
            dirty: false,
            state: State::Pending,
            last: None,
            waiting: Vec::new(),
        };
        self.documents.insert(key.clone(), document);
        self.renew(&key);
    }

    fn change(&mut self, params: lsp_types::DidChangeTextDocumentParams) -> Result<(), String> {
        let key = params.text_document.uri.as_str();
        let encoding = self.client.encoding;
        let Some(document) = self.documents.get_mut(key) else { return Err(format!("`{key}` is not open")) };
        document.version = params.text_document.version;
        document.retire();
        let mut misplaced = None;
        for change in params.content_changes {
            let Some(range) = change.range else {
                document.text = Text::new(change.text);
                document.last = None;
                continue;
            };
            let offset = |place: lsp_types::Position| {
                let place = Place { line: place.line, character: place.character };
                document.text.offset(place, encoding)
            };
            // The protocol moves places outside the text to its nearest end. For a line that is not
            // there, or a range that ends before it starts, it has no rule: the client is told.
            if range.end.line >= document.text.line_count() || range.end < range.start {
                misplaced = Some(range);
            }
            let (start, end) = (offset(range.start), offset(range.end));
            let span = Span::new(start.min(end), start.max(end));
            document.text.replace(span, &change.text);
            if let Some((_, changes)) = &mut document.last {
                changes.push(Change { span, inserted: change.text.len() as u32 });
            }
        }
        self.renew(key);
        match misplaced {
            None => Ok(()),
            Some(lsp_types::Range { start, end }) => Err(format!(
                "the edit from {}:{} to {}:{} is not in the text of `{key}`",
                start.line, start.character, end.line, end.character
            )),
        }
    }

    fn close(&mut self, params: &lsp_types::DidCloseTextDocumentParams) {
        let Some(document) = self.documents.remove(params.text_document.uri.as_str()) else { return };
        if !self.client.pulls_diagnostics {
            self.notify::<notifications::PublishDiagnostics>(lsp_types::PublishDiagnosticsParams {
                uri: document.uri.clone(),
                diagnostics: Vec::new(),
                version: None,
            });
        }
        self.abandon(document);
    }

    /// Fails what still waits for a document, or a version of it, that is no more.
    fn abandon(&mut self, document: Document) {
        document.latest.store(u64::MAX, Ordering::Relaxed);
        for (request, _) in document.waiting {
            self.fail(request.id, Failure::superseded(&request.method));
        }
    }

    /// Makes what was known of the document's text void.
    fn renew(&mut self, key: &str) {
        let Some(document) = self.documents.get_mut(key) else { return };
        self.revisions += 1;
        document.revision = self.revisions;
        document.latest.store(self.revisions, Ordering::Relaxed);
        document.state = State::Pending;
        document.dirty = true;
        for (request, _) in std::mem::take(&mut document.waiting) {
            self.fail(request.id, Failure::superseded(&request.method));
        }
    }

    /// Hands changed texts to the worker.
    fn dispatch(&mut self) {
        for (uri, document) in &mut self.documents {
            if std::mem::take(&mut document.dirty) {
                let job = Job {
                    uri: uri.clone(),
                    revision: document.revision,
                    text: document.text.clone(),
                    options: document.options.clone(),
                    latest: Arc::clone(&document.latest),
                };
                if !self.jobs.put(job) {
                    document.state = State::Failed;
                }
            }
        }
    }

    // ---- settings ----

    /// The client is ready for requests: it is asked for its settings and for news of files.
    fn initialized(&mut self) {
        if self.client.watches_files {
            let pattern = format!("**/{FILE_NAME}");
            let options = json!({ "watchers": [{ "globPattern": pattern }] });
            let registration = lsp_types::Registration {
                id: "configurations".to_owned(),
                method: notifications::DidChangeWatchedFiles::METHOD.to_owned(),
                register_options: Some(options),
            };
            self.ask::<requests::RegisterCapability>(lsp_types::RegistrationParams {
                registrations: vec![registration],
            });
        }
        self.ask_for_settings();
    }

    fn ask_for_settings(&mut self) {
        if self.client.configuration {
            let item = lsp_types::ConfigurationItem { scope_uri: None, section: Some(SECTION.into()) };
            let params = lsp_types::ConfigurationParams { items: vec![item] };
            self.asked_for_settings = Some(self.ask::<requests::WorkspaceConfiguration>(params));
        }
    }

    fn settings(&mut self, params: &lsp_types::DidChangeConfigurationParams) {
        if params.settings.is_null() {
            self.ask_for_settings();
        } else {
            self.configure(Settings::read(&params.settings));
        }
    }

    fn response(&mut self, response: Response) {
        if self.asked_for_settings.take_if(|id| *id == response.id).is_some()
            && let Ok(settings) = response.response_result
            // A client that has none leaves those that it began with.
            && let Some(settings) = settings.get(0).filter(|it| !it.is_null())
        {
            self.configure(Settings::read(settings));
        }
    }

    /// Takes other settings of the client.
    fn configure(&mut self, settings: Result<Settings, String>) {
        match settings {
            Ok(settings) => {
                self.settings = settings;
                self.reconfigure();
            }
            Err(message) => self.complain(format!("ptx-tc settings: {message}")),
        }
    }

    /// Checks those documents anew whose options have changed.
    fn reconfigure(&mut self) {
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
    fn options(&mut self, uris: &[String]) -> Vec<Options> {
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

    // ---- news from the worker ----

    fn event(&mut self, event: Event) {
        let (uri, revision) = match &event {
            Event::Parsed { uri, revision, .. } | Event::Checked { uri, revision } => {
                (uri.clone(), *revision)
            }
        };
        let Some(document) = self.documents.get_mut(&uri) else { return };
        if document.revision != revision {
            return;
        }
        if let Event::Parsed { snapshot, .. } = event {
            document.state = snapshot.map_or(State::Failed, State::Known);
            document.last = None;
        } else if let State::Known(snapshot) = &document.state
            && !self.client.pulls_diagnostics
        {
            let diagnostics = to_proto::diagnostics(self.client, snapshot, &document.uri);
            let params = lsp_types::PublishDiagnosticsParams {
                uri: document.uri.clone(),
                diagnostics,
                version: Some(document.version),
            };
            self.notify::<notifications::PublishDiagnostics>(params);
        }
        self.answer(&uri);
    }
}

fn params<T: DeserializeOwned>(notification: Notification) -> Result<T, String> {
    serde_json::from_value(notification.params).map_err(|error| error.to_string())
}

/// Handlers promise never to panic; should one do so all the same, only its request fails.
fn guarded(method: &str, handle: impl FnOnce() -> Result<Value, Failure>) -> Result<Value, Failure> {
    catch_unwind(AssertUnwindSafe(handle))
        .unwrap_or_else(|_| Err(Failure::new(ErrorCode::InternalError, format!("`{method}` failed"))))
}

/// The document that a request is about; all of ours name it in the same place.
fn document_of(request: &Request) -> Option<String> {
    Some(request.params.pointer("/textDocument/uri")?.as_str()?.to_owned())
}
