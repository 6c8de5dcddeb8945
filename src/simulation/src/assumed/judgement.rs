//! What the runs under several assumed launches show together.
//!
//! A run speaks about a finding of another run if it reaches the same instructions as often. A finding counts if no run
//! contradicts it. A launch does not count if the kernel traps under it, or if a finding under it may come from assumed
//! values; it counts if there is no better one. A race between warps whose paths depend on different assumed values counts
//! if most launches show it, and all that reach it.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::hypothesis::MOST_SETS;
use crate::diagnostic::{Code, Diagnostic};
use crate::findings::{Awaited, Doubt, Finding};
use crate::program::NOWHERE;
use crate::report::{TriedLaunch, add_note, verdict};
use crate::run::Run;
use crate::source::Span;
use crate::{KernelReport, Reason};

/// Where and when a finding showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Its place, and that of its first label.
    steps: [u32; 2],
    /// How often they had been executed.
    visits: [u32; 2],
    /// Of several things that may be wrong in one place: which.
    which: u32,
    /// The bytes that it is about.
    bytes: Option<(u32, u32)>,
    /// Why it may be due to what is assumed.
    doubt: Option<Doubt>,
    /// Of a hang: the phase that is waited for.
    awaited: Option<Awaited>,
}

impl Shown {
    pub(crate) fn new(finding: &Finding, visits: [u32; 2]) -> Self {
        let other = finding.labels.first().map_or(NOWHERE, |(step, _)| *step);
        Self {
            steps: [finding.step, other],
            visits,
            which: finding.which,
            bytes: finding.bytes,
            doubt: finding.doubt,
            awaited: finding.awaited,
        }
    }
}

impl Run {
    /// Whether a program may launch the kernel like that.
    pub(super) fn is_a_launch(&self) -> bool {
        !self.traps && self.shown.iter().all(|shown| shown.doubt.is_none())
    }

    /// What it shows.
    fn found(&self) -> impl Iterator<Item = (Key, &Diagnostic, &Shown)> {
        let found = self.report.diagnostics.iter().zip(&self.shown);
        found.map(|(finding, shown)| ((finding.code, finding.primary.span, shown.which), finding, shown))
    }

    fn has(&self, key: Key) -> bool {
        self.found().any(|(it, ..)| it == key)
    }

    /// Whether the second access of a race races with another one. Of what comes behind that one nothing is
    /// known: it stands for what was there before.
    fn has_other(&self, code: Code, shown: &Shown) -> bool {
        let [_, other] = shown.steps;
        is_race(code)
            && other != NOWHERE
            && self.found().any(|((known, ..), _, it)| known == code && it.steps[1] == other)
    }

    /// Whether it speaks against a finding of another run.
    fn denies(&self, key: Key, shown: &Shown) -> bool {
        !self.has(key) && self.reaches(shown) && !self.has_other(key.0, shown)
    }

    /// Threads of a CTA, if that is assumed.
    fn threads(&self) -> Option<u32> {
        self.hypothesis.as_ref().map(|it| it.launch.block.iter().product())
    }

    /// Whether it shows that the kernel is correct with fewer threads than another run has: it comes wherever that one
    /// comes, and finds nothing.
    fn is_clean_with_fewer_threads(&self, other: &Self) -> bool {
        let visited = |run: &Self, step: usize| run.visits.get(step).is_some_and(|visits| *visits > 0);
        self.threads() < other.threads()
            && self.report.diagnostics.is_empty()
            && self.report.reasons.is_empty()
            && (0..other.visits.len()).all(|step| !visited(other, step) || visited(self, step))
    }

    /// Whether it came to where something showed in another run, as often. What is in doubt need not show
    /// as late as there: rings of buffers have few stages.
    fn reaches(&self, shown: &Shown) -> bool {
        /// Rings have eight stages at most, as far as shipped kernels go: after 16 visits each was used twice.
        const OFTEN: u32 = 16;
        let visited = |step: u32| self.visits.get(step as usize).copied().unwrap_or(0);
        let [step, other] = shown.steps;
        let most = if shown.doubt.is_some() { OFTEN } else { u32::MAX };
        visited(step) >= shown.visits[0].clamp(1, most)
            && (other == NOWHERE || visited(other) >= shown.visits[1].min(1))
    }
}

