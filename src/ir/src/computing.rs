//! Instructions that make registers from registers.

use crate::argument::{Argument, Arguments, Placed, bits_of_register, flatten_slot};
use crate::arithmetic::{Arithmetic, Selection};
use crate::isa::generic::{Flag, OperandSlot, Operation, Role};
use crate::resolve::symbols::Resolution;
use crate::resolve::unit::Unit;
use crate::syntax::ast::{OperandKind, UnaryOperator};
use smallvec::SmallVec;

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
        let mut arithmetic = arithmetic;
        let is_negated = operation == Operation::Vmad;
        if arithmetic.is_some_and(|it| it.takes_parts()) {
            let selections: SmallVec<[Selection<'_>; 4]> =
                operands.range().map(|index| selection(unit, index as u32)).collect();
            arithmetic = arithmetic.and_then(|it| it.selecting(&selections));
        }
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
            // The selection says that it is negated.
            let index = if is_negated { unsigned(unit, index as u32) } else { index as u32 };
            flatten_slot(unit, opcode, slot, index, &mut arguments);
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

/// The operand without the sign before it.
fn unsigned(unit: &Unit, index: u32) -> u32 {
    match unit.module.operands[index as usize].kind() {
        OperandKind::Unary(UnaryOperator::Negate, parts)
            if matches!(unit.symbols.operand(parts.start), Resolution::Register(_)) =>
        {
            parts.start
        }
        _ => index,
    }
}

/// What an operand is of the register that it names.
fn selection(unit: &Unit, index: u32) -> Selection<'_> {
    let inner = unsigned(unit, index);
    let is_negated = inner != index;
    let operand = &unit.module.operands[inner as usize];
    if !matches!(unit.symbols.operand(inner), Resolution::Register(_)) {
        return Selection { part: "", is_negated };
    }
    let part = unit.source.slice(operand.span()).rsplit_once('.').map_or("", |(_, part)| part);
    let digits = part.strip_prefix(['b', 'h']).unwrap_or_default();
    let is_part = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    Selection { part: if is_part { part } else { "" }, is_negated }
}
