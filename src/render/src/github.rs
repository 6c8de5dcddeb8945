//! Findings as workflow commands, which GitHub Actions shows beside the lines of a pull request.

use std::io::{self, Write};

use ptx_check::diagnostic::{Omitted, Severity};

use crate::{Checked, slashed};

/// Writes one line for each finding.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    for file in files {
        for finding in &file.report.diagnostics {
            let command = command(finding.severity);
            let rule = finding.code.rule();
            let place = file.place(finding);
            let message = place.message(finding);
            write!(
                out,
                "::{command} title={},file={},line={}",
                property(&format!("{} {}", rule.code, rule.code.name())),
                path(place.path),
                place.line,
            )?;
            // Columns of different lines are an error to GitHub.
            if let (Some(column), Some(end), true) =
                (place.column, place.end_column, place.line == place.end_line)
            {
                write!(out, ",col={column},endColumn={end}")?;
            }
            writeln!(out, ",endLine={}::{}", place.end_line, data(&message))?;
        }
        for Omitted { code, severity, count, .. } in Omitted::by_code(&file.report.omitted) {
            writeln!(
                out,
                "::{} title={},file={}::and {count} more of {code} in this file",
                command(severity),
                property(&format!("{code} {}", code.name())),
                path(file.source.name()),
            )?;
        }
    }
    Ok(())
}

fn command(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Off => "notice",
    }
}

/// The forge finds no file whose path starts with `./`.
fn path(path: &str) -> String {
    property(&slashed(path))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
