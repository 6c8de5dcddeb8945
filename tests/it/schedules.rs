//! One verdict under many schedules.

use std::fs;
use std::path::PathBuf;

use crate::common::{root, simulate_command};

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

#[test]
#[ignore = "takes minutes: `cargo test --test it a_hundred_schedules -- --ignored`"]
fn a_hundred_schedules_have_one_verdict() {
    for path in files("fixtures/simulation/findings") {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let code = name.split('_').next().unwrap();
        let document = document(&[path.to_str().unwrap(), "--runs", "100"]);
        let findings = document["kernels"][0]["diagnostics"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["code"] == code), "{name}: {findings:#?}");
        // Some finding shows under all of them, whatever side of a race comes first.
        let seeds = (1..=100).filter(|seed| {
            let seed = seed.to_string();
            simulate_command(&[path.to_str().unwrap(), "--schedule", "random", "--seed", &seed]).status.code()
                == Some(1)
        });
        assert_eq!(seeds.count(), 100, "{name}");
    }
    for path in files("fixtures/simulation/clean") {
        let output = simulate_command(&[path.to_str().unwrap(), "--runs", "100"]);
        assert_eq!(output.status.code(), Some(0), "{path:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
    for launch in files("fixtures/simulation/launches")
        .iter()
        .filter(|it| it.extension().is_some_and(|it| it == "toml"))
    {
        let name = launch.file_stem().unwrap().to_str().unwrap();
        let module = format!("fixtures/kernels/{}.ptx", name.split('.').next().unwrap());
        let output = simulate_command(&[&module, "--launch", launch.to_str().unwrap(), "--runs", "100"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
