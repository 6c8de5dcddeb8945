//! Runs of kernels in the simulator, which the user asks for. They take seconds, so that a thread of their own makes
//! them, one after the other; what they find belongs to the version of the text that ran.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};
use ptx_check::diagnostic::Diagnostic;
use ptx_check::locate;
use ptx_check::rules::Code;
use ptx_config::launch::{LaunchText, beside};
use ptx_simulation::launch::LaunchShape;
use ptx_simulation::names::meant;
use ptx_simulation::{Kernel, KernelReport, Progress, Reason, Settings, Verdict};

use crate::configuration::describe;
use crate::hover::count;
use crate::snapshot::Snapshot;

/// What to run: a kernel, as a launch file next to the module says, or under assumed launches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wish {
    /// The symbol of the kernel.
    pub(crate) kernel: String,
    /// The name of the launch file, without its directory.
    pub(crate) launch: Option<String>,
}

/// A run of one version of a text.
#[derive(Clone, Debug)]
pub(crate) enum Run {
    /// It has not ended.
    Started,
    /// It has ended.
    Ended(Arc<Ran>),
}

/// What became of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) verdict: Verdict,
    /// What is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Why not all of it could be judged.
    pub(crate) reasons: Vec<Reason>,
    /// All findings, of which only so many are shown as people read.
    pub(crate) found: usize,
}

/// A run to make.
pub(crate) struct Job {
    /// Its number.
    pub(crate) ticket: u64,
    /// What runs.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) wish: Wish,
    /// How far it is, and whether it is to stop.
    pub(crate) progress: Arc<Progress>,
}

/// The end of a run: what became of it, or why it could not start.
pub(crate) struct Ended {
    pub(crate) ticket: u64,
    pub(crate) ran: Result<Ran, String>,
}

/// As large as that of a program's first thread, where `ptx-tc simulate` runs kernels.
const STACK: usize = 8 << 20;

/// Starts the thread that runs kernels; it ends when the sender of its jobs is dropped.
pub(crate) fn start() -> std::io::Result<(Sender<Job>, Receiver<Ended>)> {
    let (jobs, wanted) = unbounded::<Job>();
    let (ends, ended) = unbounded();
    thread::Builder::new().name("simulator".to_owned()).stack_size(STACK).spawn(move || {
        for Job { ticket, snapshot, wish, progress } in wanted {
            // It may have been cancelled while others ran.
            if progress.is_stopped() {
                continue;
            }
            // The simulator promises never to panic; should it do so all the same, only this run has no verdict.
            let simulate = || simulate(&snapshot, &wish, &progress);
            let ran = catch_unwind(AssertUnwindSafe(simulate))
                .unwrap_or_else(|_| Err("the simulator failed".to_owned()));
            if ends.send(Ended { ticket, ran }).is_err() {
                break;
            }
        }
    })?;
    Ok((jobs, ended))
}

/// The kernels of a text that can be simulated: PTX without syntax errors. What a file of another language has are
/// statements, which no launch gives values to.
pub(crate) fn kernels(snapshot: &Snapshot) -> Vec<&str> {
    let unit = &snapshot.document.unit;
    let can_run = snapshot.document.host.is_none() && unit.is_module && unit.syntax_errors.is_empty();
    if can_run { ptx_simulation::kernels(unit) } else { Vec::new() }
}

/// The launch files next to a module that are for a kernel: their names, and that of the kernel. A file that does not
/// name its kernel is for the only one.
pub(crate) fn launches(snapshot: &Snapshot, kernels: &[&str]) -> Vec<(String, String)> {
    let Some(file) = snapshot.file() else { return Vec::new() };
    let launches = beside(file).into_iter().filter_map(|launch| {
        let kernel = match (&launch.file.kernel, kernels) {
            (Some(name), _) => match &meant(name, kernels)[..] {
                [kernel] => kernel.clone(),
                _ => return None,
            },
            (None, [kernel]) => (*kernel).to_owned(),
            (None, _) => return None,
        };
        Some((launch.path().file_name()?.to_str()?.to_owned(), kernel))
    });
    launches.collect()
}

fn simulate(snapshot: &Snapshot, wish: &Wish, progress: &Progress) -> Result<Ran, String> {
    let unit = &snapshot.document.unit;
    let kernel = Kernel::new(unit, &wish.kernel).ok_or_else(|| format!("no kernel `{}`", wish.kernel))?;
    let kernel = kernel.telling(progress);
    let settings = Settings::default();
    let cannot_be = |why: &dyn std::fmt::Display| format!("the kernel cannot be launched like this: {why}");
    let mut report = match &wish.launch {
        Some(name) => {
            let directory = snapshot.file().and_then(Path::parent).unwrap_or(Path::new(""));
            let text = LaunchText::read(&directory.join(name)).map_err(|error| describe(&error.into()))?;
            let launch = kernel.fitting_launch(&text.file, &mut |name| text.data(name));
            let launch = launch.map_err(|misfit| describe(&text.misfit(misfit).into()))?;
            kernel.simulate_all(&launch, &settings).map_err(|error| cannot_be(&error))?
        }
        None => {
            kernel.simulate_assumed(&LaunchShape::default(), &settings).map_err(|error| cannot_be(&error))?
        }
    };
    // As the command line does.
    report.weigh(unit, &snapshot.options.rules);
    if snapshot.file().is_some() {
        locate(unit, &mut report.diagnostics);
    }
    let KernelReport { verdict, mut diagnostics, reasons, .. } = report;
    let found = diagnostics.len();
    let most = snapshot.options.max_findings.filter(|most| *most > 0).unwrap_or(usize::MAX);
    let mut shown: HashMap<Code, usize> = HashMap::new();
    diagnostics.retain(|finding| {
        let shown = shown.entry(finding.code).or_default();
        *shown += 1;
        *shown <= most
    });
    Ok(Ran { verdict, diagnostics, reasons, found })
}

impl Ran {
    /// `clean`, `2 findings (deadlock, data-race)`, `incomplete (...)`.
    pub(crate) fn summary(&self) -> String {
        match self.verdict {
            Verdict::Clean => "clean".to_owned(),
            Verdict::Findings => {
                let mut names: Vec<&str> = Vec::new();
                for finding in &self.diagnostics {
                    let name = finding.code.name();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                format!("{} ({})", count(self.found as u32, "finding"), names.join(", "))
            }
            Verdict::Incomplete => match self.reasons.first() {
                Some(reason) => format!("incomplete ({})", shortened(&reason.text)),
                None => "incomplete".to_owned(),
            },
        }
    }
}

/// The first line, or as much of it as fits above a line.
fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}
