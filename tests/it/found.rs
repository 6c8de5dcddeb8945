//! What `docs/found.md` says of its excerpts: ptx-tc finds in each file exactly the codes that the section names.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::common::{root, run, stderr, stdout};

const PAGE: &str = "docs/found.md";
const FIXTURES: &str = "fixtures/found/";

/// A mistake: its title, and the text of its section.
struct Section<'a> {
    title: &'a str,
    text: &'a str,
}

impl<'a> Section<'a> {
    /// A row of its table.
    fn row(&self, name: &str) -> Option<&'a str> {
        self.text.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")))
    }

    /// The codes that have found it.
    fn codes(&self) -> BTreeSet<&'a str> {
        let row = self.row("found").unwrap();
        row.split("](rules/").skip(1).map(|rest| rest.split(".md").next().unwrap()).collect()
    }

    fn commands(&self) -> impl Iterator<Item = &'a str> {
        self.text.lines().filter_map(|line| line.strip_prefix("ptx-tc "))
    }

    /// The files that it checks and runs.
    fn fixtures(&self) -> BTreeSet<&'a str> {
        let words = self.commands().filter(|it| !it.starts_with("draw ")).flat_map(str::split_whitespace);
        words.filter_map(|word| word.strip_prefix(FIXTURES)).collect()
    }

    /// The excerpt.
    fn excerpt(&self) -> impl Iterator<Item = &'a str> {
        let is_fence = |line: &&str| line.starts_with("```");
        let start = |line: &&str| !["```ptx", "```cuda"].contains(line);
        self.text.lines().skip_while(start).skip(1).take_while(move |line| !is_fence(line)).map(str::trim)
    }
}

fn sections(page: &str) -> Vec<Section<'_>> {
    let sections = page.split("\n## ").skip(1);
    sections
        .map(|section| section.split_once('\n').unwrap())
        .map(|(title, text)| Section { title, text })
        .collect()
}

/// The codes in the output of a command.
fn found(command: &str) -> BTreeSet<String> {
    let mut words: Vec<&str> = command.split_whitespace().collect();
    words.extend(["--format", "json"]);
    let output = run(&words);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let mut codes = BTreeSet::new();
    collect(&report, &mut codes);
    codes
}

fn collect(value: &Value, codes: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(code)) = fields.get("code") {
                codes.insert(code.clone());
            }
            fields.values().for_each(|it| collect(it, codes));
        }
        Value::Array(values) => values.iter().for_each(|it| collect(it, codes)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn each_section_is_true_of_its_file() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let sections = sections(&page);
    assert!(sections.len() >= 24, "{} sections", sections.len());
    let mut all = BTreeSet::new();
    for section in &sections {
        let title = section.title;
        for row in ["package", "found", "PTX ISA", "it can cost"] {
            assert!(section.row(row).is_some(), "{title}: no row `{row}`");
        }
        let commands = section.commands().filter(|it| !it.starts_with("draw "));
        let codes: BTreeSet<String> = commands.flat_map(found).collect();
        assert!(codes.iter().eq(section.codes()), "{title}: {codes:?}");
        let fixtures = section.fixtures();
        assert_eq!(fixtures.len(), 1, "{title}: {fixtures:?}");
        for fixture in fixtures {
            assert!(all.insert(fixture), "{title}: {fixture} has a section already");
            let text = fs::read_to_string(root().join(FIXTURES).join(fixture)).unwrap();
            let mut lines = text.lines().map(str::trim);
            let mut count = 0;
            for line in section.excerpt() {
                assert!(lines.any(|it| it == line), "{title}: `{line}` is not in {fixture}");
                count += 1;
            }
            assert!((1..=12).contains(&count), "{title}: {count} lines");
        }
    }
    let files = fs::read_dir(root().join(FIXTURES)).unwrap();
    let names: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    assert!(names.iter().eq(all), "files without a section");
}
