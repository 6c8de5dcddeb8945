//! `ptx-tc format`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ptx_check::host::Language;
use ptx_check::words::plural;
use ptx_fix::changes::{self, Change};
use ptx_layout::{Refusal, Style};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::files::{FileArguments, Files};
use crate::input::{Input, InputError};
use crate::{Outcome, output_error, patch, repair, report_trouble};

/// Lay out PTX files: white space changes, and nothing else.
#[derive(Debug, clap::Args)]
pub(crate) struct Format {
    /// Files, directories to search for `*.ptx`, or `-` for standard input, whose text goes to standard output.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write no file; exit with 1 when one would change.
    #[arg(long)]
    check: bool,
    /// Show what would change, and write no file; exit with 1 when one would change.
    #[arg(long)]
    diff: bool,
    /// Indent by so many blanks, or by one `tab`.
    #[arg(long, value_name = "N|tab", default_value = "4", value_parser = indent)]
    indent: Style,
    /// Use `include` and `exclude` of this configuration, not of the nearest one above each file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What standard input is called in messages.
    #[arg(long, value_name = "NAME", default_value = "<stdin>")]
    stdin_filename: String,
    /// Do not say how many files changed.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    files: FileArguments,
}

/// What became of one input.
struct Done {
    name: String,
    changes: bool,
    /// A patch, or the text of standard input.
    output: Vec<u8>,
}

impl Format {
    pub(crate) fn run(&self, out: &mut dyn Write) -> miette::Result<Outcome> {
        let found = self.files.find(&self.paths, &self.stdin_filename, self.config.as_deref(), is_ptx)?;
        if !self.quiet {
            found.explain();
        }
        let Files { wanted, mut errors, .. } = found;
        let inputs: Vec<Input> = wanted.into_iter().map(|it| it.input).collect();
        let results: Vec<_> = inputs.par_iter().map(|input| self.process(input)).collect();
        let (mut changed, mut unchanged) = (0, 0);
        for result in results {
            match result {
                Ok(done) => {
                    out.write_all(&done.output).map_err(output_error)?;
                    if done.changes && self.check && !self.diff && !self.quiet {
                        writeln!(out, "would format {}", done.name).map_err(output_error)?;
                    }
                    *(if done.changes { &mut changed } else { &mut unchanged }) += 1;
                }
                Err(error) => errors.push(error),
            }
        }
        // Standard output has the text, or a patch.
        if !self.quiet && !self.diff && !inputs.contains(&Input::Stdin) {
            let verb = if self.check { "would be formatted" } else { "formatted" };
            writeln!(out, "{} {verb}, {unchanged} unchanged", plural(changed, "file"))
                .map_err(output_error)?;
        }
        if self.diff && changed == 0 && !self.quiet {
            let _ = writeln!(io::stderr(), "would format nothing");
        }
        let trouble = !errors.is_empty();
        for error in errors {
            report_trouble(&error.into());
        }
        Ok(match (trouble, changed > 0 && self.writes_nothing()) {
            (true, _) => Outcome::Trouble,
            (false, true) => Outcome::Findings,
            (false, false) => Outcome::Clean,
        })
    }

    fn writes_nothing(&self) -> bool {
        self.check || self.diff
    }

    fn process(&self, input: &Input) -> Result<Done, InputError> {
        let name = input.name(&self.stdin_filename);
        if Language::of(Path::new(&name)).is_some() {
            return Err(InputError::NotPtx { path: name });
        }
        let before = input.bytes(&name)?;
        let after = ptx_layout::layout(&name, &before, self.indent).map_err(|refusal| match refusal {
            Refusal::NoText(error) => InputError::NoText { path: name.clone(), error },
            Refusal::Broken { source, error } => {
                let place = source.position(error.span().start);
                InputError::Broken { path: name.clone(), line: place.line, column: place.column }
            }
        })?;
        let changes = after.is_some();
        let output = match (input, after) {
            (_, Some(after)) if self.diff => {
                // Whatever is not white space alone is one change.
                let all = || vec![Change { before: 0..before.len(), after: 0..after.len() }];
                let changes = changes::of_white_space(&before, &after).unwrap_or_else(all);
                patch::patch(&name, &before, &after, &changes)
            }
            (Input::Stdin, after) if !self.writes_nothing() => after.unwrap_or(before),
            (Input::File(path), Some(after)) if !self.writes_nothing() => {
                repair::replace(path, &after)
                    .map_err(|error| InputError::Unwritable { path: name.clone(), error })?;
                Vec::new()
            }
            (Input::Stdin | Input::File(_), _) => Vec::new(),
        };
        Ok(Done { name, changes, output })
    }
}

fn is_ptx(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ptx")
}

fn indent(text: &str) -> Result<Style, String> {
    if text == "tab" {
        return Ok(Style { tab_size: 8, spaces: false });
    }
    let blanks = text.parse().ok().filter(|blanks| (1..=16).contains(blanks));
    let blanks = blanks.ok_or("write a number of blanks from 1 to 16, or `tab`")?;
    Ok(Style { tab_size: blanks, spaces: true })
}
