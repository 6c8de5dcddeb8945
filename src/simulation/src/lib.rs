//! Running a kernel without a GPU.
//!
//! # The way of the data
//!
//! ```text
//! Unit ─► program (lowered once) ─► machine (launch, schedule) ─► findings ─► Diagnostic
//! ```
//!
//! `program` turns names into register numbers, literals into constants, and opcodes into actions;
//! [`arithmetic`] computes registers from registers; the `machine` has everything else: threads,
//! memories, barriers, and operations that go on beside the threads. `clock` and `shadow` know
//! what happened before what, and who accessed what last: two accesses that nothing orders are found
//! whatever the schedule did with them.
//!
//! # What is not known
//!
//! Everything is concrete, but for what the launch does not say and what is not computed yet: the
//! results of multiplies, the contents of buffers. Registers and bytes remember that they are not
//! known. Where it depends on such a value what happens, the run ends as [`Verdict::Incomplete`], as
//! it does at an instruction that the machine does not know: nothing is skipped, and a kernel is
//! called clean only if all of it was seen.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

pub mod addresses;
pub mod array;
mod clock;
mod findings;
mod grid;
mod judged;
pub mod launch;
mod machine;
mod program;
pub mod record;
mod report;
pub mod schedules;
mod shadow;
pub mod tensor_map;
mod unlike;

use descriptor::Features;
use diagnostic::Diagnostic;
use launch::{Argument, Launch, LaunchError, LaunchFile};
use machine::{Buffer, Bytes, Conditions, Contents, Extents, Fill, Global, Machine, Outcome, Shape};
use program::{Action, Program, Shared};
pub use ptx_arithmetic as arithmetic;
use ptx_check::{analysis, descriptor, diagnostic, instruction, isa, resolve, source, syntax, words};
use ptx_ir as ir;
use report::verdict;
pub use report::{KernelReport, Output, Progress, Reason, Verdict};
use resolve::environment::Environment;
use resolve::unit::Unit;

/// When asynchronous operations take effect, and in which order threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// At once.
    #[default]
    Early,
    /// When nothing else can go on.
    Late,
    /// By chance, which a number repeats.
    Random(u64),
}

/// How to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// When what happens.
    pub schedule: Schedule,
    /// Whether loads of Tensor Memory are over only when they were waited for.
    pub strict: bool,
    /// Warp instructions after which a run ends; an operation beside the threads counts as several.
    pub budget: u64,
    /// Which cluster of the grid runs.
    pub cluster_index: u32,
    /// Whether what happens is kept, for pictures and traces.
    pub records: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schedule: Schedule::Early,
            strict: false,
            budget: 20_000_000,
            cluster_index: 0,
            records: false,
        }
    }
}

/// What became of one run, and what it shows about the launch.
struct Run {
    report: KernelReport,
    /// Whether the kernel ended it itself.
    traps: bool,
    /// Whether the budget was used up.
    is_exhausted: bool,
    /// CTAs that a cluster has to have for what it addresses to be there.
    addressed_ctas: u32,
    /// By finding: where and when it showed.
    shown: Vec<judged::Shown>,
    /// By step: how often it was executed, if the launch is assumed.
    visits: Vec<u32>,
    /// How far tensor copies reach whose maps nobody has said.
    extents: Extents,
    /// The words of the parameters that choose the ways of threads.
    leading: BTreeSet<u64>,
    /// What the launch is, in words.
    under: String,
}

/// What a launch that is assumed leaves open.
#[derive(Clone, Copy, Debug)]
struct Open {
    grid: bool,
    cluster: bool,
}

/// How large the grid of an assumed launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grid {
    /// One cluster, or a few where clusters take over the work of others.
    One,
    /// So that each has a few of as many parts as the numbers are.
    Few,
    /// So that each has one at most.
    Many,
}

/// What is tried of a set of what is assumed.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    grid: Grid,
    /// How much smaller numbers are.
    smaller: u64,
    /// Which part of the budget is for it.
    part: u64,
}

