//! Findings in the Reviewdog Diagnostic Format (`rdjson`), with which reviewdog comments on changes in
//! whatever forge they are reviewed.
//!
//! Columns count bytes from 1, ends are exclusive.

use std::io::{self, Write};

use ptx_check::diagnostic::{Applicability, Diagnostic, Fix, Omitted, Severity};
use ptx_check::rules::Code;
use ptx_check::source::{Source, Span};
use serde::Serialize;

use crate::{Checked, slashed};

/// A repair that reaches further than so many bytes is not a suggestion for a review.
const LONG_FIX: u32 = 4000;

#[derive(Serialize)]
struct DiagnosticResult {
    source: Tool,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    diagnostics: Vec<Finding>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    url: &'static str,
}

#[derive(Serialize)]
struct Finding {
    message: String,
    location: Location,
    severity: &'static str,
    code: RuleCode,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion>,
}

#[derive(Serialize)]
struct Location {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range>,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: usize,
    column: u32,
}

#[derive(Serialize)]
struct RuleCode {
    value: &'static str,
    url: String,
}

#[derive(Serialize)]
struct Suggestion {
    range: Range,
    text: String,
}

/// Writes one document for all files.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    let mut diagnostics = Vec::new();
    let mut worst = None;
    for file in files {
        for it in &file.report.diagnostics {
            worst = worst.max(Some(it.severity));
            diagnostics.push(finding(file, it));
        }
        for Omitted { code, severity, count, .. } in Omitted::by_code(&file.report.omitted) {
            worst = worst.max(Some(severity));
            diagnostics.push(Finding {
                message: format!("and {count} more of {} in this file", code.name()),
                location: Location { path: slashed(file.source.name()), range: None },
                severity: self::severity(severity),
                code: rule(code),
                suggestions: Vec::new(),
            });
        }
    }
    let source = Tool { name: "ptx-tc", url: "https://ptx-tc.github.io" };
    let document = DiagnosticResult { source, severity: worst.map(severity), diagnostics };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn finding(file: &Checked, finding: &Diagnostic) -> Finding {
    let place = file.place(finding);
    let source = &file.source;
    let range = if let Some((text, span)) = place.shown {
        range(text, span)
    } else {
        // The file is not there, so that its columns are the compiler's.
        let line = place.line as usize;
        let column = |column: Option<u32>| Position { line, column: column.unwrap_or(1) };
        Range { start: column(place.column), end: column(place.end_column) }
    };
    // Whoever shows a suggestion has a button that applies it, to the file that is named.
    let safe =
        finding.fix.iter().filter(|fix| fix.applicability == Applicability::Safe && place.compiled.is_none());
    Finding {
        message: place.message(finding),
        location: Location { path: slashed(place.path), range: Some(range) },
        severity: severity(finding.severity),
        code: rule(finding.code),
        suggestions: safe.filter_map(|fix| suggestion(source, fix)).collect(),
    }
}

/// The repair as one text for one range: several suggestions would be several choices.
fn suggestion(source: &Source, fix: &Fix) -> Option<Suggestion> {
    let start = fix.edits.iter().map(|edit| edit.span.start).min()?;
    let end = fix.edits.iter().map(|edit| edit.span.end).max()?;
    let span = Span::new(start, end);
    if span.len() > LONG_FIX {
        return None;
    }
    let mut edits = fix.edits.clone();
    for edit in &mut edits {
        edit.span = Span::new(edit.span.start - start, edit.span.end - start);
    }
    let text = String::from_utf8(ptx_fix::apply(source.slice(span).as_bytes(), &edits)).ok()?;
    Some(Suggestion { range: range(source, span), text })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARNING",
        Severity::Info | Severity::Off => "INFO",
    }
}

fn rule(code: Code) -> RuleCode {
    RuleCode { value: code.as_str(), url: code.url() }
}

fn range(source: &Source, span: Span) -> Range {
    Range { start: position(source, span.start), end: position(source, span.end) }
}

fn position(source: &Source, offset: u32) -> Position {
    let line = source.lines().line(offset);
    let start = source.lines().start(line).unwrap_or(offset);
    Position { line: line + 1, column: offset.saturating_sub(start) + 1 }
}
