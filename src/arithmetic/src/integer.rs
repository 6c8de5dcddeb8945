//! Integer arithmetic.

use super::lanes::{map1, map2, map3, packed};
use super::{Decoded, FOREIGN_TYPE, INCOMPLETE, Integer, Lanes, UNTYPED};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function as Step};
use ptx_isa::generic::{Flag, Modifier, Operation, Part, Type};

/// What is computed of each element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    ty: Integer,
    /// How many elements a register has.
    count: u32,
    saturates: bool,
    relu: bool,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Add,
    Subtract,
    /// A product, and which part of it.
    Multiply(Part),
    MultiplyAdd(Part),
    /// Those of the low 24 bits.
    Multiply24(Part),
    MultiplyAdd24(Part),
    /// Without carries.
    CarrylessMultiplyAdd(Part),
    SumOfDifferences,
    Divide,
    Remainder,
    Absolute,
    Negate,
    Minimum,
    Maximum,
    /// The sum of four products of bytes; whether the second factor's are signed.
    Dot4(bool),
    /// The sum of two products of halves and bytes.
    Dot2(Part, bool),
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let part = || part(opcode).ok_or(INCOMPLETE);
        let second_signed = || opcode.types.get(1).map(|ty| ty.is_signed()).ok_or(UNTYPED);
        let function = match operation {
            Operation::Add => Function::Add,
            Operation::Sub => Function::Subtract,
            Operation::Mul => Function::Multiply(part()?),
            Operation::Mad => Function::MultiplyAdd(part()?),
            Operation::Mul24 => Function::Multiply24(part()?),
            Operation::Mad24 => Function::MultiplyAdd24(part()?),
            Operation::Clmad => Function::CarrylessMultiplyAdd(part()?),
            Operation::Sad => Function::SumOfDifferences,
            Operation::Div => Function::Divide,
            Operation::Rem => Function::Remainder,
            Operation::Abs => Function::Absolute,
            Operation::Neg => Function::Negate,
            Operation::Min => Function::Minimum,
            Operation::Max => Function::Maximum,
            Operation::Dp4a => Function::Dot4(second_signed()?),
            Operation::Dp2a => Function::Dot2(part()?, second_signed()?),
            _ => return Err(super::NOT_HERE),
        };
        let ty: Type = *opcode.types.first().ok_or(UNTYPED)?;
        let (ty, count) = Integer::elements(ty).ok_or(FOREIGN_TYPE)?;
        // No product has 128 bits.
        let is_wide = matches!(function, Function::Multiply(Part::Wide) | Function::MultiplyAdd(Part::Wide));
        if is_wide && ty.bits == 64 {
            return Err(FOREIGN_TYPE);
        }
        let (saturates, relu) = (opcode.has_flag(Flag::Sat), opcode.has_flag(Flag::Relu));
        Ok(Self { function, ty, count, saturates, relu })
    }

    /// How many bits of a source matter.
    pub(super) fn source_bits(&self, position: usize) -> u32 {
        let bits = self.ty.bits * self.count;
        match (self.function, position) {
            (Function::MultiplyAdd(Part::Wide), 2) => bits * 2,
            (Function::Dot4(_) | Function::Dot2(..), _) => 32,
            _ => bits,
        }
    }

    /// How many bits the result has.
    pub(super) fn result_bits(&self) -> u32 {
        match self.function {
            Function::Multiply(Part::Wide) | Function::MultiplyAdd(Part::Wide) => self.ty.bits * 2,
            _ => self.ty.bits * self.count,
        }
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        let Self { function, ty, count, saturates, relu } = *self;
        if count > 1 || saturates || relu {
            return None;
        }
        match function {
            Function::Add => of.of_sources(Step::Add, ty, 2),
            Function::Subtract => of.of_sources(Step::Subtract, ty, 2),
            Function::Multiply(Part::Lo) => of.of_sources(Step::Multiply, ty, 2),
            Function::Multiply(Part::Wide) => of.of_sources(Step::MultiplyWide, ty, 2),
            Function::Multiply(Part::Hi) => of.of_sources(Step::MultiplyHigh, ty, 2),
            Function::MultiplyAdd(part) => {
                let (product, sum) = match part {
                    Part::Lo => (of.of_sources(Step::Multiply, ty, 2)?, ty),
                    Part::Wide => (of.of_sources(Step::MultiplyWide, ty, 2)?, ty.doubled()),
                    Part::Hi => (of.of_sources(Step::MultiplyHigh, ty, 2)?, ty),
                };
                let addend = of.source(2)?;
                Some(of.of(Step::Add, sum, &[product, addend]))
            }
            Function::Divide => of.of_sources(Step::Divide, ty, 2),
            Function::Remainder => of.of_sources(Step::Remainder, ty, 2),
            Function::Minimum => of.of_sources(Step::Minimum, ty, 2),
            Function::Maximum => of.of_sources(Step::Maximum, ty, 2),
            Function::Negate => {
                let (zero, a) = (of.number(0), of.source(0)?);
                Some(of.of(Step::Subtract, ty, &[zero, a]))
            }
            Function::Multiply24(_)
            | Function::MultiplyAdd24(_)
            | Function::CarrylessMultiplyAdd(_)
            | Function::SumOfDifferences
            | Function::Absolute
            | Function::Dot4(_)
            | Function::Dot2(..) => None,
        }
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let Self { function, ty, count, .. } = *self;
        if count > 1 {
            return self.execute_packed(active, sources, destinations);
        }
        let mask = ty.mask();
        match function {
            // What is computed at every turn, without the width of 128 bits.
            Function::Add if !self.saturates => {
                map2(active, sources, destinations, |a, b| a.wrapping_add(b) & mask);
            }
            Function::Subtract if !self.saturates => {
                map2(active, sources, destinations, |a, b| a.wrapping_sub(b) & mask);
            }
            Function::Multiply(Part::Lo) => {
                map2(active, sources, destinations, |a, b| a.wrapping_mul(b) & mask);
            }
            Function::MultiplyAdd(Part::Lo) if !self.saturates => {
                map3(active, sources, destinations, |a, b, c| a.wrapping_mul(b).wrapping_add(c) & mask);
            }
            Function::Multiply(Part::Wide) if ty.signed => {
                let mask = ty.doubled().mask();
                let value = |bits| ty.sign_extended(bits);
                map2(active, sources, destinations, |a, b| value(a).wrapping_mul(value(b)) as u64 & mask);
            }
            Function::Multiply(Part::Wide) => {
                map2(active, sources, destinations, |a, b| (a & mask).wrapping_mul(b & mask));
            }
            Function::Add
            | Function::Subtract
            | Function::Divide
            | Function::Remainder
            | Function::Minimum
            | Function::Maximum
            | Function::Multiply(Part::Hi)
            | Function::Multiply24(_) => {
                map2(active, sources, destinations, |a, b| self.compute([a, b, 0]));
            }
            Function::Absolute | Function::Negate => {
                map1(active, sources, destinations, |a| self.compute([a, 0, 0]));
            }
            Function::MultiplyAdd(_)
            | Function::MultiplyAdd24(_)
            | Function::CarrylessMultiplyAdd(_)
            | Function::SumOfDifferences
            | Function::Dot4(_)
            | Function::Dot2(..) => {
                map3(active, sources, destinations, |a, b, c| self.compute([a, b, c]));
            }
        }
    }

    fn execute_packed(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let Self { ty: Integer { bits, .. }, count, .. } = *self;
        if sources.len() == 1 {
            map1(active, sources, destinations, |a| packed(bits, count, |at| self.compute([a >> at, 0, 0])));
        } else {
            map2(active, sources, destinations, |a, b| {
                packed(bits, count, |at| self.compute([a >> at, b >> at, 0]))
            });
        }
    }

    /// One element.
    fn compute(&self, sources: [u64; 3]) -> u64 {
        let Self { function, ty, .. } = *self;
        let (a, b, c) = (ty.value(sources[0]), ty.value(sources[1]), ty.value(sources[2]));
        let end = |value: i128| if self.saturates { ty.saturated(value) } else { ty.wrapped(value) };
        let end_relu = |value: i128| ty.wrapped(if self.relu { value.max(0) } else { value });
        match function {
            Function::Add => end(a + b),
            Function::Subtract => end(a - b),
            Function::Multiply(part) => product(ty, part, a, b, 0, false),
            Function::MultiplyAdd(part) => {
                let wide = if part == Part::Wide { ty.doubled() } else { ty };
                product(ty, part, a, b, wide.value(sources[2]), self.saturates)
            }
            Function::Multiply24(part) => product24(ty, part, sources, 0, false),
            Function::MultiplyAdd24(part) => product24(ty, part, sources, c, self.saturates),
            Function::CarrylessMultiplyAdd(part) => {
                let product = (0..64)
                    .filter(|bit| sources[1] >> bit & 1 == 1)
                    .fold(0, |sum, bit| sum ^ u128::from(sources[0]) << bit);
                let half = if part == Part::Hi { product >> 64 } else { product };
                half as u64 ^ sources[2]
            }
            Function::SumOfDifferences => ty.wrapped(c + (a - b).abs()),
            // What the hardware gives.
            Function::Divide | Function::Remainder if b == 0 => ty.wrapped(-1),
            Function::Divide => ty.wrapped(a / b),
            Function::Remainder => ty.wrapped(a % b),
            Function::Absolute => ty.wrapped(a.abs()),
            Function::Negate => ty.wrapped(-a),
            Function::Minimum => end_relu(a.min(b)),
            Function::Maximum => end_relu(a.max(b)),
            Function::Dot4(signed) => {
                dot(sources, (Integer { bits: 8, signed: ty.signed }, Integer { bits: 8, signed }), 4, 0)
            }
            Function::Dot2(part, signed) => {
                let first = if part == Part::Hi { 2 } else { 0 };
                dot(sources, (Integer { bits: 16, signed: ty.signed }, Integer { bits: 8, signed }), 2, first)
            }
        }
    }
}

