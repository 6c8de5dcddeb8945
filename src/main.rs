//! The command line. Everything is in the library; see [`ptx_tc::cli`].

use std::process::ExitCode;

/// A check makes many small vectors; with this allocator it is a quarter faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ptx_tc::cli::main()
}
