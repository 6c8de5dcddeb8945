//! `ptx-tc simulate`

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use ptx_check::diagnostic::selection::RuleSettings;
use ptx_check::diagnostic::{Diagnostic, Severity};
use ptx_check::source::Source;
use ptx_check::words::demangled;
use ptx_check::{Options, Report};
use ptx_config::launch::LaunchText;
use ptx_device::{Checks, Config, Kernel, KernelReport, Progress, Run, Schedule, Verdict};
use ptx_render::origin::Explained;
use ptx_render::simulation::{self as render, Simulated, SimulatedFile, Written};
use ptx_render::{Checked, Format};
use ptx_render::{timeline, trace};
use ptx_simulation::Output;
use ptx_simulation::launch::LaunchFile;

use crate::check::{RuleArguments, ShownArguments};
use crate::files::{FileArguments, Files, Wanted};
use crate::input::{Input, InputError};
use crate::{Outcome, output_error, report_trouble, use_color};

mod error;
mod kernels;
mod progress;
mod recorded;

use error::SimulateError;
use kernels::chosen;
use progress::watch;
pub(crate) use recorded::{kernel_of, read, recorded};
use recorded::{launched, module};

/// What became of a kernel.
struct Ran {
    report: KernelReport,
    written: Vec<Written>,
    explained: Option<Explained>,
    /// Why a result could not be written.
    lost: Option<SimulateError>,
}

/// Writes the results of a run to the files that a launch file names, as far as that can be.
fn written(run: &Run, directory: &Path) -> (Vec<Written>, Option<SimulateError>) {
    let write = |name: &str, bytes: Vec<u8>| {
        fs::write(directory.join(name), bytes)
            .map_err(|error| SimulateError::Unwritable { path: name.to_owned(), error })
    };
    let mut written = Vec::new();
    for out in run.outs() {
        let is_it = |it: &&Output| (it.argument, it.field) == (out.argument, out.field);
        let Some(output) = run.report.outputs.iter().find(is_it) else { continue };
        let mask = (!output.unknown.is_empty()).then(|| (out.mask_name(), out.mask(output)));
        for (name, bytes) in std::iter::once((out.name.clone(), out.contents(output))).chain(mask) {
            if let Err(error) = write(&name, bytes) {
                return (written, Some(error));
            }
        }
        written.push(Written::new(out, output));
    }
    (written, None)
}

/// What standard input is called.
const STDIN: &str = "<stdin>";