/// A load of Tensor Memory into which nothing is written under any launch that comes to it.
pub(super) fn load_of_nothing(runs: &[Run]) -> Option<u32> {
    let loads = |run: &Run, step: u32| run.results.loads_of_nothing().any(|load| load == step);
    let comes_to = |run: &Run, step: u32| run.visits.get(step as usize).is_some_and(|visits| *visits > 0);
    let mut steps = runs.iter().flat_map(|run| run.results.loads_of_nothing());
    steps.find(|step| runs.iter().all(|run| loads(run, *step) || !comes_to(run, *step)))
}

/// Whether two accesses are not ordered.
const fn is_race(code: Code) -> bool {
    matches!(code, Code::SharedMemoryRace | Code::TensorMemoryRace | Code::GlobalMemoryRace)
}

/// Whether a race shows whatever the values are. Under values of zero there may be nothing to do, so two thirds of the
/// launches are enough: of six, the two with zeros and with flags of zero may not reach it. An address that is computed from
/// assumed values has to be wrong under all of them.
fn always_meet(runs: &[Run], key: Key, shown: &Shown) -> bool {
    let times = runs.iter().filter(|run| run.has(key)).count();
    let most = match shown.doubt {
        None | Some(Doubt::Paths) => MOST_SETS.div_ceil(3) * 2,
        Some(Doubt::Address) => MOST_SETS,
        Some(Doubt::Count | Doubt::Addition | Doubt::Cluster | Doubt::Extent) => return false,
    };
    is_race(key.0)
        && runs.len() == MOST_SETS
        && times >= most
        && runs.iter().all(|run| run.has(key) || !run.reaches(shown))
}

/// Whether all wait for the same phase of the same mbarrier, however many iterations the values give: then these are not
/// the cause. As many launches as for a race.
fn always_hang(runs: &[Run], key: Key, shown: &Shown) -> bool {
    let Some(awaited) = shown.awaited else { return false };
    let is_same = |run: &Run| run.found().any(|(it, _, other)| it == key && other.awaited == Some(awaited));
    key.0 == Code::Deadlock
        && shown.doubt == Some(Doubt::Paths)
        && runs.len() == MOST_SETS
        && runs.iter().filter(|run| is_same(run)).count() >= MOST_SETS.div_ceil(3) * 2
        && runs.iter().all(|run| is_same(run) || !run.reaches(shown) && !run.has(key))
}

/// Of what is due to the same bytes, the first.
pub(crate) fn once_for_each_cause(found: Vec<(Diagnostic, Shown)>) -> Vec<(Diagnostic, Shown)> {
    let mut kept: Vec<(Diagnostic, Shown, u32)> = Vec::new();
    for (finding, shown) in found {
        let is_due = |(first, known, _): &&mut (Diagnostic, Shown, u32)| {
            first.code == finding.code
                && known.bytes.zip(shown.bytes).is_some_and(|(one, other)| one.0 < other.1 && other.0 < one.1)
        };
        match kept.iter_mut().find(is_due) {
            Some((.., more)) => *more += 1,
            None => kept.push((finding, shown, 0)),
        }
    }
    let noted = kept.into_iter().map(|(mut finding, shown, more)| {
        match more {
            0 => {}
            1 => add_note(&mut finding, "one more instruction reads there"),
            more => add_note(&mut finding, &format!("{more} more instructions read there")),
        }
        (finding, shown)
    });
    noted.collect()
}

/// What is found, and where.
pub(super) type Key = (Code, Span, u32);

/// What is found is no reason any more.
fn is_found(found: &[Diagnostic], reason: &Reason) -> bool {
    found.iter().any(|finding| {
        reason.span == Some(finding.primary.span) && reason.text.starts_with(&finding.code.to_string())
    })
}

/// Whether nothing shows under one launch only, which another one might settle.
pub(super) fn is_settled(runs: &[Run]) -> bool {
    let launches: Vec<&Run> = runs.iter().filter(|run| run.is_a_launch()).collect();
    launches
        .iter()
        .all(|run| run.found().all(|(key, ..)| launches.iter().filter(|other| other.has(key)).count() > 1))
}

/// Races that show where all values are the same number, and may be due to that.
pub(super) fn doubted_races(runs: &[Run]) -> Vec<Key> {
    let found = runs.iter().flat_map(Run::found);
    found
        .filter(|(key, _, shown)| is_race(key.0) && shown.doubt == Some(Doubt::Paths))
        .map(|(key, ..)| key)
        .collect()
}

