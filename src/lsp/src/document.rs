//! An open document: its text, and what is known of it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use lsp_server::Request;
use lsp_types::Uri;
use lsp_types::request::{self as requests, Request as _};
use ptx_check::{Memory, Options};

use crate::handlers::Needs;
use crate::snapshot::Snapshot;
use crate::text::{Change, Text};

/// An open document.
pub(crate) struct Document {
    pub(crate) uri: Uri,
    /// The client's number.
    pub(crate) version: i32,
    pub(crate) text: Text,
    /// How it is checked.
    pub(crate) options: Options,
    /// Our number; unlike the client's it never repeats.
    pub(crate) revision: u64,
    /// Tells the worker which revision is the latest.
    pub(crate) latest: Arc<AtomicU64>,
    /// What the worker remembers of the last version that it has checked.
    pub(crate) memory: Arc<Mutex<Memory>>,
    /// Whether the worker has to be told of the text.
    pub(crate) dirty: bool,
    /// What is known of this revision.
    pub(crate) state: State,
    /// What was known of an earlier one, and how the text has changed since: so that completion in
    /// a large text need not wait.
    pub(crate) last: Option<(Arc<Snapshot>, Vec<Change>)>,
    /// Whether findings of runs were sent that have to be taken back.
    pub(crate) shows_runs: bool,
    /// Requests that wait for more to be known.
    pub(crate) waiting: Vec<(Request, Needs)>,
}

/// Texts from this size on take longer to parse than someone who types should wait.
pub(crate) const LARGE: usize = 1_000_000;

impl Document {
    /// Keeps what is known of a large text while the next version is being looked at.
    pub(crate) fn retire(&mut self) {
        if self.text.as_str().len() < LARGE {
            return;
        }
        if let State::Known(snapshot) = std::mem::replace(&mut self.state, State::Pending) {
            self.last = Some((snapshot, Vec::new()));
        }
    }

    /// Whether a request need not wait for the text to be parsed.
    pub(crate) fn answers_early(&self, method: &str, needs: Needs) -> bool {
        needs == Needs::Text
            || method == requests::Completion::METHOD
                && self.last.is_some()
                && matches!(self.state, State::Pending)
    }
}

pub(crate) enum State {
    Pending,
    /// The text could not be parsed at all.
    Failed,
    Known(Arc<Snapshot>),
}