/// Run kernels without a GPU, and find hangs and races.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Simulate {
    /// Files with PTX, directories to search for `*.ptx`, or `-` for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Run this kernel of one file instead of all: its symbol, or its name in C++ as far as that tells it from the
    /// others.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// What a kernel of one file is launched with; without it, several launches are assumed.
    #[arg(short, long, value_name = "TOML")]
    launch: Option<PathBuf>,
    /// Run or print the assumed launch with this number, as the note of a finding names it. Every finding counts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "launch")]
    launch_number: Option<u32>,
    /// CTAs of the grid.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    grid: Option<Vec<u32>>,
    /// Threads of a CTA.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    block: Option<Vec<u32>>,
    /// CTAs of a cluster.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    cluster: Option<Vec<u32>>,
    /// Run one cluster of the grid, or a range such as `4..8`, instead of all; needs a launch file.
    #[arg(long, value_name = "N", value_parser = clusters, conflicts_with = "all")]
    cluster_index: Option<Range<u32>>,
    /// Run all clusters of the grid: the default.
    #[arg(long)]
    all: bool,
    /// When asynchronous operations take effect.
    #[arg(long, value_enum, default_value_t = ScheduleArgument::Early)]
    schedule: ScheduleArgument,
    /// Which of the random schedules.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Run it so often, under the random schedules from `--seed` on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// Judge by the letter of the ISA where shipped kernels do not: demand `tcgen05.wait::ld` before registers are used
    /// that were loaded, the lanes of the own warp in addresses of Tensor Memory, and more that the reference lists.
    #[arg(long)]
    strict: bool,
    /// Warp instructions after which a run ends: the default takes a core some five seconds, more where much
    /// goes on beside the threads; where a launch is assumed, there may be ten such runs or more.
    #[arg(long, value_name = "N", default_value_t = ptx_device::Options::default().budget)]
    budget: u64,
    /// Write a launch file to fill in: the assumed launch that shows the first finding, or the first one.
    #[arg(long)]
    print_launch: bool,
    /// Draw what happened (human format): a line for each warp and unit, time from left to right.
    #[arg(long)]
    timeline: bool,
    /// What to look for: `none` computes results only, and looks for no races.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = ChecksArgument::All)]
    checks: ChecksArgument,
    /// Say which instructions and which elements of arrays an element of the results comes from, such as
    /// `c.npy[17, 3]`.
    #[arg(long, value_name = "ELEMENT", requires = "launch", conflicts_with = "runs")]
    explain: Option<String>,
    /// Write what happened to this file, as a Chrome trace: Perfetto (ui.perfetto.dev) opens it.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How to write the findings: `json` has the verdicts, too; other documents have the findings only.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Write the findings to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not say which lines of its sources the module was compiled from, as its `.loc`s tell.
    #[arg(long)]
    no_source: bool,
    #[command(flatten)]
    shown: ShownArguments,
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    rules: RuleArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScheduleArgument {
    /// At once.
    Early,
    /// When nothing else can go on.
    Late,
    /// By chance, as `--seed` says.
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ChecksArgument {
    /// All that the rules say.
    All,
    /// Deadlocks, bounds and descriptors, but no races and no memory that was not written.
    None,
}

impl Simulate {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        if self.explain.is_some() && !matches!(self.format, Format::Human | Format::Json) {
            return Err(SimulateError::ExplainedInFormat.into());
        }
        let found = self.files.find(&self.paths, STDIN, self.rules.config(), is_ptx)?;
        if !self.shown.quiet {
            found.explain();
        }
        let Files { wanted, errors, .. } = found;
        self.refuse_several(wanted.len())?;
        let mut errors: Vec<miette::Report> = errors.into_iter().map(Into::into).collect();
        if wanted.is_empty() && errors.is_empty() {
            let paths = self.directories();
            if !paths.is_empty() {
                errors.push(InputError::NoPtxBelow { paths }.into());
            }
        }
        let are_several = wanted.len() > 1;
        let mut files = Vec::with_capacity(wanted.len());
        // The configuration of a file says how many findings people see: the fewest of all files.
        let mut most = None;
        for it in &wanted {
            let options = self.rules.options(it);
            most = [most, options.max_findings].into_iter().flatten().filter(|most| *most > 0).min();
            match self.run_file(it, &options, are_several, &mut errors, out) {
                Ok(file) => files.extend(file),
                Err(error) => errors.push(error),
            }
        }
        // What was found has no kernel, and it was not named.
        if files.is_empty() && errors.is_empty() && !wanted.is_empty() && !self.print_launch {
            errors.push(SimulateError::NoKernelsBelow { paths: self.directories() }.into());
        }
        let trouble = !errors.is_empty();
        let outcome = if self.print_launch {
            Outcome::Clean
        } else {
            let look = render::Look {
                most: self.shown.max_findings.or(most).unwrap_or(0),
                is_quiet: self.shown.quiet,
                has_totals: are_several,
                failed: errors.len(),
                ..render::Look::default()
            };
            self.report(files, look, trouble, out)?
        };
        for error in errors {
            report_trouble(&error);
        }
        Ok(if trouble { Outcome::Trouble } else { outcome })
    }

    /// The directories that are searched.
    fn directories(&self) -> Vec<String> {
        let directories = self.paths.iter().filter(|path| path.is_dir());
        directories.map(|path| path.display().to_string()).collect()
    }

    /// Options that are about one file cannot be for several.
    fn refuse_several(&self, count: usize) -> Result<(), SimulateError> {
        let given = [
            (self.launch.is_some(), "--launch", "run the file of the launch alone"),
            (self.launch_number.is_some(), "--launch-number", "run the file of the launch alone"),
            (self.kernel.is_some(), "--kernel", "run the file of the kernel alone"),
            (self.print_launch, "--print-launch", "print the launch of each file by itself"),
            (self.trace.is_some(), "--trace", "write a trace of each file by itself"),
        ];
        match given.into_iter().find(|(is_given, ..)| *is_given) {
            Some((_, option, help)) if count > 1 => Err(SimulateError::SeveralFiles { option, count, help }),
            _ => Ok(()),
        }
    }

    /// Runs the kernels of a file. If one of several cannot run, that is added to the errors, and the others count.
    fn run_file(
        &self,
        wanted: &Wanted,
        options: &Options,
        are_several: bool,
        errors: &mut Vec<miette::Report>,
        out: &mut dyn Write,
    ) -> miette::Result<Option<SimulatedFile>> {
        let input = &wanted.input;
        if let Input::File(path) = input {
            refuse_sources(path)?;
        }
        let source = input.read(STDIN)?;
        let path = source.name().to_owned();
        let module = module(&source)?;
        let is_found = |path: &PathBuf| !self.paths.contains(path);
        // A directory may have modules without kernels, which others are linked with.
        if matches!(input, Input::File(path) if is_found(path)) && module.kernels().is_empty() {
            return Ok(None);
        }
        let file = self.launch_file()?;
        let wanted = self.kernel.as_deref().or_else(|| file.as_ref()?.file.kernel.as_deref());
        let has_launch = file.is_some() && !self.print_launch;
        let names = chosen(&path, &module.kernels(), wanted, has_launch)?;
        if self.launch_number.is_some() && names.len() > 1 {
            return Err(SimulateError::NumberOfSeveral { path, count: names.len() }.into());
        }
        if self.print_launch {
            for kernel in module.each(&names) {
                let text = self.printed_launch(&kernel)?;
                writeln!(out, "{text}").map_err(output_error)?;
            }
            return Ok(None);
        }
        let mut kernels = Vec::new();
        for kernel in module.each(&names) {
            let progress = Progress::default();
            let start = Instant::now();
            let run = || self.simulate(&kernel, file.as_ref(), &options.rules, &progress);
            let Ran { report, written, explained, lost } = match watch(kernel.symbol(), &progress, run) {
                Ok(ran) => ran,
                Err(SimulateError::Launch(error)) if are_several || names.len() > 1 => {
                    let (path, kernel) = (path.clone(), kernel.name());
                    errors.push(SimulateError::LaunchOfSeveral { path, kernel, error: error.into() }.into());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            // What was found is shown all the same.
            errors.extend(lost.map(miette::Report::from));
            let seconds = start.elapsed().as_secs_f64();
            kernels.push(Simulated { explained, ..Simulated::new(report, written, seconds) });
        }
        // Which lines they were compiled from is looked up for all kernels at once.
        let found = kernels.iter().flat_map(|it| it.report.diagnostics.iter());
        let sources = ptx_sources::find(Path::new(source.name()), found);
        let checked = Checked { source, report: Report::default(), sources };
        if kernels.is_empty() {
            return Ok(None);
        }
        Ok(Some(SimulatedFile { checked, kernels }))
    }

    /// What the launch file and the options say, if anything.
    fn launch_file(&self) -> Result<Option<LaunchText>, SimulateError> {
        let Some(path) = &self.launch else { return Ok(None) };
        let mut text = LaunchText::read(path).map_err(SimulateError::File)?;
        let file = &mut text.file;
        file.grid = self.grid.clone().or(file.grid.take());
        file.block = self.block.clone().or(file.block.take());
        file.cluster = self.cluster.clone().or(file.cluster.take());
        Ok(Some(text))
    }

    /// The launch file of an assumed launch: the one that is wanted, else the one that shows the first finding.
    fn printed_launch(&self, kernel: &Kernel) -> Result<String, SimulateError> {
        let report = self.assume(kernel, &RuleSettings::default(), &Progress::default())?;
        if let Some(number) = self.launch_number {
            return Self::numbered(report, number);
        }
        let index = report.shown_by.unwrap_or(1) - 1;
        let file = report.tried.into_iter().nth(index).map(|it| it.file);
        Ok(file.unwrap_or_else(|| kernel.launch_template()))
    }

    /// Runs it under assumed launches, once, and keeps nothing of what happens.
    fn assume(
        &self,
        kernel: &Kernel,
        rules: &RuleSettings,
        progress: &Progress,
    ) -> Result<KernelReport, SimulateError> {
        let mut options = self.options(rules);
        (options.runs, options.records) = (0, false);
        kernel.assume(&self.config()?, &options, progress).map_err(SimulateError::Launch)
    }

    fn numbered(report: KernelReport, number: u32) -> Result<String, SimulateError> {
        let count = report.tried.len();
        let file = report.tried.into_iter().nth(number as usize - 1).map(|it| it.file);
        file.ok_or(SimulateError::NoSuchNumber { kernel: report.kernel, number, count })
    }

    /// What the options say of runs.
    fn options(&self, rules: &RuleSettings) -> ptx_device::Options {
        let schedule = match self.schedule {
            // They are those from a seed on.
            _ if self.runs.is_some() => Schedule::Random(self.seed),
            ScheduleArgument::Early => Schedule::Early,
            ScheduleArgument::Late => Schedule::Late,
            ScheduleArgument::Random => Schedule::Random(self.seed),
        };
        let mut options = ptx_device::Options::default();
        options.schedule = schedule;
        options.runs = self.runs.unwrap_or(0);
        options.strict = self.strict;
        options.budget = self.budget;
        options.rules.clone_from(rules);
        options.records = self.timeline || self.trace.is_some();
        options.clusters.clone_from(&self.cluster_index);
        options.locates = !self.no_source;
        options.checks = match self.checks {
            ChecksArgument::All => Checks::All,
            ChecksArgument::None => Checks::None,
        };
        options
    }

    fn simulate(
        &self,
        kernel: &Kernel,
        file: Option<&LaunchText>,
        rules: &RuleSettings,
        progress: &Progress,
    ) -> Result<Ran, SimulateError> {
        let options = self.options(rules);
        let numbered;
        let text = match (file, self.launch_number) {
            (Some(file), _) => file,
            (None, Some(number)) => {
                let file = Self::numbered(self.assume(kernel, rules, progress)?, number)?;
                let name = PathBuf::from(format!("launch {number}"));
                numbered = LaunchText::parse(&name, file).map_err(SimulateError::File)?;
                &numbered
            }
            (None, None) => {
                let report = kernel.assume(&self.config()?, &options, progress);
                let report = report.map_err(SimulateError::Launch)?;
                return Ok(Ran { report, written: Vec::new(), explained: None, lost: None });
            }
        };
        let launch = launched(kernel, text)?;
        // A mistake in it is said before the kernel runs.
        let element = self.explain.as_deref();
        element.map_or(Ok(()), |element| launch.find(element)).map_err(SimulateError::Unexplained)?;
        let run = launch.run(&options, progress).map_err(SimulateError::Launch)?;
        let (written, lost) = written(&run, &text.directory());
        let explain = |element: &str| {
            let (value, is_kept) = (run.value(element)?, run.keeps(element)?);
            Ok(Explained { element: element.to_owned(), value, is_kept, origin: run.explain(element)? })
        };
        let explained = element.map(explain).transpose().map_err(SimulateError::Unexplained)?;
        Ok(Ran { report: run.report, written, explained, lost })
    }

    /// The shape that options give to an assumed launch.
    fn config(&self) -> Result<Config, SimulateError> {
        let file = LaunchFile {
            grid: self.grid.clone(),
            block: self.block.clone(),
            cluster: self.cluster.clone(),
            ..LaunchFile::default()
        };
        let shape = file.shape().map_err(|error| SimulateError::Launch(error.into()))?;
        let mut config = Config::default();
        (config.grid, config.block, config.cluster) = (shape.grid, shape.block, shape.cluster);
        Ok(config)
    }

    /// Writes what became of the kernels where that is to go.
    fn report(
        &self,
        files: Vec<SimulatedFile>,
        look: render::Look,
        trouble: bool,
        out: &mut dyn Write,
    ) -> miette::Result<Outcome> {
        let any = |is_so: &dyn Fn(&KernelReport) -> bool| {
            files.iter().flat_map(|file| &file.kernels).any(|it| is_so(&it.report))
        };
        let is_wrong = |finding: &Diagnostic| finding.severity == Severity::Error;
        let outcome = if any(&|report| report.diagnostics.iter().any(is_wrong)) {
            Outcome::Findings
        } else if any(&|report| !report.reasons.is_empty()) {
            Outcome::Incomplete
        } else {
            Outcome::Clean
        };
        // Documents of findings have no place for why something was not judged.
        if !matches!(self.format, Format::Human | Format::Json) {
            for report in files.iter().flat_map(|file| &file.kernels).map(|it| &it.report) {
                for reason in &report.reasons {
                    let kernel = demangled(&report.kernel);
                    let _ = writeln!(io::stderr(), "{kernel}: not judged further: {}", reason.text);
                }
            }
        }
        let is_clean = !any(&|report| report.verdict != Verdict::Clean);
        if let (Some(path), Some(file)) = (&self.trace, files.first()) {
            write_trace(path, &file.checked.source, &file.kernels)?;
        }
        if let Some(path) = &self.output {
            let unwritable = |error| SimulateError::Unwritable { path: path.display().to_string(), error };
            let mut file = BufWriter::new(fs::File::create(path).map_err(unwritable)?);
            let written = self.render(files, look, &mut file).and_then(|()| file.flush());
            written.map_err(unwritable)?;
        } else if !(self.shown.quiet && is_clean || files.is_empty() && trouble && !self.format.is_document())
        {
            let color = use_color(io::stdout().is_terminal());
            self.render(files, render::Look { color, ..look }, out).map_err(output_error)?;
        }
        Ok(outcome)
    }

    /// Programs get every finding, if the command line does not limit them.
    fn render(
        &self,
        mut files: Vec<SimulatedFile>,
        look: render::Look,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let color = look.color;
        if self.format == Format::Human {
            let picture = self.timeline.then(|| timeline::Look { color, width: columns() });
            return render::human(&mut files, render::Look { picture, ..look }, out);
        }
        render::limit(&mut files, self.shown.max_findings.unwrap_or(0));
        if self.format == Format::Json {
            return render::json(&files, out);
        }
        let checked = files.into_iter().map(|SimulatedFile { mut checked, kernels }| {
            for Simulated { report, omitted, .. } in kernels {
                checked.report.diagnostics.extend(report.diagnostics);
                checked.report.omitted.extend(omitted);
            }
            checked
        });
        ptx_render::render(&checked.collect::<Vec<Checked>>(), self.format, color, out)
    }
}

/// Says how to get PTX from a file that is compiled to it.
fn refuse_sources(path: &Path) -> Result<(), SimulateError> {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let compiled = path.with_extension("ptx");
    let path = path.display().to_string();
    let (language, help) = match extension {
        "cu" | "cuh" => (
            "CUDA C++",
            format!(
                "compile it, then simulate the PTX: `nvcc -ptx -arch=sm_100a -lineinfo {path} -o {}`",
                compiled.display()
            ),
        ),
        "cubin" | "fatbin" => {
            ("a binary", format!("get its PTX by `cuobjdump --dump-ptx {path}`, if it has any"))
        }
        "py" => (
            "Python",
            "simulate the PTX that its compiler writes, such as `kernel.asm[\"ptx\"]` of Triton".to_owned(),
        ),
        _ => return Ok(()),
    };
    Err(SimulateError::NotPtx { path, language, help })
}

fn write_trace(path: &Path, source: &Source, reports: &[Simulated]) -> Result<(), SimulateError> {
    let unwritable = |error| SimulateError::Unwritable { path: path.display().to_string(), error };
    let mut file = BufWriter::new(fs::File::create(path).map_err(unwritable)?);
    trace::render(source, reports, &mut file).and_then(|()| file.flush()).map_err(unwritable)?;
    let records = reports.iter().filter_map(|it| it.report.record.as_ref());
    let left_out: u64 = records.map(|record| record.left_out).sum();
    if left_out > 0 {
        let _ = writeln!(io::stderr(), "`{}` has no room for the last {left_out} events", path.display());
    }
    Ok(())
}

fn is_ptx(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ptx")
}

/// One cluster, or a range of them: `3`, `4..8`.
fn clusters(text: &str) -> Result<Range<u32>, String> {
    let number = |text: &str| text.trim().parse::<u32>().map_err(|error| error.to_string());
    let (start, end) = match text.split_once("..") {
        Some((start, end)) => (number(start)?, number(end)?),
        None => (number(text)?, number(text)?.saturating_add(1)),
    };
    if start < end { Ok(start..end) } else { Err("the range is empty".to_owned()) }
}

/// Columns of the terminal.
pub(crate) fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| columns.into());
    said.or_else(terminal).unwrap_or(100).clamp(60, 1000)
}
