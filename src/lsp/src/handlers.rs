//! From requests to features and back.

use lsp_server::ErrorCode;
use lsp_types::request::{self as requests, Request as _};
use lsp_types::{self as types, ExecuteCommandParams, Uri};
use ptx_check::rules::Code;
use ptx_check::source::Span;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::completion::{Item, View};
use crate::described::Part;
use crate::navigation::Occurrence;
use crate::settings::Client;
use crate::snapshot::Snapshot;
use crate::text::{Change, Place, Text};
use crate::{
    actions, completion, hints, hover, lenses, links, navigation, outline, signature, to_proto, tokens,
};

/// What a request is answered from.
pub(crate) struct Context<'a> {
    pub(crate) client: Client,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) uri: &'a Uri,
    pub(crate) version: i32,
}

/// What has to be known of a document before a request can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing but the text.
    Text,
    /// The tree and the names.
    Tree,
    /// The findings.
    Findings,
}

/// Why a request has no answer.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The text changed before the answer was there.
    pub(crate) fn superseded(method: &str) -> Self {
        match method {
            requests::DocumentDiagnosticRequest::METHOD => Self {
                data: Some(json!({ "retriggerRequest": true })),
                ..Self::new(ErrorCode::ServerCancelled, "the text has changed")
            },
            _ => Self::new(ErrorCode::ContentModified, "the text has changed"),
        }
    }
}

type Answer = Result<Value, Failure>;

/// What a method needs; `None` if there is no such method.
pub(crate) fn needs(method: &str) -> Option<Needs> {
    Some(match method {
        requests::SignatureHelpRequest::METHOD => Needs::Text,
        requests::DocumentDiagnosticRequest::METHOD | requests::CodeActionRequest::METHOD => Needs::Findings,
        // What they say about values is known by the analysis of one function.
        requests::HoverRequest::METHOD
        | requests::InlayHintRequest::METHOD
        | requests::Completion::METHOD
        | requests::GotoDefinition::METHOD
        | requests::GotoDeclaration::METHOD
        | requests::References::METHOD
        | requests::DocumentHighlightRequest::METHOD
        | requests::PrepareRenameRequest::METHOD
        | requests::Rename::METHOD
        | requests::DocumentSymbolRequest::METHOD
        | requests::FoldingRangeRequest::METHOD
        | requests::SemanticTokensFullRequest::METHOD
        | requests::SemanticTokensRangeRequest::METHOD
        | requests::DocumentLinkRequest::METHOD
        | requests::CodeLensRequest::METHOD
        | requests::Formatting::METHOD => Needs::Tree,
        _ => return None,
    })
}

/// Answers a request.
pub(crate) fn handle(context: &Context<'_>, method: &str, params: Value) -> Answer {
    match method {
        requests::DocumentDiagnosticRequest::METHOD => {
            read::<types::DocumentDiagnosticParams>(params)?;
            let items = to_proto::diagnostics(context.client, context.snapshot, context.uri);
            answer(json!({ "kind": "full", "items": items }))
        }
        requests::CodeActionRequest::METHOD => {
            let params: types::CodeActionParams = read(params)?;
            // Some editors mean all findings of a line, wherever in it the cursor is.
            let meant: Vec<Span> =
                params.context.diagnostics.iter().map(|it| context.written_span(it.range)).collect();
            let only = params.context.only.as_deref();
            let fix_all = to_proto::is_wanted(to_proto::FIX_ALL, only);
            let span = context.written_span(params.range);
            let ran = context.snapshot.ran();
            let simulated: Vec<_> = ran.iter().flat_map(|(_, ran)| &ran.diagnostics).collect();
            let found = actions::actions(context.snapshot, &simulated, span, &meant, fix_all);
            let mut actions = to_proto::code_actions(context, found, only);
            if to_proto::is_wanted(to_proto::SIMULATES, only) {
                let runs = lenses::lenses(context.snapshot, span);
                actions.extend(runs.iter().map(|it| to_proto::run_action(context, it)));
            }
            answer(actions)
        }
        requests::HoverRequest::METHOD => {
            let params: types::HoverParams = read(params)?;
            let offset = context.offset(params.text_document_position_params.position);
            let hover =
                offset.and_then(|offset| hover::hover(context.snapshot, offset, context.client.pictures));
            answer(hover.map(|it| to_proto::hover(context, it)))
        }
        requests::Completion::METHOD => {
            let snapshot = context.snapshot;
            if snapshot.document.host.is_some() {
                return completion_inside(context, &read(params)?);
            }
            early(context.client, &snapshot.text, method, params, Some((snapshot, &[])))
        }
        requests::GotoDefinition::METHOD | requests::GotoDeclaration::METHOD => {
            let params: types::GotoDefinitionParams = read(params)?;
            let offset = context.offset(params.text_document_position_params.position);
            let span = offset.and_then(|offset| navigation::definition(context.snapshot, offset));
            answer(span.map(|span| to_proto::location(context, span)))
        }
        requests::References::METHOD => {
            let params: types::ReferenceParams = read(params)?;
            let all = params.context.include_declaration;
            let found = context.occurrences(params.text_document_position.position);
            let wanted = found.iter().filter(|it| all || !it.is_declaration);
            answer(wanted.map(|it| to_proto::location(context, it.span)).collect::<Vec<_>>())
        }
        requests::DocumentHighlightRequest::METHOD => {
            let params: types::DocumentHighlightParams = read(params)?;
            let found = context.occurrences(params.text_document_position_params.position);
            answer(found.iter().map(|it| to_proto::highlight(context, *it)).collect::<Vec<_>>())
        }
        requests::PrepareRenameRequest::METHOD => {
            let params: types::TextDocumentPositionParams = read(params)?;
            let offset = context.renamable(params.position)?;
            let (span, _) = navigation::renamable(context.snapshot, offset).map_err(refused)?;
            answer(context.range(span))
        }
        requests::Rename::METHOD => {
            let params: types::RenameParams = read(params)?;
            let offset = context.renamable(params.text_document_position.position)?;
            let edits = navigation::rename(context.snapshot, offset, &params.new_name).map_err(refused)?;
            answer(to_proto::workspace_edit(context, &edits))
        }
        _ => handle_document(context, method, params),
    }
}

