//! One verdict under many schedules.

use std::fs;
use std::path::PathBuf;

use ptx_tc::diagnostic::Code;
use ptx_tc::simulation::launch::{LaunchFile, LaunchShape};
use ptx_tc::simulation::schedules::under_seeds;
use ptx_tc::simulation::{Kernel, Schedule, Settings, Verdict};
use ptx_tc::{Source, Unit};

use crate::common::{RACING, root, simulate_command};

fn files(directory: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn document(arguments: &[&str]) -> serde_json::Value {
    let output = simulate_command(&[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn runs_are_added() {
    let path = "fixtures/simulation/clean/SIM201_shared_memory_race.ptx";
    let instructions = |arguments: &[&str]| {
        document(arguments)["kernels"][0]["statistics"]["warp_instructions"].as_u64().unwrap()
    };
    // Nobody waits in it.
    assert_eq!(instructions(&[path, "--runs", "3"]), 3 * instructions(&[path]));

    let path = "fixtures/simulation/findings/SIM201_shared_memory_race.ptx";
    let output = simulate_command(&[path, "--runs", "5", "--seed", "7"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("error[SIM201]"), "{text}");

    let output = simulate_command(&[path, "--runs", "0"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Small kernels under a hundred schedules: in all of them the same rule finds something, or none does.
#[test]
fn a_hundred_schedules_have_one_verdict() {
    let run = |path: &PathBuf, schedule: Schedule| {
        let source = Source::from_bytes("kernel.ptx", fs::read(path).unwrap()).unwrap();
        let unit = Unit::new(&source);
        let kernel = Kernel::new(&unit, "k").unwrap();
        let settings = Settings { schedule, budget: 100_000, specials: true, ..Settings::default() };
        kernel.simulate_assumed(&LaunchShape::default(), &settings).unwrap()
    };
    for path in files("fixtures/simulation/findings") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let code = name.split('_').next().unwrap();
        for seed in 1..=100 {
            let report = run(&path, Schedule::Random(seed));
            let codes: Vec<&str> = report.diagnostics.iter().map(|finding| finding.code.as_str()).collect();
            // Some finding shows under all of them, whatever side of a race comes first.
            assert!(
                !codes.is_empty() && codes.iter().all(|it| *it == code),
                "{name}, seed {seed}: {codes:?}"
            );
        }
    }
    for path in files("fixtures/simulation/clean") {
        for seed in 1..=100 {
            let report = run(&path, Schedule::Random(seed));
            assert_eq!(report.verdict, Verdict::Clean, "{path:?}, seed {seed}: {:?}", report.diagnostics);
        }
    }
}

/// Real kernels: the larger one is, the fewer schedules.
#[test]
fn real_kernels_have_one_verdict() {
    real_kernels(|instructions| (200_000 / instructions.max(1)).clamp(1, 100));
}

/// The same for a hundred schedules of each.
#[test]
#[ignore = "five minutes: `cargo test --test it real_kernels_have_one_verdict_under_a_hundred -- --ignored`"]
fn real_kernels_have_one_verdict_under_a_hundred_schedules() {
    real_kernels(|_| 100);
}

/// Runs each kernel that has a launch under as many random schedules as its size allows.
fn real_kernels(seeds: impl Fn(u64) -> u64) {
    let launches = files("fixtures/simulation/launches");
    assert!(!launches.is_empty());
    let (mut runs, mut instructions) = (0, 0);
    for path in launches {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let module = format!("fixtures/kernels/{}.ptx", name.split('.').next().unwrap());
        let source = Source::from_bytes(module.clone(), fs::read(root().join(module)).unwrap()).unwrap();
        let unit = Unit::new(&source);
        let file: LaunchFile = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let kernel = Kernel::new(&unit, file.kernel.as_deref().unwrap()).unwrap();
        let launch = kernel.launch(&file, &mut |_| Ok(Vec::new())).unwrap();
        let run = |schedule| kernel.simulate(&launch, &Settings { schedule, ..Settings::default() });
        let mut early = run(Schedule::Early).unwrap();
        let count = seeds(early.warp_instructions);
        let mut report = under_seeds(1..count + 1, run).unwrap();
        if RACING.contains(&name) {
            for report in [&mut early, &mut report] {
                report.retain(|finding| finding.code != Code::GlobalMemoryRace);
            }
        }
        for report in [&early, &report] {
            let what = (&report.diagnostics, &report.reasons);
            assert_eq!(report.verdict, Verdict::Clean, "{name}, {count} schedules: {what:?}");
        }
        runs += count + 1;
        instructions += early.warp_instructions + report.warp_instructions;
    }
    println!("{runs} runs, {instructions} warp instructions");
}
