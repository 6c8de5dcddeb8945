//! What can have happened before what: the question behind every rule about ordering.
//!
//! A rule says where facts *start* (an `mma` was issued), where they *end* (a wait), and where it
//! *asks* which of them may still hold. All of that is laid out as steps at instructions; one
//! worklist carries the facts along the control flow, 64 at a time, and visits only the blocks
//! that a fact can reach. A path that goes through a guarded instruction both executes it and
//! does not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::budget::Budget;
use super::cfg::{BlockId, Cfg};

/// What a rule may do to judge one answer, in steps of the budget.
const ANSWER: u64 = 16;

/// Something that starts somewhere and holds until it ends, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact(pub u32);

/// A place where a rule wants to know which facts may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask(pub u32);

/// Facts that end together, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(u32);

/// What happens at an instruction, in the order in which it happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Ask(Ask),
    /// Facts that hold are no answer from here on.
    Mark,
    /// Every fact ends.
    Stop,
    /// Those of a group that hold here are covered, but for one.
    Cover(Group, Option<Fact>),
    /// Every covered fact ends.
    EndCovered,
    End(Fact),
    EndGroup(Group),
    Start(Fact),
}

/// Which way facts travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// With the flow: what has happened.
    Forward,
    /// Against it: what will happen.
    Backward,
}

/// A question about one function.
#[derive(Debug, Default)]
pub struct Reach {
    steps: Vec<(u32, Step)>,
    /// Facts that hold when the function is entered.
    entry: Vec<Fact>,
    /// The groups that facts are in.
    members: Vec<(Fact, Group)>,
    facts: u32,
    asks: u32,
    groups: u32,
}

/// Facts that hold, by whether something covers them on the way, and those of them that can have
/// gone past a mark; one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    bare: u64,
    covered: u64,
    marked: u64,
}

impl State {
    fn holds(self) -> u64 {
        self.bare | self.covered
    }

    fn end(&mut self, facts: u64) {
        self.bare &= !facts;
        self.covered &= !facts;
        self.marked &= !facts;
    }

    fn join(self, other: Self) -> Self {
        Self {
            bare: self.bare | other.bare,
            covered: self.covered | other.covered,
            marked: self.marked | other.marked,
        }
    }
}

impl Reach {
    /// A fact of its own, that starts nowhere yet.
    pub fn fact(&mut self) -> Fact {
        self.facts += 1;
        Fact(self.facts - 1)
    }

    /// `fact` holds behind `instruction`.
    pub fn start(&mut self, instruction: u32, fact: Fact) {
        self.steps.push((instruction, Step::Start(fact)));
    }

    /// `fact` holds where the function is entered.
    pub fn start_at_entry(&mut self, fact: Fact) {
        self.entry.push(fact);
    }

    /// `fact` does not hold behind `instruction`.
    pub fn end(&mut self, instruction: u32, fact: Fact) {
        self.steps.push((instruction, Step::End(fact)));
    }

    /// A group without members yet.
    pub fn group(&mut self) -> Group {
        self.groups += 1;
        Group(self.groups - 1)
    }

    /// `fact` ends where `group` does.
    pub fn join(&mut self, fact: Fact, group: Group) {
        self.members.push((fact, group));
    }

    /// No fact of `group` holds behind `instruction`.
    pub fn end_group(&mut self, instruction: u32, group: Group) {
        self.steps.push((instruction, Step::EndGroup(group)));
    }

    /// No fact holds behind `instruction`.
    pub fn stop(&mut self, instruction: u32) {
        self.steps.push((instruction, Step::Stop));
    }

    /// What holds of `group` at `instruction`, other than `but`, is covered from there on.
    pub fn cover(&mut self, instruction: u32, group: Group, but: Option<Fact>) {
        self.steps.push((instruction, Step::Cover(group, but)));
    }

    /// No fact that was covered on the way holds behind `instruction`.
    pub fn end_covered(&mut self, instruction: u32) {
        self.steps.push((instruction, Step::EndCovered));
    }

    /// What can have held at `instruction` is no answer from there on.
    pub fn mark(&mut self, instruction: u32) {
        self.steps.push((instruction, Step::Mark));
    }

