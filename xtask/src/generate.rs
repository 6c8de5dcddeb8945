//! Generated documentation: everything here is derived from the library's own data.

use std::fmt::Write as _;
use std::fs;

use ptx_check::isa::targets::{GATES, PtxVersion, TARGETS, TENSOR_TARGETS, Target, VERSIONS};
use ptx_check::{Options, Report, Source, Unit, check};
use ptx_render::simulation::{self, Simulated, SimulatedFile};
use ptx_render::timeline::Look;
use ptx_render::{Checked, Format};
use ptx_simulation::launch::{LaunchError, LaunchFile};
use ptx_simulation::{Kernel, Settings};

use crate::{Result, root};

mod coverage;
mod parser;
mod rule_docs;
mod svg;
mod targets;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail when something would change.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut files = vec![
        ("docs/finding.svg".to_owned(), picture("kernel.ptx")?),
        ("docs/finding-in-cuda.svg".to_owned(), picture("tmem.cuh")?),
        ("docs/hang.svg".to_owned(), picture_of_run("hang.ptx")?),
        ("docs/race.svg".to_owned(), picture_of_run("race.ptx")?),
        ("docs/gates.md".to_owned(), gates()),
        ("docs/coverage.md".to_owned(), coverage::page()?),
        ("docs/ptx-tc.schema.json".to_owned(), schema()?),
    ];
    files.extend(rule_docs::pages());
    files.extend(targets::pages());
    let mut current = rule_docs::remove_strangers(arguments.check)?;
    current &= parser::write(arguments.check)?;
    for (path, text) in files {
        let path_in_root = root().join(&path);
        if fs::read_to_string(&path_in_root).is_ok_and(|found| found == text) {
            continue;
        }
        if arguments.check {
            println!("{path} is not current; run `cargo xtask generate`");
            current = false;
        } else {
            fs::create_dir_all(path_in_root.parent().unwrap_or(&path_in_root))?;
            fs::write(path_in_root, text)?;
            println!("wrote {path}");
        }
    }
    Ok(current)
}

/// By which editors complete `ptx-tc.toml`.
fn schema() -> Result<String> {
    Ok(serde_json::to_string_pretty(&ptx_config::schema())? + "\n")
}

/// A finding as the terminal shows it.
fn picture(name: &str) -> Result<String> {
    let text = fs::read_to_string(root().join("docs").join(name))?;
    let source = Source::new(name, text)?;
    let report = check(&source, &Options::default());
    let mut colored = Vec::new();
    ptx_render::render(&[Checked::new(source, report)], Format::Human, true, &mut colored)?;
    Ok(svg::terminal(&format!("ptx-tc check {name}"), &String::from_utf8(colored)?))
}

/// What `simulate` shows of a kernel in docs/simulation.
fn picture_of_run(name: &str) -> Result<String> {
    let directory = root().join("docs/simulation");
    let source = Source::new(name, fs::read_to_string(directory.join(name))?)?;
    let unit = Unit::new(&source);
    let kernel = Kernel::new(&unit, "gemm").ok_or("no kernel")?;
    let file: LaunchFile = toml::from_str(&fs::read_to_string(directory.join("gemm.toml"))?)?;
    let launch = kernel.launch(&file, &mut |name| Err(LaunchError(name.to_owned())))?;
    let report = kernel.simulate(&launch, &Settings { records: true, ..Settings::default() })?;
    let mut colored = Vec::new();
    let look = Look { color: true, width: PICTURE };
    let checked = Checked::new(source, Report::default());
    let kernels = vec![Simulated::new(report, Vec::new(), 0.0)];
    let look = simulation::Look { color: true, picture: Some(look), ..simulation::Look::default() };
    simulation::human(&mut [SimulatedFile { checked, kernels }], look, &mut colored)?;
    let lines: Vec<String> = String::from_utf8(colored)?.lines().map(|line| cut(line, PICTURE)).collect();
    let command = format!("ptx-tc simulate {name} --launch gemm.toml --timeline");
    Ok(svg::terminal(&command, &lines.join("\n")))
}

/// Columns of the pictures of runs.
const PICTURE: usize = 120;

/// A line that is not wider, with its escape sequences.
fn cut(line: &str, most: usize) -> String {
    let (mut text, mut column, mut is_escape) = (String::new(), 0, false);
    for letter in line.chars() {
        is_escape |= letter == '\u{1b}';
        if is_escape || column < most {
            text.push(letter);
        } else if column == most {
            text.push('…');
        }
        column += usize::from(!is_escape);
        is_escape &= letter != 'm';
    }
    text
}

/// What exists where and since when.
fn gates() -> String {
    let mut text = String::from(
        "# Availability\n\nGenerated from `src/isa/src/targets.rs` by `cargo xtask generate`. `cargo xtask oracle` compares all of it with\n\
         the assembler. A cell holds the first PTX ISA version that has the feature on the target, or a dash if\n\
         no version has it. [What each GPU allows](targets/README.md) has all other instructions, with a page for each GPU.\n\n",
    );
    let since = |target: Target| TARGETS.iter().find(|(it, _)| *it == target).map(|&(_, since)| since);
    let _ = write!(text, "| feature |");
    for target in TENSOR_TARGETS {
        let _ = write!(text, " {target} |");
    }
    let _ = write!(text, "\n|---|{}\n| tcgen05 |", "---|".repeat(TENSOR_TARGETS.len()));
    for target in TENSOR_TARGETS {
        let _ = write!(text, " {} |", since(*target).map_or("–".to_owned(), |it| it.to_string()));
    }
    for gate in GATES {
        let _ = write!(text, "\n| {} |", gate.feature);
        for target in TENSOR_TARGETS {
            let first =
                gate.targets.contains(target).then(|| since(*target)).flatten().map(|it| it.max(gate.since));
            let _ = write!(text, " {} |", first.map_or("–".to_owned(), |it| it.to_string()));
        }
    }
    let recent: Vec<String> =
        VERSIONS.iter().filter(|it| **it >= PtxVersion::new(8, 6)).map(ToString::to_string).collect();
    let _ = write!(text, "\n\nPTX ISA versions with tcgen05: {}.\n", recent.join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_generated_is_current() {
        assert!(run(&Arguments { check: true }).unwrap(), "run `cargo xtask generate`");
    }
}