/// Answers a request that comes while someone types, from the text as it is. Names come from the
/// last tree, which may be of an earlier text: then with the edits that have happened since.
pub(crate) fn early(
    client: Client,
    text: &Text,
    method: &str,
    params: Value,
    last: Option<(&Snapshot, &[Change])>,
) -> Answer {
    let place = |position: types::Position| {
        let place = Place { line: position.line, character: position.character };
        text.offset(place, client.encoding)
    };
    match (method, last) {
        (requests::SignatureHelpRequest::METHOD, _) => {
            let params: types::SignatureHelpParams = read(params)?;
            let offset = place(params.text_document_position_params.position);
            answer(signature::signature(text, offset).map(to_proto::signature))
        }
        (requests::Completion::METHOD, Some((snapshot, changes))) => {
            let params: types::CompletionParams = read(params)?;
            let offset = place(params.text_document_position.position);
            let view = View { text, offset, snapshot, place: Change::before(changes, offset) };
            answer(to_proto::completion(client, text, completion::complete(view)))
        }
        _ => Err(Failure::new(ErrorCode::MethodNotFound, format!("no method `{method}`"))),
    }
}

/// Answers a request about the document as a whole, or a part of it.
fn handle_document(context: &Context<'_>, method: &str, params: Value) -> Answer {
    let everything = Span::new(0, context.snapshot.document.unit.source.text().len() as u32);
    match method {
        // What a host file consists of, the server of its language knows.
        requests::DocumentSymbolRequest::METHOD
        | requests::FoldingRangeRequest::METHOD
        | requests::DocumentLinkRequest::METHOD
            if context.snapshot.document.host.is_some() =>
        {
            answer(Vec::<Value>::new())
        }
        requests::DocumentSymbolRequest::METHOD => {
            answer(to_proto::document_symbols(context, outline::outline(context.snapshot)))
        }
        requests::FoldingRangeRequest::METHOD => {
            answer(outline::folds(context.snapshot).into_iter().map(to_proto::fold).collect::<Vec<_>>())
        }
        requests::SemanticTokensFullRequest::METHOD => {
            answer(to_proto::semantic_tokens(context, &tokens::words(context.snapshot, everything)))
        }
        requests::SemanticTokensRangeRequest::METHOD => {
            let params: types::SemanticTokensRangeParams = read(params)?;
            let span = context.span(params.range);
            answer(to_proto::semantic_tokens(context, &tokens::words(context.snapshot, span)))
        }
        requests::InlayHintRequest::METHOD => {
            let params: types::InlayHintParams = read(params)?;
            let hints = hints::hints(context.snapshot, context.span(params.range));
            let is_written = |hint: &hints::Hint| {
                context.snapshot.is_written(Span::new(hint.at.saturating_sub(1), hint.at))
            };
            answer(
                hints
                    .into_iter()
                    .filter(is_written)
                    .map(|it| to_proto::inlay_hint(context, it))
                    .collect::<Vec<_>>(),
            )
        }
        requests::CodeLensRequest::METHOD => {
            let lenses = lenses::lenses(context.snapshot, everything);
            answer(lenses.iter().map(|it| to_proto::lens(context, it)).collect::<Vec<_>>())
        }
        requests::DocumentLinkRequest::METHOD => {
            let links = links::links(context.snapshot);
            answer(links.iter().map(|it| to_proto::link(context, it)).collect::<Vec<_>>())
        }
        requests::Formatting::METHOD => {
            let params: types::DocumentFormattingParams = read(params)?;
            let style = ptx_layout::Style {
                tab_size: params.options.tab_size.clamp(1, 16),
                spaces: params.options.insert_spaces,
            };
            let unit = &context.snapshot.document.unit;
            // What was taken from a file of another language is not that file.
            let is_sound = unit.is_module && unit.syntax_errors.is_empty();
            let text = is_sound.then(|| ptx_layout::layout_sound(unit.source.text(), style)).flatten();
            let edits = text.iter().map(|text| to_proto::whole_text(context, text));
            answer(edits.collect::<Vec<_>>())
        }
        _ => Err(Failure::new(ErrorCode::MethodNotFound, format!("no method `{method}`"))),
    }
}

