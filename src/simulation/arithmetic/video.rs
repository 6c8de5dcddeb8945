//! Video instructions of whole registers.

use super::lanes::each;
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE, UNTYPED};
use crate::isa::generic::{Comparison, Flag, Modifier, Operation, Overflow, Relation, SecondOperation, Type};
use crate::resolve::operations::Opcode;

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
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
    Minimum,
    Maximum,
    ShiftLeft(Overflow),
    ShiftRight(Overflow),
    Compare(Relation),
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode) -> Decoded<Self> {
        let function = match operation {
            Operation::Vadd => Function::Add,
            Operation::Vsub => Function::Subtract,
            Operation::Vabsdiff => Function::AbsoluteDifference,
            Operation::Vmin => Function::Minimum,
            Operation::Vmax => Function::Maximum,
            Operation::Vshl => Function::ShiftLeft(super::bits::overflow(opcode)?),
            Operation::Vshr => Function::ShiftRight(super::bits::overflow(opcode)?),
            Operation::Vset => {
                let comparison: Comparison = opcode.comparison().ok_or(INCOMPLETE)?;
                // The sources are compared as the numbers they are, whatever their types.
                Function::Compare(comparison.of_integers(Type::S64).ok_or(INCOMPLETE)?)
            }
            _ => return Err(NOT_HERE),
        };
        let ty = |index: usize| -> Decoded<Integer> {
            let ty = opcode.types.get(index).ok_or(UNTYPED)?;
            Ok(Integer { signed: ty.is_signed(), ..Integer::U32 })
        };
        let is_comparison = operation == Operation::Vset;
        let (result, skip) = if is_comparison { (Integer::U32, 0) } else { (ty(0)?, 1) };
        let then = opcode.modifier(|modifier| match modifier {
            Modifier::SecondOperation(then) => Some(then),
            _ => None,
        });
        let saturates = opcode.has_flag(Flag::Sat);
        Ok(Self { function, result, first: ty(skip)?, second: ty(skip + 1)?, saturates, then })
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ([a, b, rest @ ..], [d, ..]) = (sources, destinations) else { return };
        each(active, |lane| {
            let value = self.compute(self.first.value(a[lane]), self.second.value(b[lane]));
            let value = self.limited(value);
            d[lane] = match (rest.first(), self.then) {
                (Some(c), Some(then)) => {
                    let (value, c) = (self.result.value(value), self.result.value(c[lane]));
                    self.result.wrapped(match then {
                        SecondOperation::Add => value + c,
                        SecondOperation::Min => value.min(c),
                        SecondOperation::Max => value.max(c),
                    })
                }
                _ => value,
            };
        });
    }

    /// Within what `.sat` asks for. Above, the hardware's programs let unsigned numbers overflow.
    fn limited(&self, value: i128) -> u64 {
        match (self.saturates, self.result.signed) {
            (true, true) => self.result.saturated(value),
            (true, false) => self.result.wrapped(value.max(0)),
            (false, _) => self.result.wrapped(value),
        }
    }

    fn compute(&self, a: i128, b: i128) -> i128 {
        match self.function {
            Function::Add => a + b,
            Function::Subtract => a - b,
            Function::AbsoluteDifference => (a - b).abs(),
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
