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
//! so flags are followed, and what only the first round of a loop does. So is [how far](order) it is from the
//! number of rounds: what only the last one does. What is [carried](carried) round a loop may
//! be turned round, too, or come round again as `k & 3` does, and what is written under a condition is
//! [chosen](chosen) by that.
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
use crate::isa::generic::{Computation, Control, Space};
use crate::resolve::unit::Unit;

mod carried;
mod chosen;
mod inverse;
mod order;
mod range;
mod terms;

use carried::{Becomes, Made, Write};
use range::ValueSet;
use terms::{Joint, TermId, Terms, Test};

/// What is known of terms on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// By term.
    sets: Vec<(TermId, ValueSet)>,
    /// The threads that can have taken the path; all, if nothing is said.
    threads: Option<Box<ThreadSet>>,
    /// Whether something was written since conclusions were drawn from what is known of several terms.
    is_unsettled: bool,
}

/// What it means for what is known of a term that it is in a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Narrowed {
    /// That cannot be.
    Impossible,
    /// That was known.
    Same,
    /// More is known, or it is not remembered.
    Less,
}

/// More terms than these are not remembered at once.
const REMEMBERED: usize = 48;

/// How often what is known where a block is entered may change by and by; then what grows has no end
/// where it grows.
const CHANGES: u32 = 6;

/// Ways to a block are told apart by so many conditions.
const WAYS: usize = 2;

/// Conditions that are longer are not understood to their end.
const FUEL: u32 = 64;

/// What it takes to follow an edge, in steps of the budget.
const EDGE: u64 = 2;

impl Knowledge {
    fn get(&self, term: TermId) -> Option<&ValueSet> {
        let at = self.sets.binary_search_by_key(&term, |(term, _)| *term).ok()?;
        Some(&self.sets[at].1)
    }

    /// That a term is in a set.
    fn narrow(&mut self, term: TermId, set: &ValueSet) -> Narrowed {
        match self.sets.binary_search_by_key(&term, |(term, _)| *term) {
            Ok(at) => {
                let known = &mut self.sets[at].1;
                let both = known.and(set);
                if both.is_empty() {
                    return Narrowed::Impossible;
                }
                if both == *known {
                    return Narrowed::Same;
                }
                *known = both;
                Narrowed::Less
            }
            Err(_) if set.is_empty() => Narrowed::Impossible,
            Err(at) => {
                if self.sets.len() < REMEMBERED {
                    self.sets.insert(at, (term, set.clone()));
                }
                Narrowed::Less
            }
        }
    }

    /// The threads that can have taken the path, of these.
    fn threads_of(&self, threads: &ThreadSet) -> ThreadSet {
        self.threads.as_ref().map_or(*threads, |known| known.and(*threads))
    }

    /// That the thread is one of these; false when it is not.
    fn narrow_threads(&mut self, threads: &ThreadSet) -> bool {
        let both = self.threads_of(threads);
        self.threads = Some(Box::new(both));
        !both.is_empty()
    }

    /// What is known besides; false when both cannot be.
    pub(super) fn and(&mut self, more: &Self) -> bool {
        if !more.threads.as_ref().is_none_or(|threads| self.narrow_threads(threads)) {
            return false;
        }
        self.is_unsettled = true;
        more.sets.iter().all(|(term, set)| self.narrow(*term, set) != Narrowed::Impossible)
    }

    /// How much is known.
    pub(super) fn len(&self) -> usize {
        self.sets.len() + usize::from(self.threads.is_some())
    }

    /// What is known on one of two paths: on this one, or on another. Whether that is less than before.
    fn join(&mut self, other: &Self) -> bool {
        let mut is_less = false;
        self.is_unsettled |= other.is_unsettled;
        let mut others = other.sets.iter().peekable();
        self.sets.retain_mut(|(term, set)| {
            while others.next_if(|(other, _)| other < term).is_some() {}
            let Some((_, more)) = others.next_if(|(other, _)| other == term) else {
                is_less = true;
                return false;
            };
            if set != more {
                let either = set.or(more);
                is_less |= either != *set;
                *set = either;
            }
            true
        });
        let threads = self.threads.as_ref().zip(other.threads.as_ref());
        let either = threads.map(|(one, other)| one.or(**other));
        if either.as_ref() != self.threads.as_deref() {
            is_less = true;
            self.threads = either.map(Box::new);
        }
        is_less
    }

