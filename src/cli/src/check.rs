//! `ptx-tc check`

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use indicatif::{ProgressBar, ProgressDrawTarget};
use ptx_check::diagnostic::selection::{Layer, Selector};
use ptx_check::diagnostic::{Applicability, Code, Severity};
use ptx_check::host::Language;
use ptx_check::isa::targets::{PtxVersion, Target};
use ptx_check::suppression::addition::is_excusable;
use ptx_check::words::plural;
use ptx_check::{Options, Report};
use ptx_config::Wishes;
use ptx_render::{Checked, Format, Summary, statistics};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::files::{FileArguments, Files, Wanted};
use crate::input::{self, Input, InputError};
use crate::{Outcome, output_error, repair, report_trouble, settings, use_color};

/// Check PTX files.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Check {
    /// Files, directories to search for PTX and for sources that it may stand in, or `-` for standard input
    /// [default: .].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check for this target instead of the module's own; may be repeated.
    #[arg(long, value_name = "TARGET", value_parser = Target::known)]
    target: Vec<Target>,
    /// Check against this version of the PTX ISA instead of the module's own.
    #[arg(long, value_name = "VERSION", value_parser = PtxVersion::released)]
    ptx_version: Option<PtxVersion>,
    /// How to write the findings.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Write the findings to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Count the findings of each rule instead of showing them.
    #[arg(long)]
    statistics: bool,
    /// What standard input is called in messages, and where its configuration is looked for [default: `<stdin>`].
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<String>,
    /// Show what is known of the descriptors of each multiply and copy (human and json formats).
    #[arg(long)]
    show_descriptors: bool,
    /// Do not say which lines of its sources a module was compiled from, as its `.loc`s tell.
    #[arg(long)]
    no_source: bool,
    /// Exit with 0 whatever is found.
    #[arg(long)]
    exit_zero: bool,
    /// Exit with 1 also when warnings were found and no error.
    #[arg(long, conflicts_with = "exit_zero")]
    error_on_warning: bool,
    /// List the files that would be checked, and check none.
    #[arg(long)]
    show_files: bool,
    /// Show what holds for the files and where it was said, as a configuration with comments; check none.
    #[arg(long, conflicts_with = "show_files")]
    show_settings: bool,
    /// Number of threads: of files that are checked at the same time, or parts of a long one.
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    #[command(flatten)]
    shown: ShownArguments,
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fixes: FixArguments,
}

/// How much is shown of what was found.
#[derive(Debug, clap::Args)]
pub(crate) struct ShownArguments {
    /// Write nothing where nothing was found.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show at most N findings of one rule in one file, or one kernel that runs, and count the others; 0 shows all
    /// [default: 100 in the human format].
    #[arg(long, value_name = "N")]
    pub(crate) max_findings: Option<usize>,
}

/// Which rules run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RuleArguments {
    /// Run these rules only: codes, names, or families such as TC3, with commas between them.
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    select: Option<Vec<Selector>>,
    /// Do not run these rules.
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    ignore: Vec<Selector>,
    /// Give findings of a rule another severity: off, info, warning or error.
    #[arg(long, value_name = "CODE=LEVEL", value_delimiter = ',', value_parser = severity)]
    severity: Vec<(Selector, Severity)>,
    /// Use this configuration, not the nearest `ptx-tc.toml`, or `pyproject.toml` with `[tool.ptx-tc]`, above each
    /// file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl RuleArguments {
    /// What they change.
    fn layer(&self) -> Layer {
        Layer { select: self.select.clone(), ignore: self.ignore.clone(), severity: self.severity.clone() }
    }

    /// The configuration that is named.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// How findings in a file matter, by its configuration and by these.
    pub(crate) fn options(&self, file: &Wanted) -> Options {
        let wishes = Wishes { rules: self.layer(), ..Wishes::default() };
        wishes.options(file.config.as_deref(), &file.location)
    }
}

/// What is repaired.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Fixes")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct FixArguments {
    /// Apply the safe fixes; the text from standard input goes, fixed, to standard output.
    #[arg(long)]
    fix: bool,
    /// Apply all fixes: also those that guess, or change what the program does.
    #[arg(long)]
    unsafe_fixes: bool,
    /// Silence what is found with a comment at each place, so that only what is new is found from then on.
    #[arg(long, conflicts_with_all = ["fix", "unsafe_fixes"])]
    add_allow: bool,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    diff: bool,
}

/// More files than this take long enough for someone to wonder.
const PROGRESS_FROM: usize = 200;

/// What became of one input.
struct Done {
    checked: Checked,
    fixed: usize,
    /// A patch, or the fixed text of standard input.
    output: Vec<u8>,
}

