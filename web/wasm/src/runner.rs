//! Runs of kernels.

use std::path::Path;

use ptx_config::launch::{LaunchFileError, LaunchText};
use ptx_depict::run::Told;
use ptx_device::{Config, Kernel, KernelReport, LaunchError, Module, ModuleError, Progress, Schedule};
use ptx_draw::timeline::Timeline;
use ptx_draw::{barriers, svg, timeline, tmem};
use ptx_render::simulation::{self as render, Simulated, SimulatedFile};
use ptx_render::{Checked, Reader};
use ptx_simulation::launch::LaunchError as Refusal;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wasm_bindgen::prelude::*;

use crate::editor::also;
use crate::json;

/// A module whose kernels can run.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Runner {
    module: Module,
}

/// How a kernel runs.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Options {
    /// Warp instructions after which it ends.
    budget: u64,
    strict: bool,
    /// Which of the random schedules; 0 is none of them.
    seed: u64,
    /// Whether what asynchronous operations do takes effect as late as it can.
    late: bool,
    /// Rules that run although they are off by default.
    rules: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: 2_000_000, strict: false, seed: 0, late: false, rules: Vec::new() }
    }
}

/// What became of a run.
#[derive(Serialize)]
struct Ran<'a> {
    /// The document of `simulate --format json`.
    document: Box<RawValue>,
    /// What the program shows people.
    text: String,
    /// The launch file that repeats the run that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<&'a str>,
    /// What happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Timeline>,
    /// Pictures of what happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline_svg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    barriers_svg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor_memory_svg: Option<String>,
}

#[wasm_bindgen]
impl Runner {
    /// Parses a module of PTX.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, text: &str) -> Result<Runner, String> {
        let module = Module::from_text(name, text).map_err(|error| match error {
            ModuleError::Syntax { line, .. } => format!("line {line} is no PTX: the findings say more"),
            error => error.to_string(),
        })?;
        if module.kernels().is_empty() {
            return Err("the text has no kernel: an `.entry` is what runs".to_owned());
        }
        Ok(Self { module })
    }

    /// A launch file for a kernel, to fill in.
    pub fn template(&self, kernel: &str) -> Result<String, String> {
        Ok(self.kernel(kernel)?.launch_template())
    }

    /// Runs a kernel as a launch file says, or under assumed launches if that is empty. Returns the JSON document of
    /// the run.
    pub fn run(&self, kernel: &str, launch: &str, options: &str) -> Result<String, String> {
        let options: Options = serde_json::from_str(options).map_err(|error| error.to_string())?;
        let mut wanted = ptx_device::Options::default();
        wanted.rules = also(&options.rules)?;
        wanted.schedule = match options {
            Options { seed: 1.., .. } => Schedule::Random(options.seed),
            Options { late: true, .. } => Schedule::Late,
            _ => Schedule::Early,
        };
        (wanted.strict, wanted.budget, wanted.records) = (options.strict, options.budget, true);
        let kernel = self.kernel(kernel)?;
        let report = if launch.trim().is_empty() {
            kernel
                .assume(&Config::default(), &wanted, &Progress::default())
                .map_err(|error| refused(&error))?
        } else {
            launched(&kernel, launch, &wanted)?
        };
        Ok(self.told(&report))
    }
}

impl Runner {
    fn kernel(&self, name: &str) -> Result<Kernel, String> {
        self.module.kernel(name).map_err(|_| format!("the text has no kernel `{name}`"))
    }

    fn told(&self, report: &KernelReport) -> String {
        let source = self.module.source();
        let file = || SimulatedFile {
            checked: Checked::new(source.clone(), ptx_check::Report::default()),
            kernels: vec![Simulated::new(report.clone(), Vec::new(), 0.0)],
        };
        let mut document = Vec::new();
        let mut text = Vec::new();
        // A vector takes all that is written.
        let _ = render::json(&[file()], &mut document);
        let _ = render::human(
            &mut [file()],
            render::Look { most: 10, reader: Reader::Page, ..render::Look::default() },
            &mut text,
        );
        let document = String::from_utf8(document).unwrap_or_default();
        let record = report.record.as_ref();
        let told = record.map(|record| Told { source, kernel: &report.kernel, record });
        let timeline = told.map(|told| told.timeline());
        let shown_by = report.shown_by.unwrap_or(1);
        json(&Ran {
            document: RawValue::from_string(document).unwrap_or_default(),
            text: String::from_utf8_lossy(&text).into_owned(),
            launch: shown_by.checked_sub(1).and_then(|at| report.tried.get(at)).map(|it| it.file.as_str()),
            timeline_svg: timeline.as_ref().map(|it| svg::render(&timeline::picture(it))),
            timeline,
            tensor_memory_svg: told
                .map(|told| told.tensor_memory())
                .filter(|it| !it.spaces.is_empty())
                .map(|it| svg::render(&tmem::picture(&it))),
            barriers_svg: told
                .map(|told| svg::render(&barriers::picture(&report.kernel, &told.barriers(), true))),
        })
    }
}

fn refused(error: &LaunchError) -> String {
    format!("the kernel cannot be launched like this: {error}")
}

/// Runs it as a launch file says.
fn launched(kernel: &Kernel, text: &str, options: &ptx_device::Options) -> Result<KernelReport, String> {
    let launch =
        LaunchText::parse(Path::new("launch"), text.to_owned()).map_err(|error| wrong(text, error))?;
    let mut read = |name: &str| {
        let why = "a page reads no files; fill the buffer, or use the command";
        Err(Refusal(format!("`{name}`: {why}")))
    };
    let fitting = kernel.file_launch(&launch.file, &mut read);
    let fitting = fitting.map_err(|misfit| wrong(text, launch.misfit(misfit)))?;
    fitting.run(options, &Progress::default()).map(|run| run.report).map_err(|error| refused(&error))
}

/// What is wrong with a launch file, and in which line.
fn wrong(text: &str, error: LaunchFileError) -> String {
    let LaunchFileError::Invalid { message, span, label, help, .. } = error else { return error.to_string() };
    let line = text.get(..span.offset()).map_or(1, |before| before.matches('\n').count() + 1);
    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
    format!("line {line} of the launch: {message}: {label}{help}")
}
