//! A page for each rule, and their index.

use std::fmt::Write as _;
use std::fs;

use ptx_check::diagnostic::{Ptxas, Severity};
use ptx_check::rules::{Code, RULES, Rule};

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
    if let Some((command, section)) = drawing(rule.code.name()) {
        let _ = write!(
            text,
            "\n## See it\n\n```console\nptx-tc draw {command}\n```\n\ndraws what this rule is about: see \
             [pictures](../pictures.md#{section}).\n"
        );
    }
    let found: Vec<String> = found(rule.code.as_str()).collect();
    if !found.is_empty() {
        let _ = write!(text, "\n## Found in shipped kernels\n\n{}\n", found.join("\n"));
    }
    // An analysis limit is shown by no text alone.
    if rule.code != Code::AnalysisLimit {
        let _ = write!(
            text,
            "\n## Try it\n\n[An example in the playground](https://ptx-tc.github.io/play/#rule={})\n",
            rule.code
        );
    }
    let _ = write!(
        text,
        "\n## Suppress it\n\n```ptx\n// ptx-tc: allow({})\n```\n\nafter the instruction or on the line above it.\n",
        rule.code.name()
    );
    text
}

/// The sections of `docs/found.md` that a rule has found, as items of a list.
fn found(code: &str) -> impl Iterator<Item = String> {
    const PAGE: &str = include_str!("../../../docs/found.md");
    let link = format!("](rules/{code}.md)");
    let sections = PAGE.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    sections.filter_map(move |(title, text)| {
        let row = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")));
        // What only the excerpt has comes after a semicolon.
        let is_found = row("found")?.split(';').next()?.contains(&link);
        let package =
            row("package")?.split([',', ':', '(']).next()?.split(". ").next()?.trim_end_matches(" |");
        // As the forge makes it.
        let kept =
            title.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
        let anchor: String = kept.map(|it| if it == ' ' { '-' } else { it.to_ascii_lowercase() }).collect();
        is_found.then(|| format!("- [{title}](../found.md#{anchor}), in {}", package.trim_end()))
    })
}

/// The command that draws what a rule is about, and the section that shows such pictures.
fn drawing(rule: &str) -> Option<(&'static str, &'static str)> {
    const DESCRIPTORS: &str = "descriptors";
    const OPERANDS: &str = "operands-in-shared-memory";
    const MATRICES: &str = "the-matrices-of-a-multiply-in-tensor-memory";
    Some(match rule {
        "sparsity-selector" => ("idesc 0x08200490 --kind f16", DESCRIPTORS),
        "zero-column-mask" => ("zero-mask 0x0003028000000000", DESCRIPTORS),
        "swizzled-stride" | "swizzle-start" | "swizzled-copy-start" => {
            ("smem 0x4000404000010040 --type bf16", OPERANDS)
        }
        "accumulator-columns" | "lane-alignment" | "transposed-a-in-tensor-memory" => {
            ("mma --kind f16 m=64 n=128 a=bf16", MATRICES)
        }
        "block-scale" | "scale-vector-size" => {
            ("mma --kind mxf4nvf4 m=128 n=128 scale-vec=block16", MATRICES)
        }
        "shape-num"
        | "half-split-offset"
        | "lane-restriction"
        | "lanes-of-another-warp"
        | "lanes-of-first-warp" => ("ld 16x256b x4", "loads-and-stores"),
        "cp-multicast" | "cp-format" => ("cp 64x128b warpx2::02_13", "copies-from-shared-memory"),
        "column-range" | "never-written" | "outside-tensor-memory" => ("tmem kernel.ptx", "kernels"),
        "deadlock" => ("timeline kernel.ptx --launch launch.toml", "runs"),
        _ if rule.starts_with("idesc-") => ("idesc 0x08200490 --kind f16", DESCRIPTORS),
        _ if rule.starts_with("smem-desc-") => ("smem 0x4000404000010040 --type bf16", OPERANDS),
        _ if rule.starts_with("mbarrier-") => ("barriers kernel.ptx", "kernels"),
        _ => return None,
    })
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
