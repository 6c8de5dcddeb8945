//! `cvt` of one number.

use super::floating::rounding;
use super::format::{Exact, Format, Number, Overflow, rounds_up, split};
use super::lanes::map1;
use super::special::Elements;
use super::{Decoded, FOREIGN_TYPE, Integer, Lanes, UNTYPED};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function};
use ptx_isa::generic::{Flag, Rounding, Type};

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of its own")]
pub(super) struct Instruction {
    to: Kind,
    from: Kind,
    rounding: Option<Rounding>,
    flushes: bool,
    saturates: bool,
    relu: bool,
    finite: bool,
    /// Bits of the register that the result goes to, where that is wider than its type.
    register: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer(Integer),
    Float(Format),
    /// A single with fewer bits, which stand at the top.
    Tf32,
}

impl Kind {
    fn of(ty: Type) -> Decoded<Self> {
        if ty == Type::Tf32 {
            return Ok(Self::Tf32);
        }
        match (Format::elements(ty), Integer::elements(ty)) {
            (Some((format, 1)), _) => Ok(Self::Float(format)),
            (None, Some((integer, 1))) => Ok(Self::Integer(integer)),
            (Some(_), _) | (None, Some(_) | None) => Err(FOREIGN_TYPE),
        }
    }

    const fn format(self) -> Option<Format> {
        match self {
            Self::Integer(_) => None,
            Self::Float(format) => Some(format),
            Self::Tf32 => Some(Format::TF32),
        }
    }
}

impl Instruction {
    pub(super) fn of(opcode: &Opcode<'_>) -> Decoded<Self> {
        if opcode.has_flag(Flag::Pzo) {
            return Err("what `.pzo` does is not known");
        }
        let [to, from, ..] = opcode.types[..] else { return Err(UNTYPED) };
        Ok(Self {
            to: Kind::of(to)?,
            from: Kind::of(from)?,
            rounding: rounding(opcode),
            flushes: opcode.has_flag(Flag::Ftz),
            saturates: opcode.has_flag(Flag::Sat),
            relu: opcode.has_flag(Flag::Relu),
            finite: opcode.has_flag(Flag::Satfinite),
            register: 0,
        })
    }

    /// The elements of its source, and those of its result; nothing if it makes no floating-point number.
    pub(super) fn elements(&self) -> Option<([Option<Elements>; 3], Elements)> {
        // A tf32 stands where a single does.
        let of = |kind: Kind| match kind {
            Kind::Integer(_) => None,
            Kind::Float(format) => Some(Elements::packed(format, 1)),
            Kind::Tf32 => Some(Elements::packed(Format::F32, 1)),
        };
        Some(([of(self.from); 3], of(self.to)?))
    }

    /// For a register of so many bits.
    pub(super) const fn widened(self, bits: u32) -> Self {
        Self { register: bits, ..self }
    }

    /// How many bits of the source matter; `None` where it is no integer.
    pub(super) const fn source_bits(&self) -> Option<u32> {
        match (self.from, self.to) {
            (Kind::Integer(from), Kind::Integer(_)) => Some(from.bits),
            _ => None,
        }
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        let (Kind::Integer(from), Kind::Integer(to)) = (self.from, self.to) else { return None };
        if self.saturates {
            return None;
        }
        let value = of.of_sources(Function::Extend(to.bits), from, 1)?;
        // A register that is wider than the type takes its sign.
        let register = if self.register > to.bits && self.register <= 64 { self.register } else { to.bits };
        Some(if register == to.bits { value } else { of.of(Function::Extend(register), to, &[value]) })
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let (flushes, saturates) = (self.flushes, self.saturates);
        match (self.from, self.to) {
            (Kind::Integer(from), Kind::Integer(to)) => map1(active, sources, destinations, |a| {
                let value = from.value(a);
                self.extended(to, if saturates { to.saturated(value) } else { to.wrapped(value) })
            }),
            // The two that are met most, in the processor's way.
            (Kind::Float(Format::BF16), Kind::Float(Format::F32)) if !flushes && !saturates => {
                map1(active, sources, destinations, |a| (a & 0xFFFF) << 16);
            }
            (Kind::Integer(from), Kind::Float(Format::F32))
                if self.rounding == Some(Rounding::Rn) && from.bits <= 32 && !saturates =>
            {
                map1(active, sources, destinations, |a| u64::from((from.value(a) as i64 as f32).to_bits()));
            }
            (Kind::Float(Format::F16), Kind::Float(Format::F32)) if !flushes && !saturates => {
                map1(active, sources, destinations, |a| {
                    let value = Format::F16.to_f64(a & 0xFFFF);
                    if value.is_nan() { Format::F32.nan() } else { u64::from((value as f32).to_bits()) }
                });
            }
            (Kind::Float(Format::F32), Kind::Integer(to)) if !flushes && to.bits <= 32 => {
                let rounding = self.rounding.unwrap_or(Rounding::Rzi);
                map1(active, sources, destinations, |a| {
                    let value = f32::from_bits(a as u32);
                    let whole = match rounding {
                        Rounding::Rni | Rounding::Rn => value.round_ties_even(),
                        Rounding::Rmi | Rounding::Rm => value.floor(),
                        Rounding::Rpi | Rounding::Rp => value.ceil(),
                        Rounding::Rzi | Rounding::Rz | Rounding::Rna | Rounding::Rs => value.trunc(),
                    };
                    // What is no number becomes zero.
                    self.extended(to, to.saturated(i128::from(whole as i64)))
                });
            }
            (from, to) => map1(active, sources, destinations, |a| self.compute(from, to, a)),
        }
    }

