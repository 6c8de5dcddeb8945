//! What is left of a division by a constant, as compilers write it: without dividing.
//!
//! The quotient is the high part of a product with a number that is a little more than 2ᵏ / n. How much more decides
//! up to which dividend it is the quotient: that is computed here, whatever the number is. Of numbers with a sign, it is
//! one more where they are negative; a number that does not fit into a word has its highest bit added apart; an even
//! divisor may have its factors of 2 shifted out before. Times n and taken from the dividend, the quotient leaves the
//! remainder.

use crate::definitions::Definition;
use crate::function::Function;
use crate::isa::generic::{Arithmetic, Bits, Computation, Modifier, Part, Type};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// `x % by`, times a number
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remainder {
    pub(super) by: i64,
    pub(super) times: i64,
    /// Whether it has the sign of `x`.
    pub(super) is_signed: bool,
    /// The operand that the multiple of the quotient is taken from: `x`, times that number.
    pub(super) of: u32,
    /// The largest `x` without a sign of which it is the remainder.
    pub(super) until: i64,
}

/// No ring has more members, and no multiply has more rows.
const LARGEST: i64 = 1 << 16;
/// All words.
const WORDS: i64 = 1 << 32;

/// An instruction that computes, and what it reads.
struct Made {
    instruction: u32,
    computes: Computation,
    ty: Type,
    first: u32,
    count: u32,
    part: Option<Part>,
}

/// A register, where an instruction reads it.
type Read = (u32, RegisterId);

/// `x * factor >> shift`
struct Quotient {
    x: Read,
    factor: i128,
    shift: u32,
    /// Whether it is rounded towards 0, and `x` has a sign.
    is_signed: bool,
    /// The largest `x` of which the product is not cut.
    until: i64,
}

/// What an instruction that makes a word leaves, if that is a remainder.
pub(super) fn remainder(function: &Function<'_>, instruction: u32) -> Option<Remainder> {
    let way = Way { function };
    let made = way.instruction(instruction).filter(|it| it.ty.bits() == Some(32))?;
    let [one, other] = [made.first + 1, made.first + 2];
    match (made.computes, made.count) {
        (Computation::Arithmetic(Arithmetic::Subtract), 3) => {
            let product = way.made(instruction, other)?;
            if product.computes == Computation::And {
                return way.without_low_bits(&made, &product);
            }
            let (quotient, multiple) = way.product(&product)?;
            way.left(instruction, one, (product.instruction, quotient), multiple)
        }
        (Computation::Arithmetic(Arithmetic::Add), 3) => {
            [(one, other), (other, one)].into_iter().find_map(|(x, of)| {
                let product = way.made(instruction, of)?;
                let (quotient, multiple) = way.product(&product)?;
                way.left(instruction, x, (product.instruction, quotient), -multiple)
            })
        }
        (Computation::Arithmetic(Arithmetic::MultiplyAdd), 4) if made.part == Some(Part::Lo) => {
            let multiple = -way.word(other)?;
            way.left(instruction, made.first + 3, (instruction, one), multiple)
        }
        _ => None,
    }
}

/// The remainder, if a product is the quotient by a number.
fn divided(quotient: &Quotient, (by, times): (i64, i64), of: u32) -> Option<Remainder> {
    let Quotient { factor, shift, is_signed, until, .. } = *quotient;
    let exact = 1i128 << shift;
    let over = factor * i128::from(by) - exact;
    // A negative number would be rounded past a whole one.
    if !(2..LARGEST).contains(&by) || over < i128::from(is_signed) || over >= exact {
        return None;
    }
    // So far, what is too much adds up to less than what a quotient lacks to the next whole number.
    let enough = if over == 0 { i128::from(WORDS) } else { (exact - 1) / over };
    let until = until.min(i64::try_from(enough).unwrap_or(WORDS)).min(WORDS - 1);
    // -2³¹ has to be far enough, too.
    let is_enough = if is_signed { over << 31 <= exact } else { until >= by };
    is_enough.then_some(Remainder { by, times, is_signed, of, until })
}

impl Made {
    /// Whether it shifts to the right by so many bits.
    fn is_shift(&self, way: &Way<'_, '_>, by: i64, is_signed: bool) -> bool {
        self.shifts(way, is_signed) == u32::try_from(by).ok()
    }

