//! `ptx-tc lsp`

use crate::{Outcome, report_trouble};

/// Serve an editor: the Language Server Protocol on standard input and output.
#[derive(Debug, clap::Args)]
pub(crate) struct Lsp {
    /// The default, and the only transport; editors like to say it.
    #[arg(long)]
    stdio: bool,
}

pub(crate) fn run() -> u8 {
    match ptx_lsp::run() {
        Ok(true) => Outcome::Clean.into(),
        // The protocol wants 1 when the client leaves without `shutdown`.
        Ok(false) => Outcome::Findings.into(),
        Err(error) => {
            report_trouble(&miette::miette!("the language server stopped: {error}"));
            Outcome::Trouble.into()
        }
    }
}
