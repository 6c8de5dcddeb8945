//! Asking ptxas, many statements at a time.
//!
//! One statement a module costs some 15 ms. ptxas reports all errors of its front end with their
//! lines, though, so that a module with a kernel for each of a hundred statements tells which of
//! them it refuses. Only a syntax error stops it at once; that statement is taken out and the rest
//! asked again. What the front end lets pass is then assembled to the end, and split in halves
//! when that fails.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptx_check::isa::targets::{PtxVersion, Target};

use super::{Case, module};
use crate::{Result, target_directory};

/// The package and version that are installed.
const PACKAGE: &str = "nvidia-cuda-nvcc==13.5.37";
/// Statements in one module.
const BATCH: usize = 100;

pub(crate) struct Assembler {
    program: PathBuf,
    version: String,
    scratch: PathBuf,
    /// The module that statements are put into.
    template: &'static str,
}

impl Assembler {
    /// Finds ptxas in the target directory, or installs it there.
    pub(crate) fn install() -> Result<Self> {
        let home = target_directory().join("ptxas");
        if find(&home, "ptxas").is_none() {
            println!("installing {PACKAGE} into {}", home.display());
            command(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
            command(Command::new(home.join("bin/pip")).args(["install", "--quiet", PACKAGE]))?;
        }
        let program = find(&home, "ptxas").ok_or("the package brought no ptxas")?;
        let output = Command::new(&program).arg("--version").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text
            .lines()
            .find_map(|line| line.split_once(", V").map(|(_, version)| format!("ptxas {version}")))
            .ok_or("ptxas does not say its version")?;
        let scratch = target_directory().join("oracle");
        fs::create_dir_all(&scratch)?;
        Ok(Self { program, version, scratch, template: super::MODULE })
    }

    /// With statements in another module.
    pub(crate) fn with_template(self, template: &'static str) -> Self {
        Self { template, ..self }
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Whether each case is accepted.
    pub(crate) fn ask(&self, cases: &[Case]) -> Result<Vec<bool>> {
        Ok(self.explain(cases)?.into_iter().map(|verdict| verdict.is_none()).collect())
    }

    /// What is said against each case; nothing against one that is accepted.
    pub(crate) fn explain(&self, cases: &[Case]) -> Result<Vec<Verdict>> {
        let mut cache = Cache::open(self.scratch.join("messages.tsv"), &self.version, self.template);
        let mut verdicts: Vec<Option<Verdict>> = cases.iter().map(|case| cache.get(case)).collect();
        let mut groups: BTreeMap<(Target, PtxVersion), Vec<usize>> = BTreeMap::new();
        for (index, case) in cases.iter().enumerate() {
            if verdicts[index].is_none() {
                groups.entry((case.target, case.version)).or_default().push(index);
            }
        }
        let batches: Vec<&[usize]> = groups.values().flat_map(|group| group.chunks(BATCH)).collect();
        let asked: usize = batches.iter().map(|batch| batch.len()).sum();
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let answers = Mutex::new((&mut verdicts, &mut cache));
        let failure = Mutex::new(None);
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (next, done, answers, failure, batches) = (&next, &done, &answers, &failure, &batches);
                scope.spawn(move || {
                    while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let answer = self.ask_batch(cases, batch, thread);
                        let before = done.fetch_add(batch.len(), Ordering::Relaxed);
                        if asked > 10_000 && before * 20 / asked != (before + batch.len()) * 20 / asked {
                            println!("{} of {asked} asked", before + batch.len());
                        }
                        let answer = answer.and_then(|answer| {
                            let mut answers = answers.lock().map_err(|error| error.to_string())?;
                            let (verdicts, cache) = &mut *answers;
                            for (index, verdict) in answer {
                                cache.put(&cases[index], &verdict);
                                verdicts[index] = Some(verdict);
                            }
                            // What was asked is not lost where the rest is not waited for.
                            cache.save()
                        });
                        if let (Err(error), Ok(mut failure)) = (answer, failure.lock()) {
                            *failure = Some(error);
                        }
                    }
                });
            }
        });
        if let Some(error) = failure.into_inner().map_err(|error| error.to_string())? {
            return Err(error);
        }
        verdicts.into_iter().map(|verdict| verdict.ok_or_else(|| "a case without a verdict".into())).collect()
    }

    /// Asks about cases of one target and version.
    fn ask_batch(&self, cases: &[Case], batch: &[usize], thread: usize) -> Result<Vec<(usize, Verdict)>> {
        let mut verdicts = Vec::with_capacity(batch.len());
        let mut rest: Vec<usize> = batch.to_vec();
        while let Some(&first) = rest.first() {
            let Case { target, version, .. } = cases[first];
            let statements = || rest.iter().map(|&index| cases[index].statement.as_str());
            let text = module(self.template, version, target, statements());
            let name = format!("batch{thread}.ptx");
            let output = self.run(&text, target, &name)?;
            if output.accepted && !output.messages.lines().any(is_narrow_address) {
                verdicts.extend(rest.iter().map(|&index| (index, None)));
                break;
            }
            // The statement that stands at each line.
            let lines: Vec<usize> = text
                .lines()
                .scan(None, |kernel: &mut Option<usize>, line| {
                    if line.starts_with(".visible") {
                        *kernel = Some(kernel.map_or(0, |kernel| kernel + 1));
                    }
                    Some(kernel.unwrap_or(usize::MAX))
                })
                .collect();
            // What is said first of each.
            let mut refused: BTreeMap<usize, String> = BTreeMap::new();
            for line in output.messages.lines().filter(|line| is_error(line) || is_narrow_address(line)) {
                // Lines of `<builtin>` are those of a text of the assembler's own.
                let place = match line.split_once(", line ").filter(|_| line.contains(&name)) {
                    Some((_, tail)) => tail.split(';').next(),
                    None => line.split_once("on line '").and_then(|(_, tail)| tail.split('\'').next()),
                };
                let number = place.and_then(|place| place.trim().parse::<usize>().ok());
                let kernel = number.and_then(|number| lines.get(number - 1).copied());
                if let Some(kernel) = kernel.filter(|&kernel| kernel < rest.len()) {
                    refused.entry(kernel).or_insert_with(|| message_of(line));
                }
            }
            if refused.is_empty() {
                // An error without a line, or a crash: ask the halves.
                if let [only] = rest[..] {
                    let said = output.messages.lines().find(|line| is_error(line));
                    verdicts.push((only, Some(said.map_or(CRASH.to_owned(), message_of))));
                    break;
                }
                let (left, right) = rest.split_at(rest.len() / 2);
                verdicts.extend(self.ask_batch(cases, left, thread)?);
                verdicts.extend(self.ask_batch(cases, right, thread)?);
                break;
            }
            verdicts.extend(refused.iter().map(|(&kernel, said)| (rest[kernel], Some(said.clone()))));
            rest = rest
                .iter()
                .enumerate()
                .filter(|(kernel, _)| !refused.contains_key(kernel))
                .map(|(_, &index)| index)
                .collect();
        }
        Ok(verdicts)
    }

    /// Assembles a module.
    pub(crate) fn run(&self, text: &str, target: Target, name: &str) -> Result<Output> {
        let path = self.scratch.join(name);
        fs::write(&path, text)?;
        // There are statements that it never ends with, and takes all memory for.
        let output = Command::new("sh")
            .args(["-c", "ulimit -t 30; exec \"$@\"", "sh"])
            .arg(&self.program)
            .arg(format!("-arch={}", target.assembler_name()))
            .args(["-O1", "-o", "/dev/null"])
            .arg(&path)
            .output()?;
        let mut messages = String::from_utf8_lossy(&output.stderr).into_owned();
        messages.push_str(&String::from_utf8_lossy(&output.stdout));
        Ok(Output { accepted: output.status.success(), messages })
    }
}

