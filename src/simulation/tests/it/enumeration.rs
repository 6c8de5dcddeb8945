//! The verdict of one run against all interleavings: random small programs of warps, barriers, flags
//! and asynchronous operations, and a small machine that goes through every state that they can come
//! to. What any interleaving does wrong one run finds, and it finds nothing that none does.
//!
//! The small machine shares nothing with the simulator: it keeps sets of events instead of clocks.

mod exhaustive;
mod grid;
mod lanes;
mod program;

use std::collections::BTreeMap;

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchShape;
use ptx_simulation::{Kernel, Schedule, Settings, Verdict};

use exhaustive::Truth;
use program::{Program, Random};

/// States after which a program is too large.
const MOST_STATES: usize = 100_000;

/// What is wrong, as far as both machines speak of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[allow(clippy::struct_excessive_bools, reason = "each is something of its own")]
struct Found {
    /// It depends on the interleaving which phase of a barrier something belongs to.
    phase: bool,
    deadlock: bool,
    race: bool,
    proxy: bool,
}

impl Found {
    /// What can be compared: where phases are not certain, nothing else is; and of accesses that
    /// nothing orders none is the last.
    fn normal(self) -> Self {
        if self.phase {
            return Self { phase: true, ..Self::default() };
        }
        Self { proxy: self.proxy && !self.race, ..self }
    }
}

fn run(text: &str, schedule: Schedule) -> Found {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}\n{text}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let settings = Settings { schedule, budget: 200_000, strict: true, ..Settings::default() };
    let report = kernel.simulate_assumed(&LaunchShape::default(), &settings).unwrap();
    assert_ne!(report.verdict, Verdict::Incomplete, "{:?}\n{text}", report.reasons);
    let has =
        |codes: &[&str]| report.diagnostics.iter().any(|finding| codes.contains(&finding.code.as_str()));
    Found {
        phase: has(&["SIM403", "SIM404", "SIM405", "SIM406"]),
        deadlock: has(&["SIM101"]),
        race: has(&["SIM201"]),
        proxy: has(&["SIM203"]),
    }
    .normal()
}

fn enumerate(program: &Program) -> Option<Found> {
    let Truth { phase, deadlock, race, proxy } = exhaustive::explore(program, MOST_STATES)?;
    Some(Found { phase, deadlock, race, proxy }.normal())
}

fn schedule(seed: u64) -> Schedule {
    match seed % 4 {
        0 => Schedule::Early,
        1 => Schedule::Late,
        _ => Schedule::Random(seed),
    }
}

/// Whether both machines agree on a program; nothing if it is too large.
fn disagree(program: &Program, seed: u64) -> Option<(Found, Found)> {
    differs(program, seed, enumerate(program)?)
}

/// Whether the run finds something else than what all interleavings do.
fn differs(program: &Program, seed: u64, truth: Found) -> Option<(Found, Found)> {
    let found = run(&program.ptx(), schedule(seed));
    (truth != found).then_some((truth, found))
}

/// Runs that many programs; how many of each kind there were.
fn compare(programs: u64) -> BTreeMap<Found, u64> {
    let mut kinds = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in 1..=programs {
        let program = Program::random(&mut Random::new(seed));
        let Some(truth) = enumerate(&program) else { continue };
        *kinds.entry(truth).or_insert(0) += 1;
        if differs(&program, seed, truth).is_some() {
            wrong.push((seed, program));
        }
    }
    if let Some((seed, program)) = wrong.first() {
        // The smallest part of it that shows the same.
        let mut small = program.clone();
        while let Some(smaller) = small.smaller().find(|it| disagree(it, *seed).is_some()) {
            small = smaller;
        }
        let (truth, found) = disagree(&small, *seed).unwrap();
        panic!(
            "{} of {programs} programs, the first with the seed {seed}: {:?}\nall interleavings: {truth:?}\n\
             the run ({:?}): {found:?}\n{small:#?}\n{}",
            wrong.len(),
            wrong.iter().map(|(seed, _)| seed).take(20).collect::<Vec<_>>(),
            schedule(*seed),
            small.ptx()
        );
    }
    kinds
}

/// Programs of another kind.
struct Kind<P> {
    random: fn(&mut Random) -> P,
    /// The same with something less.
    smaller: fn(&P) -> Box<dyn Iterator<Item = P>>,
    run: fn(&P, u64) -> Found,
    enumerate: fn(&P) -> Option<Found>,
    text: fn(&P) -> String,
}

/// Runs that many programs of a kind; how many of each verdict there were.
fn compare_kind<P: std::fmt::Debug>(kind: &Kind<P>, programs: u64) -> BTreeMap<Found, u64> {
    let mut kinds = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in 1..=programs {
        let program = (kind.random)(&mut Random::new(seed));
        let Some(truth) = (kind.enumerate)(&program) else { continue };
        *kinds.entry(truth).or_insert(0) += 1;
        if (kind.run)(&program, seed) != truth {
            wrong.push((seed, program));
        }
    }
    let seeds: Vec<u64> = wrong.iter().map(|(seed, _)| *seed).collect();
    let Some((seed, mut small)) = wrong.into_iter().next() else { return kinds };
    let differs = |it: &P| (kind.enumerate)(it).filter(|truth| *truth != (kind.run)(it, seed));
    while let Some(smaller) = (kind.smaller)(&small).find(|it| differs(it).is_some()) {
        small = smaller;
    }
    panic!(
        "{} of {programs} programs: {:?}\nall interleavings: {:?}\nthe run ({:?}): {:?}\n{small:#?}\n{}",
        seeds.len(),
        &seeds[..seeds.len().min(20)],
        (kind.enumerate)(&small),
        schedule(seed),
        (kind.run)(&small, seed),
        (kind.text)(&small)
    );
}

/// Clean programs, deadlocks and races have to be among them.
fn check_some(kinds: &BTreeMap<Found, u64>, programs: u64) {
    let count = |is: fn(&Found) -> bool| -> u64 {
        kinds.iter().filter(|(found, _)| is(found)).map(|(_, count)| count).sum()
    };
    assert!(count(|_| true) * 10 > programs * 9, "{kinds:?}");
    for is in [|it: &Found| *it == Found::default(), |it: &Found| it.deadlock, |it: &Found| it.race] {
        assert!(count(is) * 50 > programs, "{kinds:?}");
    }
}

/// Each kind of verdict has to have its programs, or nothing is shown.
fn check_kinds(kinds: &BTreeMap<Found, u64>, programs: u64) {
    let count = |is: fn(&Found) -> bool| -> u64 {
        kinds.iter().filter(|(found, _)| is(found)).map(|(_, count)| count).sum()
    };
    let compared = count(|_| true);
    assert!(compared * 10 > programs * 9, "{compared} of {programs} programs were small enough");
    let clean = count(|found| *found == Found::default());
    for (name, count) in [
        ("clean", clean),
        ("a deadlock", count(|found| found.deadlock)),
        ("a race", count(|found| found.race)),
        ("a fence missing", count(|found| found.proxy)),
        ("uncertain phases", count(|found| found.phase)),
    ] {
        assert!(count * 100 > programs, "{count} of {programs} programs are {name}: {kinds:?}");
    }
}

#[test]
fn one_run_decides() {
    check_kinds(&compare(1_000), 1_000);
}

#[test]
#[ignore = "takes a minute: `cargo test -p ptx-simulation one_run_decides_of_many -- --ignored`"]
fn one_run_decides_of_many() {
    let kinds = compare(10_000);
    println!("{kinds:#?}");
    check_kinds(&kinds, 10_000);
}
