//! What people may say about the findings of runs: how much they matter, and that they are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::root;

/// A directory of its own with a kernel that hangs, and with a configuration.
fn directory(name: &str, config: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate_command").join(name);
    fs::create_dir_all(&path).unwrap();
    let kernel = root().join("fixtures/simulation/findings/SIM101_deadlock.ptx");
    fs::write(path.join("kernel.ptx"), change(&fs::read_to_string(kernel).unwrap())).unwrap();
    fs::write(path.join("ptx-tc.toml"), config).unwrap();
    path
}

fn run(directory: &Path, command: &str, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .args([&[command, "kernel.ptx", "--format", "json"], options].concat())
        .current_dir(directory)
        .output()
        .unwrap()
}

/// The exit status, the verdict, and the severities of what is found.
fn outcome(output: &Output) -> (i32, String, Vec<String>) {
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(trouble.is_empty(), "{trouble}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kernel = &document["kernels"][0];
    let findings = kernel["diagnostics"].as_array().unwrap();
    let severities = findings.iter().map(|finding| finding["severity"].as_str().unwrap().to_owned());
    (output.status.code().unwrap(), kernel["verdict"].as_str().unwrap().to_owned(), severities.collect())
}

fn unchanged(text: &str) -> String {
    text.to_owned()
}

#[test]
fn severities() {
    /// A configuration, arguments, and the status, the verdict and the severities that follow.
    type Case = (&'static str, &'static [&'static str], i32, &'static str, &'static [&'static str]);
    let cases: [Case; 10] = [
        ("", &[], 1, "findings", &["error"]),
        ("[severity]\nSIM101 = \"warning\"\n", &[], 0, "findings", &["warning"]),
        ("[severity]\ndeadlock = \"off\"\n", &[], 0, "clean", &[]),
        ("[severity]\nSIM101 = \"warning\"\n", &["--severity", "SIM101=error"], 1, "findings", &["error"]),
        ("ignore = [\"SIM1\"]\n", &[], 0, "clean", &[]),
        ("ignore = [\"SIM2\"]\n", &[], 1, "findings", &["error"]),
        ("", &["--ignore", "SIM"], 0, "clean", &[]),
        ("", &["--select", "SIM2,SIM3"], 0, "clean", &[]),
        ("[per-file-ignores]\n\"kernel.*\" = [\"SIM101\"]\n", &[], 0, "clean", &[]),
        ("", &["--severity", "deadlock=info"], 0, "findings", &["info"]),
    ];
    for (index, (config, options, status, verdict, severities)) in cases.iter().enumerate() {
        let directory = directory(&format!("severity{index}"), config, unchanged);
        let (found, word, found_severities) = outcome(&run(&directory, "simulate", options));
        assert_eq!(
            (found, word.as_str(), found_severities),
            (*status, *verdict, severities.iter().map(|it| (*it).to_owned()).collect()),
            "{config} {options:?}"
        );
    }
}

#[test]
fn a_configuration_can_be_named_and_wrong() {
    let here = directory("config", "", unchanged);
    fs::write(here.join("other.toml"), "[severity]\nSIM101 = \"info\"\n").unwrap();
    let (status, _, severities) = outcome(&run(&here, "simulate", &["--config", "other.toml"]));
    assert_eq!((status, severities), (0, vec!["info".to_owned()]));
    fs::write(here.join("other.toml"), "[severity]\nSIM999 = \"info\"\n").unwrap();
    let output = run(&here, "simulate", &["--config", "other.toml"]);
    assert_eq!(output.status.code(), Some(2));
}

/// On the line, above it, for the file, by the name; and a check does not call them unused.
#[test]
fn suppressions() {
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;";
    let changes: [&dyn Fn(&str) -> String; 5] = [
        &|text| text.replace(wait, &format!("{wait} // ptx-tc: allow(SIM101)")),
        &|text| text.replace(wait, &format!("// ptx-tc: allow(deadlock)\n    {wait}")),
        &|text| format!("// ptx-tc: allow-file(SIM1)\n{text}"),
        &|text| format!("/* ptx-tc: allow-file(SIM) */ {text}"),
        &|text| text.replace(wait, &format!("{wait} // ptx-tc: allow(TC703, SIM101, SIM202)")),
    ];
    for (index, change) in changes.iter().enumerate() {
        let directory = directory(&format!("allow{index}"), "", change);
        assert_eq!(outcome(&run(&directory, "simulate", &[])), (0, "clean".to_owned(), vec![]), "{index}");
        let checked = run(&directory, "check", &[]);
        let document: Value = serde_json::from_slice(&checked.stdout).unwrap();
        let unused: Vec<String> = document["files"][0]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["code"] == "TC903")
            .map(|finding| finding["message"].as_str().unwrap().to_owned())
            .collect();
        let expected: &[&str] = if index == 4 { &["unused suppression of `TC703`"] } else { &[] };
        assert_eq!(unused, expected, "{index}");
    }
    let elsewhere = directory("allow_elsewhere", "", |text| format!("// ptx-tc: allow(SIM101)\n{text}"));
    assert_eq!(outcome(&run(&elsewhere, "simulate", &[])).0, 1);
}

/// Where a module says which lines it was compiled from, so do findings.
#[test]
fn findings_lead_to_their_sources() {
    let located = |text: &str| {
        let wait = "wait:\n";
        assert!(text.contains(wait));
        format!("{}\n.file 1 \"gemm.cu\"\n", text.replace(wait, "    .loc 1 42 7\nwait:\n"))
    };
    let directory = directory("located", "", located);
    let source = |options: &[&str]| {
        let output = run(&directory, "simulate", options);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["kernels"][0]["diagnostics"][0]["source"].clone()
    };
    let place = source(&[]);
    assert_eq!((place["path"].as_str(), place["line"].as_u64()), (Some("gemm.cu"), Some(42)));
    assert!(source(&["--no-source"]).is_null());
}

/// Nothing is said beside the findings where nobody looks.
#[test]
fn no_progress_in_pipes() {
    let endless = |text: &str| text.replace("wait:\n", "wait: bra wait;\n");
    let directory = directory("endless", "", endless);
    let output = run(&directory, "simulate", &["--budget", "4000000"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stderr.is_empty());
}

/// The formats of a check, and a file that gets them.
#[test]
fn formats_of_a_check() {
    let directory = directory("formats", "", unchanged);
    for (format, expected) in [
        ("concise", "kernel.ptx:"),
        ("sarif", "\"ruleId\": \"SIM101\""),
        ("github", "::error title=SIM101 deadlock,file=kernel.ptx,line=22"),
        ("gitlab", "\"check_name\": \"deadlock\""),
        ("junit", "SIM101"),
        ("rdjson", "\"value\": \"SIM101\""),
        ("human", "error[SIM101]"),
    ] {
        let run = |options: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
                .args(["simulate", "kernel.ptx", "--format", format])
                .args(options)
                .current_dir(&directory)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let text = run(&[]);
        assert!(text.contains(expected), "{format}: {text}");
        assert_eq!(run(&["--output", "report"]), "", "{format}");
        let without_time = |text: &str| text.split(" instructions, ").next().unwrap().to_owned();
        let file = fs::read_to_string(directory.join("report")).unwrap();
        assert_eq!(without_time(&file), without_time(&text), "{format}");
    }
}
