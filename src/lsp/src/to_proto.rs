//! Our types to the protocol's. Nothing else in the crate makes the latter from findings or spans.

use lsp_types::{self as types, DiagnosticTag, Location, NumberOrString, Position, Range, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ptx_check::diagnostic::{Applicability, Diagnostic, Edit, Omitted, Severity};
use ptx_check::rules::Code;
use ptx_check::source::Span;
use ptx_check::words::list_words;
use ptx_sources::{Line, Outdated, Role, Sources, Written};
use serde_json::{Value, json};
use strum::IntoEnumIterator;

use crate::actions::Action;
use crate::completion::{self, Item};
use crate::described::Part;
use crate::handlers::Context;
use crate::hints::Hint;
use crate::hover::Hover;
use crate::lenses::Lens;
use crate::links::Link;
use crate::navigation::Occurrence;
use crate::outline::{self, Fold, ItemKind};
use crate::runs::{Ran, Wish};
use crate::settings::Client;
use crate::signature::Signature;
use crate::snapshot::Snapshot;
use crate::text::{Encoding, Text, difference};
use crate::tokens::{Class, Word};

/// The command that explains a rule.
pub(crate) const EXPLAIN: &str = "ptx-tc.explain";

/// The command that runs a kernel: the address of the document, and the name of the kernel and of the launch file.
pub(crate) const SIMULATE: &str = "ptx-tc.simulate";

/// The command that cancels a run, with the same arguments.
pub(crate) const CANCEL: &str = "ptx-tc.cancelSimulation";

/// What the server can do.
pub(crate) fn capabilities(client: Client) -> Value {
    let encoding = match client.encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
    };
    let classes: Vec<&'static str> = Class::iter().map(Into::into).collect();
    // As JSON, because that is what the protocol's document shows.
    json!({
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": { "openClose": true, "change": types::TextDocumentSyncKind::INCREMENTAL },
            "diagnosticProvider": {
                "identifier": "ptx-tc",
                "interFileDependencies": false,
                "workspaceDiagnostics": false,
            },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": [".", ":", "%", "@", "[", "{"] },
            "signatureHelpProvider": { "triggerCharacters": [" ", ","] },
            "definitionProvider": true,
            "declarationProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "foldingRangeProvider": true,
            "semanticTokensProvider": {
                "legend": { "tokenTypes": classes, "tokenModifiers": [] },
                "full": true,
                "range": true,
            },
            "inlayHintProvider": true,
            "codeLensProvider": { "resolveProvider": false },
            "documentLinkProvider": { "resolveProvider": false },
            "documentFormattingProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", FIX_ALL, SIMULATES] },
            "executeCommandProvider": { "commands": [EXPLAIN, SIMULATE, CANCEL] },
        },
        "serverInfo": { "name": "ptx-tc", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The kind of the action that applies all safe fixes; editors run it when they save.
pub(crate) const FIX_ALL: &str = "source.fixAll.ptx-tc";

/// The kind of the actions that run a kernel, for editors without code lenses.
pub(crate) const SIMULATES: &str = "source.simulate.ptx-tc";

pub(crate) fn range(text: &Text, encoding: Encoding, span: Span) -> Range {
    let position = |offset| {
        let place = text.place(offset, encoding);
        Position::new(place.line, place.character)
    };
    Range::new(position(span.start), position(span.end))
}

/// The findings of a document.
pub(crate) fn diagnostics(client: Client, snapshot: &Snapshot, uri: &Uri) -> Vec<lsp_types::Diagnostic> {
    let shown = snapshot.diagnostics().iter().map(|it| diagnostic(client, snapshot, uri, it));
    let mut shown: Vec<_> = shown.chain(omitted(snapshot.omitted())).collect();
    if !client.wants_runs_apart() {
        shown.extend(of_runs(client, snapshot, uri));
    }
    shown
}

/// The findings of runs.
pub(crate) fn of_runs(client: Client, snapshot: &Snapshot, uri: &Uri) -> Vec<lsp_types::Diagnostic> {
    let mut shown = Vec::new();
    for (wish, ran) in snapshot.ran() {
        for finding in ran.diagnostics.iter().map(|it| diagnostic(client, snapshot, uri, it)) {
            // Several launches may show the same.
            if !shown.contains(&finding) {
                shown.push(finding);
            }
        }
        shown.extend(reasons(client, snapshot, &wish, &ran));
    }
    shown
}

/// Where a run ended before all of the kernel was seen, and why.
fn reasons<'a>(
    client: Client,
    snapshot: &'a Snapshot,
    wish: &'a Wish,
    ran: &'a Ran,
) -> impl Iterator<Item = lsp_types::Diagnostic> + 'a {
    ran.reasons.iter().map(move |reason| {
        let name = || snapshot.kernel(&wish.kernel).unwrap_or_default();
        let help = reason.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
        lsp_types::Diagnostic {
            range: range(&snapshot.text, client.encoding, reason.span.unwrap_or_else(name)),
            severity: Some(types::DiagnosticSeverity::INFORMATION),
            source: Some("ptx-tc".to_owned()),
            message: format!("The simulation of `{}` is incomplete: {}{help}", wish.kernel, reason.text),
            ..lsp_types::Diagnostic::default()
        }
    })
}

/// At the start of the document, how many findings are not shown: editors are as slow with a
/// million of them as people are.
fn omitted(omitted: &[Omitted]) -> Option<lsp_types::Diagnostic> {
    let severity = omitted.iter().map(|omitted| omitted.severity).max()?;
    let parts = Omitted::by_code(omitted).into_iter();
    let parts = parts.map(|part| format!("{} of {} ({})", part.count, part.code, part.code.name()));
    Some(lsp_types::Diagnostic {
        range: Range::default(),
        severity: Some(severity_of(severity)),
        source: Some("ptx-tc".to_owned()),
        message: format!("Findings that are not shown: {}", list_words(parts, "and")),
        ..lsp_types::Diagnostic::default()
    })
}

fn severity_of(severity: Severity) -> types::DiagnosticSeverity {
    match severity {
        Severity::Error => types::DiagnosticSeverity::ERROR,
        Severity::Warning => types::DiagnosticSeverity::WARNING,
        Severity::Info | Severity::Off => types::DiagnosticSeverity::INFORMATION,
    }
}

/// One finding.
pub(crate) fn diagnostic(
    client: Client,
    snapshot: &Snapshot,
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
    let place = |span| range(&snapshot.text, client.encoding, span);
    let related = || {
        let labels = diagnostic.labels.iter().map(|label| types::DiagnosticRelatedInformation {
            location: Location::new(uri.clone(), place(label.span)),
            message: label.message.clone(),
        });
        let written = snapshot.sources().map(|sources| written(client, sources, diagnostic));
        let related: Vec<_> = labels.chain(written.into_iter().flatten()).collect();
        (!related.is_empty()).then_some(related)
    };
    lsp_types::Diagnostic {
        range: place(diagnostic.primary.span),
        severity: Some(severity_of(diagnostic.severity)),
        code: Some(NumberOrString::String(rule.code.to_string())),
        code_description: rule.code.url().parse().ok().map(|href| types::CodeDescription { href }),
        source: Some("ptx-tc".to_owned()),
        message,
        related_information: client.related_information.then(related).flatten(),
        tags: tags(diagnostic),
        data: Some(json!({ "name": rule.code.name() })),
    }
}

/// The lines of sources that a finding in PTX is about, where the sources are here.
fn written(
    client: Client,
    sources: &Sources,
    diagnostic: &Diagnostic,
) -> Vec<types::DiagnosticRelatedInformation> {
    /// The lines of more causes are not told.
    const MAX_CAUSES: usize = 20;
    let causes = &diagnostic.labels[..diagnostic.labels.len().min(MAX_CAUSES)];
    let written = sources.written(diagnostic, causes, Line::is_found).into_iter();
    let related = written.filter_map(|Written { line, role }| {
        let mut message = match role {
            Role::Offence => "compiled to this PTX".to_owned(),
            Role::NearOffence => "the last line before this PTX".to_owned(),
            Role::CallOfOffence => "what is inlined here is compiled to this PTX".to_owned(),
            Role::Call => "inlined here".to_owned(),
            Role::Cause(said) => said.to_owned(),
            Role::CallOfCause(said) => format!("{said} (inlined here)"),
        };
        match line.outdated() {
            None => {}
            Some(Outdated::Changed) => message.push_str(" (the file has changed since)"),
            Some(Outdated::Newer) => message.push_str(" (the file is newer than the PTX)"),
        }
        let location = Location::new(file_uri(line.path)?, written_range(client.encoding, &line));
        Some(types::DiagnosticRelatedInformation { location, message })
    });
    related.collect()
}

/// The word that is meant of a line of a source, or as much as is known of the place.
fn written_range(encoding: Encoding, line: &Line<'_>) -> Range {
    let row = line.line.saturating_sub(1);
    let Some((source, span)) = line.shown() else {
        let start = Position::new(row, line.column.map_or(0, |column| column - 1));
        return Range::new(start, start);
    };
    let lines = source.lines();
    let start = lines.start(row as usize).unwrap_or(span.start);
    let position = |offset| {
        let before = source.slice(Span::new(start, offset));
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.encode_utf16().count(),
        };
        Position::new(row, character as u32)
    };
    Range::new(position(span.start), position(span.end))
}

