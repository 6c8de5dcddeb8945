//! Launches, and what becomes of them.

use std::ops::Range;

use ptx_check::diagnostic::selection::RuleSettings;
use ptx_check::rules::Code;
use ptx_simulation::array::{Form, OutFile};
use ptx_simulation::launch::{Launch, LaunchError as Refusal, LaunchShape};
use ptx_simulation::slice::{self, Element, Origin};
use ptx_simulation::state::CtaState;
use ptx_simulation::{Checks, Keeps, KernelReport, Progress, Schedule, Settings, Verdict, schedules};

use crate::argument::Arguments;
use crate::{Argument, Device, Kernel, LaunchError, Module};

/// How large a launch is. What is left out, the kernel's directives say, or it is 1; 128 threads for `block`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// CTAs of the grid.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA.
    pub block: Option<[u32; 3]>,
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_smem: u32,
    /// Whether it is a cooperative launch: kernels that call `cooperative_groups::this_grid().sync()` trap in another one.
    pub cooperative: bool,
}

impl Config {
    /// A grid of so many CTAs of so many threads.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid: Some(grid), block: Some(block), ..Self::default() }
    }

    /// The same with clusters of so many CTAs.
    #[must_use]
    pub fn cluster(self, cluster: [u32; 3]) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// The same with so many bytes of dynamic shared memory.
    #[must_use]
    pub fn dynamic_smem(self, bytes: u32) -> Self {
        Self { dynamic_smem: bytes, ..self }
    }

    /// The same as a cooperative launch, or not.
    #[must_use]
    pub fn cooperative(self, cooperative: bool) -> Self {
        Self { cooperative, ..self }
    }
}

impl From<Config> for LaunchShape {
    fn from(Config { grid, block, cluster, dynamic_smem, cooperative }: Config) -> Self {
        Self { grid, block, cluster, dynamic_smem, cooperative }
    }
}

/// How a launch is simulated.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Options {
    /// When asynchronous operations take effect.
    pub schedule: Schedule,
    /// Under how many random schedules the kernel runs, from that of the seed of `schedule` on, or from 1 on; what any
    /// of them shows is reported. Memory keeps what the first leaves. 0 is one run under `schedule`.
    pub runs: u64,
    /// Whether registers that `tcgen05.ld` wrote may be used only after `tcgen05.wait::ld`.
    pub strict: bool,
    /// Warp instructions after which a cluster ends as incomplete.
    pub budget: u64,
    /// What is looked for.
    pub checks: Checks,
    /// Whether what happens is kept, for a picture of it.
    pub records: bool,
    /// Which clusters of the grid run; all if none are named.
    pub clusters: Option<Range<u32>>,
    /// Whether results are computed whose arithmetic no source covers.
    pub believes: bool,
    /// Which rules count, and how much.
    pub rules: RuleSettings,
    /// Whether findings say the lines of the source that the module was compiled from.
    pub locates: bool,
}

impl Default for Options {
    fn default() -> Self {
        let Settings { schedule, strict, budget, checks, .. } = Settings::default();
        Self {
            schedule,
            runs: 0,
            strict,
            budget,
            checks,
            records: false,
            clusters: None,
            believes: true,
            rules: RuleSettings::default(),
            locates: true,
        }
    }
}

impl Options {
    /// The same for the simulator: of one run.
    pub fn settings(&self) -> Settings {
        Settings {
            schedule: self.schedule,
            strict: self.strict,
            budget: self.budget,
            cluster_index: self.clusters.as_ref().map_or(0, |clusters| clusters.start),
            records: self.records,
            checks: self.checks,
            specials: self.rules.runs(Code::NanOrInfinity),
            ..Settings::default()
        }
    }

    /// Runs something as often as is wanted, under a schedule each, and joins what was found.
    ///
    /// # Errors
    /// When a run cannot be.
    pub fn often(
        &self,
        run: impl Fn(&Settings) -> Result<KernelReport, Refusal> + Sync,
    ) -> Result<KernelReport, Refusal> {
        let settings = self.settings();
        if self.runs == 0 {
            return run(&settings);
        }
        let first = if let Schedule::Random(seed) = self.schedule { seed } else { 1 };
        schedules::under_seeds(first..first.saturating_add(self.runs), |schedule| {
            run(&Settings { schedule, ..settings })
        })
    }
}

/// What became of a launch.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The verdict, and what was found. Global memory is in the device.
    pub report: KernelReport,
    /// The module of the kernel: spans in the report are places in its text.
    pub module: Module,
    /// How long it took; 0 in WebAssembly, which has no clock.
    pub seconds: f64,
    pub(crate) kernel: Kernel,
    pub(crate) launch: Launch,
    pub(crate) settings: Settings,
    pub(crate) clusters: Range<u32>,
}