    /// What includes both, so that it does not go on growing.
    fn widened(&self, grown: &Self) -> Self {
        let widened = |(term, set): &(TermId, ValueSet)| {
            let grown = grown.get(*term)?;
            if grown == set {
                return Some((*term, set.clone()));
            }
            let widened = set.widened(grown);
            (widened != ValueSet::range(0, u64::MAX)).then_some((*term, widened))
        };
        Self {
            sets: self.sets.iter().filter_map(widened).collect(),
            threads: self.threads.clone().filter(|_| self.threads == grown.threads),
            is_unsettled: self.is_unsettled || grown.is_unsettled,
        }
    }

    /// That a term is in a set from here on, if that is known.
    fn assign(&mut self, term: TermId, set: Option<ValueSet>) {
        self.is_unsettled |= set.is_some();
        self.restore(term, set);
    }

    /// That this was known of a term.
    fn restore(&mut self, term: TermId, set: Option<ValueSet>) {
        match (self.sets.binary_search_by_key(&term, |(term, _)| *term), set) {
            (Ok(at), Some(set)) => self.sets[at].1 = set,
            (Ok(at), None) => {
                self.sets.remove(at);
            }
            (Err(at), Some(set)) if self.sets.len() < REMEMBERED => self.sets.insert(at, (term, set)),
            (Err(_), _) => {}
        }
    }
}

/// What is known where something is entered, while paths are followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Entered {
    knowledge: Option<Knowledge>,
    changes: u32,
}

impl Entered {
    /// What is known, if a path leads here.
    pub(super) fn knowledge(&self) -> Option<&Knowledge> {
        self.knowledge.as_ref()
    }

    /// One more path leads here; whether that changes anything.
    pub(super) fn enter(&mut self, paths: &Paths, by: Knowledge) -> bool {
        self.join(&paths.terms, by)
    }

    fn join(&mut self, terms: &Terms, by: Knowledge) -> bool {
        let Some(known) = &mut self.knowledge else {
            self.knowledge = Some(by);
            return true;
        };
        let before = (self.changes >= CHANGES).then(|| known.clone());
        if !known.join(&by) {
            return false;
        }
        self.changes += 1;
        if let Some(before) = before {
            *known = before.widened(known);
            for (term, set) in &mut known.sets {
                if let Some(bound) = terms.bound(*term) {
                    *set = set.and(&ValueSet::range(0, bound));
                }
            }
        }
        true
    }
}

