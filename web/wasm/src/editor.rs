//! The text in the editor: what the language server says of it.

use ptx_check::analysis::description::Description;
use ptx_check::diagnostic::Severity;
use ptx_check::diagnostic::selection::{Layer, RuleSettings, Selector};
use ptx_check::isa::targets::Target;
use ptx_check::rules::Code;
use ptx_check::source::Span;
use ptx_check::{Options, description};
use ptx_draw::{barriers, svg, tmem};
use ptx_lsp::local::Document;
use serde::Serialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::json;

/// Findings of one rule that are shown.
const MOST_FINDINGS: usize = 100;

/// A text that is edited, and what is known of it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Editor {
    document: Document,
    initialized: Value,
    options: Options,
}

/// A part of a text that is replaced: lines and columns from 0, columns in UTF-16 code units.
#[derive(serde::Deserialize)]
struct Change {
    start: (u32, u32),
    end: (u32, u32),
    text: String,
}

/// A descriptor of a multiply or copy.
#[derive(Serialize)]
struct Word<'a> {
    /// `idesc`, `smem` or `zero-mask`.
    descriptor: &'static str,
    name: &'a str,
    /// Its digits, `?` where they are not known.
    value: &'a str,
    is_known: bool,
    start: (u32, u32),
    end: (u32, u32),
    /// What else `decode` and `draw` take.
    context: Vec<String>,
}

#[wasm_bindgen]
impl Editor {
    /// Opens a text. `initialize` are the parameters of that request; the end of the address says what language it is.
    #[wasm_bindgen(constructor)]
    pub fn new(initialize: &str, uri: &str, text: String) -> Result<Editor, String> {
        let initialize = serde_json::from_str(initialize).map_err(|error| error.to_string())?;
        let (document, initialized) = Document::open_for(&initialize, uri, text)?;
        let options = Options { max_findings: Some(MOST_FINDINGS), ..Options::default() };
        Ok(Self { document, initialized, options })
    }

    /// The answer to `initialize`.
    pub fn initialized(&self) -> String {
        self.initialized.to_string()
    }

    /// Checks against these targets from now on, such as `sm_100a sm_103a`; none are those of the text.
    pub fn set_targets(&mut self, targets: &str) -> Result<(), String> {
        self.options.targets =
            targets.split_whitespace().map(Target::known).collect::<Result<Vec<Target>, String>>()?;
        Ok(())
    }

    /// Runs these rules, too, although they are off by default: `TC313 TC708`.
    pub fn set_rules(&mut self, rules: &str) -> Result<(), String> {
        self.options.rules = also(&rules.split_whitespace().collect::<Vec<_>>())?;
        Ok(())
    }

    /// Replaces parts of the text, one after the other: `[{"start": [line, column], "end": ..., "text": ...}]`.
    pub fn replace(&mut self, changes: &str) -> Result<(), String> {
        let changes: Vec<Change> = serde_json::from_str(changes).map_err(|error| error.to_string())?;
        for Change { start, end, text } in changes {
            self.document.replace(start, end, &text);
        }
        Ok(())
    }

    /// Parses the text. Requests are about the text that was parsed last.
    pub fn parse(&mut self) {
        self.document.parse(&self.options);
    }

    /// Checks the text: the diagnostics of the protocol.
    pub fn check(&mut self) -> Result<String, String> {
        self.document.check(&self.options);
        // The answer does not depend on whose text it is.
        let params = json!({ "textDocument": { "uri": "" } });
        let answer = self.document.request("textDocument/diagnostic", params)?;
        Ok(answer["items"].to_string())
    }

    /// The answer to a request of the protocol.
    pub fn request(&self, method: &str, params: &str) -> Result<String, String> {
        let params = serde_json::from_str(params).map_err(|error| error.to_string())?;
        self.document.request(method, params).map(|answer| answer.to_string())
    }

    /// The kernels of the text, in its order.
    pub fn kernels(&self) -> String {
        json(&self.document.unit().map(ptx_simulation::kernels).unwrap_or_default())
    }

