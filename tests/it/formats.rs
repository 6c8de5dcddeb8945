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
    insta::assert_json_snapshot!("sarif", log, {
        ".runs[].tool.driver.semanticVersion" => "[version]",
        ".runs[].results[].ruleIndex" => "[index]",
    });
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
    for format in ["human", "concise", "json", "sarif", "github"] {
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
