//! Comparison and selection.

use std::cmp::Ordering;

use super::format::Format;
use super::lanes::{each, map3, packed};
use super::{Decoded, FOREIGN_TYPE, INCOMPLETE, Integer, Lanes, NOT_HERE, UNTYPED};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function as Step};
use ptx_isa::generic::{BooleanOperator, Comparison, Flag, Operation, Relation, Type};

#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    /// Into predicates.
    SetPredicate(Test),
    /// Into a register: what stands for true in each element, which are so many bits wide.
    Set {
        test: Test,
        yes: u64,
        bits: u32,
    },
    Select {
        mask: u64,
    },
    /// The first source where the third is not negative, otherwise the second.
    SelectBySign {
        mask: u64,
        sign: Sign,
    },
}

/// A comparison of elements, and what it is joined with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    elements: Elements,
    count: u32,
    joined: Option<BooleanOperator>,
}

/// How elements are compared.
#[derive(Clone, Copy, Debug)]
enum Elements {
    Integers(Integer, Relation),
    Floats { format: Format, comparison: Comparison, flushes: bool },
}

/// How a sign is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    Integer,
    Float { flushes: bool },
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let first = *opcode.types.first().ok_or(UNTYPED)?;
        let flushes = opcode.has_flag(Flag::Ftz);
        let mask = || first.bits().map(|bits| u64::MAX >> (64 - bits)).ok_or(FOREIGN_TYPE);
        Ok(match operation {
            Operation::Setp => Self::SetPredicate(Test::of(opcode, first)?),
            Operation::Set => {
                let test = Test::of(opcode, *opcode.types.get(1).ok_or(UNTYPED)?)?;
                let (yes, bits) = truth(first, test.count)?;
                Self::Set { test, yes, bits }
            }
            Operation::Selp => Self::Select { mask: mask()? },
            Operation::Slct => {
                let sign = match opcode.types.get(1) {
                    Some(Type::S32) => Sign::Integer,
                    Some(Type::F32) => Sign::Float { flushes },
                    _ => return Err(FOREIGN_TYPE),
                };
                Self::SelectBySign { mask: mask()?, sign }
            }
            _ => return Err(NOT_HERE),
        })
    }

    /// How many bits of a source matter; `None` where they are no integers.
    pub(super) fn source_bits(&self, position: usize) -> Option<u32> {
        let of_test = |test: &Test| match (test.elements, position) {
            (Elements::Integers(ty, _), 0 | 1) => Some(ty.bits * test.count),
            (Elements::Integers(..), _) => Some(1),
            (Elements::Floats { .. }, _) => None,
        };
        match self {
            Self::SetPredicate(test) | Self::Set { test, .. } => of_test(test),
            Self::Select { .. } if position == 2 => Some(1),
            Self::SelectBySign { .. } if position == 2 => Some(32),
            Self::Select { mask } | Self::SelectBySign { mask, .. } => Some(mask.count_ones()),
        }
    }

    /// How many bits each result has.
    pub(super) fn result_bits(&self) -> u32 {
        match self {
            Self::SetPredicate(_) => 1,
            Self::Set { test, bits, .. } => bits * test.count,
            Self::Select { mask } | Self::SelectBySign { mask, .. } => mask.count_ones(),
        }
    }

    /// What the destination at a position gets of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>, position: usize) -> Option<D::Value> {
        const PREDICATE: Integer = Integer { bits: 1, signed: false };
        let holds = |of: &mut Composing<'_, D>, test: &Test| match test.elements {
            Elements::Integers(ty, relation) if test.count == 1 => {
                of.of_sources(Step::Compare(relation), ty, 2)
            }
            Elements::Integers(..) | Elements::Floats { .. } => None,
        };
        match self {
            Self::SetPredicate(test) => {
                let holds = holds(of, test)?;
                let holds = match position {
                    0 => holds,
                    1 => of.of(Step::Not, PREDICATE, &[holds]),
                    _ => return None,
                };
                of.joined(test.joined, holds, 2)
            }
            Self::Set { test, yes, bits } if position == 0 => {
                let holds = holds(of, test)?;
                let holds = of.joined(test.joined, holds, 2)?;
                let (yes, no) = (of.number(*yes), of.number(0));
                Some(of.of(Step::Select, Integer { bits: *bits, signed: false }, &[yes, no, holds]))
            }
            Self::Select { mask } if position == 0 => {
                of.of_sources(Step::Select, Integer { bits: mask.count_ones(), signed: false }, 3)
            }
            Self::Set { .. } | Self::Select { .. } | Self::SelectBySign { .. } => None,
        }
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        match *self {
            Self::SetPredicate(test) => test.set_predicates(active, sources, destinations),
            Self::Set { test, yes, bits } => {
                let ([a, b, rest @ ..], [d, ..]) = (sources, destinations) else { return };
                each(active, |lane| {
                    let joins = |outcome| test.join(outcome, rest.first().map(|c| c[lane]));
                    d[lane] = packed(bits, test.count, |at| {
                        let at = at / bits * test.elements.bits();
                        if joins(test.elements.compare(a[lane] >> at, b[lane] >> at)) { yes } else { 0 }
                    });
                });
            }
            Self::Select { mask } => {
                map3(active, sources, destinations, |a, b, c| (if c & 1 == 1 { a } else { b }) & mask);
            }
            Self::SelectBySign { mask, sign } => {
                map3(active, sources, destinations, |a, b, c| (if sign.is_set(c) { b } else { a }) & mask);
            }
        }
    }
}

