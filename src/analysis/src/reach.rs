//! What can have happened before what: the question behind every rule about ordering.
//!
//! This is a *may* dataflow problem of gen and kill. A rule says which instructions *generate* facts
//! (an `mma` was issued), which *kill* them (a wait), and where it *queries* which facts may still
//! hold. All of these are steps at instructions; one worklist carries the facts along the control
//! flow, 64 at a time, and visits only the blocks that a fact can reach. A path through a guarded
//! instruction both executes it and does not.
//!
//! A kill counts on its own path only. A *discharge* counts on all: a fact that can have been
//! discharged on some path to a query is no answer to it.

use std::cell::LazyCell;
use std::cmp::Reverse;

use smallvec::SmallVec;

use super::budget::Budget;
use super::cfg::Cfg;
pub use super::cfg::Direction;
use super::function::Function;
use super::paths::Paths;

mod feasible;
mod passed;
mod solver;

pub use feasible::Feasible;
pub use passed::{Passed, PassedWithout, are_within};

use solver::{Batch, OnDischarge, Solver, ranges};

/// What a rule may do to judge one answer, in steps of the budget.
const ANSWER: u64 = 16;

/// Something that instructions generate and that holds until one kills it, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact(pub u32);

/// A place where a rule wants to know which facts may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Query(pub u32);

/// Facts that are killed together, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(u32);

/// What happens at an instruction, in the order in which it happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Query(Query),
    /// Facts that hold are no answer from here on, whatever other paths there are.
    Discharge,
    /// Every fact is killed.
    KillAll,
    /// Those of a group that hold here are covered, but for one.
    Cover(Group, Option<Fact>),
    /// Every covered fact is killed.
    KillCovered,
    Kill(Fact),
    KillGroup(Group),
    Gen(Fact),
}

/// Judges an answer: a query and a fact that gets there in the graph, and whether a run has a path for it,
/// which is found out when it is asked. Says whether the query needs no more facts.
pub type Found<'f> = dyn FnMut(Query, Fact, &mut dyn FnMut() -> bool) -> bool + 'f;

/// A dataflow problem about one function.
#[derive(Debug, Default)]
pub struct Reach {
    steps: SmallVec<[(u32, Step); 32]>,
    /// Facts that hold when the function is entered.
    entry: Vec<Fact>,
    /// The groups that facts are in.
    members: Vec<(Fact, Group)>,
    /// Whether one answer to any query is enough.
    stop_at_first_answer: bool,
    /// Whether an answer matters only where one thread executes both.
    same_thread: bool,
    /// Whether a fact that is generated again is another one, not discharged yet.
    by_iteration: bool,
    /// Queries that need no answer.
    closed: Vec<Query>,
    facts: u32,
    queries: u32,
    groups: u32,
}

impl Reach {
    fn step(&mut self, step: (u32, Step)) {
        self.steps.push(step);
    }

    /// A new fact, which nothing generates yet.
    pub fn fact(&mut self) -> Fact {
        self.facts += 1;
        Fact(self.facts - 1)
    }

    /// `fact` holds behind `instruction`.
    pub fn generate(&mut self, instruction: u32, fact: Fact) {
        self.step((instruction, Step::Gen(fact)));
    }

    /// `fact` holds where the function is entered.
    pub fn generate_at_entry(&mut self, fact: Fact) {
        self.entry.push(fact);
    }

    /// `fact` does not hold behind `instruction`.
    pub fn kill(&mut self, instruction: u32, fact: Fact) {
        self.step((instruction, Step::Kill(fact)));
    }

    /// A new group, without members yet.
    pub fn group(&mut self) -> Group {
        self.groups += 1;
        Group(self.groups - 1)
    }

    /// `fact` is killed where `group` is.
    pub fn join(&mut self, fact: Fact, group: Group) {
        self.members.push((fact, group));
    }

    /// No fact of `group` holds behind `instruction`.
    pub fn kill_group(&mut self, instruction: u32, group: Group) {
        self.step((instruction, Step::KillGroup(group)));
    }

    /// No fact holds behind `instruction`.
    pub fn kill_all(&mut self, instruction: u32) {
        self.step((instruction, Step::KillAll));
    }

