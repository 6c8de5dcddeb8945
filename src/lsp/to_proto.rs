//! Our types to the protocol's. Nothing else in the crate makes the latter from findings or spans.

use lsp_types::{
    CodeDescription, DiagnosticOptions, DiagnosticRelatedInformation, DiagnosticServerCapabilities,
    DiagnosticSeverity, DiagnosticTag, Location, NumberOrString, Position, PositionEncodingKind, Range,
    ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, Uri,
    WorkDoneProgressOptions,
};
use serde_json::{Value, json};

use super::documents::{Encoding, Text};
use super::settings::Client;
use super::snapshot::Snapshot;
use crate::diagnostic::{Diagnostic, Severity};
use crate::rules::Code;
use crate::source::Span;

/// The command that explains a rule.
pub(super) const EXPLAIN: &str = "ptx-tc.explain";

/// What the server can do.
pub(super) fn capabilities(client: &Client) -> Value {
    let capabilities = ServerCapabilities {
        position_encoding: Some(match client.encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        })),
        diagnostic_provider: Some(DiagnosticServerCapabilities::Options(DiagnosticOptions {
            identifier: Some("ptx-tc".to_owned()),
            inter_file_dependencies: false,
            workspace_diagnostics: false,
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        ..ServerCapabilities::default()
    };
    json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "ptx-tc", "version": env!("CARGO_PKG_VERSION") },
    })
}

pub(super) fn range(text: &Text, encoding: Encoding, span: Span) -> Range {
    let position = |offset| {
        let place = text.place(offset, encoding);
        Position::new(place.line, place.character)
    };
    Range::new(position(span.start), position(span.end))
}

/// The findings of a document.
pub(super) fn diagnostics(client: &Client, snapshot: &Snapshot, uri: &Uri) -> Vec<lsp_types::Diagnostic> {
    snapshot.diagnostics().iter().map(|it| diagnostic(client, &snapshot.text, uri, it)).collect()
}

/// One finding.
pub(super) fn diagnostic(
    client: &Client,
    text: &Text,
    uri: &Uri,
    diagnostic: &Diagnostic,
) -> lsp_types::Diagnostic {
    let rule = diagnostic.code.rule();
    let mut message = diagnostic.message.clone();
    for part in [Some(&diagnostic.primary.message), diagnostic.help.as_ref()].into_iter().flatten() {
        if !part.is_empty() {
            message.push('\n');
            message.push_str(part);
        }
    }
    let place = |span| range(text, client.encoding, span);
    let related = || {
        let related = diagnostic.labels.iter().map(|label| DiagnosticRelatedInformation {
            location: Location::new(uri.clone(), place(label.span)),
            message: label.message.clone(),
        });
        related.collect()
    };
    lsp_types::Diagnostic {
        range: place(diagnostic.primary.span),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Info | Severity::Off => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(rule.code.to_owned())),
        code_description: rule.url().parse().ok().map(|href| CodeDescription { href }),
        source: Some("ptx-tc".to_owned()),
        message,
        related_information: (client.related_information && !diagnostic.labels.is_empty()).then(related),
        tags: tags(diagnostic),
        data: Some(json!({ "name": rule.name })),
    }
}

/// What can go without loss is greyed out; what has a new name is struck through.
fn tags(diagnostic: &Diagnostic) -> Option<Vec<DiagnosticTag>> {
    match diagnostic.code {
        Code::RepeatedQualifier => Some(vec![DiagnosticTag::UNNECESSARY]),
        Code::UnknownTarget if diagnostic.fix.is_some() => Some(vec![DiagnosticTag::DEPRECATED]),
        _ => None,
    }
}
