//! `cargo run --release -p ptx-tc-fuzz -- TARGET --seed S --cases N --jobs 2`
//!
//! The cases run in a child process, so that one that kills it (a stack that overflows, memory that
//! is not there) is found, too: the run goes on behind it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{panic, thread};

use clap::Parser;
use ptx_tc_fuzz::corpus::Corpus;
use ptx_tc_fuzz::{Case, Target, minimise, root};

/// Breaks promises of ptx-tc, if it can.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// check, again, fix, format, lsp, host, simulate or descriptors.
    target: Target,
    /// What the cases follow from, with their numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of the first case: where an earlier run was stopped.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many cases.
    #[arg(long, default_value_t = 10_000, conflicts_with = "seconds")]
    cases: u64,
    /// How long, instead of how many cases.
    #[arg(long)]
    seconds: Option<u64>,
    /// How many threads.
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Seconds after which a case counts as one that does not end.
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// Run this text alone.
    #[arg(long)]
    file: Option<PathBuf>,
    /// With `--file`: what the failure was reported with.
    #[arg(long, default_value_t = 0)]
    choice: u64,
    /// The process that runs the cases.
    #[arg(long, hide = true)]
    child: bool,
}

/// That of the command line.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack of a case: that of the server's and the command line's threads.
const STACK: usize = 2 << 20;
/// A case did not end.
const HANGS: u8 = 3;
/// Failures after which there is no point in going on.
const ENOUGH: usize = 25;

thread_local! {
    /// Where the last panic of this thread was.
    static PANICKED: RefCell<String> = const { RefCell::new(String::new()) };
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match (&arguments.file, arguments.child) {
        (Some(path), _) => single(&arguments, path),
        (None, true) => cases(&arguments),
        (None, false) => supervise(arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn failures() -> PathBuf {
    root().join("fuzz/failures")
}

/// Where a thread says which case it is at.
fn mark(arguments: &Arguments, job: u64) -> PathBuf {
    failures().join(format!("running-{}-{job}", arguments.target))
}

/// Runs children until all cases are done.
fn supervise(mut arguments: Arguments) -> Result<ExitCode> {
    fs::create_dir_all(failures())?;
    let start = Instant::now();
    let end = arguments.first.saturating_add(arguments.cases);
    let mut failed = false;
    loop {
        let status = child(&arguments).status()?;
        match status.code() {
            Some(0) => break,
            Some(1) => {
                failed = true;
                break;
            }
            Some(2) => return Ok(ExitCode::from(2)),
            _ => failed = true,
        }
        let marks: Vec<u64> = (0..arguments.jobs)
            .filter_map(|job| fs::read_to_string(mark(&arguments, job)).ok()?.trim().parse().ok())
            .collect();
        if status.code() != Some(i32::from(HANGS)) {
            for number in &marks {
                killed(&arguments, *number)?;
            }
        }
        // What other threads were at is done again by nobody: a case of many.
        let next = marks.into_iter().max().ok_or("no case was running")? + 1;
        arguments.cases = end.saturating_sub(next);
        arguments.first = next;
        if let Some(seconds) = &mut arguments.seconds {
            *seconds = seconds.saturating_sub(start.elapsed().as_secs());
        }
        if arguments.cases == 0 || arguments.seconds == Some(0) {
            break;
        }
    }
    for job in 0..arguments.jobs {
        let _ = fs::remove_file(mark(&arguments, job));
    }
    Ok(ExitCode::from(u8::from(failed)))
}

fn child(arguments: &Arguments) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    let target: &str = arguments.target.into();
    command.args([target, "--child"]);
    let mut number = |name: &str, value: u64| {
        command.args([name, &value.to_string()]);
    };
    number("--seed", arguments.seed);
    number("--first", arguments.first);
    number("--jobs", arguments.jobs);
    number("--limit", arguments.limit);
    match arguments.seconds {
        Some(seconds) => number("--seconds", seconds),
        None => number("--cases", arguments.cases),
    }
    command
}

/// Whether a case, tried alone, kills its process; if so, a smaller one is looked for.
fn killed(arguments: &Arguments, number: u64) -> Result<()> {
    let corpus = Corpus::read(&root().join("fixtures"))?;
    let case = Case::new(arguments.target, &corpus, arguments.seed, number);
    let path = failures().join(format!("{}-{}-{number}.ptx", arguments.target, arguments.seed));
    let kills = |case: &Case| -> bool {
        let target: &str = arguments.target.into();
        let tried = fs::write(&path, &case.text).and_then(|()| {
            Command::new(std::env::current_exe()?)
                .args([target, "--choice", &case.choice.to_string(), "--file"])
                .arg(&path)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
        });
        tried.is_ok_and(|status| status.code().is_none_or(|code| code > 2))
    };
    if !kills(&case) {
        fs::remove_file(&path)?;
        return Ok(());
    }
    let mut left = 300;
    let smaller = minimise::minimise(&case, &mut |case| {
        left -= 1;
        left > 0 && kills(case)
    });
    fs::write(&path, &smaller.text)?;
    report(arguments, number, "the process died", &smaller, &path);
    Ok(())
}

fn report(arguments: &Arguments, number: u64, message: &str, case: &Case, path: &Path) {
    println!(
        "\nFAILURE {target}, case {number} of seed {seed}: {message}\n  {path}, {bytes} bytes\n  \
         cargo run --release -p ptx-tc-fuzz -- {target} --seed {seed} --first {number} --cases 1\n  \
         cargo run --release -p ptx-tc-fuzz -- {target} --choice {choice} --file {path}",
        target = arguments.target,
        seed = arguments.seed,
        choice = case.choice,
        bytes = case.text.len(),
        path = path.strip_prefix(root()).unwrap_or(path).display(),
    );
}

/// Keeps panics quiet, and remembers where they were.
fn remember_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PANICKED.with_borrow_mut(|last| *last = place);
    }));
}

