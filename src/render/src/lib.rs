//! Findings as text for people and programs. Renderers know formats, not rules.

#![warn(missing_docs)]

use std::io::{self, Write};

use clap::ValueEnum;
use ptx_check::Report;
use ptx_check::diagnostic::{Diagnostic, Severity};
use ptx_check::source::Source;
use ptx_sources::Sources;

mod descriptors;
mod excerpt;
pub mod github;
pub mod gitlab;
pub mod human;
pub mod json;
pub mod junit;
pub mod origin;
mod pairs;
mod place;
pub mod rdjson;
pub mod sarif;
mod shown;
pub mod simulation;
pub mod statistics;
mod styled;
pub mod timeline;
pub mod trace;

/// One source and what was found in it.
#[derive(Debug)]
pub struct Checked {
    /// The source.
    pub source: Source,
    /// The findings.
    pub report: Report,
    /// The sources that it was compiled from.
    pub sources: Sources,
}

impl Checked {
    /// What was found in a source, when nothing is known of what it was compiled from.
    pub fn new(source: Source, report: Report) -> Self {
        Self { source, report, sources: Sources::default() }
    }
}

/// How to write findings. What is said of a format is its help on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Source excerpts with labels.
    Human,
    /// One line for each finding.
    Concise,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// A report for GitLab's Code Quality.
    Gitlab,
    /// A report of tests, as `JUnit` writes it.
    Junit,
    /// Reviewdog's format.
    Rdjson,
}

/// Who reads what is written for people: what they can do about something depends on where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// Somebody who runs the program.
    #[default]
    CommandLine,
    /// Somebody who calls the Python package.
    Python,
    /// Somebody who looks at the playground.
    Page,
}

impl Reader {
    /// Where each copy of a finding is.
    const fn copies(self) -> &'static str {
        match self {
            Self::CommandLine => "`--format concise` shows each",
            Self::Python => "`run.findings` has each",
            Self::Page => "the list of findings has each",
        }
    }

    /// Where findings are that are not shown.
    const fn omitted(self) -> &'static str {
        match self {
            Self::CommandLine => "`--max-findings 0` shows all",
            Self::Python => "`run.findings` has all",
            Self::Page => "the list of findings has all",
        }
    }

    /// Where all is that threads printed.
    const fn printed(self) -> &'static str {
        match self {
            Self::CommandLine => "`--format json`",
            Self::Python => "`run.printed`",
            Self::Page => "the part \"Printed\"",
        }
    }
}

impl Format {
    /// Whether a program reads it, which wants a document even where there is nothing to say.
    pub fn is_document(self) -> bool {
        match self {
            Self::Json | Self::Sarif | Self::Gitlab | Self::Junit | Self::Rdjson => true,
            Self::Human | Self::Concise | Self::Github => false,
        }
    }
}

/// Totals over several sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Sources checked.
    pub files: usize,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity info.
    pub infos: usize,
    /// Findings with a fix.
    pub fixable: usize,
    /// Those of them whose fix only `--unsafe-fixes` applies. Programs see that at each fix.
    #[serde(skip)]
    pub unsafe_fixable: usize,
}

impl Summary {
    /// The totals of `files`.
    pub fn of(files: &[Checked]) -> Self {
        let count = |severity| files.iter().map(|file| file.report.count(severity)).sum();
        Self {
            files: files.len(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            fixable: files.iter().map(|file| file.report.fixable()).sum(),
            unsafe_fixable: files.iter().map(|file| file.report.unsafe_fixable()).sum(),
        }
    }

    /// How many findings have a fix, in a line for people; none where none has.
    pub fn fixes(&self) -> Option<String> {
        match (self.fixable - self.unsafe_fixable, self.unsafe_fixable) {
            (0, 0) => None,
            (safe, 0) => Some(format!("{safe} fixable with --fix")),
            (0, others) => Some(format!("{others} fixable with --unsafe-fixes")),
            (safe, others) => Some(format!("{safe} fixable, {others} more with --unsafe-fixes")),
        }
    }
}

/// Writes all findings to `out`.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], format: Format, color: bool, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Human => human::render(files, human::Style::Rich, color, out),
        Format::Concise => human::render(files, human::Style::Short, color, out),
        Format::Json => json::render(files, out),
        Format::Sarif => sarif::render(files, out),
        Format::Github => github::render(files, out),
        Format::Gitlab => gitlab::render(files, out),
        Format::Junit => junit::render(files, out),
        Format::Rdjson => rdjson::render(files, out),
    }
}

/// Writes the findings of one source for people, without totals.
///
/// # Errors
/// When `out` cannot be written to.
pub fn findings(file: &Checked, color: bool, out: &mut dyn Write) -> io::Result<()> {
    human::findings(file, (0, Reader::CommandLine), color, out).map(drop)
}

/// All that a finding says, for formats that have one text for it.
fn full_message(finding: &Diagnostic) -> String {
    let mut message = format!("{}: {}", finding.message, finding.primary.message);
    for (word, remark) in [("note", &finding.note), ("help", &finding.help)] {
        if let Some(remark) = remark {
            message.push_str(&format!("\n{word}: {remark}"));
        }
    }
    message
}

/// A path as forges write it.
fn slashed(path: &str) -> String {
    path.replace('\\', "/").trim_start_matches("./").to_owned()
}