/// The address of a file.
fn file_uri(path: &str) -> Option<Uri> {
    /// What may stand in the path of an address as it is.
    const PLAIN: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let path = std::path::absolute(path).ok()?;
    let path = path.to_str()?.replace('\\', "/");
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("file://{root}{}", utf8_percent_encode(&path, PLAIN)).parse().ok()
}

/// What can go without loss is greyed out; what has a new name is struck through.
fn tags(diagnostic: &Diagnostic) -> Option<Vec<DiagnosticTag>> {
    match diagnostic.code {
        Code::RepeatedQualifier | Code::UnusedSuppression => Some(vec![DiagnosticTag::UNNECESSARY]),
        Code::UnknownTarget if diagnostic.fix.is_some() => Some(vec![DiagnosticTag::DEPRECATED]),
        _ => None,
    }
}

pub(crate) fn location(context: &Context<'_>, span: Span) -> Location {
    Location::new(context.uri.clone(), context.range(span))
}

fn markdown(value: String) -> types::MarkupContent {
    types::MarkupContent { kind: types::MarkupKind::Markdown, value }
}

pub(crate) fn hover(context: &Context<'_>, hover: Hover) -> types::Hover {
    types::Hover {
        contents: types::HoverContents::Markup(markdown(hover.markdown)),
        range: Some(context.range(hover.span)),
    }
}