/// The conditions of a function, and what is known where its blocks are entered.
#[derive(Debug)]
pub struct Paths {
    terms: Terms,
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
        let mut this = Self { terms, shared, joint: Joint::default(), threads, entered, alike, is_trivial };
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
        let order = cfg.reverse_post_order();
        let mut position = vec![0; cfg.len()];
        for (at, block) in order.iter().enumerate() {
            position[block.index()] = at;
        }
        let mut waiting = BitSet::new(cfg.len());
        self.entered[0].join(&self.terms, Knowledge::default());
        waiting.insert(position[0]);
        let mut from = 0;
        while let Some(at) = waiting.first_from(from) {
            waiting.remove(at);
            from = at + 1;
            let block = order[at];
            let Some(mut knowledge) = self.entering(block).cloned() else { continue };
            let steps = self.pass(&mut knowledge, cfg.block(block).instructions.clone());
            if !function.budget.take(steps) {
                self.is_trivial = true;
                return;
            }
            let successors = &cfg.block(block).successors;
            for (at, &successor) in successors.iter().enumerate() {
                if !function.budget.take(EDGE + knowledge.sets.len() as u64) {
                    // Nothing is known.
                    self.is_trivial = true;
                    return;
                }
                let is_last = at + 1 == successors.len();
                let mut knowledge = if is_last { std::mem::take(&mut knowledge) } else { knowledge.clone() };
                if self.leave(function, block, successor, &mut knowledge)
                    && self.entered[successor.index()].join(&self.terms, knowledge)
                {
                    waiting.insert(position[successor.index()]);
                    from = from.min(position[successor.index()]);
                }
            }
        }
        if self.entered.iter().any(|entered| entered.changes > CHANGES) {
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
                if !function.budget.take(steps + EDGE + knowledge.sets.len() as u64) {
                    return;
                }
                if self.leave(function, before, block, &mut knowledge) {
                    match &mut all {
                        Some(all) => {
                            all.join(&knowledge);
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
        let mut steps = 0;
        if knowledge.sets.is_empty() && !self.terms.assigns() {
            return steps;
        }
        for writes in self.terms.written_in(instructions).chunk_by(|a, b| a.instruction == b.instruction) {
            let depends = |write: &Write| matches!(write.becomes, Becomes::Either { .. });
            // What is written together is made of what was before all of that.
            let mut before = writes.iter().any(depends).then(|| knowledge.clone());
            for Write { term, becomes, .. } in writes {
                let set = match (becomes, &mut before) {
                    (Becomes::Made(made), None) => made.image(knowledge.get(*term)),
                    (Becomes::Made(made), Some(before)) => made.image(before.get(*term)),
                    (Becomes::Either { when, yes, no }, Some(before)) => {
                        steps += EITHER + before.len() as u64;
                        self.either(before, *term, *when, [yes, no])
                    }
                    (Becomes::Apart(apart), _) => apart.image(knowledge.get(apart.other)),
                    (Becomes::Either { .. }, None) | (Becomes::Other, _) => None,
                };
                knowledge.assign(*term, set);
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
                    can_be.then(|| made.image(learner.knowledge.get(term)))
                }),
                None => Some(made.image(before.get(term))),
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
        let sets = knowledge.sets.iter().filter(|(term, _)| !is_own(*term));
        Knowledge { sets: sets.cloned().collect(), threads: None, is_unsettled: knowledge.is_unsettled }
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
            let known = knowledge.get(term).and_then(ValueSet::single).filter(|truth| *truth < 2);
            way = way * 3 + known.map_or(0, |truth| 1 + truth as u32);
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

/// Draws conclusions from what is learnt.
struct Learner<'a> {
    paths: &'a Paths,
    knowledge: &'a mut Knowledge,
    fuel: u32,
    /// Of predicates that are made of two others, those of whose parts more is known since: a bit for each.
    affected: SmallVec<[u64; 4]>,
    /// While something is only supposed: what was known of terms before, in the order in which it was lost.
    before: Option<Vec<(TermId, Option<ValueSet>)>>,
}

impl<'a> Learner<'a> {
    fn new(paths: &'a Paths, knowledge: &'a mut Knowledge) -> Self {
        Self { paths, knowledge, fuel: FUEL, affected: SmallVec::new(), before: None }
    }

    /// Supposes something, and then knows again what was known before.
    fn suppose<T>(&mut self, fuel: u32, conclude: impl FnOnce(&mut Self) -> T) -> T {
        let outer = (self.before.replace(Vec::new()), std::mem::replace(&mut self.fuel, fuel));
        let before = (self.affected.clone(), self.knowledge.is_unsettled);
        let concluded = conclude(self);
        for (term, set) in self.before.take().into_iter().flatten().rev() {
            self.knowledge.restore(term, set);
        }
        (self.affected, self.knowledge.is_unsettled) = before;
        (self.before, self.fuel) = outer;
        concluded
    }

    /// That a term is in a set; false when that cannot be.
    fn narrow(&mut self, term: TermId, set: &ValueSet) -> bool {
        let Paths { terms, shared, .. } = self.paths;
        let bounded = terms.bound(term).map(|bound| set.and(&ValueSet::range(0, bound)));
        let set = bounded.as_ref().unwrap_or(set);
        if set.is_empty() {
            return false;
        }
        if let Some(value) = terms.constant(term) {
            return !set.and(&ValueSet::only(value)).is_empty();
        }
        if self.fuel == 0 {
            return true;
        }
        self.fuel -= 1;
        if shared.contains(term.index()) {
            if let Some(before) = &mut self.before {
                before.push((term, self.knowledge.get(term).cloned()));
            }
            match self.knowledge.narrow(term, set) {
                Narrowed::Impossible => return false,
                // What follows from that was concluded then.
                Narrowed::Same if terms.test(term).is_some() && !self.knowledge.is_unsettled => return true,
                Narrowed::Same => {}
                Narrowed::Less => {
                    let made_of = self.paths.joint.made_of(term);
                    self.affected.resize(made_of.len(), 0);
                    self.affected.iter_mut().zip(made_of).for_each(|(affected, more)| *affected |= more);
                }
            }
        }
        for (order, apart) in terms.aparts(term) {
            if apart.is_so(self.knowledge.get(apart.register))
                && let Some(distances) = apart.image(self.knowledge.get(term))
                && !self.narrow(*order, &distances)
            {
                return false;
            }
        }
        let follows = match (terms.test(term), set.single()) {
            (Some(test), Some(truth @ (0 | 1))) => self.test(test, truth == 1),
            _ => true,
        };
        follows
            && match terms.inverse(term) {
                Some((base, inverse)) => {
                    // What was known before counts, too.
                    let set = self.knowledge.get(term).unwrap_or(set);
                    inverse.apply(set).is_none_or(|set| self.narrow(base, &set))
                }
                None => true,
            }
    }

    fn truth(&mut self, term: TermId, holds: bool) -> bool {
        self.narrow(term, &ValueSet::truth(holds))
    }

    /// Whether what was learnt before of two predicates together can still be so: that not both hold, say,
    /// where it was not known which one does not.
    fn agrees(&mut self) -> bool {
        let Paths { joint, terms, .. } = self.paths;
        if std::mem::take(&mut self.knowledge.is_unsettled) {
            self.affected = SmallVec::from_elem(u64::MAX, joint.predicates.len().div_ceil(64));
        }
        let mut number = 0;
        while let Some(word) = self.affected.get(number / 64) {
            let left = word >> (number % 64);
            if left == 0 {
                number = (number / 64 + 1) * 64;
                continue;
            }
            number += left.trailing_zeros() as usize;
            let Some(&term) = joint.predicates.get(number) else { break };
            number += 1;
            let known = self.knowledge.get(term).and_then(ValueSet::single).filter(|truth| *truth < 2);
            if let (Some(test), Some(truth)) = (terms.test(term), known)
                && self.fuel > 0
                && !self.test(test, truth == 1)
            {
                return false;
            }
        }
        true
    }

    /// Whether a predicate can be so.
    fn can(&mut self, term: TermId, holds: bool) -> bool {
        self.suppose(self.fuel / 2, |supposing| supposing.truth(term, holds))
    }

    fn test(&mut self, test: &Test, holds: bool) -> bool {
        match test {
            Test::Decided(known) => *known == holds,
            Test::Not(term) => self.truth(*term, !holds),
            Test::And(one, other) if holds => self.truth(*one, true) && self.truth(*other, true),
            Test::Or(one, other) if !holds => self.truth(*one, false) && self.truth(*other, false),
            Test::Alike(one, other) => self.truth(*one, holds) && self.truth(*other, holds),
            // One of them decides; if one cannot, the other does.
            Test::And(one, other) | Test::Or(one, other) => {
                match (self.can(*one, holds), self.can(*other, holds)) {
                    (true, true) => true,
                    (true, false) => self.truth(*one, holds),
                    (false, true) => self.truth(*other, holds),
                    (false, false) => false,
                }
            }
            Test::Within { atoms } => {
                atoms.iter().all(|(term, yes, no)| self.narrow(*term, if holds { yes } else { no }))
            }
        }
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
    use crate::analysis::budget::Budget;
    use crate::analysis::cfg::Cfg;
    use crate::analysis::definitions::{Definitions, RegisterSet};
    use crate::analysis::function::Function;
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
        let function =
            Function { unit: &unit, cfg: &cfg, definitions: &definitions, budget: &budget, given: None };
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
