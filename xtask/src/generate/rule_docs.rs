//! A page for each rule, and their index.

use std::fmt::Write as _;
use std::fs;

use ptx_check::diagnostic::{Ptxas, Severity};
use ptx_check::rules::{RULES, Rule};

use crate::{Result, root};

const DIRECTORY: &str = "docs/rules";

/// The paths and texts of all pages.
pub(super) fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> =
        RULES.iter().map(|rule| (format!("{DIRECTORY}/{}.md", rule.code), page(rule))).collect();
    pages.push((format!("{DIRECTORY}/README.md"), index()));
    pages
}

/// Pages of rules that do not exist any more; `check` only says so. Returns whether there are none.
pub(super) fn remove_strangers(check: bool) -> Result<bool> {
    let mut current = true;
    let Ok(entries) = fs::read_dir(root().join(DIRECTORY)) else { return Ok(true) };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = name == "README.md" || RULES.iter().any(|rule| name == format!("{}.md", rule.code));
        if known {
            continue;
        }
        if check {
            println!("{DIRECTORY}/{name} is about no rule; run `cargo xtask generate`");
            current = false;
        } else {
            fs::remove_file(entry.path())?;
            println!("removed {DIRECTORY}/{name}");
        }
    }
    Ok(current)
}

fn page(rule: &Rule) -> String {
    let severity = match rule.code.severity() {
        Severity::Off => format!(
            "Off by default: select it by name, or give it a severity (`--severity {}=warning`).",
            rule.code
        ),
        severity => format!("Severity: {severity}."),
    };
    let ptxas = match rule.code.ptxas() {
        Ptxas::Rejects => "NVIDIA's assembler rejects the same input.",
        Ptxas::Silent => "NVIDIA's assembler says nothing.",
    };
    let mut text = format!("# {} {}\n\n{severity} {ptxas}\n", rule.code, rule.code.name());
    for line in rule.documentation().lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        // A heading stands apart from the text below it.
        if line.starts_with("## ") {
            let _ = writeln!(text, "\n{line}\n");
        } else if !line.is_empty() || !text.ends_with("\n\n") {
            let _ = writeln!(text, "{line}");
        }
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    let _ = write!(
        text,
        "\n## Suppress it\n\n```ptx\n// ptx-tc: allow({})\n```\n\nafter the instruction or on the line above it.\n",
        rule.code.name()
    );
    text
}

fn index() -> String {
    let mut text = String::from(
        "# The rules\n\nGenerated from the rules' documentation by `cargo xtask generate`. `ptx-tc explain CODE` shows a page in the\n\
         terminal.\n\n*severity* is the default; `off` means that the rule runs only where its code or name\n\
         is selected or has a severity. *ptxas* says whether NVIDIA's assembler rejects the same input or is silent.\n\n| code | name | severity | ptxas | finds |\n|---|---|---|---|---|\n",
    );
    for rule in RULES {
        let summary = rule.summary().replace('|', "\\|");
        let _ = writeln!(
            text,
            "| [{0}]({0}.md) | {1} | {2} | {3} | {summary} |",
            rule.code,
            rule.code.name(),
            rule.code.severity(),
            rule.code.ptxas()
        );
    }
    text
}