pub(crate) fn highlight(context: &Context<'_>, occurrence: Occurrence) -> types::DocumentHighlight {
    types::DocumentHighlight {
        range: context.range(occurrence.span),
        kind: Some(if occurrence.is_declaration {
            types::DocumentHighlightKind::WRITE
        } else {
            types::DocumentHighlightKind::READ
        }),
    }
}

// ---- edits ----

fn text_edit(context: &Context<'_>, edit: &Edit) -> types::TextEdit {
    types::TextEdit { range: context.written_range(edit.span), new_text: edit.text.clone() }
}

/// Edits of the version that they were made for.
pub(crate) fn workspace_edit(context: &Context<'_>, edits: &[Edit]) -> Value {
    let edits: Vec<types::TextEdit> = edits.iter().map(|edit| text_edit(context, edit)).collect();
    if context.client.document_changes {
        let document = json!({ "uri": context.uri, "version": context.version });
        return json!({ "documentChanges": [{ "textDocument": document, "edits": edits }] });
    }
    json!({ "changes": { (context.uri.as_str()): edits } })
}

/// One edit that turns the text into `new`.
pub(crate) fn whole_text(context: &Context<'_>, new: &str) -> types::TextEdit {
    text_edit(context, &difference(context.snapshot.document.unit.source.text(), new))
}

/// Whether the client asks for actions of a kind.
pub(crate) fn is_wanted(kind: &str, only: Option<&[types::CodeActionKind]>) -> bool {
    only.is_none_or(|only| {
        only.iter().any(|it| {
            let rest = kind.strip_prefix(it.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || it.as_str().is_empty())
        })
    })
}

pub(crate) fn code_actions(
    context: &Context<'_>,
    actions: Vec<Action<'_>>,
    only: Option<&[types::CodeActionKind]>,
) -> Vec<Value> {
    let wanted = |kind: &str| is_wanted(kind, only);
    let found = |it: &Diagnostic| diagnostic(context.client, context.snapshot, context.uri, it);
    actions
        .into_iter()
        .filter_map(|action| match action {
            Action::Fix { diagnostic, fix } if wanted("quickfix") => Some(json!({
                "title": fix.title,
                "kind": "quickfix",
                "diagnostics": [found(diagnostic)],
                "isPreferred": fix.applicability == Applicability::Safe,
                "edit": workspace_edit(context, &fix.edits),
            })),
            Action::FixAll { edits, count } if wanted(FIX_ALL) => Some(json!({
                "title": format!("Fix all: {count} of ptx-tc's findings"),
                "kind": FIX_ALL,
                "edit": workspace_edit(context, &edits),
            })),
            Action::Suppress { diagnostic, edit } if wanted("quickfix") => Some(json!({
                "title": format!("Suppress {} here", diagnostic.code),
                "kind": "quickfix",
                "diagnostics": [found(diagnostic)],
                "edit": workspace_edit(context, &[edit]),
            })),
            Action::Explain { diagnostic } if wanted("quickfix") => {
                let title = format!("Explain {}", diagnostic.code);
                Some(json!({
                    "title": title,
                    "kind": "quickfix",
                    "diagnostics": [found(diagnostic)],
                    "command": { "title": title, "command": EXPLAIN, "arguments": [diagnostic.code] },
                }))
            }
            _ => None,
        })
        .collect()
}