/// From the best to the last.
const TRIED: [Attempt; 5] = [
    Attempt { grid: Grid::One, smaller: 1, part: 8 },
    Attempt { grid: Grid::Few, smaller: 8, part: 8 },
    Attempt { grid: Grid::Many, smaller: 1, part: 4 },
    Attempt { grid: Grid::Many, smaller: 8, part: 4 },
    Attempt { grid: Grid::Many, smaller: 64, part: 1 },
];

/// What became of the attempts of earlier sets.
#[derive(Clone, Debug, Default)]
struct Attempts {
    /// The attempt that ended within its budget.
    ended: usize,
    /// By step: whether one came there that did not.
    seen: Vec<bool>,
    /// How far tensor copies reached whose maps nobody has said.
    extents: Extents,
}

impl Attempts {
    fn see(&mut self, visits: &[u32]) {
        self.seen.resize(visits.len(), false);
        for (seen, visits) in self.seen.iter_mut().zip(visits) {
            *seen |= *visits > 0;
        }
    }

    fn are_all_seen(&self, visits: &[u32]) -> bool {
        self.seen.iter().zip(visits).all(|(seen, visits)| !seen || *visits > 0)
    }
}

/// A kernel, ready to run.
pub struct Kernel<'u> {
    unit: &'u Unit,
    progress: Option<&'u Progress>,
    function: u32,
    program: Program,
    features: Features,
    target: ptx_numbers::Target,
}

impl std::fmt::Debug for Kernel<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Kernel").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The kernels of a module.
pub fn kernels(unit: &Unit) -> Vec<&str> {
    let entries = unit.module.bodies().filter(|(_, function)| function.is_entry);
    entries.map(|(_, function)| unit.source.slice(function.name)).collect()
}

/// The kernels of a module, with what belongs to all of them: found once, however many they are.
pub struct Kernels<'u> {
    unit: &'u Unit,
    by_name: FxHashMap<&'u str, u32>,
    shared: Shared<'u>,
    features: Features,
    target: ptx_numbers::Target,
}

impl<'u> Kernels<'u> {
    /// Those of a module.
    pub fn new(unit: &'u Unit) -> Self {
        let mut by_name = FxHashMap::default();
        for (function, it) in unit.module.bodies().filter(|(_, it)| it.is_entry) {
            by_name.entry(unit.source.slice(it.name)).or_insert(function);
        }
        let environment = Environment::new(unit, None, &[]);
        let (features, target) = (environment.features(), target_of(environment.sm()));
        Self { unit, by_name, shared: Shared::new(unit), features, target }
    }

    /// Lowers the first kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<Kernel<'u>> {
        let function = *self.by_name.get(name)?;
        let program = program::lower(&self.shared, function);
        Some(Kernel {
            unit: self.unit,
            progress: None,
            function,
            program,
            features: self.features,
            target: self.target,
        })
    }
}

impl std::fmt::Debug for Kernels<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Kernels").field("count", &self.by_name.len()).finish_non_exhaustive()
    }
}

impl<'u> Kernel<'u> {
    /// Lowers a kernel of a module.
    pub fn new(unit: &'u Unit, name: &str) -> Option<Self> {
        Kernels::new(unit).kernel(name)
    }

    /// The same, telling somebody how far it is.
    #[must_use]
    pub fn telling(self, progress: &'u Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.unit.source.slice(self.unit.module.functions[self.function as usize].name)
    }

    /// A launch file to fill in.
    pub fn launch_template(&self) -> String {
        let function = &self.unit.module.functions[self.function as usize];
        let directives = launch::Directives::of(self.unit, function);
        launch::template(self.name(), &directives, &self.program.parameters, self.uses_dynamic())
    }

