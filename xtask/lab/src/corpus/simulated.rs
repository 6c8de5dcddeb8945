//! What packages compile, run by the simulator: every kernel, under a launch that is assumed, or that
//! lies beside its module.
//!
//! A launch is `MODULE.toml`, or `MODULE.KERNEL.toml` where a module has several kernels. Each run is
//! bounded by a number of instructions. What is found is judged ([`super::judged`]); why kernels could
//! not be judged is counted by kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ptx_check::{Source, Unit};
use ptx_simulation::launch::{LaunchError, LaunchFile, LaunchShape};
use ptx_simulation::{Kernel, KernelReport, Schedule, Settings, Verdict, kernels};
use rayon::prelude::*;

use super::compiled;
use super::packages::{COMPILED, Compiled};
use crate::{Result, root, target_directory};

/// Threads that simulate.
const THREADS: usize = 2;

/// What became of a kernel.
#[derive(Debug)]
struct Ran {
    module: String,
    kernel: String,
    verdict: Verdict,
    /// Codes of what was found, with the line of the first.
    findings: BTreeMap<String, usize>,
    /// Kinds of reasons.
    reasons: BTreeSet<String>,
    /// The first place.
    line: usize,
    is_assumed: bool,
    instructions: u64,
    seconds: f64,
}

/// What became of the kernels of a package.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    ran: Vec<Ran>,
    modules: usize,
}

impl Kernels {
    fn count(&self, verdict: Verdict) -> usize {
        self.ran.iter().filter(|it| it.verdict == verdict).count()
    }
}

/// Runs all kernels of the packages that were compiled, or of a directory of modules.
pub(crate) fn run(
    (only, compile): (&[String], bool),
    modules: Option<&Path>,
    settings: &Settings,
    record: bool,
) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    if let Some(directory) = modules {
        let found = pool.install(|| simulate(directory, settings))?;
        print("modules", &found);
        println!("\n{}", table(&[("modules", &found)]));
        return Ok(());
    }
    let home = target_directory().join("corpus");
    let mut all: Vec<(&Compiled, Kernels)> = Vec::new();
    for package in COMPILED.iter().filter(|it| only.is_empty() || only.iter().any(|name| name == it.name)) {
        let directory = home.join("ptx").join(package.name);
        if compile {
            compiled::build(package, &home, &directory)?;
        }
        let found = pool.install(|| simulate(&directory, settings))?;
        print(package.name, &found);
        all.push((package, found));
    }
    let rows: Vec<(&str, &Kernels)> = all.iter().map(|(package, found)| (package.name, found)).collect();
    println!("\n{}", table(&rows));
    println!("{}", reasons(&rows));
    write_all(&rows)?;
    if record {
        write(&rows, settings)?;
    }
    Ok(())
}

fn simulate(directory: &Path, settings: &Settings) -> Result<Kernels> {
    let mut paths: Vec<PathBuf> = match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
        Err(_) => return Ok(Kernels::default()),
    };
    paths.retain(|path| path.extension().is_some_and(|it| it == "ptx"));
    paths.sort();
    let ran: Result<Vec<Vec<Ran>>> = paths.par_iter().map(|path| module(path, settings)).collect();
    Ok(Kernels { ran: ran?.into_iter().flatten().collect(), modules: paths.len() })
}

fn module(path: &Path, settings: &Settings) -> Result<Vec<Ran>> {
    let name = path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let Ok(source) = Source::from_bytes(name.clone(), fs::read(path)?) else { return Ok(Vec::new()) };
    let unit = Unit::new(&source);
    let names = kernels(&unit);
    let mut all = Vec::new();
    for kernel in &names {
        let beside = [format!("{name}.{kernel}.toml"), format!("{name}.toml")];
        let launch = beside.iter().map(|name| path.with_file_name(name)).find(|path| path.is_file());
        let Some(lowered) = Kernel::new(&unit, kernel) else { continue };
        let start = Instant::now();
        let report = match &launch {
            Some(launch) => under(&lowered, launch, settings)?,
            None => lowered.simulate_assumed(&LaunchShape::default(), settings).map_err(text)?,
        };
        let line = |span: Option<ptx_check::source::Span>| {
            span.map_or(0, |span| source.position(span.start).line as usize)
        };
        let first = report.diagnostics.first().map(|it| it.primary.span);
        let first = first.or_else(|| report.reasons.first().and_then(|it| it.span));
        let mut findings = BTreeMap::new();
        for finding in &report.diagnostics {
            findings.entry(finding.code.to_string()).or_insert_with(|| line(Some(finding.primary.span)));
        }
        all.push(Ran {
            module: name.clone(),
            kernel: (*kernel).to_owned(),
            verdict: report.verdict,
            findings,
            reasons: report.reasons.iter().map(|it| kind(&it.text)).collect(),
            line: line(first),
            is_assumed: launch.is_none(),
            instructions: report.warp_instructions,
            seconds: start.elapsed().as_secs_f64(),
        });
    }
    Ok(all)
}

/// Runs a kernel under the launch that a file says.
fn under(kernel: &Kernel<'_>, path: &Path, settings: &Settings) -> Result<KernelReport> {
    let file: LaunchFile = toml::from_str(&fs::read_to_string(path)?)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut read = |name: &str| {
        fs::read(directory.join(name)).map_err(|error| LaunchError(format!("`{name}`: {error}")))
    };
    let launch = kernel.launch(&file, &mut read).map_err(text)?;
    Ok(kernel.simulate(&launch, settings).map_err(text)?)
}

