//! Video instructions, of whole registers and of all their halves or bytes.
//!
//! What an operand picks of its register (`a.b0`) is no part of the opcode: nobody else may be asked.

use super::lanes::{each, packed};
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE, UNTYPED};
use crate::Opcode;
use ptx_isa::generic::{Comparison, Flag, Modifier, Operation, Overflow, Relation, SecondOperation, Type};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    /// How many elements a register has.
    count: u32,
    result: Integer,
    first: Integer,
    second: Integer,
    saturates: bool,
    /// What is done with the result and the third source.
    then: Option<SecondOperation>,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Add,
    Subtract,
    AbsoluteDifference,
    Average,
    Minimum,
    Maximum,
    ShiftLeft(Overflow),
    ShiftRight(Overflow),
    Compare(Relation),
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        Self::packed(operation, 1, opcode)
    }

    /// Of so many elements in a register.
    pub(super) fn packed(operation: Operation, count: u32, opcode: &Opcode<'_>) -> Decoded<Self> {
        let function = match operation {
            Operation::Vadd | Operation::Vadd2 | Operation::Vadd4 => Function::Add,
            Operation::Vsub | Operation::Vsub2 | Operation::Vsub4 => Function::Subtract,
            Operation::Vavrg2 | Operation::Vavrg4 => Function::Average,
            Operation::Vabsdiff | Operation::Vabsdiff2 | Operation::Vabsdiff4 => Function::AbsoluteDifference,
            Operation::Vmin | Operation::Vmin2 | Operation::Vmin4 => Function::Minimum,
            Operation::Vmax | Operation::Vmax2 | Operation::Vmax4 => Function::Maximum,
            Operation::Vshl => Function::ShiftLeft(super::bits::overflow(opcode)?),
            Operation::Vshr => Function::ShiftRight(super::bits::overflow(opcode)?),
            Operation::Vset | Operation::Vset2 | Operation::Vset4 => {
                let comparison: Comparison = opcode.comparison().ok_or(INCOMPLETE)?;
                // The sources are compared as the numbers they are, whatever their types.
                Function::Compare(comparison.of_integers(Type::S64).ok_or(INCOMPLETE)?)
            }
            _ => return Err(NOT_HERE),
        };
        let saturates = opcode.has_flag(Flag::Sat);
        if saturates && matches!(function, Function::ShiftLeft(_)) {
            return Err("how it saturates is not known");
        }
        let bits = 32 / count;
        let ty = |index: usize| -> Decoded<Integer> {
            let ty = opcode.types.get(index).ok_or(UNTYPED)?;
            Ok(Integer { signed: ty.is_signed(), bits })
        };
        let unsigned = Integer { bits, signed: false };
        let (result, skip) =
            if matches!(function, Function::Compare(_)) { (unsigned, 0) } else { (ty(0)?, 1) };
        let then = opcode.modifier(|modifier| match modifier {
            Modifier::SecondOperation(then) => Some(then),
            _ => None,
        });
        Ok(Self { function, count, result, first: ty(skip)?, second: ty(skip + 1)?, saturates, then })
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ([a, b, rest @ ..], [d, ..]) = (sources, destinations) else { return };
        let Self { count, result, .. } = *self;
        each(active, |lane| {
            let compute =
                |at: u32| self.compute(self.first.value(a[lane] >> at), self.second.value(b[lane] >> at));
            let whole = Integer { bits: 32, ..result };
            d[lane] = match (rest.first(), self.then) {
                (Some(c), Some(then)) => {
                    // All elements are added up, without being cut if they are several.
                    let value: i128 = if count > 1 && !self.saturates {
                        (0..count).map(|index| compute(index * result.bits)).sum()
                    } else {
                        let element = |index| result.value(self.limited(compute(index * result.bits)));
                        (0..count).map(element).sum()
                    };
                    let c = whole.value(c[lane]);
                    whole.wrapped(match then {
                        SecondOperation::Add => value + c,
                        SecondOperation::Min => value.min(c),
                        SecondOperation::Max => value.max(c),
                    })
                }
                _ => packed(result.bits, count, |at| self.limited(compute(at))),
            };
        });
    }

    /// Within what `.sat` asks for. The programs that the assembler makes of the instructions with one
    /// element let unsigned numbers overflow.
    fn limited(&self, value: i128) -> u64 {
        match (self.saturates, self.result.signed) {
            (true, true) => self.result.saturated(value),
            (true, false) if self.count == 1 => self.result.wrapped(value.max(0)),
            (true, false) => self.result.saturated(value),
            (false, _) => self.result.wrapped(value),
        }
    }

    fn compute(&self, a: i128, b: i128) -> i128 {
        match self.function {
            Function::Add => a + b,
            Function::Subtract => a - b,
            Function::AbsoluteDifference => (a - b).abs(),
            // Halves go away from zero.
            Function::Average => {
                let sum = a + b;
                if sum < 0 { sum >> 1 } else { (sum + 1) >> 1 }
            }
            Function::Minimum => a.min(b),
            Function::Maximum => a.max(b),
            Function::ShiftLeft(overflow) => a << amount(overflow, b),
            Function::ShiftRight(overflow) => a >> amount(overflow, b),
            Function::Compare(relation) => i128::from(relation.holds(a.cmp(&b))),
        }
    }
}

fn amount(overflow: Overflow, b: i128) -> i128 {
    match overflow {
        Overflow::Clamp => b.min(32),
        Overflow::Wrap => b & 31,
    }
}
