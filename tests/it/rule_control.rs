//! Which rules run: options, configuration and comments, through the built binary.

use std::fs;
use std::path::Path;
use std::process::Output;

use ptx_tc::Source;
use ptx_tc::fix::allow::allow;

use crate::common::{options, ptx_tc, root, run, scratch, stderr, stdout, with_stdin};

const TEXT: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n    .reg .b32 t;\n    \
    tcgen05.wait::ld.sync;\n    tcgen05.wait::st.aligned.sync;\n    \
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48;\n}\n";

/// The codes in the concise output.
fn codes(output: &Output) -> Vec<String> {
    stdout(output)
        .lines()
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()))
        .collect()
}

fn found(arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["check", "-", "--format", "concise"];
    all.extend(arguments);
    codes(&with_stdin(&all, TEXT.as_bytes()))
}

#[test]
fn select_and_ignore() {
    assert_eq!(found(&[]), ["TC104", "TC901", "TC301"]);
    assert_eq!(found(&["--select", "TC3"]), ["TC301"]);
    assert_eq!(found(&["--select", "missing-qualifier,TC9"]), ["TC104", "TC901"]);
    assert_eq!(found(&["--ignore", "TC1,qualifier-order"]), ["TC301"]);
    assert_eq!(found(&["--select", "TC", "--ignore", "TC3"]), ["TC104", "TC901"]);
    assert_eq!(found(&["--select", "TC301", "--ignore", "TC3"]), ["TC301"]);
    let unknown = run(&["check", "-", "--select", "ncols-invald"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `ncols-invalid`?"));
}

#[test]
fn severities() {
    let check = |level: &str| {
        let severity = format!("TC301={level}");
        let arguments = ["check", "-", "--select", "TC301", "--format", "json", "--severity", &severity];
        let output = with_stdin(&arguments, TEXT.as_bytes());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let severity = document["files"][0]["diagnostics"][0]["severity"].as_str().map(ToOwned::to_owned);
        (output.status.code(), severity)
    };
    assert_eq!(check("error"), (Some(1), Some("error".to_owned())));
    assert_eq!(check("warning"), (Some(0), Some("warning".to_owned())));
    assert_eq!(check("info"), (Some(0), Some("info".to_owned())));
    assert_eq!(check("off"), (Some(0), None));
    for wrong in ["TC301", "TC301=bad", "TC999=error"] {
        assert_eq!(run(&["check", "-", "--severity", wrong]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn rules_that_are_off_run_when_asked_for() {
    let fixture = "fixtures/rules/TC902/invalid_1x.ptx";
    let found = |arguments: &[&str]| {
        codes(&run(&[&["check", fixture, "--format", "concise", "--ignore", "TC7,TC8"], arguments].concat()))
    };
    assert!(found(&[]).is_empty());
    assert!(found(&["--select", "TC9"]).is_empty());
    assert_eq!(found(&["--select", "TC902"]), ["TC902"]);
    assert_eq!(found(&["--severity", "family-portability=info"]), ["TC902"]);
}

fn project(name: &str, config: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    fs::create_dir_all(directory.join("deep/er")).unwrap();
    for path in ["k.ptx", "deep/er/k.ptx"] {
        fs::write(directory.join(path), TEXT).unwrap();
    }
    fs::write(directory.join("ptx-tc.toml"), config).unwrap();
    directory
}

fn check_in(directory: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["check", "--format", "concise"];
    all.extend(arguments);
    ptx_tc(&all).current_dir(directory).output().unwrap()
}

#[test]
fn the_nearest_configuration_above_a_file_holds() {
    let directory = project("config_nearest", "select = [\"TC3\"]\n");
    assert_eq!(codes(&check_in(&directory, &["deep"])), ["TC301"]);
    assert_eq!(codes(&check_in(&directory.join("deep"), &["../k.ptx"])), ["TC301"]);
    fs::write(directory.join("deep/ptx-tc.toml"), "ignore = [\"TC3\"]\n").unwrap();
    assert_eq!(codes(&check_in(&directory, &["deep"])), ["TC104", "TC901"]);
    assert_eq!(codes(&check_in(&directory.join("deep"), &["../k.ptx"])), ["TC301"]);
    fs::write(directory.join("other.toml"), "select = [\"TC9\"]\n").unwrap();
    assert_eq!(codes(&check_in(&directory, &["deep", "--config", "other.toml"])), ["TC901"]);
}

#[test]
fn the_command_line_wins_over_the_configuration() {
    let directory = project(
        "config_precedence",
        "select = [\"TC3\"]\ntargets = [\"sm_90\"]\nptx-version = 8.6\n[severity]\nTC301 = \"info\"\n",
    );
    assert_eq!(codes(&check_in(&directory, &["k.ptx", "--select", "TC1"])), ["TC104"]);
    assert_eq!(codes(&check_in(&directory, &["k.ptx", "--select", "TC201"])).len(), 1);
    assert!(codes(&check_in(&directory, &["k.ptx", "--select", "TC201", "--target", "sm_103a"])).is_empty());
    assert_eq!(codes(&check_in(&directory, &["k.ptx", "--select", "TC204", "--target", "sm_103a"])).len(), 1);
    assert_eq!(check_in(&directory, &["k.ptx"]).status.code(), Some(0));
    assert_eq!(check_in(&directory, &["k.ptx", "--severity", "TC301=error"]).status.code(), Some(1));
}

#[test]
fn files_are_excluded_and_have_rules_of_their_own() {
    let directory = project("config_files", "exclude = [\"er\"]\n");
    let output = check_in(&directory, &["."]);
    assert!(!stdout(&output).contains("deep"), "{}", stdout(&output));
    assert_eq!(codes(&output), ["TC104", "TC901", "TC301"]);
    fs::write(directory.join("ptx-tc.toml"), "[per-file-ignores]\n\"deep/**\" = [\"TC1\", \"TC9\"]\n")
        .unwrap();
    assert_eq!(codes(&check_in(&directory, &["deep"])), ["TC301"]);
    assert_eq!(codes(&check_in(&directory, &["k.ptx"])).len(), 3);
}

#[test]
fn mistakes_in_the_configuration_are_shown_in_place() {
    let directory = project("config_mistakes", "# what to run\nselct = [\"TC1\"]\n");
    let output = check_in(&directory, &["k.ptx", "--config", "ptx-tc.toml"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("unknown_key", stderr(&output));
    fs::write(directory.join("ptx-tc.toml"), "ignore = [\"TC104\", \"shape-nun\"]\n").unwrap();
    let output = check_in(&directory, &["k.ptx", "--config", "ptx-tc.toml"]);
    insta::assert_snapshot!("unknown_rule", stderr(&output));
    assert_eq!(check_in(&directory, &["k.ptx", "--config", "missing.toml"]).status.code(), Some(2));
}

#[test]
fn init_writes_a_configuration_once() {
    let directory = scratch("init");
    let init = || ptx_tc(&["init"]).current_dir(&directory).output().unwrap();
    assert_eq!(init().status.code(), Some(0));
    fs::write(directory.join("k.ptx"), TEXT).unwrap();
    assert_eq!(codes(&check_in(&directory, &["k.ptx"])), ["TC104", "TC901", "TC301"]);
    assert_eq!(init().status.code(), Some(2));
}

#[test]
fn statistics() {
    let output = run(&[
        "check",
        "fixtures/rules/TC301",
        "fixtures/rules/TC104",
        "--statistics",
        "--select",
        "TC301,TC104",
    ]);
    insta::assert_snapshot!("statistics", stdout(&output));
    let output =
        run(&["check", "fixtures/rules/TC301", "--statistics", "--select", "TC301", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["statistics"][0]["code"], "TC301");
    assert_eq!(document["statistics"][0]["count"], document["summary"]["errors"]);
}

#[test]
fn statistics_say_what_is_unknown() {
    let text = ".version 9.0\n.target sm_100a\n.entry k() {\n foo.bar;\n foo.bar;\n ret.maybe;\n exit; }\n";
    let output = with_stdin(&["check", "-", "--statistics"], text.as_bytes());
    let lines = stdout(&output);
    let expected =
        "2 instructions of 1 unknown operation: foo.bar\n1 instruction with 1 unknown modifier: ret.maybe\n";
    assert!(lines.ends_with(expected), "{lines}");
    let output = with_stdin(&["check", "-", "--statistics", "--format", "json"], text.as_bytes());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["unknown_operations"]["foo.bar"], 2);
    assert_eq!(document["unknown_modifiers"]["ret.maybe"], 1);
    let output = with_stdin(&["check", "-", "--statistics"], text.replace("foo.bar", "trap").as_bytes());
    assert!(!stdout(&output).contains("operation"), "{}", stdout(&output));
}

#[test]
fn comments_silence_rules() {
    let check = |text: &str| codes(&with_stdin(&["check", "-", "--format", "concise"], text.as_bytes()));
    let with = |from: &str, to: &str| {
        assert!(TEXT.contains(from));
        check(&TEXT.replace(from, to))
    };
    let all = ["TC104", "TC901", "TC301"];
    assert_eq!(with("48;", "48; // ptx-tc: allow(TC301)"), all[..2]);
    assert_eq!(with("48;", "48; /* ptx-tc: allow(ncols-invalid) for now */"), all[..2]);
    assert_eq!(with("    tcgen05.dealloc", "    // ptx-tc: allow(TC3)\n    tcgen05.dealloc"), all[..2]);
    assert_eq!(with("    tcgen05.dealloc", "    // ptx-tc: allow(TC3)\r\n    tcgen05.dealloc"), all[..2]);
    assert_eq!(with("t, 48;", "t,\n    48; // ptx-tc: allow(TC301)"), all[..2]);
    assert_eq!(with("    tcgen05.dealloc", "// ptx-tc: allow(TC301)\n tcgen05.dealloc\n  "), all[..2]);
    assert_eq!(check(&format!("{TEXT}// ptx-tc: allow-file(TC1, TC3)")), ["TC901"]);
    assert_eq!(with("    tcgen05.dealloc", "    /* ptx-tc: allow(TC3) */ tcgen05.dealloc"), all[..2]);
    assert_eq!(with("    tcgen05.dealloc", "/* ptx-tc: allow(TC3)\n */ tcgen05.dealloc"), all[..2]);
    // Too far away, or behind other code on the line above: it suppresses nothing there.
    assert_eq!(with(".version", "// ptx-tc: allow(TC301)\n.version"), ["TC903", "TC104", "TC901", "TC301"]);
    assert_eq!(
        with(".reg .b32 t;", ".reg .b32 t; // ptx-tc: allow(TC104)"),
        ["TC903", "TC104", "TC901", "TC301"]
    );
    // Rules that do not run cannot say whether a comment is of use.
    let text = TEXT.replace("48;", "64; // ptx-tc: allow(TC301)");
    let quiet = with_stdin(&["check", "-", "--select", "TC1,TC9", "--format", "concise"], text.as_bytes());
    assert_eq!(codes(&quiet), ["TC104", "TC901"]);
    // A string is no comment, whatever it says.
    let text = TEXT.replace(".entry", ".file 1 \"// ptx-tc: allow-file(TC301)\"\n.entry");
    assert_eq!(check(&text), all);
}

#[test]
fn a_comment_at_one_use_of_a_value_silences_that_one() {
    let text = include_str!("../../fixtures/rules/TC603/invalid_several_uses.ptx");
    let found = |text: &str| -> Vec<String> {
        let source = Source::new("k.ptx", text).unwrap();
        let report = ::ptx_tc::check(&source, &options("TC603"));
        report.diagnostics.iter().map(|it| format!("{} {}", it.code, it.labels.len())).collect()
    };
    assert_eq!(found(text), ["TC603 5", "TC603 0"]);
    let silent = |at: &str| text.replacen(at, &format!("{at} // ptx-tc: allow(TC603)"), 1);
    assert_eq!(found(&silent("a, b, idesc, 0;")), ["TC603 4", "TC603 0"]);
    assert_eq!(found(&silent("a1, b1, idesc, 1;")), ["TC603 4", "TC603 0"]);
    // Whoever wants all of it silent gets a comment at each.
    let after = allow("k.ptx", text.into(), &options("TC603")).unwrap();
    assert_eq!(after.source.text().matches("allow(idesc-shape)").count(), 6);
    assert_eq!((after.silenced, after.report.diagnostics.len()), (2, 0));
}

#[test]
fn the_fixtures_of_kernels_have_nothing_but_style() {
    let kernels = root().join("fixtures/kernels");
    let output = run(&["check", kernels.to_str().unwrap(), "--ignore", "TC9", "--quiet"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(0)));
}