    fn compute(&self, from: Kind, to: Kind, a: u64) -> u64 {
        let number = match from {
            Kind::Integer(ty) => Number::Finite(Exact::from_integer(ty.value(a))),
            Kind::Tf32 => Format::F32.decode(a),
            Kind::Float(format) => {
                let a = a & format.mask();
                let a = if self.flushes && format == Format::F32 && to != Kind::Float(Format::F16) {
                    format.flushed(a)
                } else {
                    a
                };
                if to == from && self.rounding.is_none() && format == Format::F64 && !self.saturates {
                    return a;
                }
                format.decode(a)
            }
        };
        match to {
            Kind::Integer(ty) => {
                let is_wide = from == Kind::Float(Format::F64) || ty.bits == 64;
                self.extended(ty, to_integer(ty, number, self.rounding.unwrap_or(Rounding::Rzi), is_wide))
            }
            Kind::Float(format) => self.float(format, from.format(), number, a),
            Kind::Tf32 => self.float(Format::TF32, from.format(), number, a) << 13,
        }
    }

    fn float(&self, format: Format, from: Option<Format>, number: Number, a: u64) -> u64 {
        let rounding = self.rounding.unwrap_or(Rounding::Rn);
        let number = match (number, rounding) {
            (Number::Finite(exact), Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
                if from.is_some() =>
            {
                Number::Finite(to_whole(exact, rounding))
            }
            _ => number,
        };
        let overflow = if self.finite { Overflow::Saturate } else { Overflow::Infinity };
        let bits = match (number, from) {
            (Number::Nan, Some(from)) if !self.relu => self.nan(format, from, a),
            _ => format.encode_number(number, rounding, overflow),
        };
        let bits = if self.flushes && format == Format::F32 { format.flushed(bits) } else { bits };
        let is_negative = bits & format.sign() != 0;
        if self.saturates {
            return if format.is_nan(bits) || is_negative { 0 } else { bits.min(format.one()) };
        }
        if self.relu && is_negative && !format.is_nan(bits) { 0 } else { bits }
    }

    /// What becomes of what is no number. Doubles keep as much of it as there is room for, and so
    /// does what only moves bits.
    fn nan(&self, to: Format, from: Format, a: u64) -> u64 {
        let is_plain = self.rounding.is_none() && !self.flushes && !self.saturates;
        let sign = if a & from.sign() == 0 { 0 } else { to.sign() };
        let fraction = a & ((1 << from.fraction) - 1);
        let moved = if to.fraction >= from.fraction {
            fraction << (to.fraction - from.fraction)
        } else {
            fraction >> (from.fraction - to.fraction)
        };
        let kept = to.infinity() | sign | moved;
        let quiet = 1 << (to.fraction - 1);
        match (from, to) {
            (Format::F32, Format::F32) if is_plain => kept,
            (Format::BF16, Format::F32) if is_plain => kept,
            (Format::F32, Format::TF32) if self.rounding == Some(Rounding::Rna) && self.finite => kept - 1,
            (Format::F32, Format::TF32) if self.rounding == Some(Rounding::Rna) => kept,
            (Format::F64, _) | (_, Format::F64) => kept | quiet,
            _ => to.nan(),
        }
    }

    /// With the sign in all bits of a wider register.
    const fn extended(&self, ty: Integer, bits: u64) -> u64 {
        if ty.signed && self.register > ty.bits && self.register <= 64 {
            ty.sign_extended(bits) as u64 & (u64::MAX >> (64 - self.register))
        } else {
            bits
        }
    }
}

/// The integer that is next to a number, within the type.
fn to_integer(ty: Integer, number: Number, rounding: Rounding, is_wide: bool) -> u64 {
    match number {
        Number::Nan if is_wide => 1 << (ty.bits - 1),
        Number::Nan => 0,
        Number::Infinite { negative: true } => ty.wrapped(ty.smallest()),
        Number::Infinite { negative: false } => ty.wrapped(ty.largest()),
        Number::Finite(exact) => {
            let whole = to_whole(exact, rounding);
            // Anything with more bits is beyond every type.
            let is_large =
                whole.magnitude.checked_ilog2().is_some_and(|top| top as i32 + whole.exponent > 64);
            let magnitude = if is_large { 1 << 65 } else { (whole.magnitude << whole.exponent) as i128 };
            ty.saturated(if whole.negative { -magnitude } else { magnitude })
        }
    }
}

/// A number without what stands behind the point.
fn to_whole(exact: Exact, rounding: Rounding) -> Exact {
    if exact.exponent >= 0 {
        return exact;
    }
    let (kept, rest) = split(exact.magnitude, -exact.exponent);
    let kept = kept + u64::from(rounds_up(rounding, exact.negative, kept, rest));
    Exact { negative: exact.negative, exponent: 0, magnitude: u128::from(kept) }
}
