//! The phases that waits are for: their parities, and how these begin and turn.

use smallvec::SmallVec;

use super::Used;
use crate::analysis::definitions::Definition;
use crate::analysis::flow::Flow;
use crate::analysis::function::Function;
use crate::isa::generic::{Arithmetic, Bits, Computation};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// Longer chains are not followed.
const DEEP: u32 = 8;

/// What makes a register, as an instruction reads it: each with what it computes. Those that write it beside something
/// else are left out.
struct Makers {
    all: SmallVec<[(Definition, Computation); 4]>,
    /// Whether there is no other.
    is_only: bool,
}

/// Whether counting or turning is what is computed.
fn turns(computes: Computation) -> bool {
    matches!(
        computes,
        Computation::Xor | Computation::Not | Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)
    )
}

impl Flow<'_> {
    /// The parity that a wait is for, if it is known.
    pub fn parity(&self, wait: &Used) -> Option<bool> {
        let operand = wait.parity?;
        let found = self.unit.module.operands.get(operand as usize)?;
        let number = match literal::evaluate(&self.unit.source, &self.unit.module, found) {
            Some(value) => Some(value as u64),
            None => match self.unit.symbols.operand(operand) {
                Resolution::Register(register) => {
                    self.known(&[(wait.instruction, register)]).first()?.constant(32)
                }
                _ => None,
            },
        };
        number.map(|number| number & 1 == 1)
    }

    /// Whether a wait is for the first phase at some time: its parity is 0, or begins with 0 where a loop
    /// counts, or each round turns it.
    pub fn waits_for_first(&self, wait: &Used) -> bool {
        if let Some(parity) = self.parity(wait) {
            return !parity;
        }
        let Some(register) = wait.parity.and_then(|operand| self.register_at(operand)) else { return false };
        let view = self.facts.view(self.unit);
        let read = (wait.instruction, register);
        self.begins_with_zero(&view, read, 0) || self.takes_turns(&view, read, wait.instruction, 0)
    }

    fn register_at(&self, operand: u32) -> Option<RegisterId> {
        match self.unit.symbols.operand(operand) {
            Resolution::Register(register) => Some(register),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        }
    }

    fn makers(&self, view: &Function<'_>, (at, register): (u32, RegisterId)) -> Option<Makers> {
        let value = view.budget.take(1).then(|| view.value(at, register))??;
        let ids = view.definitions.all(value, view.budget)?;
        let operands = |it: &Definition| self.unit.module.instructions[it.instruction as usize].operands;
        let computed = |it: Definition| (it, self.unit.operations.of(it.instruction).computes());
        let all = ids.iter().map(|id| *view.definitions.get(*id));
        let all = all.filter(|it| it.operand == operands(it).start).map(computed).collect();
        Some(Makers { all, is_only: ids.len() == 1 })
    }

    /// Whether a loop around a wait counts or turns what its parity is made of, be it in some rounds only: sooner or
    /// later it is 0.
    fn takes_turns(&self, view: &Function<'_>, read: (u32, RegisterId), wait: u32, depth: u32) -> bool {
        let Some(Makers { all, is_only }) = (depth < DEEP).then(|| self.makers(view, read)).flatten() else {
            return false;
        };
        all.iter().any(|(definition, computes)| {
            let made = definition.instruction;
            if made == read.0 {
                return false;
            }
            let operands = self.unit.module.instructions[made as usize].operands;
            let mut registers = operands.range().skip(1).filter_map(|it| self.register_at(it as u32));
            match computes {
                computes if !is_only && turns(*computes) => {
                    registers.next().is_some() && self.leads_to(wait, made)
                }
                Computation::Move | Computation::Select if !is_only => {
                    let is_turned = |from: RegisterId| {
                        let only = view.only(made, from).map(|only| view.definitions.get(only).instruction);
                        only.is_some_and(|only| turns(self.unit.operations.of(only).computes()))
                    };
                    registers.any(is_turned) && self.leads_to(wait, made)
                }
                Computation::Move
                | Computation::Convert
                | Computation::And
                | Computation::Xor
                | Computation::Not
                | Computation::Bits(Bits::ShiftRight | Bits::Extract)
                | Computation::Arithmetic(
                    Arithmetic::Subtract | Arithmetic::Remainder | Arithmetic::Divide,
                ) if is_only => registers.any(|from| self.takes_turns(view, (made, from), wait, depth + 1)),
                _ => false,
            }
        })
    }

    /// Whether a register is 0, or begins with 0 where a loop counts or turns it; of an even number, only the
    /// lowest bit is asked.
    fn begins_with_zero(&self, view: &Function<'_>, read: (u32, RegisterId), depth: u32) -> bool {
        let Some(Makers { all, is_only }) = (depth < DEEP).then(|| self.makers(view, read)).flatten() else {
            return false;
        };
        all.iter().any(|(definition, computes)| {
            if definition.guarded {
                return false;
            }
            let made = definition.instruction;
            let operands = self.unit.module.instructions[made as usize].operands;
            let is_moved = *computes == Computation::Move;
            let is_zero = |number: u32| {
                let Some(operand) = operands.range().nth(number as usize) else { return false };
                let found = &self.unit.module.operands[operand];
                if let Some(number) = literal::evaluate(&self.unit.source, &self.unit.module, found) {
                    return if depth == 0 { number & 1 == 0 } else { number == 0 };
                }
                // What goes round is made of what it was before.
                self.register_at(operand as u32)
                    .filter(|_| is_only || is_moved)
                    .is_some_and(|register| self.begins_with_zero(view, (made, register), depth + 1))
            };
            match computes {
                Computation::Move => is_zero(1),
                _ if !is_only => false,
                Computation::Convert
                | Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight | Bits::Extract)
                | Computation::Arithmetic(Arithmetic::Divide | Arithmetic::Remainder) => is_zero(1),
                Computation::And | Computation::Arithmetic(Arithmetic::Multiply) => is_zero(1) || is_zero(2),
                Computation::Or | Computation::Xor | Computation::Arithmetic(Arithmetic::Add) => {
                    is_zero(1) && is_zero(2)
                }
                _ => false,
            }
        })
    }
}
