//! Which paths a run can take.
//!
//! The graph of a function has paths that no run takes: through `if (warp == 0) A` and then past
//! `if (warp == 0) B`, or past a loop that is not entered and into the next one that is entered under the
//! same condition. Here conditions are understood as far as that needs: a guard is a predicate, which is a
//! comparison of something, or is made of other predicates; what is compared is a [term](terms), the same
//! wherever it is computed in the same way from the same values. A branch leaves a term in a
//! [set](range) of numbers, and as long as nothing that the term is made of is written again, no path goes
//! on that needs another number.
//!
//! A register that is set to a constant is that constant from there on, and one that is counted up is one more:
//! so flags are followed, and what only the first iteration of a loop does. So is [how far](order) it is from the
//! number of iterations: what only the last one does. What is [carried] through a loop may
//! be inverted, too, or come back as `k & 3` does, and what is written under a condition is
//! [chosen] by that.
//!
//! What is made of the number of a thread alone needs no algebra: each branch leaves a [set of
//! threads](ThreadSet), by whatever arithmetic, and where none is left, no path goes on.
//!
//! This decides only that a path *cannot* be taken. What is not understood can hold or not.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::bit_set::BitSet;
use super::budget::Budget;
use super::cfg::{BlockId, Cfg};
use super::executing::ThreadSet;
use super::function::Function;
use super::walks::Worklist;
use crate::isa::generic::{Computation, Control, Space};
use crate::resolve::unit::Unit;

mod carried;
mod chosen;
mod inverse;
mod knowledge;
mod learner;
mod order;
mod range;
mod terms;

use carried::{Becomes, Made, Write};
use knowledge::Sets;
pub(super) use knowledge::{Entered, Knowledge};
use learner::Learner;
use range::ValueSet;
use terms::{Joint, TermId, Terms};

/// Ways to a block are told apart by so many conditions.
const WAYS: usize = 2;

/// Conditions that are longer are not understood to their end.
const FUEL: u32 = 64;

/// What it takes to follow an edge, in steps of the budget.
const EDGE: u64 = 2;

/// The conditions of a function, and what is known where its blocks are entered.
#[derive(Debug)]
pub struct Paths {
    terms: Terms,
    /// What terms may be in.
    sets: Sets,
    /// Terms that more than one condition is about: what is known of another one decides nothing.
    shared: BitSet,
    /// Those of them that are predicates, and made of two others.
    joint: Joint,
    /// By guarded instruction: the threads for which the guard may hold, and those for which it may not,
    /// where that tells them apart.
    threads: FxHashMap<u32, (ThreadSet, ThreadSet)>,
    /// By block: what holds on all paths to it that a run can take.
    entered: Vec<Entered>,
    /// Instructions that set a register to a constant, or count it, in all threads of a CTA alike.
    alike: FxHashSet<u32>,
    /// Whether there is nothing to know.
    is_trivial: bool,
}

impl Paths {
    /// Understands the conditions of a function: of its branches, and of the instructions in `guarded`.
    /// `threads` says for which threads a guard may hold, and for which it may not.
    pub fn new(
        function: &Function<'_>,
        guarded: impl Iterator<Item = u32>,
        threads: impl Fn(u32) -> Option<(ThreadSet, ThreadSet)>,
    ) -> Self {
        let cfg = function.cfg;
        let branches = cfg.blocks().filter_map(|(_, block)| block.branch);
        let mut guards: Vec<u32> = branches.chain(guarded).collect();
        guards.sort_unstable();
        guards.dedup();
        let (terms, shared) = Terms::new(function, &guards);
        let threads: FxHashMap<_, _> = guards.iter().filter_map(|at| Some((*at, threads(*at)?))).collect();
        let is_trivial = shared.first_from(0).is_none() && !terms.decides() && threads.is_empty();
        let alike = terms.counted().flatten().copied().collect();
        let entered = vec![Entered::default(); cfg.len()];
        let mut this = Self {
            terms,
            sets: Sets::default(),
            shared,
            joint: Joint::default(),
            threads,
            entered,
            alike,
            is_trivial,
        };
        if !is_trivial {
            this.joint = this.terms.joint(&this.shared, function.budget);
            this.find_alike(function);
            this.follow(function);
        }
        this
    }