fn command(context: &Context<'_>, lens: &Lens) -> Value {
    let Lens { title, wish, is_running, .. } = lens;
    let command = if *is_running { CANCEL } else { SIMULATE };
    json!({ "title": title, "command": command, "arguments": [context.uri, wish.kernel, wish.launch] })
}

/// What to run above a kernel.
pub(crate) fn lens(context: &Context<'_>, lens: &Lens) -> Value {
    json!({ "range": context.range(lens.span), "command": command(context, lens) })
}

/// The same as an action, which names the kernel.
pub(crate) fn run_action(context: &Context<'_>, lens: &Lens) -> Value {
    let title = format!("{}: {}", lens.wish.kernel, lens.title);
    json!({ "title": title, "kind": SIMULATES, "command": command(context, lens) })
}

// ---- completion and signatures ----

pub(crate) fn completion(client: Client, text: &Text, items: Vec<Item>) -> Value {
    let items: Vec<types::CompletionItem> = items
        .into_iter()
        .filter(|item| client.snippets || !item.is_snippet())
        .enumerate()
        .map(|(index, item)| completion_item(client, text, index, item))
        .collect();
    json!({ "isIncomplete": false, "items": items })
}

fn completion_item(client: Client, text: &Text, index: usize, item: Item) -> types::CompletionItem {
    let range = range(text, client.encoding, item.replace);
    let is_snippet = item.is_snippet();
    let new_text = if is_snippet { snippet(&item.insert) } else { plain(&item.insert) };
    let edit = types::TextEdit { range, new_text };
    types::CompletionItem {
        label: item.label,
        kind: Some(match item.kind {
            completion::Kind::Operation => types::CompletionItemKind::KEYWORD,
            completion::Kind::Qualifier => types::CompletionItemKind::ENUM_MEMBER,
            completion::Kind::Skeleton => types::CompletionItemKind::SNIPPET,
            completion::Kind::Register => types::CompletionItemKind::VARIABLE,
            completion::Kind::Variable => types::CompletionItemKind::FIELD,
            completion::Kind::Label => types::CompletionItemKind::REFERENCE,
            completion::Kind::Function => types::CompletionItemKind::FUNCTION,
            completion::Kind::Directive => types::CompletionItemKind::KEYWORD,
            completion::Kind::Value => types::CompletionItemKind::VALUE,
        }),
        detail: (!item.detail.is_empty()).then_some(item.detail),
        documentation: (!item.documentation.is_empty())
            .then(|| types::Documentation::MarkupContent(markdown(item.documentation))),
        // The order is ours, not that of the alphabet.
        sort_text: Some(format!("{index:05}")),
        insert_text_format: is_snippet.then_some(types::InsertTextFormat::SNIPPET),
        text_edit: Some(types::CompletionTextEdit::Edit(edit)),
        ..types::CompletionItem::default()
    }
}

fn plain(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => text.as_ref(),
        Part::Place(text) => text,
        Part::Choice(texts) => texts.first().map_or("", String::as_str),
    });
    texts.collect()
}

/// The protocol's way to write places that are to be filled in.
fn snippet(parts: &[Part]) -> String {
    let escaped = |text: &str, special: &[char]| {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            if special.contains(&character) {
                escaped.push('\\');
            }
            escaped.push(character);
        }
        escaped
    };
    let mut stop = 0;
    let mut snippet = String::new();
    for part in parts {
        match part {
            Part::Text(text) => snippet.push_str(&escaped(text, &['\\', '$', '}'])),
            Part::Place(text) => {
                stop += 1;
                snippet.push_str(&format!("${{{stop}:{}}}", escaped(text, &['\\', '$', '}'])));
            }
            Part::Choice(texts) => {
                stop += 1;
                let texts = texts.iter().map(|text| escaped(text, &['\\', ',', '|']));
                snippet.push_str(&format!("${{{stop}|{}|}}", texts.collect::<Vec<_>>().join(",")));
            }
        }
    }
    snippet
}

