//! What the client can do, and what the user wants.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use ptx_check::diagnostic::Severity;
use ptx_check::diagnostic::selection::{Layer, Selector};
use ptx_check::isa::targets::{PtxVersion, Target};
use ptx_config::Wishes;
use serde_json::Value;

use crate::pictures;
use crate::text::Encoding;

/// What the client can do.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(crate) struct Client {
    /// What a column counts.
    pub(crate) encoding: Encoding,
    /// It asks for findings; it must not be sent any.
    pub(crate) pulls_diagnostics: bool,
    /// It can be told to ask again.
    pub(crate) refreshes_diagnostics: bool,
    /// It shows places beside a finding.
    pub(crate) related_information: bool,
    /// It has places to jump to in inserted text.
    pub(crate) snippets: bool,
    /// It knows edits that name the version of the text that they are for.
    pub(crate) document_changes: bool,
    /// It shows symbols as a tree.
    pub(crate) symbol_tree: bool,
    /// It can be asked for settings.
    pub(crate) configuration: bool,
    /// It can be asked to say when files change.
    pub(crate) watches_files: bool,
    /// It can be told to ask for code lenses again.
    pub(crate) refreshes_lenses: bool,
    /// It shows how far something is that the server does.
    pub(crate) shows_progress: bool,
    /// It shows images in hovers whose data stand in their addresses. The protocol has no word for that.
    pub(crate) pictures: bool,
}

impl Client {
    /// Whether the findings of runs have to be sent although it asks for findings: it cannot be told to ask again, and
    /// does so only when the text changes.
    pub(crate) fn wants_runs_apart(self) -> bool {
        self.pulls_diagnostics && !self.refreshes_diagnostics
    }

    /// Reads what it says of itself in `initialize`. Only what is asked here is read: a client may be newer than
    /// this, or be mistaken about what does not matter.
    pub(crate) fn new(params: &Value) -> Self {
        let capability = |path: &str| params.get("capabilities")?.pointer(path);
        let has = |path: &str| capability(path).is_some_and(|it| !it.is_null());
        let says = |path: &str| capability(path).and_then(Value::as_bool);
        let can = |path: &str| says(path).unwrap_or_default();
        let encodings = capability("/general/positionEncodings").and_then(Value::as_array);
        let utf8 = encodings.is_some_and(|it| it.iter().any(|it| it == "utf-8"));
        let pulls_diagnostics = has("/textDocument/diagnostic");
        Self {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            pulls_diagnostics,
            // The second is not in the protocol, but some clients say it so.
            refreshes_diagnostics: can("/workspace/diagnostics/refreshSupport")
                || can("/workspace/diagnostic/refreshSupport"),
            // A client that pulls does not say it there.
            related_information: says("/textDocument/publishDiagnostics/relatedInformation")
                .unwrap_or(pulls_diagnostics),
            snippets: can("/textDocument/completion/completionItem/snippetSupport"),
            document_changes: can("/workspace/workspaceEdit/documentChanges"),
            symbol_tree: can("/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            configuration: can("/workspace/configuration"),
            watches_files: can("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            refreshes_lenses: can("/workspace/codeLens/refreshSupport"),
            shows_progress: can("/window/workDoneProgress"),
            pictures: params
                .pointer("/clientInfo/name")
                .and_then(Value::as_str)
                .is_some_and(pictures::are_shown_by),
        }
    }
}

/// The section of the client's settings that is ours.
pub(crate) const SECTION: &str = "ptx-tc";

/// The settings of a client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// What it asks for beside the configurations of files.
    pub(crate) wishes: Wishes,
    /// The configuration that it wants for all files.
    pub(crate) configuration: Option<PathBuf>,
    /// Whether there is nothing above kernels.
    pub(crate) hides_lenses: bool,
}

impl Settings {
    /// Reads settings such as `{"targets": ["sm_100a"], "severity": {"TC301": "warning"}}`, by
    /// themselves or as the section `ptx-tc`.
    pub(crate) fn read(settings: &Value) -> Result<Self, String> {
        let settings = settings.get(SECTION).unwrap_or(settings);
        let select = settings.get("select").filter(|it| !it.is_null());
        let rules = Layer {
            select: select.map(|_| list(settings, "select")).transpose()?,
            ignore: list(settings, "ignore")?,
            severity: severities(settings)?,
        };
        let version = |text| PtxVersion::released(text).map_err(|error| format!("`ptxVersion`: {error}"));
        let ptx_version = text(settings, "ptxVersion")?.map(version).transpose()?;
        let targets: Vec<String> = list(settings, "targets")?;
        let target = |text: &String| Target::known(text).map_err(|error| format!("`targets`: {error}"));
        let targets = targets.iter().map(target).collect::<Result<_, String>>()?;
        let wishes = Wishes { targets, ptx_version, rules, ..Wishes::default() };
        let configuration = text(settings, "configuration")?.map(PathBuf::from);
        Ok(Self { wishes, configuration, hides_lenses: flag(settings, "codeLens")? == Some(false) })
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

/// The truth value under a key.
fn flag(settings: &Value, key: &str) -> Result<Option<bool>, String> {
    match settings.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(value) => Err(format!("`{key}` wants `true` or `false`, not `{value}`")),
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
    use ptx_check::rules::Code;

    #[test]
    fn settings_become_wishes() {
        let read = |value: Value| Settings::read(&value);
        assert_eq!(read(json!(null)).unwrap(), Settings::default());
        assert_eq!(read(json!({"ptxVersion": "", "configuration": ""})).unwrap(), Settings::default());
        let both = read(json!({"ptx-tc": {"targets": ["sm_100a"], "ptxVersion": "8.6"}})).unwrap();
        assert_eq!(both.wishes.targets, [Target::a(100)]);
        assert_eq!(both.wishes.ptx_version, Some(PtxVersion::new(8, 6)));
        assert_eq!(read(json!({"targets": "sm_103a"})).unwrap().wishes.targets, [Target::a(103)]);
        assert!(read(json!({"codeLens": false})).unwrap().hides_lenses);
        assert_eq!(read(json!({"codeLens": true})).unwrap(), Settings::default());
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
            (json!({"codeLens": "off"}), "wants `true` or `false`"),
        ] {
            let error = Settings::read(&settings).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