    /// Finds out which registers all threads of a CTA set and count in the same way: no branch that some of them
    /// take decides on that.
    fn find_alike(&mut self, function: &Function<'_>) {
        let cfg = function.cfg;
        let is_decided_alike = |this: &Self, at: u32| {
            let Some(block) = cfg.block_of(at) else { return false };
            let is_guarded =
                function.unit.module.guard(&function.unit.module.instructions[at as usize]).is_some();
            if (is_guarded || this.terms.guard(at).is_some()) && !this.is_alike(at) {
                return false;
            }
            // What all ways from a branch lead to again, it does not decide.
            let mut below = block;
            cfg.dominating(block).filter(|above| *above != block).all(|above| {
                let is_decided = !cfg.post_dominates(std::mem::replace(&mut below, above), above);
                // Where control goes on by a list of labels, there is no guard that says where.
                let goes_one_way = cfg.block(above).successors.len() < 2;
                !is_decided
                    || function.budget.take(1)
                        && cfg.block(above).branch.map_or(goes_one_way, |branch| this.is_alike(branch))
            })
        };
        loop {
            let differs = |all: &&[u32]| all.iter().any(|at| !is_decided_alike(self, *at));
            let different: Vec<u32> = self.terms.counted().filter(differs).flatten().copied().collect();
            let before = self.alike.len();
            for at in different {
                self.alike.remove(&at);
            }
            if self.alike.len() == before {
                return;
            }
        }
    }

    /// Whether the guard of an instruction is the same in all threads of a CTA for certain.
    pub(super) fn is_alike(&self, instruction: u32) -> bool {
        let term = self.terms.guard(instruction).map(|(term, _)| term);
        term.is_some_and(|term| !self.terms.varies(term))
            && !self.threads.contains_key(&instruction)
            && self.terms.leaves(instruction).iter().all(|leaf| self.alike.contains(leaf))
    }

    /// One more path leads to where something is entered; whether that changes anything.
    pub(super) fn enter(&self, entered: &mut Entered, by: Knowledge) -> bool {
        entered.join(&self.sets, &self.terms, by)
    }

    /// What is known by both; false when both cannot be.
    pub(super) fn know_both(&self, knowledge: &mut Knowledge, more: &Knowledge) -> bool {
        knowledge.and(&self.sets, more)
    }

    /// Whether every path of the graph may be one that a run takes.
    pub(super) fn is_trivial(&self) -> bool {
        self.is_trivial
    }

    /// What is known where a block is entered; nothing, if no run gets there.
    pub(super) fn entering(&self, block: BlockId) -> Option<&Knowledge> {
        self.entered[block.index()].knowledge()
    }

    /// Finds out what is known where blocks are entered.
    fn follow(&mut self, function: &Function<'_>) {
        let cfg = function.cfg;
        let mut waiting = Worklist::new(cfg.len());
        self.entered[0].join(&self.sets, &self.terms, Knowledge::default());
        waiting.add(0);
        while let Some(at) = waiting.pop() {
            let block = cfg.reverse_post_order()[at];
            let Some(mut knowledge) = self.entering(block).cloned() else { continue };
            let steps = self.pass(&mut knowledge, cfg.block(block).instructions.clone());
            if !function.budget.take(steps) {
                self.is_trivial = true;
                return;
            }
            let successors = &cfg.block(block).successors;
            for (at, &successor) in successors.iter().enumerate() {
                if !function.budget.take(EDGE + knowledge.len() as u64) {
                    // Nothing is known.
                    self.is_trivial = true;
                    return;
                }
                let is_last = at + 1 == successors.len();
                let mut knowledge = if is_last { std::mem::take(&mut knowledge) } else { knowledge.clone() };
                if self.leave(function, block, successor, &mut knowledge)
                    && self.entered[successor.index()].join(&self.sets, &self.terms, knowledge)
                {
                    waiting.add(cfg.position(successor) as usize);
                }
            }
        }
        if self.entered.iter().any(Entered::is_widened) {
            self.tighten(function);
        }
    }

