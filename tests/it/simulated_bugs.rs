//! Bugs put into kernels that run clean: what running them finds, and what it says first.
//!
//! Here each class has one place in each of a few kernels. `cargo xtask bugs --simulate` puts them into all
//! kernels that have a launch, in more places, and lists those where nothing is found. Bugs of order between CTAs,
//! clusters and lanes are put into the kernels of `fixtures/simulation/grids` everywhere.

use std::fs;

use ptx_tc::simulation::launch::LaunchFile;
use ptx_tc::simulation::{Kernel, Schedule, Settings, Verdict};
use ptx_tc::{Source, Unit};
use ptx_tc_fuzz::simulated::{self, Alone, Choice, Tallies, Tally};

use crate::common::root;

const KERNELS: &[&str] = &[
    "gluon_matmul_pair_sm100a.matmul_pair",
    "gluon_matmul_pipelined_sm100a.matmul_pipelined",
    "gluon_matmul_roles_sm103a.matmul_roles",
    "gemm_mxfp8_sm100f.gemm_mxf8_e4m3_128x128",
];

#[test]
fn bugs_in_kernels_that_run() {
    let mut tallies = Tallies::default();
    for name in KERNELS {
        let (module, _) = name.split_once('.').unwrap();
        let launch = root().join(format!("fixtures/simulation/launches/{name}.toml"));
        let launch: LaunchFile = toml::from_str(&fs::read_to_string(launch).unwrap()).unwrap();
        let text = fs::read(root().join(format!("fixtures/kernels/{module}.ptx"))).unwrap();
        let source = Source::from_bytes(module, text).unwrap();
        tallies
            .add(
                &source,
                &launch,
                &Choice { class: "", places: 1, keeps: false, alone: false, budget: 200_000 },
            )
            .unwrap();
    }
    let table = tallies.table();
    println!("{table}");
    insta::assert_snapshot!("simulated_bugs", table);
}

/// The kernels whose CTAs work together, and their launches.
fn grids() -> Vec<(Source, LaunchFile)> {
    let directory = root().join("fixtures/simulation/grids");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    paths.sort();
    let of = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = Source::from_bytes(name, fs::read(path.with_extension("ptx")).unwrap()).unwrap();
        (source, toml::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    paths.iter().map(of).collect()
}

#[test]
fn grids_are_clean() {
    for (source, launch) in grids() {
        let unit = Unit::new(&source);
        let kernel = Kernel::new(&unit, launch.kernel.as_deref().unwrap()).unwrap();
        let launch = kernel.launch(&launch, &mut |_| Ok(Vec::new())).unwrap();
        for schedule in [Schedule::Early, Schedule::Late].into_iter().chain((1..=20).map(Schedule::Random)) {
            let settings = Settings { schedule, ..Settings::default() };
            let report = kernel.simulate_all(&launch, &settings).unwrap();
            let (found, reasons) = (report.diagnostics, report.reasons);
            assert_eq!(
                report.verdict,
                Verdict::Clean,
                "{} {schedule:?}: {found:?} {reasons:?}",
                source.name()
            );
        }
    }
}

#[test]
fn bugs_of_order() {
    let mut tallies = Tallies::orders();
    for (source, launch) in grids() {
        let choice = Choice { class: "", places: usize::MAX, keeps: false, alone: false, budget: 20_000 };
        tallies.add(&source, &launch, &choice).unwrap();
    }
    let table = tallies.table();
    println!("{table}");
    for (bug, tally) in tallies.bugs.iter().zip(&tallies.tallies) {
        tally.missed.iter().for_each(|missed| println!("{}: {missed}", bug.name));
    }
    insta::assert_snapshot!("bugs_of_order", table);
}

/// The kernels that have a launch, each with the bugs that are chosen.
fn everywhere(empty: fn() -> Tallies, choice: &Choice<'_>) -> Tallies {
    let directory = root().join("fixtures/simulation/launches");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = empty();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let module = root().join("fixtures/kernels").join(format!("{}.ptx", name.split('.').next().unwrap()));
        let launch: LaunchFile = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let source = Source::from_bytes(name.clone(), fs::read(module).unwrap()).unwrap();
        let kernel = launch.kernel.clone().unwrap();
        let instructions = simulated::instructions(&Unit::new(&source), &kernel, &launch).unwrap();
        // The others take minutes, and two are wrong by themselves.
        if instructions > 20_000 || name.contains("groups") || name.contains("_Z8clustersPf") {
            continue;
        }
        let mut tallies = empty();
        tallies.add(&source, &launch, choice).unwrap();
        all = all.and(tallies);
    }
    println!("{}", all.table());
    for (bug, tally) in all.bugs.iter().zip(&all.tallies) {
        tally.missed.iter().for_each(|missed| println!("{}: {missed}", bug.name));
    }
    all
}

#[test]
#[ignore = "takes minutes: `cargo test --test it bugs_of_order_everywhere -- --ignored --nocapture`"]
fn bugs_of_order_everywhere() {
    let choice = Choice { class: "", places: 1, keeps: false, alone: false, budget: 100_000 };
    let all = everywhere(Tallies::orders, &choice);
    let sum = |of: fn(&Tally) -> usize| all.tallies.iter().map(of).sum::<usize>();
    assert!(sum(|it| it.found) * 10 >= sum(|it| it.placed) * 8);
}

/// What becomes of the same kernels without their launch: docs/injected-bugs.md has the shares.
#[test]
#[ignore = "takes minutes: `PTX_TC_BUGS=missing cargo test --test it with_and_without_a_launch -- --ignored --nocapture`"]
fn with_and_without_a_launch() {
    let class = std::env::var("PTX_TC_BUGS").unwrap_or_default();
    // Where the modules of wrong kernels go that are called clean.
    let directory = std::env::var_os("PTX_TC_BUGS_WRITE").map(std::path::PathBuf::from);
    let choice =
        Choice { class: &class, places: 1, keeps: directory.is_some(), alone: true, budget: 100_000 };
    let Alone { correct, wrong, differing, texts } = everywhere(Tallies::default, &choice).alone;
    println!("correct: {correct:?}, wrong: {wrong:?}");
    for it in differing {
        println!("{it}");
    }
    for (name, text) in texts {
        fs::write(directory.as_ref().unwrap().join(format!("{name}.ptx")), text).unwrap();
    }
    assert_eq!(correct.get("Findings"), None);
    let all: usize = wrong.values().sum();
    assert!(wrong.get("Clean").is_none_or(|count| count * 20 <= all));
}
