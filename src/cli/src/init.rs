//! `ptx-tc init`

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use ptx_config::{FILE_NAME, TEMPLATE};

use crate::{Outcome, output_error};

/// Write a configuration with comments.
#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// The directory that gets it.
    #[arg(value_name = "DIRECTORY", default_value = ".")]
    directory: PathBuf,
}

/// Why there is no new configuration.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot write `{path}`")]
#[diagnostic(help("an existing configuration is left alone"))]
struct InitError {
    path: String,
    #[source]
    error: io::Error,
}

impl Init {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let path = self.directory.join(FILE_NAME);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|mut file| file.write_all(TEMPLATE.as_bytes()))
            .map_err(|error| InitError { path: path.display().to_string(), error })?;
        writeln!(out, "wrote {}", path.display()).map_err(output_error)?;
        Ok(Outcome::Clean)
    }
}