    /// What grew as if it had no end has one where the loop is left: with that, each block is looked at once more.
    fn tighten(&mut self, function: &Function<'_>) {
        let cfg = function.cfg;
        for &block in &cfg.reverse_post_order()[1..] {
            let mut all: Option<Knowledge> = None;
            for &before in &cfg.block(block).predecessors {
                let Some(mut knowledge) = self.entering(before).cloned() else { continue };
                let steps = self.pass(&mut knowledge, cfg.block(before).instructions.clone());
                if !function.budget.take(steps + EDGE + knowledge.len() as u64) {
                    return;
                }
                if self.leave(function, before, block, &mut knowledge) {
                    match &mut all {
                        Some(all) => {
                            all.join(&self.sets, &knowledge);
                        }
                        None => all = Some(knowledge),
                    }
                }
            }
            if self.entered[block.index()].knowledge.is_some() {
                self.entered[block.index()].knowledge = all;
            }
        }
    }

    /// What instructions write is not what it was. Says how many steps it took to find out what it is.
    pub(super) fn pass(&self, knowledge: &mut Knowledge, instructions: Range<u32>) -> u64 {
        /// What it takes to find out what a condition makes of something.
        const EITHER: u64 = 8;
        let sets = &self.sets;
        let mut steps = 0;
        if knowledge.has_no_terms() && !self.terms.assigns() {
            return steps;
        }
        for writes in self.terms.written_in(instructions).chunk_by(|a, b| a.instruction == b.instruction) {
            let depends = |write: &Write| matches!(write.becomes, Becomes::Either { .. });
            // What is written together is made of what was before all of that.
            let mut before = writes.iter().any(depends).then(|| knowledge.clone());
            for Write { term, becomes, .. } in writes {
                let set = match (becomes, &mut before) {
                    (Becomes::Made(made), None) => knowledge.ask(sets, *term, |set| made.image(set)),
                    (Becomes::Made(made), Some(before)) => before.ask(sets, *term, |set| made.image(set)),
                    (Becomes::Either { when, yes, no }, Some(before)) => {
                        steps += EITHER + before.len() as u64;
                        self.either(before, *term, *when, [yes, no])
                    }
                    (Becomes::Apart(apart), _) => knowledge.ask(sets, apart.other, |set| apart.image(set)),
                    (Becomes::Either { .. }, None) | (Becomes::Other, _) => None,
                };
                knowledge.assign(sets, *term, set.as_ref());
            }
        }
        steps
    }

    /// What a term is that is made of one thing where a predicate holds, and otherwise of another one.
    fn either(
        &self,
        before: &mut Knowledge,
        term: TermId,
        when: Option<TermId>,
        made: [&Made; 2],
    ) -> Option<ValueSet> {
        let mut all: Option<ValueSet> = None;
        for (made, truth) in made.into_iter().zip([true, false]) {
            let set = match when {
                Some(when) => Learner::new(self, before).suppose(FUEL, |learner| {
                    let can_be = learner.truth(when, truth) && learner.agrees();
                    can_be.then(|| learner.knowledge.ask(&self.sets, term, |set| made.image(set)))
                }),
                None => Some(before.ask(&self.sets, term, |set| made.image(set))),
            };
            let Some(set) = set else { continue };
            let set = set?;
            all = Some(all.map_or_else(|| set.clone(), |all| all.or(&set)));
        }
        all
    }

    /// What of it holds for all threads of a CTA, or none: what is known of one says nothing of others
    /// where it is made of the thread's number, or where the thread may have set it since they parted.
    pub(super) fn of_all_threads(&self, knowledge: &Knowledge) -> Knowledge {
        let is_own = |term: TermId| self.terms.varies(term) || self.terms.is_flag(term);
        knowledge.only(|term| !is_own(term))
    }

    /// Which way a path has come to a block, as far as the block asks: how what it chooses by, and where it goes
    /// on, was decided before. Paths that came there by different ways may have different things known of what
    /// was written under the same condition.
    pub(super) fn way_to(&self, function: &Function<'_>, block: BlockId, knowledge: &Knowledge) -> u32 {
        let content = function.cfg.block(block);
        let guard = content.branch.and_then(|branch| self.terms.guard(branch)).map(|(term, _)| term);
        let writes = self.terms.written_in(content.instructions.clone());
        let chosen = writes.iter().filter_map(|write| match write.becomes {
            Becomes::Either { when, .. } => when,
            Becomes::Made(_) | Becomes::Apart(_) | Becomes::Other => None,
        });
        let mut asked: SmallVec<[TermId; WAYS]> = SmallVec::new();
        let mut way = 0;
        for term in guard.into_iter().chain(chosen) {
            if asked.contains(&term) {
                continue;
            }
            if asked.len() == WAYS {
                break;
            }
            asked.push(term);
            let known = knowledge.truth(&self.sets, term);
            way = way * 3 + known.map_or(0, |truth| 1 + u32::from(truth));
        }
        way
    }

