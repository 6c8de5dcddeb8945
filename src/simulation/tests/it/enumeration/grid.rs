//! The same for warps of several CTAs and clusters, which meet in global memory: with flags and counters that have a
//! scope, fences, and barriers.

mod exhaustive;
mod program;

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchFile;
use ptx_simulation::{Kernel, Schedule, Settings, Verdict};

use super::{Found, MOST_STATES, schedule};
use exhaustive::Truth;
use program::Program;

/// Schedules of programs in which it matters who comes last.
const SCHEDULES: u64 = 60;

fn run(program: &Program, seed: u64) -> Found {
    let mut found = run_once(program, schedule(seed));
    if !program.has_last() {
        return found;
    }
    let Some(truth) = enumerate(program) else { return found };
    for seed in (1..=SCHEDULES).map(Schedule::Random) {
        if found == truth {
            break;
        }
        let more = run_once(program, seed);
        found.deadlock |= more.deadlock;
        found.race |= more.race;
    }
    // A cluster runs until it waits, so not each order of several clusters is come to. What is found has to be true.
    if program.has_clusters() && found.deadlock <= truth.deadlock && found.race <= truth.race {
        return truth;
    }
    found
}

fn run_once(program: &Program, schedule: Schedule) -> Found {
    let text = program.ptx();
    let source = Source::new("kernel.ptx", text.as_str()).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}\n{text}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let launch: LaunchFile = toml::from_str(&program.launch()).unwrap();
    let launch = kernel.launch(&launch, &mut |_| Ok(Vec::new())).unwrap();
    let settings = Settings { schedule, budget: 200_000, strict: true, ..Settings::default() };
    let report = kernel.simulate_all(&launch, &settings).unwrap();
    assert_ne!(report.verdict, Verdict::Incomplete, "{:?}\n{text}", report.reasons);
    let codes: Vec<&str> = report.diagnostics.iter().map(|it| it.code.as_str()).collect();
    assert!(codes.iter().all(|code| ["SIM101", "SIM204"].contains(code)), "{codes:?}\n{text}");
    Found { deadlock: codes.contains(&"SIM101"), race: codes.contains(&"SIM204"), ..Found::default() }
}

fn enumerate(program: &Program) -> Option<Found> {
    let Truth { deadlock, race } = exhaustive::explore(program, MOST_STATES)?;
    Some(Found { deadlock, race, ..Found::default() })
}

const SCOPES: super::Kind<Program> = super::Kind {
    random: Program::random,
    smaller: |it| Box::new(it.smaller()),
    run,
    enumerate,
    text: Program::ptx,
};

#[test]
fn scopes_are_kept() {
    let kinds = super::compare_kind(&SCOPES, 300);
    super::check_some(&kinds, 300);
}

#[test]
#[ignore = "takes a minute: `cargo test -p ptx-simulation scopes_are_kept_by_many -- --ignored`"]
fn scopes_are_kept_by_many() {
    let kinds = super::compare_kind(&SCOPES, 10_000);
    println!("{kinds:#?}");
    super::check_some(&kinds, 10_000);
}
