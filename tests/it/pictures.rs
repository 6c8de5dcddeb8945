//! What happened in a run: drawn in the terminal, and written as a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{root, simulate_command};

/// The picture alone, without what is said before it.
fn timeline(arguments: &[&str]) -> String {
    let output = simulate_command(&[arguments, &["--timeline"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let (_, picture) = text.split_once("\n\n  step").unwrap_or_else(|| panic!("no picture: {text}"));
    format!("step{picture}")
}

const ROLES: [&str; 3] = [
    "fixtures/kernels/gluon_matmul_roles_sm103a.ptx",
    "--launch",
    "fixtures/simulation/launches/gluon_matmul_roles_sm103a.matmul_roles.toml",
];

/// A kernel with warps for copies, multiplies and what comes behind.
#[test]
fn a_clean_kernel() {
    insta::assert_snapshot!(timeline(&ROLES));
}

#[test]
fn one_that_hangs() {
    insta::assert_snapshot!(timeline(&["docs/simulation/hang.ptx", "--launch", "docs/simulation/gemm.toml"]));
}

#[test]
fn one_with_a_race() {
    insta::assert_snapshot!(timeline(&["docs/simulation/race.ptx", "--launch", "docs/simulation/gemm.toml"]));
}

/// A run that is too long to be drawn has a start and an end; CTAs have headings.
#[test]
fn a_long_run_of_a_cluster() {
    let launch = "fixtures/simulation/launches/gemm_cta_pair_sm100a.gemm_pair_f16_128x256.toml";
    let picture = timeline(&["fixtures/kernels/gemm_cta_pair_sm100a.ptx", "--launch", launch]);
    insta::assert_snapshot!(picture);
}

/// No line of the picture itself is wider than the terminal, and colours add only escape sequences.
#[test]
fn widths_and_colours() {
    let draw = |columns: &str, color: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
            .args([&["simulate"], &ROLES[..], &["--timeline", "--color", color]].concat())
            .current_dir(root())
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let without_time = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("warp instructions")).map(str::to_owned).collect()
    };
    for columns in ["70", "120", "200"] {
        let plain = draw(columns, "never");
        let rows = plain.lines().filter(|line| line.contains('─') || line.contains('█'));
        let widest = rows.map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{plain}");
        let mut colored = String::new();
        let text = draw(columns, "always");
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once("\u{1b}[") {
            colored.push_str(before);
            rest = behind.split_once('m').unwrap().1;
        }
        colored.push_str(rest);
        assert_ne!(colored, text);
        assert_eq!(without_time(&colored), without_time(&plain));
    }
}

/// Recording changes no verdict.
#[test]
fn the_same_with_and_without() {
    let instructions = |text: &[u8]| -> Value {
        let mut document: Value = serde_json::from_slice(text).unwrap();
        document["kernels"][0]["statistics"]["seconds"] = Value::Null;
        document
    };
    let trace = trace_path("same");
    for schedule in ["early", "late", "random"] {
        let arguments = [&ROLES[..], &["--format", "json", "--schedule", schedule]].concat();
        let plain = simulate_command(&arguments);
        let recorded = simulate_command(&[&arguments[..], &["--timeline", "--trace", &trace]].concat());
        assert_eq!(instructions(&plain.stdout), instructions(&recorded.stdout), "{schedule}");
    }
}

fn trace_path(name: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace_{name}.json")).to_str().unwrap().to_owned()
}

fn events(name: &str, arguments: &[&str]) -> Vec<Value> {
    let path = trace_path(name);
    let output = simulate_command(&[arguments, &["--trace", &path]].concat());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    document["traceEvents"].as_array().unwrap().clone()
}

/// What a viewer relies on: slices of a track nest, each arrow has two ends on tracks that have a name, and
/// ends no earlier than it starts.
#[test]
fn traces_are_sound() {
    let pair = "fixtures/simulation/launches/gemm_cta_pair_sm100a.gemm_pair_f16_128x256.toml";
    let cases: [(&str, &[&str]); 5] = [
        ("roles", &ROLES),
        ("pair", &["fixtures/kernels/gemm_cta_pair_sm100a.ptx", "--launch", pair, "--schedule", "late"]),
        ("hang", &["docs/simulation/hang.ptx", "--launch", "docs/simulation/gemm.toml"]),
        (
            "race",
            &["docs/simulation/race.ptx", "--launch", "docs/simulation/gemm.toml", "--schedule", "random"],
        ),
        ("assumed", &["fixtures/simulation/findings/SIM404_transaction_mismatch.ptx"]),
    ];
    for (name, arguments) in cases {
        let events = events(name, arguments);
        let track = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap_or(0));
        let named: BTreeSet<_> =
            events.iter().filter(|event| event["name"] == "thread_name").map(track).collect();
        let mut slices: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
        let mut arrows: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
        for event in &events {
            let phase = event["ph"].as_str().unwrap();
            if phase == "M" {
                continue;
            }
            assert!(named.contains(&track(event)), "{name}: {event}");
            match phase {
                "X" => {
                    let start = event["ts"].as_u64().unwrap();
                    let length = event["dur"].as_u64().unwrap();
                    assert!(length > 0, "{name}: {event}");
                    slices.entry(track(event)).or_default().push((start, start + length));
                }
                "s" | "f" => {
                    let at = event["ts"].as_f64().unwrap();
                    arrows.entry(event["id"].as_u64().unwrap()).or_default().push((phase.to_owned(), at));
                }
                "i" => {}
                _ => panic!("{name}: {event}"),
            }
        }
        for (track, mut slices) in slices {
            slices.sort_unstable_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)));
            let mut open: Vec<u64> = Vec::new();
            for (start, end) in slices {
                while open.last().is_some_and(|until| *until <= start) {
                    open.pop();
                }
                assert!(open.last().is_none_or(|until| end <= *until), "{name}: {track:?} at {start}");
                open.push(end);
            }
        }
        for (id, ends) in &arrows {
            let [(one, from), (other, to)] = ends.as_slice() else { panic!("{name}: arrow {id}: {ends:?}") };
            assert_eq!((one.as_str(), other.as_str()), ("s", "f"), "{name}: arrow {id}");
            assert!(from <= to, "{name}: arrow {id} from {from} to {to}");
        }
        let waits = events.iter().filter(|event| event["cat"] == "wait").count();
        assert!(waits > 0 && !arrows.is_empty(), "{name}");
    }
}

