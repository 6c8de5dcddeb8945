//! The fields of a descriptor that is written as a constant.

use super::snapshot::Snapshot;
use crate::descriptor::{Features, Layout, instruction, shared_memory, zero_column_mask};
use crate::instruction::decode::{Bound, Decoded, Value};
use crate::isa::instructions::OperandClass;
use crate::isa::targets::PtxVersion;
use crate::isa::vocabulary::{Kind, Slot};

/// The layout and the word, if the operand is a constant descriptor.
pub(super) fn decode(
    snapshot: &Snapshot,
    decoded: &Decoded<'_>,
    bound: &Bound<'_>,
) -> Option<(&'static Layout, u64)> {
    let Value::Scalar(scalar) = &bound.value else { return None };
    // Cut to 64 bits as the assembler does; a negative number is its two's complement.
    let word = scalar.immediate()?.value as u64;
    let environment = snapshot.environment();
    let version = environment.version.map_or(PtxVersion::LATEST, |version| version.value);
    let target = environment.targets.first().and_then(|set| set.first());
    let features = target.map_or(Features::ANY, |target| Features::of(target.value, version));
    let layout = match bound.slot.class {
        OperandClass::InstructionDescriptor => instruction::Format {
            kind: decoded.qualifiers.get::<Kind>()?.value,
            generation: features.generation,
            sparse: decoded.qualifiers.in_slot(Slot::Sparse).is_some(),
        }
        .layout(),
        OperandClass::SharedMemoryDescriptor | OperandClass::MatrixA => {
            shared_memory::layout(features.wide_addresses)
        }
        OperandClass::ZeroColumnMask => zero_column_mask::layout(),
        _ => return None,
    };
    Some((layout, if layout.width == 32 { word & u64::from(u32::MAX) } else { word }))
}

/// The fields as a table in Markdown.
pub(super) fn table(layout: &'static Layout, word: u64) -> String {
    let title = layout.title.trim_start_matches("the ");
    let digits = layout.width as usize / 4 + 2;
    let mut text = format!("`{word:#0digits$x}` as {title} ({})\n\n", layout.table);
    text.push_str("| bits | field | value | meaning |\n|---|---|---|---|\n");
    for setting in layout.settings(word) {
        let field = setting.field;
        let bits: Vec<String> = field.bits.iter().rev().map(ToString::to_string).collect();
        let value = field.show(setting.raw);
        text.push_str(&format!("| {} | {} | {value} | {} |\n", bits.join(", "), field.name, field.meaning));
    }
    text
}

/// The fields that say most, in a few words.
pub(super) fn summary(layout: &'static Layout, word: u64) -> Option<String> {
    const TELLING: &[&str] = &["m", "n", "k", "a", "b", "d"];
    let parts: Vec<String> = TELLING
        .iter()
        .filter_map(|name| {
            let field = layout.field(name)?;
            Some(format!("{name}={}", field.show(field.get(word))))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}