    /// Which facts may hold just before `instruction`?
    pub fn ask(&mut self, instruction: u32) -> Ask {
        self.asks += 1;
        self.steps.push((instruction, Step::Ask(Ask(self.asks - 1))));
        Ask(self.asks - 1)
    }

    /// Answers the questions: `found` is called with facts that may hold and went past no mark, and
    /// returns true when it needs no more facts for this place.
    pub fn solve(
        mut self,
        cfg: &Cfg,
        direction: Direction,
        budget: &Budget,
        found: &mut dyn FnMut(Ask, Fact) -> bool,
    ) {
        if self.facts == 0 || self.asks == 0 || !budget.take(self.steps.len() as u64) {
            return;
        }
        self.steps.sort_unstable();
        self.steps.dedup();
        self.members.sort_unstable();
        if direction == Direction::Backward {
            // Of one instruction, the steps keep their order.
            self.steps.sort_by_key(|(instruction, _)| Reverse(*instruction));
        }
        let mut solver = Solver::new(&self, cfg, direction, budget);
        if self.facts > 64 {
            // Most of the time nothing is wrong: one pass with all facts as one says so.
            let mut hit = false;
            solver.run(Lanes::All, &mut |_, _| {
                hit = true;
                true
            });
            if !hit {
                return;
            }
        }
        let mut answered = vec![false; self.asks as usize];
        let (mut open, mut looked_for) = (self.asks, self.asks);
        for first in (0..self.facts).step_by(64) {
            if open == 0 || budget.is_spent() {
                break;
            }
            // Looking again whenever half of them are answered takes as long as looking for all twice.
            if open <= looked_for / 2 {
                solver.look_for(&answered);
                looked_for = open;
            }
            solver.run(Lanes::From(first), &mut |ask, fact| {
                let answered = &mut answered[ask.0 as usize];
                if !*answered {
                    budget.take(ANSWER);
                    *answered = found(ask, fact);
                    open -= u32::from(*answered);
                }
                *answered
            });
        }
    }
}

/// Which facts the bits of a state stand for.
#[derive(Clone, Copy)]
enum Lanes {
    /// Bit 0 for all of them; none ends by itself.
    All,
    /// 64 facts from this one on.
    From(u32),
}

impl Lanes {
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
                Some(lane @ 0..64) => 1 << lane,
                _ => 0,
            },
        }
    }
}

struct Solver<'a> {
    question: &'a Reach,
    cfg: &'a Cfg,
    direction: Direction,
    budget: &'a Budget,
    /// Where each fact starts, by fact: indices of steps.
    starts: Vec<(Fact, u32)>,
    /// By group: the bits of its facts in this run.
    groups: Vec<u64>,
    /// By block: its steps, as far as they matter: up to the last question that is open, or all if
    /// there is one behind it.
    ranges: Vec<Range<u32>>,
    /// By block: whether a question that is open can follow.
    followed: Vec<bool>,
    /// By block: its place in the order of the work.
    position: Vec<u32>,
    /// By block: what holds where it is entered.
    before: Vec<State>,
}

impl<'a> Solver<'a> {
    fn new(question: &'a Reach, cfg: &'a Cfg, direction: Direction, budget: &'a Budget) -> Self {
        let mut ranges = vec![0..0; cfg.len()];
        let mut index = 0;
        for group in question.steps.chunk_by(|a, b| a.0 == b.0 || cfg.block_of(a.0) == cfg.block_of(b.0)) {
            let end = index + group.len() as u32;
            if let Some(block) = group.first().and_then(|(instruction, _)| cfg.block_of(*instruction)) {
                ranges[block.index()] = index..end;
            }
            index = end;
        }
        let mut position = vec![0; cfg.len()];
        let order = cfg.reverse_post_order();
        for (at, block) in order.iter().enumerate() {
            position[block.index()] = match direction {
                Direction::Forward => at as u32,
                Direction::Backward => (order.len() - at) as u32,
            };
        }
        let mut starts: Vec<(Fact, u32)> = Vec::with_capacity(question.facts as usize);
        for (index, (_, step)) in question.steps.iter().enumerate() {
            if let Step::Start(fact) = step {
                starts.push((*fact, index as u32));
            }
        }
        starts.sort_unstable();
        Self {
            question,
            cfg,
            direction,
            budget,
            starts,
            groups: vec![0; question.groups as usize],
            ranges,
            followed: vec![true; cfg.len()],
            position,
            before: vec![State::default(); cfg.len()],
        }
    }

