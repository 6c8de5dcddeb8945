//! Findings as SARIF 2.1.0, the format of code scanning.
//!
//! The types are the part of the standard (OASIS, 27 March 2020) that is written here; the numbers
//! of its sections stand beside them.

use std::fmt::Write as _;
use std::io::{self, Write};

use ptx_check::diagnostic::{Applicability, Diagnostic, Fix, Label, Severity};
use ptx_check::rules::{Code, RULES, Rule};
use ptx_check::source::{Source, Span};
use serde::Serialize;

use crate::Checked;
use crate::place::Place;

/// 3.13
#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

/// 3.14
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    artifacts: Vec<Artifact>,
    results: Vec<Finding<'a>>,
    #[serde(skip_serializing_if = "RunProperties::is_empty")]
    properties: RunProperties,
}

#[derive(Serialize)]
struct RunProperties {
    omitted: Vec<OmittedFindings>,
}

/// Results that are not in the log, because one file has too many of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OmittedFindings {
    artifact_location: ArtifactLocation,
    rule_id: Code,
    level: &'static str,
    ptxas: ptx_check::diagnostic::Ptxas,
    count: usize,
}

impl RunProperties {
    fn new(files: &[Checked]) -> Self {
        let omitted = files.iter().flat_map(|file| {
            file.report.omitted.iter().map(|omitted| OmittedFindings {
                artifact_location: artifact(&file.source),
                rule_id: omitted.code,
                level: level(omitted.severity),
                ptxas: omitted.ptxas,
                count: omitted.count,
            })
        });
        Self { omitted: omitted.collect() }
    }

    fn is_empty(&self) -> bool {
        self.omitted.is_empty()
    }
}

/// 3.18
#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

/// 3.19
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Descriptor>,
}

/// 3.24
#[derive(Serialize)]
struct Artifact {
    location: ArtifactLocation,
}

/// 3.4
#[derive(Clone, Serialize)]
struct ArtifactLocation {
    uri: String,
}

/// 3.49
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    name: &'static str,
    short_description: Message,
    full_description: Message,
    help: HelpText,
    help_uri: String,
    default_configuration: Configuration,
    properties: DescriptorProperties,
}

/// 3.12, with both forms of the text.
#[derive(Serialize)]
struct HelpText {
    text: String,
    markdown: String,
}

/// 3.50
#[derive(Serialize)]
struct Configuration {
    enabled: bool,
    level: &'static str,
}

#[derive(Serialize)]
struct DescriptorProperties {
    tags: [&'static str; 2],
    ptxas: ptx_check::diagnostic::Ptxas,
}

/// 3.11
#[derive(Serialize)]
struct Message {
    text: String,
}

/// 3.27
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'a> {
    rule_id: Code,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Repair<'a>>,
    properties: FindingProperties,
}

#[derive(Serialize)]
struct FindingProperties {
    ptxas: ptx_check::diagnostic::Ptxas,
}

/// 3.28
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    physical_location: PhysicalLocation,
    message: BorrowedMessage<'a>,
}

#[derive(Serialize)]
struct BorrowedMessage<'a> {
    text: &'a str,
}

/// 3.29
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

/// 3.30
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

/// 3.55
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Repair<'a> {
    description: BorrowedMessage<'a>,
    artifact_changes: [ArtifactChange<'a>; 1],
}

/// 3.56
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange<'a> {
    artifact_location: ArtifactLocation,
    replacements: Vec<Replacement<'a>>,
}

/// 3.57
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement<'a> {
    deleted_region: Region,
    inserted_content: BorrowedMessage<'a>,
}