    /// Whether there is something in dynamic shared memory.
    fn uses_dynamic(&self) -> bool {
        let is_dynamic = |fixed: &program::Fixed| {
            matches!(
                fixed,
                program::Fixed::DynamicShared(_)
                    | program::Fixed::GenericDynamicShared(_)
                    | program::Fixed::DynamicSmemSize
                    | program::Fixed::TotalSmemSize
            )
        };
        // MLIR names dynamic shared memory by a variable of one byte, behind which it lies.
        let is_byte = |(start, end, _): &(u32, u32, String)| end - start == 1;
        self.program.fixed.iter().any(is_dynamic) || self.program.shared_names.iter().any(is_byte)
    }

    /// The launch that a file says.
    ///
    /// # Errors
    /// When it contradicts itself or the kernel.
    pub fn launch(
        &self,
        file: &LaunchFile,
        data: &mut dyn FnMut(&str) -> Result<Vec<u8>, LaunchError>,
    ) -> Result<Launch, LaunchError> {
        let function = &self.unit.module.functions[self.function as usize];
        Launch::new(self.unit, function, &self.program.parameters, file, data)
    }

    /// The launches that are assumed.
    ///
    /// # Errors
    /// When what `shape` says contradicts the kernel.
    pub fn assumed_launches(&self, shape: &LaunchFile) -> Result<Vec<Launch>, LaunchError> {
        (0..self.assumed_sets(shape)).map(|set| self.assumed_launch(shape, (set, 1))).collect()
    }

    /// How many sets of what is assumed are looked at.
    fn assumed_sets(&self, shape: &LaunchFile) -> usize {
        let function = &self.unit.module.functions[self.function as usize];
        let has_numbers =
            self.program.parameters.iter().any(|parameter| parameter.is_array || parameter.bytes < 8);
        let is_open = launch::Directives::of(self.unit, function).block.is_none() && shape.block.is_none();
        if has_numbers || is_open || !self.program.parameters.is_empty() { 3 } else { 1 }
    }

    fn assumed_launch(&self, shape: &LaunchFile, set: (usize, u64)) -> Result<Launch, LaunchError> {
        let function = &self.unit.module.functions[self.function as usize];
        let free =
            launch::MOST_SHARED.saturating_sub(self.program.static_shared - program::windows::RESERVED);
        let dynamic = if self.uses_dynamic() { free } else { 0 };
        Launch::assumed(self.unit, function, &self.program.parameters, dynamic, set).shaped(shape)
    }

    /// Runs it as a launch says.
    ///
    /// # Errors
    /// When there is no such launch.
    pub fn simulate(&self, launch: &Launch, settings: &Settings) -> Result<KernelReport, LaunchError> {
        Ok(self.run(launch, settings, None, &mut Extents::new())?.report)
    }

    /// Runs all clusters of the grid, which share their global memory.
    ///
    /// # Errors
    /// When there is no such launch.
    pub fn simulate_all(&self, launch: &Launch, settings: &Settings) -> Result<KernelReport, LaunchError> {
        let clusters = u32::try_from(clusters(launch)).unwrap_or(u32::MAX);
        self.simulate_clusters(launch, settings, 0..clusters)
    }

