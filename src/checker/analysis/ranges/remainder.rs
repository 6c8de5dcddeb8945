//! What is left of a division by a constant, as compilers write it: without dividing.
//!
//! The quotient is the high half of a product with a number that is a little more than 2³² / n, shifted right;
//! of numbers with a sign, one more where they are negative. Times n and taken from the dividend, it leaves the
//! remainder.

use crate::analysis::definitions::Definition;
use crate::analysis::function::Function;
use crate::isa::generic::{Arithmetic, Bits, Computation, Modifier, Part, Type};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// `x % by`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remainder {
    pub(super) by: i64,
    /// Whether it has the sign of `x`.
    pub(super) is_signed: bool,
}

/// An instruction that computes, and what it reads.
struct Made {
    instruction: u32,
    computes: Computation,
    ty: Type,
    first: u32,
    count: u32,
    is_high: bool,
}

/// What a subtraction of words leaves, if that is a remainder.
pub(super) fn remainder(function: &Function<'_>, subtraction: u32) -> Option<Remainder> {
    let way = Way { function };
    let made = way.instruction(subtraction)?;
    if made.computes != Computation::Arithmetic(Arithmetic::Subtract) || made.count != 3 {
        return None;
    }
    let x = way.register(made.first + 1)?;
    let multiple = way.made(subtraction, made.first + 2)?;
    match multiple.computes {
        Computation::Arithmetic(Arithmetic::Multiply) if !multiple.is_high && multiple.count == 3 => {
            let by = way.number(multiple.first + 2)?;
            let is_signed = way.is_quotient(&multiple, subtraction, x, by)?;
            Some(Remainder { by, is_signed })
        }
        Computation::And if multiple.count == 3 => {
            // All but the low bits.
            let by = -i64::from((way.number(multiple.first + 2)? as u32).cast_signed());
            if by <= 0 || !by.cast_unsigned().is_power_of_two() {
                return None;
            }
            if way.is_same(&multiple, multiple.first + 1, subtraction, x) {
                return Some(Remainder { by, is_signed: false });
            }
            // Towards 0, where it is negative.
            let sum = way.made(multiple.instruction, multiple.first + 1)?;
            let is_sum = sum.computes == Computation::Arithmetic(Arithmetic::Add) && sum.count == 3;
            if !is_sum || !way.is_same(&sum, sum.first + 1, subtraction, x) {
                return None;
            }
            let low = way.made(sum.instruction, sum.first + 2)?;
            let bits = i64::from(32 - by.trailing_zeros());
            if !low.is_shift(&way, bits, false) {
                return None;
            }
            // Of a number by 2, its sign is all that is added.
            let is_sign = if bits == 31 && way.is_same(&low, low.first + 1, subtraction, x) {
                true
            } else {
                let sign = way.made(low.instruction, low.first + 1)?;
                sign.is_shift(&way, 31, true) && way.is_same(&sign, sign.first + 1, subtraction, x)
            };
            is_sign.then_some(Remainder { by, is_signed: true })
        }
        _ => None,
    }
}

impl Made {
    /// Whether it shifts to the right by so many bits.
    fn is_shift(&self, way: &Way<'_, '_>, by: i64, is_signed: bool) -> bool {
        self.computes == Computation::Bits(Bits::ShiftRight)
            && self.ty.is_signed() == is_signed
            && self.count == 3
            && way.number(self.first + 2) == Some(by)
    }
}

struct Way<'a, 'f> {
    function: &'a Function<'f>,
}

impl Way<'_, '_> {
    fn instruction(&self, instruction: u32) -> Option<Made> {
        let unit = self.function.unit;
        let raw = &unit.module.instructions[instruction as usize];
        let opcode = unit.operations.of(instruction);
        let [ty] = opcode.types[..] else { return None };
        let is_high = opcode.has(Modifier::Part(Part::Hi));
        let is_word = ty.bits() == Some(32) && !ty.is_float() && !ty.is_packed();
        is_word.then_some(Made {
            instruction,
            computes: opcode.computes(),
            ty,
            first: raw.operands.start,
            count: raw.operands.len,
            is_high,
        })
    }

    /// What makes the register that an operand names.
    fn made(&self, reader: u32, operand: u32) -> Option<Made> {
        let register = self.register(operand)?;
        let Definition { instruction, guarded, operand, .. } =
            *self.function.definitions.get(self.function.only(reader, register)?);
        let made = self.instruction(instruction).filter(|_| !guarded)?;
        (operand == made.first).then_some(made)
    }

    fn register(&self, operand: u32) -> Option<RegisterId> {
        match self.function.unit.symbols.operand(operand) {
            Resolution::Register(register) => Some(register),
            _ => None,
        }
    }

    fn number(&self, operand: u32) -> Option<i64> {
        let unit = self.function.unit;
        i64::try_from(literal::evaluate(
            &unit.source,
            &unit.module,
            unit.module.operands.get(operand as usize)?,
        )?)
        .ok()
    }

    /// Whether an operand of an instruction has the value of `x` where `reader` reads it.
    fn is_same(&self, made: &Made, operand: u32, reader: u32, x: RegisterId) -> bool {
        let value = |at: u32| self.function.value(at, x);
        self.register(operand) == Some(x)
            && value(made.instruction).is_some()
            && value(made.instruction) == value(reader)
    }