impl Check {
    pub(crate) fn run(mut self, out: &mut dyn Write) -> miette::Result<Outcome> {
        start_threads(self.jobs.unwrap_or(0))?;
        if self.paths.is_empty() {
            // Who says what standard input is called means it.
            self.paths.push(if self.stdin_filename.is_some() { "-" } else { "." }.into());
        }
        let found =
            self.files.find(&self.paths, self.stdin_name(), self.rules.config.as_deref(), |_| true)?;
        if !self.shown.quiet {
            found.explain();
        }
        let Files { wanted, mut errors, .. } = found;
        if self.show_files || self.show_settings {
            self.show(&wanted, out).map_err(output_error)?;
            let trouble = !errors.is_empty();
            for error in errors {
                report_trouble(&error.into());
            }
            return Ok(if trouble { Outcome::Trouble } else { Outcome::Clean });
        }
        let jobs = self.jobs(wanted);
        let mut files = Vec::with_capacity(jobs.len());
        let (mut fixed, mut fixed_files) = (0, 0);
        for result in self.process(&jobs) {
            match result {
                Ok(mut done) => {
                    let Checked { source, report, sources } = &mut done.checked;
                    *sources = ptx_sources::find(Path::new(source.name()), &report.diagnostics);
                    out.write_all(&done.output).map_err(output_error)?;
                    fixed += done.fixed;
                    fixed_files += usize::from(done.fixed > 0);
                    files.push(done.checked);
                }
                Err(error) => errors.push(error),
            }
        }
        let summary = Summary::of(&files);
        let trouble = !errors.is_empty();
        self.report(&files, trouble, out)?;
        if !self.shown.quiet {
            let verb = match (self.fixes.add_allow, self.fixes.diff) {
                (false, false) => "fixed",
                (false, true) => "would fix",
                (true, false) => "silenced",
                (true, true) => "would silence",
            };
            if fixed > 0 {
                let (findings, files) = (plural(fixed, "finding"), plural(fixed_files, "file"));
                let _ = writeln!(io::stderr(), "{verb} {findings} in {files}");
            } else if self.fixes.diff {
                let more = match summary.unsafe_fixable {
                    0 => String::new(),
                    _ if self.fixes.unsafe_fixes || self.fixes.add_allow => String::new(),
                    fixes => format!(" ({fixes} fixable with --unsafe-fixes)"),
                };
                let _ = writeln!(io::stderr(), "{verb} nothing{more}");
            }
        }
        if self.fixes.add_allow && !self.fixes.diff && !self.shown.quiet {
            explain_rest(&files);
        }
        for error in errors {
            report_trouble(&error.into());
        }
        Ok(if trouble {
            Outcome::Trouble
        } else if !self.exit_zero && (summary.errors > 0 || self.error_on_warning && summary.warnings > 0) {
            Outcome::Findings
        } else {
            Outcome::Clean
        })
    }

    fn stdin_name(&self) -> &str {
        self.stdin_filename.as_deref().unwrap_or("<stdin>")
    }

    fn wishes(&self) -> Wishes {
        Wishes {
            targets: self.target.clone(),
            ptx_version: self.ptx_version,
            rules: self.rules.layer(),
            max_findings: self.shown.max_findings,
        }
    }

    /// Each input with its options.
    fn jobs(&self, wanted: Vec<Wanted>) -> Vec<(Input, Options)> {
        let wishes = self.wishes();
        let job = |Wanted { input, location, config }| {
            let options = Options {
                describe: self.show_descriptors,
                locate: !self.no_source,
                ..wishes.options(config.as_deref(), &location)
            };
            (input, options)
        };
        wanted.into_iter().map(job).collect()
    }

    /// Shows which files would be checked, or how.
    fn show(&self, wanted: &[Wanted], out: &mut dyn Write) -> io::Result<()> {
        if self.show_files {
            return wanted.iter().try_for_each(|it| writeln!(out, "{}", it.input.name(self.stdin_name())));
        }
        settings::show(wanted, &self.wishes(), &self.files, self.stdin_name(), out)
    }

    fn process(&self, jobs: &[(Input, Options)]) -> Vec<Result<Done, InputError>> {
        if jobs.len() < 3 {
            // Side by side they gain little, and a long one has parts that gain more.
            return jobs.iter().map(|(input, options)| self.process_one(input, options)).collect();
        }
        let progress = self.progress(jobs.len());
        let results = jobs
            .par_iter()
            .map(|(input, options)| {
                let result = self.process_one(input, options);
                progress.inc(1);
                result
            })
            .collect();
        progress.finish_and_clear();
        results
    }

    fn progress(&self, files: usize) -> ProgressBar {
        let shown = files >= PROGRESS_FROM && !self.shown.quiet && io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        ProgressBar::with_draw_target(Some(files as u64), target)
    }