    /// Forgets the steps behind which no question is open.
    fn look_for(&mut self, answered: &[bool]) {
        let mut work = Vec::new();
        self.followed.fill(false);
        let mut steps = 0;
        for (block, _) in self.cfg.blocks() {
            let range = self.ranges[block.index()].clone();
            steps += 1 + u64::from(range.end - range.start);
            let is_open =
                |(_, step): &(u32, Step)| matches!(step, Step::Ask(ask) if !answered[ask.0 as usize]);
            if self.question.steps[range.start as usize..range.end as usize].iter().any(is_open) {
                work.push(block);
            }
        }
        let mut leads = vec![false; self.cfg.len()];
        work.iter().for_each(|block| leads[block.index()] = true);
        while let Some(block) = work.pop() {
            let before = match self.direction {
                Direction::Forward => &self.cfg.block(block).predecessors,
                Direction::Backward => &self.cfg.block(block).successors,
            };
            steps += before.len() as u64;
            for before in before {
                self.followed[before.index()] = true;
                if !std::mem::replace(&mut leads[before.index()], true) {
                    work.push(*before);
                }
            }
        }
        for (range, followed) in self.ranges.iter_mut().zip(&self.followed) {
            if *followed {
                continue;
            }
            let is_open = |index: &u32| matches!(self.question.steps[*index as usize].1, Step::Ask(ask) if !answered[ask.0 as usize]);
            range.end = range.clone().rev().find(is_open).map_or(range.start, |last| last + 1);
        }
        self.budget.take(steps);
    }