    /// Runs it under launches that are assumed. What shows whenever its places are reached is reported.
    ///
    /// # Errors
    /// When its directives name no launch that exists.
    pub fn simulate_assumed(
        &self,
        shape: &LaunchFile,
        settings: &Settings,
    ) -> Result<KernelReport, LaunchError> {
        let chosen = self.assumed_cluster(shape, settings);
        let is_open = Open { grid: shape.grid.is_none(), cluster: shape.cluster.is_none() };
        let enough = self.assumed_launches(&chosen)?.len();
        // Where only one is needed, nothing is assumed that could be something else.
        let most = if enough > 1 { launch::MOST_SETS } else { enough };
        let mut runs: Vec<Run> = Vec::new();
        let mut attempts = Attempts::default();
        for set in 0..most {
            let settings = Settings { records: settings.records && set == 0, ..*settings };
            runs.push(self.run_assumed(&chosen, is_open, &settings, set, &mut attempts)?);
            let launches = runs.iter().filter(|run| run.is_a_launch()).count();
            if set + 1 >= enough && launches >= enough.min(set) && judged::is_settled(&runs) {
                break;
            }
        }
        if shape.cluster.is_none()
            && let Some(cluster) =
                chosen.cluster.as_ref().filter(|cluster| cluster.iter().any(|size| *size > 1))
        {
            for run in &mut runs {
                run.report.assumed.push(format!("clusters of {cluster:?} CTAs"));
            }
        }
        let leading: BTreeSet<u64> = runs.iter().flat_map(|run| run.leading.iter().copied()).collect();
        let doubted = judged::doubted_races(&runs);
        let mut report = judged::together(runs).ok_or_else(|| LaunchError("no launch".to_owned()))?;
        if report.verdict == Verdict::Clean || report.verdict == Verdict::Incomplete && !doubted.is_empty() {
            self.try_unlike_numbers((&chosen, is_open), settings, (&leading, &doubted), &mut report)?;
        }
        Ok(report)
    }

    /// The shape with a cluster, where neither it nor the kernel says one: the smallest in which all
    /// CTAs exist that the kernel addresses, of several one under which nothing is wrong.
    fn assumed_cluster(&self, shape: &LaunchFile, settings: &Settings) -> LaunchFile {
        const CLUSTERS: [[u32; 3]; 10] = [
            [1, 1, 1],
            [2, 1, 1],
            [1, 2, 1],
            [4, 1, 1],
            [2, 2, 1],
            [1, 4, 1],
            [8, 1, 1],
            [4, 2, 1],
            [2, 4, 1],
            [16, 1, 1],
        ];
        let function = &self.unit.module.functions[self.function as usize];
        if shape.cluster.is_some() || launch::Directives::of(self.unit, function).cluster.is_some() {
            return shape.clone();
        }
        let mut needed = if self.program.is_for_pairs() { 2 } else { 1 };
        let mut best: Option<LaunchFile> = None;
        for cluster in CLUSTERS {
            let size: u32 = cluster.iter().product();
            if size < needed || best.is_some() && size > needed.next_power_of_two() {
                continue;
            }
            let chosen = LaunchFile { cluster: Some(cluster.to_vec()), ..shape.clone() };
            let unrecorded = Settings { records: false, ..*settings };
            let is_open = Open { grid: shape.grid.is_none(), cluster: true };
            let attempts = &mut Attempts::default();
            let Ok(run) = self.run_assumed(&chosen, is_open, &unrecorded, 0, attempts) else { continue };
            needed = needed.max(run.addressed_ctas);
            if size < needed {
                continue;
            }
            if run.report.verdict == Verdict::Clean {
                return chosen;
            }
            best.get_or_insert(chosen);
        }
        best.unwrap_or_else(|| shape.clone())
    }

    /// A run under a set of what is assumed: with a grid of one cluster; where that has more to do than is
    /// worth looking at, with smaller numbers and a grid of which each cluster has a few parts, if that comes to
    /// all that was seen before; then with one in which each cluster has a part of it; and then with smaller
    /// numbers. `first` says where an earlier set ended, which is not tried again, and is told the same of this one.
    fn run_assumed(
        &self,
        shape: &LaunchFile,
        is_open: Open,
        settings: &Settings,
        set: usize,
        first: &mut Attempts,
    ) -> Result<Run, LaunchError> {
        let mut last = None;
        for (index, attempt) in TRIED.iter().enumerate().skip(first.ended) {
            let Attempt { grid, smaller, part } = *attempt;
            // With a grid that is said, only the numbers differ.
            if !is_open.grid && (grid == Grid::Few || grid == Grid::Many && smaller == 1) {
                continue;
            }
            let mut launch = self.assumed_launch(shape, (set, smaller))?;
            let mut assumption = launch::Assumption::of(set, smaller);
            if is_open.grid {
                launch.grid[0] = launch.cluster[0]
                    * match grid {
                        Grid::One if self.asks_for_more() => launch::FEW_PARTS,
                        Grid::One => 1,
                        Grid::Few => {
                            (assumption.number as u32).div_ceil(launch::FEW_PARTS).max(launch::FEW_PARTS)
                        }
                        Grid::Many => launch::MANY_CLUSTERS,
                    };
            }
            let tried = Settings { budget: settings.budget / part, ..*settings };
            assumption.assumes_cluster = self.assumes_cluster(is_open);
            let run = self.run(&launch.checked()?, &tried, Some(assumption), &mut first.extents)?;
            if run.is_exhausted {
                first.see(&run.visits);
                last = Some(run);
                continue;
            }
            // Smaller numbers may be too small for anything to be done.
            let is_whole = first.are_all_seen(&run.visits) && run.report.reasons.is_empty();
            if grid == Grid::Few && !is_whole {
                last = Some(run);
                continue;
            }
            first.ended = index;
            return Ok(run);
        }
        last.ok_or_else(|| LaunchError("no launch".to_owned()))
    }

