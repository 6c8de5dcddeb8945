//! From requests to features and back.

use lsp_server::ErrorCode;
use lsp_types::request::{self as requests, Request as _};
use lsp_types::{ExecuteCommandParams, Uri};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::settings::Client;
use super::snapshot::Snapshot;
use super::to_proto;
use crate::rules::Code;

/// What a request is answered from.
pub(super) struct Context<'a> {
    pub(super) client: &'a Client,
    pub(super) snapshot: &'a Snapshot,
    pub(super) uri: &'a Uri,
    pub(super) version: i32,
}

/// What has to be known of a document before a request can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// The tree and the names.
    Tree,
    /// The findings.
    Findings,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: ErrorCode,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The text changed before the answer was there.
    pub(super) fn superseded(needs: Needs) -> Self {
        match needs {
            Needs::Tree => Self::new(ErrorCode::ContentModified, "the text has changed"),
            Needs::Findings => Self {
                data: Some(json!({ "retriggerRequest": true })),
                ..Self::new(ErrorCode::ServerCancelled, "the text has changed")
            },
        }
    }
}

type Answer = Result<Value, Failure>;

/// What a method needs; `None` if there is no such method.
pub(super) fn needs(method: &str) -> Option<Needs> {
    Some(match method {
        requests::DocumentDiagnosticRequest::METHOD | requests::CodeActionRequest::METHOD => Needs::Findings,
        _ => return None,
    })
}

/// Answers a request.
pub(super) fn handle(context: &Context<'_>, method: &str, params: Value) -> Answer {
    match method {
        requests::DocumentDiagnosticRequest::METHOD => {
            read::<lsp_types::DocumentDiagnosticParams>(params)?;
            let items = to_proto::diagnostics(context.client, context.snapshot, context.uri);
            answer(json!({ "kind": "full", "items": items }))
        }
        _ => Err(Failure::new(ErrorCode::MethodNotFound, format!("no method `{method}`"))),
    }
}

/// The symbols of all open documents whose name contains the letters of `query`, in order.
pub(super) fn workspace_symbols(_client: &Client, _documents: &[(&Uri, &Snapshot)], _query: &str) -> Value {
    Value::Null
}

/// The command behind the action "explain": the documentation of a rule as Markdown, and in short.
pub(super) fn explain(params: &ExecuteCommandParams) -> Option<(String, String)> {
    if params.command != to_proto::EXPLAIN {
        return None;
    }
    let code = Code::parse(params.arguments.first()?.as_str()?)?;
    let rule = code.rule();
    let text = format!("# {} {}\n\n{}", rule.code, rule.name, rule.docs);
    Some((text, format!("{} {}: {}", rule.code, rule.name, rule.summary())))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|error| Failure::new(ErrorCode::InvalidParams, error.to_string()))
}

fn answer(value: impl Serialize) -> Answer {
    serde_json::to_value(value).map_err(|error| Failure::new(ErrorCode::InternalError, error.to_string()))
}
