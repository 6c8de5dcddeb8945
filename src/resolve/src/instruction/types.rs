//! Whether registers have the types that their positions want.

use super::decode::{Decoded, Value};
use super::{Address, Base, Register, Scalar};
use crate::isa::tensor::OperandSlot;
use crate::syntax::ast::Type;

/// A register whose type does not fit its position.
#[derive(Clone, Copy, Debug)]
pub struct Mistyped<'d, 's> {
    /// The register.
    pub register: &'d Register<'s>,
    /// The position.
    pub slot: &'static OperandSlot,
    /// The types that fit.
    pub allowed: &'static [Type],
}

/// The registers of an instruction whose types do not fit. An operand of the wrong kind has no right
/// type, and none of its registers is among them.
pub fn mistyped<'d, 's>(decoded: &'d Decoded<'s>) -> Vec<Mistyped<'d, 's>> {
    let mut found = Vec::new();
    for bound in decoded.operands.iter().filter(|bound| bound.fits && !bound.is_typed) {
        each_mistyped(bound.slot, &bound.value, |it| found.push(it));
    }
    found
}

/// Whether the registers of an operand have types that a position takes.
pub(super) fn fit(slot: &'static OperandSlot, value: &Value<'_>) -> bool {
    let mut fits = true;
    each_mistyped(slot, value, |_| fits = false);
    fits
}

fn each_mistyped<'d, 's>(
    slot: &'static OperandSlot,
    value: &'d Value<'s>,
    mut found: impl FnMut(Mistyped<'d, 's>),
) {
    // Where no register may stand at all, its kind is wrong, not its type.
    let fits = |register: &Register<'_>, allowed: &[Type]| {
        register.ty.is_none_or(|ty| allowed.is_empty() || allowed.contains(&ty))
    };
    let mut look = |register: &'d Register<'s>, allowed: &'static [Type]| {
        if !fits(register, allowed) {
            found(Mistyped { register, slot, allowed });
        }
    };
    let allowed = slot.class.facts().registers;
    match value {
        Value::Scalar(Scalar::Register(register)) | Value::Not(register) => look(register, allowed),
        Value::Address(Address { base: Base::Register(register), .. }) => {
            look(register, slot.class.address_registers());
        }
        Value::Vector(vector) => {
            // Where they are alike, the first speaks for all, if that one fits.
            let first = vector.elements.first();
            let is_register_that_fits =
                |it: &Scalar<'_>| matches!(it, Scalar::Register(register) if fits(register, allowed));
            if vector.is_uniform && first.is_some_and(is_register_that_fits) {
                return;
            }
            for element in vector.elements.iter() {
                if let Scalar::Register(register) = element {
                    look(register, allowed);
                }
            }
        }
        Value::Scalar(_) | Value::Address(_) | Value::Other(_) => {}
    }
}

/// What registers of these types are, in words.
pub fn wanted(allowed: &[Type]) -> &'static str {
    match allowed {
        [Type::Pred] => "a predicate",
        [Type::B32] => "in a `.b32` register",
        [first, ..] => match first.bits() {
            Some(16) => "16 bits wide",
            Some(32) => "32 bits wide",
            _ if allowed.contains(&Type::B32) => "32 or 64 bits wide",
            _ => "64 bits wide",
        },
        [] => "an immediate",
    }
}
