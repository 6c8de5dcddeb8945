//! What is not written but follows from what is, beside the text.

use ptx_check::instruction::Instruction;
use ptx_check::instruction::decode::{Bound, Decoded, Value};
use ptx_check::isa::tensor::OperandClass;
use ptx_check::source::Span;
use ptx_check::syntax::ast::StatementKind;
use ptx_check::syntax::literal;

use crate::snapshot::Snapshot;
use crate::{descriptors, hover, values};

/// A remark behind a place.
#[derive(Debug)]
pub(crate) struct Hint {
    pub(crate) at: u32,
    pub(crate) label: String,
    pub(crate) tooltip: String,
}

/// The remarks in `span`.
pub(crate) fn hints(snapshot: &Snapshot, span: Span) -> Vec<Hint> {
    let mut hints = Vec::new();
    for decoded in snapshot.tcgen05(span) {
        registers(&decoded, &mut hints);
        hints.extend(multiply(snapshot, &decoded));
        for bound in &decoded.operands {
            hints.extend(constant(snapshot, &decoded, bound));
        }
    }
    for (_, statement) in snapshot.statements(span) {
        if let StatementKind::Instruction(instruction) = statement.kind() {
            hints.extend(multicast(snapshot, instruction));
        }
    }
    hints.retain(|hint| span.start <= hint.at && hint.at <= span.end);
    hints
}

/// To how many CTAs a copy goes.
fn multicast(snapshot: &Snapshot, instruction: u32) -> Option<Hint> {
    let unit = &snapshot.document.unit;
    let opcode = unit.operations.of(instruction);
    // Few instructions of a module are; their operands alone have to be looked at.
    if opcode.is_tensor() || !opcode.is_for_several_ctas() {
        return None;
    }
    let operands = unit.module.instructions.get(instruction as usize)?.operands;
    let slots = opcode.assign(&unit.module, operands).ok()?;
    let at = slots.iter().position(|slot| slot.name == "ctaMask")?;
    let operand = &unit.module.operands(operands)[at];
    let value = literal::evaluate(&unit.source, &unit.module, operand).and_then(|it| u64::try_from(it).ok());
    let value = value.or_else(|| values::name(snapshot, operand.span()))?;
    Some(mask(operand.span(), value))
}

/// A bit for each CTA of the cluster.
fn mask(span: Span, value: u64) -> Hint {
    Hint {
        at: span.end,
        label: hover::count(value.count_ones(), "CTA"),
        tooltip: format!("{value} = {value:#x}"),
    }
}

/// What a multiply multiplies.
fn multiply(snapshot: &Snapshot, decoded: &Decoded<'_>) -> Option<Hint> {
    let Some(Instruction::Mma(mma)) = &decoded.instruction else {
        let (label, tooltip) = descriptors::label_beside_holes(snapshot, decoded)?;
        return Some(Hint { at: decoded.span.end, label, tooltip });
    };
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
        OperandClass::CtaMask16 | OperandClass::CtaMask32 => return Some(mask(bound.span, value)),
        OperandClass::ScaleInputD => format!("D / {}", 1u64.checked_shl(u32::try_from(value).ok()?)?),
        _ => return None,
    };
    Some(Hint { at: bound.span.end, label, tooltip: format!("{value} = {value:#x}") })
}
