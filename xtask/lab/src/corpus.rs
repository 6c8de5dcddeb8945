//! What people ship: the PTX in packages of the Python package index, read as users would have it
//! read.
//!
//! Each package is installed by its name and version, nothing of it is kept in the repository. Its
//! statements are counted a second time, by readers that share nothing with `src/host` ([`count`]);
//! what only one of the two has found is listed. So are the operations that no table knows, and the
//! findings, each of which is judged ([`judged`]): it is either a defect of the package or one of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ptx_check::diagnostic::Severity;
use ptx_check::host::Language;
use ptx_check::{Document, Options, Source};
use ptx_simulation::Settings;
use rayon::prelude::*;

use crate::Result;

mod compiled;
mod count;
mod install;
mod judged;
mod packages;
mod report;
mod simulated;

use packages::{COMPILED, Contents, PACKAGES, Package};

#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Arguments {
    /// Only this package; may be repeated.
    #[arg(long)]
    package: Vec<String>,
    /// Read the packages that lie unpacked in this directory, each under its name, instead of
    /// installing them.
    #[arg(long)]
    from: Option<PathBuf>,
    /// Instead of sources: compile the kernels of packages, and check what the compilers make.
    #[arg(long, conflicts_with_all = ["from", "require"])]
    compiled: bool,
    /// Take the modules that were compiled before, and compile no others.
    #[arg(long)]
    no_compile: bool,
    /// Run the kernels that were compiled, without a GPU.
    #[arg(long, conflicts_with_all = ["from", "require", "compiled"])]
    simulate: bool,
    /// Run those of a directory instead.
    #[arg(long, requires = "simulate", conflicts_with_all = ["record", "package"])]
    modules: Option<PathBuf>,
    /// Warp instructions after which a run ends.
    #[arg(long, requires = "simulate", default_value_t = 2_000_000)]
    budget: u64,
    /// Fail if a statement is not found, an operation not known, or an error found.
    #[arg(long)]
    require: bool,
    /// Succeed, loudly, where a package cannot be installed.
    #[arg(long)]
    optional: bool,
    /// Write docs/corpus.md.
    #[arg(long, conflicts_with_all = ["from", "package"])]
    record: bool,
    /// How many places to list of each kind.
    #[arg(long, default_value_t = 5)]
    examples: usize,
}

/// What is found in a package.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Files of languages that have a front, or of PTX.
    files: usize,
    /// Files with PTX in them.
    files_with_ptx: usize,
    megabytes: f64,
    /// Statements by our reading and the other one.
    found: usize,
    counted: usize,
    /// What only the other reading has: the places, and the templates.
    missed: Vec<String>,
    /// What only our reading has.
    extra: Vec<String>,
    /// Assembly that the other reading takes for that of another machine, or for nothing.
    other_assembly: usize,
    /// Files that a reader of their language refuses.
    unreadable: Vec<String>,
    instructions: usize,
    /// Those of `tcgen05` among them.
    tensor: usize,
    /// Instructions whose opcode comes from elsewhere, in part.
    open: usize,
    /// Opcodes that no table has, and how often.
    unknown: BTreeMap<String, usize>,
    /// Findings by rule, with their places.
    findings: BTreeMap<(Severity, String), Vec<String>>,
}

impl Tally {
    fn add(mut self, other: Self) -> Self {
        self.files += other.files;
        self.files_with_ptx += other.files_with_ptx;
        self.megabytes += other.megabytes;
        self.found += other.found;
        self.counted += other.counted;
        self.missed.extend(other.missed);
        self.extra.extend(other.extra);
        self.other_assembly += other.other_assembly;
        self.unreadable.extend(other.unreadable);
        self.instructions += other.instructions;
        self.tensor += other.tensor;
        self.open += other.open;
        for (opcode, count) in other.unknown {
            *self.unknown.entry(opcode).or_default() += count;
        }
        for (rule, places) in other.findings {
            self.findings.entry(rule).or_default().extend(places);
        }
        self
    }

    fn unknown_instructions(&self) -> usize {
        self.unknown.values().sum()
    }

