//! Under which conditions instructions are executed: whether two of them exclude each other.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::lattice::Threads;
use super::{Uniformity, VISIT};
use crate::budget::Budget;
use crate::cfg::{BlockId, Cfg};
use crate::control::{Decides, Deciding, Way};
use crate::function::Function;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::values::ValueId;
use crate::walks::Walk;

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
    /// What has to hold where a block is entered; `None` when that is too much to say.
    blocks: FxHashMap<BlockId, Option<Needs>>,
    chains: Chains,
}

impl Conditions {
    fn number(&mut self, condition: Condition) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(condition).or_insert(next)
    }
}

/// A set of conditions, by the last link of its chain; none, where nothing has to hold.
type Needs = Option<u32>;

/// Sets of conditions. What is nested in something needs what that needs and one thing more, so that a
/// set is a link to a smaller one; sets that are made in the same way are the same.
#[derive(Debug, Default)]
struct Chains {
    links: Vec<Link>,
    known: FxHashMap<(Needs, u32), u32>,
    /// What is in a set, ascending, where it had to be spelled out.
    sets: FxHashMap<u32, Arc<[u32]>>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    condition: u32,
    before: Needs,
    /// Another one before it, so that the way to each is short.
    jump: Needs,
    /// How many are before it.
    depth: u32,
}

impl Chains {
    /// A set and one condition more.
    fn with(&mut self, before: Needs, condition: u32) -> u32 {
        let Self { links, known, .. } = self;
        *known.entry((before, condition)).or_insert_with(|| {
            let depth = |link: Needs| link.map_or(0, |at| links[at as usize].depth + 1);
            let jump = |link: Needs| link.and_then(|at| links[at as usize].jump);
            let (one, two) = (jump(before), jump(jump(before)));
            let even = depth(before) - depth(one) == depth(one) - depth(two);
            let link =
                Link { condition, before, jump: if even { two } else { before }, depth: depth(before) };
            links.push(link);
            links.len() as u32 - 1
        })
    }

    fn len(&self, needs: Needs) -> u32 {
        needs.map_or(0, |at| self.links[at as usize].depth + 1)
    }

    /// Whether a chain starts with another one.
    fn starts_with(&self, whole: Needs, part: Needs) -> bool {
        let len = self.len(part);
        let mut at = whole;
        while let Some(link) = at.filter(|_| self.len(at) > len) {
            let link = self.links[link as usize];
            at = if self.len(link.jump) >= len { link.jump } else { link.before };
        }
        at == part
    }

    fn set(&mut self, needs: Needs, budget: &Budget) -> Arc<[u32]> {
        let Some(last) = needs else { return Arc::default() };
        if let Some(known) = self.sets.get(&last) {
            return Arc::clone(known);
        }
        budget.take(u64::from(self.len(needs)));
        let links = std::iter::successors(Some(last), |at| self.links[*at as usize].before);
        let mut set: Vec<u32> = links.map(|at| self.links[at as usize].condition).collect();
        set.sort_unstable();
        set.dedup();
        Arc::clone(self.sets.entry(last).or_insert_with(|| set.into()))
    }

    /// Whether everything in one set is in another.
    fn is_subset(&mut self, part: Needs, whole: Needs, budget: &Budget) -> bool {
        if self.starts_with(whole, part) {
            return true;
        }
        let (part, whole) = (self.set(part, budget), self.set(whole, budget));
        part.len() <= whole.len()
            && budget.take(part.len() as u64)
            && part.iter().all(|wanted| whole.binary_search(wanted).is_ok())
    }
}

impl Uniformity {
    /// Whether each of two instructions runs under a condition that the other one does not have, so
    /// that perhaps no run executes `first` and then `then`. An election is no such condition: it is
    /// part of what a warp does.
    pub fn mutually_exclusive(
        &self,
        function: &Function<'_>,
        first: u32,
        then: u32,
        budget: &Budget,
    ) -> bool {
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
        let chains = &mut self.known_conditions.borrow_mut().chains;
        !chains.is_subset(first, then, budget) && !chains.is_subset(then, first, budget) || budget.is_spent()
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
        let chains = &mut self.known_conditions.borrow_mut().chains;
        chains.is_subset(first, then, budget) && !budget.is_spent()
    }

