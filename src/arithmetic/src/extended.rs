//! Integers of several registers: what carries a bit from one instruction to the next.

use super::integer::part;
use super::lanes::each;
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function as Step};
use ptx_isa::generic::{Flag, Operation, Part};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    ty: Integer,
    /// Whether a carry comes in, as the last source.
    takes_carry: bool,
    /// Whether a carry goes out, as the last destination.
    gives_carry: bool,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Add,
    Subtract,
    MultiplyAdd(Part),
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let product = || part(opcode).map(Function::MultiplyAdd).ok_or(INCOMPLETE);
        let (function, takes_carry) = match operation {
            Operation::AddCarryOut => (Function::Add, false),
            Operation::AddCarryIn => (Function::Add, true),
            Operation::SubBorrowOut => (Function::Subtract, false),
            Operation::SubBorrowIn => (Function::Subtract, true),
            Operation::MadCarryOut => (product()?, false),
            Operation::MadCarryIn => (product()?, true),
            _ => return Err(NOT_HERE),
        };
        let ty = Integer::first(opcode)?;
        Ok(Self { function, ty, takes_carry, gives_carry: opcode.has_flag(Flag::Cc) })
    }

    /// How many bits of a source matter; the carry is the last one.
    pub(super) fn source_bits(&self, position: usize, count: usize) -> u32 {
        if self.takes_carry && position + 1 == count { 1 } else { self.ty.bits }
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        let ty = self.ty.unsigned();
        let sum = match self.function {
            Function::Add => of.of_sources(Step::Add, ty, 2)?,
            Function::Subtract => of.of_sources(Step::Subtract, ty, 2)?,
            Function::MultiplyAdd(Part::Lo) => {
                let (product, addend) = (of.of_sources(Step::Multiply, ty, 2)?, of.source(2)?);
                of.of(Step::Add, ty, &[product, addend])
            }
            Function::MultiplyAdd(Part::Hi | Part::Wide) => return None,
        };
        if !self.takes_carry {
            return Some(sum);
        }
        let last = of.sources().checked_sub(1)?;
        let carry = of.source(last)?;
        let carry = of.of(Step::Extend(ty.bits), Integer { bits: 1, signed: false }, &[carry]);
        let step = if matches!(self.function, Function::Subtract) { Step::Subtract } else { Step::Add };
        Some(of.of(step, ty, &[sum, carry]))
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ty = self.ty.unsigned();
        let (carry, sources) = match sources.split_last() {
            Some((carry, rest)) if self.takes_carry => (Some(*carry), rest),
            _ => (None, sources),
        };
        let third = sources.get(2);
        let ([a, b, ..], [d, carries @ ..]) = (sources, destinations) else { return };
        each(active, |lane| {
            let carry = carry.map_or(0, |carry| i128::from(carry[lane] & 1));
            let sum = match (self.function, third) {
                (Function::Subtract, _) => ty.value(a[lane]) - ty.value(b[lane]) - carry,
                (Function::MultiplyAdd(part), Some(c)) => {
                    let product = self.ty.value(a[lane]).wrapping_mul(self.ty.value(b[lane]));
                    let half = if part == Part::Hi { product >> ty.bits } else { product };
                    ty.value(half as u64) + ty.value(c[lane]) + carry
                }
                (Function::Add | Function::MultiplyAdd(_), _) => {
                    ty.value(a[lane]) + ty.value(b[lane]) + carry
                }
            };
            d[lane] = ty.wrapped(sum);
            if let ([out, ..], true) = (&mut *carries, self.gives_carry) {
                out[lane] = (sum >> ty.bits) as u64 & 1;
            }
        });
    }
}
