//! The program. What it does is in the crate [`ptx_cli`].

use std::process::ExitCode;

/// A check makes many small vectors; with this allocator it is a quarter faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(not(windows))]
fn main() -> ExitCode {
    ptx_cli::main()
}

/// The first thread of a program works with the others, and has less room for calls on Windows than they have.
#[cfg(windows)]
fn main() -> ExitCode {
    const ROOM: usize = 8 << 20;
    let run = std::thread::Builder::new().stack_size(ROOM).spawn(ptx_cli::main);
    match run.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // What went wrong has been said.
        Ok(Err(_)) => ExitCode::from(2),
        Err(_) => ptx_cli::main(),
    }
}