impl Test {
    fn of(opcode: &Opcode<'_>, ty: Type) -> Decoded<Self> {
        let comparison = opcode.comparison().ok_or(INCOMPLETE)?;
        let joined = opcode.boolean_operator();
        if let Some((format, count)) = Format::elements(ty) {
            let elements = Elements::Floats { format, comparison, flushes: opcode.has_flag(Flag::Ftz) };
            return Ok(Self { elements, count, joined });
        }
        let relation = comparison.of_integers(ty).ok_or("numbers without NaN are not compared like that")?;
        let (ty, count) = Integer::elements(ty).ok_or(FOREIGN_TYPE)?;
        let ty = Integer { signed: relation.is_signed, ..ty };
        Ok(Self { elements: Elements::Integers(ty, relation), count, joined })
    }

    fn set_predicates(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ([a, b, rest @ ..], [p, others @ ..]) = (sources, destinations) else { return };
        let third = rest.first();
        if self.joined.is_none() && others.is_empty() {
            return self.set_predicate(active, a, b, p);
        }
        each(active, |lane| {
            let third = third.map(|c| c[lane]);
            let outcome = self.elements.compare(a[lane], b[lane]);
            p[lane] = u64::from(self.join(outcome, third));
            if let [q, ..] = &mut *others {
                // The second predicate is that of the second element, or the opposite of the first.
                let second = if self.count == 1 {
                    !outcome
                } else {
                    let bits = self.elements.bits();
                    self.elements.compare(a[lane] >> bits, b[lane] >> bits)
                };
                q[lane] = u64::from(self.join(second, third));
            }
        });
    }

    /// A comparison without more, which is met at every turn.
    #[allow(clippy::needless_bitwise_bool, reason = "without branches it becomes vector code")]
    #[allow(clippy::float_cmp, reason = "that is what is asked for")]
    fn set_predicate(&self, active: u32, a: &Lanes, b: &Lanes, p: &mut Lanes) {
        match self.elements {
            Elements::Integers(ty, relation) => {
                let [less, equal, greater] =
                    [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|it| relation.holds(it));
                let outcome = |is_less: bool, is_equal: bool| {
                    u64::from(is_less & less | is_equal & equal | !(is_less | is_equal) & greater)
                };
                if ty.signed {
                    each(active, |lane| {
                        let (a, b) = (ty.sign_extended(a[lane]), ty.sign_extended(b[lane]));
                        p[lane] = outcome(a < b, a == b);
                    });
                } else {
                    let mask = ty.mask();
                    each(active, |lane| {
                        let (a, b) = (a[lane] & mask, b[lane] & mask);
                        p[lane] = outcome(a < b, a == b);
                    });
                }
            }
            Elements::Floats { format: Format::F32, comparison, flushes: false } => {
                let [less, equal, greater] = [Ordering::Less, Ordering::Equal, Ordering::Greater]
                    .map(|it| comparison.of_floats(Some(it)));
                let unordered = comparison.of_floats(None);
                each(active, |lane| {
                    let (a, b) = (f32::from_bits(a[lane] as u32), f32::from_bits(b[lane] as u32));
                    let (is_less, is_equal, is_greater) = (a < b, a == b, a > b);
                    let is_unordered = !(is_less | is_equal | is_greater);
                    p[lane] = u64::from(
                        is_less & less | is_equal & equal | is_greater & greater | is_unordered & unordered,
                    );
                });
            }
            Elements::Floats { .. } => {
                each(active, |lane| p[lane] = u64::from(self.elements.compare(a[lane], b[lane])));
            }
        }
    }

    #[inline]
    fn join(&self, outcome: bool, third: Option<u64>) -> bool {
        match (self.joined, third) {
            (Some(operator), Some(third)) => operator.join(outcome, third & 1 == 1),
            _ => outcome,
        }
    }
}

impl Elements {
    /// Bits of one.
    const fn bits(self) -> u32 {
        match self {
            Self::Integers(ty, _) => ty.bits,
            Self::Floats { format, .. } => format.bits(),
        }
    }

    #[inline]
    fn compare(self, a: u64, b: u64) -> bool {
        match self {
            Self::Integers(ty, relation) => {
                let ordering = if ty.signed {
                    ty.sign_extended(a).cmp(&ty.sign_extended(b))
                } else {
                    (a & ty.mask()).cmp(&(b & ty.mask()))
                };
                relation.holds(ordering)
            }
            Self::Floats { format, comparison, flushes } => {
                let value = |bits: u64| {
                    let bits = bits & format.mask();
                    format.to_f64(if flushes { format.flushed(bits) } else { bits })
                };
                comparison.of_floats(value(a).partial_cmp(&value(b)))
            }
        }
    }
}

impl Sign {
    /// Whether a number is less than zero, or none.
    fn is_set(self, bits: u64) -> bool {
        match self {
            Self::Integer => (bits as u32 as i32) < 0,
            Self::Float { flushes } => {
                let bits = bits & Format::F32.mask();
                let value = f32::from_bits(if flushes { Format::F32.flushed(bits) } else { bits } as u32);
                value < 0.0 || value.is_nan()
            }
        }
    }
}

/// What stands for true in a register of a type, for each of so many elements, and how wide that is.
fn truth(ty: Type, count: u32) -> Decoded<(u64, u32)> {
    let bits = ty.bits().ok_or(FOREIGN_TYPE)? / count;
    if let Some((format, _)) = Format::elements(ty) {
        return Ok((format.one(), format.bits()));
    }
    Ok((u64::MAX >> (64 - bits), bits))
}
