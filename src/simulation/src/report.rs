//! What is said of a kernel that was run.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;

use super::memory::Memory;
use super::record::Record;
use super::state::CtaState;
use crate::diagnostic::selection::RuleSettings;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::resolve::unit::Unit;
use crate::source::Span;
use ptx_check::suppression::Suppressions;

/// What became of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All of it ran, and nothing is wrong.
    Clean,
    /// Something could not be judged.
    Incomplete,
    /// Something is wrong.
    Findings,
}

/// Why something could not be judged, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The place, if there is one.
    pub span: Option<Span>,
    /// Why.
    pub text: String,
    /// What to write in a launch file, and the command that does it.
    pub help: Option<String>,
}

/// What is known of a kernel.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// Its name.
    pub kernel: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it could not be judged.
    pub reasons: Vec<Reason>,
    /// What was taken for granted.
    pub assumed: Vec<String>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// The launches that were tried, if none was given; each has its place here, from 1, as its number.
    pub tried: Vec<TriedLaunch>,
    /// The number of the launch that shows the first finding, or the first reason for doubt.
    pub shown_by: Option<usize>,
    /// Clusters of the grid that ran.
    pub clusters: u32,
    /// Instructions that warps executed.
    pub warp_instructions: u64,
    /// Asynchronous operations.
    pub operations: u64,
    /// What the buffers of the launch hold in the end, of those that it writes to files.
    pub outputs: Vec<Output>,
    /// Global memory in the end, if that was wanted. Under several schedules, that of the first.
    pub memory: Option<Memory>,
    /// What the memories of CTAs hold in the end, if that was wanted. Under several schedules, that of the first.
    pub states: Vec<CtaState>,
    /// What threads printed by `printf`, in the order of the run: at most 1000 calls, and 64 KiB from a cluster. Under
    /// assumed launches, that is of one of them; under several schedules, of the first.
    pub printed: Vec<Printed>,
    /// Calls of `printf` that are not among these.
    pub unprinted: u64,
    /// What happened, if that was wanted.
    pub record: Option<Record>,
}

/// What a thread printed by one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The text; what is not known is a `?` in it. A line may have several calls.
    pub text: String,
    /// The call.
    pub span: Option<Span>,
    /// The index of the CTA in the grid.
    pub cta: [u32; 3],
    /// The index of the thread in the CTA.
    pub thread: [u32; 3],
}

/// Calls of `printf` that are kept.
pub(super) const MOST_PRINTS: usize = 1000;

/// A launch that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedLaunch {
    /// The values that chose the paths of threads, and the shape.
    pub summary: String,
    /// The launch file that repeats it.
    pub file: String,
}

/// What a buffer of the launch holds in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Which argument names it, from 0, and which field if that is a struct.
    pub argument: usize,
    /// The field of the struct, from 0.
    pub field: Option<usize>,
    /// Its bytes; those that are not known are 0. None if all of memory is kept.
    pub bytes: Vec<u8>,
    /// The parts that are not known, in their order.
    pub unknown: Vec<Range<usize>>,
    /// The instruction that first stored something that is not known, and where in the buffer; `None` where what is
    /// not known was never written.
    pub lost: Option<(Span, u64)>,
}

/// How far runs are, for whoever looks at them from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Instructions that warps executed.
    pub instructions: AtomicU64,
    /// Runs that have begun.
    pub runs: AtomicU64,
    /// Whether they are to end.
    stops: AtomicBool,
}

impl Progress {
    /// Ends what runs, soon: it is incomplete.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    pub fn is_stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }
}

impl KernelReport {
    /// Adds what became of another cluster of the same launch.
    pub(super) fn add(&mut self, report: Self) {
        if self.verdict == Verdict::Clean && report.verdict != Verdict::Clean {
            self.record = report.record;
        }
        self.clusters += report.clusters;
        self.warp_instructions += report.warp_instructions;
        self.operations += report.operations;
        self.states.extend(report.states);
        for finding in report.diagnostics {
            if !self.diagnostics.iter().any(|known| is_same(known, &finding)) {
                self.diagnostics.push(finding);
            }
        }
        let room = if self.unprinted > 0 { 0 } else { MOST_PRINTS.saturating_sub(self.printed.len()) };
        self.unprinted += report.unprinted + report.printed.len().saturating_sub(room) as u64;
        self.printed.extend(report.printed.into_iter().take(room));
        for reason in report.reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
        for what in report.assumed {
            if !self.assumed.contains(&what) {
                self.assumed.push(what);
            }
        }
        self.verdict = verdict(&self.diagnostics, &self.reasons);
    }

    /// Forgets findings that nobody wants to see.
    pub fn retain(&mut self, is_wanted: impl FnMut(&Diagnostic) -> bool) {
        self.diagnostics.retain(is_wanted);
        self.verdict = verdict(&self.diagnostics, &self.reasons);
    }

    /// Lets findings matter as much as the settings say, and as comments in the module do.
    pub fn weigh(&mut self, unit: &Unit, settings: &RuleSettings) {
        if self.diagnostics.is_empty() {
            return;
        }
        for finding in &mut self.diagnostics {
            finding.severity = settings.severity(finding.code);
        }
        let suppressions = Suppressions::new(unit, None);
        self.retain(|finding| finding.severity != Severity::Off && !suppressions.silence(finding));
    }
}

/// Whether two runs have found the same. Of a descriptor several fields may be wrong.
pub(super) fn is_same(one: &Diagnostic, other: &Diagnostic) -> bool {
    one.code == other.code
        && one.primary.span == other.primary.span
        && (one.code != Code::InvalidDescriptor || one.message == other.message)
}

/// What findings and reasons make of it.
pub(super) fn verdict(diagnostics: &[Diagnostic], reasons: &[Reason]) -> Verdict {
    if !diagnostics.is_empty() {
        Verdict::Findings
    } else if reasons.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Incomplete
    }
}

/// Adds to what is said of a finding.
pub(super) fn add_note(finding: &mut Diagnostic, more: &str) {
    finding.note = Some(match finding.note.take() {
        Some(note) => format!("{note}; {more}"),
        None => more.to_owned(),
    });
}
