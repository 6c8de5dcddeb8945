//! What is not written but follows from what is, beside the text.

use super::snapshot::Snapshot;
use super::{descriptors, hover, values};
use crate::instruction::Instruction;
use crate::instruction::decode::{Bound, Decoded, Value};
use crate::isa::tensor::OperandClass;
use crate::source::Span;

/// A remark behind a place.
#[derive(Debug)]
pub(super) struct Hint {
    pub(super) at: u32,
    pub(super) label: String,
    pub(super) tooltip: String,
}

/// The remarks in `span`.
pub(super) fn hints(snapshot: &Snapshot, span: Span) -> Vec<Hint> {
    let mut hints = Vec::new();
    for decoded in snapshot.tcgen05(span) {
        registers(&decoded, &mut hints);
        hints.extend(multiply(snapshot, &decoded));
        for bound in &decoded.operands {
            hints.extend(constant(snapshot, &decoded, bound));
        }
    }
    hints.retain(|hint| span.start <= hint.at && hint.at <= span.end);
    hints
}

/// What a multiply multiplies.
fn multiply(snapshot: &Snapshot, decoded: &Decoded<'_>) -> Option<Hint> {
    let Some(Instruction::Mma(mma)) = &decoded.instruction else { return None };
    let description = snapshot.describe(decoded)?;
    let label = descriptors::label(description.multiply.as_ref()?)?;
    Some(Hint { at: decoded.span.end, label, tooltip: descriptors::explain(mma, &description)? })
}

/// How many registers a load or store moves.
fn registers(decoded: &Decoded<'_>, hints: &mut Vec<Hint>) {
    let Some(moved) = decoded.instruction.as_ref().and_then(hover::moved) else { return };
    for bound in &decoded.operands {
        if let (OperandClass::LoadVector | OperandClass::StoreVector, Value::Vector(vector)) =
            (bound.slot.class, &bound.value)
        {
            hints.push(Hint {
                at: bound.span.end,
                label: hover::count(vector.elements.len() as u32, "register"),
                tooltip: moved.clone(),
            });
        }
    }
}

/// What a constant says. The descriptors of a multiply are said together, behind it.
fn constant(snapshot: &Snapshot, decoded: &Decoded<'_>, bound: &Bound<'_>) -> Option<Hint> {
    let Value::Scalar(scalar) = &bound.value else { return None };
    let value = values::constant(snapshot, decoded, scalar, 32)?;
    let label = match bound.slot.class {
        OperandClass::Columns => hover::count(u32::try_from(value).ok()?, "column"),
        // A bit for each CTA of the cluster.
        OperandClass::CtaMask16 | OperandClass::CtaMask32 => hover::count(value.count_ones(), "CTA"),
        OperandClass::ScaleInputD => format!("D / {}", 1u64.checked_shl(u32::try_from(value).ok()?)?),
        _ => return None,
    };
    Some(Hint { at: bound.span.end, label, tooltip: format!("{value} = {value:#x}") })
}