impl Run {
    /// Whether all of the kernel ran, and nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.report.verdict == Verdict::Clean
    }

    /// What happened, for pictures and traces: what was kept, or else the kernel runs again, in memory as it was at the
    /// launch.
    ///
    /// # Errors
    /// As at the launch.
    pub fn recorded(&self) -> Result<KernelReport, LaunchError> {
        if self.report.record.is_some() {
            return Ok(self.report.clone());
        }
        let kernel = self.kernel.lowered.kernel(&self.module.inner.unit);
        let settings = Settings { records: true, keeps: Keeps::Nothing, ..self.settings };
        kernel.simulate_clusters(&self.launch, &settings, self.clusters.clone()).map_err(LaunchError::from)
    }

    /// What the memories of the CTAs of a cluster hold in the end, or before the first instruction in a line of the text
    /// (from 1) if one is named. The cluster runs again, alone, in memory as it was at the launch.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn states(&self, cluster: u32, until: Option<u32>) -> Result<Vec<CtaState>, LaunchError> {
        let unit = &self.module.inner.unit;
        if let Some(line) = until {
            let is_there = |at: u32| unit.source.position(at).line == line;
            if !unit.module.instructions.iter().any(|it| is_there(it.opcode.start)) {
                let message = format!("line {line} of `{}` has no instruction", unit.source.name());
                return Err(LaunchError::Shape { key: Some("until"), message, help: None });
            }
        }
        let kernel = self.kernel.lowered.kernel(unit);
        let settings = Settings { keeps: Keeps::State, until, checks: Checks::None, ..self.settings };
        let report = kernel.simulate_clusters(&self.launch, &settings, cluster..cluster.saturating_add(1));
        Ok(report.map_err(LaunchError::from)?.states)
    }

    /// CTAs of a cluster along each axis, and of the grid.
    pub fn shape(&self) -> ([u32; 3], [u32; 3]) {
        (self.launch.cluster, self.launch.grid)
    }

    /// The files that results are for, if a launch file named some: the bytes of each are in
    /// [`KernelReport::outputs`].
    pub fn outs(&self) -> &[OutFile] {
        &self.launch.outs
    }

    /// The value of an element of an array, such as `c.npy[17, 3]`, in the end; nothing if it is not known, or not kept.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn value(&self, element: &str) -> Result<Option<String>, LaunchError> {
        let (element, form) = self.element(element)?;
        Ok(slice::value(&self.report, element, &form))
    }

    /// Whether the values that the array of an element has in the end are kept: a launch file keeps those with `out`.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn keeps(&self, element: &str) -> Result<bool, LaunchError> {
        Ok(slice::is_kept(&self.report, self.element(element)?.0))
    }

    fn element(&self, element: &str) -> Result<(Element, Form), LaunchError> {
        let kernel = self.kernel.lowered.kernel(&self.module.inner.unit);
        slice::element(&kernel, &self.launch, element).map_err(LaunchError::from)
    }

    /// What an element of an array comes from, such as `c[17, 3]`: the instructions, and the elements of other arrays.
    /// The kernel runs again, in memory as it was at the launch.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn explain(&self, element: &str) -> Result<Origin, LaunchError> {
        let (element, _) = self.element(element)?;
        let kernel = self.kernel.lowered.kernel(&self.module.inner.unit);
        kernel
            .explain(&self.launch, &self.settings, self.clusters.clone(), element)
            .map_err(LaunchError::from)
    }
}

impl Kernel {
    /// Runs the kernel in the memory of a device.
    ///
    /// # Errors
    /// When it cannot be launched like this. What is wrong with the kernel is in the [`Run`].
    pub fn launch(
        &self,
        device: &Device,
        config: &Config,
        arguments: &[Argument],
        options: &Options,
    ) -> Result<Run, LaunchError> {
        self.launch_watched(device, config, arguments, options, &Progress::default())
    }

    /// The same, for another thread to see how far it is, and to stop it.
    ///
    /// # Errors
    /// As [`Kernel::launch`].
    pub fn launch_watched(
        &self,
        device: &Device,
        config: &Config,
        arguments: &[Argument],
        options: &Options,
        progress: &Progress,
    ) -> Result<Run, LaunchError> {
        let kernel = self.lowered.kernel(&self.module.inner.unit);
        let mut memory = device.memory();
        device.load(&self.module, &mut memory);
        let parameters = kernel.parameters();
        if parameters.len() != arguments.len() {
            return Err(LaunchError::Count {
                kernel: self.name(),
                parameters: parameters.into_iter().map(|it| it.name).collect(),
                given: arguments.len(),
            });
        }
        let mut all = Arguments::default();
        for (parameter, argument) in parameters.iter().zip(arguments) {
            all.add(parameter, argument, &memory)?;
        }
        let launch = kernel
            .launch_in(&LaunchShape::from(*config), all.all, memory.clone())
            .map_err(LaunchError::from)?;
        let launch = Launch { outs: all.outs, arrays: all.arrays, believes: options.believes, ..launch };
        let settings = Settings { keeps: Keeps::Memory, ..options.settings() };
        let mut run = self.run(launch, settings, options, progress)?;
        if let Some(left) = run.report.memory.take() {
            *memory = left;
        }
        Ok(run)
    }
}