    /// Whether nothing is missing: every statement is found, every operation known, and no error.
    fn is_whole(&self) -> bool {
        self.counted > 0
            && self.missed.is_empty()
            && self.unknown.is_empty()
            && self.findings.keys().all(|(severity, _)| *severity < Severity::Error)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.compiled {
        return compiled(arguments);
    }
    if arguments.simulate {
        let settings = Settings { budget: arguments.budget, ..Settings::default() };
        return simulated::run(
            (&arguments.package, !arguments.no_compile),
            arguments.modules.as_deref(),
            &settings,
            arguments.record,
        )
        .map(|()| true);
    }
    let mut holds = true;
    let mut tallies = Vec::new();
    for name in &arguments.package {
        if !PACKAGES.iter().any(|package| package.name == name) {
            return Err(
                format!("{name} is not among the packages of xtask/lab/src/corpus/packages.rs").into()
            );
        }
    }
    let is_wanted = |package: &&Package| {
        arguments.package.is_empty() || arguments.package.iter().any(|name| name == package.name)
    };
    for package in PACKAGES.iter().filter(is_wanted) {
        let directory = match &arguments.from {
            Some(from) => Some(from.join(package.directory()))
                .filter(|it| it.is_dir())
                .ok_or_else(|| format!("{} does not lie in {}", package.directory(), from.display()).into()),
            None => install::install(package),
        };
        let directory = match directory {
            Ok(directory) => directory,
            Err(error) if arguments.optional || arguments.from.is_some() => {
                println!("WARNING: {} cannot be read here: {error}", package.name);
                println!("WARNING: nothing was compared with it.");
                continue;
            }
            Err(error) => return Err(error),
        };
        let tally = match package.contents {
            Contents::Sources => sources(&directory)?,
        };
        report::print(package, &tally, arguments.examples);
        if arguments.require && !tally.is_whole() {
            println!("NOT WHOLE: {} has to be read without anything missing", package.name);
            holds = false;
        }
        // What users of other versions have is for them to judge.
        if arguments.from.is_none() {
            holds &= judged::holds(package, &tally);
        }
        tallies.push((package, tally));
    }
    report::summary(&tallies);
    if arguments.record {
        report::write(&tallies)?;
    }
    Ok(holds)
}

/// The same for what packages compile.
fn compiled(arguments: &Arguments) -> Result<bool> {
    if let Some(name) = arguments.package.iter().find(|name| !COMPILED.iter().any(|it| it.name == **name)) {
        return Err(format!(
            "{name} is not among those of xtask/lab/src/corpus/packages.rs that are compiled"
        )
        .into());
    }
    let found = compiled::run(&arguments.package, !arguments.no_compile)?;
    let mut holds = true;
    for (package, modules) in &found {
        report::print_compiled(package, modules, arguments.examples);
        holds &= judged::holds_compiled(package, modules);
    }
    report::summary_compiled(&found);
    if arguments.record {
        report::write_compiled(&found)?;
    }
    Ok(holds)
}

/// Reads the sources of a package.
fn sources(directory: &Path) -> Result<Tally> {
    let mut paths = Vec::new();
    files(directory, &mut paths)?;
    paths.sort_by(|(one, _), (other, _)| one.cmp(other));
    let python = count::python(directory, &paths)?;
    let tallies = paths.par_iter().map(|(path, language)| {
        let bytes = fs::read(path)?;
        let name = path.strip_prefix(directory).unwrap_or(path).display().to_string();
        let mut tally = Tally { files: 1, megabytes: bytes.len() as f64 / 1e6, ..Tally::default() };
        let Ok(source) = Source::from_bytes(name, bytes) else { return Ok(tally) };
        let other = match language {
            Language::Python => python.get(path).cloned().unwrap_or_default(),
            Language::Cpp => count::cpp(source.text()),
            _ => count::words(source.text(), *language),
        };
        source_file(&source, &other, &mut tally);
        Ok(tally)
    });
    tallies.try_reduce(Tally::default, |one, other| Ok(one.add(other)))
}

fn files(directory: &Path, found: &mut Vec<(PathBuf, Language)>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if let Some(language) = Language::of(&path) {
            found.push((path, language));
        }
    }
    Ok(())
}

/// Reads one file in both ways.
fn source_file(source: &Source, other: &count::Counted, tally: &mut Tally) {
    let document = Document::new(source);
    let unit = &document.unit;
    let place = |offset: u32| {
        let position = source.position(offset);
        format!("{}:{}", source.name(), position.line)
    };
    if let Some(reason) = &other.unreadable {
        tally.unreadable.push(format!("{}: {reason}", source.name()));
    }
    if let Some(host) = &document.host {
        let found: BTreeSet<u32> =
            unit.fragments.iter().map(|fragment| host.map.host(fragment.keyword).start).collect();
        let counted: BTreeMap<u32, &count::Counting> =
            other.statements.iter().map(|it| (it.at, it)).collect();
        tally.found += found.len();
        tally.files_with_ptx += usize::from(!found.is_empty());
        for (at, statement) in &counted {
            if statement.is_ptx {
                tally.counted += 1;
                if !found.contains(at) {
                    tally.missed.push(format!("{} {:?}", place(*at), shortened(&statement.template)));
                }
            } else if !found.contains(at) {
                tally.other_assembly += 1;
            }
        }
        for at in found.iter().filter(|at| counted.get(at).is_none_or(|it| !it.is_ptx)) {
            let line = source.text()[*at as usize..].lines().next().unwrap_or_default();
            tally.extra.push(format!("{} {:?}", place(*at), shortened(line)));
        }
    }
    instructions(&document, tally);
    if let Some(report) = document.check(&Options::default(), &|| false) {
        for finding in &report.diagnostics {
            let rule = (finding.severity, finding.code.to_string());
            let line = format!("{} {}", place(finding.primary.span.start), finding.message);
            tally.findings.entry(rule).or_default().push(line);
        }
    }
}

/// Counts the instructions, and those that no table knows.
fn instructions(document: &Document, tally: &mut Tally) {
    let unit = &document.unit;
    for (index, instruction) in unit.module.instructions.iter().enumerate() {
        tally.instructions += 1;
        let opcode = unit.operations.of(index as u32);
        let text = unit.source.slice(instruction.opcode);
        let is_tensor = unit.operations.is_tensor(index as u32);
        tally.tensor += usize::from(is_tensor);
        if unit.holes.has_text(instruction.opcode) {
            tally.open += 1;
        } else if !(if is_tensor { opcode.tensor.is_some() } else { opcode.is_known() }) {
            *tally.unknown.entry(text.split_ascii_whitespace().collect()).or_default() += 1;
        }
    }
}

/// The start of a text, on one line.
fn shortened(text: &str) -> String {
    const LONG: usize = 100;
    let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
