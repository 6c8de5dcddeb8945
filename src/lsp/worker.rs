//! Parsing and checking beside the main loop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::documents::Text;
use super::snapshot::Snapshot;
use crate::Options;

/// A version of a document to look at.
pub(super) struct Job {
    /// The document.
    pub(super) uri: String,
    /// The version, as the server numbers them.
    pub(super) revision: u64,
    /// Its text.
    pub(super) text: Text,
    /// What to check against.
    pub(super) options: Options,
    /// The latest revision of the document: once it is another one, the job is pointless.
    pub(super) latest: Arc<AtomicU64>,
}

/// News from the worker.
pub(super) enum Event {
    /// A version is parsed and resolved; not at all if that is impossible.
    Parsed { uri: String, revision: u64, snapshot: Option<Arc<Snapshot>> },
    /// The findings of a version are in its snapshot.
    Checked { uri: String, revision: u64 },
}

/// Starts the worker; it ends when the sender of jobs is dropped.
pub(super) fn start() -> std::io::Result<(Sender<Job>, Receiver<Event>)> {
    let (jobs, queue) = unbounded::<Job>();
    let (events, news) = unbounded();
    thread::Builder::new().name("worker".to_owned()).spawn(move || {
        for job in queue {
            work(job, &events);
        }
    })?;
    Ok((jobs, news))
}

fn work(job: Job, events: &Sender<Event>) {
    let Job { uri, revision, text, options, latest } = job;
    let cancelled = || latest.load(Ordering::Relaxed) != revision;
    if cancelled() {
        return;
    }
    // The stages promise never to panic; should one do so all the same, this version stays without
    // answers and the server lives on.
    let parse = || Snapshot::new(&uri, text, options).map(Arc::new);
    let snapshot = catch_unwind(AssertUnwindSafe(parse)).unwrap_or(None);
    let _ = events.send(Event::Parsed { uri: uri.clone(), revision, snapshot: snapshot.clone() });
    let Some(snapshot) = snapshot else { return };
    if catch_unwind(AssertUnwindSafe(|| snapshot.check(&cancelled))).unwrap_or(false) {
        let _ = events.send(Event::Checked { uri, revision });
    }
}
