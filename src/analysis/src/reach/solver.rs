//! Carries facts along the control flow, 64 at a time.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Direction, Fact, Group, Query, Reach, Step};
use crate::budget::Budget;
use crate::cfg::{BlockId, Cfg};
use crate::walks::Worklist;

/// Facts that hold, by whether something covers them on the way, and those of them that can have
/// been discharged; one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    bare: u64,
    covered: u64,
    discharged: u64,
}

impl State {
    fn holds(self) -> u64 {
        self.bare | self.covered
    }

    fn kill(&mut self, facts: u64) {
        self.bare &= !facts;
        self.covered &= !facts;
        self.discharged &= !facts;
    }

    fn only(self, facts: u64) -> Self {
        Self { bare: self.bare & facts, covered: self.covered & facts, discharged: self.discharged & facts }
    }

    fn join(self, other: Self) -> Self {
        Self {
            bare: self.bare | other.bare,
            covered: self.covered | other.covered,
            discharged: self.discharged | other.discharged,
        }
    }
}

/// Which facts the bits of a state stand for.
#[derive(Clone, Copy)]
pub(super) enum Batch {
    /// Bit 0 for all of them; none is killed by itself.
    All,
    /// 64 facts from this one on.
    From(u32),
}

impl Batch {
    /// The facts that have a bit.
    fn facts(self) -> Range<Fact> {
        match self {
            Self::All => Fact(0)..Fact(u32::MAX),
            Self::From(first) => Fact(first)..Fact(first.saturating_add(64)),
        }
    }

    fn bit(self, fact: Fact) -> u64 {
        match self {
            Self::All => 1,
            Self::From(first) => match fact.0.checked_sub(first) {
                Some(bit @ 0..64) => 1 << bit,
                _ => 0,
            },
        }
    }
}

/// What becomes of facts that are discharged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDischarge {
    /// They are carried on, to be no answer wherever they arrive.
    Track,
    /// They are killed: what is left is what can be an answer at all.
    Kill,
}

/// How many kinds of facts are told apart, by the groups that kill them; the last is all others.
const KINDS: u8 = 64;

pub(super) struct Solver<'a> {
    problem: &'a Reach,
    cfg: &'a Cfg,
    direction: Direction,
    budget: &'a Budget,
    /// Where each fact is generated, by fact: indices of steps.
    gens: SmallVec<[(Fact, u32); 16]>,
    /// By group: the bits of its facts in this run.
    groups: Vec<u64>,
    /// By block: its steps, as far as they matter: up to the last open query, or all if there is one
    /// behind it.
    ranges: Vec<Range<u32>>,
    /// By fact, if they are many: its kind.
    kinds: Vec<u8>,
    /// By group: the kinds of its facts, all of which it kills.
    killed: Vec<u64>,
    /// By block, once that was looked for: kinds of facts that can get from its start to an open query.
    useful: Vec<u64>,
    /// By block, once that was looked for: whether an open query can follow.
    followed: Vec<bool>,
    /// By block: what holds where it is entered.
    before: Vec<State>,
}

impl<'a> Solver<'a> {
    pub(super) fn new(problem: &'a Reach, cfg: &'a Cfg, direction: Direction, budget: &'a Budget) -> Self {
        let ranges = ranges(problem, cfg);
        let mut gens: SmallVec<[(Fact, u32); 16]> = SmallVec::with_capacity(problem.facts as usize);
        for (index, (_, step)) in problem.steps.iter().enumerate() {
            if let Step::Gen(fact) = step {
                gens.push((*fact, index as u32));
            }
        }
        gens.sort_unstable();
        let (kinds, killed) = kinds(problem);
        Self {
            problem,
            cfg,
            direction,
            budget,
            gens,
            groups: vec![0; problem.groups as usize],
            ranges,
            kinds,
            killed,
            useful: Vec::new(),
            followed: Vec::new(),
            before: vec![State::default(); cfg.len()],
        }
    }

    /// The place of a block in the order of the work.
    fn position(&self, block: BlockId) -> usize {
        let position = self.cfg.position(block) as usize;
        match self.direction {
            Direction::Forward => position,
            Direction::Backward => self.cfg.len() - 1 - position,
        }
    }

    /// The block with a place.
    fn block(&self, position: usize) -> BlockId {
        let order = self.cfg.reverse_post_order();
        match self.direction {
            Direction::Forward => order[position],
            Direction::Backward => order[order.len() - 1 - position],
        }
    }