pub(crate) fn signature(signature: Signature) -> types::SignatureHelp {
    let parameters = signature.parameters.into_iter().map(|(label, noun)| types::ParameterInformation {
        label: types::ParameterLabel::Simple(label),
        documentation: Some(types::Documentation::String(noun)),
    });
    types::SignatureHelp {
        signatures: vec![types::SignatureInformation {
            label: signature.label,
            documentation: Some(types::Documentation::String(signature.documentation)),
            parameters: Some(parameters.collect()),
            active_parameter: None,
        }],
        active_signature: Some(0),
        active_parameter: Some(signature.active as u32),
    }
}

// ---- symbols ----

fn symbol_kind(kind: ItemKind) -> types::SymbolKind {
    match kind {
        ItemKind::Entry | ItemKind::Function => types::SymbolKind::FUNCTION,
        ItemKind::Variable => types::SymbolKind::VARIABLE,
        ItemKind::Label => types::SymbolKind::KEY,
    }
}

/// As a tree, or flat for clients that know no trees.
pub(crate) fn document_symbols(context: &Context<'_>, items: Vec<outline::Item>) -> Value {
    if context.client.symbol_tree {
        return json!(items.into_iter().map(|item| tree(context, item)).collect::<Vec<_>>());
    }
    let mut symbols = Vec::new();
    for item in items {
        flat_symbols(context, item, None, &mut symbols);
    }
    json!(symbols)
}

fn tree(context: &Context<'_>, item: outline::Item) -> Value {
    json!({
        "name": item.name,
        "detail": item.detail,
        "kind": symbol_kind(item.kind),
        "range": context.range(item.span),
        "selectionRange": context.range(item.selection),
        "children": item.children.into_iter().map(|child| tree(context, child)).collect::<Vec<_>>(),
    })
}

#[allow(deprecated, reason = "the struct has a deprecated field that has to be set")]
pub(crate) fn flat_symbols(
    context: &Context<'_>,
    item: outline::Item,
    container: Option<&str>,
    symbols: &mut Vec<types::SymbolInformation>,
) {
    symbols.push(types::SymbolInformation {
        name: item.name.clone(),
        kind: symbol_kind(item.kind),
        tags: None,
        deprecated: None,
        location: location(context, item.selection),
        container_name: container.map(str::to_owned),
    });
    for child in item.children {
        flat_symbols(context, child, Some(&item.name), symbols);
    }
}

pub(crate) fn fold(fold: Fold) -> types::FoldingRange {
    types::FoldingRange {
        start_line: fold.first,
        end_line: fold.last,
        kind: fold.is_comment.then_some(types::FoldingRangeKind::Comment),
        ..types::FoldingRange::default()
    }
}

// ---- beside the text ----

/// Each word relative to the one before it, as the protocol has it.
pub(crate) fn semantic_tokens(context: &Context<'_>, words: &[Word]) -> Value {
    let mut data: Vec<u32> = Vec::with_capacity(words.len() * 5);
    let mut last = Position::new(0, 0);
    let mut words: Vec<(Range, &Word)> = words
        .iter()
        .filter(|word| context.snapshot.is_written(word.span))
        .map(|word| (context.range(word.span), word))
        .collect();
    if context.snapshot.document.host.is_some() {
        // Macros stand elsewhere, and are used more than once.
        words.sort_by_key(|(range, _)| (range.start.line, range.start.character));
        words.dedup_by_key(|(range, _)| range.start);
    }
    for (Range { start, end }, word) in words {
        if start.line != end.line {
            continue;
        }
        let line = start.line - last.line;
        let character = if line == 0 { start.character - last.character } else { start.character };
        data.extend([line, character, end.character - start.character, word.class as u32, 0]);
        last = start;
    }
    json!({ "data": data })
}

pub(crate) fn inlay_hint(context: &Context<'_>, hint: Hint) -> types::InlayHint {
    types::InlayHint {
        position: context.range(Span::at(hint.at)).start,
        label: types::InlayHintLabel::String(hint.label),
        kind: None,
        text_edits: None,
        tooltip: Some(types::InlayHintTooltip::MarkupContent(markdown(hint.tooltip))),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

pub(crate) fn link(context: &Context<'_>, link: &Link) -> Value {
    json!({ "range": context.range(link.span), "target": link.url, "tooltip": link.title })
}
