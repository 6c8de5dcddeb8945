//! Which of a few numbers a register holds, where it is one of several constants.

use smallvec::SmallVec;

use super::flow::Flow;
use super::function::Function;
use super::values::ValueId;
use crate::isa::generic::Computation;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// The numbers.
pub type Few = SmallVec<[u32; 4]>;

/// More are not listed.
const MANY: usize = 8;
/// Longer chains are not followed.
const DEEP: u32 = 8;

impl Flow<'_> {
    /// All numbers that a register can hold where an instruction reads it, if they are few.
    pub fn one_of(&self, at: u32, register: RegisterId) -> Option<Few> {
        let mut few = Few::new();
        self.few_of(&self.facts.view(self.unit), (at, register), 0, &mut few)?;
        (!few.is_empty()).then_some(few)
    }

    fn few_of(
        &self,
        view: &Function<'_>,
        (at, register): (u32, RegisterId),
        depth: u32,
        few: &mut Few,
    ) -> Option<()> {
        if let Some(number) = self.facts.constants.at(view, at, register).constant(32) {
            return add(few, number as u32);
        }
        self.few_of_value(view, view.value(at, register)?, depth, few)
    }

    fn few_of_value(&self, view: &Function<'_>, value: ValueId, depth: u32, few: &mut Few) -> Option<()> {
        if depth > DEEP || !view.budget.take(1) {
            return None;
        }
        let id = match value {
            ValueId::Definition(id) => id,
            ValueId::Join(join) => {
                let mut inputs = view.definitions.joined(join).to_vec().into_iter();
                return inputs.try_for_each(|input| self.few_of_value(view, input, depth + 1, few));
            }
        };
        let definition = *view.definitions.get(id);
        let made = definition.instruction;
        let raw = &self.unit.module.instructions[made as usize];
        let first = raw.operands.start;
        let opcode = self.unit.operations.of(made);
        let is_word = matches!(opcode.types[..], [ty] if ty.bits() == Some(32) && !ty.is_packed());
        if definition.operand != first || !is_word {
            return None;
        }
        let operands = match (opcode.computes(), raw.operands.len) {
            (Computation::Move, 2) => first + 1..first + 2,
            (Computation::Select, 4) => first + 1..first + 3,
            _ => return None,
        };
        for operand in operands {
            let found = &self.unit.module.operands[operand as usize];
            if let Some(number) = literal::evaluate(&self.unit.source, &self.unit.module, found) {
                add(few, (number & i128::from(u32::MAX)) as u32)?;
                continue;
            }
            match self.unit.symbols.operand(operand) {
                Resolution::Register(register) => self.few_of(view, (made, register), depth + 1, few)?,
                Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => return None,
            }
        }
        Some(())
    }

    /// The numbers of which each is the one that an instruction reads in some run: a `selp` chooses by what only the
    /// launch says, and who executes the instruction does not depend on that.
    pub fn either_of(&self, at: u32, register: RegisterId) -> Option<Few> {
        let view = self.facts.view(self.unit);
        let definition = *view.definitions.get(view.only(at, register)?);
        let made = definition.instruction;
        let raw = &self.unit.module.instructions[made as usize];
        let chooses =
            self.unit.operations.of(made).computes() == Computation::Select && raw.operands.len == 4;
        if !chooses || definition.guarded || definition.operand != raw.operands.start {
            return None;
        }
        let Resolution::Register(predicate) = self.unit.symbols.operand(raw.operands.start + 3) else {
            return None;
        };
        let few = self.one_of(at, register)?;
        let executing = self.executing(None);
        let by = executing.of(at)?.by_warps();
        (by.certain() == by.possible() && executing.is_unknown(made, predicate)).then_some(few)
    }
}

fn add(few: &mut Few, number: u32) -> Option<()> {
    if !few.contains(&number) {
        few.push(number);
    }
    (few.len() <= MANY).then_some(())
}