    /// Finds out what leads to an open query, and forgets the steps behind the last one.
    pub(super) fn look_for(&mut self, answered: &[bool]) {
        let mut steps = 0;
        let (ahead, behind) = (self.direction, self.direction.reversed());
        self.useful.clear();
        self.useful.resize(self.cfg.len(), 0);
        self.followed.resize(self.cfg.len(), true);
        // From the end.
        let last = self.cfg.len() - 1;
        let mut waiting = Worklist::full(self.cfg.len());
        while let Some(position) = waiting.pop() {
            let block = self.block(last - position);
            let content = self.cfg.block(block);
            let range = self.ranges[block.index()].clone();
            steps += 1 + u64::from(range.end - range.start) + content.next(ahead).len() as u64;
            let mut useful =
                content.next(ahead).iter().fold(0, |useful, next| useful | self.useful[next.index()]);
            for (_, step) in self.problem.steps[range.start as usize..range.end as usize].iter().rev() {
                match step {
                    Step::Query(query) if !answered[query.0 as usize] => useful = u64::MAX,
                    Step::KillAll => useful = 0,
                    Step::KillGroup(group) => useful &= !self.killed[group.0 as usize],
                    Step::Query(_)
                    | Step::Discharge
                    | Step::Cover(..)
                    | Step::KillCovered
                    | Step::Kill(_)
                    | Step::Gen(_) => {}
                }
            }
            if useful != self.useful[block.index()] {
                self.useful[block.index()] = useful;
                content.next(behind).iter().for_each(|it| waiting.add(last - self.position(*it)));
            }
        }
        for (block, content) in self.cfg.blocks() {
            let followed = content.next(ahead).iter().any(|next| self.useful[next.index()] != 0);
            self.followed[block.index()] = followed;
            if !followed {
                let is_open = |index: &u32| match self.problem.steps[*index as usize].1 {
                    Step::Query(query) => !answered[query.0 as usize],
                    _ => false,
                };
                let range = &mut self.ranges[block.index()];
                range.end = range.clone().rev().find(is_open).map_or(range.start, |last| last + 1);
            }
        }
        self.budget.take(steps);
    }

    /// The bits of the facts that are of some kinds.
    fn of_kinds(&self, batch: Batch) -> impl Fn(u64) -> u64 + use<> {
        let mut bits: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        if let Batch::From(first) = batch {
            for (bit, kind) in self.kinds.iter().skip(first as usize).take(64).enumerate() {
                match bits.iter_mut().find(|(known, _)| *known == 1 << kind) {
                    Some((_, facts)) => *facts |= 1 << bit,
                    None => bits.push((1 << kind, 1 << bit)),
                }
            }
        }
        move |kinds| {
            if kinds == u64::MAX {
                return kinds;
            }
            match bits[..] {
                [] => {
                    if kinds == 0 {
                        0
                    } else {
                        u64::MAX
                    }
                }
                _ => bits.iter().filter(|(kind, _)| kinds & kind != 0).fold(0, |facts, (_, of)| facts | of),
            }
        }
    }

