//! Findings as workflow commands, which GitHub Actions shows beside the lines of a pull request.

use std::io::{self, Write};

use super::{Checked, full_message};
use crate::diagnostic::{Omitted, Severity};

/// Writes one line for each finding.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    for file in files {
        for finding in &file.report.diagnostics {
            let command = command(finding.severity);
            let rule = finding.code.rule();
            let span = finding.primary.span;
            let (start, end) = (file.source.position(span.start), file.source.position(span.end));
            let message = full_message(finding);
            write!(
                out,
                "::{command} title={},file={},line={}",
                property(&format!("{} {}", rule.code, rule.code.name())),
                path(file),
                start.line,
            )?;
            // Columns of different lines are an error to GitHub.
            if start.line == end.line {
                write!(out, ",col={},endColumn={}", start.column, end.column)?;
            }
            writeln!(out, ",endLine={}::{}", end.line, data(&message))?;
        }
        for Omitted { code, severity, count, .. } in Omitted::by_code(&file.report.omitted) {
            writeln!(
                out,
                "::{} title={},file={}::and {count} more of {code} in this file",
                command(severity),
                property(&format!("{code} {}", code.name())),
                path(file),
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

fn path(file: &Checked) -> String {
    property(&file.source.name().replace('\\', "/"))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
