//! Recorded verdicts: `cargo test` holds them where the package is not.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use ptx_check::isa::targets::Target;

use super::assembler::Assembler;
use super::{Case, cases, known, predicts_acceptance};
use crate::{Result, root};

/// Statements that are recorded.
const RECORDED: usize = 3_000;

/// Writes `fixtures/ptxas/`.
pub(crate) fn write(assembler: &Assembler, seed: u64) -> Result<bool> {
    let directory = root().join("fixtures/ptxas");
    let version = assembler.version();
    let mut rules = format!(
        "# Verdicts of {version} on the rules' fixtures; written by `cargo xtask oracle --record`.\n"
    );
    for path in fixtures()? {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let output = if path.extension().is_some_and(|it| it == "ptx") {
            assembler.run(&text, target_of(&text), "record.ptx")?
        } else {
            assembler.compile(&path)?
        };
        let verdict = if output.accepted { "accepts" } else { "rejects" };
        let message = output
            .messages
            .lines()
            .find(|line| line.contains("error") || line.contains("fatal"))
            .map(|line| line.rsplit_once("  : ").or(line.split_once(": ")).map_or(line, |(_, it)| it).trim())
            .unwrap_or_default();
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        // The assembler names the file that it was given.
        let message = message.split(" '").next().filter(|_| message.contains("record.")).unwrap_or(message);
        rules += &format!("{name}\t{verdict}\t{message}\n");
    }
    fs::write(directory.join("rules.tsv"), rules)?;
    fs::write(directory.join("host.tsv"), host(assembler)?)?;
    let path = directory.join("setmaxnreg.tsv");
    fs::write(&path, register_changes(assembler, &fs::read_to_string(&path)?)?)?;

    let cases: Vec<Case> = cases(RECORDED, seed);
    let verdicts = assembler.ask(&cases)?;
    let mut text = format!(
        "# Verdicts of {version} on statements in module.ptx; written by `cargo xtask oracle --record`.\n\
         # target, version, verdict, whether ptx-tc is known to differ, statement\n"
    );
    for (case, accepted) in cases.iter().zip(verdicts) {
        let findings = case.check();
        let differs = predicts_acceptance(&findings) != accepted;
        if differs && known::reason(case, &findings, accepted).is_none() {
            return Err(format!("an unexplained difference cannot be recorded: {case:?}").into());
        }
        text += &format!(
            "{}\t{}\t{}\t{}\t{}\n",
            case.target,
            case.version,
            if accepted { "accepts" } else { "rejects" },
            if differs { "differs" } else { "agrees" },
            case.statement
        );
    }
    fs::write(directory.join("statements.tsv"), text)?;
    println!("wrote fixtures/ptxas/rules.tsv, host.tsv, setmaxnreg.tsv and statements.tsv");
    Ok(true)
}

/// What it says of the registers in modules, which stand in the file that was written the last time.
fn register_changes(assembler: &Assembler, recorded: &str) -> Result<String> {
    let mut text = format!(
        "# What {} says of `setmaxnreg` in modules; written by `cargo xtask oracle --record`.\n\
         # `accepts`, or the remark with which it ignores or refuses the instruction; the module\n",
        assembler.version()
    );
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let (_, module) = line.split_once('\t').ok_or("a line without a module")?;
        let output = assembler.run(&format!("{module}\n"), target_of(module), "record.ptx")?;
        let mut lines = output.messages.lines();
        let remark = if output.accepted {
            lines.find(|line| line.contains("'setmaxnreg' ignored"))
        } else {
            let refused = lines.find(|line| line.contains("Insufficient registers"));
            Some(refused.ok_or_else(|| format!("{}{module}", output.messages))?)
        };
        let remark = remark.and_then(|line| line.split_once('(')?.1.split_once(')')).map(|(code, _)| code);
        text += &format!("{}\t{module}\n", remark.unwrap_or("accepts"));
    }
    Ok(text)
}

/// What nvcc says of each function of the host files that it reads.
fn host(assembler: &Assembler) -> Result<String> {
    let mut text = format!(
        "# Verdicts of nvcc with {} on the functions of host files; written by `cargo xtask oracle --record`.\n\
         # file, name of the function, verdict, first message\n",
        assembler.version()
    );
    for folder in ["sound", "broken"] {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(root().join("fixtures/host").join(folder))?.flatten().map(|it| it.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "cu" || it == "cuh"));
        // Those that need what other files have, or another compiler.
        paths
            .retain(|path| !["names.cu", "vendors.cu", "alone.cu"].iter().any(|other| path.ends_with(other)));
        paths.sort();
        for path in paths {
            let source = fs::read_to_string(&path)?;
            let functions = functions(&source);
            for (name, range) in &functions {
                // The others are left out: of several mistakes, one hides the next.
                let mut alone = source.clone();
                for (_, other) in functions.iter().rev().filter(|(_, other)| other != range) {
                    alone.replace_range(other.clone(), "");
                }
                // What nobody calls is compiled only where others may.
                let alone = alone.replace("__forceinline__", "__noinline__").replace("#pragma once\n", "");
                let output = assembler.compile_text(&alone, &["-rdc=true"])?;
                let verdict = if output.accepted { "accepts" } else { "rejects" };
                let message = output.messages.lines().find(|line| line.contains("error")).unwrap_or_default();
                let message = message.rsplit_once("  : ").map_or(message, |(_, message)| message).trim();
                let file = path.strip_prefix(root()).unwrap_or(&path).display();
                text += &format!("{file}\t{name}\t{verdict}\t{message}\n");
            }
        }
    }
    Ok(text)
}

/// The functions of a file, names and places: each ends with a brace at the start of a line. Instances of
/// a template belong to it.
fn functions(text: &str) -> Vec<(String, Range<usize>)> {
    let mut found: Vec<(String, Range<usize>)> = Vec::new();
    let mut at = 0;
    let mut template = None;
    let mut open: Option<(String, usize)> = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.starts_with("template <") {
            template = Some(at);
        } else if line.starts_with("template ") {
            if let Some((_, range)) = found.last_mut() {
                range.end = end;
            }
        } else if line.starts_with("__device__") {
            let head = line.split('(').next().unwrap_or_default();
            let name = head.split_whitespace().last().unwrap_or_default();
            open = Some((name.to_owned(), template.take().unwrap_or(at)));
        } else if line.starts_with('}')
            && let Some((name, start)) = open.take()
        {
            found.push((name, start..end));
        }
        at = end;
    }
    found
}

fn fixtures() -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for rule in fs::read_dir(root().join("fixtures/rules"))?.flatten() {
        for file in fs::read_dir(rule.path())?.flatten() {
            // What no compiler here reads has no verdict.
            if file.path().extension().is_some_and(|it| it == "ptx" || it == "cu") {
                paths.push(file.path());
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// The target to assemble a module for: its own, or one that exists.
pub(crate) fn target_of(text: &str) -> Target {
    let named = text
        .split_once(".target")
        .and_then(|(_, rest)| rest.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .and_then(|name| name.parse().ok());
    named.filter(|target: &Target| target.since().is_some()).unwrap_or(Target::a(100))
}
