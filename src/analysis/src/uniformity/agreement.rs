//! Whether those threads of a warp that get somewhere together have the same value there.
//!
//! A value that may differ in a warp need not differ among the threads that are left behind a condition:
//! the counter of a loop that one elected thread executes is made there and nowhere else. What is asked
//! here is about the threads that get to one instruction; a branch that all of them left by the same
//! edge tells none of them apart.

use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::lanes::needed;
use super::{Uniformity, tested};
use crate::budget::Budget;
use crate::cfg::BlockId;
use crate::control::Decides;
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::values::ValueId;

/// Steps for all questions of a function together, beside its budget.
pub(super) const STEPS: u64 = 400_000;

/// What has to be the same for the threads that are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Needed {
    /// A value.
    Value(ValueId),
    /// Which way is taken behind a block that branches, and whether it is executed; among the values of
    /// these definitions.
    Branch(BlockId),
}

impl Uniformity {
    /// Whether all threads of a warp that execute an instruction read the same from a register there.
    pub(crate) fn agrees(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> bool {
        let Some(block) = function.cfg.block_of(instruction) else { return false };
        let Some(value) = function.value(instruction, register) else { return false };
        let budget = self.agreement.get_or_init(|| Budget::new(STEPS));
        let mut search = Search { uniformity: self, function, budget, block, seen: FxHashSet::default() };
        search.agrees(value)
    }
}

impl Uniformity {
    /// Whether all threads of a warp that leave a block together leave it to the same one.
    pub(crate) fn goes_together(&self, function: &Function<'_>, block: BlockId) -> bool {
        if !self.may_part(function, block, function.budget) {
            return true;
        }
        let budget = self.agreement.get_or_init(|| Budget::new(STEPS));
        let mut search = Search { uniformity: self, function, budget, block, seen: FxHashSet::default() };
        let mut values: SmallVec<[ValueId; 2]> = SmallVec::new();
        let mut is_here = true;
        let is_known = tested(function, block, budget, &mut |from, value| {
            values.push(value);
            is_here &= from == block;
        });
        is_known && is_here && values.into_iter().all(|value| search.agrees(value))
    }
}

struct Search<'a> {
    uniformity: &'a Uniformity,
    function: &'a Function<'a>,
    budget: &'a Budget,
    /// Where the threads get to that are asked about.
    block: BlockId,
    /// What was needed so far. Nothing of it is known to differ; what is needed for itself does not.
    seen: FxHashSet<Needed>,
}

impl Search<'_> {
    fn agrees(&mut self, value: ValueId) -> bool {
        let mut work = vec![Needed::Value(value)];
        while let Some(needed) = work.pop() {
            if !self.seen.insert(needed) {
                continue;
            }
            let is_known = self.budget.take(8)
                && match needed {
                    Needed::Value(ValueId::Definition(id)) => self.definition(id, &mut work),
                    Needed::Value(value @ ValueId::Join(_)) => self.join(value, &mut work),
                    Needed::Branch(block) => self.branch(block, &mut work),
                };
            if !is_known {
                return false;
            }
        }
        true
    }

    fn definition(&self, id: DefinitionId, work: &mut Vec<Needed>) -> bool {
        let function = self.function;
        let definition = *function.definitions.get(id);
        let at = definition.instruction;
        if definition.guarded {
            let Some(guard) = self.guard(at) else { return false };
            work.push(Needed::Value(guard));
        }
        needed(function, at, &mut |value| work.push(Needed::Value(value)))
    }

    /// Which of several definitions it was has to be decided alike.
    fn join(&self, value: ValueId, work: &mut Vec<Needed>) -> bool {
        let function = self.function;
        let Some(all) = function.definitions.all(value, self.budget) else { return false };
        let blocks: Option<Vec<BlockId>> =
            all.iter().map(|id| function.cfg.block_of(function.definitions.get(*id).instruction)).collect();
        let Some(blocks) = blocks else { return false };
        work.extend(all.iter().map(|id| Needed::Value(ValueId::Definition(*id))));
        blocks.iter().all(|block| self.decided(*block, &blocks, work))
    }

    fn branch(&self, block: BlockId, work: &mut Vec<Needed>) -> bool {
        let mut blocks: SmallVec<[BlockId; 2]> = smallvec![block];
        let is_known = tested(self.function, block, self.budget, &mut |from, value| {
            work.push(Needed::Value(value));
            if !blocks.contains(&from) {
                blocks.push(from);
            }
        });
        is_known && blocks.iter().all(|block| self.decided(*block, &[*block], work))
    }

    /// What has to be the same for a block to be executed by all or none of the threads; `within` are the
    /// blocks where the value in question is made.
    fn decided(&self, block: BlockId, within: &[BlockId], work: &mut Vec<Needed>) -> bool {
        let cfg = self.function.cfg;
        let edges = self.uniformity.edges_to(cfg, self.budget);
        let Some(edges) = edges else { return false };
        for &Decides { branch, successor } in &edges[block.index()] {
            if !self.budget.take(1) {
                return false;
            }
            let predecessors = &cfg.block(successor).predecessors;
            let is_entered_so = predecessors.iter().all(|it| *it == branch || cfg.dominates(successor, *it));
            let is_left_so = is_entered_so && cfg.dominates(successor, self.block);
            // Once, or each time before the value is made anew.
            let is_made_behind = || within.iter().all(|it| cfg.dominates(successor, *it));
            if !is_left_so || cfg.is_in_loop(branch) && !is_made_behind() {
                work.push(Needed::Branch(branch));
            }
        }
        true
    }

    /// The value of an instruction's guard; `None` where nothing is known of it.
    fn guard(&self, instruction: u32) -> Option<ValueId> {
        match self.function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.function.value(instruction, register),
            _ => None,
        }
    }
}
