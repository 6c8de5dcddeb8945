//! The sources that PTX was compiled from, as findings show them.
//!
//! Where a compiler says which lines it compiled, people want to see these: it is them who wrote them.
//! [`find`] looks for them on this machine; the rest reads nothing.

#![warn(missing_docs)]

use std::sync::Arc;

use ptx_check::diagnostic::{Diagnostic, Label};
use ptx_check::resolve::provenance::Frame;
use ptx_check::source::{Source, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

mod find;

pub use find::find;

/// The sources of a module, by what its compiler called them.
#[derive(Debug, Default)]
pub struct Sources {
    files: FxHashMap<Arc<str>, SourceFile>,
}

/// A source that was found.
#[derive(Debug)]
pub struct SourceFile {
    /// What it is called here.
    pub path: String,
    /// What stands in it, when it is what was compiled.
    pub source: Result<Source, Outdated>,
}

/// Why a source is not what was compiled, so that its lines would mislead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outdated {
    /// It is not as long as it was, or has no such line.
    Changed,
    /// It was changed after the PTX.
    Newer,
}

impl Sources {
    /// Says what the file is that a compiler called `recorded`.
    pub fn insert(&mut self, recorded: Arc<str>, file: SourceFile) {
        self.files.insert(recorded, file);
    }

    /// The lines of sources that a finding is about, as far as they are of `use`: its own, the calls through which
    /// that was inlined, and those of its causes in the same way.
    pub fn written<'a>(
        &'a self,
        finding: &'a Diagnostic,
        causes: &'a [Label],
        is_of_use: impl Fn(&Line<'a>) -> bool,
    ) -> Vec<Written<'a>> {
        let is_near = finding.primary.provenance.as_ref().is_some_and(|it| it.is_near);
        let mut all: Vec<Written<'a>> = Vec::new();
        let of_use = |lines: Vec<Line<'a>>| lines.into_iter().enumerate().filter(|(_, line)| is_of_use(line));
        for (index, line) in of_use(self.lines(&finding.primary)) {
            let role = match (index, is_near, all.is_empty()) {
                (0, false, _) => Role::Offence,
                (0, true, _) => Role::NearOffence,
                (_, _, true) => Role::CallOfOffence,
                (_, _, false) => Role::Call,
            };
            all.push(Written { line, role });
        }
        let mut known: FxHashSet<_> = all.iter().map(|it| it.line.place()).collect();
        for cause in causes {
            for (index, line) in of_use(self.lines(cause)) {
                if known.insert(line.place()) {
                    let role = if index == 0 {
                        Role::Cause(&cause.message)
                    } else {
                        Role::CallOfCause(&cause.message)
                    };
                    all.push(Written { line, role });
                }
            }
        }
        all
    }

    /// The lines that a place was compiled from, the innermost first.
    pub fn lines<'a>(&'a self, label: &'a Label) -> Vec<Line<'a>> {
        let frames = label.provenance.iter().flat_map(|provenance| &provenance.frames);
        frames.map(|frame| Line::new(frame, self)).collect()
    }
}

/// A line of a source, and what it is for a finding.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The line.
    pub line: Line<'a>,
    /// What it is for the finding.
    pub role: Role<'a>,
}

/// What a line of a source is for a finding.
#[derive(Clone, Copy, Debug)]
pub enum Role<'a> {
    /// What is wrong was compiled from it.
    Offence,
    /// It is the last line before what is wrong.
    NearOffence,
    /// What is wrong was inlined for it, from a line that cannot be shown.
    CallOfOffence,
    /// What is wrong was inlined for it.
    Call,
    /// A cause was compiled from it; that is what is said of the cause.
    Cause(&'a str),
    /// A cause was inlined for it.
    CallOfCause(&'a str),
}

/// A line of a source.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// What the file is called here or, when it was not found, where it was compiled.
    pub path: &'a str,
    /// From 1.
    pub line: u32,
    /// From 1, as the compiler counts.
    pub column: Option<u32>,
    /// The function that was inlined, by its symbol.
    pub function: Option<&'a str>,
    /// The file, if it was found.
    file: Option<&'a SourceFile>,
}

impl<'a> Line<'a> {
    fn new(frame: &'a Frame, sources: &'a Sources) -> Self {
        let file = sources.files.get(&frame.path);
        Self {
            path: file.map_or(&*frame.path, |file| &file.path),
            line: frame.line,
            column: frame.column,
            function: frame.function.as_deref(),
            file,
        }
    }

    fn place(&self) -> (&'a str, u32, Option<u32>) {
        (self.path, self.line, self.column)
    }

    /// Whether the file was found.
    pub fn is_found(&self) -> bool {
        self.file.is_some()
    }

    /// Why the file is there and the line cannot be shown.
    pub fn outdated(&self) -> Option<Outdated> {
        match &self.file?.source {
            Err(outdated) => Some(*outdated),
            Ok(_) => self.shown().is_none().then_some(Outdated::Changed),
        }
    }

    /// The text and the word of it that is meant, if that can be shown: the name at the column, or the
    /// line.
    pub fn shown(&self) -> Option<(&'a Source, Span)> {
        let text = self.file?.source.as_ref().ok()?;
        let index = (self.line as usize).checked_sub(1)?;
        let start = text.lines().start(index)?;
        let end = text.lines().start(index + 1).unwrap_or(text.text().len() as u32);
        let line = text.slice(Span::new(start, end)).trim_end();
        let column = self.column.map(|column| column as usize - 1).filter(|&column| {
            // Compilers count characters or bytes; either is somewhere on the line.
            line.is_char_boundary(column) && column < line.len()
        });
        let (from, to) = match column {
            Some(column) => {
                let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
                // Compilers count behind macros that they have expanded: a column may be in the middle of a name.
                let before = line[..column].trim_end_matches(is_of_name).len();
                let rest = &line[column..];
                let from = if rest.starts_with(is_of_name) { before } else { column };
                let name = &line[from..];
                let len = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
                let len = name[..len].trim_end_matches(['.', ':']).len();
                (from, from + len.max(name.chars().next().map_or(0, char::len_utf8)))
            }
            None => (line.len() - line.trim_start().len(), line.len()),
        };
        Some((text, Span::new(start + from as u32, start + to as u32)))
    }
}

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))?;
        match self.outdated() {
            None => Ok(()),
            Some(Outdated::Changed) => f.write_str(" (changed since)"),
            Some(Outdated::Newer) => f.write_str(" (not shown: the file is newer than the PTX)"),
        }
    }
}
