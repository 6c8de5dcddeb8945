//! Which operand fills which position of a form, and whether it may.

use smallvec::SmallVec;

use super::{UNDECLARED, UNKNOWN, Value};
use crate::instruction::form::{Problem, Qualifiers};
use crate::instruction::{Base, Register, Scalar, Variable};
use crate::isa::tensor::{InstructionForm, OperandClass, OperandSlot, Shape};
use crate::isa::vocabulary::Slot;
use crate::source::Span;

/// One step of matching operands with positions.
pub(super) enum Step {
    /// The next operand fills this position.
    Take(&'static OperandSlot),
    /// This position is not filled, though it should be.
    Absent(&'static OperandSlot),
}

/// The fewest and most operands that the form takes with these qualifiers.
pub(super) fn operand_counts(form: &'static InstructionForm, qualifiers: &Qualifiers) -> (usize, usize) {
    let most = form.present(qualifiers.words()).count();
    let optional = form.present(qualifiers.words()).filter(|slot| slot.optional).count();
    (most - optional, most)
}

/// Finds the positions that fit the operands best.
///
/// Positions that may be empty, and positions that this combination has not but a related one
/// has, are tried in every subset: at most a few dozen, and only when the plain reading does not
/// fit. A reading is better the fewer wrong shapes it has, then the fewer positions it bends.
pub(super) fn align(
    form: &'static InstructionForm,
    qualifiers: &Qualifiers,
    values: &[(Value<'_>, Span)],
) -> Option<SmallVec<[Step; 8]>> {
    // What sound code looks like: each position that the form has, but perhaps the optional ones.
    let mut rest = values.iter().peekable();
    let mut plain = SmallVec::new();
    let is_plain = form.present(qualifiers.words()).all(|slot| match rest.peek() {
        Some((value, _)) if fits_shape(slot.class, value) => {
            plain.push(Step::Take(slot));
            rest.next();
            true
        }
        _ => slot.optional,
    });
    if is_plain && rest.peek().is_none() {
        return Some(plain);
    }
    let flexible: Vec<(usize, bool)> = form
        .operands
        .iter()
        .enumerate()
        .filter_map(|(index, slot)| {
            let present = slot.when.holds(&qualifiers.words());
            let bends = slot.restriction.is_some();
            (if present { slot.optional || bends } else { bends })
                .then_some((index, present && !slot.optional))
        })
        .collect();
    let mut best: Option<(usize, usize, u32)> = None;
    for subset in 0u32..1 << flexible.len() {
        let filled = |index: usize, slot: &OperandSlot| match flexible.iter().position(|&(it, _)| it == index)
        {
            Some(bit) => subset & 1 << bit != 0,
            None => slot.when.holds(&qualifiers.words()),
        };
        let slots = || {
            form.operands
                .iter()
                .enumerate()
                .filter(|(index, slot)| filled(*index, slot))
                .map(|(_, slot)| slot)
        };
        if slots().count() != values.len() {
            continue;
        }
        let wrong = slots().zip(values).filter(|(slot, (value, _))| !fits_shape(slot.class, value)).count();
        let bent = flexible
            .iter()
            .enumerate()
            .filter(|&(bit, &(index, required))| {
                let taken = subset & 1 << bit != 0;
                let present = form.operands[index].when.holds(&qualifiers.words());
                (required && !taken) || (taken && !present)
            })
            .count();
        if best.is_none_or(|(least_wrong, least_bent, _)| (wrong, bent) < (least_wrong, least_bent)) {
            best = Some((wrong, bent, subset));
        }
    }
    let (wrong, bent, subset) = best?;
    // Bending positions to fit operands of the wrong shape explains nothing.
    if bent > 0 && wrong > 0 {
        return None;
    }
    let mut steps = SmallVec::new();
    for (index, slot) in form.operands.iter().enumerate() {
        match flexible.iter().position(|&(it, _)| it == index) {
            Some(bit) if subset & 1 << bit != 0 => steps.push(Step::Take(slot)),
            Some(bit) if flexible[bit].1 => steps.push(Step::Absent(slot)),
            Some(_) => {}
            None if slot.when.holds(&qualifiers.words()) => steps.push(Step::Take(slot)),
            None => {}
        }
    }
    Some(steps)
}

/// Whether a value has the outer shape that a class wants.
fn fits_shape(class: OperandClass, value: &Value<'_>) -> bool {
    let facts = class.facts();
    match (facts.shape, value) {
        (Shape::Address | Shape::ValueOrAddress, Value::Address(_))
        | (Shape::Vector | Shape::ValueOrVector, Value::Vector(_)) => true,
        (Shape::Value | Shape::ValueOrVector | Shape::ValueOrAddress, Value::Scalar(scalar)) => {
            match scalar {
                Scalar::Register(_) => !facts.registers.is_empty(),
                Scalar::Immediate(_) => facts.immediate,
                Scalar::Variable(_) | Scalar::Float(_) | Scalar::Special(_) => false,
            }
        }
        (Shape::Value, Value::Not(_)) => class == OperandClass::EnableInputD,
        (_, Value::Other(UNKNOWN)) => true,
        _ => false,
    }
}

/// Whether the position takes a value of this kind; types and ranges are other rules' business.
pub(super) fn accepts(
    slot: &'static OperandSlot,
    qualifiers: &Qualifiers,
    value: &Value<'_>,
    span: Span,
) -> Result<(), Problem> {
    let class = slot.class;
    let facts = class.facts();
    let refuse = |found| Err(Problem::Kind { span, slot, found, wants_braces: false });
    match value {
        // Its name is reported already.
        Value::Other(UNDECLARED | UNKNOWN) => Ok(()),
        Value::Other(found) => refuse(found),
        Value::Not(_) if class == OperandClass::EnableInputD => Ok(()),
        Value::Not(_) => refuse("a negated predicate"),
        Value::Address(address) => match (facts.shape, address.base) {
            (Shape::Address | Shape::ValueOrAddress, Base::Register(_)) => Ok(()),
            (Shape::Address, Base::Variable(_)) if facts.variable => Ok(()),
            (Shape::Address | Shape::ValueOrAddress, Base::Variable(_)) => {
                refuse("the address of a variable")
            }
            _ => refuse("an address in brackets"),
        },
        Value::Vector(vector) => match facts.shape {
            Shape::Vector => Ok(()),
            Shape::ValueOrVector if vector.elements.len() == 1 => Ok(()),
            _ => refuse("a vector"),
        },
        Value::Scalar(scalar) => {
            let (found, right) = match scalar {
                Scalar::Register(Register { plus: Some(_), .. })
                | Scalar::Variable(Variable { plus: Some(_), .. }) => ("an expression", facts.sum),
                // The assembler copies the descriptor of a dense multiply with a plain `mov`.
                Scalar::Register(Register { component: true, .. })
                    if class == OperandClass::InstructionDescriptor
                        && qualifiers.in_slot(Slot::Sparse).is_none()
                        && qualifiers.in_slot(Slot::Decompress).is_none() =>
                {
                    ("a component of a vector register", false)
                }
                Scalar::Register(_) => ("a register", !facts.registers.is_empty()),
                Scalar::Immediate(_) => ("an immediate", facts.immediate),
                Scalar::Variable(_) => ("a variable", false),
                Scalar::Float(_) => ("a floating-point number", false),
                Scalar::Special(_) => ("a special register", false),
            };
            match facts.shape {
                Shape::Value | Shape::ValueOrAddress | Shape::ValueOrVector if right => Ok(()),
                Shape::Vector if matches!(scalar, Scalar::Register(_)) => {
                    Err(Problem::Kind { span, slot, found, wants_braces: true })
                }
                _ => refuse(found),
            }
        }
    }
}
