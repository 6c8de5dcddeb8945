//! Whether a condition on the way could have selected one thread of a warp.

use rustc_hash::FxHashSet;

use super::lanes::{Lanes, lanes};
use super::{Uniformity, VISIT};
use crate::analysis::budget::Budget;
use crate::analysis::cfg::BlockId;
use crate::analysis::definitions::DefinitionId;
use crate::analysis::function::Function;
use crate::analysis::registers::{self, Access};
use crate::analysis::values::{JoinId, ValueId};
use crate::resolve::symbols::{RegisterId, Resolution};

impl Uniformity {
    /// Whether a condition that decides whether `instruction` runs could be true for one thread of
    /// a warp and false for another; it could be when that takes more than the `budget`.
    pub fn may_be_selected(&self, function: &Function<'_>, instruction: u32, budget: &Budget) -> bool {
        let Some(block) = function.cfg.block_of(instruction) else { return true };
        if !self.complete {
            return true;
        }
        let mut search = Search { function, budget, work: vec![Step::Block(block)] };
        if function.unit.module.guard(&function.unit.module.instructions[instruction as usize]).is_some()
            && !search.guard(instruction)
        {
            return true;
        }
        let mut seen: FxHashSet<Step> = FxHashSet::default();
        while let Some(step) = search.work.pop() {
            if self.uniform.borrow().contains(&step) || !seen.insert(step) {
                continue;
            }
            let is_known = match step {
                Step::Block(block) => search.block(&self.dependences[block.index()]),
                Step::Value(ValueId::Definition(id)) => search.definition(id),
                Step::Value(ValueId::Join(join)) => search.join(join),
            };
            if !is_known {
                return true;
            }
        }
        // Everything that was looked at is the same for a whole warp.
        self.uniform.borrow_mut().extend(seen);
        false
    }
}

/// What decides who executes something, or what a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// The branches that decide whether a block runs.
    Block(BlockId),
    /// What a value is made of.
    Value(ValueId),
}

/// A search for something that may differ between the threads of a warp. Its steps return false
/// where they find it, or can't tell.
struct Search<'a> {
    function: &'a Function<'a>,
    budget: &'a Budget,
    work: Vec<Step>,
}

impl Search<'_> {
    /// Adds what a register is made of where an instruction reads it.
    fn read(&mut self, instruction: u32, register: RegisterId) -> bool {
        let value = self.function.value(instruction, register);
        self.work.extend(value.map(Step::Value));
        value.is_some() && self.budget.take(VISIT)
    }

    fn guard(&mut self, instruction: u32) -> bool {
        match self.function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.read(instruction, register),
            _ => false,
        }
    }

    fn block(&mut self, dependences: &[(BlockId, BlockId)]) -> bool {
        self.budget.take(VISIT)
            && dependences.iter().all(|(block, _)| {
                self.work.push(Step::Block(*block));
                self.function.cfg.block(*block).branch.is_some_and(|branch| self.guard(branch))
            })
    }

    fn join(&mut self, join: JoinId) -> bool {
        let inputs = self.function.definitions.joined(join);
        self.work.extend(inputs.iter().map(|value| Step::Value(*value)));
        self.budget.take(VISIT * inputs.len() as u64)
    }

    fn definition(&mut self, id: DefinitionId) -> bool {
        let function = self.function;
        let definition = *function.definitions.get(id);
        let at = definition.instruction;
        if !self.budget.take(VISIT) || definition.guarded && !self.guard(at) {
            return false;
        }
        // Which of several definitions it was, something decided.
        if function.definitions.of(definition.register).len() > 1 {
            self.work.extend(function.cfg.block_of(at).map(Step::Block));
        }
        match lanes(function, at) {
            Lanes::Differ => false,
            Lanes::Same => true,
            Lanes::AsOperands => {
                let mut is_known = true;
                registers::accesses(function.unit, at, &mut |register, _, access| {
                    is_known &= access != Access::Read || self.read(at, register);
                });
                is_known
            }
        }
    }
}