/// Which part of a product an opcode asks for.
pub(super) fn part(opcode: &Opcode<'_>) -> Option<Part> {
    opcode.modifier(|modifier| match modifier {
        Modifier::Part(part) => Some(part),
        _ => None,
    })
}

fn product(ty: Integer, part: Part, a: i128, b: i128, c: i128, saturates: bool) -> u64 {
    // Factors of 64 bits may have a product that needs all 128, and no sign is left for it: the
    // halves of it are the same.
    let product = a.wrapping_mul(b);
    match part {
        Part::Lo => ty.wrapped(product.wrapping_add(c)),
        Part::Wide => ty.doubled().wrapped(product.wrapping_add(c)),
        Part::Hi => {
            let high = if ty.signed { product >> ty.bits } else { (product as u128 >> ty.bits) as i128 };
            if saturates { ty.saturated(high + c) } else { ty.wrapped(high + c) }
        }
    }
}

fn product24(ty: Integer, part: Part, [a, b, _]: [u64; 3], c: i128, saturates: bool) -> u64 {
    let factor = Integer { bits: 24, ..ty };
    let product = factor.value(a) * factor.value(b);
    match part {
        Part::Hi => {
            // Bits 16 to 47: the upper 32 of the 48.
            let sum = (product >> 16) + c;
            if saturates { ty.saturated(sum) } else { ty.wrapped(sum) }
        }
        Part::Lo | Part::Wide => ty.wrapped(product + c),
    }
}

/// The sum of products of elements, and of the third source.
fn dot([a, b, c]: [u64; 3], (first, second): (Integer, Integer), count: u32, skip: u32) -> u64 {
    let sum: i128 = (0..count)
        .map(|index| {
            first.value(a >> (index * first.bits)) * second.value(b >> ((skip + index) * second.bits))
        })
        .sum();
    Integer::U32.wrapped(sum + i128::from(c))
}
