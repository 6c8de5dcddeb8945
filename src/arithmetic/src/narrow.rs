//! `cvt` of several numbers into one register, and out of it.

use super::floating::rounding;
use super::format::{Exact, Format, Number, Overflow, rounds_up, split};
use super::lanes::each;
use super::special::Elements;
use super::{Decoded, FOREIGN_TYPE, Lanes, NOT_HERE, UNTYPED};
use crate::Opcode;
use ptx_isa::generic::{Flag, Modifier, Operation, Rounding, Scaled, Type};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    from: Element,
    to: Element,
    /// How many elements the result has.
    count: u32,
    /// Whether each of them comes from a register of its own, the highest first.
    is_gathered: bool,
    rounding: Rounding,
    relu: bool,
    finite: bool,
    scaled: Option<Scaled>,
}

/// What a narrow element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Float(Format),
    /// An exponent alone.
    PowerOfTwo,
    /// Two's complement, with six bits behind the point.
    FixedPoint,
}

impl Element {
    fn of(ty: Type) -> Decoded<(Self, u32)> {
        match (ty, Format::elements(ty)) {
            (_, Some((format, count))) => Ok((Self::Float(format), count)),
            (Type::Ue8m0x2, None) => Ok((Self::PowerOfTwo, 2)),
            (Type::S2f6x2, None) => Ok((Self::FixedPoint, 2)),
            (_, None) => Err(FOREIGN_TYPE),
        }
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Float(format) => format.bits(),
            Self::PowerOfTwo | Self::FixedPoint => 8,
        }
    }

    /// Bits from one element to the next: those of six have a byte each.
    const fn place(self) -> u32 {
        if self.bits() == 6 { 8 } else { self.bits() }
    }

    fn decode(self, bits: u64) -> Number {
        match self {
            Self::Float(format) => format.decode(bits & format.mask()),
            Self::PowerOfTwo if bits & 0xFF == 0xFF => Number::Nan,
            Self::PowerOfTwo => Number::Finite(Exact { exponent: (bits & 0xFF) as i32 - 127, ..Exact::ONE }),
            Self::FixedPoint => {
                Number::Finite(Exact { exponent: -6, ..Exact::from_integer(i128::from(bits as u8 as i8)) })
            }
        }
    }

    fn encode(self, number: Number, rounding: Rounding, overflow: Overflow) -> u64 {
        match self {
            Self::Float(format) => format.encode_number(number, rounding, overflow),
            Self::PowerOfTwo => power_of_two(number, rounding, overflow),
            Self::FixedPoint => fixed_point(number, rounding),
        }
    }
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        if opcode.has_flag(Flag::Pzo) {
            return Err("what `.pzo` does is not known");
        }
        let [to, from, ..] = opcode.types[..] else { return Err(UNTYPED) };
        let (to, count) = Element::of(to)?;
        let (from, _) = Element::of(from)?;
        let is_gathered = match operation {
            Operation::CvtPair | Operation::CvtStochastic | Operation::CvtStochastic4 => true,
            Operation::CvtPacked => false,
            _ => return Err(NOT_HERE),
        };
        let scaled = opcode.modifier(|modifier| match modifier {
            Modifier::Scaled(scaled) => Some(scaled),
            _ => None,
        });
        let rounding = rounding(opcode).unwrap_or(Rounding::Rn);
        let (relu, finite) = (opcode.has_flag(Flag::Relu), opcode.has_flag(Flag::Satfinite));
        Ok(Self { from, to, count, is_gathered, rounding, relu, finite, scaled })
    }

    /// The elements of its sources, and those of its result; nothing if it makes no floating-point number.
    pub(super) fn elements(&self) -> Option<([Option<Elements>; 3], Elements)> {
        let of = |element: Element, count| match element {
            Element::Float(format) => Some(Elements { format, count, place: element.place() }),
            Element::PowerOfTwo | Element::FixedPoint => None,
        };
        let each = if self.is_gathered { 1 } else { self.count };
        Some(([of(self.from, each); 3], of(self.to, self.count)?))
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let [d, ..] = destinations else { return };
        let gathered = if self.is_gathered { self.count as usize } else { 1 };
        let Some((values, rest)) = sources.split_at_checked(gathered) else { return };
        // What is met most.
        if let (Element::Float(Format::F32), Element::Float(to), [high, low]) = (self.from, self.to, values)
            && self.rounding == Rounding::Rn
            && self.scaled.is_none()
            && !self.relu
        {
            let place = self.to.place();
            return each(active, |lane| {
                let convert =
                    |bits, index| to.round_single(bits).unwrap_or_else(|| self.convert(bits, index, None));
                d[lane] = convert(low[lane], 0) | convert(high[lane], 1) << place;
            });
        }
        each(active, |lane| {
            let extra = rest.first().map(|register| register[lane]);
            d[lane] = (0..self.count).fold(0, |sum, index| {
                let bits = if self.is_gathered {
                    values[(self.count - 1 - index) as usize][lane]
                } else {
                    values[0][lane] >> (index * self.from.place())
                };
                sum | self.convert(bits, index, extra) << (index * self.to.place())
            });
        });
    }

    /// One element, whose place in the result is given.
    fn convert(&self, bits: u64, index: u32, extra: Option<u64>) -> u64 {
        let overflow = if self.finite { Overflow::Saturate } else { Overflow::Infinity };
        if let (Element::Float(from), Element::Float(to)) = (self.from, self.to)
            && self.scaled.is_none()
            && self.rounding != Rounding::Rs
        {
            let value = from.to_f64(bits & from.mask());
            let result = to.encode_double(value, self.rounding, overflow);
            let is_negative = result & to.sign() != 0 && !to.is_nan(result);
            return if self.relu && is_negative { 0 } else { result };
        }
        let mut number = self.from.decode(bits);
        if let (Some(scaled), Some(scale)) = (self.scaled, extra) {
            let at = if scaled == Scaled::N2 { 8 * index } else { 0 };
            number = number.multiply(Element::PowerOfTwo.decode(scale >> at));
        }
        if self.rounding == Rounding::Rs {
            number = self.noisy(number, index, extra.unwrap_or_default());
        }
        let result = self.to.encode(number, self.rounding, overflow);
        match self.to {
            Element::Float(format) if self.relu && result & format.sign() != 0 && !format.is_nan(result) => 0,
            Element::Float(_) | Element::PowerOfTwo | Element::FixedPoint => result,
        }
    }

    /// With random bits added below the last one that stays. Results of 16 bits take a half of the
    /// register each, the others a byte.
    fn noisy(&self, number: Number, index: u32, random: u64) -> Number {
        let (Number::Finite(exact), Element::Float(format)) = (number, self.to) else { return number };
        let Some(top) = exact.magnitude.checked_ilog2() else { return number };
        let share = 32 / self.count;
        let random = u128::from(random >> (share * index) & ((1 << share) - 1));
        // Of 32 random bits nothing is above the last bit that stays, and none below those of a single.
        let smallest = match format.decode(1) {
            Number::Finite(smallest) => smallest.exponent,
            Number::Nan | Number::Infinite { .. } => return number,
        };
        let unit = (exact.exponent + top as i32 - format.fraction as i32).max(smallest);
        let noise = Exact { negative: exact.negative, exponent: unit - share as i32, magnitude: random };
        Number::Finite(exact.add(noise, Rounding::Rz))
    }
}

