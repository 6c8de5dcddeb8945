//! Functions that the hardware approximates.
//!
//! Its tables are not known. What is given here is the exact value, rounded or cut as the hardware's
//! results look; the ISA says how far those may be from it, and so how far the two may differ. What
//! becomes of infinities, zeros, subnormal numbers and what is no number is the hardware's way.

use std::f64::consts::TAU;

use super::format::{Format, Number};
use super::lanes::{map1, map2, packed};
use super::special::Elements;
use super::{Decoded, FOREIGN_TYPE, Lanes, NOT_HERE, UNTYPED};
use crate::Opcode;
use ptx_isa::generic::{Flag, Modifier, Operation, Precision, Rounding};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    format: Format,
    count: u32,
    flushes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Divide(Precision),
    Reciprocal,
    SquareRoot,
    ReciprocalSquareRoot,
    Sine,
    Cosine,
    Logarithm,
    Power,
    HyperbolicTangent,
}

impl Instruction {
    /// The elements of its sources, and those of its result.
    pub(super) fn elements(&self) -> ([Option<Elements>; 3], Elements) {
        let elements = Elements::packed(self.format, self.count);
        ([Some(elements); 3], elements)
    }

    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let function = match operation {
            Operation::DivFloat if opcode.has(Modifier::Precision(Precision::Full)) => {
                Function::Divide(Precision::Full)
            }
            Operation::DivFloat => Function::Divide(Precision::Approx),
            Operation::Rcp => Function::Reciprocal,
            Operation::Sqrt => Function::SquareRoot,
            Operation::Rsqrt => Function::ReciprocalSquareRoot,
            Operation::Sin => Function::Sine,
            Operation::Cos => Function::Cosine,
            Operation::Lg2 => Function::Logarithm,
            Operation::Ex2 | Operation::Ex2Half => Function::Power,
            Operation::Tanh | Operation::TanhHalf => Function::HyperbolicTangent,
            _ => return Err(NOT_HERE),
        };
        let (format, count) = Format::elements(*opcode.types.first().ok_or(UNTYPED)?).ok_or(FOREIGN_TYPE)?;
        Ok(Self { function, format, count, flushes: opcode.has_flag(Flag::Ftz) })
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let bits = self.format.bits();
        if let Function::Divide(_) = self.function {
            map2(active, sources, destinations, |a, b| {
                self.output(self.quotient(self.input(a), self.input(b)))
            });
        } else if self.format == Format::F64 && self.flushes {
            map1(active, sources, destinations, |a| self.upper_half(a));
        } else if self.format == Format::F32 && self.count == 1 {
            let flush = |bits: u64| if self.flushes { Format::F32.flushed(bits) } else { bits };
            map1(active, sources, destinations, |a| {
                let value = self.compute(f64::from(f32::from_bits(flush(a & Format::F32.mask()) as u32)));
                flush(if value.is_nan() { Format::F32.nan() } else { u64::from((value as f32).to_bits()) })
            });
        } else {
            map1(active, sources, destinations, |a| {
                if self.format == Format::F64 && Format::F64.is_nan(a) {
                    return Format::F64.nan_of(a);
                }
                packed(bits, self.count, |at| self.output(self.compute(self.input(a >> at))))
            });
        }
    }

    #[inline]
    fn compute(&self, x: f64) -> f64 {
        match self.function {
            Function::Divide(_) | Function::Reciprocal => 1.0 / x,
            Function::SquareRoot => x.sqrt(),
            // The root of -0 is -0, and so the sign of its reciprocal.
            Function::ReciprocalSquareRoot => 1.0 / x.sqrt(),
            Function::Sine => (turns(x) * TAU).sin(),
            Function::Cosine => (turns(x) * TAU).cos(),
            Function::Logarithm => x.log2(),
            Function::Power => x.exp2(),
            Function::HyperbolicTangent => x.tanh(),
        }
    }

    /// A quotient. Without care for the range it is a product, and the reciprocal of what is beyond
    /// 2^126 would be subnormal, which it is not allowed to be.
    fn quotient(&self, a: f64, b: f64) -> f64 {
        if self.function == Function::Divide(Precision::Approx) && b.abs() > 2_f64.powi(126) {
            a * 0_f64.copysign(b)
        } else {
            a / b
        }
    }

    /// A function of the upper half of a double, whose lower half nobody looks at.
    fn upper_half(&self, a: u64) -> u64 {
        const UPPER: u64 = 0xFFFF_FFFF_0000_0000;
        let x = self.input(a & UPPER);
        let result = self.compute(x);
        if result.is_nan() {
            return 0x7FFF_FFFF_0000_0000;
        }
        Format::F64.flushed(result.to_bits()) & UPPER
    }

    fn input(&self, bits: u64) -> f64 {
        let bits = bits & self.format.mask();
        self.format.to_f64(if self.flushes { self.format.flushed(bits) } else { bits })
    }

    fn output(&self, value: f64) -> u64 {
        let bits = match self.format {
            Format::F64 if value.is_nan() => Format::F64.nan(),
            Format::F64 => value.to_bits(),
            Format::F32 if value.is_nan() => Format::F32.nan(),
            Format::F32 => u64::from((value as f32).to_bits()),
            Format::F16 if self.function == Function::HyperbolicTangent => {
                Format::F16.round(Format::F64.decode(value.to_bits()), Rounding::Rn)
            }
            format => {
                // The others it makes of a single, and cuts that.
                let single = Format::F32.decode(u64::from((value as f32).to_bits()));
                let cut = format.round(single, Rounding::Rz);
                let is_beyond = cut & !format.sign() == format.largest()
                    && f64::from(value as f32).abs() >= format.to_f64(format.largest()) + unit(format);
                if is_beyond { cut + 1 } else { cut }
            }
        };
        if self.flushes { self.format.flushed(bits) } else { bits }
    }
}

/// From the largest number to what would follow.
fn unit(format: Format) -> f64 {
    format.to_f64(format.largest()) - format.to_f64(format.largest() - 1)
}

/// An angle in turns, as the hardware first makes one of it: a product of singles, rounded to zero.
fn turns(angle: f64) -> f64 {
    if !angle.is_finite() {
        return f64::NAN;
    }
    let product = Format::F32.decode(u64::from((angle as f32).to_bits()));
    // 1 / 2π
    let factor = Format::F32.decode(0x3E22_F983);
    let turns = Format::F32.round(Number::multiply(product, factor), Rounding::Rz);
    let turns = f64::from(f32::from_bits(turns as u32));
    turns.fract().copysign(turns)
}