    /// What has to hold for an instruction to be executed, elections left out; `None` when that is
    /// too much to say.
    fn necessary(&self, function: &Function<'_>, instruction: u32, budget: &Budget) -> Option<Needs> {
        let needs = self.needs(function, function.cfg.block_of(instruction)?, budget)?;
        let guard = function.unit.module.guard(&function.unit.module.instructions[instruction as usize]);
        match guard.and_then(|guard| self.condition(function, instruction, guard.negated)) {
            Some(condition) => Some(Some(self.known_conditions.borrow_mut().chains.with(needs, condition))),
            None => Some(needs),
        }
    }

    /// The branches that decide about blocks.
    pub(crate) fn deciding(&self, function: &Function<'_>, budget: &Budget) -> &Deciding {
        self.deciding.get_or_init(|| Deciding::new(function.cfg, &self.control, budget))
    }

    /// By block: the edges that decide about it, if the `budget` is enough to know them.
    pub(super) fn edges_to(&self, cfg: &Cfg, budget: &Budget) -> Option<&[Vec<Decides>]> {
        self.edges.get_or_init(|| self.control.edges_to(cfg, budget)).as_deref()
    }

    /// What has to hold for a block to be entered.
    fn needs(&self, function: &Function<'_>, block: BlockId, budget: &Budget) -> Option<Needs> {
        let deciding = self.deciding(function, budget);
        // Where one branch alone decides, what it needs is needed, and that it is left that way.
        let mut nested: Vec<(BlockId, BlockId, BlockId)> = Vec::new();
        let mut at = block;
        let mut needs = loop {
            if let Some(known) = self.known_conditions.borrow().blocks.get(&at) {
                break *known;
            }
            if !budget.take(VISIT) || !deciding.is_complete {
                return None;
            }
            match deciding.blocks[at.index()][..] {
                [(branch, Way::Only(successor))] if !deciding.goes_back => {
                    nested.push((at, branch, successor));
                    at = branch;
                }
                _ => {
                    let needs = self.all_needs(function, at, deciding, budget);
                    self.known_conditions.borrow_mut().blocks.insert(at, needs);
                    break needs;
                }
            }
        };
        while let Some((block, branch, successor)) = nested.pop() {
            if let Some(needs) = &mut needs
                && let Some(condition) = self.way_condition(function, branch, successor)
            {
                *needs = Some(self.known_conditions.borrow_mut().chains.with(*needs, condition));
            }
            self.known_conditions.borrow_mut().blocks.insert(block, needs);
        }
        needs
    }

    /// The same where several branches decide, or none.
    fn all_needs(
        &self,
        function: &Function<'_>,
        block: BlockId,
        deciding: &Deciding,
        budget: &Budget,
    ) -> Option<Needs> {
        let mut ways: FxHashMap<BlockId, Way> = FxHashMap::default();
        let mut blocks = Walk::new(budget, [block]);
        while let Some(block) = blocks.pop() {
            let branches = &deciding.blocks[block.index()];
            if !budget.take(VISIT * branches.len() as u64) {
                return None;
            }
            for &(branch, way) in branches {
                // What lies behind all of its edges does not depend on a branch.
                ways.entry(branch)
                    .and_modify(|known| {
                        if *known != way {
                            *known = Way::Several;
                        }
                    })
                    .or_insert(way);
                blocks.extend([branch]);
            }
        }
        if !blocks.is_complete() {
            return None;
        }
        let mut found: Vec<u32> = ways
            .into_iter()
            .filter_map(|(branch, way)| match way {
                Way::Only(successor) => self.way_condition(function, branch, successor),
                Way::Several => None,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        let chains = &mut self.known_conditions.borrow_mut().chains;
        Some(found.into_iter().fold(None, |needs, condition| Some(chains.with(needs, condition))))
    }

    /// That a block is left to another one; `None` when that is an election.
    fn way_condition(&self, function: &Function<'_>, block: BlockId, successor: BlockId) -> Option<u32> {
        let content = function.cfg.block(block);
        let guard = |branch: u32| {
            let raw = &function.unit.module.instructions[branch as usize];
            Some((branch, function.unit.module.guard(raw)?))
        };
        let next = block.next();
        match content.branch.and_then(guard) {
            Some((branch, guard)) if !content.leaves || successor == next => {
                let taken = successor != next;
                self.condition(function, branch, guard.negated == taken)
            }
            _ => Some(self.known_conditions.borrow_mut().number(Condition::Edge(block, successor))),
        }
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
        if let Threads::One(_) = self.at(function, instruction, register).not_if(negated).if_true {
            return None;
        }
        let made = function.value(instruction, register);
        Some(Condition::Holds { register, made, negated })
    }
}