    /// Whether the first factor of a product is `x` divided by a number, and whether `x` has a sign.
    fn is_quotient(&self, product: &Made, reader: u32, x: RegisterId, by: i64) -> Option<bool> {
        if !(2..1 << 16).contains(&by) {
            return None;
        }
        let quotient = self.made(product.instruction, product.first + 1)?;
        let (shifted, is_signed) = match quotient.computes {
            // One more where it is negative.
            Computation::Arithmetic(Arithmetic::Add) if quotient.count == 3 => {
                let [one, other] = [1, 2].map(|at| self.made(quotient.instruction, quotient.first + at));
                let (one, other) = (one?, other?);
                let (sign, rest) = if one.is_shift(self, 31, false) { (one, other) } else { (other, one) };
                let of = self.made(sign.instruction, sign.first + 1)?;
                let high = if rest.is_high {
                    rest.instruction
                } else {
                    self.made(rest.instruction, rest.first + 1)?.instruction
                };
                if !sign.is_shift(self, 31, false) || of.instruction != high {
                    return None;
                }
                (rest, true)
            }
            _ => (quotient, false),
        };
        let (high, shift) = if shifted.computes == Computation::Bits(Bits::ShiftRight) && shifted.count == 3 {
            let shift = self.number(shifted.first + 2).filter(|by| (0..32).contains(by))?;
            if shifted.ty.is_signed() != is_signed {
                return None;
            }
            (self.made(shifted.instruction, shifted.first + 1)?, shift)
        } else {
            (shifted, 0)
        };
        let is_high =
            high.computes == Computation::Arithmetic(Arithmetic::Multiply) && high.is_high && high.count == 3;
        if !is_high || high.ty.is_signed() != is_signed || !self.is_same(&high, high.first + 1, reader, x) {
            return None;
        }
        let factor = i128::from(self.number(high.first + 2)?);
        let limit = if is_signed { 1i128 << 31 } else { 1 << 32 };
        let over = factor * i128::from(by) - (1i128 << (32 + shift));
        // So much more than the exact number changes no quotient of a word, whose size one bit of sign halves.
        let is_exact = over > 0 && over <= 1i128 << (shift + i64::from(is_signed));
        ((0..limit).contains(&factor) && is_exact).then_some(is_signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::budget::Budget;
    use crate::analysis::cfg::Cfg;
    use crate::analysis::definitions::{Definitions, RegisterSet};
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// The remainder that the last subtraction leaves.
    fn left(body: &str) -> Option<(i64, bool)> {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n) {{ .reg .b32 x, q, r, s, t, m, k; \
             ld.param.u32 x, [n]; {body} ret; }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, function) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        let budget = Budget::default();
        let definitions = Definitions::new(&unit, &cfg, &mut RegisterSet::default());
        let function =
            Function { unit: &unit, cfg: &cfg, definitions: &definitions, budget: &budget, given: None };
        let is_subtraction =
            |it: &crate::syntax::ast::RawInstruction| source.slice(it.opcode).starts_with("sub");
        let at = module.instructions.iter().rposition(is_subtraction).unwrap() as u32;
        remainder(&function, at).map(|it| (it.by, it.is_signed))
    }

    #[test]
    fn products_with_a_reciprocal() {
        let by_three = "mul.hi.u32 q, x, 0xAAAAAAAB; shr.u32 s, q, 1; mul.lo.u32 m, s, 3; sub.u32 r, x, m;";
        assert_eq!(left(by_three), Some((3, false)));
        let by_five = "mul.hi.s32 r, x, 1717986919; shr.u32 s, r, 31; shr.s32 t, r, 1; add.s32 q, t, s; \
                       mul.lo.s32 m, q, 5; sub.s32 m, x, m;";
        let by_five = by_five.replace("sub.s32 m", "sub.s32 k");
        assert_eq!(left(&by_five), Some((5, true)));
        assert_eq!(left(&by_five.replace("1717986919", "1717986921")), None);
        assert_eq!(left(&by_five.replace("m, q, 5", "m, q, 6")), None);
        assert_eq!(left(&by_five.replace("t, r, 1", "t, r, 2")), None);
    }

    #[test]
    fn low_bits() {
        assert_eq!(left("and.b32 m, x, -4; sub.s32 r, x, m;"), Some((4, false)));
        assert_eq!(left("and.b32 m, x, -6; sub.s32 r, x, m;"), None);
        let signed =
            "shr.s32 s, x, 31; shr.u32 t, s, 29; add.s32 q, x, t; and.b32 m, q, -8; sub.s32 r, x, m;";
        assert_eq!(left(signed), Some((8, true)));
        assert_eq!(left(&signed.replace("29", "28")), None);
        let by_two = "shr.u32 s, x, 31; add.s32 q, x, s; and.b32 m, q, -2; sub.s32 r, x, m;";
        assert_eq!(left(by_two), Some((2, true)));
        assert_eq!(left(&by_two.replace("-2", "-4")), None);
        assert_eq!(left(&by_two.replace("shr.u32", "shr.s32")), None);
    }
}