/// Writes one log with one run.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], out: &mut dyn Write) -> io::Result<()> {
    let results = files
        .iter()
        .flat_map(|file| file.report.diagnostics.iter().map(|diagnostic| finding(file, diagnostic)));
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "ptx-tc",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    information_uri: "https://ptx-tc.github.io",
                    rules: RULES.iter().map(|rule| descriptor(rule)).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            artifacts: files.iter().map(|file| Artifact { location: artifact(&file.source) }).collect(),
            results: results.collect(),
            properties: RunProperties::new(files),
        }],
    };
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn descriptor(rule: &Rule) -> Descriptor {
    let summary = rule.summary();
    let first = summary.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned();
    let documentation = rule.documentation();
    let docs: Vec<&str> = documentation.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let markdown = docs.join("\n");
    Descriptor {
        id: rule.code.as_str(),
        name: rule.code.name(),
        short_description: Message { text: first },
        full_description: Message { text: summary },
        help: HelpText {
            text: markdown.replace("```ptx", "").replace("```", "").replace("## ", ""),
            markdown,
        },
        help_uri: rule.code.url(),
        default_configuration: Configuration {
            enabled: rule.code.severity() != Severity::Off,
            // A rule that is off warns when it is asked for.
            level: if rule.code.severity() == Severity::Off {
                "warning"
            } else {
                level(rule.code.severity())
            },
        },
        properties: DescriptorProperties { tags: ["ptx", "tcgen05"], ptxas: rule.code.ptxas() },
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
        Severity::Off => "none",
    }
}

fn finding<'a>(file: &Checked, diagnostic: &'a Diagnostic) -> Finding<'a> {
    let source = &file.source;
    let place = file.place(diagnostic);
    let message = place.message(diagnostic);
    // What somebody wrote is what is reviewed; what it was compiled to is beside it.
    let written = place.compiled.as_ref().map(|_| written(&place, &diagnostic.primary.message));
    let compiled = location(source, &diagnostic.primary, None);
    let (first, second) = match written {
        Some(written) => (written, Some(Location { id: Some(0), ..compiled })),
        None => (compiled, None),
    };
    let ids = usize::from(second.is_some())..;
    let causes = diagnostic.labels.iter().zip(ids).map(|(label, id)| location(source, label, Some(id)));
    Finding {
        rule_id: diagnostic.code,
        rule_index: diagnostic.code as usize,
        level: level(diagnostic.severity),
        message: Message { text: message },
        locations: [first],
        related_locations: second.into_iter().chain(causes).collect(),
        // Whoever shows a fix of this format applies it unasked.
        fixes: diagnostic
            .fix
            .iter()
            .filter(|fix| fix.applicability == Applicability::Safe)
            .map(|fix| repair(source, fix))
            .collect(),
        properties: FindingProperties { ptxas: diagnostic.ptxas },
    }
}

/// A line of a source that PTX was compiled from.
fn written<'a>(place: &Place<'_>, message: &'a str) -> Location<'a> {
    let column = place.column.unwrap_or(1);
    Location {
        id: None,
        physical_location: PhysicalLocation {
            artifact_location: ArtifactLocation { uri: uri(place.path) },
            region: Region {
                start_line: place.line,
                start_column: column,
                end_line: place.end_line,
                end_column: place.end_column.unwrap_or(column),
            },
        },
        message: BorrowedMessage { text: message },
    }
}

fn location<'a>(source: &Source, label: &'a Label, id: Option<usize>) -> Location<'a> {
    Location {
        id,
        physical_location: PhysicalLocation {
            artifact_location: artifact(source),
            region: region(source, label.span),
        },
        message: BorrowedMessage { text: &label.message },
    }
}

fn repair<'a>(source: &Source, fix: &'a Fix) -> Repair<'a> {
    Repair {
        description: BorrowedMessage { text: &fix.title },
        artifact_changes: [ArtifactChange {
            artifact_location: artifact(source),
            replacements: fix
                .edits
                .iter()
                .map(|edit| Replacement {
                    deleted_region: region(source, edit.span),
                    inserted_content: BorrowedMessage { text: &edit.text },
                })
                .collect(),
        }],
    }
}

fn region(source: &Source, span: Span) -> Region {
    let (start, end) = (source.position(span.start), source.position(span.end));
    Region { start_line: start.line, start_column: start.column, end_line: end.line, end_column: end.column }
}

fn artifact(source: &Source) -> ArtifactLocation {
    ArtifactLocation { uri: uri(source.name()) }
}

/// A path as a relative reference or, when it is absolute, a `file:` URI (RFC 3986).
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = String::with_capacity(path.len());
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.trim_start_matches("./").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("./a/b c.ptx"), "a/b%20c.ptx");
        assert_eq!(uri("/a/é.ptx"), "file:///a/%C3%A9.ptx");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
        assert_eq!(uri("a\\b.ptx"), "a/b.ptx");
    }
}
