//! The same for single lanes of warps: what an arrival or a flag of one lane releases, and what synchronises lanes.

mod exhaustive;
mod program;

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchFile;
use ptx_simulation::{Kernel, Settings, Verdict};

use super::{Found, MOST_STATES, schedule};
use exhaustive::Truth;
use program::Program;

fn run(program: &Program, seed: u64) -> Found {
    let text = program.ptx();
    let source = Source::new("kernel.ptx", text.as_str()).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}\n{text}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let launch: LaunchFile = toml::from_str(program::LAUNCH).unwrap();
    let launch = kernel.launch(&launch, &mut |_| Ok(Vec::new())).unwrap();
    let settings =
        Settings { schedule: schedule(seed), budget: 200_000, strict: true, ..Settings::default() };
    let report = kernel.simulate_all(&launch, &settings).unwrap();
    assert_ne!(report.verdict, Verdict::Incomplete, "{:?}\n{text}", report.reasons);
    let has = |codes: &[&str]| report.diagnostics.iter().any(|it| codes.contains(&it.code.as_str()));
    Found {
        phase: has(&["SIM403", "SIM404", "SIM405", "SIM406"]),
        deadlock: has(&["SIM101"]),
        race: has(&["SIM201", "SIM204"]),
        proxy: false,
    }
    .normal()
}

fn enumerate(program: &Program) -> Option<Found> {
    let Truth { phase, deadlock, race } = exhaustive::explore(program, MOST_STATES)?;
    Some(Found { phase, deadlock, race, proxy: false }.normal())
}

const LANES: super::Kind<Program> = super::Kind {
    random: Program::random,
    smaller: |it| Box::new(it.smaller()),
    run,
    enumerate,
    text: Program::ptx,
};

#[test]
fn lanes_are_told_apart() {
    let kinds = super::compare_kind(&LANES, 300);
    super::check_some(&kinds, 300);
}

#[test]
#[ignore = "takes a minute: `cargo test -p ptx-simulation lanes_are_told_apart_by_many -- --ignored`"]
fn lanes_are_told_apart_by_many() {
    let kinds = super::compare_kind(&LANES, 10_000);
    println!("{kinds:#?}");
    super::check_some(&kinds, 10_000);
}
