//! What the client can do, and what the user wants.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use lsp_types::InitializeParams;
use serde_json::Value;

use super::text::Encoding;
use crate::config::Wishes;
use crate::diagnostic::Severity;
use crate::diagnostic::selection::{Layer, Selector};

/// What the client can do.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(super) struct Client {
    /// What a column counts.
    pub(super) encoding: Encoding,
    /// It asks for findings; it must not be sent any.
    pub(super) pulls_diagnostics: bool,
    /// It can be told to ask again.
    pub(super) refreshes_diagnostics: bool,
    /// It shows places beside a finding.
    pub(super) related_information: bool,
    /// It has places to jump to in inserted text.
    pub(super) snippets: bool,
    /// It knows edits that name the version of the text that they are for.
    pub(super) document_changes: bool,
    /// It shows symbols as a tree.
    pub(super) symbol_tree: bool,
    /// It can be asked for settings.
    pub(super) configuration: bool,
    /// It can be asked to say when files change.
    pub(super) watches_files: bool,
}

impl Client {
    pub(super) fn new(params: &InitializeParams) -> Self {
        let capabilities = &params.capabilities;
        let document = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let encodings = capabilities.general.as_ref().and_then(|it| it.position_encodings.as_ref());
        let utf8 = encodings.is_some_and(|it| it.contains(&lsp_types::PositionEncodingKind::UTF8));
        let snippets = || document?.completion.as_ref()?.completion_item.as_ref()?.snippet_support;
        Self {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            pulls_diagnostics: document.is_some_and(|it| it.diagnostic.is_some()),
            refreshes_diagnostics: workspace
                .and_then(|it| it.diagnostic.as_ref()?.refresh_support)
                .unwrap_or_default(),
            related_information: document
                .and_then(|it| it.publish_diagnostics.as_ref()?.related_information)
                // A client that pulls does not say it there.
                .unwrap_or(document.is_some_and(|it| it.diagnostic.is_some())),
            snippets: snippets().unwrap_or_default(),
            document_changes: workspace
                .and_then(|it| it.workspace_edit.as_ref()?.document_changes)
                .unwrap_or_default(),
            symbol_tree: document
                .and_then(|it| it.document_symbol.as_ref()?.hierarchical_document_symbol_support)
                .unwrap_or_default(),
            configuration: workspace.and_then(|it| it.configuration).unwrap_or_default(),
            watches_files: workspace
                .and_then(|it| it.did_change_watched_files?.dynamic_registration)
                .unwrap_or_default(),
        }
    }
}

/// The section of the client's settings that is ours.
pub(super) const SECTION: &str = "ptx-tc";

/// The settings of a client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// What it asks for beside the configurations of files.
    pub(super) wishes: Wishes,
    /// The configuration that it wants for all files.
    pub(super) configuration: Option<PathBuf>,
}

impl Settings {
    /// Reads settings such as `{"targets": ["sm_100a"], "severity": {"TC301": "warning"}}`, by
    /// themselves or as the section `ptx-tc`.
    pub(super) fn read(settings: &Value) -> Result<Self, String> {
        let settings = settings.get(SECTION).unwrap_or(settings);
        let select = settings.get("select").filter(|it| !it.is_null());
        let rules = Layer {
            select: select.map(|_| list(settings, "select")).transpose()?,
            ignore: list(settings, "ignore")?,
            severity: severities(settings)?,
        };
        let ptx_version = text(settings, "ptxVersion")?.map(|text| parse("ptxVersion", text)).transpose()?;
        let wishes = Wishes { targets: list(settings, "targets")?, ptx_version, rules, ..Wishes::default() };
        Ok(Self { wishes, configuration: text(settings, "configuration")?.map(PathBuf::from) })
    }
}

/// The text under a key; an empty one counts as none, as settings editors have it.
fn text<'v>(settings: &'v Value, key: &str) -> Result<Option<&'v str>, String> {
    match settings.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(value) => Err(format!("`{key}` wants text, not `{value}`")),
    }
}

/// The texts under a key; one may stand for itself.
fn list<T: FromStr<Err: Display>>(settings: &Value, key: &str) -> Result<Vec<T>, String> {
    match settings.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(|item| parse(key, word(key, item)?)).collect(),
        Some(item) => Ok(vec![parse(key, word(key, item)?)?]),
    }
}

fn severities(settings: &Value) -> Result<Vec<(Selector, Severity)>, String> {
    const KEY: &str = "severity";
    match settings.get(KEY) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(levels)) => levels
            .iter()
            .map(|(rule, level)| {
                let text = word(KEY, level)?;
                let level =
                    Severity::from_str(text).map_err(|_| format!("`{KEY}`: `{text}` is not a severity"))?;
                Ok((parse(KEY, rule)?, level))
            })
            .collect(),
        Some(value) => Err(format!("`{KEY}` wants an object, not `{value}`")),
    }
}

fn word<'v>(key: &str, value: &'v Value) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("`{key}` wants text, not `{value}`"))
}

fn parse<T: FromStr<Err: Display>>(key: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("`{key}`: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::isa::targets::{PtxVersion, Target};
    use crate::rules::Code;

    #[test]
    fn settings_become_wishes() {
        let read = |value: Value| Settings::read(&value);
        assert_eq!(read(json!(null)).unwrap(), Settings::default());
        assert_eq!(read(json!({"ptxVersion": "", "configuration": ""})).unwrap(), Settings::default());
        let both = read(json!({"ptx-tc": {"targets": ["sm_100a"], "ptxVersion": "8.6"}})).unwrap();
        assert_eq!(both.wishes.targets, [Target::a(100)]);
        assert_eq!(both.wishes.ptx_version, Some(PtxVersion::new(8, 6)));
        assert_eq!(read(json!({"targets": "sm_103a"})).unwrap().wishes.targets, [Target::a(103)]);
        let rules = read(json!({"select": ["TC3"], "severity": {"ncols-invalid": "info"}})).unwrap();
        assert_eq!(rules.wishes.rules.select, Some(vec![Selector::Family("TC3".to_owned())]));
        let severity = [(Selector::Rule(Code::NcolsInvalid), Severity::Info)];
        assert_eq!(rules.wishes.rules.severity, severity);
    }

    #[test]
    fn mistakes_are_named() {
        for (settings, message) in [
            (json!({"targets": [7]}), "`targets` wants text, not `7`"),
            (json!({"ptxVersion": "nine"}), "not a PTX version"),
            (json!({"ptxVersion": 9.0}), "wants text"),
            (json!({"ignore": ["ncols-invald"]}), "did you mean `ncols-invalid`?"),
            (json!({"severity": {"TC301": "loud"}}), "`loud` is not a severity"),
            (json!({"severity": []}), "wants an object"),
        ] {
            let error = Settings::read(&settings).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
