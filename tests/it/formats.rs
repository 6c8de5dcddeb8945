//! Formats for other programs, through the built binary.

use std::fs;

use serde_json::Value;

use crate::common::{ptx_tc, run, scratch, stdout, with_stdin};

const FILES: [&str; 3] = [
    "fixtures/rules/TC301/invalid_48.ptx",
    "fixtures/rules/TC901/invalid_spaced.ptx",
    "fixtures/rules/TC301/valid_sizes.ptx",
];

fn formatted(format: &str) -> String {
    let mut arguments = vec!["check", "--format", format];
    arguments.extend(FILES);
    stdout(&run(&arguments))
}

#[test]
fn sarif() {
    let mut log: Value = serde_json::from_str(&formatted("sarif")).unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().clone();
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    assert!(rules.iter().all(|rule| !rule["help"]["markdown"].as_str().unwrap().is_empty()));
    // One rule stands for all.
    log["runs"][0]["tool"]["driver"]["rules"] =
        rules.into_iter().filter(|rule| rule["id"] == "TC301").collect();
    // What changes with every release, and with every rule.
    log["runs"][0]["tool"]["driver"]["semanticVersion"] = "[version]".into();
    for result in log["runs"][0]["results"].as_array_mut().unwrap() {
        result["ruleIndex"] = "[index]".into();
    }
    insta::assert_json_snapshot!("sarif", log);
}

/// Every number of a region starts at 1, and ends do not come before starts.
#[test]
fn sarif_regions_are_sound() {
    let output = run(&["check", "fixtures/rules", "fixtures/syntax", "--format", "sarif"]);
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut regions = Vec::new();
    collect(&log, "region", &mut regions);
    collect(&log, "deletedRegion", &mut regions);
    assert!(regions.len() > 200, "{}", regions.len());
    for region in regions {
        let number = |name: &str| region[name].as_u64().unwrap();
        let start = (number("startLine"), number("startColumn"));
        let end = (number("endLine"), number("endColumn"));
        assert!(start.0 >= 1 && start.1 >= 1 && start <= end, "{region}");
    }
}

fn collect<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|value| collect(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, key, found)),
        _ => {}
    }
}

#[test]
fn github() {
    insta::assert_snapshot!("github", formatted("github"));
    let text = ".version 9.0\n.target sm_100a\n.entry k() { tcgen05.wait::ld.sync; }\n";
    let name = "a,b:100%.ptx";
    let output = with_stdin(&["check", "-", "--format", "github", "--stdin-filename", name], text.as_bytes());
    assert!(stdout(&output).contains("file=a%2Cb%3A100%25.ptx,line=3"), "{}", stdout(&output));
}

#[test]
fn output_goes_to_a_file() {
    let directory = scratch("output");
    for format in ["human", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson"] {
        let path = directory.join(format);
        let mut arguments = vec!["check", "--format", format, "--output", path.to_str().unwrap()];
        arguments.extend(FILES);
        let output = ptx_tc(&arguments).env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").output().unwrap();
        assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(1)), "{format}");
        assert_eq!(fs::read_to_string(&path).unwrap(), formatted(format), "{format}");
    }
    let missing = directory.join("no/such/directory/report");
    let output = run(&["check", FILES[0], "--output", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
}

/// All formats that are one document.
const DOCUMENTS: [&str; 5] = ["json", "sarif", "gitlab", "junit", "rdjson"];

#[test]
fn gitlab() {
    let issues: Value = serde_json::from_str(&formatted("gitlab")).unwrap();
    insta::assert_json_snapshot!("gitlab", issues);
}

#[test]
fn junit() {
    insta::assert_snapshot!("junit", formatted("junit"));
}

#[test]
fn rdjson() {
    let result: Value = serde_json::from_str(&formatted("rdjson")).unwrap();
    insta::assert_json_snapshot!("rdjson", result);
}

/// A program that reads a document wants one where nothing was found, too.
#[test]
fn documents_are_there_when_nothing_is_found() {
    for format in DOCUMENTS {
        let output = run(&["check", "no/such/file.ptx", "--format", format]);
        assert_eq!(output.status.code(), Some(2));
        let text = stdout(&output);
        let begins = if format == "junit" { "<?xml" } else { "{[" };
        assert!(text.starts_with(|first| begins.contains(first)), "{format}: {text}");
    }
}

fn check(text: &[u8], format: &str) -> String {
    let output = with_stdin(&["check", "-", "--format", format, "--stdin-filename", "./a/k.ptx"], text);
    stdout(&output)
}

fn issues(text: &str) -> Vec<Value> {
    serde_json::from_str(&check(text.as_bytes(), "gitlab")).unwrap()
}

fn fingerprints(issues: &[Value]) -> Vec<&str> {
    issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect()
}

const KERNEL: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 t;\n\
    tcgen05.wait::ld.sync;\ntcgen05.wait::ld.sync;\ntcgen05.wait::st.sync; tcgen05.wait::st.sync;\n\
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48;\n}\n";