/// From a commit to the wait for it.
#[test]
fn commits_lead_to_waits() {
    let events = events("commit", &ROLES);
    let names: BTreeMap<(u64, u64), &str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| {
            (
                (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap()),
                event["args"]["name"].as_str().unwrap(),
            )
        })
        .collect();
    let who = |event: &Value| names[&(event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())];
    let barrier = |phase: &'static str| {
        events.iter().filter(move |event| event["ph"] == phase && event["cat"] == "mbarrier")
    };
    let from: BTreeMap<u64, &str> =
        barrier("s").map(|event| (event["id"].as_u64().unwrap(), who(event))).collect();
    let found = barrier("f")
        .any(|event| from[&event["id"].as_u64().unwrap()] == "tensor core" && who(event) == "warp 0");
    assert!(found);
}

/// What the README says of its two kernels: they differ from one that is clean in a few lines, and a check
/// finds nothing in any of them.
#[test]
fn kernels_of_the_readme() {
    let command = |command: &str, options: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
            .args([&[command], options].concat())
            .current_dir(root().join("docs/simulation"))
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let text = |name: &str| fs::read_to_string(root().join("docs/simulation").join(name)).unwrap();
    for (name, status, found, differences) in [
        ("gemm.ptx", 0, "clean", 0),
        ("hang.ptx", 1, "error[SIM101]", 2),
        ("race.ptx", 1, "error[SIM202]", 1),
    ] {
        let (checked, nothing) = command("check", &[name]);
        assert_eq!((checked, nothing.as_str()), (Some(0), "1 file checked, nothing found\n"), "{name}");
        for schedule in ["early", "late", "random"] {
            let (ran, output) = command("simulate", &[name, "--launch", "gemm.toml", "--schedule", schedule]);
            assert_eq!(ran, Some(status), "{name}, {schedule}: {output}");
            assert!(output.contains(found), "{name}, {schedule}: {output}");
            assert_eq!(output.matches("error[").count(), usize::from(status == 1), "{name}: {output}");
        }
        let (clean, wrong) = (text("gemm.ptx"), text(name));
        let missing = wrong.lines().filter(|line| !clean.lines().any(|it| it == *line)).count();
        let moved = clean.lines().zip(wrong.lines()).filter(|(one, other)| one != other).count();
        assert!(if differences == 1 { missing == 0 && moved <= 4 } else { missing == differences }, "{name}");
    }
}