    /// Whether a block can be left to another one, with what is known then.
    pub(super) fn leave(
        &self,
        function: &Function<'_>,
        block: BlockId,
        successor: BlockId,
        knowledge: &mut Knowledge,
    ) -> bool {
        let content = function.cfg.block(block);
        let Some(branch) = content.branch else { return true };
        let falls = successor.0 == block.0 + 1;
        let taken = match function.unit.operations.of(branch).control() {
            Control::Branch if content.successors.len() == 2 => !falls,
            // One of several labels may stand right behind it.
            Control::IndexedBranch if !falls => true,
            Control::Return | Control::Exit | Control::Trap => false,
            Control::Branch | Control::IndexedBranch | Control::Next | Control::Call => return true,
        };
        self.learn(branch, taken, knowledge)
    }

    /// That the guard of an instruction holds, or does not; false when that cannot be.
    pub(super) fn learn(&self, instruction: u32, holds: bool, knowledge: &mut Knowledge) -> bool {
        if let Some((may, may_not)) = self.threads.get(&instruction)
            && !knowledge.narrow_threads(if holds { may } else { may_not })
        {
            return false;
        }
        let Some((term, negated)) = self.terms.guard(instruction) else { return true };
        let mut learner = Learner::new(self, knowledge);
        learner.narrow(term, &ValueSet::truth(holds != negated)) && learner.agrees()
    }

    /// Whether the guard of an instruction may hold, by what is known.
    pub(super) fn may_hold(&self, instruction: u32, knowledge: &mut Knowledge) -> bool {
        if let Some((may, _)) = self.threads.get(&instruction)
            && knowledge.threads_of(may).is_empty()
        {
            return false;
        }
        let Some((term, negated)) = self.terms.guard(instruction) else { return true };
        Learner::new(self, knowledge)
            .suppose(FUEL, |learner| learner.narrow(term, &ValueSet::truth(!negated)) && learner.agrees())
    }

    /// Whether the guard of an instruction is decided by registers that only this function sets and counts.
    pub fn depends_on_round(&self, instruction: u32) -> bool {
        let counted = |leaf: &u32| self.terms.counted().any(|all| all.contains(leaf));
        self.terms.leaves(instruction).iter().any(counted)
    }

    /// Whether the guard of an instruction may be another one in other threads of a CTA by its nature.
    pub fn varies(&self, instruction: u32) -> bool {
        self.threads.contains_key(&instruction)
            || self.terms.guard(instruction).is_none_or(|(term, _)| self.terms.varies(term))
    }

    /// Whether the guard of an instruction is made of something in shared memory: what the kernel itself put
    /// there, such as a flag that says which way it went before.
    pub fn is_of_shared_memory(&self, unit: &Unit, instruction: u32) -> bool {
        self.terms.leaves(instruction).iter().any(|leaf| {
            let opcode = unit.operations.of(*leaf);
            opcode.computes() == Computation::Load && opcode.spaces().next().is_some_and(Space::is_shared)
        })
    }
}

/// How much may be done to tell which paths can be taken, in steps: as much for each instruction, so
/// that the work stays in proportion to the text.
pub(super) fn allowance(cfg: &Cfg) -> u64 {
    const BASE: u64 = 20_000;
    const FOR_INSTRUCTION: u64 = 48;
    BASE + FOR_INSTRUCTION * cfg.blocks().map(|(_, block)| block.instructions.len() as u64).sum::<u64>()
}

/// Steps that are taken from an allowance and from the budget.
pub(super) struct Allowance<'a> {
    left: u64,
    budget: &'a Budget,
}

