//! Findings in their source, for a terminal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use codespan_reporting::diagnostic::{self as codespan, LabelStyle};
use codespan_reporting::term::{self, Chars, Config, DisplayStyle, termcolor};

use super::excerpt::Excerpt;
use super::{Checked, Summary, descriptors, plural};
use crate::Report;
use crate::diagnostic::{Diagnostic, Label, Omitted, Severity};
use crate::source::{Source, Span};

/// How much of the source to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The lines with labels under them.
    Rich,
    /// `path:line:column: error[TC301]: message`
    Short,
}

/// More causes of one finding than this are not marked.
const MAX_CAUSES: usize = 20;

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
        let mut behind = omitted_behind(&file.report);
        for (index, finding) in file.report.diagnostics.iter().enumerate() {
            let (excerpt, diagnostic) = convert(&file.source, finding, style);
            term::emit_to_write_style(&mut writer, &config, &excerpt, &diagnostic)
                .map_err(io::Error::other)?;
            if let Some(omitted) = behind.remove(&index) {
                if style == Style::Short {
                    write!(writer, "{}: ", file.source.name())?;
                }
                term::emit_to_write_style(&mut writer, &config, &excerpt, &omission(omitted, style))
                    .map_err(io::Error::other)?;
            }
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

/// What is omitted, by the finding that it comes behind: the last of the same rule.
fn omitted_behind(report: &Report) -> BTreeMap<usize, Omitted> {
    let omitted = Omitted::by_code(&report.omitted).into_iter();
    let last = |code| report.diagnostics.iter().rposition(|finding| finding.code == code);
    omitted.filter_map(|omitted| Some((last(omitted.code)?, omitted))).collect()
}

fn omission(omitted: Omitted, style: Style) -> codespan::Diagnostic<()> {
    let Omitted { code, count, .. } = omitted;
    let diagnostic = codespan::Diagnostic::new(severity(omitted.severity))
        .with_code(code.as_str())
        .with_message(format!("and {count} more in this file ({})", code.name()));
    match style {
        Style::Rich => diagnostic.with_notes(vec!["help: `--max-findings 0` shows all".to_owned()]),
        Style::Short => diagnostic,
    }
}

fn convert<'s>(
    source: &'s Source,
    finding: &Diagnostic,
    style: Style,
) -> (Excerpt<'s>, codespan::Diagnostic<()>) {
    let code = finding.code;
    let causes = match style {
        Style::Rich => &finding.labels[..finding.labels.len().min(MAX_CAUSES)],
        Style::Short => &[],
    };
    let spans: Vec<Span> = std::iter::once(&finding.primary).chain(causes).map(|label| label.span).collect();
    let excerpt = Excerpt::new(source, &spans);
    let label = |style, label: &Label| {
        codespan::Label::new(style, (), excerpt.range(label.span)).with_message(shorten(&label.message))
    };
    let mut labels = vec![label(LabelStyle::Primary, &finding.primary)];
    labels.extend(causes.iter().map(|cause| label(LabelStyle::Secondary, cause)));
    let mut notes = Vec::new();
    if let Some(note) = &finding.note {
        notes.push(format!("note: {}", shorten(note)));
    }
    if let Some(help) = &finding.help {
        notes.push(format!("help: {}", shorten(help)));
    }
    let diagnostic = codespan::Diagnostic::new(severity(finding.severity))
        .with_code(code.as_str())
        .with_message(format!("{} ({})", shorten(&finding.message), code.name()))
        .with_labels(labels)
        .with_notes(notes);
    (excerpt, diagnostic)
}

fn severity(severity: Severity) -> codespan::Severity {
    match severity {
        Severity::Error => codespan::Severity::Error,
        Severity::Warning => codespan::Severity::Warning,
        Severity::Info | Severity::Off => codespan::Severity::Note,
    }
}

/// A text without its middle when that is too long to be read, as with a name of a megabyte in it.
fn shorten(text: &str) -> Cow<'_, str> {
    const LONG: usize = 2000;
    const KEPT: usize = 600;
    if text.len() <= LONG {
        return text.into();
    }
    let boundary = |at: usize| (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
    format!("{}…{}", &text[..boundary(KEPT)], &text[boundary(text.len() - KEPT)..]).into()
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
