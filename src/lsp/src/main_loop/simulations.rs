//! Runs of kernels that the client asks for: their start, how far they are, and their end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossbeam_channel::{Receiver, never, tick};
use lsp_server::{ErrorCode, RequestId, Response};
use lsp_types::notification::{self as notifications};
use lsp_types::request as requests;
use lsp_types::{ExecuteCommandParams, ProgressToken, WorkDoneProgressCreateParams};
use ptx_simulation::Progress;
use serde_json::{Value, json};

use super::Server;
use crate::document::State;
use crate::handlers::Failure;
use crate::runs::{self, Ended, Job, Run, Wish};
use crate::snapshot::Snapshot;
use crate::to_proto;

/// A run that the client waits for.
pub(super) struct Running {
    ticket: u64,
    request: RequestId,
    /// The document.
    uri: String,
    snapshot: Arc<Snapshot>,
    wish: Wish,
    progress: Arc<Progress>,
    /// What the client calls it, if it shows how far it is.
    token: Option<ProgressToken>,
}

/// Between what the client is told of how far runs are.
const BETWEEN: Duration = Duration::from_millis(250);

/// When the client is told how far runs are: never, as long as there is none.
pub(super) fn ticks(is_any: bool) -> Receiver<std::time::Instant> {
    if is_any { tick(BETWEEN) } else { never() }
}

impl Server {
    /// Starts a run, which is answered at its end.
    pub(super) fn simulate(&mut self, id: RequestId, params: ExecuteCommandParams) {
        let (uri, snapshot, wish) = match self.wished(&params.arguments) {
            Ok(wished) => wished,
            Err(failure) => return self.fail(id, failure),
        };
        if matches!(snapshot.run(&wish), Some(Run::Started)) {
            return self.fail(id, Failure::new(ErrorCode::RequestFailed, "this is running already"));
        }
        self.tickets += 1;
        let mut token = params.work_done_progress_params.work_done_token;
        if token.is_none() && self.client.shows_progress {
            let own = ProgressToken::String(format!("ptx-tc-run-{}", self.tickets));
            let params = WorkDoneProgressCreateParams { token: own.clone() };
            self.ask::<requests::WorkDoneProgressCreate>(params);
            token = Some(own);
        }
        let progress = Arc::<Progress>::default();
        let job = Job {
            ticket: self.tickets,
            snapshot: Arc::clone(&snapshot),
            wish: wish.clone(),
            progress: Arc::clone(&progress),
        };
        if self.simulator.send(job).is_err() {
            return self.fail(id, Failure::new(ErrorCode::InternalError, "the simulator is gone"));
        }
        snapshot.set_run(&wish, Some(Run::Started));
        let title = format!("Simulating {}", wish.kernel);
        self.tell(token.as_ref(), &json!({ "kind": "begin", "title": title, "cancellable": true }));
        let running = Running { ticket: self.tickets, request: id, uri, snapshot, wish, progress, token };
        self.running.push(running);
        self.ticks = ticks(true);
        self.refresh_lenses();
    }

    /// What a command wants to run: the address of a document, and the names of a kernel and of a launch file. The
    /// only kernel need not be named.
    fn wished(&self, arguments: &[Value]) -> Result<(String, Arc<Snapshot>, Wish), Failure> {
        let refused = |message: String| Failure::new(ErrorCode::InvalidParams, message);
        let text = |index: usize| arguments.get(index).and_then(Value::as_str);
        let uri = text(0).ok_or_else(|| refused("no address of a document".to_owned()))?;
        let document = self.documents.get(uri).ok_or_else(|| refused(format!("`{uri}` is not open")))?;
        let State::Known(snapshot) = &document.state else {
            return Err(Failure::superseded(to_proto::SIMULATE));
        };
        let kernels = runs::kernels(snapshot);
        let kernel = match (text(1), &kernels[..]) {
            (Some(name), all) if all.contains(&name) => name,
            (Some(name), _) => return Err(refused(format!("no kernel `{name}` that can be simulated"))),
            (None, [kernel]) => kernel,
            (None, all) => return Err(refused(format!("{} kernels; name one", all.len()))),
        };
        let launch = text(2);
        let has = |name: &str| {
            runs::launches(snapshot, &kernels).iter().any(|(file, of)| file == name && of == kernel)
        };
        if let Some(name) = launch.filter(|name| !has(name)) {
            return Err(refused(format!("no launch file `{name}` for `{kernel}`")));
        }
        let wish = Wish { kernel: kernel.to_owned(), launch: launch.map(str::to_owned) };
        Ok((uri.to_owned(), Arc::clone(snapshot), wish))
    }

    /// Says how far the runs are.
    pub(super) fn tick(&self) {
        for Running { progress, token, .. } in &self.running {
            let instructions = progress.instructions.load(Ordering::Relaxed);
            let message = match progress.runs.load(Ordering::Relaxed) {
                // Another one runs first.
                0 => "waiting".to_owned(),
                1 => format!("{instructions} warp instructions"),
                runs => format!("{instructions} warp instructions in {runs} runs"),
            };
            self.tell(token.as_ref(), &json!({ "kind": "report", "message": message }));
        }
    }

    fn tell(&self, token: Option<&ProgressToken>, value: &Value) {
        if let Some(token) = token {
            let params = json!({ "token": token, "value": value });
            self.send(lsp_server::Notification::new("$/progress".to_owned(), params));
        }
    }