fn text(error: LaunchError) -> String {
    error.0
}

/// A reason without its numbers and names.
fn kind(reason: &str) -> String {
    if let Some((code, _)) = reason.split_once(' ')
        && (reason.contains("assumed launches may come from the assumptions")
            || reason.contains("if the tensor maps have boxes"))
    {
        return format!("{code} shows under some of the launches only");
    }
    if reason.starts_with("the simulator does not support") {
        return "an instruction that the simulator does not support".to_owned();
    }
    if reason.contains("used up its budget") {
        return "the budget of instructions is used up".to_owned();
    }
    reason.to_owned()
}

fn print(package: &str, found: &Kernels) {
    println!("{package}: {} modules, {} kernels", found.modules, found.ran.len());
    for ran in found.ran.iter().filter(|it| it.verdict != Verdict::Clean) {
        let what: Vec<&str> = match ran.verdict {
            Verdict::Findings => ran.findings.keys().map(String::as_str).collect(),
            Verdict::Clean | Verdict::Incomplete => ran.reasons.iter().map(String::as_str).collect(),
        };
        println!("  {:?} {}:{} {}", ran.verdict, ran.module, ran.line, what.join("; "));
    }
}

/// What became of each kernel, for who wants to look closer.
fn write_all(rows: &[(&str, &Kernels)]) -> Result<()> {
    let mut text = String::new();
    for (package, found) in rows {
        for ran in &found.ran {
            let codes: Vec<&str> = ran.findings.keys().map(String::as_str).collect();
            let reasons: Vec<&str> = ran.reasons.iter().map(String::as_str).collect();
            writeln!(
                text,
                "{package}\t{}\t{}\t{:?}\t{}\t{}\t{}\t{}\t{:.2}",
                ran.module,
                ran.kernel,
                ran.verdict,
                ran.line,
                codes.join(" "),
                reasons.join("; "),
                ran.instructions,
                ran.seconds
            )?;
        }
    }
    fs::write(target_directory().join("corpus/simulated.tsv"), text)?;
    Ok(())
}

fn table(rows: &[(&str, &Kernels)]) -> String {
    let mut text = String::from(
        "| package | modules | kernels | launch assumed | clean | findings | incomplete | judged | warp instructions | s |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut sum = [0usize; 6];
    let (mut instructions, mut seconds) = (0u64, 0.0f64);
    let mut row = |name: &str, counts: [usize; 6], instructions: u64, seconds: f64| {
        let [modules, kernels, assumed, clean, findings, incomplete] = counts;
        let share = 100.0 * (clean + findings) as f64 / kernels.max(1) as f64;
        let millions = instructions as f64 / 1e6;
        let _ = writeln!(
            text,
            "| {name} | {modules} | {kernels} | {assumed} | {clean} | {findings} | {incomplete} | {share:.0} % | {millions:.1} M | {seconds:.1} |"
        );
    };
    for (name, found) in rows {
        let counts = [
            found.modules,
            found.ran.len(),
            found.ran.iter().filter(|it| it.is_assumed).count(),
            found.count(Verdict::Clean),
            found.count(Verdict::Findings),
            found.count(Verdict::Incomplete),
        ];
        let own: u64 = found.ran.iter().map(|it| it.instructions).sum();
        let took: f64 = found.ran.iter().map(|it| it.seconds).sum();
        row(name, counts, own, took);
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum += count;
        }
        instructions += own;
        seconds += took;
    }
    if rows.len() > 1 {
        row("**all**", sum, instructions, seconds);
    }
    text
}

fn reasons(rows: &[(&str, &Kernels)]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for ran in rows.iter().flat_map(|(_, found)| &found.ran).filter(|it| it.verdict == Verdict::Incomplete) {
        for reason in &ran.reasons {
            *counts.entry(reason).or_default() += 1;
        }
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
    let mut text = String::from("| kernels | why they are not judged |\n|--:|---|\n");
    for (reason, count) in counts {
        let _ = writeln!(text, "| {count} | {reason} |");
    }
    text
}

const PAGE: &str = "docs/corpus-simulation.md";

/// Where what people write about the findings begins: the page keeps it.
const JUDGED: &str = "## What is found";

const HEAD: &str = "\
# What packages compile, run without a GPU

`cargo run --release -p xtask-lab -- corpus --simulate` runs every kernel of what [packages
compile](corpus.md#what-packages-compile), as `ptx-tc simulate` does for one. Nobody says what these kernels are launched
with: their launches are assumed, several for each, and what shows in all that come to its places is found. `--record`
writes the tables anew, and keeps what is said of the findings.

";

/// Writes the tables of the page.
fn write(rows: &[(&str, &Kernels)], settings: &Settings) -> Result<()> {
    let schedule = match settings.schedule {
        Schedule::Early => "early".to_owned(),
        Schedule::Late => "late".to_owned(),
        Schedule::Random(seed) => format!("random, {seed}"),
    };
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path)?;
    let judged = page.find(JUDGED).map_or(JUDGED, |at| &page[at..]);
    let mut text = String::from(HEAD);
    writeln!(
        text,
        "The schedule is {schedule}; a run ends after {0} warp instructions (`--budget {0}`). A kernel that is found to be \
         wrong\ncounts once for each code.\n",
        settings.budget
    )?;
    text += &table(rows);
    text += "\n## Why kernels are not judged\n\n";
    text += &reasons(rows);
    write!(text, "\n{judged}")?;
    fs::write(path, text)?;
    println!("wrote {PAGE}");
    Ok(())
}
