//! Which of a few numbers a register holds, where it is one of several constants.

use smallvec::SmallVec;

use super::flow::Flow;
use super::function::Function;
use super::values::ValueId;
use crate::isa::generic::Computation;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::resolve::unit::Unit;
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
        if !self.is_open(&view, made, predicate) {
            return None;
        }
        let few = self.one_of(at, register)?;
        let executing = self.executing(None);
        let by = executing.of(at)?.by_warps();
        (by.certain() == by.possible() && executing.is_unknown(made, predicate)).then_some(few)
    }
}

impl Flow<'_> {
    /// Whether a predicate compares what a launch or memory says with a number, and may come out either way.
    fn is_open(&self, view: &Function<'_>, at: u32, predicate: RegisterId) -> bool {
        let Unit { module, symbols, operations, source, .. } = self.unit;
        let plain = |at: u32, register: RegisterId| {
            let definition = *view.definitions.get(view.only(at, register)?);
            let raw = &module.instructions[definition.instruction as usize];
            (!definition.guarded && definition.operand == raw.operands.start)
                .then_some((definition.instruction, raw))
        };
        let compared = || {
            let (made, raw) = plain(at, predicate)?;
            let opcode = operations.of(made);
            let ty = *opcode.types.last()?;
            let is_compare = opcode.computes() == Computation::Compare && raw.operands.len == 3;
            if !is_compare || opcode.boolean_operator().is_some() || ty.bits() != Some(32) {
                return None;
            }
            let relation = opcode.comparison()?.of_integers(ty)?;
            let with = literal::evaluate(source, module, &module.operands[raw.operands.start as usize + 2])?;
            let Resolution::Register(register) = symbols.operand(raw.operands.start + 1) else { return None };
            let (from, raw) = plain(made, register)?;
            let is_given = match operations.of(from).computes() {
                Computation::Load => true,
                Computation::Move => {
                    matches!(symbols.operand(raw.operands.start + 1), Resolution::Special(_))
                }
                _ => false,
            };
            is_given.then_some((relation, with as u32))
        };
        let Some((relation, with)) = compared() else { return false };
        let holds = |value: u32| {
            relation.holds(if relation.is_signed {
                value.cast_signed().cmp(&with.cast_signed())
            } else {
                value.cmp(&with)
            })
        };
        let some =
            [0, 1, with.wrapping_sub(1), with, with.wrapping_add(1), i32::MAX as u32, 1 << 31, u32::MAX];
        some.iter().any(|value| holds(*value)) && !some.iter().all(|value| holds(*value))
    }
}

fn add(few: &mut Few, number: u32) -> Option<()> {
    if !few.contains(&number) {
        few.push(number);
    }
    (few.len() <= MANY).then_some(())
}