/// Lines before a finding, and its indentation, do not make another finding of it.
#[test]
fn fingerprints_are_stable_and_unique() {
    let before = issues(KERNEL);
    let names = fingerprints(&before);
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((names.len(), unique.len()), (5, 5));

    let moved =
        issues(&KERNEL.replace(".reg", "\n// a remark\n    .reg").replace("\ntcgen05", "\n\ttcgen05"));
    assert_eq!(fingerprints(&moved), names);
    assert_ne!(moved[0]["location"], before[0]["location"]);
    assert_eq!(before[0]["location"]["path"], "a/k.ptx");

    let changed = issues(&KERNEL.replace("t, 48", "t, 40"));
    assert_eq!(fingerprints(&changed)[..4], names[..4]);
    assert_ne!(fingerprints(&changed)[4], names[4]);
}

/// The same file twice, and the same findings in another file.
#[test]
fn fingerprints_are_unique_among_files() {
    let path = "fixtures/rules/TC301/invalid_48.ptx";
    let directory = scratch("fingerprints");
    let copy = directory.join("copy.ptx");
    fs::copy(crate::common::root().join(path), &copy).unwrap();
    let output = run(&["check", path, path, copy.to_str().unwrap(), "--format", "gitlab"]);
    let issues: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let mut names = fingerprints(&issues);
    names.sort_unstable();
    names.dedup();
    assert_eq!((issues.len(), names.len()), (3, 3));
}

/// Columns of this format count bytes, and a suggestion is one text for one range.
#[test]
fn rdjson_suggestions_can_be_made() {
    let text = ".version 9.0\n.target sm_100a\n.entry k() {\n/* é */ tcgen05.wait::ld;\n}\n";
    let result: Value = serde_json::from_str(&check(text.as_bytes(), "rdjson")).unwrap();
    assert_eq!(result["severity"], "ERROR");
    let mut fixed: Vec<String> = Vec::new();
    for finding in result["diagnostics"].as_array().unwrap() {
        assert_eq!(finding["location"]["range"]["start"]["line"], 4);
        let suggestion = &finding["suggestions"][0];
        let place =
            |end: &str, key: &str| usize::try_from(suggestion["range"][end][key].as_u64().unwrap()).unwrap();
        assert_eq!((place("start", "line"), place("end", "line")), (4, 4));
        let mut line = text.lines().nth(3).unwrap().to_owned();
        line.replace_range(
            place("start", "column") - 1..place("end", "column") - 1,
            suggestion["text"].as_str().unwrap(),
        );
        fixed.push(line);
    }
    fixed.sort_unstable();
    assert_eq!(fixed, ["/* é */ tcgen05.wait::ld.aligned;", "/* é */ tcgen05.wait::ld.sync;"]);
}

/// XML has no way to write most control characters.
#[test]
fn junit_is_xml_whatever_the_text_is() {
    let text = b".version 9.0\n.target sm_100a\n.entry k() {\n\x01\xff<&\">]]>;\n}\n";
    let report = check(text, "junit");
    assert!(report.contains("<failure"), "{report}");
    assert!(!report.contains(|c: char| c.is_control() && c != '\n'), "{report}");
    let mut depth = 0;
    let mut reader = quick_xml::Reader::from_str(&report);
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(_) => depth += 1,
            quick_xml::events::Event::End(_) => depth -= 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
}

/// Only errors fail, as the exit status has it.
#[test]
fn junit_counts_what_failed() {
    let report = check(KERNEL.replace("wait::ld.sync", "wait::ld.aligned.sync").as_bytes(), "junit");
    assert_eq!(report.matches("<testcase").count(), 5);
    assert_eq!(report.matches("<failure").count(), 3);
    assert!(
        report.contains("<testsuites name=\"ptx-tc\" tests=\"5\" failures=\"3\" errors=\"0\">"),
        "{report}"
    );
}
