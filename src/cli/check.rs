//! `ptx-tc check`

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::input::{self, InputError};
use super::{Outcome, output_error, report_trouble};
use crate::Options;
use crate::isa::targets::{PtxVersion, Target};
use crate::render::{self, Checked, Format, Summary};
use crate::rules::selection::RuleSettings;

/// Check PTX files.
#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// Files, directories to search for `*.ptx`, or `-` for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check for this target instead of the module's own; may be repeated.
    #[arg(long, value_name = "TARGET")]
    target: Vec<Target>,
    /// Check against this version of the PTX ISA instead of the module's own.
    #[arg(long, value_name = "VERSION")]
    ptx_version: Option<PtxVersion>,
    /// How to write the findings.
    #[arg(long, value_enum, default_value_t = FormatArgument::Human)]
    format: FormatArgument,
    /// What standard input is called in messages.
    #[arg(long, value_name = "NAME", default_value = "<stdin>")]
    stdin_filename: String,
    /// Exit with 0 whatever is found.
    #[arg(long)]
    exit_zero: bool,
    /// Number of files that are checked at the same time.
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Write nothing when nothing was found.
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArgument {
    /// Source excerpts with labels.
    Human,
    /// One line for each finding.
    Concise,
    /// One JSON document.
    Json,
}

impl Check {
    pub(super) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let (inputs, mut errors) = input::find(&self.paths);
        let options = Options {
            ptx_version: self.ptx_version,
            targets: self.target.clone(),
            rules: RuleSettings::default(),
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs.unwrap_or(0))
            .build()
            .map_err(|error| miette::miette!("cannot start threads: {error}"))?;
        let results: Vec<Result<Checked, InputError>> = pool.install(|| {
            inputs
                .par_iter()
                .map(|input| {
                    let source = input.read(&self.stdin_filename)?;
                    let report = crate::check(&source, &options);
                    Ok(Checked { source, report })
                })
                .collect()
        });
        let mut files = Vec::with_capacity(results.len());
        for result in results {
            match result {
                Ok(file) => files.push(file),
                Err(error) => errors.push(error),
            }
        }
        let summary = Summary::of(&files);
        let found = summary.errors + summary.warnings + summary.infos > 0;
        let trouble = !errors.is_empty();
        if !(self.quiet && !found || files.is_empty() && trouble && self.format != FormatArgument::Json) {
            render::render(&files, self.format.into(), use_color(), out).map_err(output_error)?;
        }
        for error in errors {
            report_trouble(&error.into());
        }
        Ok(if trouble {
            Outcome::Trouble
        } else if summary.errors > 0 && !self.exit_zero {
            Outcome::Findings
        } else {
            Outcome::Clean
        })
    }
}

impl From<FormatArgument> for Format {
    fn from(format: FormatArgument) -> Self {
        match format {
            FormatArgument::Human => Self::Human,
            FormatArgument::Concise => Self::Concise,
            FormatArgument::Json => Self::Json,
        }
    }
}

/// Colour on a terminal only, and not where the user has said no (<https://no-color.org>).
fn use_color() -> bool {
    let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    forced || io::stdout().is_terminal() && !refused
}