    /// By how many bits it shifts to the right.
    fn shifts(&self, way: &Way<'_, '_>, is_signed: bool) -> Option<u32> {
        let is_shift = self.computes == Computation::Bits(Bits::ShiftRight)
            && self.ty.is_signed() == is_signed
            && self.count == 3;
        let bits = self.ty.bits().filter(|_| is_shift)?;
        u32::try_from(way.number(self.first + 2)?).ok().filter(|by| *by < bits)
    }

    fn is(&self, computes: Arithmetic, part: Option<Part>) -> bool {
        self.computes == Computation::Arithmetic(computes) && self.count == 3 && self.part == part
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
        let computes = opcode.computes();
        let ty =
            *opcode.types.last().filter(|_| opcode.types.len() == 1 || computes == Computation::Convert)?;
        let part = opcode.modifier(|modifier| match modifier {
            Modifier::Part(part) => Some(part),
            _ => None,
        });
        let is_whole = |ty: &Type| matches!(ty.bits(), Some(32 | 64)) && !ty.is_float() && !ty.is_packed();
        opcode.types.iter().all(is_whole).then_some(Made {
            instruction,
            computes,
            ty,
            first: raw.operands.start,
            count: raw.operands.len,
            part,
        })
    }

    /// What makes the register that an operand names.
    fn made(&self, reader: u32, operand: u32) -> Option<Made> {
        self.made_register((reader, self.register(operand)?))
    }