/// What nvcc needs besides the assembler.
const COMPILER: &[&str] =
    &["nvidia-nvvm==13.5.37", "nvidia-cuda-crt==13.5.37", "nvidia-cuda-runtime==13.5.37", "nvidia-cuda-cccl"];

impl Assembler {
    /// Compiles a file of CUDA to an object. nvcc hands the assembly in it on as it is.
    pub(crate) fn compile(&self, path: &Path) -> Result<Output> {
        self.compile_text(&fs::read_to_string(path)?, &[])
    }

    /// The directory that nvcc is installed below.
    pub(crate) fn toolkit() -> Result<PathBuf> {
        let home = target_directory().join("ptxas");
        // The compiler comes with the assembler, the headers that those of the runtime include do not.
        let is_header = |path: &Path| path.ends_with("nv/target");
        if find(&home, "cicc").is_none() || find_where(&home, &is_header).is_none() {
            println!("installing nvcc into {}", home.display());
            command(Command::new(home.join("bin/pip")).args(["install", "--quiet"]).args(COMPILER))?;
        }
        Ok(home)
    }

    /// The same for a text, with options.
    pub(crate) fn compile_text(&self, text: &str, options: &[&str]) -> Result<Output> {
        let home = Self::toolkit()?;
        let compiler = find(&home, "nvcc").ok_or("the package brought no nvcc")?;
        let copy = self.scratch.join("record.cu");
        fs::write(&copy, text)?;
        let output = Command::new(compiler)
            .args(["-arch=sm_100a", "-cubin", "-w", "-o", "/dev/null"])
            .args(options)
            .arg(&copy)
            .output()?;
        let mut messages = String::from_utf8_lossy(&output.stderr).into_owned();
        messages.push_str(&String::from_utf8_lossy(&output.stdout));
        // Where it stood, is no part of what is said.
        let folder = format!("{}/", self.scratch.display());
        Ok(Output { accepted: output.status.success(), messages: messages.replace(&folder, "") })
    }
}

