//! Parsing and checking beside the main loop.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, unbounded};
use ptx_check::{Memory, Options};

use crate::configuration::path_of;
use crate::snapshot::Snapshot;
use crate::text::Text;

/// A version of a document to look at.
pub(crate) struct Job {
    /// The document.
    pub(crate) uri: String,
    /// The version, as the server numbers them.
    pub(crate) revision: u64,
    /// Its text.
    pub(crate) text: Text,
    /// What to check against.
    pub(crate) options: Options,
    /// What the check of an earlier version found.
    pub(crate) memory: Arc<Mutex<Memory>>,
    /// The latest revision of the document: once it is another one, the job is pointless.
    pub(crate) latest: Arc<AtomicU64>,
}

/// News from the worker.
pub(crate) enum Event {
    /// A version is parsed and resolved; not at all if that is impossible.
    Parsed { uri: String, revision: u64, snapshot: Option<Arc<Snapshot>> },
    /// The findings of a version are in its snapshot.
    Checked { uri: String, revision: u64 },
}

/// Where jobs for the worker are put. There is at most one for each document: a newer version takes
/// the place of one that nobody looked at, so that fast typing piles nothing up.
pub(crate) struct Jobs {
    waiting: Arc<Mutex<VecDeque<Job>>>,
    bell: Sender<()>,
}

impl Jobs {
    /// Hands a job to the worker; whether there still is one.
    pub(crate) fn put(&self, job: Job) -> bool {
        {
            let mut waiting = lock(&self.waiting);
            match waiting.iter_mut().find(|other| other.uri == job.uri) {
                Some(other) => *other = job,
                None => waiting.push_back(job),
            }
        }
        // When the bell has rung already, the worker will find this job, too.
        !matches!(self.bell.try_send(()), Err(TrySendError::Disconnected(())))
    }
}

fn lock(jobs: &Mutex<VecDeque<Job>>) -> MutexGuard<'_, VecDeque<Job>> {
    // Nothing that panics runs while it is held.
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the worker; it ends when its jobs are dropped.
pub(crate) fn start() -> std::io::Result<(Jobs, Receiver<Event>)> {
    let (bell, rings) = bounded(1);
    let (events, news) = unbounded();
    let waiting = Arc::new(Mutex::new(VecDeque::new()));
    let jobs = Jobs { waiting: Arc::clone(&waiting), bell };
    thread::Builder::new().name("worker".to_owned()).spawn(move || {
        for () in rings {
            loop {
                let Some(job) = lock(&waiting).pop_front() else { break };
                work(job, &events);
            }
        }
    })?;
    Ok((jobs, news))
}

/// The name of the file at an address: it says in which language it is.
pub(crate) fn name_of(uri: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn work(job: Job, events: &Sender<Event>) {
    let Job { uri, revision, text, options, memory, latest } = job;
    let cancelled = || latest.load(Ordering::Relaxed) != revision;
    if cancelled() {
        return;
    }
    // The stages promise never to panic; should one do so all the same, this version stays without
    // answers and the server lives on.
    let parse = || Snapshot::new(&name_of(&uri), path_of(&uri), text, options).map(Arc::new);
    let snapshot = catch_unwind(AssertUnwindSafe(parse)).unwrap_or(None);
    let _ = events.send(Event::Parsed { uri: uri.clone(), revision, snapshot: snapshot.clone() });
    let Some(snapshot) = snapshot else { return };
    let check = || {
        // A check that panicked has taken out what it was about to use, and put nothing back.
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        snapshot.check(&mut memory, &cancelled)
    };
    if catch_unwind(AssertUnwindSafe(check)).unwrap_or(false) {
        let _ = events.send(Event::Checked { uri, revision });
    }
}