    /// Carries the facts of `batch` until nothing changes, then answers.
    pub(super) fn run(
        &mut self,
        batch: Batch,
        on_discharge: OnDischarge,
        related: &mut dyn FnMut(Query, Fact) -> u64,
        found: &mut dyn FnMut(Query, Fact) -> bool,
    ) {
        let facts = batch.facts();
        let of_kinds = self.of_kinds(batch);
        let mut gens: SmallVec<[u32; 16]> =
            within(&self.gens, &facts).iter().map(|(_, index)| *index).collect();
        gens.sort_unstable();
        let members = within(&self.problem.members, &facts);
        for (fact, group) in members {
            self.groups[group.0 as usize] |= batch.bit(*fact);
        }
        let mut waiting = Worklist::new(self.cfg.len());
        let mut touched: SmallVec<[BlockId; 32]> = SmallVec::new();
        for index in &gens {
            if let Some(block) = self.cfg.block_of(self.problem.steps[*index as usize].0) {
                waiting.add(self.position(block));
                touched.push(block);
            }
        }
        let entering = self.problem.entry.iter().fold(0, |bits, fact| bits | batch.bit(*fact));
        if entering != 0 {
            self.before[0].bare |= entering;
            waiting.add(self.position(BlockId(0)));
            touched.push(BlockId(0));
        }
        while let Some(position) = waiting.pop() {
            let block = self.block(position);
            if !self.budget.take(1) {
                break;
            }
            let next = self.cfg.block(block).next(self.direction);
            if next.is_empty() || self.followed.get(block.index()) == Some(&false) {
                continue;
            }
            let after = self.transfer(block, batch, on_discharge, &gens, &mut |_, _| {});
            if after.holds() == 0 {
                continue;
            }
            for &next in next {
                let useful = self.useful.get(next.index()).map_or(u64::MAX, |kinds| of_kinds(*kinds));
                let before = &mut self.before[next.index()];
                let joined = before.join(after.only(useful));
                if joined != *before {
                    *before = joined;
                    waiting.add(self.position(next));
                    touched.push(next);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let asks = |block: &&BlockId| {
            let range = &self.ranges[block.index()];
            let steps = &self.problem.steps[range.start as usize..range.end as usize];
            steps.iter().any(|(_, step)| matches!(step, Step::Query(_)))
        };
        for block in touched.iter().filter(asks) {
            self.transfer(*block, batch, on_discharge, &gens, &mut |query, state| {
                let mut rest = match batch {
                    // Of all facts as one, it cannot be said which of them are discharged.
                    Batch::All => state.holds(),
                    Batch::From(first) => state.holds() & !state.discharged & related(query, Fact(first)),
                };
                while rest != 0 {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    let first = match batch {
                        Batch::All => 0,
                        Batch::From(first) => first,
                    };
                    let done = found(query, Fact(first + bit));
                    if done || !self.budget.take(1) {
                        break;
                    }
                }
            });
        }
        for block in touched {
            self.before[block.index()] = State::default();
        }
        for (_, group) in members {
            self.groups[group.0 as usize] = 0;
        }
    }

    /// What holds behind a block; `query` is called with what holds at each query.
    fn transfer(
        &self,
        block: BlockId,
        batch: Batch,
        on_discharge: OnDischarge,
        gens: &[u32],
        query: &mut dyn FnMut(Query, State),
    ) -> State {
        let mut state = self.before[block.index()];
        let range = self.ranges[block.index()].clone();
        let mut index = range.start;
        let mut taken = 0;
        while index < range.end {
            if state.holds() == 0 {
                // Nothing happens before a fact is generated.
                match gens.get(gens.partition_point(|at| *at < index)) {
                    Some(next) if *next < range.end => index = *next,
                    _ => break,
                }
            }
            match self.problem.steps[index as usize].1 {
                Step::Query(place) => query(place, state),
                Step::Discharge if on_discharge == OnDischarge::Kill => state = State::default(),
                Step::Discharge => state.discharged |= state.holds(),
                Step::KillAll => state = State::default(),
                Step::Cover(..) | Step::Kill(_) | Step::KillGroup(_) if matches!(batch, Batch::All) => {}
                Step::Cover(group, but) => {
                    let but = but.map_or(0, |fact| batch.bit(fact));
                    let facts = state.bare & self.groups[group.0 as usize] & !but;
                    state.covered |= facts;
                    state.bare &= !facts;
                }
                Step::KillCovered => {
                    let killed = state.covered & !state.bare;
                    state.covered = 0;
                    state.discharged &= !killed;
                }
                Step::Kill(fact) => state.kill(batch.bit(fact)),
                Step::KillGroup(group) => state.kill(self.groups[group.0 as usize]),
                Step::Gen(fact) => {
                    state.bare |= batch.bit(fact);
                    // What was discharged is the one before, of an earlier iteration.
                    if self.problem.by_iteration {
                        state.discharged &= !batch.bit(fact);
                    }
                }
            }
            index += 1;
            taken += 1;
        }
        self.budget.take(taken);
        state
    }
}

/// By block, its steps.
pub(super) fn ranges(problem: &Reach, cfg: &Cfg) -> Vec<Range<u32>> {
    let mut ranges = vec![0..0; cfg.len()];
    let mut index = 0;
    for group in problem.steps.chunk_by(|a, b| a.0 == b.0 || cfg.block_of(a.0) == cfg.block_of(b.0)) {
        let end = index + group.len() as u32;
        if let Some(block) = group.first().and_then(|(instruction, _)| cfg.block_of(*instruction)) {
            ranges[block.index()] = index..end;
        }
        index = end;
    }
    ranges
}

/// By fact, its kind: the groups that kill it; by group, the kinds that it kills. Few facts need none.
fn kinds(problem: &Reach) -> (Vec<u8>, Vec<u64>) {
    let mut killed = vec![0; problem.groups as usize];
    if problem.facts <= 64 {
        return (Vec::new(), killed);
    }
    // What is in no group is like the rest.
    let mut kinds = vec![KINDS - 1; problem.facts as usize];
    let mut numbers: FxHashMap<Vec<Group>, u8> = FxHashMap::default();
    for members in problem.members.chunk_by(|a, b| a.0 == b.0) {
        let groups: Vec<Group> = members.iter().map(|(_, group)| *group).collect();
        let next = numbers.len() as u8;
        let kind = match numbers.get(&groups) {
            Some(kind) => *kind,
            None if next < KINDS - 1 => {
                for group in &groups {
                    killed[group.0 as usize] |= 1 << next;
                }
                numbers.insert(groups, next);
                next
            }
            None => continue,
        };
        kinds[members[0].0.0 as usize] = kind;
    }
    (kinds, killed)
}

/// The part of a list sorted by fact that is about these.
fn within<'a, T>(list: &'a [(Fact, T)], facts: &Range<Fact>) -> &'a [(Fact, T)] {
    let start = list.partition_point(|(fact, _)| *fact < facts.start);
    let end = list.partition_point(|(fact, _)| *fact < facts.end);
    &list[start..end]
}