    fn process_one(&self, input: &Input, options: &Options) -> Result<Done, InputError> {
        let name = input.name(self.stdin_name());
        let mut bytes = input.bytes(&name)?;
        // Most files of other languages have nothing to say, and some with their names are no text.
        let is_unconcerned = Language::of(Path::new(&name))
            .is_some_and(|language| memchr::memchr(0, &bytes).is_some() || !language.concerns(&bytes));
        if is_unconcerned && *input != Input::Stdin {
            bytes.clear();
        }
        let (checked, repair) = match &self.fixes {
            FixArguments { add_allow: true, diff, .. } => repair::allow(&name, bytes, options, *diff)?,
            FixArguments { unsafe_fixes: true, diff, .. } => {
                repair::repair(&name, bytes, options, Applicability::Unsafe, *diff)?
            }
            FixArguments { fix: true, diff, .. } | FixArguments { diff: diff @ true, .. } => {
                repair::repair(&name, bytes, options, Applicability::Safe, *diff)?
            }
            _ => {
                let source = input::source(&name, bytes)?;
                let report = ptx_check::check(&source, options);
                return Ok(Done { checked: Checked::new(source, report), fixed: 0, output: Vec::new() });
            }
        };
        let output = match input {
            _ if self.fixes.diff => repair.diff(&name),
            Input::Stdin => repair.after,
            Input::File(path) if repair.applied > 0 => {
                repair::replace(path, &repair.after)
                    .map_err(|error| InputError::Unwritable { path: name, error })?;
                Vec::new()
            }
            Input::File(_) => Vec::new(),
        };
        Ok(Done { checked, fixed: repair.applied, output })
    }

    /// Shows the findings where they are to go.
    fn report(&self, files: &[Checked], trouble: bool, out: &mut dyn Write) -> miette::Result<()> {
        let found = files.iter().any(|file| !file.report.diagnostics.is_empty());
        let is_document = self.format.is_document();
        if let Some(path) = &self.output {
            let unwritable = |error| InputError::Unwritable { path: path.display().to_string(), error };
            let mut file = BufWriter::new(File::create(path).map_err(unwritable)?);
            self.render(files, false, &mut file).and_then(|()| file.flush()).map_err(unwritable)?;
            return Ok(());
        }
        if self.shown.quiet && !found || files.is_empty() && trouble && !is_document || self.fixes.diff {
            return Ok(());
        }
        let fixes = self.fixes.fix || self.fixes.unsafe_fixes || self.fixes.add_allow;
        if fixes && self.paths.iter().any(|path| input::is_stdin(path)) {
            // Standard output has the fixed text.
            let stderr = io::stderr();
            let color = use_color(stderr.is_terminal());
            return self.render(files, color, &mut stderr.lock()).map_err(output_error);
        }
        self.render(files, use_color(io::stdout().is_terminal()), out).map_err(output_error)
    }

    fn render(&self, files: &[Checked], color: bool, out: &mut dyn Write) -> io::Result<()> {
        if self.statistics {
            statistics::render(files, self.format == Format::Json, out)?;
        } else {
            ptx_render::render(files, self.format, color, out)?;
        }
        let is_for_people = match self.format {
            Format::Human => true,
            Format::Json => false,
            Format::Concise
            | Format::Sarif
            | Format::Github
            | Format::Gitlab
            | Format::Junit
            | Format::Rdjson => self.statistics,
        };
        match Summary::of(files).fixes().filter(|_| is_for_people) {
            Some(fixes) => writeln!(out, "{fixes}"),
            None => Ok(()),
        }
    }
}

/// Starts the threads that all work is done on, this one among them; 0 stands for one for each processor.
fn start_threads(count: usize) -> miette::Result<()> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(count).use_current_thread();
    threads.build_global().map_err(|error| miette::miette!("cannot start threads: {error}"))
}

/// Says why something is found that was to be silenced.
fn explain_rest(files: &[Checked]) {
    let of = |is_meant: &dyn Fn(Code) -> bool| {
        let reports = files.iter().map(|file| &file.report);
        let shown = |report: &Report| report.diagnostics.iter().filter(|it| is_meant(it.code)).count();
        let omitted = |report: &Report| {
            let omitted = report.omitted.iter().filter(|it| is_meant(it.code));
            omitted.map(|it| it.count).sum::<usize>()
        };
        reports.map(|report| shown(report) + omitted(report)).sum::<usize>()
    };
    let unused = of(&|code| code == Code::UnusedSuppression);
    let excusable = of(&is_excusable);
    let broken = of(&|_| true) - unused - excusable;
    if excusable > 0 {
        let findings = plural(excusable, "finding");
        let _ = writeln!(io::stderr(), "left {findings} where no comment can stand");
    }
    if broken > 0 {
        let errors = plural(broken, "syntax error");
        let _ = writeln!(io::stderr(), "left {errors} as found: what does not parse has to be repaired");
    }
    if unused > 0 {
        let comments = plural(unused, "unused suppression");
        let _ = writeln!(io::stderr(), "left {comments} as found: `--fix` removes what silences nothing");
    }
}

/// `TC301=warning`
fn severity(text: &str) -> Result<(Selector, Severity), String> {
    let (rule, level) = text.split_once('=').ok_or("write CODE=LEVEL, for example TC301=warning")?;
    let rule =
        rule.parse().map_err(|error: ptx_check::diagnostic::selection::UnknownRule| error.to_string())?;
    let level = Severity::from_str(level)
        .map_err(|_| format!("`{level}` is not a severity; write off, info, warning or error"))?;
    Ok((rule, level))
}