    /// Whether neither the launch nor the kernel says which CTAs are in a cluster.
    fn assumes_cluster(&self, is_open: Open) -> bool {
        let function = &self.unit.module.functions[self.function as usize];
        is_open.cluster && launch::Directives::of(self.unit, function).cluster.is_none()
    }

    /// Whether it asks for the work of clusters that have not started.
    fn asks_for_more(&self) -> bool {
        self.program.steps.iter().any(|step| matches!(step.action, Action::TryCancel { .. }))
    }

    /// A run that knows how far tensor copies reach whose maps nobody has said: if it does not, it shows that, and
    /// another one follows.
    fn run(
        &self,
        launch: &Launch,
        settings: &Settings,
        assumes: Option<launch::Assumption>,
        extents: &mut Extents,
    ) -> Result<Run, LaunchError> {
        let run = self.run_once(launch, settings, assumes, extents)?;
        if run.is_exhausted || run.extents == *extents {
            return Ok(run);
        }
        extents.clone_from(&run.extents);
        self.run_once(launch, settings, assumes, extents)
    }

    fn run_once(
        &self,
        launch: &Launch,
        settings: &Settings,
        assumes: Option<launch::Assumption>,
        extents: &Extents,
    ) -> Result<Run, LaunchError> {
        let clusters = clusters(launch);
        if u64::from(settings.cluster_index) >= clusters {
            return Err(LaunchError(format!("the grid has {clusters} clusters")));
        }
        let shape = self.shape(launch, settings.cluster_index, assumes.is_some())?;
        if let Some(report) = self.too_large(launch, &shape) {
            return Ok(Run {
                report,
                traps: false,
                is_exhausted: false,
                addressed_ctas: 1,
                shown: Vec::new(),
                visits: Vec::new(),
                extents: Extents::new(),
                leading: BTreeSet::new(),
                under: String::new(),
            });
        }
        let (global, mut parameters, places) = self.memory(launch);
        if let Some((word, number)) = assumes.and_then(|assumption| assumption.other) {
            let is_there = |it: &&program::Parameter| {
                (it.offset.into()..u64::from(it.offset + it.bytes)).contains(&word)
            };
            let of = self.program.parameters.iter().find(is_there);
            let bytes = of.map_or(4, |it| if it.is_array { 4 } else { it.bytes.min(8) as usize });
            parameters.write(word, bytes, number, false);
        }
        let conditions = self.conditions(launch, settings, assumes);
        let machine = Machine::new(&self.program, shape, conditions, global, parameters).reaching(extents);
        let mut outcome = machine.run();
        let global = std::mem::take(&mut outcome.global);
        let mut run = self.reported(launch, outcome, assumes.is_some());
        match assumes {
            Some(assumption) => run.under = self.described(launch, assumption, &run.leading),
            None => run.report.outputs = self.outputs(launch, &global, &places),
        }
        Ok(run)
    }

