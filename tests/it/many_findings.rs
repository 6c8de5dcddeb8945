//! Files with very many findings: what is shown, what is only counted, and how long the output is.

use std::fs;

use serde_json::Value;

use crate::common::{ptx_tc, scratch, stdout, with_stdin};

const HEADER: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n";

/// So many empty statements on one line.
fn broken(count: usize) -> String {
    format!("{HEADER}{}\n}}\n", ";".repeat(count))
}

fn check(text: &str, arguments: &[&str]) -> String {
    let mut all = vec!["check", "-", "--stdin-filename", "k.ptx"];
    all.extend(arguments);
    let output = with_stdin(&all, text.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    stdout(&output)
}

fn json(text: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&check(text, &[&["--format", "json"], arguments].concat())).unwrap()
}

fn shown(document: &Value) -> usize {
    document["files"][0]["diagnostics"].as_array().unwrap().len()
}

#[test]
fn the_first_of_a_rule_are_shown_and_all_are_counted() {
    let text = format!("{}\"", broken(250));
    let concise = check(&text, &["--format", "concise"]);
    let lines: Vec<&str> = concise.lines().collect();
    assert_eq!(lines.len(), 102, "{concise}");
    assert!(lines[99].starts_with("k.ptx:4:100: error[TC001]"), "{concise}");
    assert_eq!(lines[100], "k.ptx: error[TC001]: and 150 more in this file (syntax-error)");
    assert!(lines[101].contains("TC002"), "{concise}");

    let human = check(&text, &[]);
    assert!(human.contains("error[TC001]: and 150 more in this file (syntax-error)"), "{human}");
    assert!(human.ends_with("1 file checked: 251 errors, 0 warnings\n"), "{human}");

    let github = check(&text, &["--format", "github"]);
    assert!(
        github.contains("::error title=TC001 syntax-error,file=k.ptx::and 150 more of TC001 in this file\n")
    );

    let sarif: Value = serde_json::from_str(&check(&text, &["--format", "sarif"])).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!(run["results"].as_array().unwrap().len(), 101);
    assert_eq!(run["properties"]["omitted"][0]["ruleId"], "TC001");
    assert_eq!(run["properties"]["omitted"][0]["count"], 150);

    let gitlab: Value = serde_json::from_str(&check(&text, &["--format", "gitlab"])).unwrap();
    let more = gitlab.as_array().unwrap().last().unwrap();
    assert_eq!(more["description"], "TC001: and 150 more of syntax-error in this file");
    assert_eq!(more["location"]["lines"]["begin"], 4);

    let rdjson: Value = serde_json::from_str(&check(&text, &["--format", "rdjson"])).unwrap();
    let more = rdjson["diagnostics"].as_array().unwrap().last().unwrap();
    assert_eq!(more["message"], "and 150 more of syntax-error in this file");
    assert!(more["location"].get("range").is_none());

    let junit = check(&text, &["--format", "junit"]);
    assert!(junit.contains("and 150 more of syntax-error in this file</failure>"), "{junit}");

    assert!(check(&text, &["--statistics"]).contains("250  TC001  syntax-error (error)"));
}

#[test]
fn json_says_how_many_are_omitted() {
    let document = json(&broken(250), &[]);
    assert_eq!(shown(&document), 100);
    insta::assert_json_snapshot!("omitted", document["files"][0]["omitted"]);
    assert_eq!(document["summary"]["errors"], 250);
    assert!(json(&broken(100), &[])["files"][0].get("omitted").is_none());
}

