//! Under which conditions instructions are executed: whether two of them exclude each other.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::truth::Selects;
use super::{Uniformity, VISIT};
use crate::analysis::budget::Budget;
use crate::analysis::cfg::BlockId;
use crate::analysis::function::Function;
use crate::analysis::values::ValueId;
use crate::resolve::symbols::{RegisterId, Resolution};

/// What has to be so for an instruction to be executed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Condition {
    /// A predicate with this value is true, or false.
    Holds { register: RegisterId, made: Option<ValueId>, negated: bool },
    /// A block is left to this one.
    Edge(BlockId, BlockId),
}

/// Conditions that were met so far, and what was asked about them: the same few instructions stand
/// in many pairs.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// A number for each condition.
    numbers: FxHashMap<Condition, u32>,
    /// What the guard of an instruction says, by whether it is negated.
    guards: FxHashMap<(u32, bool), Option<u32>>,
    /// By instruction: what has to hold for it, in ascending order.
    necessary: FxHashMap<u32, Option<Arc<[u32]>>>,
}

impl Conditions {
    fn number(&mut self, condition: Condition) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(condition).or_insert(next)
    }
}

/// Whether everything in one ascending list is in the other.
fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    part.len() <= whole.len() && part.iter().all(|wanted| whole.binary_search(wanted).is_ok())
}

impl Uniformity {
    /// Whether each of two instructions runs under a condition that the other one does not have, so
    /// that perhaps no run executes `first` and then `then`. An election is no such condition: it is
    /// part of what a warp does.
    pub fn may_exclude(&self, function: &Function<'_>, first: u32, then: u32, budget: &Budget) -> bool {
        let blocks = (function.cfg.block_of(first), function.cfg.block_of(then));
        let (Some(first_block), Some(then_block)) = blocks else { return true };
        let guard = function.unit.module.guard(&function.unit.module.instructions[then as usize]);
        let needed = guard.and_then(|guard| self.condition(function, then, guard.negated));
        if needed.is_none() && function.cfg.post_dominates(then_block, first_block) {
            return false;
        }
        let first = self.necessary(function, first, budget);
        let then = self.necessary(function, then, budget);
        let (Some(first), Some(then)) = (first, then) else { return true };
        if !budget.take(first.len().min(then.len()) as u64) {
            return true;
        }
        !is_subset(&first, &then) && !is_subset(&then, &first)
    }

    /// Whether `first` is executed whenever `then` is: on every path to it, or under no condition
    /// that `then` does not have.
    pub fn accompanies(&self, function: &Function<'_>, first: u32, then: u32, budget: &Budget) -> bool {
        let guarded =
            function.unit.module.guard(&function.unit.module.instructions[first as usize]).is_some();
        let blocks = (function.cfg.block_of(first), function.cfg.block_of(then));
        if let (false, (Some(first), Some(then))) = (guarded, blocks)
            && first != then
            && function.cfg.dominates(first, then)
        {
            return true;
        }
        let first = self.necessary(function, first, budget);
        let then = self.necessary(function, then, budget);
        let (Some(first), Some(then)) = (first, then) else { return false };
        budget.take(first.len().min(then.len()) as u64) && is_subset(&first, &then)
    }

    /// What has to hold for an instruction to be executed, elections left out; `None` when that is
    /// too much to say.
    fn necessary(&self, function: &Function<'_>, instruction: u32, budget: &Budget) -> Option<Arc<[u32]>> {
        if let Some(known) = self.known_conditions.borrow().necessary.get(&instruction) {
            return known.clone();
        }
        let found = self.find_necessary(function, instruction, budget);
        self.known_conditions.borrow_mut().necessary.insert(instruction, found.clone());
        found
    }

    fn find_necessary(
        &self,
        function: &Function<'_>,
        instruction: u32,
        budget: &Budget,
    ) -> Option<Arc<[u32]>> {
        let cfg = function.cfg;
        let block = cfg.block_of(instruction)?;
        if !self.complete {
            return None;
        }
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut edges: FxHashMap<BlockId, SmallVec<[BlockId; 2]>> = FxHashMap::default();
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if !seen.insert(block) {
                continue;
            }
            let dependences = &self.dependences[block.index()];
            if !budget.take(VISIT * dependences.len() as u64) {
                return None;
            }
            for &(branch, successor) in dependences {
                // Not what decides whether a loop goes on, but whether it is entered.
                if !cfg.is_reachable(branch) || cfg.dominates(block, branch) {
                    continue;
                }
                let successors = edges.entry(branch).or_default();
                if !successors.contains(&successor) {
                    successors.push(successor);
                }
                work.push(branch);
            }
        }
        let mut found: Vec<u32> = Vec::with_capacity(edges.len());
        if let Some(guard) =
            function.unit.module.guard(&function.unit.module.instructions[instruction as usize])
        {
            found.extend(self.condition(function, instruction, guard.negated));
        }
        for (block, successors) in edges {
            // What lies behind all of its edges does not depend on a branch.
            let [successor] = successors[..] else { continue };
            let branch = cfg.block(block).branch;
            match branch.and_then(|branch| {
                Some((
                    branch,
                    function.unit.module.guard(&function.unit.module.instructions[branch as usize])?,
                ))
            }) {
                Some((branch, guard)) if !cfg.block(block).leaves || successor == BlockId(block.0 + 1) => {
                    let taken = successor != BlockId(block.0 + 1);
                    found.extend(self.condition(function, branch, guard.negated == taken));
                }
                _ => {
                    let edge = Condition::Edge(block, successor);
                    found.push(self.known_conditions.borrow_mut().number(edge));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found.into())
    }

    /// That the guard register of an instruction is true, or false; `None` when that is an election.
    fn condition(&self, function: &Function<'_>, instruction: u32, negated: bool) -> Option<u32> {
        let mut known = self.known_conditions.borrow_mut();
        match known.guards.entry((instruction, negated)) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(unknown) => unknown.insert(None),
        };
        let condition = self.find_condition(function, instruction, negated)?;
        let number = known.number(condition);
        known.guards.insert((instruction, negated), Some(number));
        Some(number)
    }

    fn find_condition(&self, function: &Function<'_>, instruction: u32, negated: bool) -> Option<Condition> {
        let Resolution::Register(register) = function.unit.symbols.guard(instruction) else { return None };
        if let Selects::One(_) = self.at(function, instruction, register).not_if(negated).yes {
            return None;
        }
        let made = function.value(instruction, register);
        Some(Condition::Holds { register, made, negated })
    }
}
