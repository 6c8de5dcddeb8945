//! The time that a repository takes in which PTX stands here and there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Result, root, target_directory};

/// As a large repository of kernels has them.
const FILES: usize = 3_000;
const BYTES: usize = 50_000_000;
/// Of so many files one has PTX; of so many one has the word that its statements need.
const WITH_PTX: usize = 10;
const WITH_WORD: usize = 4;
/// As many as the machine of a continuous integration has.
const THREADS: &str = "2";

/// Measures `ptx-tc check` and `rg tcgen05`, the fastest way to read all of it.
pub(super) fn run(from: Option<&Path>, runs: usize) -> Result<bool> {
    let directory = match from {
        Some(directory) => directory.to_owned(),
        None => made()?,
    };
    let program = std::env::current_exe()?.with_file_name("ptx-tc");
    if !program.exists() {
        return Err(
            "there is no ptx-tc beside this program: `cargo build --release`, and `cargo run --release \
                    --package xtask-lab -- bench --host`"
                .into(),
        );
    }
    let (files, bytes) = size(&directory)?;
    println!("{files} files, {:.1} MB, median of {runs} runs on {THREADS} threads", bytes as f64 / 1e6);
    let mut check = Command::new(program);
    check.args(["check", "--exit-zero", "--statistics", "--jobs", THREADS]).arg(&directory);
    println!("ptx-tc check   {:>7.3} s", median(&mut check, runs)?);
    let installed = target_directory().join("ripgrep/bin/rg");
    let rg = if installed.exists() { installed } else { PathBuf::from("rg") };
    let mut search = Command::new(rg);
    search.args(["--threads", THREADS, "--count", "tcgen05"]).arg(&directory);
    match median(&mut search, runs) {
        Ok(seconds) => println!("rg tcgen05     {seconds:>7.3} s"),
        Err(error) => println!(
            "rg tcgen05     not measured: {error}; `cargo install ripgrep --root {}`",
            target_directory().join("ripgrep").display()
        ),
    }
    Ok(true)
}

/// Writes the repository, where there is none yet.
fn made() -> Result<PathBuf> {
    let directory = target_directory().join("bench-host");
    if directory.join("complete").exists() {
        return Ok(directory);
    }
    let mut sources = Vec::new();
    for folder in ["fixtures/host/sound", "fixtures/kernels/src"] {
        for entry in fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if ["cu", "cuh", "py"].contains(&ending.as_str()) {
                sources.push((ending, fs::read_to_string(path)?));
            }
        }
    }
    sources.sort();
    let mut random = fastrand::Rng::with_seed(1);
    for number in 0..FILES {
        let (ending, source) = &sources[random.usize(..sources.len())];
        let is_python = ending == "py";
        // Most are short, and some are long.
        let wanted = (BYTES / FILES) * (1 << random.u32(..4)) * 4 / 15;
        let mut text = String::with_capacity(wanted + source.len());
        if number % WITH_PTX == 0 {
            text += source;
        } else if number % WITH_WORD == 0 {
            text += if is_python { "# asm\n" } else { "// asm\n" };
        }
        while text.len() < wanted {
            let name = random.u32(..100_000);
            text += &if is_python {
                format!(
                    "def step_{name}(values, scale=1.0):\n    \"\"\"Scales values.\"\"\"\n    return [v * scale for v in values if v > {name}]\n\n\n"
                )
            } else {
                format!(
                    "// Scales a value.\ninline float step_{name}(float value, float scale) {{\n  const char* name = \"step\";\n  return value > {name}.0f ? value * scale : record(name, value);\n}}\n\n"
                )
            };
        }
        let folder = directory.join(format!("module{}", number % 60));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("file{number}.{ending}")), text)?;
    }
    fs::write(directory.join("complete"), "")?;
    Ok(directory)
}

fn size(directory: &Path) -> Result<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.path().is_dir() {
            let (more, size) = size(&entry.path())?;
            files += more;
            bytes += size;
        } else {
            files += 1;
            bytes += entry.metadata()?.len();
        }
    }
    Ok((files, bytes))
}

fn median(command: &mut Command, runs: usize) -> Result<f64> {
    let mut seconds = Vec::new();
    for _ in 0..=runs.max(1) {
        let start = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = status.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        if !status.success() {
            return Err(format!("{} failed", command.get_program().display()).into());
        }
        seconds.push(start.elapsed().as_secs_f64());
    }
    // The first one reads from the disk.
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}