/// The exponent of the power of two that is next to a number's magnitude.
fn power_of_two(number: Number, rounding: Rounding, overflow: Overflow) -> u64 {
    let largest = if overflow == Overflow::Saturate { 0xFE } else { 0xFF };
    match number {
        Number::Nan => 0xFF,
        Number::Infinite { .. } => largest,
        Number::Finite(exact) => {
            let Some(top) = exact.magnitude.checked_ilog2() else { return 0 };
            let is_power = exact.magnitude.is_power_of_two();
            let up = i32::from(rounding == Rounding::Rp && !is_power);
            let exponent = exact.exponent + top as i32 + up + 127;
            exponent.clamp(0, largest as i32) as u64
        }
    }
}

/// A number of eight bits, six of them behind the point.
fn fixed_point(number: Number, rounding: Rounding) -> u64 {
    let value: i64 = match number {
        Number::Nan => 0,
        Number::Infinite { negative } => {
            if negative {
                -128
            } else {
                127
            }
        }
        Number::Finite(exact) => {
            let is_large =
                exact.magnitude.checked_ilog2().is_some_and(|top| top as i32 + exact.exponent >= 2);
            let magnitude = if is_large {
                128
            } else {
                let (kept, rest) = split(exact.magnitude, -6 - exact.exponent);
                (kept + u64::from(rounds_up(rounding, exact.negative, kept, rest))) as i64
            };
            if exact.negative { (-magnitude).max(-128) } else { magnitude.min(127) }
        }
    };
    u64::from(value as u8)
}
