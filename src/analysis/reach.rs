//! What can have happened before what: the question behind every rule about ordering.
//!
//! A rule says where facts *start* (an `mma` was issued), where they *end* (a wait), and where it
//! *asks* which of them may still hold. All of that is laid out as steps at instructions; one
//! worklist carries the facts along the control flow, 64 at a time, and visits only the blocks
//! that a fact can reach. A path that goes through a guarded instruction both executes it and
//! does not.

use std::cmp::Reverse;

use super::budget::Budget;
use super::cfg::Cfg;

mod solver;

use solver::{Lanes, Marks, Solver};

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
    /// Whether one answer to any question ends all of them.
    one_is_enough: bool,
    /// Questions that need no answer.
    closed: Vec<Ask>,
    facts: u32,
    asks: u32,
    groups: u32,
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

    /// Once one question has an answer, the others need none.
    pub fn one_is_enough(&mut self) {
        self.one_is_enough = true;
    }

    /// No answer to a question matters.
    pub fn close(&mut self, ask: Ask) {
        self.closed.push(ask);
    }

    /// Answers the questions: `found` is called with facts that may hold and went past no mark, and
    /// returns true when it needs no more facts for this place.
    pub fn solve(
        self,
        cfg: &Cfg,
        direction: Direction,
        budget: &Budget,
        found: &mut dyn FnMut(Ask, Fact) -> bool,
    ) {
        self.solve_related(cfg, direction, budget, &mut |_, _| u64::MAX, found);
    }

    /// The same, where most facts do not matter to most questions: `related` says which of 64 facts,
    /// one bit for each from one on, matter to a question. The others are not called.
    pub fn solve_related(
        mut self,
        cfg: &Cfg,
        direction: Direction,
        budget: &Budget,
        related: &mut dyn FnMut(Ask, Fact) -> u64,
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
            solver.run(Lanes::All, Marks::End, &mut |_, _| u64::MAX, &mut |_, _| {
                hit = true;
                true
            });
            if !hit {
                return;
            }
        }
        let has_marks = self.steps.iter().any(|(_, step)| *step == Step::Mark);
        let mut answered = vec![false; self.asks as usize];
        self.closed.iter().for_each(|ask| answered[ask.0 as usize] = true);
        let mut open = answered.iter().filter(|answered| !**answered).count() as u32;
        // Looking again whenever half of them are answered takes as long as looking for all twice.
        let mut look_at = if self.facts > 64 { open } else { 0 };
        for first in (0..self.facts).step_by(64) {
            if open == 0 || budget.is_spent() {
                break;
            }
            if open <= look_at {
                solver.look_for(&answered);
                look_at = open / 2;
            }
            let lanes = Lanes::From(first);
            if has_marks {
                // What gets nowhere but past a mark is nearly everything, and travels far.
                let mut hit = false;
                solver.run(lanes, Marks::End, related, &mut |ask, _| {
                    hit |= !answered[ask.0 as usize];
                    true
                });
                if !hit {
                    continue;
                }
            }
            solver.run(lanes, Marks::Count, related, &mut |ask, fact| {
                if !answered[ask.0 as usize] {
                    budget.take(ANSWER);
                    answered[ask.0 as usize] = found(ask, fact);
                    if answered[ask.0 as usize] {
                        open -= 1;
                        if self.one_is_enough {
                            answered.fill(true);
                            open = 0;
                        }
                    }
                }
                answered[ask.0 as usize]
            });
        }
    }
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