    /// What a kernel does with Tensor Memory, as SVG.
    pub fn tensor_memory(&self, kernel: &str) -> Option<String> {
        let told = ptx_depict::kernel::of(self.document.unit()?, kernel)?;
        Some(svg::render(&tmem::picture(&told.tmem)))
    }

    /// What a kernel does with mbarriers, as SVG.
    pub fn barriers(&self, kernel: &str) -> Option<String> {
        let told = ptx_depict::kernel::of(self.document.unit()?, kernel)?;
        Some(svg::render(&barriers::picture(kernel, &told.barriers, false)))
    }

    /// The descriptors of the multiply or copy at a place.
    pub fn descriptors(&self, line: u32, character: u32) -> String {
        let found = self.document.described((line, character));
        json(&found.as_ref().map(|(description, places)| self.words(description, places)).unwrap_or_default())
    }
}

impl Editor {
    fn words<'a>(&self, description: &'a Description, places: &[Span]) -> Vec<Word<'a>> {
        let statement = places.first().map_or("", |span| {
            let range = span.start as usize..span.end as usize;
            self.document.text().get(range).unwrap_or_default()
        });
        let all = description.words.iter().zip(places.iter().skip(1));
        let word = |(word, place): (&'a description::Word, &Span)| Word {
            descriptor: match word.name {
                "idesc" => "idesc",
                "zero-column-mask-desc" => "zero-mask",
                _ => "smem",
            },
            name: word.name,
            value: &word.value,
            is_known: word.is_known_from(0),
            start: self.document.place(place.start),
            end: self.document.place(place.end),
            context: context(description, word.name, statement),
        };
        all.map(word).collect()
    }
}

/// The rules that run, with some that are off by default.
pub(crate) fn also(rules: &[impl AsRef<str>]) -> Result<RuleSettings, String> {
    let one = |rule: &str| Code::parse(rule).ok_or_else(|| format!("there is no rule `{rule}`"));
    let rules = rules.iter().map(|rule| one(rule.as_ref())).collect::<Result<Vec<Code>, String>>()?;
    let severity = rules.into_iter().map(|code| (Selector::Rule(code), Severity::Warning)).collect();
    Ok(RuleSettings::default().with(&Layer { severity, ..Layer::default() }))
}

/// What the instruction around a descriptor says that `decode` and `draw` ask.
fn context(description: &Description, name: &str, statement: &str) -> Vec<String> {
    let Some(multiply) = &description.multiply else { return Vec::new() };
    let kind = multiply.kind.to_string();
    let kind = format!("kind={}", kind.trim_start_matches("kind::"));
    let yes = |it: bool| if it { "yes" } else { "no" };
    match name {
        "idesc" => {
            let pair = if statement.contains("cta_group::2") { 2 } else { 1 };
            let ws = description.instruction.contains(".ws");
            vec![
                kind,
                format!("cta-group={pair}"),
                format!("ws={}", yes(ws)),
                format!("sp={}", yes(multiply.sparse)),
            ]
        }
        "zero-column-mask-desc" => {
            let sizes = [("m", multiply.m), ("n", multiply.n)];
            sizes.iter().filter_map(|(name, size)| Some(format!("{name}={}", (*size)?))).collect()
        }
        _ => {
            let matrix = if name.starts_with('a') { &multiply.a } else { &multiply.b };
            let element = matrix.element.map(|element| format!("type={element}"));
            let major = matrix.major.map(|major| {
                let major = major.to_string();
                format!("major={}", if major == "K" { "k" } else { "mn" })
            });
            element.into_iter().chain(major).chain([kind]).collect()
        }
    }
}

/// What a rule is about, in Markdown; nothing if there is no such rule.
#[wasm_bindgen]
pub fn explain(rule: &str) -> Option<String> {
    let code = Code::parse(rule)?;
    Some(code.rule().documentation().into_owned())
}