#[test]
fn the_number_is_a_setting() {
    let text = broken(250);
    assert_eq!(shown(&json(&text, &["--max-findings", "7"])), 7);
    assert_eq!(shown(&json(&text, &["--max-findings", "0"])), 250);
    let directory = scratch("max_findings");
    fs::write(directory.join("ptx-tc.toml"), "max-findings = 8\n").unwrap();
    fs::write(directory.join("k.ptx"), text).unwrap();
    let count = |arguments: &[&str]| {
        let output =
            ptx_tc(&["check", "k.ptx", "--format", "json"]).args(arguments).current_dir(&directory).output();
        shown(&serde_json::from_slice(&output.unwrap().stdout).unwrap())
    };
    assert_eq!((count(&[]), count(&["--max-findings", "9"])), (8, 9));
    fs::write(directory.join("ptx-tc.toml"), "max-findings = -1\n").unwrap();
    let output = ptx_tc(&["check", "k.ptx"]).current_dir(&directory).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_comments_silence_takes_no_room() {
    let silenced = "; // ptx-tc: allow(TC001)\n".repeat(150);
    let document = json(&format!("{HEADER}{silenced};\n}}\n"), &["--max-findings", "1"]);
    assert_eq!(shown(&document), 1);
    assert_eq!(document["summary"]["errors"], 1);
    assert_eq!(document["summary"]["warnings"], 0);
    assert_eq!(document["files"][0]["diagnostics"][0]["span"]["line"], 154);
}

/// Findings are written side by side, a piece on each thread, and come out as if they were not.
#[test]
fn threads_make_no_difference() {
    let text = broken(5000);
    for format in ["human", "concise"] {
        for limit in ["0", "90"] {
            let written =
                |threads: &str| check(&text, &["--format", format, "--max-findings", limit, "-j", threads]);
            let one = written("1");
            assert!(one.lines().count() >= if limit == "0" { 5000 } else { 90 });
            assert!(one == written("3"), "{format} {limit}");
        }
    }
}

/// What is shown does not get longer with the line that it stands in.
#[test]
fn output_does_not_grow_with_the_line() {
    for format in ["human", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson"] {
        let length = |count| check(&broken(count), &["--format", format]).len();
        let (short, long) = (length(4000), length(400_000));
        assert!(long < short + short / 20, "{format}: {short} {long}");
    }
}

/// One comment with very many rules, very many comments in one place, and names that are none.
#[test]
fn many_suppressions_are_told_apart() {
    let text = |comment: String| format!("{HEADER}{comment};\n}}\n");
    let items = text(format!("/* ptx-tc: allow({}) */", "TC001,".repeat(5000)));
    let comments = text("/* ptx-tc: allow(TC001) */".repeat(5000));
    let unused = text("/* ptx-tc: allow(TC301) */".repeat(5000));
    let unknown = text(format!("/* ptx-tc: allow({}) */", "noclus-invalid,".repeat(5000)));
    let totals = |text: &str| {
        let output = with_stdin(&["check", "-", "--format", "json"], text.as_bytes());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let summary = &document["summary"];
        (summary["errors"].as_u64().unwrap(), summary["warnings"].as_u64().unwrap())
    };
    assert_eq!(totals(&items), (0, 0));
    assert_eq!(totals(&comments), (0, 0));
    assert_eq!(totals(&unused), (1, 5000));
    assert_eq!(totals(&unknown), (1, 5000));
}

/// A name of a megabyte is not written out wherever it is mentioned.
#[test]
fn long_names_are_cut_for_people() {
    let name = "a".repeat(1 << 20);
    let text = format!("{HEADER}tcgen05.dealloc.cta_group::1.sync.aligned.b32 {name}, 64;\n}}\n");
    for format in ["human", "concise"] {
        let output = check(&text, &["--format", format]);
        assert!(output.contains("TC004") && output.len() < 10_000, "{format}: {}", output.len());
    }
}

/// Each misspelling in a way of its own: what was meant is said of all, and the costs are those of the text.
#[test]
fn every_misspelling_says_what_was_meant() {
    let lines = |line: &dyn Fn(usize) -> String| (0..2000).map(line).collect::<String>();
    let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
    for (body, code) in [
        (lines(&|number| format!("tcgen05.all{}oc.x %r{number};\n", letter(number))), "TC101"),
        (lines(&|number| format!("tcgen05.wait::ld.sync.align{}d;\n", letter(number))), "TC102"),
        (lines(&|number| format!("mbarri{}r.init.b64 [%rd{number}], 1;\n", letter(number))), "TC121"),
    ] {
        let document = json(&format!("{HEADER}{body}}}\n"), &["--max-findings", "0", "--select", code]);
        let findings = document["files"][0]["diagnostics"].as_array().unwrap();
        let without = findings.iter().filter(|it| it["help"].is_null()).count();
        assert!(findings.len() >= 1900 && without == 0, "{code}: {} and {without}", findings.len());
    }
}

/// Texts in which nothing is right, in each language, as each format: what is said does not grow with them, and nothing
/// is lost of the counts.
#[test]
fn garbage_is_counted_in_every_format() {
    let directory = scratch("garbage");
    let ptx = |line: &str| format!("{HEADER}.reg .b32 r;\n{}}}\n", line.repeat(3000));
    let cuda = |line: &str| format!("__device__ void f(int x) {{\n{}}}\n", line.repeat(3000));
    for (name, text) in [
        ("opcodes.ptx", ptx("tcgen05.bogus.x %r1;\n")),
        ("types.ptx", ptx("add.u33 r, r, r;\n")),
        ("names.ptx", ptx("add.u32 r, x, y;\n")),
        ("ends.ptx", ptx("mov.b32 r, r\n")),
        ("strings.ptx", ptx("\"abc\n")),
        ("brackets.ptx", ptx("mov.b32 r, [r;\n")),
        ("scopes.ptx", ptx("[ ( {\n")),
        ("line.ptx", ptx("tcgen05.bogus.x %r1; ")),
        ("opcodes.cu", cuda("asm volatile(\"tcgen05.bogus.x %0;\" :: \"r\"(x));\n")),
        ("ends.cu", cuda("asm volatile(\"mov.b32 %0, %0\" : \"+r\"(x));\n")),
        (
            "one.cu",
            format!(
                "__device__ void f(int x) {{ asm volatile({}::\"r\"(x)); }}\n",
                "\"tcgen05.bogus.x %0;\\n\"\n".repeat(3000)
            ),
        ),
        ("strings.cu", cuda("asm volatile(\"mov.b32 %0, %0;\n")),
        ("module.py", format!("P = \"\"\"{}\"\"\"\n", ptx("tcgen05.bogus.x %r1;\n"))),
        ("strings.py", "x = \"tcgen05.bogus\n".repeat(3000)),
    ] {
        fs::write(directory.join(name), text).unwrap();
        let run = |arguments: &[&str]| {
            let output =
                ptx_tc(&[&["check", name], arguments].concat()).current_dir(&directory).output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 1)), "{name} {arguments:?}: {:?}", output.status);
            output
        };
        let errors = |arguments: &[&str]| {
            let output = run(&[&["--format", "json"], arguments].concat());
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            document["summary"]["errors"].as_u64().unwrap()
        };
        assert_eq!(errors(&[]), errors(&["--max-findings", "0"]), "{name}");
        for format in ["human", "sarif"] {
            assert!(stdout(&run(&["--format", format])).len() < 1_000_000, "{name}: {format}");
        }
        let fixed = run(&["--diff"]);
        let is_ended = name.starts_with("ends");
        assert!(is_ended != fixed.stdout.is_empty(), "{name}: {}", stdout(&fixed).len());
    }
}
