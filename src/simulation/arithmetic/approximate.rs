//! Functions that the hardware approximates.
//!
//! Its tables are not known. What is given here is the exact value, rounded; the ISA says how far
//! the hardware's may be from that, and so how far the two may differ.

use std::f64::consts::TAU;

use super::format::{Format, Number, Overflow};
use super::lanes::{map1, map2, packed};
use super::{Decoded, FOREIGN_TYPE, Lanes, NOT_HERE, UNTYPED};
use crate::isa::generic::{Flag, Operation, Rounding};
use crate::resolve::operations::Opcode;

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    format: Format,
    count: u32,
    flushes: bool,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Divide,
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
    pub(super) fn of(operation: Operation, opcode: &Opcode) -> Decoded<Self> {
        let function = match operation {
            Operation::DivFloat => Function::Divide,
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
        if let Function::Divide = self.function {
            map2(active, sources, destinations, |a, b| self.output(self.input(a) / self.input(b)));
        } else if self.format == Format::F64 && self.flushes {
            map1(active, sources, destinations, |a| self.upper_half(a));
        } else {
            map1(active, sources, destinations, |a| {
                packed(bits, self.count, |at| self.output(self.compute(self.input(a >> at))))
            });
        }
    }

    fn compute(&self, x: f64) -> f64 {
        match self.function {
            Function::Divide | Function::Reciprocal => 1.0 / x,
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
            format => {
                let number = Format::F64.decode(value.to_bits());
                // These it makes of a single, and cuts that.
                let rounding = if value.is_infinite() { Rounding::Rn } else { Rounding::Rz };
                format.from_number(number, rounding, Overflow::Infinity)
            }
        };
        if self.flushes { self.format.flushed(bits) } else { bits }
    }
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
    f64::from(f32::from_bits(turns as u32)).fract()
}