impl<'a> Allowance<'a> {
    /// Everything is left.
    pub(super) fn new(cfg: &Cfg, budget: &'a Budget) -> Self {
        Self { left: allowance(cfg), budget }
    }

    /// Takes some steps; false when nothing is left.
    pub(super) fn take(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0 && self.budget.take(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::{Knowledge, Paths, ThreadSet};
    use crate::budget::Budget;
    use crate::cfg::Cfg;
    use crate::definitions::{Definitions, RegisterSet};
    use crate::function::Function;
    use crate::ir::Lowered;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Asks something of the paths of a kernel, and of where its last guard is. `r1` is the number of a thread, and
    /// `r2` what all of them are given; the guards hold for these threads.
    fn of<T>(body: &str, threads: Option<ThreadSet>, ask: impl FnOnce(&Paths, u32) -> T) -> T {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n) {{ .reg .pred p<9>; .reg .b32 r<9>; \
             mov.u32 r1, %tid.x; ld.param.u32 r2, [n]; {body} ret; }}"
        );
        let unit = Unit::new(&Source::new("t", text).unwrap());
        let (_, kernel) = unit.module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, kernel.body);
        let budget = Budget::default();
        let definitions = Definitions::new(&unit, &cfg, &mut RegisterSet::default());
        let function = Function {
            unit: &unit,
            cfg: &cfg,
            definitions: &definitions,
            budget: &budget,
            lowered: &Lowered::new(&cfg.instructions()),
            given: None,
        };
        let is_guarded = |at: &u32| unit.module.guard(&unit.module.instructions[*at as usize]).is_some();
        let guarded = || cfg.instructions().filter(is_guarded);
        let paths = Paths::new(&function, guarded(), |_| threads.map(|may| (may, ThreadSet::EMPTY)));
        ask(&paths, guarded().next_back().unwrap())
    }

    /// Whether the last guard is the same for all threads of a CTA.
    fn go_together(body: &str) -> bool {
        of(body, None, Paths::is_alike)
    }

    #[test]
    fn whether_a_guard_may_hold_is_asked_without_a_trace() {
        let body = "setp.eq.u32 p1, r2, 7; @p1 membar.cta; @p1 membar.gl;";
        let ask = |paths: &Paths, at: u32| {
            let mut knowledge = Knowledge::default();
            let may_hold = paths.may_hold(at, &mut knowledge);
            assert_eq!(knowledge, Knowledge::default());
            may_hold
        };
        assert!(of(body, None, ask));
        // Nothing else has to be known of threads for none of them to get past it.
        assert!(!of(body, Some(ThreadSet::EMPTY), ask));
    }

    /// The lowest number of 64 bits has no opposite: what it is added to is compared like anything else.
    #[test]
    fn sums_with_the_lowest_number() {
        let body = ".reg .b64 d<4>; mov.u64 d1, %clock64; mov.u64 d2, %clock64; \
                    add.s64 d3, d1, 0x8000000000000000; setp.lt.s64 p1, d3, d2; @p1 membar.cta; \
                    setp.lt.s64 p2, d2, d3; @p2 membar.gl;";
        assert!(of(body, None, |paths, at| paths.may_hold(at, &mut Knowledge::default())));
        let after = |paths: &Paths, at: u32| {
            let mut knowledge = Knowledge::default();
            paths.learn(at, true, &mut knowledge) && paths.may_hold(at - 2, &mut knowledge)
        };
        assert!(!of(body, None, after), "one is less than the other, or the other is");
    }

    #[test]
    fn flags_are_alike_where_no_branch_parts_threads() {
        let flag = |by: &str| {
            format!(
                "mov.u32 r3, 0; {by} G: mov.u32 r3, 1; A: setp.eq.u32 p2, r3, 0; @p2 bra B; membar.cta; B:"
            )
        };
        assert!(go_together(&flag("setp.eq.u32 p1, r2, 7; @p1 bra A;")));
        assert!(!go_together(&flag("setp.eq.u32 p1, r1, 7; @p1 bra A;")));
        // A list of labels has no guard that says who takes which of them.
        assert!(!go_together(&flag("T: .branchtargets G, A; and.b32 r5, r1, 1; brx.idx r5, T;")));
        assert!(go_together(&flag("T: .branchtargets G; brx.idx r2, T;")));
    }
}