    /// Carries the facts of `lanes` until nothing changes, then answers.
    fn run(&mut self, lanes: Lanes, found: &mut dyn FnMut(Ask, Fact) -> bool) {
        let facts = lanes.facts();
        let mut starts: Vec<u32> = within(&self.starts, &facts).iter().map(|(_, index)| *index).collect();
        starts.sort_unstable();
        let members = within(&self.question.members, &facts);
        for (fact, group) in members {
            self.groups[group.0 as usize] |= lanes.bit(*fact);
        }
        let mut waiting = BinaryHeap::new();
        let mut touched = Vec::new();
        for index in &starts {
            if let Some(block) = self.cfg.block_of(self.question.steps[*index as usize].0) {
                waiting.push(Reverse((self.position[block.index()], block)));
                touched.push(block);
            }
        }
        let entering = self.question.entry.iter().fold(0, |bits, fact| bits | lanes.bit(*fact));
        if entering != 0 {
            self.before[0].bare |= entering;
            waiting.push(Reverse((self.position[0], BlockId(0))));
            touched.push(BlockId(0));
        }
        while let Some(Reverse((position, block))) = waiting.pop() {
            while waiting.peek() == Some(&Reverse((position, block))) {
                waiting.pop();
            }
            if !self.budget.take(1) {
                break;
            }
            let after = self.transfer(block, lanes, &starts, &mut |_, _| {});
            if after.holds() == 0 || !self.followed[block.index()] {
                continue;
            }
            let next = match self.direction {
                Direction::Forward => &self.cfg.block(block).successors,
                Direction::Backward => &self.cfg.block(block).predecessors,
            };
            for &next in next {
                let before = &mut self.before[next.index()];
                let joined = before.join(after);
                if joined != *before {
                    *before = joined;
                    waiting.push(Reverse((self.position[next.index()], next)));
                    touched.push(next);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for block in &touched {
            self.transfer(*block, lanes, &starts, &mut |ask, state| {
                let mut rest = match lanes {
                    // Of all facts as one, it cannot be said which of them are marked.
                    Lanes::All => state.holds(),
                    Lanes::From(_) => state.holds() & !state.marked,
                };
                while rest != 0 {
                    let lane = rest.trailing_zeros();
                    rest &= rest - 1;
                    let first = match lanes {
                        Lanes::All => 0,
                        Lanes::From(first) => first,
                    };
                    let done = found(ask, Fact(first + lane));
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

    /// What holds behind a block; `ask` is called with what holds at each question.
    fn transfer(
        &self,
        block: BlockId,
        lanes: Lanes,
        starts: &[u32],
        ask: &mut dyn FnMut(Ask, State),
    ) -> State {
        let mut state = self.before[block.index()];
        let range = self.ranges[block.index()].clone();
        let mut index = range.start;
        let mut taken = 0;
        while index < range.end {
            if state.holds() == 0 {
                // Nothing happens before the next start.
                match starts.get(starts.partition_point(|start| *start < index)) {
                    Some(start) if *start < range.end => index = *start,
                    _ => break,
                }
            }
            match self.question.steps[index as usize].1 {
                Step::Ask(place) => ask(place, state),
                Step::Mark => state.marked |= state.holds(),
                Step::Stop => state = State::default(),
                Step::Cover(..) | Step::End(_) | Step::EndGroup(_) if matches!(lanes, Lanes::All) => {}
                Step::Cover(group, but) => {
                    let but = but.map_or(0, |fact| lanes.bit(fact));
                    let facts = state.bare & self.groups[group.0 as usize] & !but;
                    state.covered |= facts;
                    state.bare &= !facts;
                }
                Step::EndCovered => {
                    let ended = state.covered & !state.bare;
                    state.covered = 0;
                    state.marked &= !ended;
                }
                Step::End(fact) => state.end(lanes.bit(fact)),
                Step::EndGroup(group) => state.end(self.groups[group.0 as usize]),
                Step::Start(fact) => state.bare |= lanes.bit(fact),
            }
            index += 1;
            taken += 1;
        }
        self.budget.take(taken);
        state
    }
}

/// What a list that is sorted by fact says of these.
fn within<'a, T>(list: &'a [(Fact, T)], facts: &Range<Fact>) -> &'a [(Fact, T)] {
    let start = list.partition_point(|(fact, _)| *fact < facts.start);
    let end = list.partition_point(|(fact, _)| *fact < facts.end);
    &list[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Starts a fact at each `mov r, 1`, stops at `membar`, marks at `fence`, asks at each `mov r, 0`.
    fn answers(body: &str) -> Vec<(u32, u32)> {
        let text =
            format!(".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; .reg .b32 r; {body} }}");
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, function) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        let mut reach = Reach::default();
        for (index, raw) in module.instructions.iter().enumerate() {
            let index = index as u32;
            let last = module.operands(raw.operands).last().map(|operand| source.slice(operand.span()));
            match (source.slice(raw.opcode), last) {
                ("mov.b32", Some("1")) => {
                    let fact = reach.fact();
                    reach.start(index, fact);
                }
                ("mov.b32", _) => {
                    reach.ask(index);
                }
                ("membar.cta", _) => reach.stop(index),
                ("fence.sc.cta", _) => reach.mark(index),
                _ => {}
            }
        }
        let mut found = Vec::new();
        reach.solve(&cfg, Direction::Forward, &Budget::default(), &mut |ask, fact| {
            found.push((ask.0, fact.0));
            false
        });
        found.sort_unstable();
        found
    }

    const START: &str = "mov.b32 r, 1;";
    const ASK: &str = "mov.b32 r, 0;";

    #[test]
    fn straight_lines_and_stops() {
        assert_eq!(answers(&format!("{ASK} {START} {ASK}")), [(1, 0)]);
        assert_eq!(answers(&format!("{START} membar.cta; {ASK}")), []);
        assert_eq!(answers(&format!("{START} fence.sc.cta; {ASK}")), []);
    }

    #[test]
    fn branches_and_loops() {
        assert_eq!(answers(&format!("{START} @p bra L; membar.cta; L: {ASK}")), [(0, 0)]);
        assert_eq!(answers(&format!("L: {ASK} {START} @p bra L; ret;")), [(0, 0)]);
        assert_eq!(answers(&format!("@p bra L; {START} ret; L: {ASK}")), []);
        assert_eq!(answers(&format!("{START} @p bra L; fence.sc.cta; L: {ASK}")), []);
    }

    #[test]
    fn more_facts_than_bits() {
        let body = format!("{} {ASK} membar.cta; {ASK}", START.repeat(150));
        let expected: Vec<_> = (0..150).map(|fact| (0, fact)).collect();
        assert_eq!(answers(&body), expected);
    }
}