/// What the assembler said.
pub(crate) struct Output {
    pub(crate) accepted: bool,
    pub(crate) messages: String,
}

/// What the assembler says against a case; nothing against one that it accepts.
pub(crate) type Verdict = Option<String>;

/// What stands for a message where the assembler dies without one: that is no verdict on the statement.
pub(crate) const CRASH: &str = "a crash";

/// Whether it is a warning of an address of 32 bits, for which a module is refused unless it has one of 16 or 8 besides:
/// kernels beside each other decide about each other.
fn is_narrow_address(line: &str) -> bool {
    line.contains("uses 32-bit address")
}

fn is_error(line: &str) -> bool {
    line.contains("error") || line.contains("fatal")
}

/// The message in a line that tells of an error, without its place.
fn message_of(line: &str) -> String {
    let said = ["error   : ", "fatal   : "].iter().find_map(|start| line.split_once(start));
    said.map_or(line, |(_, said)| said).replace('\t', " ")
}

/// Verdicts of earlier runs, by statement, target, version and assembler.
struct Cache {
    path: PathBuf,
    assembler: String,
    template: &'static str,
    known: HashMap<u64, Verdict>,
    new: String,
}

impl Cache {
    fn open(path: PathBuf, assembler: &str, template: &'static str) -> Self {
        let known = fs::read_to_string(&path)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| {
                let (key, said) = line.split_once('\t')?;
                let said = Some(said).filter(|said| !said.is_empty());
                Some((u64::from_str_radix(key, 16).ok()?, said.map(str::to_owned)))
            })
            .collect();
        Self { path, assembler: assembler.to_owned(), template, known, new: String::new() }
    }

    fn key(&self, case: &Case) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.assembler, self.template, case).hash(&mut hasher);
        hasher.finish()
    }

    fn get(&self, case: &Case) -> Option<Verdict> {
        self.known.get(&self.key(case)).cloned()
    }

    fn put(&mut self, case: &Case, verdict: &Verdict) {
        self.new += &format!("{:016x}\t{}\n", self.key(case), verdict.as_deref().unwrap_or_default());
    }

    fn save(&mut self) -> Result<()> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(std::mem::take(&mut self.new).as_bytes())?;
        Ok(())
    }
}

pub(crate) fn command(command: &mut Command) -> Result<()> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} failed: {}", text.trim()).into())
}

fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        path.file_name().is_some_and(|it| it == name) && path.parent().is_some_and(|it| it.ends_with("bin"))
    };
    find_where(directory, &is_program)
}

/// The first file below a directory of which something holds. Links are other names of the same.
pub(crate) fn find_where(directory: &Path, holds: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    fs::read_dir(directory).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() { find_where(&path, holds) } else { Some(path).filter(|path| holds(path)) }
    })
}