    /// Takes the end of a run.
    pub(super) fn ended(&mut self, Ended { ticket, ran }: Ended) {
        let Some(at) = self.running.iter().position(|it| it.ticket == ticket) else { return };
        let running = self.running.remove(at);
        match ran {
            Ok(ran) => {
                let Wish { kernel, launch } = &running.wish;
                let summary = ran.summary();
                let result = json!({
                    "kernel": kernel,
                    "launch": launch,
                    "verdict": ran.verdict,
                    "findings": ran.found,
                    "summary": summary,
                });
                running.snapshot.set_run(&running.wish, Some(Run::Ended(Arc::new(ran))));
                self.finish(&running, &summary);
                if !self.client.refreshes_lenses {
                    let message = format!("{kernel}: {summary}");
                    self.show(message);
                }
                self.send(Response::new_ok(running.request, result));
                self.renew_diagnostics(&running.uri);
            }
            Err(message) => {
                running.snapshot.set_run(&running.wish, None);
                self.finish(&running, "not started");
                self.fail(running.request, Failure::new(ErrorCode::RequestFailed, message));
            }
        }
    }

    fn show(&self, message: String) {
        let typ = lsp_types::MessageType::INFO;
        self.notify::<notifications::ShowMessage>(lsp_types::ShowMessageParams { typ, message });
    }

    fn finish(&mut self, running: &Running, message: &str) {
        self.tell(running.token.as_ref(), &json!({ "kind": "end", "message": message }));
        self.ticks = ticks(!self.running.is_empty());
        self.refresh_lenses();
    }

    /// Shows findings that are there in addition.
    fn renew_diagnostics(&mut self, uri: &str) {
        if !self.client.pulls_diagnostics {
            self.publish(uri);
        } else if self.client.wants_runs_apart() {
            self.publish_runs(uri);
        } else {
            self.ask::<requests::WorkspaceDiagnosticRefresh>(());
        }
    }

    /// Takes that launch files have changed, or are new or gone. What ran as they said before is no more.
    pub(super) fn launches_changed(&mut self, files: &[PathBuf]) {
        let is_of = |snapshot: &Snapshot, wish: &Wish| {
            let directory = snapshot.file().and_then(Path::parent);
            directory.zip(wish.launch.as_ref()).is_some_and(|(it, name)| files.contains(&it.join(name)))
        };
        let other = Failure::new(ErrorCode::ContentModified, "the launch file has changed");
        self.stop_runs(|it| is_of(&it.snapshot, &it.wish), &other);
        let mut changed = Vec::new();
        for (uri, document) in &self.documents {
            let State::Known(snapshot) = &document.state else { continue };
            let ran = snapshot.ran().into_iter().map(|(wish, _)| wish);
            let outdated: Vec<Wish> = ran.filter(|wish| is_of(snapshot, wish)).collect();
            for wish in &outdated {
                snapshot.set_run(wish, None);
            }
            if !outdated.is_empty() {
                changed.push(uri.clone());
            }
        }
        for uri in changed {
            self.renew_diagnostics(&uri);
        }
        self.refresh_lenses();
    }

    pub(super) fn refresh_lenses(&mut self) {
        if self.client.refreshes_lenses && !self.settings.hides_lenses {
            self.ask::<requests::CodeLensRefresh>(());
        }
    }

    /// Cancels the runs of a version of a document that is no more.
    pub(super) fn supersede_runs(&mut self, uri: &str) {
        self.stop_runs(|it| it.uri == uri, &Failure::superseded(to_proto::SIMULATE));
    }

    /// Cancels the run that a request has started.
    pub(super) fn cancel_request(&mut self, id: &RequestId) {
        self.stop_runs(|it| it.request == *id, &cancelled());
    }

    /// Cancels the run that the client shows under a name.
    pub(super) fn cancel_progress(&mut self, token: &ProgressToken) {
        self.stop_runs(|it| it.token.as_ref() == Some(token), &cancelled());
    }

    /// Cancels a run as its lens says; there may be none any more.
    pub(super) fn cancel_run(&mut self, id: RequestId, arguments: &[Value]) {
        let text = |index: usize| arguments.get(index).and_then(Value::as_str);
        let is_it = |it: &Running| {
            let Wish { kernel, launch } = &it.wish;
            text(0) == Some(&it.uri) && text(1) == Some(kernel) && text(2) == launch.as_deref()
        };
        self.stop_runs(is_it, &cancelled());
        self.send(Response::new_ok(id, Value::Null));
    }

    /// Stops all runs, as nobody will read of them.
    pub(super) fn stop_all_runs(&mut self) {
        self.stop_runs(|_| true, &cancelled());
    }

    fn stop_runs(&mut self, is_it: impl Fn(&Running) -> bool, failure: &Failure) {
        let (stopped, others) = std::mem::take(&mut self.running).into_iter().partition(is_it);
        self.running = others;
        let stopped: Vec<Running> = stopped;
        for running in stopped {
            running.progress.stop();
            running.snapshot.set_run(&running.wish, None);
            self.finish(&running, "cancelled");
            self.fail(running.request, failure.clone());
        }
    }
}

fn cancelled() -> Failure {
    Failure::new(ErrorCode::RequestCanceled, "cancelled")
}
