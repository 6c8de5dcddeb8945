//! Descriptors from words and back, and pictures from words.

use ptx_draw::descriptor::Values;
use ptx_draw::isa::element_types::ElementType;
use ptx_draw::isa::targets::TARGETS;
use ptx_draw::isa::vocabulary::{Kind, ScaleVectorSize};
use ptx_draw::{svg, text};
use ptx_workbench::{Descriptor, Encoding, ExpressionError, NoPicture};
use serde::Serialize;
use strum::IntoEnumIterator;
use wasm_bindgen::prelude::*;

use crate::json;

/// What is wrong with words.
#[derive(Serialize)]
struct Refused {
    error: ExpressionError,
}

/// A picture in both forms.
#[derive(Serialize)]
struct Drawn {
    svg: String,
    text: String,
    is_wrong: bool,
}

/// A word that fields make, and a remark.
#[derive(Serialize)]
struct Encoded<'a> {
    #[serde(flatten)]
    document: ptx_workbench::Document<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A word and its fields, and what these may be.
#[derive(Serialize)]
struct Decoded<'a> {
    #[serde(flatten)]
    document: ptx_workbench::Document<'a>,
    forms: Vec<Form>,
}

/// What a field may be.
#[derive(Serialize)]
struct Form {
    name: &'static str,
    /// What may be written.
    expected: String,
    /// The names of its values, if it has some.
    choices: Vec<&'static str>,
    is_flag: bool,
    /// Nobody may set it.
    is_fixed: bool,
}

fn decoded(judged: &ptx_workbench::Judged, descriptor: Descriptor) -> String {
    let forms = judged.layout.fields.iter().map(|field| Form {
        name: field.name,
        expected: field.expected(),
        choices: field.choices(),
        is_flag: matches!(field.values, Values::Flag),
        is_fixed: field.is_fixed() || judged.layout.settable(field.name).is_none(),
    });
    json(&Decoded { document: judged.document(descriptor), forms: forms.collect() })
}

fn split(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn descriptor(name: &str) -> Result<Descriptor, String> {
    name.parse().map_err(|_| format!("there is no descriptor `{name}`: there are idesc, smem, zero-mask"))
}

fn refused(error: ExpressionError) -> String {
    json(&Refused { error })
}

/// What `ptx-tc decode DESCRIPTOR WORD CONTEXT --format json` says, and in `forms` what each field may be; or
/// `{"error": ...}`, with the place in the words.
#[wasm_bindgen]
pub fn decode(name: &str, word: &str, context: &str) -> Result<String, String> {
    let descriptor = descriptor(name)?;
    let judged = ptx_workbench::decode(descriptor, word, &split(context));
    Ok(judged.map_or_else(refused, |judged| decoded(&judged, descriptor)))
}

/// What `ptx-tc encode DESCRIPTOR FIELDS --format json` says, with `--matrix` if `matrix` says so; or `{"error": ...}`.
#[wasm_bindgen]
pub fn encode(name: &str, matrix: bool, fields: &str) -> Result<String, String> {
    let descriptor = descriptor(name)?;
    let encoding = if matrix { Encoding::Matrix } else { Encoding::Fields(descriptor) };
    let encoded = ptx_workbench::encode(encoding, &split(fields));
    let document = |(judged, note): (ptx_workbench::Judged, _)| {
        json(&Encoded { document: judged.document(descriptor), note })
    };
    Ok(encoded.map_or_else(refused, document))
}

/// The picture that `ptx-tc draw WHAT WORDS` draws, as SVG and as text; or `{"error": ...}`.
#[wasm_bindgen]
pub fn draw(what: &str, words: &str) -> String {
    match ptx_workbench::draw(what, &split(words)) {
        Ok(drawn) => json(&Drawn {
            svg: svg::render(&drawn.picture),
            text: text::render(&drawn.picture, text::Look { color: false, width: 100 }),
            is_wrong: drawn.is_wrong,
        }),
        Err(NoPicture::Word(error)) => refused(error),
        Err(NoPicture::Nothing(error)) => json(&Refused {
            error: ExpressionError {
                message: error.message,
                text: String::new(),
                labels: Vec::new(),
                help: error.help,
            },
        }),
    }
}

/// What the words may be that are chosen from few.
#[derive(Serialize)]
struct Vocabulary {
    kinds: Vec<&'static str>,
    types: Vec<&'static str>,
    scale_vectors: Vec<&'static str>,
    targets: Vec<String>,
}

/// The names that menus have: of kinds, of element types, of sizes of scale vectors, of targets.
#[wasm_bindgen]
pub fn vocabulary() -> String {
    let kinds = Kind::iter().map(|kind| <&str>::from(kind).trim_start_matches("kind::"));
    let sizes = ScaleVectorSize::iter().map(|size| <&str>::from(size).trim_start_matches("scale_vec::"));
    json(&Vocabulary {
        kinds: kinds.collect(),
        types: ElementType::iter().map(ElementType::name).collect(),
        scale_vectors: sizes.collect(),
        targets: TARGETS.iter().filter(|(it, _)| it.sm >= 100).map(|(it, _)| it.to_string()).collect(),
    })
}