    /// What holds of `group` at `instruction`, other than `but`, is covered from there on.
    pub fn cover(&mut self, instruction: u32, group: Group, but: Option<Fact>) {
        self.step((instruction, Step::Cover(group, but)));
    }

    /// No fact that was covered on the way holds behind `instruction`.
    pub fn kill_covered(&mut self, instruction: u32) {
        self.step((instruction, Step::KillCovered));
    }

    /// What can have held at `instruction` is no answer from there on, whatever other paths there are.
    pub fn discharge(&mut self, instruction: u32) {
        self.step((instruction, Step::Discharge));
    }

    /// Which facts may hold just before `instruction`?
    pub fn query(&mut self, instruction: u32) -> Query {
        self.queries += 1;
        self.step((instruction, Step::Query(Query(self.queries - 1))));
        Query(self.queries - 1)
    }

    /// Once one query has an answer, the others need none.
    pub fn stop_at_first_answer(&mut self) {
        self.stop_at_first_answer = true;
    }

    /// A query needs no answer.
    pub fn close(&mut self, query: Query) {
        self.closed.push(query);
    }

    /// Whether nothing is killed or discharged.
    pub fn only_generates(&self) -> bool {
        self.entry.is_empty() && self.steps.iter().all(|(_, it)| matches!(it, Step::Gen(_) | Step::Query(_)))
    }

    /// A discharge counts up to where the fact is generated again: that one is discharged by itself.
    pub fn discharge_by_iteration(&mut self) {
        self.by_iteration = true;
    }

    /// A fact matters to a query only where the thread that generates it gets to the query.
    pub fn same_thread(&mut self) {
        self.same_thread = true;
    }

    /// Answers the queries: `found` is called with facts that may hold and were discharged on no path,
    /// and returns true when it needs no more facts for this query.
    pub fn solve(
        self,
        cfg: &Cfg,
        direction: Direction,
        budget: &Budget,
        found: &mut dyn FnMut(Query, Fact) -> bool,
    ) {
        self.solve_related(cfg, direction, budget, &mut |_, _| u64::MAX, found);
    }

    /// The same, where most facts do not matter to most queries: `related` says which of 64 facts, one
    /// bit for each from the given one on, matter to a query. `found` is not called with the others.
    pub fn solve_related(
        mut self,
        cfg: &Cfg,
        direction: Direction,
        budget: &Budget,
        related: &mut dyn FnMut(Query, Fact) -> u64,
        found: &mut dyn FnMut(Query, Fact) -> bool,
    ) {
        self.sort(direction);
        self.answer(cfg, direction, budget, related, found);
    }

