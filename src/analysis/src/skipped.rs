//! Waits that a parameter of the kernel skips.
//!
//! A path past a wait is no mistake by itself: the condition may say that there is nothing to wait for. Here it is a
//! comparison of kernel parameters alone, everything that was issued gets to it, and what reads the result is executed on
//! both sides.

use super::between::Between;
use super::cfg::BlockId;
use super::flow::{Flow, Pair};
use crate::isa::generic::{Computation, Space};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// Longer chains of registers are not followed.
const DEEP: u32 = 8;

impl Flow<'_> {
    /// The branches of this kernel that compare nothing but its parameters and numbers, outside of loops.
    pub fn branches_by_parameter(&self) -> Vec<(BlockId, u32)> {
        let cfg = self.cfg();
        if !self.is_entry() || !self.facts.budget.take(cfg.len() as u64) {
            return Vec::new();
        }
        let branches = cfg.blocks().filter_map(|(block, content)| {
            let branch = content.branch.filter(|_| content.successors.len() == 2 && !content.leaves)?;
            (!cfg.is_in_loop(block) && self.is_of_parameters(branch)).then_some((block, branch))
        });
        branches.collect()
    }

    /// The one of some branches between two instructions of this kernel that skips what is `waiting` there, the
    /// instructions in the order of the text.
    pub fn skipped_by(&self, branches: &[(BlockId, u32)], pair: Pair, waiting: &[u32]) -> Option<u32> {
        let cfg = self.cfg();
        let (from, to) = (cfg.block_of(pair.from)?, cfg.block_of(pair.to)?);
        let is_guarded =
            |at: u32| self.unit.module.guard(&self.unit.module.instructions[at as usize]).is_some();
        if branches.is_empty()
            || is_guarded(pair.to)
            || !self.facts.budget.take(branches.len() as u64)
            || !self.is_issued_always(pair.from)
        {
            return None;
        }
        branches.iter().find_map(|&(block, branch)| {
            let is_between = (block != from || pair.from < branch)
                && cfg.post_dominates(block, from)
                && cfg.post_dominates(to, block)
                && block != to;
            let [one, other] = cfg.block(block).successors[..] else { return None };
            let passes = |successor: BlockId| self.passes_wait(successor, pair, waiting);
            (is_between && passes(one)? != passes(other)?).then_some(branch)
        })
    }

    /// Whether nothing but which thread it is decides who executes an instruction: no parameter, and no number of
    /// iterations, keeps a kernel from getting there. What it skips then, it could not wait for.
    fn is_issued_always(&self, at: u32) -> bool {
        let (cfg, executing) = (self.cfg(), self.executing(None));
        let is_guarded = self.unit.module.guard(&self.unit.module.instructions[at as usize]).is_some();
        let Some(own) = cfg.block_of(at) else { return false };
        if is_guarded && !executing.is_by_thread(at) {
            return false;
        }
        let mut inner = own;
        for above in cfg.dominating(own).skip(1) {
            if !self.facts.budget.take(1) {
                return false;
            }
            let is_by_thread =
                || cfg.block(above).branch.is_some_and(|branch| executing.is_by_thread(branch));
            if !cfg.post_dominates(inner, above) && !is_by_thread() {
                return false;
            }
            inner = above;
        }
        true
    }

    /// Whether some path from a block to the second of a pair waits; nothing if the budget does not suffice.
    fn passes_wait(&self, block: BlockId, pair: Pair, waiting: &[u32]) -> Option<bool> {
        let cfg = self.cfg();
        let start = cfg.block(block).instructions.start;
        if start == pair.to {
            return Some(false);
        }
        if waiting.binary_search(&start).is_ok() {
            return Some(true);
        }
        let between = Between { from: start, to: pair.to, begins_again: false };
        let some = between.passes(cfg, &self.facts.budget, waiting);
        self.facts.budget.take(1).then_some(some)
    }

    /// Whether the guard of a branch compares nothing but parameters of the kernel and numbers.
    fn is_of_parameters(&self, branch: u32) -> bool {
        let Resolution::Register(register) = self.unit.symbols.guard(branch) else { return false };
        self.is_made_of_parameters(branch, register, 0)
    }

    fn is_made_of_parameters(&self, at: u32, register: RegisterId, depth: u32) -> bool {
        let view = self.facts.view(self.unit);
        let Some(id) = view.only(at, register).filter(|_| depth < DEEP && self.facts.budget.take(1)) else {
            return false;
        };
        let definition = *view.definitions.get(id);
        let made = definition.instruction;
        let raw = &self.unit.module.instructions[made as usize];
        if definition.guarded || definition.operand != raw.operands.start || made == at {
            return false;
        }
        let opcode = self.unit.operations.of(made);
        match opcode.computes() {
            Computation::Load => {
                opcode.spaces().next().is_some_and(|space| matches!(space, Space::Param | Space::ParamEntry))
            }
            Computation::Compare | Computation::Move | Computation::Convert | Computation::And => {
                let mut operands = raw.operands.range().skip(1);
                operands.all(|index| {
                    let operand = &self.unit.module.operands[index];
                    literal::evaluate(&self.unit.source, &self.unit.module, operand).is_some()
                        || match self.unit.symbols.operand(index as u32) {
                            Resolution::Register(next) => self.is_made_of_parameters(made, next, depth + 1),
                            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => false,
                        }
                })
            }
            _ => false,
        }
    }
}