/// Adds the races that show under several launches in each of which one value differs. A race in doubt has to show
/// whichever value that is, in all runs that reach it: then values that disagree are not the cause.
pub(super) fn add_races(
    report: &mut KernelReport,
    runs: &[(u64, Run)],
    doubted: &[Key],
    tried: &[TriedLaunch],
    before: usize,
) {
    let mut found: Vec<(Key, Diagnostic, Shown)> = Vec::new();
    let words: BTreeSet<u64> = runs.iter().map(|(word, _)| *word).collect();
    let counts = |run: &Run| run.is_a_launch() && !run.is_exhausted;
    let showing =
        runs.iter().enumerate().flat_map(|(index, (_, run))| run.found().map(move |it| (index, it)));
    for (index, (key, finding, shown)) in showing {
        if found.iter().any(|(known, ..)| *known == key) {
            continue;
        }
        let times = runs.iter().filter(|(_, run)| counts(run) && run.has(key)).count();
        let is_race_or_fence = is_race(key.0) || key.0 == Code::ProxyFenceMissing;
        let shows_with = |word: &u64| runs.iter().any(|(of, run)| of == word && run.has(key));
        let always_shows = doubted.contains(&key)
            && words.iter().all(shows_with)
            && runs.iter().all(|(_, run)| run.has(key) || !run.reaches(shown));
        if times > 1 && is_race_or_fence && shown.doubt.is_none() || always_shows {
            let mut finding = finding.clone();
            let number = before + index + 1;
            add_note(
                &mut finding,
                &format!("in some assumed launches, first with {}", named(number, &tried[index])),
            );
            report.shown_by.get_or_insert(number);
            found.push((key, finding, *shown));
        }
    }
    let found = once_for_each_cause(found.into_iter().map(|(_, finding, shown)| (finding, shown)).collect());
    report.diagnostics.extend(found.into_iter().map(|(finding, _)| finding));
    let KernelReport { diagnostics, reasons, .. } = report;
    reasons.retain(|reason| !is_found(diagnostics, reason));
    report.verdict = verdict(&report.diagnostics, &report.reasons);
}

/// A launch that was tried, for a note.
fn named(number: usize, tried: &TriedLaunch) -> String {
    format!("`--launch-number {number}`: {}", tried.summary)
}

/// What a launch shows that was asked for: every finding counts.
pub(super) fn alone(run: Run) -> KernelReport {
    let Run { mut report, shown, .. } = run;
    let found = once_for_each_cause(std::mem::take(&mut report.diagnostics).into_iter().zip(shown).collect());
    report.diagnostics = found.into_iter().map(|(finding, _)| finding).collect();
    report
}