impl Context<'_> {
    /// The place in the PTX; none where the position is not in any.
    fn offset(&self, position: types::Position) -> Option<u32> {
        self.snapshot.inside(self.written_offset(position))
    }

    /// The place of something whose name can be changed: not where other code uses it.
    fn renamable(&self, position: types::Position) -> Result<u32, Failure> {
        let host = self.snapshot.document.host.as_ref();
        let offset = self.offset(position).filter(|_| host.is_none());
        offset.ok_or_else(|| refused("only names in files of PTX can be changed".to_owned()))
    }

    /// The place in the text.
    fn written_offset(&self, position: types::Position) -> u32 {
        let place = Place { line: position.line, character: position.character };
        self.snapshot.text.offset(place, self.client.encoding)
    }

    /// The part of the text.
    fn written_span(&self, range: types::Range) -> Span {
        let (start, end) = (self.written_offset(range.start), self.written_offset(range.end));
        Span::new(start.min(end), start.max(end))
    }

    /// The part of the PTX; all of it where the text is another, which is put together from pieces.
    fn span(&self, range: types::Range) -> Span {
        if self.snapshot.document.host.is_some() {
            return Span::new(0, self.snapshot.document.unit.source.text().len() as u32);
        }
        self.written_span(range)
    }

    /// The range of a span of the PTX.
    pub(crate) fn range(&self, span: Span) -> types::Range {
        self.written_range(self.snapshot.outside(span))
    }

    /// The range of a span of the text.
    pub(crate) fn written_range(&self, span: Span) -> types::Range {
        to_proto::range(&self.snapshot.text, self.client.encoding, span)
    }

    fn occurrences(&self, position: types::Position) -> Vec<Occurrence> {
        let Some(offset) = self.offset(position) else { return Vec::new() };
        let entity = navigation::entity(self.snapshot, offset);
        entity.map(|(_, entity)| navigation::occurrences(self.snapshot, entity)).unwrap_or_default()
    }
}

/// What can be written in a template of a host file.
fn completion_inside(context: &Context<'_>, params: &types::CompletionParams) -> Answer {
    let snapshot = context.snapshot;
    let Some(offset) = context.offset(params.text_document_position.position) else {
        return answer(Value::Null);
    };
    let text = Text::new(snapshot.document.unit.source.text().to_owned());
    let mut items = completion::complete(View { text: &text, offset, snapshot, place: offset });
    items.retain_mut(|item| quote(snapshot, item).is_some());
    answer(to_proto::completion(context.client, &snapshot.text, items))
}

/// Makes an item one of the host file: what is inserted is written as its literal wants it.
fn quote(snapshot: &Snapshot, item: &mut Item) -> Option<()> {
    let host = snapshot.document.host.as_ref()?;
    let replace = item.replace;
    // All parts stand in one place.
    let quoted = |text: &str| match host.edits(replace, text)?.0.as_slice() {
        [(span, text)] => Some((*span, text.clone())),
        _ => None,
    };
    item.replace = quoted("")?.0;
    for part in &mut item.insert {
        match part {
            Part::Text(text) => *text = quoted(text)?.1.into(),
            Part::Place(text) => *text = quoted(text)?.1,
            Part::Choice(texts) => {
                for text in texts {
                    *text = quoted(text)?.1;
                }
            }
        }
    }
    Some(())
}

fn refused(message: String) -> Failure {
    Failure::new(ErrorCode::RequestFailed, message)
}

/// The symbols of all open documents whose name contains the letters of `query`, in order.
pub(crate) fn workspace_symbols(
    client: Client,
    documents: &[(&Uri, i32, &Snapshot)],
    query: &str,
) -> Vec<types::SymbolInformation> {
    let mut symbols = Vec::new();
    for &(uri, version, snapshot) in documents {
        let context = Context { client, snapshot, uri, version };
        for item in outline::outline(snapshot) {
            to_proto::flat_symbols(&context, item, None, &mut symbols);
        }
    }
    symbols.retain(|symbol| {
        let mut letters = symbol.name.chars().flat_map(char::to_lowercase);
        query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
    });
    symbols
}

/// The command behind the action "explain": the documentation of a rule as Markdown, and in short.
pub(crate) fn explain(params: &ExecuteCommandParams) -> Option<(String, String)> {
    if params.command != to_proto::EXPLAIN {
        return None;
    }
    let code = Code::parse(params.arguments.first()?.as_str()?)?;
    let rule = code.rule();
    let text = format!("# {} {}\n\n{}", rule.code, rule.code.name(), rule.documentation());
    Some((text, format!("{} {}: {}", rule.code, rule.code.name(), rule.summary())))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| Failure::new(ErrorCode::InvalidParams, error.to_string()))
}

fn answer(value: impl Serialize) -> Answer {
    serde_json::to_value(value).map_err(|error| Failure::new(ErrorCode::InternalError, error.to_string()))
}
