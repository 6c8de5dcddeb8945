//! The fields of a descriptor, as far as its bits are known.

use super::snapshot::Snapshot;
use super::values;
use crate::descriptor::{Field, Known, Layout, Values, instruction, shared_memory, zero_column_mask};
use crate::instruction::decode::{Bound, Decoded, Value};
use crate::isa::tensor::OperandClass;
use crate::isa::vocabulary::{Kind, Slot};

/// A descriptor of which something is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) layout: &'static Layout,
    pub(super) known: Known,
}

/// The descriptor that an operand is, if anything is known of it.
pub(super) fn word(snapshot: &Snapshot, decoded: &Decoded<'_>, bound: &Bound<'_>) -> Option<Word> {
    let Value::Scalar(scalar) = &bound.value else { return None };
    let features = snapshot.environment().features();
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
    let known = values::operand(snapshot, decoded, scalar)?;
    let known = Known::new(known.mask & (u64::MAX >> (64 - layout.width)), known.value);
    (known.mask != 0).then_some(Word { layout, known })
}

impl Word {
    /// The fields as a table in Markdown.
    pub(super) fn table(self) -> String {
        let Self { layout, known } = self;
        let title = layout.title.trim_start_matches("the ");
        let mut text = format!("`{}` as {title} ({})\n\n", hex(known, layout.width), layout.table);
        text.push_str("| bits | field | value | meaning |\n|---|---|---|---|\n");
        for field in &layout.fields {
            let bits: Vec<String> = field.bits.iter().rev().map(ToString::to_string).collect();
            let value = known.raw(field).map_or_else(|| "not known".to_owned(), |raw| field.show(raw));
            text.push_str(&format!(
                "| {} | {} | {value} | {} |\n",
                bits.join(", "),
                field.name,
                field.meaning
            ));
        }
        text
    }

    /// The known fields in a line, without those that say "no".
    pub(super) fn line(self) -> String {
        let telling = |field: &&Field| !matches!(field.values, Values::Fixed(_));
        let fields = self.layout.fields.iter().filter(telling).filter_map(|field| {
            let raw = self.known.raw(field)?;
            match field.values {
                Values::Flag if raw == 0 => None,
                Values::Flag => Some(field.name.to_owned()),
                _ => Some(format!("{} {}", field.name, field.show(raw))),
            }
        });
        fields.collect::<Vec<_>>().join(", ")
    }
}

/// The word in hexadecimal; digits that are not known as a whole are `?`.
pub(super) fn hex(known: Known, width: u32) -> String {
    let digits = (0..width / 4).rev().map(|digit| {
        let mask = 0xf << (digit * 4);
        match known.mask & mask {
            all if all == mask => {
                char::from_digit((known.value >> (digit * 4)) as u32 & 0xf, 16).unwrap_or('?')
            }
            _ => '?',
        }
    });
    std::iter::once("0x".to_owned()).chain(digits.map(String::from)).collect()
}