/// What is known of the kernel; nothing if there were no runs.
pub(super) fn together(
    runs: Vec<Run>,
    tried: &[TriedLaunch],
    help: &dyn Fn(usize) -> String,
) -> Option<KernelReport> {
    // What the kernel itself refuses is no launch of it.
    let all_trap = runs.iter().all(|run| run.traps);
    let kept = runs.into_iter().enumerate().filter(|(_, run)| all_trap || !run.traps);
    let (numbers, mut runs): (Vec<usize>, Vec<Run>) = kept.map(|(index, run)| (index + 1, run)).unzip();
    let mut shown_by = None;
    let mut doubted_by = None;
    // By code: the first launch that shows it.
    let mut helps: FxHashMap<Code, usize> = FxHashMap::default();
    let is_sure = runs.iter().any(Run::is_a_launch);
    let counts = |run: &Run| !is_sure || run.is_a_launch();
    let mut found: Vec<(Key, Diagnostic, Shown)> = Vec::new();
    let mut reasons: Vec<Reason> = Vec::new();
    let mut left_out = 0;
    for (number, run) in numbers.iter().zip(&runs) {
        left_out += usize::from(!counts(run));
        let before = found.len();
        for (key, finding, shown) in run.found() {
            let is_denied = runs.iter().any(|other| counts(other) && other.denies(key, shown));
            let always_meet = always_meet(&runs, key, shown) || always_hang(&runs, key, shown);
            let is_doubtful = shown.doubt.is_some() && !always_meet;
            if is_denied && !counts(run) || found[..before].iter().any(|(known, ..)| *known == key) {
                continue;
            }
            let times = runs.iter().filter(|run| counts(run) && run.has(key)).count();
            // What shows once may be due to the numbers, and so may a hang be that shows twice: counts that no
            // launch has let roles wait for each other. But a fence is missing, and columns are not allocated,
            // wherever that shows.
            let is_enough = runs.iter().filter(|run| counts(run)).all(|run| run.has(key))
                || times > 1 && !matches!(key.0, Code::Deadlock | Code::TransactionMismatch)
                || matches!(key.0, Code::ProxyFenceMissing | Code::TensorMemoryUnallocated);
            // A number of one is what is left where larger ones make too much work, not what a program passes.
            let is_passed = |run: &Run| run.hypothesis.as_ref().is_none_or(|it| it.assumption.number > 1);
            let is_enough = is_enough && runs.iter().any(|run| run.has(key) && is_passed(run));
            let is_sound = is_sure == run.is_a_launch() && is_enough;
            // How many threads a CTA has is not known where launches differ in it.
            let enough_threads = runs
                .iter()
                .filter(|other| counts(other) && other.is_clean_with_fewer_threads(run))
                .find_map(Run::threads);
            if !is_denied && !is_doubtful && enough_threads.is_none() && (is_sound || always_meet) {
                let mut finding = finding.clone();
                // The one that is printed anyway needs no number.
                if !run.leading.is_empty() || shown_by.is_some_and(|first| first != *number) {
                    let all = runs.iter().filter(|run| counts(run) || run.has(key)).count();
                    let showing = runs.iter().filter(|run| run.has(key)).count();
                    let times = if showing == all { "all".to_owned() } else { format!("{showing} of {all}") };
                    let launch =
                        tried.get(number - 1).map_or_else(String::new, |tried| named(*number, tried));
                    add_note(&mut finding, &format!("in {times} assumed launches, first with {launch}"));
                }
                shown_by.get_or_insert(*number);
                found.push((key, finding, *shown));
                continue;
            }
            doubted_by.get_or_insert(*number);
            let code = finding.code;
            let what = &finding.primary.message;
            let why = match (enough_threads, shown.doubt) {
                (Some(threads), _) => format!("with {threads} threads in a CTA nothing is wrong"),
                (None, Some(why)) => why.to_string(),
                (None, None) => "the others reach this and do not show it".to_owned(),
            };
            let (showing, all) = (runs.iter().filter(|run| run.has(key)).count(), runs.len());
            let text = format!(
                "{code} in {showing} of {all} assumed launches may come from the assumptions ({why}): {what}"
            );
            // Several bytes at one instruction are one reason.
            let is_known = |known: &&Reason| {
                known.span == Some(finding.primary.span) && known.text.starts_with(&code.to_string())
            };
            if reasons.iter().any(|known| is_known(&known)) {
                continue;
            }
            let first = *helps.entry(code).or_insert(*number);
            let help = Some(match (enough_threads, run.threads()) {
                (Some(_), Some(threads)) => {
                    format!(
                        "give the number of threads, such as `--block {threads}`, or write `.reqntid` in the kernel"
                    )
                }
                _ => help(first),
            });
            reasons.push(Reason { span: Some(finding.primary.span), text, help });
        }
        if counts(run) {
            reasons.extend(run.report.reasons.iter().cloned());
        }
    }
    let found = once_for_each_cause(found.into_iter().map(|(_, finding, shown)| (finding, shown)).collect());
    let found: Vec<Diagnostic> = found.into_iter().map(|(finding, _)| finding).collect();
    let mut unique: Vec<Reason> = Vec::new();
    for reason in reasons {
        if !is_found(&found, &reason) && !unique.contains(&reason) {
            unique.push(reason);
        }
    }
    let (warp_instructions, operations) = runs.iter().fold((0, 0), |(instructions, operations), run| {
        (instructions + run.report.warp_instructions, operations + run.report.operations)
    });
    let first = runs.iter().position(counts).unwrap_or(0);
    if first >= runs.len() {
        return None;
    }
    let mut report = runs.swap_remove(first).report;
    if left_out > 0 {
        let launches =
            if left_out == 1 { "one launch does".to_owned() } else { format!("{left_out} launches do") };
        report.assumed.push(format!("{launches} not count, as the assumed values disagree"));
    }
    let verdict = verdict(&found, &unique);
    Some(KernelReport {
        verdict,
        diagnostics: found,
        reasons: unique,
        shown_by: shown_by.or(doubted_by),
        warp_instructions,
        operations,
        ..report
    })
}
