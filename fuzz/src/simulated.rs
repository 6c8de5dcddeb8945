//! Bugs put into kernels that run clean, and which of them running the kernel finds.
//!
//! Each [`Bug`] is one mistake of those that cost days: a wait that is missing, a parity, a count, an
//! address. It is put into a kernel in one place at a time, and the kernel is run under its launch. A bug
//! counts as found if anything is found; whether what is reported first names the cause is counted beside
//! it, and so is whether the checker alone, which runs nothing, says something new.

use std::collections::{BTreeMap, BTreeSet};

use ptx_check::{Options, Source, Unit, check};
use ptx_simulation::launch::{LaunchFile, LaunchShape};
use ptx_simulation::{Kernel, KernelReport, Schedule, Settings, Verdict};

pub(crate) mod body;
mod list;
mod orders;

use body::{Body, Edit};
pub use list::{BUGS, Bug};
pub use orders::ORDERS;

/// What became of a bug in one place.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The line that was changed first.
    pub line: u32,
    /// What running it found, in this order.
    pub found: Vec<&'static str>,
    /// What became of the run.
    pub verdict: Verdict,
    /// Why it was not judged to the end.
    pub reason: Option<String>,
    /// What the checker alone says that it does not say of the kernel itself.
    pub checked: BTreeSet<&'static str>,
}

/// How many of a class were found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// In how many places it was put.
    pub placed: usize,
    /// In how many of them running the kernel found something.
    pub found: usize,
    /// In how many of them what was reported first names the cause.
    pub named: usize,
    /// In how many of them the checker alone says something.
    pub checked: usize,
    /// What was reported first, and how often.
    pub first: BTreeMap<String, usize>,
    /// Where nothing was found: the kernel, the line, and what became of it.
    pub missed: Vec<String>,
    /// Where what was reported first does not name it: the kernel, the line, and what that was.
    pub misnamed: Vec<String>,
    /// The modules with those bugs, by name, if they are kept.
    pub texts: Vec<(String, String)>,
    /// In how many of those that were found another schedule than the first did.
    pub later: usize,
    /// In how many places it changes nothing, as the run does not come there.
    pub idle: usize,
}

/// All classes together.
#[derive(Clone, Debug)]
pub struct Tallies {
    /// The classes.
    pub bugs: &'static [Bug],
    /// One for each class.
    pub tallies: Vec<Tally>,
    /// The same kernels without their launch, if that is asked for.
    pub alone: Alone,
    /// Whether all clusters of the grid run, under several schedules if the first shows nothing.
    is_whole: bool,
}

impl Default for Tallies {
    fn default() -> Self {
        Self {
            bugs: BUGS,
            tallies: vec![Tally::default(); BUGS.len()],
            alone: Alone::default(),
            is_whole: false,
        }
    }
}

/// What becomes of kernels without their launch.
#[derive(Clone, Debug, Default)]
pub struct Alone {
    /// Those that are correct: by verdict, how many.
    pub correct: BTreeMap<String, usize>,
    /// Those with a bug that is found under the launch.
    pub wrong: BTreeMap<String, usize>,
    /// Correct kernels with findings, and wrong ones that are called clean.
    pub differing: Vec<String>,
    /// The modules of the wrong ones, by name, if they are kept.
    pub texts: Vec<(String, String)>,
}

/// Which bugs are put where.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// Only classes whose name contains this.
    pub class: &'a str,
    /// At most this many places of a class in a kernel, spread over it.
    pub places: usize,
    /// Whether modules are kept in which what is reported first does not name the bug.
    pub keeps: bool,
    /// Whether kernels are run without their launch, too.
    pub alone: bool,
    /// Warp instructions after which a run ends, unless the kernel itself takes more than half of them.
    pub budget: u64,
}

/// Random schedules that are tried where the first one shows nothing.
const SCHEDULES: u64 = 20;

impl Tallies {
    /// Nothing yet, of [`ORDERS`].
    pub fn orders() -> Self {
        Self {
            bugs: ORDERS,
            tallies: vec![Tally::default(); ORDERS.len()],
            alone: Alone::default(),
            is_whole: true,
        }
    }

