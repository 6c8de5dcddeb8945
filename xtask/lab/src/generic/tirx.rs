//! The second oracle: what the PTX table of another project renders.
//!
//! The package `apache-tvm-tirx` has a table of PTX of its own, from which it renders inline assembly. Each of its
//! entries is rendered a few times with the package's own code; what ptxas accepts of that must have no error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use ptx_check::isa::targets::{PtxVersion, Target};
use rayon::prelude::*;

use super::mistakes;
use crate::oracle::Case;
use crate::oracle::assembler::{self, Assembler};
use crate::{Result, root, target_directory};

/// The package and version that are installed.
const PACKAGE: &str = "apache-tvm-tirx==0.1.0a4";

/// Targets and versions that between them have every instruction.
const PLACES: &[(Target, PtxVersion)] = &[
    (Target::a(100), PtxVersion::LATEST),
    (Target::a(107), PtxVersion::LATEST),
    (Target::a(90), PtxVersion::LATEST),
    (Target::a(120), PtxVersion::LATEST),
    (Target::a(103), PtxVersion::LATEST),
    (Target::plain(75), PtxVersion::new(6, 3)),
];

#[derive(Debug, clap::Args)]
#[group(id = "second-oracle")]
pub(crate) struct Arguments {
    /// Compare with the table of PTX in another project's package.
    #[arg(long)]
    pub(super) tirx: bool,
    /// How many statements of each entry of that table there are, at least with each of its words one.
    #[arg(long, default_value_t = 12, requires = "tirx")]
    renderings: usize,
    /// List the entries of which the assembler accepts no statement.
    #[arg(long, requires = "tirx")]
    refused: bool,
}

/// Finds the package in the target directory, or installs it there: the folder of the table.
fn install() -> Result<PathBuf> {
    let home = target_directory().join("tirx");
    let is_table = |path: &std::path::Path| path.ends_with("cuda/ptx/table.py");
    let find = || assembler::find_where(&home, &is_table);
    if find().is_none() {
        println!("installing {PACKAGE} into {}", home.display());
        assembler::command(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let arguments = ["install", "--quiet", "--no-deps", PACKAGE];
        assembler::command(Command::new(home.join("bin/pip")).args(arguments))?;
    }
    let table = find().ok_or("the package brought no table of PTX")?;
    Ok(table.parent().map(std::path::Path::to_path_buf).unwrap_or_default())
}

pub(super) fn run(assembler: &Assembler, arguments: &Arguments, only: &str, seed: u64) -> Result<bool> {
    let output = Command::new("python3")
        .arg(root().join("xtask/lab/src/generic/tirx.py"))
        .arg(install()?)
        .args([arguments.renderings.to_string(), seed.to_string()])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in text.lines() {
        let [_, entry, statement] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("malformed line: {line}").into());
        };
        if statement.trim_start_matches(['{', ' ']).starts_with(only) || statement.contains(only) {
            entries.entry(entry).or_default().insert(statement);
        }
    }
    let mut pending: Vec<(&str, &str)> = entries
        .iter()
        .flat_map(|(entry, all)| all.iter().map(move |statement| (*entry, *statement)))
        .collect();
    let mut sound: Vec<(&str, Case)> = Vec::new();
    let mut refused: BTreeMap<&str, String> = BTreeMap::new();
    for &(target, version) in PLACES {
        let case =
            |(_, statement): &(&str, &str)| Case { statement: (*statement).to_owned(), target, version };
        let cases: Vec<Case> = pending.iter().map(case).collect();
        let verdicts = assembler.explain(&cases)?;
        let mut left = Vec::new();
        for ((it, case), verdict) in pending.into_iter().zip(cases).zip(verdicts) {
            match verdict {
                None => sound.push((it.0, case)),
                Some(said) => {
                    refused.insert(it.0, format!("{} ({said})", it.1));
                    left.push(it);
                }
            }
        }
        pending = left;
    }
    let accepted: BTreeSet<&str> = sound.iter().map(|(entry, _)| *entry).collect();
    let mut errors: BTreeMap<&str, Vec<(&Case, String)>> = BTreeMap::new();
    let findings: Vec<BTreeSet<String>> = sound.par_iter().map(|(_, case)| mistakes::errors(case)).collect();
    for ((entry, case), mut codes) in sound.iter().map(|(entry, case)| (*entry, case)).zip(findings) {
        // It is about the kernel, which has this one statement.
        codes.remove("TC304");
        if !codes.is_empty() {
            let codes: Vec<String> = codes.into_iter().collect();
            errors.entry(entry).or_default().push((case, codes.join(" ")));
        }
    }
    for (entry, all) in &errors {
        println!("ERROR, {} ×: {entry}", all.len());
        for (case, codes) in all.iter().take(3) {
            println!("    {codes}  {} {} | {}", case.target, case.version, case.statement);
        }
    }
    if arguments.refused {
        for (entry, said) in refused.iter().filter(|(entry, _)| !accepted.contains(*entry)) {
            println!("refused: {entry}: {said}");
        }
    }
    println!(
        "{} statements of {} families, {} families accepted by {}; {} errors in {} families",
        entries.values().map(BTreeSet::len).sum::<usize>(),
        entries.len(),
        accepted.len(),
        assembler.version(),
        errors.values().map(Vec::len).sum::<usize>(),
        errors.len()
    );
    Ok(errors.is_empty())
}