    /// An assumed launch in words: the numbers that chose the ways of threads, and its shape.
    fn described(&self, launch: &Launch, assumption: launch::Assumption, leading: &BTreeSet<u64>) -> String {
        /// More are not named.
        const MOST: usize = 4;
        let mut words: Vec<String> = Vec::new();
        for word in leading.iter().take(MOST) {
            let is_there =
                |it: &&program::Parameter| (it.offset.into()..u64::from(it.offset + it.bytes)).contains(word);
            let Some(parameter) = self.program.parameters.iter().find(is_there) else { continue };
            let within = word - u64::from(parameter.offset);
            let place = if within > 0 { format!("+{within}") } else { String::new() };
            let other = assumption.other.filter(|(other, _)| other == word);
            let number = other.map_or(assumption.number, |(_, number)| number);
            words.push(format!("`{}{place}` = {number}", parameter.name));
        }
        if leading.len() > MOST {
            words.push(format!("{} more numbers", leading.len() - MOST));
        }
        let shape = |of: [u32; 3]| of.map(|size| size.to_string()).join("x");
        words.push(format!("grid {}", shape(launch.grid)));
        words.push(format!("block {}", shape(launch.block)));
        words.join(", ")
    }

    /// The shape of a cluster of a launch.
    fn shape(&self, launch: &Launch, index: u32, is_assumed: bool) -> Result<Shape, LaunchError> {
        if self.shared_end(launch) > self.most_shared() && !is_assumed {
            return Err(LaunchError(format!(
                "the kernel has {} bytes of static shared memory: with {} dynamic ones that is too much",
                self.program.static_shared - program::windows::RESERVED,
                launch.dynamic_smem
            )));
        }
        let function = &self.unit.module.functions[self.function as usize];
        let threads: u32 = launch.block.iter().product();
        let said = launch::Directives::of(self.unit, function).registers;
        let fair = ((1 << 16) / threads.max(1).next_multiple_of(128)) / 8 * 8;
        Ok(Shape {
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            index,
            dynamic_shared: launch.dynamic_smem,
            registers: launch.registers.or(said).unwrap_or(fair).clamp(24, 256),
        })
    }

    /// Bytes of shared memory that a CTA has, and that it may have.
    fn shared_end(&self, launch: &Launch) -> u64 {
        let align = self.program.dynamic_align.max(16);
        u64::from(self.program.static_shared).next_multiple_of(align.into()) + u64::from(launch.dynamic_smem)
    }

    fn most_shared(&self) -> u64 {
        u64::from(launch::MOST_SHARED + program::windows::RESERVED + self.program.dynamic_align)
    }

