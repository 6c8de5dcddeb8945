//! What is said of the packages: on the terminal, and in `docs/corpus.md`.

use std::fmt::Write;
use std::fs;

use ptx_check::diagnostic::Severity;

use super::compiled::Modules;
use super::packages::{Compiled, Package};
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
    let path = root().join(PAGE);
    // What is said of compiled kernels stays.
    let old = fs::read_to_string(&path).unwrap_or_default();
    if let Some(start) = old.find(COMPILED_HEAD) {
        writeln!(text, "\n{}", old[start..].trim_end())?;
    }
    fs::write(&path, text)?;
    println!("wrote {PAGE}");
    Ok(())
}

/// What was found in the modules of a package, with some of the places.
pub(crate) fn print_compiled(package: &Compiled, modules: &Modules, examples: usize) {
    println!("\n{} {}: {}", package.name, package.version, package.about);
    println!(
        "  {} modules ({:.1} MB) for {}; {} instructions of tcgen05; checked in {:.2} s, assembled in {:.1} s",
        modules.count,
        modules.megabytes,
        modules.counted_targets(),
        modules.tensor,
        modules.seconds,
        modules.assembler_seconds,
    );
    let list = |what: &str, places: &[String]| {
        if !places.is_empty() {
            println!("  {what}: {}", places.len());
            places.iter().take(examples).for_each(|place| println!("      {place}"));
        }
    };
    list("refused", &modules.refused);
    list("verdict differs", &modules.differ);
    for (opcode, count) in &modules.unknown {
        println!("  unknown: {count} × {opcode}");
    }
    for ((severity, rule), places) in modules.findings.iter().rev() {
        list(&format!("{severity} {rule}"), places);
    }
}

/// One line for each package.
pub(crate) fn summary_compiled(found: &[(&Compiled, Modules)]) {
    println!("\n{}", table_compiled(found));
}

fn table_compiled(found: &[(&Compiled, Modules)]) -> String {
    let mut text = String::from(
        "| package | compiled by | targets | modules | MB | of tcgen05 | errors | warnings | infos | assembler refuses | \
         checked, s | assembled, s |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut sum = Modules::default();
    for (package, modules) in found {
        text += &row_compiled(&format!("{} {}", package.name, package.version), package.about, modules);
        sum.count += modules.count;
        sum.megabytes += modules.megabytes;
        sum.tensor += modules.tensor;
        sum.seconds += modules.seconds;
        sum.assembler_seconds += modules.assembler_seconds;
        sum.refused.extend(modules.refused.iter().cloned());
        for (target, count) in &modules.targets {
            *sum.targets.entry(target.clone()).or_default() += count;
        }
        for (rule, places) in &modules.findings {
            sum.findings.entry(rule.clone()).or_default().extend(places.iter().cloned());
        }
    }
    text + &row_compiled("**all**", "", &sum)
}

fn row_compiled(name: &str, about: &str, modules: &Modules) -> String {
    let findings = |wanted: Severity| -> String {
        let of_rule = modules.findings.iter().filter(|((severity, _), _)| *severity == wanted);
        let counts: Vec<String> = of_rule.map(|((_, code), it)| format!("{} {code}", it.len())).collect();
        if counts.is_empty() { "0".to_owned() } else { counts.join(", ") }
    };
    format!(
        "| {name} | {about} | {} | {} | {:.1} | {} | {} | {} | {} | {} | {:.2} | {:.1} |\n",
        modules.counted_targets(),
        modules.count,
        modules.megabytes,
        modules.tensor,
        findings(Severity::Error),
        findings(Severity::Warning),
        findings(Severity::Info),
        modules.refused.len(),
        modules.seconds,
        modules.assembler_seconds,
    )
}

/// Writes the part of `docs/corpus.md` about what packages compile, which is its end.
pub(crate) fn write_compiled(found: &[(&Compiled, Modules)]) -> Result<()> {
    let path = root().join(PAGE);
    let old = fs::read_to_string(&path)?;
    let before = old.find(COMPILED_HEAD).map_or(old.as_str(), |start| &old[..start]);
    let mut text = format!("{}\n\n{COMPILED_HEAD}{COMPILED_TEXT}", before.trim_end());
    text += &table_compiled(found);
    let (ours, theirs): (f64, f64) =
        found.iter().fold((0.0, 0.0), |sum, (_, it)| (sum.0 + it.seconds, sum.1 + it.assembler_seconds));
    writeln!(
        text,
        "\nAll of it is checked {:.0} times as fast as it is assembled. What was assembled in an earlier run is not assembled again; its time is that of then.",
        theirs / ours
    )?;
    text += COMPILED_BETWEEN;
    for (package, _) in found {
        let judgements = judged::of_compiled(package);
        if judgements.is_empty() {
            continue;
        }
        writeln!(text, "\n#### {}\n", package.name)?;
        for judgement in judgements {
            writeln!(text, "- {} × {}: {}", judgement.count, judgement.what, judgement.verdict)?;
        }
    }
    fs::write(&path, text)?;
    println!("wrote {PAGE}");
    Ok(())
}

const PAGE: &str = "docs/corpus.md";

const COMPILED_HEAD: &str = "## What packages compile\n";

const COMPILED_TEXT: &str = "
`cargo xtask corpus --compiled` installs these packages, compiles their kernels on a machine without a GPU, checks every
module that has an instruction of tcgen05, and gives it to ptxas (`-O1`). This part of the page is written by
`cargo xtask corpus --compiled --record`. Modules of which only names differ are counted once for each target. Of rules
that found something the table has the number of findings.

Kernels are compiled for what they are written for, `sm_100a` or `sm_103a`; every third case of some packages also for
`sm_110a` and `sm_107a`: nvcc, CuTe DSL and Triton all know them. The kernels in Gluon and tilelang are
ours (`xtask/lab/src/corpus/compile`), in the ways of their tutorials: what is new to the checker is what the compilers make
of them. Those of fbtriton are its tutorials of TLX and of kernels that its compiler specialises for warps by itself.

";

const COMPILED_BETWEEN: &str = "
### What remains in what packages compile

Every finding, judged one by one.
";

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
