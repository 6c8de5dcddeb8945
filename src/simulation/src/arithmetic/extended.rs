//! Integers of several registers: what carries a bit from one instruction to the next.

use super::integer::part;
use super::lanes::each;
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE};
use crate::isa::generic::{Flag, Operation, Part};
use crate::resolve::operations::Opcode;

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
    pub(super) fn of(operation: Operation, opcode: &Opcode) -> Decoded<Self> {
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
