//! Conditions on the number of a thread that are the same for all threads that a block can have.
//!
//! A kernel whose template has a role for threads from 256 on, and that is launched with 256 at most, has the code of
//! that role all the same: compilers do not look at the directive.

use super::definitions::Definition;
use super::function::Function;
use crate::descriptor::known_bits as bits;
use crate::isa::generic::{Bits, Computation};
use crate::isa::special_registers::SpecialRegister;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// How many definitions lie between the number of a thread and what it is compared as.
const DEEP: u32 = 8;

impl Function<'_> {
    /// Whether a predicate holds for all threads that a block of this kernel can have, or for none of them: it compares
    /// the number of a thread, or a part of that, with a number.
    pub(super) fn holds_in_block(&self, made: &Definition) -> Option<bool> {
        let unit = self.unit;
        let opcode = unit.operations.of(made.instruction);
        let operands = unit.module.instructions[made.instruction as usize].operands;
        let is_plain = opcode.computes() == Computation::Compare
            && opcode.boolean_operator().is_none()
            && operands.len == 3
            && made.operand == operands.start;
        let ty = opcode.types.last().filter(|_| is_plain)?;
        let relation = opcode.comparison()?.of_integers(*ty)?;
        let width = ty.bits()?;
        let number = self.number_at(operands.start + 2)?;
        let last = self.last_at(made.instruction, operands.start + 1, 0)?;
        // All from 0 on, and no number of a thread has a sign.
        if width < 32 || number.checked_shr(width).is_some_and(|more| more != 0) {
            return None;
        }
        let [of_first, of_last] = [0, last].map(|it| bits::compare(relation, it, number, width));
        let is_known = if relation.is_order() { of_first == of_last } else { number > last };
        is_known.then_some(of_first)
    }

    fn number_at(&self, operand: u32) -> Option<u64> {
        let unit = self.unit;
        let value = literal::evaluate(&unit.source, &unit.module, &unit.module.operands[operand as usize])?;
        u64::try_from(value).ok()
    }

    /// The largest that an operand can be which is the number of a thread, or a part of it.
    fn last_at(&self, instruction: u32, operand: u32, depth: u32) -> Option<u64> {
        match self.unit.symbols.operand(operand) {
            Resolution::Special(special) if special.register == SpecialRegister::Tid => {
                self.most_threads()?.checked_sub(1)
            }
            Resolution::Register(register) => self.last_in(instruction, register, depth),
            Resolution::Special(_) | Resolution::Symbol(_) | Resolution::Undeclared => None,
        }
    }

    fn last_in(&self, instruction: u32, register: RegisterId, depth: u32) -> Option<u64> {
        let made = self.definitions.nearest(self.cfg, instruction, register)?;
        if made.guarded || made.instruction == instruction || depth == DEEP || !self.budget.take(1) {
            return None;
        }
        let opcode = self.unit.operations.of(made.instruction);
        let operands = self.unit.module.instructions[made.instruction as usize].operands;
        if made.operand != operands.start || operands.len < 2 {
            return None;
        }
        let of = || self.last_at(made.instruction, operands.start + 1, depth + 1);
        let by = || self.number_at(operands.start + 2);
        match opcode.computes() {
            Computation::Move | Computation::Shuffle => of(),
            Computation::Convert if opcode.types.iter().all(|ty| !ty.is_float() && ty.bits() >= Some(32)) => {
                of()
            }
            Computation::And if operands.len == 3 => Some(of()?.min(by()?)),
            Computation::Bits(Bits::ShiftRight) if operands.len == 3 => {
                Some(of()?.checked_shr(u32::try_from(by()?).ok()?).unwrap_or_default())
            }
            _ => None,
        }
    }
}
