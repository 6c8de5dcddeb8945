//! Findings as a report of GitLab's Code Quality, which merge requests show beside their changes.
//!
//! GitLab compares the reports of two branches by the fingerprints in them. So a fingerprint must not
//! change when lines are added elsewhere, and no two findings may have the same: it is made from the
//! path, the rule, the text around the finding, and how many findings before had all of these.

use std::hash::Hasher;
use std::io::{self, Write};

use ptx_check::diagnostic::{Diagnostic, Omitted, Severity};
use ptx_check::rules::Code;
use ptx_check::source::{Source, Span};
use rustc_hash::FxHashMap;
use serde::Serialize;
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::excerpt::floor_char;
use crate::{Checked, slashed};

/// Of a line that no compiler writes, so many bytes on each side of a finding count.
const AROUND: u32 = 200;

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
    end: u32,
}

/// Writes one document for all files.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    let mut fingerprints = Fingerprints::default();
    let mut issues = Vec::new();
    for file in files {
        let path = slashed(file.source.name());
        let mut issue = |code: Code, severity, description, text: &str, location| {
            issues.push(Issue {
                description,
                check_name: code.name(),
                fingerprint: fingerprints.next(&path, code, text),
                severity: self::severity(severity),
                location,
            });
        };
        for finding in &file.report.diagnostics {
            let text = text_around(&file.source, finding.primary.span);
            let place = file.place(finding);
            let description = format!("{}: {}", finding.code, place.message(finding));
            let lines = Lines { begin: place.line, end: place.end_line };
            let location = Location { path: slashed(place.path), lines };
            issue(finding.code, finding.severity, description, text, location);
        }
        for Omitted { code, severity, count, .. } in Omitted::by_code(&file.report.omitted) {
            // There is no place for what is about a whole file; it stands where the last one stood.
            let last = file.report.diagnostics.iter().rfind(|finding| finding.code == code);
            let lines = last.map_or(Lines { begin: 1, end: 1 }, |finding| lines(&file.source, finding));
            let description = format!("{code}: and {count} more of {} in this file", code.name());
            issue(code, severity, description, "", Location { path: path.clone(), lines });
        }
    }
    serde_json::to_writer_pretty(&mut *out, &issues)?;
    writeln!(out)
}

/// GitLab's words are info, minor, major, critical and blocker.
fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "critical",
        Severity::Warning => "major",
        Severity::Info | Severity::Off => "info",
    }
}

fn lines(source: &Source, finding: &Diagnostic) -> Lines {
    let Span { start, end } = finding.primary.span;
    Lines { begin: source.position(start).line, end: source.position(end).line }
}

/// What stands on the first line of a finding, without its indentation.
fn text_around(source: &Source, span: Span) -> &str {
    let lines = source.lines();
    let line = lines.line(span.start);
    let end = source.text().len() as u32;
    let start = lines.start(line).unwrap_or(end).max(span.start.saturating_sub(AROUND));
    let end = lines.start(line + 1).unwrap_or(end).min(span.start.saturating_add(AROUND));
    source.slice(Span::new(floor_char(source, start), floor_char(source, end))).trim()
}

/// Makes fingerprints, each once.
#[derive(Default)]
struct Fingerprints {
    /// How many findings were alike.
    alike: FxHashMap<u128, u64>,
}

impl Fingerprints {
    fn next(&mut self, path: &str, code: Code, text: &str) -> String {
        let hash = hash(&[path.as_bytes(), code.as_str().as_bytes(), text.as_bytes()]);
        let ordinal = self.alike.entry(hash).or_default();
        let fingerprint = self::hash(&[&hash.to_le_bytes(), &ordinal.to_le_bytes()]);
        *ordinal += 1;
        format!("{fingerprint:032x}")
    }
}

/// The same on every machine and in every version.
fn hash(parts: &[&[u8]]) -> u128 {
    let mut hasher = SipHasher13::new();
    for part in parts {
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part);
    }
    hasher.finish128().as_u128()
}