    /// Puts the bugs into a kernel, one at a time, and runs it.
    ///
    /// # Errors
    /// If there is no such kernel, or no such launch.
    pub fn add(&mut self, source: &Source, launch: &LaunchFile, choice: &Choice<'_>) -> Result<(), String> {
        let unit = Unit::new(source);
        let name = launch.kernel.as_deref().ok_or("a launch without a kernel")?;
        let body = Body::new(&unit, name).ok_or("no such kernel")?;
        let own: BTreeSet<(&str, String)> = codes(source).into_iter().collect();
        let budget = choice.budget.max(2 * instructions(&unit, name, launch)?);
        let is_whole = self.is_whole;
        let alone = &mut self.alone;
        if choice.alone {
            let verdict = verdict_alone(&unit, name, budget)?;
            if verdict == Verdict::Findings {
                alone.differing.push(format!("{} is correct", source.name()));
            }
            *alone.correct.entry(format!("{verdict:?}")).or_default() += 1;
        }
        for (bug, tally) in self.bugs.iter().zip(&mut self.tallies) {
            if !bug.name.contains(choice.class) {
                continue;
            }
            let mut placed = 0;
            for edits in spread(bug.places(&body), choice.places) {
                if placed == choice.places {
                    break;
                }
                let text = changed(source, edits.clone());
                let line = edits.iter().map(|(range, _)| range.start).min().unwrap_or_default();
                let line = source.position(line as u32).line;
                let run = Run { launch, budget, is_whole, schedule: Schedule::Early };
                let mut trial = try_one(source, name, &run, (text.clone(), line), &own)?;
                let mut seeds = 0..if is_whole { SCHEDULES } else { 0 };
                while trial.found.is_empty()
                    && let Some(seed) = seeds.next()
                {
                    let run = Run { schedule: Schedule::Random(seed + 1), ..run };
                    let other = try_one(source, name, &run, (text.clone(), line), &own)?;
                    if !other.found.is_empty() {
                        trial = other;
                        tally.later += 1;
                    }
                }
                if trial.found.is_empty() {
                    let probe = (changed(source, body::probes(&body, &edits)), line);
                    let of_probe = try_one(source, name, &run, probe, &own);
                    if of_probe.is_ok_and(|it| it.verdict == Verdict::Clean) {
                        tally.idle += 1;
                        continue;
                    }
                }
                placed += 1;
                tally.placed += 1;
                if choice.keeps && !trial.found.first().is_some_and(|first| bug.names.contains(first)) {
                    tally.texts.push((file_name(bug, line, source), text.clone()));
                }
                tally.checked += usize::from(!trial.checked.is_empty());
                let Some(first) = trial.found.first() else {
                    let what = match trial.reason {
                        Some(reason) => format!("incomplete: {reason}"),
                        None => "clean".to_owned(),
                    };
                    tally.missed.push(format!("{name}:{} {what}", trial.line));
                    continue;
                };
                tally.found += 1;
                if choice.alone {
                    let changed = Source::new(source.name(), &*text).map_err(|error| error.to_string())?;
                    let verdict = verdict_alone(&Unit::new(&changed), name, budget)?;
                    if verdict == Verdict::Clean {
                        alone.differing.push(format!("{}:{line} {}", source.name(), bug.name));
                        if choice.keeps {
                            alone.texts.push((file_name(bug, line, source), text.clone()));
                        }
                    }
                    *alone.wrong.entry(format!("{verdict:?}")).or_default() += 1;
                }
                if bug.names.contains(first) {
                    tally.named += 1;
                } else {
                    tally.misnamed.push(format!("{name}:{} says {}", trial.line, trial.found.join(" ")));
                }
                *tally.first.entry((*first).to_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (verdict, count) in other.alone.correct {
            *self.alone.correct.entry(verdict).or_default() += count;
        }
        for (verdict, count) in other.alone.wrong {
            *self.alone.wrong.entry(verdict).or_default() += count;
        }
        self.alone.differing.extend(other.alone.differing);
        self.alone.texts.extend(other.alone.texts);
        for (tally, more) in self.tallies.iter_mut().zip(other.tallies) {
            tally.placed += more.placed;
            tally.found += more.found;
            tally.named += more.named;
            tally.checked += more.checked;
            for (code, count) in more.first {
                *tally.first.entry(code).or_default() += count;
            }
            tally.idle += more.idle;
            tally.later += more.later;
            tally.missed.extend(more.missed);
            tally.misnamed.extend(more.misnamed);
            tally.texts.extend(more.texts);
        }
        self
    }

    /// The shares, class by class.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "bug                                      placed    found    named  by check  reported first\n",
        );
        for (bug, tally) in self.bugs.iter().zip(&self.tallies).filter(|(_, tally)| tally.placed > 0) {
            let first: Vec<String> =
                tally.first.iter().map(|(code, count)| format!("{code} {count}")).collect();
            let share = |count: usize| 100.0 * count as f64 / tally.placed as f64;
            let row = format!(
                "{:<40} {:>6}  {:>5.1} %  {:>5.1} %   {:>5.1} %  {}",
                bug.name,
                tally.placed,
                share(tally.found),
                share(tally.named),
                share(tally.checked),
                first.join(", ")
            );
            table.push_str(row.trim_end());
            table.push('\n');
        }
        let sum = |count: fn(&Tally) -> usize| self.tallies.iter().map(count).sum::<usize>();
        table.push_str(&format!(
            "{} placed, {} found, what is reported first names the cause of {}, {} found by check\n",
            sum(|it| it.placed),
            sum(|it| it.found),
            sum(|it| it.named),
            sum(|it| it.checked)
        ));
        table.push_str(&format!(
            "in {} places more the launch does not come to what is changed, or it is no other number\n",
            sum(|it| it.idle)
        ));
        table
    }
}

/// How much a kernel takes of a budget as it is.
///
/// # Errors
/// If there is no such kernel, or no such launch.
pub fn instructions(unit: &Unit, kernel: &str, launch: &LaunchFile) -> Result<u64, String> {
    let kernel = Kernel::new(unit, kernel).ok_or("no such kernel")?;
    let launch = kernel.launch(launch, &mut |_| Ok(Vec::new())).map_err(|error| error.to_string())?;
    let report = kernel.simulate(&launch, &Settings::default()).map_err(|error| error.to_string())?;
    // What goes on beside the threads takes of a budget, too.
    Ok(report.warp_instructions + 16 * report.operations)
}

/// What a module with a bug is called.
fn file_name(bug: &Bug, line: u32, source: &Source) -> String {
    let words = bug.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    format!("{words}.{line}.{}", source.name())
}

/// What becomes of a kernel without a launch.
fn verdict_alone(unit: &Unit, kernel: &str, budget: u64) -> Result<Verdict, String> {
    let kernel = Kernel::new(unit, kernel).ok_or("no such kernel")?;
    let settings = Settings { budget: 2 * budget, ..Settings::default() };
    let report = kernel.simulate_assumed(&LaunchShape::default(), &settings);
    Ok(report.map_err(|error| error.to_string())?.verdict)
}

/// First some of many, the first and the last among them, and then the others, for where nothing comes to them.
pub(crate) fn spread<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let count = all.len();
    let wanted: BTreeSet<usize> = match most {
        0 | 1 => [0].into(),
        _ if count <= most => (0..count).collect(),
        _ => (0..most).map(|at| at * (count - 1) / (most - 1)).collect(),
    };
    let (first, others): (Vec<_>, Vec<_>) =
        all.into_iter().enumerate().partition(|(at, _)| wanted.contains(at));
    first.into_iter().chain(others).map(|(_, it)| it).collect()
}

