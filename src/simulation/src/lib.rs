//! Running a kernel without a GPU.
//!
//! # The path of the data
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

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub mod addresses;
pub mod array;
mod assumed;
mod clock;
mod findings;
mod format;
mod grid;
pub mod launch;
mod machine;
pub mod memory;
pub mod names;
mod parameters;
mod program;
mod provenance;
mod reasons;
pub mod record;
mod report;
mod run;
pub mod schedules;
mod shadow;
pub mod slice;
pub mod state;
pub mod tensor_map;

use descriptor::Features;
use launch::{Launch, LaunchError, LaunchFile, LaunchShape, Misfit};
use machine::Extents;
pub use parameters::{ParameterInfo, Word, WordKind};
use program::{Program, Shared};
pub use ptx_arithmetic as arithmetic;
use ptx_check::{analysis, descriptor, diagnostic, instruction, isa, resolve, source, syntax, words};
use ptx_ir as ir;
pub use report::{KernelReport, Output, Printed, Progress, Reason, TriedLaunch, Verdict};
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

/// What is looked for in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// All that the rules say.
    #[default]
    All,
    /// Deadlocks, bounds and descriptors, but no races and no memory that was not written: a run computes only.
    None,
}

/// What of the machine is kept when a run is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing but the report.
    #[default]
    Nothing,
    /// Global memory: [`KernelReport::memory`].
    Memory,
    /// The memories of CTAs: [`KernelReport::states`].
    State,
}

/// How to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// When what happens.
    pub schedule: Schedule,
    /// Whether loads of Tensor Memory are over only when they were waited for, and loads that race are findings although
    /// nothing depends on what they read.
    pub strict: bool,
    /// Warp instructions after which a run ends; an operation beside the threads counts as several.
    pub budget: u64,
    /// Which cluster of the grid runs.
    pub cluster_index: u32,
    /// Whether what happens is kept, for pictures and traces.
    pub records: bool,
    /// What is looked for.
    pub checks: Checks,
    /// What is kept when the run is over.
    pub keeps: Keeps,
    /// The run ends before the first instruction in this line of the text, from 1.
    pub until: Option<u32>,
    /// Whether NaN and infinity are looked for where they are made: [`Code::NanOrInfinity`] is off by default.
    ///
    /// [`Code::NanOrInfinity`]: ptx_check::rules::Code::NanOrInfinity
    pub specials: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schedule: Schedule::Early,
            strict: false,
            budget: 20_000_000,
            cluster_index: 0,
            records: false,
            checks: Checks::All,
            keeps: Keeps::Nothing,
            until: None,
            specials: false,
        }
    }
}

/// A kernel, ready to run.
pub struct Kernel<'u> {
    unit: &'u Unit,
    progress: Option<&'u Progress>,
    function: u32,
    program: Arc<Program>,
    features: Features,
    target: ptx_numbers::Target,
}

/// What a kernel was lowered to, for a longer time than its module is at hand.
#[derive(Clone)]
pub struct Lowered {
    function: u32,
    program: Arc<Program>,
    features: Features,
    target: ptx_numbers::Target,
}

impl Lowered {
    /// The kernel, ready to run. The module is the one that it was lowered from.
    pub fn kernel<'u>(&self, unit: &'u Unit) -> Kernel<'u> {
        let Self { function, program, features, target } = self;
        let (program, progress) = (Arc::clone(program), None);
        Kernel { unit, progress, function: *function, program, features: *features, target: *target }
    }
}

impl std::fmt::Debug for Lowered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lowered").field("function", &self.function).finish_non_exhaustive()
    }
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
        let program = Arc::new(program::lower(&self.shared, function));
        let (features, target) = (self.features, self.target);
        Some(Kernel { unit: self.unit, progress: None, function, program, features, target })
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

    /// What it was lowered to.
    pub fn lowered(&self) -> Lowered {
        let Self { function, program, features, target, .. } = self;
        Lowered { function: *function, program: Arc::clone(program), features: *features, target: *target }
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

    /// A launch file to fill in: that of the first launch that is tried if none is given.
    pub fn launch_template(&self) -> String {
        self.launch_file(&self.first_hypothesis())
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
        self.fitting_launch(file, data).map_err(|misfit| misfit.error)
    }

    /// The launch that a file says.
    ///
    /// # Errors
    /// When it contradicts itself or the kernel: which of its values does.
    pub fn fitting_launch(
        &self,
        file: &LaunchFile,
        data: &mut dyn FnMut(&str) -> Result<Vec<u8>, LaunchError>,
    ) -> Result<Launch, Misfit> {
        let function = &self.unit.module.functions[self.function as usize];
        Launch::new(self.unit, function, &self.program.parameters, file, data)
    }

    /// A launch by a program, with arguments in memory that is there: one for each of [`Kernel::parameters`].
    ///
    /// # Errors
    /// When it contradicts itself or the kernel: which of its values does.
    pub fn launch_in(
        &self,
        shape: &LaunchShape,
        arguments: Vec<launch::Argument>,
        memory: memory::Memory,
    ) -> Result<Launch, Misfit> {
        let function = &self.unit.module.functions[self.function as usize];
        let said = launch::Directives::of(self.unit, function);
        Launch::by_program(&said, &self.program.parameters, shape, arguments, memory)
    }

    /// Runs it as a launch says.
    ///
    /// # Errors
    /// When there is no such launch.
    pub fn simulate(&self, launch: &Launch, settings: &Settings) -> Result<KernelReport, LaunchError> {
        match launch.assumes.map(crate::assumed::Assumption::said) {
            Some(assumption) => self.simulate_again(launch, assumption, settings),
            None => Ok(self.run(launch, settings, None, &mut Extents::new())?.report),
        }
    }

    /// Runs all clusters of the grid, which share their global memory.
    ///
    /// # Errors
    /// When there is no such launch.
    pub fn simulate_all(&self, launch: &Launch, settings: &Settings) -> Result<KernelReport, LaunchError> {
        self.simulate_clusters(launch, settings, 0..launch.clusters())
    }
}

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