    /// The same forward, where `found` can ask whether a run takes a path from a fact to a query.
    /// Those are few that matter otherwise, so that it is asked last.
    pub fn solve_feasible<'a>(
        mut self,
        function: Function<'a>,
        paths: impl FnOnce() -> &'a Paths,
        related: &mut dyn FnMut(Query, Fact) -> u64,
        found: &mut Found<'_>,
    ) {
        self.sort(Direction::Forward);
        let paths = LazyCell::new(paths);
        let mut feasible: Option<Feasible<'_>> = None;
        self.answer(function.cfg, Direction::Forward, function.budget, related, &mut |query, fact| {
            found(query, fact, &mut || {
                let feasible = feasible.get_or_insert_with(|| Feasible::new(&self, function, *paths));
                feasible.reaches(fact, query)
            })
        });
    }

    fn sort(&mut self, direction: Direction) {
        self.steps.sort_unstable();
        self.steps.dedup();
        self.members.sort_unstable();
        if direction == Direction::Backward {
            // Of one instruction, the steps keep their order.
            self.steps.sort_by_key(|(instruction, _)| Reverse(*instruction));
        }
    }

    fn answer(
        &self,
        cfg: &Cfg,
        direction: Direction,
        budget: &Budget,
        related: &mut dyn FnMut(Query, Fact) -> u64,
        found: &mut dyn FnMut(Query, Fact) -> bool,
    ) {
        if self.facts == 0 || self.queries == 0 || !budget.take(self.steps.len() as u64) {
            return;
        }
        let mut solver = Solver::new(self, cfg, direction, budget);
        if self.facts > 64 {
            // Most of the time nothing is wrong, and one pass with all facts as one shows it.
            let mut hit = false;
            solver.run(Batch::All, OnDischarge::Kill, &mut |_, _| u64::MAX, &mut |_, _| {
                hit = true;
                true
            });
            if !hit {
                return;
            }
        }
        let has_discharges = self.steps.iter().any(|(_, step)| *step == Step::Discharge);
        let mut answered = vec![false; self.queries as usize];
        self.closed.iter().for_each(|query| answered[query.0 as usize] = true);
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
            let batch = Batch::From(first);
            if has_discharges {
                // Nearly all facts that get to a query are discharged on the way, and they travel far.
                let mut hit = false;
                solver.run(batch, OnDischarge::Kill, related, &mut |query, _| {
                    hit |= !answered[query.0 as usize];
                    true
                });
                if !hit {
                    continue;
                }
            }
            solver.run(batch, OnDischarge::Track, related, &mut |query, fact| {
                if !answered[query.0 as usize] {
                    budget.take(ANSWER);
                    answered[query.0 as usize] = found(query, fact);
                    if answered[query.0 as usize] {
                        open -= 1;
                        if self.stop_at_first_answer {
                            answered.fill(true);
                            open = 0;
                        }
                    }
                }
                answered[query.0 as usize]
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Generates a fact at each `mov r, 1` and queries at each `mov r, 0`; `membar` kills, `fence`
    /// discharges.
    fn answers(body: &str) -> Vec<(u32, u32)> {
        answers_to(Reach::default(), body)
    }

    fn answers_to(mut reach: Reach, body: &str) -> Vec<(u32, u32)> {
        let text =
            format!(".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p; .reg .b32 r; {body} }}");
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, function) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
        for (index, raw) in module.instructions.iter().enumerate() {
            let index = index as u32;
            let last = module.operands(raw.operands).last().map(|operand| source.slice(operand.span()));
            match (source.slice(raw.opcode), last) {
                ("mov.b32", Some("1")) => {
                    let fact = reach.fact();
                    reach.generate(index, fact);
                }
                ("mov.b32", _) => {
                    reach.query(index);
                }
                ("membar.cta", _) => reach.kill_all(index),
                ("fence.sc.cta", _) => reach.discharge(index),
                _ => {}
            }
        }
        let mut found = Vec::new();
        reach.solve(&cfg, Direction::Forward, &Budget::default(), &mut |query, fact| {
            found.push((query.0, fact.0));
            false
        });
        found.sort_unstable();
        found
    }

    const GEN: &str = "mov.b32 r, 1;";
    const QUERY: &str = "mov.b32 r, 0;";

    #[test]
    fn straight_lines() {
        assert_eq!(answers(&format!("{QUERY} {GEN} {QUERY}")), [(1, 0)]);
        assert_eq!(answers(&format!("{GEN} membar.cta; {QUERY}")), []);
        assert_eq!(answers(&format!("{GEN} fence.sc.cta; {QUERY}")), []);
    }

    #[test]
    fn branches_and_loops() {
        assert_eq!(answers(&format!("{GEN} @p bra L; membar.cta; L: {QUERY}")), [(0, 0)]);
        assert_eq!(answers(&format!("L: {QUERY} {GEN} @p bra L; ret;")), [(0, 0)]);
        assert_eq!(answers(&format!("@p bra L; {GEN} ret; L: {QUERY}")), []);
        assert_eq!(answers(&format!("{GEN} @p bra L; fence.sc.cta; L: {QUERY}")), []);
        let body = format!("L: {GEN} {QUERY} fence.sc.cta; @p bra L; ret;");
        assert_eq!(answers(&body), []);
        // What is discharged at the end of an iteration is the one of this iteration.
        let by_iteration = |body: &str| {
            let mut reach = Reach::default();
            reach.discharge_by_iteration();
            answers_to(reach, body)
        };
        assert_eq!(by_iteration(&body), [(0, 0)]);
        assert_eq!(by_iteration(&format!("L: {QUERY} {GEN} fence.sc.cta; @p bra L; ret;")), []);
    }

    #[test]
    fn more_facts_than_bits() {
        let body = format!("{} {QUERY} membar.cta; {QUERY}", GEN.repeat(150));
        let expected: Vec<_> = (0..150).map(|fact| (0, fact)).collect();
        assert_eq!(answers(&body), expected);
    }
}
