//! `ptx-tc debug`: what the analyses know, for those who work on them.

use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;

use ptx_check::Unit;
use ptx_check::analysis::dump::{What, dump};

use crate::input::{self, Input};
use crate::{Outcome, output_error};

/// Print what the analyses know of a file.
#[derive(Debug, clap::Args)]
pub(crate) struct Debug {
    /// What: `ir`, `cfg`, `values`, `facts`.
    #[arg(value_name = "WHAT", value_parser = |text: &str| What::from_str(text).map_err(|_| "one of ir, cfg, values, facts"))]
    what: What,
    /// The file, or `-` for standard input.
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Only the instructions on this line.
    #[arg(long, value_name = "LINE")]
    line: Option<u32>,
}

impl Debug {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let (inputs, errors) = input::find(std::slice::from_ref(&self.path), false);
        if let Some(error) = errors.into_iter().next() {
            return Err(error.into());
        }
        let input = inputs.into_iter().next().unwrap_or(Input::Stdin);
        let source = input.read("<stdin>")?;
        let unit = Unit::new(&source);
        out.write_all(dump(&unit, self.what, self.line).as_bytes()).map_err(output_error)?;
        Ok(Outcome::Clean)
    }
}
