//! Instructions that make registers from registers.

use crate::argument::{Argument, Arguments, Placed, bits_of_register, flatten_slot};
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
    /// The results, and behind them the sources.
    arguments: Arguments,
    /// How many results there are.
    results: u8,
}

impl Computing {
    /// Lowers an instruction; `None` if it does something else than computing, or its operands are not
    /// those of the operation.
    pub fn of(unit: &Unit, instruction: u32) -> Option<Self> {
        let opcode = unit.operations.of(instruction);
        let arithmetic = opcode.arithmetic()?.ok();
        let operands = unit.module.instructions[instruction as usize].operands;
        let operation = opcode.operation()?;
        let assigned;
        let slots = if opcode.is_filled(unit.module.operands(operands)) {
            // So with nearly all.
            &opcode.slots[..]
        } else {
            assigned = opcode.assign(&unit.module, operands).ok()?;
            &assigned[..]
        };
        let mut arguments = Arguments::new();
        let carry = Placed { argument: Argument::Carry, operand: u32::MAX };
        let is_result = |slot: &OperandSlot| slot.role == Role::Destination;
        let placed = slots.iter().zip(operands.range());
        for (slot, index) in placed.clone().filter(|(slot, _)| is_result(slot)) {
            flatten_slot(unit, opcode, slot, index as u32, &mut arguments);
        }
        if opcode.has_flag(Flag::Cc) {
            arguments.push(carry);
        }
        let results = arguments.len() as u8;
        for (slot, index) in placed.filter(|(slot, _)| !is_result(slot)) {
            flatten_slot(unit, opcode, slot, index as u32, &mut arguments);
        }
        if matches!(operation, Operation::AddCarryIn | Operation::SubBorrowIn | Operation::MadCarryIn) {
            arguments.push(carry);
        }
        // Only a conversion extends its result over the register.
        let arithmetic = match operation {
            Operation::Cvt => arithmetic.map(|it| it.widened(bits_of_register(unit, operands.start))),
            _ => arithmetic,
        };
        Some(Self { operation, arithmetic, arguments, results })
    }

    /// What it writes, in the order in which [`Arithmetic::execute`] gives it.
    pub fn results(&self) -> &[Placed] {
        &self.arguments[..usize::from(self.results)]
    }

    /// What it reads, in the order in which [`Arithmetic::execute`] takes it.
    pub fn sources(&self) -> &[Placed] {
        &self.arguments[usize::from(self.results)..]
    }

    /// Which result goes to the register that an operand names.
    pub fn position(&self, operand: u32) -> Option<usize> {
        self.results().iter().position(|it| it.operand == operand)
    }
}
