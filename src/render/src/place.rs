//! Where forges show a finding: the line that somebody wrote, if the PTX was compiled from a source that is here.

use ptx_check::diagnostic::{Diagnostic, Label};
use ptx_check::source::{Source, Span};
use ptx_sources::Line;

use crate::{Checked, full_message};

/// Where forges show a finding.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: u32,
    pub(crate) end_line: u32,
    /// From 1, in characters.
    pub(crate) column: Option<u32>,
    /// Behind the last one.
    pub(crate) end_column: Option<u32>,
    /// The text of the file with what is meant, if it is there.
    pub(crate) shown: Option<(&'a Source, Span)>,
    /// Where it is in the PTX, when that is another place.
    pub(crate) compiled: Option<String>,
}

impl Place<'_> {
    /// All that a finding says which is shown here, for formats that have one text for it.
    pub(crate) fn message(&self, finding: &Diagnostic) -> String {
        let mut message = full_message(finding);
        if let Some(compiled) = &self.compiled {
            message.push_str(&format!("\nPTX: {compiled}"));
        }
        message
    }
}

impl Checked {
    /// The lines of sources that a place was compiled from, the innermost first.
    pub(crate) fn lines<'a>(&'a self, label: &'a Label) -> Vec<Line<'a>> {
        self.sources.lines(label)
    }

    /// Where a change is reviewed that a finding is about: the line that somebody wrote.
    pub(crate) fn place<'a>(&'a self, finding: &'a Diagnostic) -> Place<'a> {
        let span = finding.primary.span;
        let (start, end) = (self.source.position(span.start), self.source.position(span.end));
        let lines = self.lines(&finding.primary);
        // A wrapper that is installed somewhere is nobody's change, but the line that calls it may be.
        let is_near = |line: &&Line<'_>| line.is_found() && !line.path.starts_with('/');
        let line = lines.iter().find(is_near).or_else(|| lines.iter().find(|line| line.is_found()));
        let Some(line) = line.or(lines.first()) else {
            return Place {
                path: self.source.name(),
                line: start.line,
                end_line: end.line,
                column: Some(start.column),
                end_column: Some(end.column),
                shown: Some((&self.source, span)),
                compiled: None,
            };
        };
        let shown = line.shown();
        let (column, end_column) = match shown {
            Some((text, span)) => {
                (Some(text.position(span.start).column), Some(text.position(span.end).column))
            }
            None => (line.column, line.column.map(|column| column + 1)),
        };
        Place {
            path: line.path,
            line: line.line,
            end_line: line.line,
            column,
            end_column,
            shown,
            compiled: Some(format!("{}:{}:{}", self.source.name(), start.line, start.column)),
        }
    }
}
