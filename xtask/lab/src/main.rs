//! Measurements of ptx-tc, and comparisons of it with other programs: `cargo xtask <task>` starts this program.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

mod bench;
mod bugs;
mod corpus;
mod generic;
mod hardware;
mod lsp_bench;
mod oracle;
mod parser;
mod stats;

/// What goes wrong in a task is for the developer who started it; text will do.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

#[derive(Debug, Parser)]
enum Task {
    /// Compare the verdicts of ptx-tc with those of NVIDIA's assembler.
    Oracle(oracle::Arguments),
    /// Compare the table of generic instructions with NVIDIA's assembler.
    Generic(generic::Arguments),
    /// Write the parser from the grammar.
    Parser(parser::Arguments),
    /// Record what a GPU computes.
    Hardware(hardware::Arguments),
    /// Measure the speed of lexing, parsing and checking, and the memory they need.
    Bench(bench::Arguments),
    /// Check the sources in packages of the Python package index, and count what is found.
    Corpus(corpus::Arguments),
    /// Put bugs into kernels, and count which are found.
    Bugs(bugs::Arguments),
    /// Measure how long an editor waits for the language server.
    LspBench(lsp_bench::Arguments),
    /// Count what is known of the descriptors in the kernels of fixtures/kernels.
    Stats,
}

/// That of the command line, so that what is measured is what users have.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Oracle(arguments) => oracle::run(&arguments),
        Task::Generic(arguments) => generic::run(&arguments),
        Task::Parser(arguments) => parser::run(&arguments),
        Task::Hardware(arguments) => hardware::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Corpus(arguments) => corpus::run(&arguments),
        Task::Bugs(arguments) => bugs::run(&arguments),
        Task::LspBench(arguments) => lsp_bench::run(&arguments),
        Task::Stats => stats::run(),
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

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// Where generated and fetched things go.
fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
