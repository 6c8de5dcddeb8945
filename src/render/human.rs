//! Findings in their source, for a terminal.

use std::io::{self, Write};
use std::ops::Range;

use codespan_reporting::diagnostic::{self as codespan, LabelStyle};
use codespan_reporting::files::{self, Files};
use codespan_reporting::term::{self, Chars, Config, DisplayStyle, termcolor};

use super::{Checked, Summary, descriptors, plural};
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Source;

/// How much of the source to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The lines with labels under them.
    Rich,
    /// `path:line:column: error[TC301]: message`
    Short,
}

/// Writes the findings of all files, and a line of totals in the rich style.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], style: Style, color: bool, out: &mut dyn Write) -> io::Result<()> {
    let config = Config {
        display_style: match style {
            Style::Rich => DisplayStyle::Rich,
            Style::Short => DisplayStyle::Short,
        },
        chars: Chars::box_drawing(),
        tab_width: 4,
        ..Config::default()
    };
    let mut writer: Box<dyn termcolor::WriteColor> = if color {
        Box::new(termcolor::Ansi::new(&mut *out))
    } else {
        Box::new(termcolor::NoColor::new(&mut *out))
    };
    for file in files {
        for finding in &file.report.diagnostics {
            let diagnostic = convert(finding);
            term::emit_to_write_style(&mut writer, &config, &Excerpts(&file.source), &diagnostic)
                .map_err(io::Error::other)?;
        }
    }
    drop(writer);
    if style == Style::Rich {
        for file in files {
            for description in file.report.descriptors.iter().flatten() {
                descriptors::render(&file.source, description, out)?;
            }
        }
        writeln!(out, "{}", totals(&Summary::of(files)))?;
    }
    Ok(())
}

fn convert(finding: &Diagnostic) -> codespan::Diagnostic<()> {
    let rule = finding.code.rule();
    let severity = match finding.severity {
        Severity::Error => codespan::Severity::Error,
        Severity::Warning => codespan::Severity::Warning,
        Severity::Info | Severity::Off => codespan::Severity::Note,
    };
    let mut labels = vec![
        codespan::Label::primary((), finding.primary.span.range())
            .with_message(finding.primary.message.clone()),
    ];
    labels.extend(finding.labels.iter().map(|label| {
        codespan::Label::new(LabelStyle::Secondary, (), label.span.range())
            .with_message(label.message.clone())
    }));
    let mut notes = Vec::new();
    if let Some(note) = &finding.note {
        notes.push(format!("note: {note}"));
    }
    if let Some(help) = &finding.help {
        notes.push(format!("help: {help}"));
    }
    codespan::Diagnostic::new(severity)
        .with_code(rule.code)
        .with_message(format!("{} ({})", finding.message, rule.code.name()))
        .with_labels(labels)
        .with_notes(notes)
}

/// What a run amounts to, in a line.
pub(super) fn totals(summary: &Summary) -> String {
    if summary.errors + summary.warnings + summary.infos == 0 {
        return format!("{} checked, nothing found", plural(summary.files, "file"));
    }
    let mut parts = vec![plural(summary.errors, "error"), plural(summary.warnings, "warning")];
    if summary.infos > 0 {
        parts.push(plural(summary.infos, "info"));
    }
    format!("{} checked: {}", plural(summary.files, "file"), parts.join(", "))
}

/// A source as codespan wants to see it; uses the line index that the source has already.
struct Excerpts<'a>(&'a Source);

impl<'a> Files<'a> for Excerpts<'a> {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<&'a str, files::Error> {
        Ok(self.0.name())
    }

    fn source(&'a self, (): ()) -> Result<&'a str, files::Error> {
        Ok(self.0.text())
    }

    fn line_index(&'a self, (): (), byte_index: usize) -> Result<usize, files::Error> {
        Ok(self.0.lines().line(byte_index as u32))
    }

    fn line_range(&'a self, (): (), line_index: usize) -> Result<Range<usize>, files::Error> {
        let lines = self.0.lines();
        let start = lines
            .start(line_index)
            .ok_or(files::Error::LineTooLarge { given: line_index, max: lines.count().saturating_sub(1) })?;
        let end = lines.start(line_index + 1).map_or(self.0.text().len(), |end| end as usize);
        Ok(start as usize..end)
    }
}
