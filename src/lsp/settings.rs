//! What the client can do, and what the user wants.

use std::str::FromStr;

use lsp_types::InitializeParams;
use serde_json::Value;

use super::documents::Encoding;
use crate::Options;
use crate::isa::targets::{PtxVersion, Target};

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
        }
    }
}

/// The section of the client's settings that is ours.
pub(super) const SECTION: &str = "ptx-tc";

/// Makes [`Options`] of settings: `{"targets": ["sm_100a"], "ptxVersion": "9.0"}`, by itself or as
/// the section `ptx-tc`. The one place where the server's options come from.
pub(super) fn options(settings: &Value) -> Result<Options, String> {
    let settings = settings.get(SECTION).unwrap_or(settings);
    let targets = match settings.get("targets") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) => {
            names.iter().map(|name| parse::<Target>("targets", name)).collect::<Result<_, _>>()?
        }
        Some(name) => vec![parse("targets", name)?],
    };
    let ptx_version = match settings.get("ptxVersion") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.is_empty() => None,
        Some(version) => Some(parse::<PtxVersion>("ptxVersion", version)?),
    };
    Ok(Options { ptx_version, targets })
}

fn parse<T: FromStr<Err = String>>(name: &str, value: &Value) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| format!("`{name}` wants text, not `{value}`"))?;
    text.parse().map_err(|error| format!("`{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_become_options() {
        let read = |value: Value| options(&value);
        assert_eq!(read(json!(null)).unwrap().targets, []);
        let both = read(json!({"ptx-tc": {"targets": ["sm_100a"], "ptxVersion": "8.6"}})).unwrap();
        assert_eq!(both.targets, [Target::a(100)]);
        assert_eq!(both.ptx_version, Some(PtxVersion::new(8, 6)));
        assert_eq!(read(json!({"targets": "sm_103a"})).unwrap().targets, [Target::a(103)]);
        assert!(read(json!({"targets": [7]})).unwrap_err().contains("wants text"));
        assert!(read(json!({"ptxVersion": "nine"})).unwrap_err().contains("no PTX version"));
    }
}
