//! Findings as one JSON document; programs rely on its shape, so that it only grows.

use std::borrow::Cow;
use std::io::{self, Write};

use ptx_check::analysis::description::{Description, Multiply, Word};
use ptx_check::diagnostic::{Applicability, Diagnostic, Fix, Label, Omitted, Ptxas, Severity};
use ptx_check::rules::Code;
use ptx_check::source::{Source, Span};
use ptx_check::words::demangled;
use ptx_sources::Outdated;
use serde::Serialize;

use crate::{Checked, Summary, slashed};

/// The version of the document's shape.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    files: Vec<File<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    diagnostics: Vec<Finding<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<OmittedFindings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptors: Option<Vec<PlacedDescription<'a>>>,
}

#[derive(Serialize)]
pub(crate) struct Finding<'a> {
    code: Code,
    name: &'a str,
    severity: Severity,
    ptxas: Ptxas,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    help: Option<&'a str>,
    url: String,
    span: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceLine<'a>>,
    labels: Vec<PlacedLabel<'a>>,
    fix: Option<PlacedFix<'a>>,
}

/// Findings that are not among the diagnostics, because there are too many; the summary counts them.
#[derive(Serialize)]
pub(crate) struct OmittedFindings {
    code: Code,
    name: &'static str,
    severity: Severity,
    ptxas: Ptxas,
    count: usize,
    fixable: usize,
}

#[derive(Serialize)]
struct PlacedLabel<'a> {
    span: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceLine<'a>>,
    message: &'a str,
}

/// The line that a compiler made a place of PTX from.
#[derive(Serialize)]
struct SourceLine<'a> {
    #[serde(flatten)]
    line: WrittenLine<'a>,
    /// The compiler named no line; this is the last one before the place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approximate: bool,
    /// The calls through which it was inlined, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inlined_at: Vec<WrittenLine<'a>>,
}

#[derive(Serialize)]
struct WrittenLine<'a> {
    path: String,
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    /// The symbol of the inlined function that the line is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    /// Why the file is not what was compiled, if it is here and is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    outdated: Option<Outdated>,
    /// What it is called in its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    function_name: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct PlacedFix<'a> {
    applicability: Applicability,
    title: &'a str,
    edits: Vec<PlacedEdit<'a>>,
}

#[derive(Serialize)]
struct PlacedEdit<'a> {
    span: Place,
    text: &'a str,
}

#[derive(Serialize)]
struct PlacedDescription<'a> {
    instruction: &'a str,
    span: Place,
    #[serde(flatten)]
    multiply: Option<&'a Multiply>,
    words: Vec<PlacedWord<'a>>,
}

#[derive(Serialize)]
struct PlacedWord<'a> {
    #[serde(flatten)]
    word: &'a Word,
    span: Place,
    /// Where the value was made.
    origins: Vec<Place>,
}

/// Byte offsets; lines and columns from 1, columns in Unicode scalar values.
#[derive(Serialize)]
pub(crate) struct Place {
    start: u32,
    end: u32,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

impl Place {
    pub(crate) fn new(source: &Source, span: Span) -> Self {
        let start = source.position(span.start);
        let end = source.position(span.end);
        Self {
            start: span.start,
            end: span.end,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

/// Writes one document for all files.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema: SCHEMA,
        files: files
            .iter()
            .map(|file| File {
                path: file.source.name(),
                diagnostics: file.report.diagnostics.iter().map(|it| finding(file, it)).collect(),
                omitted: omitted(&file.report.omitted),
                descriptors: file
                    .report
                    .descriptors
                    .as_ref()
                    .map(|all| all.iter().map(|it| placed_description(&file.source, it)).collect()),
            })
            .collect(),
        summary: Summary::of(files),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

pub(crate) fn omitted(all: &[Omitted]) -> Vec<OmittedFindings> {
    all.iter()
        .map(|&Omitted { code, severity, ptxas, count, fixable, .. }| OmittedFindings {
            code,
            name: code.name(),
            severity,
            ptxas,
            count,
            fixable,
        })
        .collect()
}

pub(crate) fn finding<'a>(file: &'a Checked, diagnostic: &'a Diagnostic) -> Finding<'a> {
    let source = &file.source;
    let rule = diagnostic.code.rule();
    // The offence first, then its causes.
    let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.labels);
    Finding {
        code: diagnostic.code,
        name: rule.code.name(),
        severity: diagnostic.severity,
        ptxas: diagnostic.ptxas,
        message: &diagnostic.message,
        note: diagnostic.note.as_deref(),
        help: diagnostic.help.as_deref(),
        url: rule.code.url(),
        span: Place::new(source, diagnostic.primary.span),
        source: source_line(file, &diagnostic.primary),
        labels: labels
            .map(|label| PlacedLabel {
                span: Place::new(source, label.span),
                source: source_line(file, label),
                message: &label.message,
            })
            .collect(),
        fix: diagnostic.fix.as_ref().map(|fix| placed_fix(source, fix)),
    }
}

fn source_line<'a>(file: &'a Checked, label: &'a Label) -> Option<SourceLine<'a>> {
    let mut lines = file.lines(label).into_iter().map(|line| WrittenLine {
        path: slashed(line.path),
        line: line.line,
        column: line.column,
        function: line.function,
        outdated: line.outdated(),
        function_name: line.function.map(demangled),
    });
    let approximate = label.provenance.as_ref().is_some_and(|provenance| provenance.is_near);
    Some(SourceLine { line: lines.next()?, approximate, inlined_at: lines.collect() })
}

fn placed_description<'a>(source: &Source, description: &'a Description) -> PlacedDescription<'a> {
    PlacedDescription {
        instruction: &description.instruction,
        span: Place::new(source, description.span),
        multiply: description.multiply.as_ref(),
        words: description
            .words
            .iter()
            .map(|word| PlacedWord {
                word,
                span: Place::new(source, word.span),
                origins: word.origins.iter().map(|origin| Place::new(source, *origin)).collect(),
            })
            .collect(),
    }
}

fn placed_fix<'a>(source: &Source, fix: &'a Fix) -> PlacedFix<'a> {
    PlacedFix {
        applicability: fix.applicability,
        title: &fix.title,
        edits: fix
            .edits
            .iter()
            .map(|edit| PlacedEdit { span: Place::new(source, edit.span), text: &edit.text })
            .collect(),
    }
}
