//! What packages compile: the PTX of their kernels, made on a machine without a GPU.
//!
//! Each package is installed by its name and version into one virtual environment. A driver of ours
//! (`compile/*.py`) calls its functions, or instantiates its templates, on a machine that looks as if
//! it had a GPU (`compile/pretend.py`), and keeps the modules that a compiler makes. They stay in the
//! target directory. Each is checked as a user would check it and given to NVIDIA's assembler, and
//! what is found is judged like the findings in sources ([`super::judged`]).

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ptx_check::diagnostic::{Code, Ptxas, Severity};
use ptx_check::isa::targets::Target;
use ptx_check::{Document, Options, Source};

use super::packages::{COMPILED, Compiled, ENVIRONMENT};
use crate::oracle::assembler::Assembler;
use crate::oracle::record::target_of;
use crate::{Result, root, target_directory};

/// What is found in the modules of a package.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    pub(crate) count: usize,
    pub(crate) megabytes: f64,
    /// Instructions of `tcgen05`.
    pub(crate) tensor: usize,
    /// Opcodes that no table has, and how often.
    pub(crate) unknown: BTreeMap<String, usize>,
    /// Findings by rule, with their places.
    pub(crate) findings: BTreeMap<(Severity, String), Vec<String>>,
    /// Modules that the assembler refuses, with what it says.
    pub(crate) refused: Vec<String>,
    /// Modules of which the assembler and the findings that speak for it do not say the same.
    pub(crate) differ: Vec<String>,
    /// What the check takes, and what the assembler takes.
    pub(crate) seconds: f64,
    pub(crate) assembler_seconds: f64,
    /// How many modules are for each target.
    pub(crate) targets: BTreeMap<String, usize>,
}

impl Modules {
    /// How many are for each target, as words.
    pub(crate) fn counted_targets(&self) -> String {
        let counted: Vec<String> =
            self.targets.iter().map(|(target, count)| format!("{count} {target}")).collect();
        counted.join(", ")
    }
}

/// Compiles what is not yet compiled, and checks everything.
pub(crate) fn run(only: &[String], compile: bool) -> Result<Vec<(&'static Compiled, Modules)>> {
    let assembler = Assembler::install()?;
    let home = target_directory().join("corpus");
    let mut verdicts = Verdicts::open(&home, assembler.version())?;
    let mut found = Vec::new();
    for package in COMPILED.iter().filter(|it| only.is_empty() || only.iter().any(|name| name == it.name)) {
        let directory = home.join("ptx").join(package.name);
        if compile {
            build(package, &home, &directory)?;
        }
        let modules = check(&directory, &assembler, &mut verdicts)?;
        found.push((package, modules));
    }
    Ok(found)
}

/// Runs the driver of a package, once for each architecture.
pub(super) fn build(package: &Compiled, home: &Path, directory: &Path) -> Result<()> {
    let driver = package.driver;
    for architecture in package.architectures {
        let done = directory.join(format!("{driver}-{architecture}.done"));
        if done.is_file() {
            continue;
        }
        let python = environment(home)?;
        let beside = beside(package, &python, home)?;
        println!("compiling {} with {driver} for {architecture}", package.name);
        let status = Command::new(python)
            .arg(root().join("xtask/lab/src/corpus/compile").join(driver))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("CORPUS_OUT", directory)
            .env("CORPUS_ARCH", architecture)
            .env("PYTHONPATH", beside)
            .env("CORPUS_TOOLKIT", Assembler::toolkit()?)
            .status()?;
        if !status.success() {
            return Err(format!("{driver} ended with {status}").into());
        }
        fs::write(done, "")?;
    }
    Ok(())
}

/// The virtual environment with all packages; it is made if it is not there.
fn environment(home: &Path) -> Result<PathBuf> {
    let directory = home.join("venv");
    let python = directory.join("bin/python");
    let done = directory.join("packages.done");
    let wanted = ENVIRONMENT.join("\n");
    if fs::read_to_string(&done).is_ok_and(|it| it == wanted) {
        return Ok(python);
    }
    println!("installing {} packages into {}", ENVIRONMENT.len(), directory.display());
    if !python.is_file() {
        command(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
    }
    command(
        Command::new(&python)
            // Each package's own list would bring a driver's libraries along, of gigabytes.
            .args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"])
            .args(ENVIRONMENT),
    )?;
    command(Command::new(&python).arg(root().join("xtask/lab/src/corpus/compile/stubs.py")))?;
    fs::write(done, wanted)?;
    Ok(python)
}

/// A directory with what a package has beside the environment; it is made if it is not there.
fn beside(package: &Compiled, python: &Path, home: &Path) -> Result<PathBuf> {
    let directory = home.join(format!("beside-{}", package.name));
    let done = directory.join("packages.done");
    let wanted = package.beside.join("\n");
    if !package.beside.is_empty() && fs::read_to_string(&done).ok().as_ref() != Some(&wanted) {
        command(
            Command::new(python)
                .args([
                    "-m",
                    "pip",
                    "--disable-pip-version-check",
                    "install",
                    "--quiet",
                    "--no-deps",
                    "--upgrade",
                ])
                .arg("--target")
                .arg(&directory)
                .args(package.beside),
        )?;
        fs::write(done, wanted)?;
    }
    Ok(directory)
}

fn command(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.trim().lines().last().unwrap_or("the command failed").to_owned().into())
}