/// The text of a module with some edits.
pub(crate) fn changed(source: &Source, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = String::with_capacity(source.text().len() + 1000);
    let mut at = 0;
    for (range, new) in &edits {
        text.push_str(&source.text()[at..range.start]);
        text.push_str(new);
        at = range.end;
    }
    text.push_str(&source.text()[at..]);
    text
}

fn codes(source: &Source) -> Vec<(&'static str, String)> {
    let report = check(source, &Options { max_findings: None, ..Options::default() });
    report.diagnostics.iter().map(|it| (it.code.as_str(), it.message.clone())).collect()
}

/// How a kernel is run.
#[derive(Clone, Copy)]
struct Run<'a> {
    launch: &'a LaunchFile,
    budget: u64,
    is_whole: bool,
    schedule: Schedule,
}

impl Run<'_> {
    fn of(&self, kernel: &Kernel<'_>) -> Result<KernelReport, String> {
        let launch =
            kernel.launch(self.launch, &mut |_| Ok(Vec::new())).map_err(|error| error.to_string())?;
        let settings = Settings { budget: self.budget, schedule: self.schedule, ..Settings::default() };
        let report = if self.is_whole {
            kernel.simulate_all(&launch, &settings)
        } else {
            kernel.simulate(&launch, &settings)
        };
        report.map_err(|error| error.to_string())
    }
}

fn try_one(
    source: &Source,
    kernel: &str,
    run: &Run<'_>,
    (text, line): (String, u32),
    own: &BTreeSet<(&str, String)>,
) -> Result<Trial, String> {
    let changed = Source::new(source.name(), text).map_err(|error| error.to_string())?;
    let checked = codes(&changed);
    let checked = checked.into_iter().filter(|it| !own.contains(it)).map(|(code, _)| code).collect();
    let unit = Unit::new(&changed);
    if let Some(error) = unit.syntax_errors.first() {
        return Err(format!("line {line} is no PTX any more: {error:?}"));
    }
    let kernel = Kernel::new(&unit, kernel).ok_or("no such kernel")?;
    let report = run.of(&kernel)?;
    let mut found: Vec<&'static str> = Vec::new();
    for finding in &report.diagnostics {
        let code = finding.code.as_str();
        if !found.contains(&code) {
            found.push(code);
        }
    }
    let reason = report.reasons.first().map(|reason| reason.text.clone());
    Ok(Trial { line, found, verdict: report.verdict, reason, checked })
}
