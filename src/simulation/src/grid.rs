//! All clusters of a grid, in one global memory.
//!
//! A cluster runs until it ends, or until nothing of it moves and a thread of it polls global memory: for a flag, a
//! counter or a lock that another cluster writes. Then others start, or go on. So clusters that have nothing to do with
//! each other run one after the other, and need the memory of one; those that do are interleaved.
//!
//! The hardware starts clusters as long as there is room. If all that fit wait for one that has not started, the grid
//! hangs: what waits for itself has to fit at once.

mod side_by_side;
mod unused_reads;

use std::collections::VecDeque;
use std::ops::Range;

use super::diagnostic::{Code, Diagnostic};
use super::launch::{Launch, LaunchError};
use super::machine::{
    Advance, Between, Bytes, Common, Extents, Global, Machine, Outcome, RacingReads, Results, part_of_grid,
};
use super::provenance::Trace;
use super::report::{add_note, verdict};
use super::run::{Run, clusters, unread_result};
use super::{Checks, Keeps, Kernel, KernelReport, Progress, Reason, Schedule, Settings, Verdict};
use crate::words::plural;

/// What a grid may execute, in budgets of a cluster.
const CLUSTERS: u64 = 16;
/// Streaming multiprocessors of a B200, threads of each, CTAs, and bytes of shared memory for these
/// (PTX ISA has none of these numbers; CUDA C++ Programming Guide, "Compute Capabilities").
const MULTIPROCESSORS: u64 = 148;
const THREADS: u64 = 2048;
const CTAS: u64 = 32;
const SHARED: u64 = 228 << 10;
/// Clusters that wait together take no more memory than this.
const MOST_BYTES: u64 = 4 << 30;

/// A cluster that waits for others.
struct Waiting<'p> {
    machine: Machine<'p>,
    index: u32,
    /// How often global memory had changed when it began to wait, and what its threads wait to see changed.
    changes: u64,
    awaited: Vec<(u64, u64)>,
}

impl Waiting<'_> {
    /// Whether what it waits for has changed.
    fn is_ready(&self, global: &Global) -> bool {
        global.changes() != self.changes
            && self.awaited.iter().any(|(address, word)| word_at(global, *address) != *word)
    }
}

/// The aligned word at an address; what is not known is 0.
fn word_at(global: &Global, address: u64) -> u64 {
    global.read(address & !7, 8).map_or(0, |read| read.value)
}

