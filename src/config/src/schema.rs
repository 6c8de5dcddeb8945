//! The JSON schema of `ptx-tc.toml`, by which editors complete it and say what is wrong with it.
//!
//! It is made from what the reader knows: its keys, the rules, the targets and the versions. Where the
//! reader takes several spellings, the schema takes them, too.

use std::collections::BTreeSet;

use ptx_check::isa::targets::{TARGETS, VERSIONS};
use ptx_check::rules::Code;
use serde_json::{Map, Value, json};
use strum::IntoEnumIterator;

use crate::{Key, LEVELS, MAX_FINDINGS};

/// Where it is published, as the pages of the rules are.
pub(crate) const URL: &str = "https://ptx-tc.github.io/ptx-tc.schema.json";

/// The JSON schema (draft 7) of `ptx-tc.toml`.
pub fn schema() -> Value {
    let properties: Map<String, Value> =
        Key::iter().map(|key| (<&str>::from(key).to_owned(), property(key))).collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": URL,
        "title": "ptx-tc.toml",
        "description": "Configuration of ptx-tc for the files below the directory that it stands in. \
            Options of the command line win over it. \
            In a pyproject.toml the same stands in the table `[tool.ptx-tc]`.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "definitions": {
            "rules": {
                "description": "Rules by code (TC301), name (ncols-invalid), or the start of codes (TC3).",
                "type": "array",
                "items": { "$ref": "#/definitions/rule" },
            },
            "rule": rule(),
            "severity": {
                "description": "How much findings of a rule matter; `off`: the rule does not run.",
                "enum": LEVELS,
            },
            "patterns": {
                "description": "Patterns as in .gitignore, relative to the directory of this file.",
                "type": "array",
                "items": { "type": "string" },
            },
        },
    })
}

fn property(key: Key) -> Value {
    match key {
        Key::Targets => json!({
            "description": "Check for each of these targets instead of the modules' own.",
            "type": "array",
            "items": { "anyOf": [{ "enum": targets("sm_") }, { "enum": targets("compute_") }] },
        }),
        Key::PtxVersion => {
            let names: Vec<String> = VERSIONS.iter().map(ToString::to_string).collect();
            let numbers: Vec<Value> =
                names.iter().filter_map(|name| serde_json::from_str(name).ok()).collect();
            json!({
                "description": "Check against this version of the PTX ISA instead of the modules' own.",
                "anyOf": [{ "enum": names }, { "enum": numbers }],
            })
        }
        Key::Select => json!({
            "description": "Run these rules and no others.",
            "allOf": [{ "$ref": "#/definitions/rules" }],
        }),
        Key::Ignore => json!({
            "description": "Do not run these rules.",
            "allOf": [{ "$ref": "#/definitions/rules" }],
        }),
        Key::Severity => {
            let rules: Map<String, Value> =
                Code::all().map(|code| (code.name().to_owned(), severity(code))).collect();
            json!({
                "description": "How much findings matter. A rule that is off by default runs when it has a severity.",
                "type": "object",
                "properties": rules,
                "propertyNames": { "$ref": "#/definitions/rule" },
                "additionalProperties": { "$ref": "#/definitions/severity" },
            })
        }
        Key::Include => json!({
            "description": "Files that are checked where they are found in a directory; without this, all that may have PTX.",
            "allOf": [{ "$ref": "#/definitions/patterns" }],
        }),
        Key::Exclude => json!({
            "description": "Files that are not checked and not formatted.",
            "allOf": [{ "$ref": "#/definitions/patterns" }],
        }),
        Key::PerFileIgnores => json!({
            "description": "Rules that are ignored in the files that a pattern, as in .gitignore, matches.",
            "type": "object",
            "additionalProperties": { "$ref": "#/definitions/rules" },
        }),
        Key::MaxFindings => json!({
            "description": "Show at most so many findings of one rule in one file and count the others; 0 shows all.",
            "type": "integer",
            "minimum": 0,
            "default": MAX_FINDINGS,
        }),
    }
}

/// What a rule finds stands beside its name.
fn severity(code: Code) -> Value {
    json!({
        "description": format!("{code}: {}", code.rule().summary()),
        "enum": LEVELS,
        "default": <&str>::from(code.severity()),
    })
}

/// A target, however it is called.
fn targets(prefix: &str) -> Vec<String> {
    let name = |target: String| format!("{prefix}{}", target.trim_start_matches("sm_"));
    TARGETS.iter().map(|(target, _)| name(target.to_string())).collect()
}

/// A selector. Codes count in lower case, too, which is for a pattern: nobody wants that completed.
fn rule() -> Value {
    let codes: Vec<&str> = Code::all().map(Code::as_str).collect();
    let families: BTreeSet<&str> =
        codes.iter().flat_map(|code| (2..code.len()).map(|end| &code[..end])).collect();
    let digits = families.iter().chain(&codes).filter_map(|code| code.strip_prefix("TC"));
    let pattern = format!("^[Tt][Cc](?:{})$", digits.collect::<Vec<_>>().join("|"));
    let names: Vec<&str> = Code::all().map(Code::name).collect();
    json!({
        "type": "string",
        "anyOf": [{ "enum": names }, { "enum": codes }, { "enum": families }, { "pattern": pattern }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_template_is_in_the_schema() {
        let schema = schema();
        let known = schema["properties"].as_object().unwrap();
        let keys: BTreeSet<&str> = crate::TEMPLATE
            .lines()
            .filter_map(|line| {
                let line = line.trim_start_matches("# ");
                line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).or_else(|| {
                    let (key, _) = line.split_once(" = ")?;
                    known.contains_key(key).then_some(key)
                })
            })
            .collect();
        assert_eq!(keys, known.keys().map(String::as_str).collect());
    }
}
