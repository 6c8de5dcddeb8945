//! The conversation with the client: what it says goes to whoever it concerns.

mod documents;
mod preferences;
mod simulations;

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, select};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self as notifications, Notification as _};
use lsp_types::request::{self as requests, Request as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use simulations::{Running, ticks};

use crate::document::{Document, State};
use crate::handlers::{self, Failure};
use crate::runs::{self, Ended, Job};
use crate::settings::{Client, Settings};
use crate::to_proto;
use crate::transport::{Outgoing, Transport};
use crate::worker::{self, Event, Jobs};

/// Serves one client on standard input and output until it leaves; whether it said goodbye.
///
/// # Errors
/// When a thread cannot be started or standard output cannot be written to.
pub fn run() -> io::Result<bool> {
    let transport = Transport::stdio()?;
    let polite = match initialize(&transport) {
        Some((client, settings)) => {
            let (jobs, news) = worker::start()?;
            let (simulator, ends) = runs::start()?;
            let out = transport.outgoing.clone();
            let mut server = Server::new(client, settings, out, jobs, simulator);
            server.serve(&transport.incoming, &news, &ends)
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
                if !request.params.is_object() {
                    let code = ErrorCode::InvalidParams as i32;
                    let answer =
                        Response::new_err(request.id, code, "`initialize` wants an object".to_owned());
                    transport.outgoing.send(answer.into()).ok()?;
                    continue;
                }
                let client = Client::new(&request.params);
                let answer = Response::new_ok(request.id, to_proto::capabilities(client));
                transport.outgoing.send(answer.into()).ok()?;
                let settings = request.params.get("initializationOptions");
                return Some((client, Settings::read(settings.unwrap_or_default())));
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
    /// Where runs of kernels are put, those that have not ended, and how many there have been.
    simulator: Sender<Job>,
    running: Vec<Running>,
    tickets: u64,
    /// When it is said how far they are.
    ticks: Receiver<Instant>,
    shutting_down: bool,
}

impl Server {
    fn new(
        client: Client,
        settings: Result<Settings, String>,
        out: Sender<Outgoing>,
        jobs: Jobs,
        simulator: Sender<Job>,
    ) -> Self {
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
            simulator,
            running: Vec::new(),
            tickets: 0,
            ticks: ticks(false),
            shutting_down: false,
        };
        server.configure(settings);
        server
    }

    /// Runs until the client leaves; whether it said goodbye.
    fn serve(
        &mut self,
        incoming: &Receiver<Message>,
        news: &Receiver<Event>,
        ends: &Receiver<Ended>,
    ) -> bool {
        loop {
            let ticks = self.ticks.clone();
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
                recv(ends) -> end => {
                    let Ok(end) = end else { return false };
                    self.ended(end);
                }
                recv(ticks) -> _ => self.tick(),
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
                self.stop_all_runs();
                self.send(Response::new_ok(request.id, Value::Null));
            }
            requests::WorkspaceSymbolRequest::METHOD => self.workspace_symbols(request),
            requests::ExecuteCommand::METHOD => self.execute(request),
            requests::CodeLensRequest::METHOD if self.settings.hides_lenses => {
                self.send(Response::new_ok(request.id, json!([])));
            }
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
        let Ok(params) = params else {
            return self.fail(request.id, Failure::new(ErrorCode::InvalidParams, "no such command"));
        };
        match params.command.as_str() {
            to_proto::SIMULATE => return self.simulate(request.id, params),
            to_proto::CANCEL => return self.cancel_run(request.id, &params.arguments),
            _ => {}
        }
        match handlers::explain(&params) {
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
        self.cancel_request(id);
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
            notifications::DidChangeWatchedFiles::METHOD => {
                params(notification).map(|it| self.files_changed(&it))
            }
            notifications::Cancel::METHOD => params(notification).map(|it: lsp_types::CancelParams| {
                self.cancel(&match it.id {
                    lsp_types::NumberOrString::Number(id) => id.into(),
                    lsp_types::NumberOrString::String(id) => id.into(),
                });
            }),
            notifications::WorkDoneProgressCancel::METHOD => params(notification)
                .map(|it: lsp_types::WorkDoneProgressCancelParams| self.cancel_progress(&it.token)),
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