    fn conditions(
        &self,
        launch: &Launch,
        settings: &Settings,
        assumes: Option<launch::Assumption>,
    ) -> Conditions<'_> {
        Conditions {
            schedule: settings.schedule,
            strict: settings.strict,
            budget: settings.budget,
            is_assumed: assumes.is_some(),
            assumes: assumes.or_else(|| launch.assume_zeros.then(launch::Assumption::zeros)),
            features: self.features,
            target: self.target,
            records: settings.records,
            is_one_of_several: false,
            progress: self.progress.map(|progress| {
                progress.runs.fetch_add(1, Ordering::Relaxed);
                &progress.instructions
            }),
        }
    }

    /// What is said of a cluster that takes more memory than there is.
    fn too_large(&self, launch: &Launch, shape: &Shape) -> Option<KernelReport> {
        let bytes = Machine::bytes(&self.program, shape);
        let text = if self.shared_end(launch) > self.most_shared() {
            format!("its static variables in shared memory take {} bytes", self.program.static_shared)
        } else if bytes > MOST_BYTES {
            format!("its threads and their memory take {} MB", bytes >> 20)
        } else {
            return None;
        };
        Some(self.not_run(launch, text))
    }

    /// What is said of a run.
    fn reported(&self, launch: &Launch, outcome: Outcome, is_assumed: bool) -> Run {
        let program = &self.program;
        let mut found: Vec<(Diagnostic, judged::Shown)> = outcome
            .findings
            .into_iter()
            .zip(outcome.shown)
            .map(|(finding, visits)| {
                let shown = judged::Shown::new(&finding, visits);
                (finding.diagnostic(&program.spans), shown)
            })
            .collect();
        // The first that shows is most likely the cause.
        found.dedup_by(|one, other| one.0 == other.0);
        // What several runs show is compared first.
        if !is_assumed {
            found = judged::once_for_each_cause(found);
        }
        let (diagnostics, shown): (Vec<Diagnostic>, Vec<judged::Shown>) = found.into_iter().unzip();
        let span = |step: u32| program.spans.get(step as usize).copied();
        let traps = outcome.stop.as_ref().is_some_and(|stop| {
            program.steps.get(stop.step as usize).is_some_and(|step| matches!(step.action, Action::Trap))
        });
        let reasons: Vec<Reason> = outcome
            .stop
            .into_iter()
            .map(|stop| Reason { span: span(stop.step), text: stop.reason })
            .collect();
        let mut assumed = launch.assumed.clone();
        assumed.extend(outcome.assumed.into_iter().map(|(_, what)| what.to_owned()));
        let report = KernelReport {
            kernel: self.name().to_owned(),
            verdict: verdict(&diagnostics, &reasons),
            reasons,
            assumed,
            diagnostics,
            clusters: 1,
            warp_instructions: outcome.executed,
            operations: outcome.performed,
            outputs: Vec::new(),
            record: outcome.record,
        };
        let (is_exhausted, addressed_ctas) = (outcome.is_exhausted, outcome.addressed_ctas);
        let (visits, extents, leading) = (outcome.visits, outcome.extents, outcome.leading);
        let under = String::new();
        Run { report, traps, is_exhausted, addressed_ctas, shown, visits, extents, leading, under }
    }

    /// What is said of a launch that is too large.
    fn not_run(&self, launch: &Launch, text: String) -> KernelReport {
        KernelReport {
            kernel: self.name().to_owned(),
            verdict: Verdict::Incomplete,
            reasons: vec![Reason { span: None, text }],
            assumed: launch.assumed.clone(),
            diagnostics: Vec::new(),
            clusters: 0,
            warp_instructions: 0,
            operations: 0,
            outputs: Vec::new(),
            record: None,
        }
    }

    /// Global memory and the parameters of a launch; and the buffers of its arguments.
    fn memory(&self, launch: &Launch) -> (Global, Bytes, Vec<Placed>) {
        let mut global = Global::default();
        for variable in &self.program.globals {
            let fill = if variable.is_external { Fill::Unknown } else { Fill::Data(variable.data.clone()) };
            let mut buffer = Buffer::new(format!("`{}`", variable.name), variable.bytes, fill);
            buffer.unknown.clone_from(&variable.unknown);
            global.add(buffer);
        }
        let mut parameters = Bytes::new(self.program.parameter_bytes as usize);
        let mut places: Vec<Placed> = Vec::new();
        for (index, argument) in launch.arguments.iter().enumerate() {
            let name = match self.program.parameters.get(index) {
                Some(parameter) => format!("argument {index} (`{}`)", parameter.name),
                None => format!("argument {index}"),
            };
            places.extend(place(&mut global, argument, (index, None), name));
            if let Argument::Struct(fields) = argument {
                for (field, (.., argument)) in fields.iter().enumerate() {
                    let name = format!("field {field} of argument {index}");
                    places.extend(place(&mut global, argument, (index, Some(field)), name));
                }
            }
        }
        let address = |argument: usize, field: Option<usize>| {
            let is_it = |it: &&Placed| (it.argument, it.field) == (argument, field);
            places.iter().find(is_it).map_or(0, |it| it.address)
        };
        let bytes = |argument: &Argument, own: u64| match argument {
            Argument::Buffer { .. } => Some(own.to_le_bytes().to_vec()),
            Argument::Bytes(bytes) => Some(bytes.clone()),
            Argument::TensorMap { map, base, .. } => {
                let mut map = map.clone();
                map.base = base.map_or(own, |base| address(base, None));
                Some(map.encode().to_vec())
            }
            Argument::Struct(_) | Argument::Opaque => None,
        };
        for (index, (argument, parameter)) in
            launch.arguments.iter().zip(&self.program.parameters).enumerate()
        {
            let (at, len) = (u64::from(parameter.offset), parameter.bytes as usize);
            if let Argument::Struct(fields) = argument {
                // What is between its fields is nothing that is read.
                parameters.fill(at, len, Some(&[]));
                for (field, (offset, size, argument)) in fields.iter().enumerate() {
                    let known = bytes(argument, address(index, Some(field)));
                    parameters.fill(at + u64::from(*offset), *size as usize, known.as_deref());
                }
                continue;
            }
            parameters.fill(at, len, bytes(argument, address(index, None)).as_deref());
        }
        (global, parameters, places)
    }

    /// What the buffers hold that the launch writes to files.
    fn outputs(&self, launch: &Launch, global: &Global, places: &[Placed]) -> Vec<Output> {
        let is_wanted =
            |it: &&Placed| launch.outs.iter().any(|out| (out.argument, out.field) == (it.argument, it.field));
        let output = |it: &Placed| {
            let few = usize::try_from(it.bytes).ok().filter(|bytes| *bytes <= launch::MOST_WRITTEN)?;
            let Contents { bytes, unknown } = global.contents(it.address, few)?;
            let lost = global.lost(it.address);
            let lost = lost.and_then(|(step, at)| Some((*self.program.spans.get(step as usize)?, at)));
            Some(Output { argument: it.argument, field: it.field, bytes, unknown, lost })
        };
        places.iter().filter(is_wanted).filter_map(output).collect()
    }
}

