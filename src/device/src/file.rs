//! Launches that a launch file says, and launches that are assumed.

use std::time::Instant;

use ptx_simulation::launch::{Launch, LaunchError as Refusal, LaunchFile, LaunchShape, Misfit};
use ptx_simulation::slice;
use ptx_simulation::{Keeps, KernelReport, Progress, Settings};

use crate::{Config, Kernel, LaunchError, Options, Run};

/// A launch as a launch file says it, in a memory of its own: that of the buffers that the file names.
#[derive(Clone, Debug)]
pub struct FileLaunch {
    kernel: Kernel,
    launch: Launch,
}

impl FileLaunch {
    /// Looks whether there is an element, such as `c.npy[17, 3]`, that [`Run::explain`] could explain.
    ///
    /// # Errors
    /// When there is none: what can be written.
    pub fn find(&self, element: &str) -> Result<(), LaunchError> {
        let kernel = self.kernel.lowered.kernel(&self.kernel.module.inner.unit);
        slice::element(&kernel, &self.launch, element).map(|_| ()).map_err(LaunchError::from)
    }

    /// Runs it. `progress` is for another thread to see how far it is, and to stop it.
    ///
    /// # Errors
    /// When a cluster is named that the grid does not have.
    pub fn run(self, options: &Options, progress: &Progress) -> Result<Run, LaunchError> {
        let settings = Settings { keeps: Keeps::Nothing, ..options.settings() };
        self.kernel.run(self.launch, settings, options, progress)
    }
}

impl Kernel {
    /// The launch that a launch file says. `data` reads the files that it names.
    ///
    /// # Errors
    /// When the file contradicts itself or the kernel: which of its values does.
    pub fn file_launch(
        &self,
        file: &LaunchFile,
        data: &mut dyn FnMut(&str) -> Result<Vec<u8>, Refusal>,
    ) -> Result<FileLaunch, Misfit> {
        let launch = self.lowered.kernel(&self.module.inner.unit).fitting_launch(file, data)?;
        Ok(FileLaunch { kernel: self.clone(), launch })
    }

    /// Runs the kernel under several launches that are assumed, of the shape that is given. What shows whatever is assumed
    /// is found; [`KernelReport::tried`] has the launches.
    ///
    /// # Errors
    /// When the kernel has no such shape.
    pub fn assume(
        &self,
        config: &Config,
        options: &Options,
        progress: &Progress,
    ) -> Result<KernelReport, LaunchError> {
        let kernel = self.lowered.kernel(&self.module.inner.unit).telling(progress);
        let report = options.often(|settings| kernel.simulate_assumed(&LaunchShape::from(*config), settings));
        Ok(self.judged(report.map_err(LaunchError::from)?, options))
    }

    /// A launch file to fill in: that of the first launch that [`Kernel::assume`] tries.
    pub fn launch_template(&self) -> String {
        self.lowered.kernel(&self.module.inner.unit).launch_template()
    }

    /// What counts of a report.
    fn judged(&self, mut report: KernelReport, options: &Options) -> KernelReport {
        let unit = &self.module.inner.unit;
        report.weigh(unit, &options.rules);
        if options.locates {
            ptx_check::locate(unit, &mut report.diagnostics);
        }
        report
    }

    /// Runs a launch.
    pub(crate) fn run(
        &self,
        launch: Launch,
        settings: Settings,
        options: &Options,
        progress: &Progress,
    ) -> Result<Run, LaunchError> {
        // WebAssembly has no clock.
        let start = (!cfg!(target_family = "wasm")).then(Instant::now);
        let kernel = self.lowered.kernel(&self.module.inner.unit).telling(progress);
        let clusters = options.clusters.clone().unwrap_or(0..launch.clusters());
        let report = options.often(|run| {
            kernel.simulate_clusters(&launch, &Settings { keeps: settings.keeps, ..*run }, clusters.clone())
        });
        let report = self.judged(report.map_err(LaunchError::from)?, options);
        let (module, seconds) =
            (self.module.clone(), start.map_or(0.0, |start| start.elapsed().as_secs_f64()));
        Ok(Run { report, module, seconds, kernel: self.clone(), launch, settings, clusters })
    }
}
