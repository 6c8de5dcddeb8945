//! Fields that are misread: one field of a descriptor, one qualifier or one address of a kernel changed, whose result is
//! known. Does the result differ, or does a finding say why?
//!
//! A machine that ignored a field, or took another one for it, would compute the same with the field changed. So each
//! change that keeps the result needs a reason: a class names the one that the ISA gives, and what has none
//! is in [`Tally::unexplained`].

use std::collections::{BTreeMap, BTreeSet};

use ptx_check::{Source, Unit};
use ptx_simulation::launch::{LaunchError, LaunchFile};
use ptx_simulation::{Kernel, KernelReport, Settings, Verdict};

use crate::simulated::body::{Body, Edit};
use crate::simulated::{changed, spread};

mod list;

use list::Change;
pub use list::{MISREADINGS, Misreading};

/// A kernel with data.
pub struct Known<'a> {
    /// Its module.
    pub source: &'a Source,
    /// Its launch, with the name of the kernel.
    pub launch: &'a LaunchFile,
    /// The contents of files that the launch names.
    pub files: &'a [(&'a str, Vec<u8>)],
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Known").field("launch", self.launch).finish_non_exhaustive()
    }
}

impl Known<'_> {
    fn name(&self) -> Result<&str, String> {
        self.launch.kernel.as_deref().ok_or_else(|| "a launch without a kernel".to_owned())
    }

    /// Runs the kernel as some text of its module has it.
    fn run(&self, source: &Source, budget: u64) -> Result<KernelReport, String> {
        let unit = Unit::new(source);
        if let Some(error) = unit.syntax_errors.first() {
            return Err(format!("no PTX any more: {error:?}"));
        }
        let kernel = Kernel::new(&unit, self.name()?).ok_or("no such kernel")?;
        let mut data = |name: &str| -> Result<Vec<u8>, LaunchError> {
            let file = self.files.iter().find(|(file, _)| *file == name);
            Ok(file.map(|(_, bytes)| bytes.clone()).unwrap_or_default())
        };
        let launch = kernel.launch(self.launch, &mut data).map_err(|error| error.to_string())?;
        // What is executed is asked once.
        let settings = Settings { budget, records: budget == u64::MAX, ..Settings::default() };
        kernel.simulate_all(&launch, &settings).map_err(|error| error.to_string())
    }
}

/// What became of a class.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Places where something was changed that the launch executes.
    pub placed: usize,
    /// Of them: another result, and a finding.
    pub both: usize,
    /// Another result only.
    pub wrong: usize,
    /// A finding only.
    pub found: usize,
    /// The run stopped without a finding, and said why.
    pub stopped: usize,
    /// The result is the same for a reason, by reason.
    pub right: BTreeMap<&'static str, usize>,
    /// The same without a reason: the kernel, the line, and what was changed.
    pub unexplained: Vec<String>,
    /// Places that the launch does not execute.
    pub idle: usize,
}

/// All classes.
#[derive(Clone, Debug)]
pub struct Tallies {
    /// One for each of [`MISREADINGS`].
    pub tallies: Vec<Tally>,
}

impl Default for Tallies {
    fn default() -> Self {
        Self { tallies: vec![Tally::default(); MISREADINGS.len()] }
    }
}

/// A kernel with the result that it has as it is.
#[derive(Debug)]
pub struct Kept<'a> {
    known: Known<'a>,
    /// Its module, whose other kernels do nothing.
    source: Source,
    own: KernelReport,
    /// Warp instructions after which a run ends.
    budget: u64,
    /// Where the instructions start that the launch executes, of those that take time.
    executed: BTreeSet<usize>,
}

impl<'a> Kept<'a> {
    /// Runs a kernel as it is.
    ///
    /// # Errors
    /// If it does not run clean with a result that is known.
    pub fn new(known: Known<'a>) -> Result<Self, String> {
        let source = alone(known.source, known.name()?)?;
        let own = known.run(&source, u64::MAX)?;
        let slices = own.record.iter().flat_map(|record| &record.slices);
        let executed = slices.map(|slice| slice.span.range().start).collect();
        let is_known = own.outputs.iter().all(|output| output.unknown.is_empty());
        if own.verdict != Verdict::Clean || own.outputs.is_empty() || !is_known {
            return Err(format!("{}: {:?} {:?}", known.name()?, own.diagnostics, own.reasons));
        }
        let budget = 100_000 + 2 * (own.warp_instructions + 16 * own.operations);
        Ok(Self { known, source, own, budget, executed })
    }