/// A buffer of an argument, or of a field of one.
#[derive(Clone, Copy, Debug)]
struct Placed {
    argument: usize,
    field: Option<usize>,
    address: u64,
    bytes: u64,
}

/// Makes the buffer that an argument names, if it names one of its own.
fn place(
    global: &mut Global,
    argument: &Argument,
    (index, field): (usize, Option<usize>),
    name: String,
) -> Option<Placed> {
    let (bytes, fill) = match argument {
        Argument::Buffer { bytes, data } => (*bytes, data.clone().map_or(Fill::Unknown, Fill::Data)),
        Argument::TensorMap { base: None, bytes, data, .. } => {
            (*bytes, data.clone().map_or(Fill::Unknown, Fill::Data))
        }
        Argument::TensorMap { .. } | Argument::Bytes(_) | Argument::Struct(_) | Argument::Opaque => {
            return None;
        }
    };
    let address = global.add(Buffer::new(name, bytes, fill));
    Some(Placed { argument: index, field, address, bytes })
}

/// Clusters in a grid.
fn clusters(launch: &Launch) -> u64 {
    let product = |of: [u32; 3]| of.iter().map(|size| u64::from(*size)).product::<u64>();
    (product(launch.grid) / product(launch.cluster).max(1)).max(1)
}

/// What needs more memory is not run: 16 CTAs of 1024 threads with 5000 registers each take half of it.
const MOST_BYTES: u64 = 3 << 29;

/// The target whose arithmetic is computed; the first that has it, if the module does not say.
const fn target_of(sm: Option<u16>) -> ptx_numbers::Target {
    use ptx_numbers::Target;
    match sm {
        Some(80..=88) => Target::Sm80,
        Some(89) => Target::Sm89,
        Some(90) => Target::Sm90,
        Some(101) => Target::Sm101,
        Some(103) => Target::Sm103,
        Some(107) => Target::Sm107,
        Some(110) => Target::Sm110,
        Some(120..) => Target::Sm120,
        Some(_) | None => Target::Sm100,
    }
}
