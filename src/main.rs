//! The command line. Everything is in the library; see [`ptx_tc::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ptx_tc::cli::main()
}