impl Kernel<'_> {
    /// Runs some clusters of the grid, which share their global memory.
    ///
    /// # Errors
    /// When there is no such launch.
    pub fn simulate_clusters(
        &self,
        launch: &Launch,
        settings: &Settings,
        range: Range<u32>,
    ) -> Result<KernelReport, LaunchError> {
        let count = clusters(launch);
        if range.is_empty() || u64::from(range.end) > count {
            return Err(LaunchError(format!("the grid has {}", plural(count as usize, "cluster"))));
        }
        if let Some(assumption) = launch.assumes.map(crate::assumed::Assumption::said) {
            let settings = Settings { cluster_index: range.start, ..*settings };
            return self.simulate_again(launch, assumption, &settings);
        }
        let nothing = &mut Asked::default();
        let Ran { mut report, mut extents, .. } =
            self.run_clusters(launch, settings, range.clone(), &Extents::new(), nothing)?;
        if !extents.is_empty() {
            // Now it is known how far copies reach whose maps are not given.
            report = self.run_clusters(launch, settings, range.clone(), &extents, nothing)?.report;
        }
        let is_race = |finding: &Diagnostic| finding.code == Code::GlobalMemoryRace;
        if !settings.strict && report.diagnostics.iter().any(is_race) {
            self.forgive_unused_reads(launch, settings, range.clone(), &mut extents, &mut report)?;
        }
        if settings.checks == Checks::All {
            self.find_unwritten(launch, settings, &range, &mut report);
        }
        Ok(report)
    }

    /// Runs some clusters of the grid once, and answers what is asked.
    pub(super) fn run_clusters(
        &self,
        launch: &Launch,
        settings: &Settings,
        range: Range<u32>,
        extents: &Extents,
        asked: &mut Asked,
    ) -> Result<Ran, LaunchError> {
        let shape = self.shape(launch, range.start, false)?;
        if let Some(report) = self.too_large(launch, &shape) {
            return Ok(Ran { report, extents: Extents::new(), keeps_to_known: false });
        }
        let (global, parameters, places) = self.memory(launch);
        let mut common = Common {
            global,
            next_cluster: range.start,
            between: (range.len() > 1).then(Box::<Between>::default),
            trace: asked.trace.take(),
            racing: asked.racing.take(),
        };
        let is_free =
            common.trace.is_none() && common.racing.is_none() && self.may_run_side_by_side(settings, &range);
        if is_free {
            common.between = Some(Box::new(Between::noting()));
        }
        let fits = self.fits_at_once(launch, Machine::bytes(&self.program, &shape));
        let mut grid = Grid::new(self, launch, settings, common, fits);
        grid.is_whole = range.len() as u64 == clusters(launch);
        if is_free {
            grid.run_side_by_side(range.end, extents, &parameters)?;
        }
        while let Some(next) = grid.next(range.end) {
            match next {
                Next::Hang => {
                    grid.hang(range.end);
                    break;
                }
                Next::Limit(reason, help) => {
                    grid.stop(reason, help);
                    break;
                }
                next => grid.advance(&next, extents, &parameters)?,
            }
        }
        let Grid { report, common, extents, is_whole, results, .. } = grid;
        asked.trace = common.trace;
        asked.racing = common.racing;
        let keeps_to_known = common.global.has_known_stores_only();
        let mut report = report.ok_or_else(|| LaunchError("an empty grid".to_owned()))?;
        if is_whole && report.verdict == Verdict::Clean {
            let spans = &self.program.spans;
            let unread = results.unread().into_iter();
            report.diagnostics.extend(unread.map(|step| unread_result(step).diagnostic(spans)));
            report.verdict = verdict(&report.diagnostics, &report.reasons);
        }
        report.outputs = self.outputs(launch, (&common.global, settings.keeps == Keeps::Memory), &places);
        report.memory = (settings.keeps == Keeps::Memory).then(|| launch.memory.with(common.global));
        Ok(Ran { report, extents, keeps_to_known })
    }

    /// How many clusters the card, and the memory here, hold at once.
    fn fits_at_once(&self, launch: &Launch, bytes: u64) -> Fits {
        let product = |of: [u32; 3]| of.iter().map(|size| u64::from(*size)).product::<u64>().max(1);
        let (threads, size) = (product(launch.block), product(launch.cluster));
        let shared = self.shared_end(launch).max(1);
        let of_one = (THREADS / threads.next_multiple_of(32)).min(SHARED / shared).clamp(1, CTAS);
        Fits {
            card: (MULTIPROCESSORS * of_one / size).max(1) as usize,
            here: (MOST_BYTES / bytes.max(1)).max(1) as usize,
        }
    }
}

/// What is asked of a run.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) trace: Option<Box<Trace>>,
    /// The reads of global memory that race.
    pub(super) racing: Option<Box<RacingReads>>,
}

/// What became of a run.
pub(super) struct Ran {
    pub(super) report: KernelReport,
    pub(super) extents: Extents,
    /// Whether nothing that is not known was stored to global memory.
    keeps_to_known: bool,
}

/// How many clusters are there at once.
#[derive(Clone, Copy, Debug)]
struct Fits {
    card: usize,
    here: usize,
}