fn check(directory: &Path, assembler: &Assembler, verdicts: &mut Verdicts) -> Result<Modules> {
    let mut modules = Modules::default();
    let mut paths: Vec<PathBuf> = match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
        Err(_) => return Ok(modules),
    };
    paths.retain(|path| path.extension().is_some_and(|it| it == "ptx"));
    paths.sort();
    for path in paths {
        let bytes = fs::read(&path)?;
        let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        modules.count += 1;
        modules.megabytes += bytes.len() as f64 / 1e6;
        let Ok(source) = Source::from_bytes(name.clone(), bytes) else { continue };
        let start = Instant::now();
        let document = Document::new(&source);
        let report = document.check(&Options::default(), &|| false);
        modules.seconds += start.elapsed().as_secs_f64();
        let Some(report) = report else { continue };
        let unit = &document.unit;
        for (index, instruction) in unit.module.instructions.iter().enumerate() {
            let is_tensor = unit.operations.is_tensor(index as u32);
            modules.tensor += usize::from(is_tensor);
            let opcode = unit.operations.of(index as u32);
            if !(if is_tensor { opcode.tensor.is_some() } else { opcode.is_known() }) {
                let text = unit.source.slice(instruction.opcode);
                *modules.unknown.entry(text.to_owned()).or_default() += 1;
            }
        }
        let mut expects_refusal = false;
        for finding in &report.diagnostics {
            expects_refusal |= finding.severity == Severity::Error && finding.ptxas == Ptxas::Rejects;
            let line = source.position(finding.primary.span.start).line;
            let place = format!("{name}:{line} {}", finding.message);
            modules.findings.entry((finding.severity, finding.code.to_string())).or_default().push(place);
        }
        let target = target_of(source.text());
        *modules.targets.entry(target.to_string()).or_default() += 1;
        let verdict = verdicts.ask(assembler, source.text(), target)?;
        modules.assembler_seconds += verdict.seconds;
        if !verdict.accepts {
            modules.refused.push(format!("{name}: {}", verdict.message));
        }
        if verdict.accepts == expects_refusal {
            modules.differ.push(format!("{name}: {}", verdict.message));
        }
        // It says that it ignores `setmaxnreg`, which is what one rule is about.
        let expects_ignored = report.diagnostics.iter().any(|it| it.code == Code::SetmaxnregIgnored);
        if verdict.ignores != expects_ignored {
            modules.differ.push(format!("{name}: whether it ignores `setmaxnreg`"));
        }
    }
    Ok(modules)
}

/// What the assembler said of a module.
#[derive(Clone, Debug)]
struct Verdict {
    accepts: bool,
    /// Whether it says that it ignores `setmaxnreg`.
    ignores: bool,
    seconds: f64,
    /// Its first error.
    message: String,
}

/// What it said of modules in earlier runs.
struct Verdicts {
    path: PathBuf,
    known: HashMap<u64, Verdict>,
}

impl Verdicts {
    fn open(home: &Path, version: &str) -> Result<Self> {
        fs::create_dir_all(home)?;
        let path = home.join(format!("{}.tsv", version.replace([' ', '.'], "_")));
        let known = fs::read_to_string(&path)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| {
                let mut fields = line.splitn(4, '\t');
                let key = u64::from_str_radix(fields.next()?, 16).ok()?;
                let word = fields.next()?;
                let (accepts, ignores) = (word != "rejects", word == "ignores");
                let seconds = fields.next()?.parse().ok()?;
                Some((key, Verdict { accepts, ignores, seconds, message: fields.next()?.to_owned() }))
            })
            .collect();
        Ok(Self { path, known })
    }

    fn ask(&mut self, assembler: &Assembler, text: &str, target: Target) -> Result<Verdict> {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(verdict) = self.known.get(&key) {
            return Ok(verdict.clone());
        }
        let start = Instant::now();
        let output = assembler.run(text, target, "corpus.ptx")?;
        let seconds = start.elapsed().as_secs_f64();
        let error = output.messages.lines().find(|line| line.contains("error") || line.contains("fatal"));
        let message =
            error.map(|line| line.rsplit_once(" : ").map_or(line, |(_, it)| it)).unwrap_or_default();
        let verdict = Verdict {
            accepts: output.accepted,
            ignores: output.messages.contains("'setmaxnreg' ignored"),
            seconds,
            message: message.trim().to_owned(),
        };
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        let word = match &verdict {
            Verdict { accepts: false, .. } => "rejects",
            Verdict { ignores: true, .. } => "ignores",
            Verdict { .. } => "accepts",
        };
        writeln!(file, "{key:016x}\t{word}\t{seconds:.3}\t{}", verdict.message)?;
        self.known.insert(key, verdict.clone());
        Ok(verdict)
    }
}
