//! What is said of the packages: on the terminal, and in `docs/corpus.md`.

use std::fmt::Write;
use std::fs;

use ptx_tc::diagnostic::Severity;

use super::packages::Package;
use super::{Tally, judged};
use crate::{Result, root};

/// What was found in a package, with some of the places.
pub(crate) fn print(package: &Package, tally: &Tally, examples: usize) {
    println!("\n{} {}: {}", package.name, package.version, package.about);
    println!(
        "  {} files ({:.0} MB), {} with PTX; {} statements counted, {} found; {} instructions, {} of tcgen05, {} \
         known in part, {} unknown",
        tally.files,
        tally.megabytes,
        tally.files_with_ptx,
        tally.counted,
        tally.found,
        tally.instructions,
        tally.tensor,
        tally.open,
        tally.unknown_instructions()
    );
    let list = |what: &str, places: &[String]| {
        if !places.is_empty() {
            println!("  {what}: {}", places.len());
            places.iter().take(examples).for_each(|place| println!("      {place}"));
        }
    };
    list("only counted", &tally.missed);
    list("only found", &tally.extra);
    list("not read by Python", &tally.unreadable);
    if tally.other_assembly > 0 {
        println!("  assembly that is no PTX: {}", tally.other_assembly);
    }
    for (opcode, count) in &tally.unknown {
        println!("  unknown: {count} × {opcode}");
    }
    for ((severity, rule), places) in tally.findings.iter().rev() {
        list(&format!("{severity} {rule}"), places);
    }
}

/// One line for each package.
pub(crate) fn summary(tallies: &[(&Package, Tally)]) {
    println!("\n{}", table(tallies));
}

fn table(tallies: &[(&Package, Tally)]) -> String {
    let mut text = String::from(
        "| package | files | with PTX | statements | found | instructions | of tcgen05 | operation known | errors | \
         warnings |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut sum = Tally::default();
    for (package, tally) in tallies {
        text += &row(&format!("{} {}", package.name, package.version), tally);
        sum.files += tally.files;
        sum.files_with_ptx += tally.files_with_ptx;
        sum.counted += tally.counted;
        sum.missed.extend(tally.missed.iter().cloned());
        sum.found += tally.found;
        sum.instructions += tally.instructions;
        sum.tensor += tally.tensor;
        sum.open += tally.open;
        for (opcode, count) in &tally.unknown {
            *sum.unknown.entry(opcode.clone()).or_default() += count;
        }
        for (rule, places) in &tally.findings {
            sum.findings.entry(rule.clone()).or_default().extend(places.iter().cloned());
        }
    }
    text + &row("**all**", &sum)
}

fn row(name: &str, tally: &Tally) -> String {
    let findings = |wanted: Severity| -> usize {
        tally.findings.iter().filter(|((severity, _), _)| *severity == wanted).map(|(_, it)| it.len()).sum()
    };
    let judged = tally.instructions - tally.open;
    let unknown = tally.unknown_instructions();
    let known = match judged {
        0 => "-".to_owned(),
        _ if unknown == 0 => "100 %".to_owned(),
        // Never rounded up to all of them.
        _ => format!("{:.3} %", (100.0 - unknown as f64 * 100.0 / judged as f64).min(99.999)),
    };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {known} | {} | {} |\n",
        tally.files,
        tally.files_with_ptx,
        tally.counted,
        tally.counted - tally.missed.len(),
        tally.instructions,
        tally.tensor,
        findings(Severity::Error),
        findings(Severity::Warning)
    )
}

/// Writes the generated part of `docs/corpus.md`, which is all of it.
pub(crate) fn write(tallies: &[(&Package, Tally)]) -> Result<()> {
    let mut text = String::from(HEAD);
    text += &table(tallies);
    text += BETWEEN;
    for (package, tally) in tallies {
        let judgements = judged::of(package);
        if judgements.is_empty() && tally.missed.is_empty() && tally.unknown.is_empty() {
            continue;
        }
        writeln!(text, "\n### {}\n", package.name)?;
        for judgement in judgements {
            writeln!(text, "- {} × {}: {}", judgement.count, judgement.what, judgement.verdict)?;
        }
    }
    let path = root().join("docs/corpus.md");
    fs::write(&path, text)?;
    println!("wrote docs/corpus.md");
    Ok(())
}

const HEAD: &str = "\
# What people ship

`cargo xtask corpus` installs packages of the Python package index by name and version, checks their sources as a user
would, and compares what it finds with a second count. This page is written by `cargo xtask corpus --record`.

*Statements* are counted by readers that share no code with the checker: a state machine for C++, Python's own parser
for Python. *Found* says how many of those the checker reads. *Operation known* is the share of instructions whose
opcode, with all its words, the tables have; instructions of which a part comes from a macro of another file or a value
of Python are not judged. Infos are left out.

";

const BETWEEN: &str = "
## What remains

Every error, every warning, and every statement that the checker does not find, judged one by one.
";
