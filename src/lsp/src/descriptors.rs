//! Multiplies, copies and their descriptors in words: what `analysis::description` says, in Markdown.

use ptx_check::analysis::description::{Description, Multiply, Word, digits};
use ptx_check::descriptor::field::FieldValue;
use ptx_check::descriptor::{Values, idesc_check, instruction};
use ptx_check::instruction::Mma;
use ptx_check::instruction::decode::{Decoded, Value};
use ptx_check::isa::mma_shapes::{self, Shape, Sizes, Variant};
use ptx_check::isa::tensor::OperandClass;
use ptx_check::isa::vocabulary::Qualifier;

use crate::snapshot::Snapshot;
use crate::values;

/// `128×256×16, e4m3 × e5m2 → f32`, as far as it is known; not if M or N is not.
pub(crate) fn label(multiply: &Multiply) -> Option<String> {
    let sizes = format!("{}×{}×{}", multiply.m?, multiply.n?, multiply.k?);
    let Some((left, right)) = multiply.a.element.zip(multiply.b.element) else { return Some(sizes) };
    let accumulator = multiply.d.map(|name| format!(" → {name}")).unwrap_or_default();
    Some(format!("{sizes}, {left} × {right}{accumulator}"))
}

/// The label of a multiply that is not known as a whole: where another language decides what an operand is, a constant
/// descriptor still says what is multiplied. And the descriptor.
pub(crate) fn label_beside_holes(snapshot: &Snapshot, decoded: &Decoded<'_>) -> Option<(String, String)> {
    if !decoded.problems.is_empty() {
        return None;
    }
    let kind = decoded.qualifiers.words().find_map(|word| match word {
        Qualifier::Kind(kind) => Some(kind),
        _ => None,
    })?;
    let is_sparse = decoded.qualifiers.words().any(|word| matches!(word, Qualifier::Sparse(_)));
    let mut operands = decoded.operands.iter();
    let bound = operands.find(|it| it.slot.class == OperandClass::InstructionDescriptor)?;
    let Value::Scalar(scalar) = &bound.value else { return None };
    let known = values::operand(snapshot, decoded, scalar)?;
    let generation = snapshot.environment().features().generation;
    let facts = idesc_check::facts(kind, generation, known);
    let k = facts.k.or_else(|| mma_shapes::k(kind, is_sparse))?;
    let mut label = format!("{}×{}×{k}", facts.m?, facts.n?);
    if let Some((left, right)) = facts.a.zip(facts.b) {
        let layout = instruction::Format::of(kind, generation, known).layout();
        let accumulator = layout.known("dtype", known).map(|(field, raw)| format!(" → {}", field.show(raw)));
        label.push_str(&format!(", {left} × {right}{}", accumulator.unwrap_or_default()));
    }
    Some((label, format!("`{}`: {}", bound.slot.name, digits(known, 32))))
}

/// All that is known of a multiply.
pub(crate) fn explain(mma: &Mma<'_>, description: &Description) -> Option<String> {
    let multiply = description.multiply.as_ref()?;
    let mut text = String::new();
    if let Some(label) = label(multiply) {
        text.push_str(&format!("M×N×K: **{label}**\n\n"));
    }
    let majors = [("A", multiply.a.major), ("B", multiply.b.major)];
    let majors = majors.into_iter().filter_map(|(name, major)| Some(format!("{name} is {}-major", major?)));
    let majors: Vec<String> = majors.collect();
    if !majors.is_empty() {
        text.push_str(&format!("{}\n\n", majors.join(", ")));
    }
    for word in description.words.iter().filter(|word| word.is_known()) {
        text.push_str(&format!("- `{}` `{}`: {}\n", word.name, word.value, line(word)));
    }
    text.push_str(&format!("\nShapes that such a multiply takes (Table 39):\n\n{}", shapes(mma)));
    Some(text)
}

fn shapes(mma: &Mma<'_>) -> String {
    let variant = Variant {
        kind: mma.kind.value,
        ws: mma.weight_stationary,
        cta_group: mma.cta_group.value,
        sparse: mma.sparse.is_some(),
    };
    let mut text = String::from("| M | N | K |\n|---|---|---|\n");
    for Shape { m, n, k, .. } in mma_shapes::shapes(variant, None) {
        let n: Sizes = *n;
        text.push_str(&format!("| {} | {} | {k} |\n", mma_shapes::list(m), mma_shapes::list(&n.all())));
    }
    text
}

/// The fields of a descriptor as a table.
pub(crate) fn table(word: &Word) -> String {
    let Word { layout, known, value, .. } = word;
    let title = layout.title.trim_start_matches("the ");
    let mut text = format!("`{value}` as {title} ({})\n\n", layout.table);
    text.push_str("| bits | field | value | meaning |\n|---|---|---|---|\n");
    for field in &layout.fields {
        let bits: Vec<String> = field.bits.iter().rev().map(ToString::to_string).collect();
        let value = field.raw(*known).map_or_else(|| "not known".to_owned(), |raw| field.show(raw));
        text.push_str(&format!("| {} | {} | {value} | {} |\n", bits.join(", "), field.name, field.meaning));
    }
    text
}

/// The known fields in a line, without those that say "no".
fn line(word: &Word) -> String {
    let fields = word.fields.iter().filter_map(|FieldValue { field, raw }| match field.values {
        Values::Flag if *raw == 0 => None,
        Values::Flag => Some(field.name.to_owned()),
        _ => Some(format!("{} {}", field.name, field.show(*raw))),
    });
    fields.collect::<Vec<_>>().join(", ")
}
