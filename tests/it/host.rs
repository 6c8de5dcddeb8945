//! PTX in files of other languages: findings at the characters that people wrote, and none where
//! nothing is wrong.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ptx_tc::diagnostic::Severity;
use ptx_tc::{Options, Report, Source, check};

fn checked(path: &Path) -> (Source, Report) {
    let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
    let source = Source::from_bytes(name, fs::read(path).unwrap()).unwrap();
    let report = check(&source, &Options::default());
    (source, report)
}

/// One line for each finding: where, what stands there, what is said of it, and what a fix would make
/// of the line.
fn listed(source: &Source, report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.diagnostics {
        let span = finding.primary.span;
        let (from, to) = (source.position(span.start), source.position(span.end));
        writeln!(
            text,
            "{}:{}-{}:{} {:?}: {} {}: {}",
            from.line,
            from.column,
            to.line,
            to.column,
            source.slice(span),
            finding.severity,
            finding.code,
            finding.message,
        )
        .unwrap();
        for label in &finding.labels {
            writeln!(text, "    {:?}: {}", source.slice(label.span), label.message).unwrap();
        }
        for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
            writeln!(text, "    {:?} -> {:?}", source.slice(edit.span), edit.text).unwrap();
        }
    }
    text
}

#[test]
fn broken_files() {
    insta::glob!("../../fixtures/host/broken", "*.*", |path| {
        let (source, report) = checked(path);
        let name = path.file_name().unwrap().to_string_lossy().replace('.', "_");
        insta::with_settings!({ omit_expression => true, input_file => path, snapshot_suffix => "", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("host_{name}"), listed(&source, &report));
        });
    });
}

#[test]
fn sound_files() {
    insta::glob!("../../fixtures/host/sound", "*.*", |path| {
        let (source, report) = checked(path);
        let found = report.diagnostics.iter().any(|it| it.severity >= Severity::Warning);
        assert!(!found, "{}", listed(&source, &report));
    });
}