fn judge(target: Target, case: &Case) -> std::result::Result<(), String> {
    target.judge(case).map_err(|message| {
        let place = PANICKED.take();
        if place.is_empty() { message } else { format!("{message} ({place})") }
    })
}

/// Runs one text, in a thread like those of all others.
fn single(arguments: &Arguments, path: &Path) -> Result<ExitCode> {
    let case = Case { text: fs::read(path)?, choice: arguments.choice };
    let target = arguments.target;
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || target.judge(&case))?;
    match thread.join().map_err(|_| "the thread ended")? {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(message) => {
            println!("{message}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// What the threads share.
struct Run<'a> {
    arguments: &'a Arguments,
    corpus: Corpus,
    start: Instant,
    next: AtomicU64,
    bytes: AtomicU64,
    /// By thread: the case that it is at, plus one, and when it began, in milliseconds.
    running: Vec<(AtomicU64, AtomicU64)>,
    /// By message, without its numbers: how often.
    found: Mutex<BTreeMap<String, u64>>,
}

impl Run<'_> {
    fn milliseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The number of the next case, if there is one.
    fn next(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let is_wanted = match self.arguments.seconds {
            Some(seconds) => self.start.elapsed() < Duration::from_secs(seconds),
            None => number < self.arguments.first.saturating_add(self.arguments.cases),
        };
        let enough = self.found.lock().is_ok_and(|found| found.len() >= ENOUGH);
        (is_wanted && !enough).then_some(number)
    }

    fn work(&self, job: u64) -> Result<()> {
        let mut mark = File::create(mark(self.arguments, job))?;
        let (running, since) = &self.running[job as usize];
        while let Some(number) = self.next() {
            mark.rewind()?;
            write!(mark, "{number:20}")?;
            let case = Case::new(self.arguments.target, &self.corpus, self.arguments.seed, number);
            self.bytes.fetch_add(case.text.len() as u64, Ordering::Relaxed);
            since.store(self.milliseconds(), Ordering::Relaxed);
            running.store(number + 1, Ordering::Relaxed);
            let verdict = judge(self.arguments.target, &case);
            running.store(0, Ordering::Relaxed);
            if let Err(message) = verdict {
                self.failed(number, &case, &message)?;
            }
        }
        Ok(())
    }

    /// Reports a failure, if it is not one that is known.
    fn failed(&self, number: u64, case: &Case, message: &str) -> Result<()> {
        let target = self.arguments.target;
        let kind = kind(message);
        {
            let mut found = self.found.lock().map_err(|_| "another thread ended")?;
            let count = found.entry(kind.clone()).or_default();
            *count += 1;
            if *count > 1 {
                return Ok(());
            }
        }
        let smaller = minimise::minimise(case, &mut |case| {
            judge(target, case).is_err_and(|message| self::kind(&message) == kind)
        });
        let path = failures().join(format!("{target}-{}-{number}.ptx", self.arguments.seed));
        fs::write(&path, &smaller.text)?;
        report(self.arguments, number, message, &smaller, &path);
        Ok(())
    }

    /// Looks after the threads until they are done; ends the process when one is not.
    fn watch(&self, done: impl Fn() -> bool) -> Result<()> {
        let mut told = Instant::now();
        while !done() {
            thread::sleep(Duration::from_millis(20));
            for (running, since) in &self.running {
                let number = running.load(Ordering::Relaxed);
                let took = self.milliseconds().saturating_sub(since.load(Ordering::Relaxed));
                if number > 0 && took > self.arguments.limit * 1000 {
                    self.hangs(number - 1)?;
                }
            }
            if told.elapsed() > Duration::from_secs(30) {
                told = Instant::now();
                eprintln!("{}", self.totals());
            }
        }
        Ok(())
    }

    fn hangs(&self, number: u64) -> Result<()> {
        let arguments = self.arguments;
        let case = Case::new(arguments.target, &self.corpus, arguments.seed, number);
        let path = failures().join(format!("{}-{}-{number}.ptx", arguments.target, arguments.seed));
        fs::write(&path, &case.text)?;
        let message = format!("takes longer than {} s", arguments.limit);
        report(arguments, number, &message, &case, &path);
        println!("{}", self.totals());
        std::process::exit(HANGS.into());
    }

    fn totals(&self) -> String {
        let at = self.next.load(Ordering::Relaxed);
        let found = self.found.lock().map(|found| found.values().sum::<u64>()).unwrap_or_default();
        format!(
            "{} --seed {}: cases {} to {at}, {:.1} MB, {:.1} s, {found} failures",
            self.arguments.target,
            self.arguments.seed,
            self.arguments.first,
            self.bytes.load(Ordering::Relaxed) as f64 / 1e6,
            self.start.elapsed().as_secs_f64(),
        )
    }
}

/// A message without what differs from case to case.
fn kind(message: &str) -> String {
    let without: String = message.chars().filter(|it| !it.is_ascii_digit()).take(160).collect();
    let place = message.rfind('(').map_or("", |at| &message[at..]);
    format!("{without}{place}")
}

fn cases(arguments: &Arguments) -> Result<ExitCode> {
    remember_panics();
    let run = Run {
        arguments,
        corpus: Corpus::read(&root().join("fixtures"))?,
        start: Instant::now(),
        next: AtomicU64::new(arguments.first),
        bytes: AtomicU64::new(0),
        running: (0..arguments.jobs).map(|_| Default::default()).collect(),
        found: Mutex::default(),
    };
    thread::scope(|scope| -> Result<()> {
        let run = &run;
        let spawn = |job| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run.work(job));
        let threads = (0..arguments.jobs).map(spawn).collect::<std::io::Result<Vec<_>>>()?;
        run.watch(|| threads.iter().all(thread::ScopedJoinHandle::is_finished))?;
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread ended")?)
    })?;
    run.next.fetch_sub(arguments.jobs.min(run.next.load(Ordering::Relaxed)), Ordering::Relaxed);
    println!("{}", run.totals());
    let found = run.found.lock().map_err(|_| "a thread ended")?;
    for (kind, count) in found.iter().filter(|(_, count)| **count > 1) {
        println!("  {count} times: {kind}");
    }
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}