    fn made_register(&self, (reader, register): Read) -> Option<Made> {
        let Definition { instruction, guarded, operand, .. } =
            *self.function.definitions.get(self.function.only(reader, register)?);
        let made = self.instruction(instruction).filter(|_| !guarded && instruction != reader)?;
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

    /// The number that a word holds, with a sign.
    fn word(&self, operand: u32) -> Option<i64> {
        self.number(operand).map(|number| i64::from((number as u32).cast_signed()))
    }

    /// Whether a register has the same value at two instructions.
    fn is_same(&self, one: Read, other: Read) -> bool {
        let value = |(at, register): Read| self.function.value(at, register);
        one.1 == other.1 && value(one).is_some() && value(one) == value(other)
    }

    fn read(&self, made: &Made, position: u32) -> Option<Read> {
        Some((made.instruction, self.register(made.first + position)?))
    }

    /// The operand of a product that is no number, and the number.
    fn product(&self, made: &Made) -> Option<(u32, i64)> {
        let (one, other) = (made.first + 1, made.first + 2);
        if made.ty.bits() != Some(32) || made.count != 3 {
            return None;
        }
        match made.computes {
            Computation::Arithmetic(Arithmetic::Multiply) if made.part == Some(Part::Lo) => {
                Some((one, self.word(other)?))
            }
            Computation::Bits(Bits::ShiftLeft) => {
                Some((one, 1 << self.number(other).filter(|by| (0..16).contains(by))?))
            }
            _ => None,
        }
    }

    /// What is left of an operand of an instruction behind a multiple of a quotient.
    fn left(&self, reader: u32, of: u32, (at, quotient): (u32, u32), multiple: i64) -> Option<Remainder> {
        if !(2..WORDS / 2).contains(&multiple) {
            return None;
        }
        let all = (reader, self.register(of)?);
        let quotient = self.quotient(at, quotient)?;
        if self.is_same(quotient.x, all) {
            return divided(&quotient, (multiple, 1), of);
        }
        // Of a number with its factors of 2 shifted out.
        if let Some(shifted) = self.made_register(quotient.x)
            && let Some(by) = shifted.shifts(self, false)
            && !quotient.is_signed
            && shifted.ty.bits() == Some(32)
            && multiple % (1 << by) == 0
            && self.is_same(self.read(&shifted, 1)?, all)
        {
            let inner = divided(&quotient, (multiple >> by, 1), of)?;
            let until = inner.until.saturating_mul(1 << by).min(WORDS - 1);
            return Some(Remainder { by: multiple, until, ..inner });
        }
        // A multiple of the remainder.
        let scaled = self.made(reader, of)?;
        let (x, times) = self.product(&scaled)?;
        let x = (scaled.instruction, self.register(x)?);
        if times <= 0 || multiple % times != 0 || !self.is_same(quotient.x, x) {
            return None;
        }
        divided(&quotient, (multiple / times, times), of)
    }

    /// `x - (x & -by)`
    fn without_low_bits(&self, subtraction: &Made, multiple: &Made) -> Option<Remainder> {
        let of = subtraction.first + 1;
        let x = self.read(subtraction, 1)?;
        // All but the low bits.
        let by = -self.word(multiple.first + 2)?;
        if multiple.count != 3 || by <= 0 || !by.cast_unsigned().is_power_of_two() {
            return None;
        }
        let left = |is_signed| Some(Remainder { by, times: 1, is_signed, of, until: WORDS - 1 });
        if self.is_same(self.read(multiple, 1)?, x) {
            return left(false);
        }
        // Towards 0, where it is negative.
        let sum = self.made(multiple.instruction, multiple.first + 1)?;
        if !sum.is(Arithmetic::Add, None) || !self.is_same(self.read(&sum, 1)?, x) {
            return None;
        }
        let low = self.made(sum.instruction, sum.first + 2)?;
        let bits = i64::from(32 - by.trailing_zeros());
        if !low.is_shift(self, bits, false) {
            return None;
        }
        // Of a number by 2, its sign is all that is added.
        let is_sign = if bits == 31 && self.is_same(self.read(&low, 1)?, x) {
            true
        } else {
            let sign = self.made(low.instruction, low.first + 1)?;
            sign.is_shift(self, 31, true) && self.is_same(self.read(&sign, 1)?, x)
        };
        if is_sign { left(true) } else { None }
    }

    /// What an operand is a quotient of.
    fn quotient(&self, reader: u32, operand: u32) -> Option<Quotient> {
        let made = self.made(reader, operand).filter(|_| self.function.budget.take(1))?;
        match made.computes {
            // One more where it is negative.
            Computation::Arithmetic(Arithmetic::Add) if made.count == 3 => {
                let [one, other] = [1, 2].map(|at| self.made(made.instruction, made.first + at));
                let (one, other) = (one?, other?);
                let (sign, rest) = if one.is_shift(self, 31, false) { (one, other) } else { (other, one) };
                if !sign.is_shift(self, 31, false) {
                    return None;
                }
                let of = self.made(sign.instruction, sign.first + 1)?;
                let (high, shift) = match rest.shifts(self, true) {
                    Some(shift) => (self.made(rest.instruction, rest.first + 1)?, shift),
                    None => (rest, 0),
                };
                if of.instruction != high.instruction {
                    return None;
                }
                let (x, factor) = self.signed_high(&high)?;
                Some(Quotient { x, factor, shift: 32 + shift, is_signed: true, until: WORDS / 2 - 1 })
            }
            _ => self.scaled(made),
        }
    }

    /// `x * factor >> 32`, with a sign; a factor that does not fit has 2³² taken from it, and `x` is added.
    fn signed_high(&self, made: &Made) -> Option<(Read, i128)> {
        let of_product = |made: &Made| {
            let is_high = made.is(Arithmetic::Multiply, Some(Part::Hi)) && made.ty == Type::S32;
            is_high.then_some(())?;
            Some((self.read(made, 1)?, i128::from(self.word(made.first + 2)?)))
        };
        if !made.is(Arithmetic::Add, None) {
            return of_product(made).filter(|(_, factor)| *factor > 0);
        }
        [(1, 2), (2, 1)].into_iter().find_map(|(high, added)| {
            let (x, factor) = of_product(&self.made(made.instruction, made.first + high)?)?;
            let is_same = self.is_same(x, self.read(made, added)?);
            (is_same && factor < 0).then_some((x, factor + i128::from(WORDS)))
        })
    }

    /// `x * factor >> shift`, without a sign.
    fn scaled(&self, made: Made) -> Option<Quotient> {
        /// Shifts and conversions that are followed.
        const STEPS: usize = 4;
        let (mut made, mut shift) = (made, 0);
        let mut plain = None;
        for step in 0..STEPS {
            if let Some(by) = made.shifts(self, false) {
                shift += by;
                if step == 0 && made.ty.bits() == Some(32) {
                    let x = self.read(&made, 1)?;
                    plain = Some(Quotient { x, factor: 1, shift, is_signed: false, until: WORDS - 1 });
                }
                if let Some(quotient) = self.with_carry(&made, shift) {
                    return Some(quotient);
                }
            } else if made.computes != Computation::Convert || made.count != 2 {
                break;
            } else if made.ty.bits() == Some(32) {
                // It gets no longer once it is shifted.
                return None;
            }
            match self.made(made.instruction, made.first + 1) {
                Some(next) => made = next,
                None => break,
            }
        }
        self.of_product(&made, shift).or(plain)
    }

    fn of_product(&self, made: &Made, shift: u32) -> Option<Quotient> {
        if !matches!(made.computes, Computation::Arithmetic(Arithmetic::Multiply)) || made.count != 3 {
            return None;
        }
        let x = self.read(made, 1)?;
        let factor = self.number(made.first + 2)?;
        let word = i128::from(factor as u32);
        let (factor, more, until) = match (made.part?, made.ty.bits()?) {
            (Part::Hi, 32) if !made.ty.is_signed() => (word, 32, WORDS - 1),
            (Part::Wide, 32) if !made.ty.is_signed() => (word, 0, WORDS - 1),
            // What is cut is no quotient.
            (Part::Lo, 32) => (word, 0, i64::try_from((i128::from(WORDS) - 1) / word.max(1)).ok()?),
            _ => return None,
        };
        let shift = shift.checked_add(more).filter(|shift| *shift < 64)?;
        (factor > 0).then_some(Quotient { x, factor, shift, is_signed: false, until })
    }

    /// `((x - high >> 1) + high) >> shift`, where `high` is that of a product with a number that lacks its bit 32.
    fn with_carry(&self, shifted: &Made, shift: u32) -> Option<Quotient> {
        let sum = self.made(shifted.instruction, shifted.first + 1)?;
        if !sum.is(Arithmetic::Add, None) || sum.ty.bits() != Some(32) {
            return None;
        }
        [(1, 2), (2, 1)].into_iter().find_map(|(half, high)| {
            let half = self.made(sum.instruction, sum.first + half)?;
            let high = self.made(sum.instruction, sum.first + high)?;
            let rest = self.made(half.instruction, half.first + 1)?;
            let is_rest = half.is_shift(self, 1, false)
                && rest.is(Arithmetic::Subtract, None)
                && self.made(rest.instruction, rest.first + 2)?.instruction == high.instruction;
            let quotient =
                self.of_product(&high, shift + 1).filter(|_| is_rest && high.part == Some(Part::Hi))?;
            let is_same = self.is_same(quotient.x, self.read(&rest, 1)?);
            is_same.then_some(Quotient { factor: quotient.factor + i128::from(WORDS), ..quotient })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Lowered;
    use proptest::prelude::*;

    use super::*;
    use crate::budget::Budget;
    use crate::cfg::Cfg;
    use crate::definitions::{Definitions, RegisterSet};
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// The remainder that the last subtraction leaves.
    fn left(body: &str) -> Option<(i64, bool)> {
        whole(body).map(|it| (it.by, it.is_signed))
    }

    fn whole(body: &str) -> Option<Remainder> {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n) {{ .reg .b32 x, y, q, r, s, t, m, k; .reg .b64 w, h; \
             ld.param.u32 x, [n]; {body} ret; }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, function) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        let budget = Budget::default();
        let definitions = Definitions::new(&unit, &cfg, &mut RegisterSet::default());
        let function = Function {
            unit: &unit,
            cfg: &cfg,
            definitions: &definitions,
            budget: &budget,
            lowered: &Lowered::new(&cfg.instructions()),
            given: None,
        };
        // Behind it, there is only `ret`.
        let at = module.instructions.len() as u32 - 2;
        remainder(&function, at)
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
    fn ways_of_writing_it() {
        let by_five = "mul.hi.u32 q, x, -858993459; shr.u32 s, q, 2; mul.lo.s32 m, s, 5; sub.s32 r, x, m;";
        assert_eq!(left(by_five), Some((5, false)));
        assert_eq!(left(&by_five.replace("shr.u32 s, q, 2", "shr.s32 s, q, 2")), None);
        assert_eq!(left(&by_five.replace("q, 2", "q, 1")), None);
        assert_eq!(left(&by_five.replace("-858993459", "-858993460")), None, "too small");
        assert_eq!(
            left(&by_five.replace("mul.lo.s32 m, s, 5; sub.s32 r, x, m", "mad.lo.s32 r, s, -5, x")),
            Some((5, false))
        );
        assert_eq!(
            left(&by_five.replace("mul.lo.s32 m, s, 5; sub.s32 r, x, m", "mad.lo.s32 r, s, 5, x")),
            None
        );
        let added = "mul.lo.s32 m, s, -5; add.s32 r, m, x";
        assert_eq!(left(&by_five.replace("mul.lo.s32 m, s, 5; sub.s32 r, x, m", added)), Some((5, false)));
        let wide = "mul.wide.u32 w, x, -1431655765; shr.u64 h, w, 33; cvt.u32.u64 q, h; \
                    mad.lo.s32 r, q, -3, x;";
        assert_eq!(left(wide), Some((3, false)));
        assert_eq!(left(&wide.replace("33", "34")), None);
        assert_eq!(left(&wide.replace("33", "34").replace("-3", "-6")), Some((6, false)));
        let shifted = "shr.u32 q, x, 2; shl.b32 m, q, 2; sub.s32 r, x, m;";
        assert_eq!(left(shifted), Some((4, false)));
        assert_eq!(left(&shifted.replace("m, q, 2", "m, q, 3")), None);
    }

    #[test]
    fn numbers_of_more_bits() {
        let by_seven = "mul.hi.u32 q, x, 613566757; sub.s32 r, x, q; shr.u32 s, r, 1; add.s32 t, s, q; \
                        shr.u32 m, t, 2; mul.lo.s32 k, m, 7; sub.s32 y, x, k;";
        assert_eq!(left(by_seven), Some((7, false)));
        assert_eq!(left(&by_seven.replace("613566757", "613566756")), None);
        assert_eq!(left(&by_seven.replace("shr.u32 s, r, 1", "shr.u32 s, r, 2")), None);
        let signed = "mul.hi.s32 q, x, -1840700269; add.s32 r, q, x; shr.u32 s, r, 31; shr.s32 t, r, 2; \
                      add.s32 m, t, s; mul.lo.s32 k, m, 7; sub.s32 y, x, k;";
        assert_eq!(left(signed), Some((7, true)));
        assert_eq!(left(&signed.replace("t, r, 2", "t, r, 3")), None);
        assert_eq!(left(&signed.replace("add.s32 r, q, x", "mov.b32 r, q")), None);
    }

    #[test]
    fn of_small_numbers_and_multiples() {
        let small = "mul.lo.s32 q, x, 171; shr.u32 s, q, 9; mul.lo.s32 m, s, 3; sub.s32 r, x, m;";
        assert_eq!(whole(small).map(|it| (it.by, it.until)), Some((3, 511)));
        let fits = "mul.hi.u32 s, x, 1431655766; mul.lo.s32 m, s, 3; sub.s32 r, x, m;";
        assert_eq!(whole(fits).map(|it| (it.by, it.until)), Some((3, (1 << 31) - 1)));
        let even = "shr.u32 k, x, 2; mul.hi.u32 s, k, 613566757; mul.lo.s32 m, s, 28; sub.s32 r, x, m;";
        assert_eq!(left(even), Some((28, false)));
        let bytes = "mul.hi.u32 q, x, -1431655765; shr.u32 s, q, 1; mul.lo.s32 m, s, 24; shl.b32 k, x, 3; \
                     sub.s32 r, k, m;";
        assert_eq!(whole(bytes).map(|it| (it.by, it.times)), Some((3, 8)));
        assert_eq!(whole(&bytes.replace("k, x, 3", "k, x, 4")), None);
    }

    proptest! {
        #[test]
        fn it_is_the_remainder(
            by in 2i64..300, shift in 0u32..34, more in -1i128..3,
            numbers in proptest::collection::vec(0u32.., 8), near in 0u32..400_000_000
        ) {
            // As much as it says, it is right about.
            let factor = (((1i128 << shift) + i128::from(by) - 1) / i128::from(by) + more).max(1);
            let quotient = Quotient {
                x: (0, RegisterId(0)), factor, shift, is_signed: false, until: WORDS - 1,
            };
            if let Some(left) = divided(&quotient, (by, 1), 0) {
                let near = [left.until, left.until - 1, i64::from(near) / by * by - 1, i64::from(near) / by * by];
                for x in numbers.iter().map(|it| i64::from(*it)).chain(near) {
                    if (0..=left.until).contains(&x) {
                        prop_assert_eq!((i128::from(x) * factor) >> shift, i128::from(x / by));
                    }
                }
            }
        }
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
