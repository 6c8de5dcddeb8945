//! Open documents: their texts, what the worker finds out about them, and the requests that wait for
//! it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lsp_server::{ErrorCode, Request};
use lsp_types::{Diagnostic, notification as notifications};
use ptx_check::source::Span;

use super::{Server, guarded};
use crate::document::{Document, State};
use crate::handlers::{self, Context, Failure, Needs};
use crate::text::{Change, Place, Text};
use crate::to_proto;
use crate::worker::{Event, Job, name_of};

impl Server {
    pub(super) fn open(&mut self, params: lsp_types::DidOpenTextDocumentParams) {
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
            memory: Arc::default(),
            dirty: false,
            state: State::Pending,
            last: None,
            shows_runs: false,
            waiting: Vec::new(),
        };
        self.documents.insert(key.clone(), document);
        self.renew(&key);
    }

    pub(super) fn change(&mut self, params: lsp_types::DidChangeTextDocumentParams) -> Result<(), String> {
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

    pub(super) fn close(&mut self, params: &lsp_types::DidCloseTextDocumentParams) {
        let Some(document) = self.documents.remove(params.text_document.uri.as_str()) else { return };
        if !self.client.pulls_diagnostics || document.shows_runs {
            self.send_findings(&document, Vec::new(), None);
        }
        self.abandon(document);
    }

    /// Fails what still waits for a document, or a version of it, that is no more.
    fn abandon(&mut self, document: Document) {
        document.latest.store(u64::MAX, Ordering::Relaxed);
        self.supersede_runs(document.uri.as_str());
        for (request, _) in document.waiting {
            self.fail(request.id, Failure::superseded(&request.method));
        }
    }

    /// Makes what was known of the document's text void.
    pub(super) fn renew(&mut self, key: &str) {
        let Some(document) = self.documents.get_mut(key) else { return };
        self.revisions += 1;
        document.revision = self.revisions;
        document.latest.store(self.revisions, Ordering::Relaxed);
        document.state = State::Pending;
        document.dirty = true;
        let shown = std::mem::take(&mut document.shows_runs);
        for (request, _) in std::mem::take(&mut document.waiting) {
            self.fail(request.id, Failure::superseded(&request.method));
        }
        if let Some(document) = self.documents.get(key).filter(|_| shown) {
            self.send_findings(document, Vec::new(), Some(document.version));
        }
        self.supersede_runs(key);
    }

    /// Hands changed texts to the worker.
    pub(super) fn dispatch(&mut self) {
        for (uri, document) in &mut self.documents {
            if std::mem::take(&mut document.dirty) {
                // The worker looks at it, too. It fails for one that is too long to be shared.
                let _ = document.text.share(&name_of(document.uri.as_str()));
                let job = Job {
                    uri: uri.clone(),
                    revision: document.revision,
                    text: document.text.clone(),
                    options: document.options.clone(),
                    memory: Arc::clone(&document.memory),
                    latest: Arc::clone(&document.latest),
                };
                if !self.jobs.put(job) {
                    document.state = State::Failed;
                }
            }
        }
    }

    /// Answers the requests to a document that have what they need.
    pub(super) fn answer(&mut self, uri: &str) {
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

    pub(super) fn event(&mut self, event: Event) {
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
        } else if !self.client.pulls_diagnostics {
            self.publish(&uri);
        }
        self.answer(&uri);
    }

    /// Sends the findings of a document.
    pub(super) fn publish(&self, uri: &str) {
        let Some(document) = self.documents.get(uri) else { return };
        let State::Known(snapshot) = &document.state else { return };
        let diagnostics = to_proto::diagnostics(self.client, snapshot, &document.uri);
        self.send_findings(document, diagnostics, Some(document.version));
    }

    /// Sends the findings of runs alone.
    pub(super) fn publish_runs(&mut self, uri: &str) {
        let client = self.client;
        let Some(document) = self.documents.get_mut(uri) else { return };
        let State::Known(snapshot) = &document.state else { return };
        let diagnostics = to_proto::of_runs(client, snapshot, &document.uri);
        document.shows_runs = true;
        if let Some(document) = self.documents.get(uri) {
            self.send_findings(document, diagnostics, Some(document.version));
        }
    }

    fn send_findings(&self, document: &Document, diagnostics: Vec<Diagnostic>, version: Option<i32>) {
        let uri = document.uri.clone();
        let params = lsp_types::PublishDiagnosticsParams { uri, diagnostics, version };
        self.notify::<notifications::PublishDiagnostics>(params);
    }
}