/// What goes on next.
enum Next {
    /// A cluster that waited, by its place among these.
    Waiting(usize),
    /// One that has not started.
    New,
    /// Nothing ever.
    Hang,
    /// Nothing more is looked at.
    Limit(String, &'static str),
}

/// A grid that runs.
struct Grid<'k, 'u> {
    kernel: &'k Kernel<'u>,
    launch: &'k Launch,
    settings: Settings,
    common: Common,
    waiting: VecDeque<Waiting<'k>>,
    fits: Fits,
    report: Option<KernelReport>,
    /// What became of clusters, if it is reported later.
    kept: Option<Vec<(u32, Run)>>,
    extents: Extents,
    /// The state of what chooses by chance, if something does.
    chance: Option<u64>,
    /// Instructions that may still be executed.
    left: u64,
    /// Whether all clusters of the grid run.
    is_whole: bool,
    results: Results,
}

impl<'k, 'u> Grid<'k, 'u> {
    fn new(
        kernel: &'k Kernel<'u>,
        launch: &'k Launch,
        settings: &Settings,
        common: Common,
        fits: Fits,
    ) -> Self {
        Self {
            kernel,
            launch,
            settings: *settings,
            common,
            waiting: VecDeque::new(),
            fits,
            report: None,
            kept: None,
            extents: Extents::new(),
            chance: match settings.schedule {
                Schedule::Random(seed) => Some(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
                Schedule::Early | Schedule::Late => None,
            },
            left: settings.budget.saturating_mul(CLUSTERS),
            is_whole: true,
            results: Results::default(),
        }
    }

    /// A cluster starts or goes on, until it ends or waits.
    fn advance(&mut self, next: &Next, extents: &Extents, parameters: &Bytes) -> Result<(), LaunchError> {
        let (index, mut machine) = match next {
            Next::Waiting(at) => {
                let Some(Waiting { mut machine, index, .. }) = self.waiting.remove(*at) else {
                    return Ok(());
                };
                machine.look_again();
                (index, machine)
            }
            Next::New => {
                let (kernel, launch) = (self.kernel, self.launch);
                let index = self.common.next_cluster;
                self.common.next_cluster += 1;
                let settings = Settings { budget: self.settings.budget.min(self.left), ..self.settings };
                let mut conditions = kernel.conditions(launch, &settings, None);
                conditions.is_one_of_several = clusters(launch) > 1;
                let shape = kernel.shape(launch, index, false)?;
                let (none, parameters) = (Global::default(), parameters.clone());
                let machine = Machine::new(&kernel.program, shape, conditions, none, parameters);
                (index, machine.reaching(extents))
            }
            Next::Hang | Next::Limit(..) => return Ok(()),
        };
        machine.exchange(&mut self.common);
        let advance = machine.advance();
        machine.exchange(&mut self.common);
        match advance {
            Advance::Ended => self.add(machine.outcome(), index),
            Advance::Waits => {
                let global = &self.common.global;
                let awaited = machine.polled().map(|at| (at, word_at(global, at))).collect();
                let changes = global.changes();
                self.waiting.push_back(Waiting { machine, index, changes, awaited });
            }
        }
        Ok(())
    }

    /// What goes on next; nothing if all have ended.
    fn next(&mut self, end: u32) -> Option<Next> {
        let is_new = self.common.next_cluster < end;
        if self.kernel.progress.is_some_and(Progress::is_stopped) && (is_new || !self.waiting.is_empty()) {
            return Some(Next::Limit("the run was stopped".to_owned(), "run it again to see the rest"));
        }
        if self.left == 0 && (is_new || !self.waiting.is_empty()) {
            return Some(Next::Limit(
                format!(
                    "the grid used up its budget of {} warp instructions",
                    self.settings.budget.saturating_mul(CLUSTERS)
                ),
                "make `grid` or the values in the launch file smaller, run some clusters only by `--cluster-index 0..8`, or \
                 raise `--budget`",
            ));
        }
        let can_start = is_new && self.waiting.len() < self.fits.card.min(self.fits.here);
        let changes = self.common.global.changes();
        let is_ready = |at: &usize| self.waiting[*at].is_ready(&self.common.global);
        let ready: Vec<usize> = (0..self.waiting.len()).filter(is_ready).collect();
        // By chance a new one starts before others go on.
        let starts = can_start && self.flip();
        match ready.first() {
            Some(_) if starts => Some(Next::New),
            Some(_) => {
                let which = self.choose(ready.len());
                Some(Next::Waiting(ready[which]))
            }
            None if can_start => Some(Next::New),
            None if self.waiting.is_empty() => None,
            None => Some(match self.waiting.iter().position(|it| it.changes != changes) {
                // Who polls several places in turn waits for more than the last of them.
                Some(at) => Next::Waiting(at),
                None if is_new && self.fits.here < self.fits.card => Next::Limit(
                    format!(
                        "{} clusters wait for others that have not started, and more do not fit into memory",
                        self.waiting.len()
                    ),
                    "make `grid` in the launch file smaller",
                ),
                None if !self.is_whole => Next::Limit(
                    "a cluster waits for a value that another cluster may write, and not all clusters of the grid run"
                        .to_owned(),
                    "run the whole grid: leave out `--cluster-index`",
                ),
                None => match self.waiting.iter().position(|it| it.machine.could_go_on()) {
                    Some(at) => {
                        self.waiting[at].machine.go_on_alone();
                        Next::Waiting(at)
                    }
                    None => match self.waiting.iter_mut().position(|it| it.machine.go_on_apart()) {
                        Some(at) => Next::Waiting(at),
                        None => Next::Hang,
                    },
                },
            }),
        }
    }

    fn choose(&mut self, count: usize) -> usize {
        let Some(state) = &mut self.chance else { return 0 };
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as usize % count.max(1)
    }

    fn flip(&mut self) -> bool {
        self.chance.is_some() && self.choose(2) == 1
    }

    /// Adds what became of a cluster.
    fn add(&mut self, outcome: Outcome, index: u32) {
        self.left = self.left.saturating_sub(outcome.executed);
        let run = self.kernel.reported(self.launch, &self.settings, outcome, false);
        match &mut self.kept {
            Some(kept) => kept.push((index, run)),
            None => self.add_run(run, index),
        }
    }

    fn add_run(&mut self, mut run: Run, index: u32) {
        for (place, bytes) in std::mem::take(&mut run.extents) {
            let known = self.extents.entry(place).or_default();
            *known = bytes.max(*known);
        }
        self.results.add(&run.results);
        let mut report = run.report;
        match &mut self.report {
            None => self.report = Some(report),
            Some(all) => {
                for finding in &mut report.diagnostics {
                    let part = part_of_grid(self.launch.cluster, index);
                    add_note(finding, &format!("this is in {part} of the grid"));
                }
                // One picture is kept: that of the first cluster, or of one in which something is wrong.
                if report.verdict == Verdict::Clean {
                    report.record = None;
                }
                all.add(report);
            }
        }
    }

    /// Nothing moves any more: the first that waits says why.
    fn hang(&mut self, end: u32) {
        let (waiting, card) = (self.waiting.len(), self.fits.card);
        let unstarted = end - self.common.next_cluster.min(end);
        let Some(Waiting { mut machine, index, .. }) = self.waiting.pop_front() else { return };
        machine.exchange(&mut self.common);
        machine.hang();
        machine.exchange(&mut self.common);
        self.add(machine.outcome(), index);
        let note = if unstarted > 0 {
            format!(
                "{waiting} clusters wait in global memory, {unstarted} have not started, and a card with \
                 {MULTIPROCESSORS} multiprocessors holds {card} at once"
            )
        } else {
            format!("{waiting} clusters wait in global memory, and none is left that could write there")
        };
        let last = self.report.as_mut().and_then(|report| report.diagnostics.last_mut());
        if let Some(finding) = last.filter(|it| it.code == Code::Deadlock) {
            add_note(finding, &note);
        }
        // What else is wrong in those that wait is found already.
        while let Some(Waiting { machine, index, .. }) = self.waiting.pop_front() {
            self.add(machine.outcome(), index);
        }
        if let Some(report) = &mut self.report {
            report.verdict = verdict(&report.diagnostics, &report.reasons);
        }
    }

    /// Ends before the time.
    fn stop(&mut self, text: String, help: &str) {
        while let Some(Waiting { machine, index, .. }) = self.waiting.pop_front() {
            self.add(machine.outcome(), index);
        }
        let report = self.report.get_or_insert_with(|| self.kernel.not_run(self.launch, String::new(), help));
        report.reasons.retain(|reason| !reason.text.is_empty());
        report.reasons.push(Reason { span: None, text, help: Some(help.to_owned()) });
        report.verdict = verdict(&report.diagnostics, &report.reasons);
    }
}
