//! The project's own tasks: `cargo xtask <task>`.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;

mod generate;
mod new_rule;

/// What goes wrong in a task is for the developer who started it; text will do.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The tasks of `xtask/lab`, for the help.
const LAB: &str = "\
Measurements and comparisons, which are built when they are first run (with --help, each explains itself):
  oracle, generic    with NVIDIA's assembler
  hardware           with what a GPU computes
  corpus             on what Python packages ship
  bugs               on kernels with injected bugs
  bench, lsp-bench   speed and memory
  stats              what is known of descriptors";

#[derive(Debug, Parser)]
#[command(after_help = LAB)]
enum Task {
    /// Write the generated parts of the documentation and the parser, or check that they are current.
    Generate(generate::Arguments),
    /// Write everything that a new rule needs but its check: the file, the rows, the fixtures.
    NewRule(new_rule::Arguments),
    /// A task of the lab.
    #[command(external_subcommand)]
    Lab(Vec<OsString>),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Generate(arguments) => generate::run(&arguments),
        Task::NewRule(arguments) => new_rule::run(&arguments),
        Task::Lab(arguments) => lab(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task of `xtask/lab`, optimised if this program is.
fn lab(arguments: &[OsString]) -> Result<bool> {
    let mut command = cargo();
    command
        .args(["run", "--quiet", "--package", "xtask-lab", "--manifest-path"])
        .arg(root().join("Cargo.toml"));
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    Ok(command.arg("--").args(arguments).status()?.success())
}

/// The cargo that runs this program.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
