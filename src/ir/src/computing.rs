//! Instructions that make registers from registers.

use crate::argument::{Argument, Arguments, Placed, bits_of_register, flatten, type_of};
use crate::arithmetic::Arithmetic;
use crate::isa::generic::{Flag, OperandSlot, Operation, Role};
use crate::resolve::unit::Unit;

/// An instruction that computes registers from registers.
#[derive(Clone, Debug)]
pub struct Computing {
    /// Which operation.
    pub operation: Operation,
    /// What it computes; `None` where that is not known here.
    pub arithmetic: Option<Arithmetic>,
    /// What it reads, in the order in which [`Arithmetic::execute`] takes it.
    pub sources: Arguments,
    /// What it writes, in the order in which [`Arithmetic::execute`] gives it.
    pub results: Arguments,
}

impl Computing {
    /// Lowers an instruction; `None` if it does something else than computing, or its operands are not
    /// those of the operation.
    pub fn of(unit: &Unit, instruction: u32) -> Option<Self> {
        let opcode = unit.operations.of(instruction);
        let arithmetic = opcode.arithmetic()?.ok();
        let operands = unit.module.instructions[instruction as usize].operands;
        let operation = opcode.operation()?;
        let (mut sources, mut results) = (Arguments::new(), Arguments::new());
        let mut fill = |slot: &OperandSlot, index: u32| {
            let to = if slot.role == Role::Destination { &mut results } else { &mut sources };
            flatten(unit, index, type_of(opcode, slot), to);
        };
        // So with nearly all.
        if opcode.is_filled(unit.module.operands(operands)) {
            opcode.slots.iter().zip(operands.range()).for_each(|(slot, index)| fill(slot, index as u32));
        } else {
            let slots = opcode.assign(&unit.module, operands).ok()?;
            slots.iter().zip(operands.range()).for_each(|(slot, index)| fill(slot, index as u32));
        }
        let carry = Placed { argument: Argument::Carry, operand: u32::MAX };
        if matches!(operation, Operation::AddCarryIn | Operation::SubBorrowIn | Operation::MadCarryIn) {
            sources.push(carry);
        }
        if opcode.has_flag(Flag::Cc) {
            results.push(carry);
        }
        // Only a conversion extends its result over the register.
        let arithmetic = match operation {
            Operation::Cvt => arithmetic.map(|it| it.widened(bits_of_register(unit, operands.start))),
            _ => arithmetic,
        };
        Some(Self { operation, arithmetic, sources, results })
    }

    /// Which result goes to the register that an operand names.
    pub fn position(&self, operand: u32) -> Option<usize> {
        self.results.iter().position(|it| it.operand == operand)
    }
}