    /// The places of a class that the launch executes, and how many others there are.
    fn places(&self, misreading: &Misreading, body: &Body<'_>) -> (Vec<Change>, usize) {
        let is_executed = |change: &Change| {
            let start = |(range, _): &Edit| range.start;
            let first = change.edits.iter().map(start).min().unwrap_or_default();
            let statement = body.statements.iter().find(|it| it.range.start <= first && first < it.range.end);
            statement.is_some_and(|it| self.executed.range(it.range.clone()).next().is_some())
        };
        let (executed, idle): (Vec<_>, Vec<_>) = misreading.places(body).into_iter().partition(is_executed);
        (executed, idle.len())
    }
}

impl Tally {
    /// How many places a class has in a kernel that its launch executes.
    pub fn count(misreading: &Misreading, kept: &Kept<'_>) -> usize {
        let unit = Unit::new(&kept.source);
        let body = kept.known.name().ok().and_then(|name| Body::new(&unit, name));
        body.map_or(0, |body| kept.places(misreading, &body).0.len())
    }

    /// Changes a kernel in at most so many places of a class, one at a time.
    ///
    /// # Errors
    /// If what was changed is no PTX any more.
    pub fn add(&mut self, misreading: &Misreading, kept: &Kept<'_>, places: usize) -> Result<(), String> {
        let (name, unit) = (kept.known.name()?, Unit::new(&kept.source));
        let body = Body::new(&unit, name).ok_or("no such kernel")?;
        let (executed, idle) = kept.places(misreading, &body);
        self.idle += idle;
        for change in spread(executed, places).into_iter().take(places) {
            let line = change.edits.iter().map(|(range, _)| range.start).min().unwrap_or_default();
            let line = kept.source.position(line as u32).line;
            let run = |edits: Vec<Edit>| {
                let text = changed(&kept.source, edits);
                let source = Source::new(kept.source.name(), text).map_err(|it| it.to_string())?;
                let report = kept.known.run(&source, kept.budget);
                report.map_err(|error| format!("{name}:{line}, {}: {error}", change.what))
            };
            let report = run(change.edits.clone())?;
            let is_found = !report.diagnostics.is_empty();
            let is_right = report.verdict != Verdict::Incomplete && is_same(&kept.own, &report);
            self.placed += 1;
            match (is_right, is_found) {
                (true, false) => {
                    let mut reason = None;
                    for why in &change.reasons {
                        let holds = why.probe.is_empty() || {
                            let probe = run(why.probe.clone())?;
                            probe.verdict == Verdict::Clean && is_same(&kept.own, &probe)
                        };
                        reason = reason.or(holds.then_some(why.text));
                    }
                    match reason {
                        Some(reason) => *self.right.entry(reason).or_default() += 1,
                        None => self.unexplained.push(format!("{name}:{line}: {}", change.what)),
                    }
                }
                (true, true) => self.found += 1,
                (false, true) => self.both += 1,
                (false, false) if report.verdict == Verdict::Incomplete => self.stopped += 1,
                (false, false) => self.wrong += 1,
            }
        }
        Ok(())
    }
}

impl Tallies {
    /// The counts, class by class.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "misread                                  placed  wrong  and found  found  stopped  right  why it is right\n",
        );
        let classes = MISREADINGS.iter().zip(&self.tallies).filter(|(_, tally)| tally.placed > 0);
        for (misreading, tally) in classes {
            let right = tally.right.values().sum::<usize>() + tally.unexplained.len();
            let mut why: Vec<String> =
                tally.right.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            if !tally.unexplained.is_empty() {
                why.push(format!("{} UNEXPLAINED", tally.unexplained.len()));
            }
            let row = format!(
                "{:<40} {:>6} {:>6} {:>10} {:>6} {:>8} {:>6}  {}",
                misreading.name,
                tally.placed,
                tally.wrong,
                tally.both,
                tally.found,
                tally.stopped,
                right,
                why.join("; ")
            );
            table.push_str(row.trim_end());
            table.push('\n');
        }
        table
    }
}

/// A module whose other kernels do nothing, which is read faster; the lines stay where they are.
fn alone(source: &Source, kernel: &str) -> Result<Source, String> {
    let unit = Unit::new(source);
    let (text, module) = (source.text(), &unit.module);
    let others = module.bodies().filter(|(_, it)| it.is_entry && unit.source.slice(it.name) != kernel);
    let emptied = others.filter_map(|(_, it)| {
        let first = module.statements[it.body.range()].first()?.span.range().start;
        let mut depth = 1;
        let end = text[first..].char_indices().find_map(|(at, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(first + at)
        })?;
        Some((first..end, format!("ret;{}", "\n".repeat(text[first..end].matches('\n').count()))))
    });
    Source::new(source.name(), changed(source, emptied.collect())).map_err(|error| error.to_string())
}

/// Whether all that a run leaves is known, and what another one leaves.
fn is_same(one: &KernelReport, other: &KernelReport) -> bool {
    one.outputs.len() == other.outputs.len()
        && one
            .outputs
            .iter()
            .zip(&other.outputs)
            .all(|(one, other)| other.unknown.is_empty() && one.bytes == other.bytes)
}
