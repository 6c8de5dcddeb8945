//! Whether a fact gets to a query on a path that a run can take.
//!
//! The [solver](super::solver) carries many facts at once and knows the graph only. What it finds, and a
//! rule would report, is looked at again here: one fact is carried from where it is generated, together
//! with what is [known](Knowledge) on the way. Nearly all kernels have nothing to look at.
//!
//! What one thread generates can matter to a query of another one. No path leads from one to the other
//! then: the query's thread left the fact's where their ways parted, and nothing orders them if it gets
//! to the query from there without a kill.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{Fact, Group, Query, Reach, Step, ranges};
use crate::cfg::BlockId;
use crate::function::Function;
use crate::paths::{Allowance, Entered, Knowledge, Paths};
use crate::walks::Walk;

/// Follows the facts of one problem.
pub struct Feasible<'a> {
    problem: &'a Reach,
    function: Function<'a>,
    paths: &'a Paths,
    allowance: Allowance<'a>,
    /// By block: its steps.
    ranges: Vec<Range<u32>>,
    /// Where facts are generated.
    generated: FxHashMap<Fact, SmallVec<[u32; 1]>>,
    /// Where queries are.
    asked: FxHashMap<Query, u32>,
    /// By fact that was followed: the queries that it gets to.
    found: FxHashMap<Fact, FxHashSet<Query>>,
    /// By fact, and where another thread's way parts from that of the fact's: the queries that this
    /// thread gets to.
    parted: FxHashMap<(Fact, BlockId), FxHashSet<Query>>,
    /// By fact: the queries that a thread gets to whose guard keeps it from generating it.
    passed_by: FxHashMap<Fact, FxHashSet<Query>>,
}

/// What a path has gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Passed {
    /// Something covers the fact.
    covers: bool,
    /// Another thread has met a discharge.
    discharges: bool,
}

/// A place on a path.
struct Way {
    block: BlockId,
    /// The instruction to go on with.
    from: u32,
    passed: Passed,
    knowledge: Knowledge,
}

/// A fact that is being followed.
struct Followed {
    fact: Fact,
    groups: Vec<Group>,
    /// Whether this is another thread's way, which a discharge does not end.
    is_other: bool,
    found: FxHashSet<Query>,
    /// The queries that are reached behind a discharge.
    discharged: FxHashSet<Query>,
}

impl<'a> Feasible<'a> {
    /// Nothing is followed yet. The steps of the problem are sorted.
    pub(super) fn new(problem: &'a Reach, function: Function<'a>, paths: &'a Paths) -> Self {
        let cfg = function.cfg;
        let mut generated: FxHashMap<Fact, SmallVec<[u32; 1]>> = FxHashMap::default();
        let mut asked = FxHashMap::default();
        for (instruction, step) in &problem.steps {
            match step {
                Step::Gen(fact) => generated.entry(*fact).or_default().push(*instruction),
                Step::Query(query) => {
                    asked.insert(*query, *instruction);
                }
                Step::Discharge
                | Step::KillAll
                | Step::Cover(..)
                | Step::KillCovered
                | Step::Kill(_)
                | Step::KillGroup(_) => {}
            }
        }
        Self {
            generated,
            asked,
            problem,
            function,
            paths,
            allowance: Allowance::new(cfg, function.budget),
            ranges: ranges(problem, cfg),
            found: FxHashMap::default(),
            parted: FxHashMap::default(),
            passed_by: FxHashMap::default(),
        }
    }

    /// Whether a fact can get to a query; it can, where that is too much to find out.
    pub(super) fn reaches(&mut self, fact: Fact, query: Query) -> bool {
        if self.paths.is_trivial() {
            return true;
        }
        if !self.found.contains_key(&fact) {
            let begin = self.begin(fact);
            let Some(found) = self.follow(fact, begin, false) else { return true };
            self.found.insert(fact, found);
        }
        self.found[&fact].contains(&query) || !self.problem.same_thread && self.is_parted(fact, query)
    }

    /// Whether a thread gets to a query that is not the one that generates a fact.
    fn is_parted(&mut self, fact: Fact, query: Query) -> bool {
        let cfg = self.function.cfg;
        let block = |instruction: Option<&u32>| cfg.block_of(*instruction?);
        let from = block(self.generated.get(&fact).and_then(|all| all.first()));
        let (Some(from), Some(to)) = (from, block(self.asked.get(&query))) else { return false };
        let mut parting = None;
        for above in cfg.dominating(from) {
            if !self.allowance.take(1) {
                return true;
            }
            // Where all threads go the same way, they do not part.
            let go_together = above != from && self.go_together(above);
            if cfg.dominates(above, to) {
                if !go_together {
                    parting = Some(above);
                    break;
                }
                // Who gets to the query was here, too, and then where the fact is generated.
                if self.go_together_between(above, from) {
                    return self.passing_by(fact).is_some_and(|found| found.contains(&query));
                }
            }
        }
        let Some(parting) = parting else { return false };
        if parting == from
            && let Some(found) = self.passing_by(fact)
        {
            return found.contains(&query);
        }
        if !self.parted.contains_key(&(fact, parting)) {
            let from = cfg.block(parting).instructions.end;
            let begin = self.begin(fact).into_iter().filter_map(|way| {
                let mut knowledge = self.paths.entering(parting)?.clone();
                self.paths.pass(&mut knowledge, cfg.block(parting).instructions.clone());
                let known = self.paths.of_all_threads(&way.knowledge);
                let is_possible = self.paths.know_both(&mut knowledge, &known);
                is_possible.then(|| Way { block: parting, from, passed: Passed::default(), knowledge })
            });
            let begin = begin.collect();
            let Some(found) = self.follow(fact, begin, true) else { return true };
            self.parted.insert((fact, parting), found);
        }
        self.parted[&(fact, parting)].contains(&query)
    }

    /// Whether all threads of a CTA that leave a block go the same way.
    fn go_together(&self, block: BlockId) -> bool {
        let content = self.function.cfg.block(block);
        content.branch.map_or(content.successors.len() < 2, |branch| self.paths.is_alike(branch))
    }

    /// Whether all threads that leave a block together get together to one that it dominates, or none of them
    /// does.
    fn go_together_between(&mut self, above: BlockId, to: BlockId) -> bool {
        let cfg = self.function.cfg;
        let before = |block: BlockId| {
            let all = cfg.block(block).predecessors.iter().copied();
            all.filter(|it| *it != above && cfg.is_reachable(*it))
        };
        let mut between = Walk::new(self.function.budget, before(to));
        while let Some(block) = between.pop() {
            if !self.allowance.take(1) || block == to || !self.go_together(block) {
                return false;
            }
            between.extend(before(block));
        }
        between.is_complete()
    }

    /// The queries that a thread gets to which comes to where a fact is generated, and whose guard keeps it
    /// from generating it; `None` where there is no such thread, or that is too much.
    fn passing_by(&mut self, fact: Fact) -> Option<&FxHashSet<Query>> {
        let Function { unit, cfg, .. } = self.function;
        let &instruction = self.generated.get(&fact)?.first()?;
        let block = cfg.block_of(instruction)?;
        unit.module.guard(&unit.module.instructions[instruction as usize])?;
        if !self.passed_by.contains_key(&fact) {
            let begin = self.begin(fact).into_iter().filter_map(|way| {
                let mut knowledge = self.paths.entering(block)?.clone();
                self.paths.pass(&mut knowledge, cfg.block(block).instructions.start..instruction);
                let is_possible = self.paths.learn(instruction, false, &mut knowledge)
                    && self.paths.know_both(&mut knowledge, &self.paths.of_all_threads(&way.knowledge));
                is_possible.then(|| Way {
                    block,
                    from: instruction + 1,
                    passed: Passed::default(),
                    knowledge,
                })
            });
            let begin = begin.collect();
            let found = self.follow(fact, begin, true)?;
            self.passed_by.insert(fact, found);
        }
        self.passed_by.get(&fact)
    }

    /// Where a fact is generated, and what is known there.
    fn begin(&self, fact: Fact) -> Vec<Way> {
        let cfg = self.function.cfg;
        let passed = Passed::default();
        let mut begin = Vec::new();
        for instruction in self.generated.get(&fact).into_iter().flatten() {
            if let Some(block) = cfg.block_of(*instruction)
                && let Some(knowledge) = self.paths.entering(block)
            {
                let mut knowledge = knowledge.clone();
                self.paths.pass(&mut knowledge, cfg.block(block).instructions.start..*instruction);
                if self.paths.learn(*instruction, true, &mut knowledge) {
                    self.paths.pass(&mut knowledge, *instruction..*instruction + 1);
                    begin.push(Way { block, from: *instruction + 1, passed, knowledge });
                }
            }
        }
        if self.problem.entry.contains(&fact) {
            let from = cfg.block(BlockId(0)).instructions.start;
            begin.push(Way { block: BlockId(0), from, passed, knowledge: Knowledge::default() });
        }
        begin
    }

    /// The queries that a fact gets to; `None` where that is too much to find out.
    fn follow(&mut self, fact: Fact, begin: Vec<Way>, is_other: bool) -> Option<FxHashSet<Query>> {
        let cfg = self.function.cfg;
        let members = &self.problem.members;
        let members = &members[members.partition_point(|(member, _)| *member < fact)..];
        let groups =
            members.iter().take_while(|(member, _)| *member == fact).map(|(_, group)| *group).collect();
        let (found, discharged) = (FxHashSet::default(), FxHashSet::default());
        let mut followed = Followed { fact, groups, is_other, found, discharged };
        let mut entered: FxHashMap<(BlockId, Passed, u32), Entered> = FxHashMap::default();
        let mut waiting: BinaryHeap<Reverse<(u32, BlockId, Passed, u32)>> = BinaryHeap::new();
        let mut ways = begin;
        loop {
            for way in ways.drain(..) {
                let Some(mut way) = self.pass(&mut followed, way)? else { continue };
                let successors = &cfg.block(way.block).successors;
                for (at, &successor) in successors.iter().enumerate() {
                    if !self.allowance.take(1 + way.knowledge.len() as u64) {
                        return None;
                    }
                    let is_last = at + 1 == successors.len();
                    let mut knowledge =
                        if is_last { std::mem::take(&mut way.knowledge) } else { way.knowledge.clone() };
                    if !self.paths.leave(&self.function, way.block, successor, &mut knowledge) {
                        continue;
                    }
                    // Only around a loop does one path meet what another iteration of it has left.
                    let by = if cfg.is_in_loop(successor) {
                        self.paths.way_to(&self.function, successor, &knowledge)
                    } else {
                        0
                    };
                    let there = entered.entry((successor, way.passed, by)).or_default();
                    if self.paths.enter(there, knowledge) {
                        let position = cfg.position(successor);
                        waiting.push(Reverse((position, successor, way.passed, by)));
                    }
                }
            }
            let Some(Reverse(next)) = waiting.pop() else { break };
            while waiting.peek() == Some(&Reverse(next)) {
                waiting.pop();
            }
            let (_, block, passed, by) = next;
            let knowledge = entered.get(&(block, passed, by)).and_then(Entered::knowledge).cloned();
            let from = cfg.block(block).instructions.start;
            ways.extend(knowledge.map(|knowledge| Way { block, from, passed, knowledge }));
        }
        let Followed { mut found, discharged, .. } = followed;
        found.retain(|query| !discharged.contains(query));
        Some(found)
    }

    /// Carries a fact to the end of a block, if it gets there; `None` where that is too much.
    #[allow(clippy::option_option, reason = "it may end, and it may not be known")]
    fn pass(&mut self, followed: &mut Followed, mut way: Way) -> Option<Option<Way>> {
        let content = self.function.cfg.block(way.block);
        let range = self.ranges[way.block.index()].clone();
        let steps = &self.problem.steps[range.start as usize..range.end as usize];
        let steps = &steps[steps.partition_point(|(instruction, _)| *instruction < way.from)..];
        for (instruction, step) in steps {
            if !self.allowance.take(1) {
                return None;
            }
            if !self.allowance.take(self.paths.pass(&mut way.knowledge, way.from..*instruction)) {
                return None;
            }
            way.from = *instruction;
            // What a guard keeps from happening does not happen.
            if !self.paths.may_hold(*instruction, &mut way.knowledge) {
                continue;
            }
            let ends = match step {
                Step::Query(query) => {
                    let reached =
                        if way.passed.discharges { &mut followed.discharged } else { &mut followed.found };
                    reached.insert(*query);
                    false
                }
                Step::Discharge => {
                    way.passed.discharges = true;
                    !followed.is_other
                }
                Step::KillAll => true,
                Step::Cover(group, but) => {
                    way.passed.covers |= followed.groups.contains(group) && *but != Some(followed.fact);
                    false
                }
                Step::KillCovered => way.passed.covers,
                Step::Kill(killed) => *killed == followed.fact,
                Step::KillGroup(group) => followed.groups.contains(group),
                Step::Gen(other) => {
                    way.passed.covers &= *other != followed.fact;
                    false
                }
            };
            if ends {
                return Some(None);
            }
        }
        let steps = self.paths.pass(&mut way.knowledge, way.from..content.instructions.end);
        self.allowance.take(steps).then_some(Some(way))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::cfg::Cfg;
    use crate::definitions::{Definitions, RegisterSet};
    use crate::ir::Lowered;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Whether a run gets from the `membar.gl` to the `membar.sys` with no `membar.cta` between; in one
    /// thread or in any.
    fn gets_through(body: &str, same_thread: bool) -> bool {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n, .param .u64 a) {{ .reg .pred p<9>; \
             .reg .b32 r<9>; .reg .b64 d<9>; mov.u32 r1, %tid.x; ld.param.u32 r2, [n]; \
             ld.param.u64 d1, [a]; {body} ret; }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, body) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, body.body);
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
        let mut reach = Reach::default();
        let fact = reach.fact();
        let mut guarded = Vec::new();
        for (index, raw) in module.instructions.iter().enumerate() {
            let index = index as u32;
            guarded.extend(module.guard(raw).map(|_| index));
            match source.slice(raw.opcode) {
                "membar.gl" => reach.generate(index, fact),
                "membar.cta" => reach.kill_all(index),
                "membar.sys" => {
                    reach.query(index);
                }
                _ => {}
            }
        }
        if same_thread {
            reach.same_thread();
        }
        let paths = Paths::new(&function, guarded.into_iter(), |_| None);
        let mut found = false;
        reach.solve_feasible(function, || &paths, &mut |_, _| u64::MAX, &mut |_, _, can_happen| {
            found = can_happen();
            found
        });
        assert!(budget.is_complete());
        found
    }

    fn possible(body: &str) -> bool {
        gets_through(body, true)
    }

    /// Goes through the first under one condition and to the second under another one.
    fn twice(one: &str, other: &str) -> bool {
        possible(&format!("{one} @!p1 bra A; membar.gl; A: {other} @!p2 bra B; membar.sys; B:"))
    }

    #[test]
    fn one_predicate() {
        let test = "ld.global.u32 r3, [d1]; setp.eq.u32 p1, r3, 7;";
        assert!(possible(&format!("{test} @p1 membar.gl; @p1 membar.sys;")));
        assert!(!possible(&format!("{test} @p1 membar.gl; @!p1 membar.sys;")));
        assert!(!possible(&format!("{test} @p1 bra A; membar.gl; A: @!p1 bra B; membar.sys; B:")));
        assert!(!possible(&format!(
            "{test} membar.gl; @!p1 bra A; membar.cta; A: @!p1 bra B; membar.sys; B:"
        )));
        assert!(possible(&format!("{test} membar.gl; @!p1 bra A; membar.cta; A: @p1 bra B; membar.sys; B:")));
        // It is another one by then.
        assert!(possible(&format!("{test} @p1 membar.gl; {test} @!p1 membar.sys;")));
        let text = "L: {test} @p1 bra A; membar.sys; A: @!p1 bra B; membar.gl; B: @p2 bra L;";
        assert!(possible(&text.replace("{test}", test)));
        let text = "{test} L: @p1 bra A; membar.sys; A: @!p1 bra B; membar.gl; B: @p2 bra L;";
        assert!(!possible(&text.replace("{test}", test)));
    }

    #[test]
    fn predicates_of_predicates() {
        assert!(!twice("setp.eq.u32 p1, r2, 7;", "not.pred p2, p1;"));
        assert!(twice("setp.eq.u32 p1, r2, 7;", "mov.pred p2, p1;"));
        let both = "setp.eq.u32 p3, r2, 7; setp.eq.u32 p4, r1, 7;";
        assert!(!twice(&format!("{both} and.pred p1, p3, p4;"), "not.pred p2, p3;"));
        assert!(!twice(&format!("{both} and.pred p1, p3, p4;"), "setp.ne.u32 p2, r2, 7;"));
        assert!(twice(&format!("{both} or.pred p1, p3, p4;"), "not.pred p2, p3;"));
        assert!(!twice(
            &format!("{both} or.pred p5, p3, p4; not.pred p1, p5;"),
            "setp.eq.and.u32 p2, r2, 7, p5;"
        ));
        assert!(!twice(
            "setp.eq.u32 p3, r2, 7; selp.u32 r4, 1, 0, p3; setp.ne.u32 p1, r4, 0;",
            "not.pred p2, p3;"
        ));
        // Neither of two, and then not both.
        assert!(!possible(&format!(
            "{both} @p3 bra E; @p4 bra E; membar.gl; or.pred p5, p3, p4; @!p5 bra E; membar.sys; E:"
        )));
    }

    #[test]
    fn compares_of_one_value() {
        assert!(!twice("setp.eq.u32 p1, r2, 7;", "setp.eq.u32 p2, r2, 8;"));
        assert!(twice("setp.eq.u32 p1, r2, 7;", "setp.ne.u32 p2, r2, 8;"));
        assert!(!twice("setp.lt.s32 p1, r2, 1;", "setp.gt.s32 p2, r2, 0;"));
        assert!(twice("setp.lt.s32 p1, r2, 1;", "setp.gt.u32 p2, r2, 0;"));
        assert!(!twice("setp.lt.u32 p1, r1, 32;", "shr.u32 r3, r1, 5; setp.eq.u32 p2, r3, 1;"));
        assert!(twice("setp.lt.u32 p1, r1, 33;", "shr.u32 r3, r1, 5; setp.eq.u32 p2, r3, 1;"));
        assert!(!twice("setp.lt.u32 p1, r1, 32;", "and.b32 r3, r1, 96; setp.eq.u32 p2, r3, 32;"));
        assert!(!twice(
            "and.b32 r3, r1, 32; setp.eq.u32 p1, r3, 0;",
            "and.b32 r4, r1, 96; setp.eq.u32 p2, r4, 32;"
        ));
        assert!(!twice("add.s32 r3, r2, -4; setp.lt.u32 p1, r3, 4;", "setp.eq.u32 p2, r2, 8;"));
        assert!(!twice(
            "ld.param.u32 r3, [n]; setp.eq.u32 p1, r3, 1;",
            "ld.param.u32 r4, [n]; setp.eq.u32 p2, r4, 2;"
        ));
        assert!(!twice("setp.lt.s32 p1, r1, r2;", "setp.le.s32 p2, r2, r1;"));
        assert!(!twice("setp.lt.s32 p1, r1, r2;", "setp.eq.s32 p2, r2, r1;"));
        assert!(twice("setp.lt.s32 p1, r1, r2;", "setp.le.u32 p2, r2, r1;"));
        let one = "shr.u32 r3, r1, 5; shfl.sync.idx.b32 r4, r3, 0, 31, -1; setp.eq.u32 p1, r4, 0;";
        assert!(!twice(
            one,
            "shr.u32 r5, r1, 5; shfl.sync.idx.b32 r6, r5, 0, 31, -1; setp.eq.u32 p2, r6, 1;"
        ));
        assert!(!twice("elect.sync _|p1, -1;", "elect.sync _|p3, -1; not.pred p2, p3;"));
    }

    #[test]
    fn values_and_sums_of_them() {
        // p1 does not hold on the way to the second one: r2 is 17 or more.
        let way = |value: &str, then: &str| {
            possible(&format!(
                "{value} setp.lt.s32 p1, r2, 17; @p1 bra A; membar.gl; A: {then} @p2 bra B; bra C; B: membar.sys; C:"
            ))
        };
        let chosen = "add.s32 r4, r2, -1; setp.lt.u32 p3, r4, 8; add.s32 r5, r3, -2; \
                      selp.b32 r6, 0, r5, p3; setp.ge.s32 p2, r6, r3;";
        let shifted = "shr.s32 r3, r2, 3;";
        assert!(!way(shifted, chosen));
        assert!(way(shifted, &chosen.replace("r2, -1", "r1, -1")), "another value is compared");
        assert!(way(shifted, &chosen.replace("ge.s32", "lt.s32")), "it is less");
        assert!(way(shifted, &chosen.replace("r3, -2", "r3, 2")), "it is more");
        assert!(way("ld.global.u32 r3, [d1];", chosen), "it may wrap around");
        assert!(!way("", "add.s32 r3, r2, 1; setp.eq.s32 p2, r3, r2;"), "never equal");
        assert!(way("", "add.s32 r3, r2, -1; setp.ge.s32 p2, r3, r2;"), "it may wrap around");
    }

    #[test]
    fn roles() {
        let roles = "setp.eq.u32 p1, r1, 0; @p1 bra A; setp.eq.u32 p2, r1, 1; @p2 bra B; bra E; \
                     A: membar.gl; bra E; B: membar.cta; E: setp.ne.u32 p3, r1, 0; @p3 bra F;";
        assert!(possible(&format!("{roles} membar.sys; F:")));
        assert!(!possible(&format!("{roles} F: setp.eq.u32 p4, r1, 0; @p4 bra G; membar.sys; G:")));
    }

    #[test]
    fn loops() {
        // The second loop is entered under the same condition as the first.
        let first = "setp.lt.s32 p1, r2, 1; @p1 bra A; mov.u32 r3, 0; \
                     L: membar.cta; add.s32 r3, r3, 1; setp.lt.s32 p2, r3, r2; @p2 bra L; A:";
        assert!(!possible(&format!("membar.gl; {first} setp.gt.s32 p3, r2, 0; @!p3 bra B; membar.sys; B:")));
        assert!(possible(&format!("membar.gl; {first} membar.sys;")));
        // What a loop carries is another value in each iteration.
        let counter = "mov.u32 r3, 0; L: setp.eq.u32 p1, r3, 1; @p1 bra A; membar.gl; A: {next} \
                       setp.eq.u32 p2, r3, 1; @!p2 bra B; membar.sys; B: {last} setp.lt.u32 p3, r3, 9; @p3 bra L;";
        let with =
            |next: &str, last: &str| possible(&counter.replace("{next}", next).replace("{last}", last));
        assert!(with("", "add.u32 r3, r3, 1;"));
        assert!(with("add.u32 r3, r3, 1;", ""));
        assert!(!with("membar.cta;", "membar.cta; add.u32 r3, r3, 1;"));
        // The predicate is of the iteration before.
        assert!(possible(
            "mov.u32 r3, 0; L: setp.eq.u32 p1, r3, 0; add.u32 r3, r3, 1; @!p1 bra A; membar.gl; A: \
             setp.eq.u32 p2, r3, 0; @p2 bra B; membar.sys; B: @p4 bra L;"
        ));
    }

    #[test]
    fn flags() {
        let flag = "mov.u32 r3, 0; ld.global.u32 r4, [d1]; setp.eq.u32 p1, r4, 7; @p1 bra A; membar.gl; \
                    mov.u32 r3, {set}; A: setp.eq.u32 p2, r3, 0; @p2 bra B; membar.cta; B: membar.sys;";
        assert!(!possible(&flag.replace("{set}", "1")));
        assert!(possible(&flag.replace("{set}", "0")));
        assert!(possible(&flag.replace("{set}", "r4")));
        let predicate =
            "mov.pred p3, 0; @p1 bra A; membar.gl; {set} A: @!p3 bra B; membar.cta; B: membar.sys;";
        assert!(!possible(&predicate.replace("{set}", "mov.pred p3, 1;")));
        assert!(possible(&predicate.replace("{set}", "mov.pred p3, 0;")));
        assert!(possible(&predicate.replace("{set}", "@p4 mov.pred p3, 1;")));
        assert!(!possible(&predicate.replace("{set}", "mov.pred p3, 1; @p4 mov.pred p3, 1;")));
        // What one iteration decides by what it reads, another one decides otherwise.
        let lazily = "mov.u32 r3, 0; L: ld.global.u32 r4, [d1]; setp.ne.u32 p1, r4, 0; \
                      setp.eq.and.u32 p2, r3, 0, {of}; @!p2 bra A; membar.sys; membar.gl; \
                      A: selp.u32 r3, 1, r3, {by}; @p4 bra L;";
        let lazily = |of: &str, by: &str| possible(&lazily.replace("{of}", of).replace("{by}", by));
        assert!(!lazily("p1", "p2"));
        assert!(lazily("p1", "p5"));
        assert!(!lazily("p1", "p1"));
        // In a loop, before and behind the first time.
        let once =
            "mov.u32 r3, 0; L: setp.ne.u32 p1, r3, 0; @p1 bra A; membar.sys; membar.gl; {set} A: @p4 bra L;";
        assert!(!possible(&once.replace("{set}", "mov.u32 r3, 1;")));
        assert!(possible(&once.replace("{set}", "@p5 mov.u32 r3, 1;")));
    }

    #[test]
    fn iterations() {
        // Something in the first iteration only, or in the last one.
        let counter = "mov.u32 r3, 0; L: setp.ne.u32 p1, r3, {when}; @p1 bra A; membar.sys; membar.gl; \
                       A: add.u32 r3, r3, {by}; setp.lt.{ty} p2, r3, {end}; @p2 bra L;";
        let with = |when: &str, by: &str, ty: &str, end: &str| {
            let body = counter.replace("{when}", when).replace("{by}", by);
            possible(&body.replace("{ty}", ty).replace("{end}", end))
        };
        assert!(!with("0", "1", "u32", "16"));
        assert!(!with("0", "1", "s32", "16"));
        assert!(!with("0", "1", "u32", "r2"));
        assert!(!with("0", "1", "s32", "r2"));
        assert!(!with("15", "1", "u32", "16"));
        assert!(with("0", "0", "u32", "16"));
        // In all iterations, or as soon as the number comes back.
        assert!(possible(
            "mov.u32 r3, 0; L: membar.sys; membar.gl; add.u32 r3, r3, 1; setp.lt.u32 p2, r3, 9; @p2 bra L;"
        ));
        assert!(possible(
            "mov.u32 r3, 0; L: setp.ne.u32 p1, r3, 0; @p1 bra A; membar.sys; membar.gl; A: add.u32 r3, r3, 1; @p2 bra L;"
        ));
        // By way of another register.
        assert!(!possible(
            "mov.u32 r3, 0; L: setp.ne.u32 p1, r3, 0; @p1 bra A; membar.sys; membar.gl; A: add.u32 r4, r3, 1; \
             setp.lt.u32 p2, r4, 16; mov.u32 r3, r4; @p2 bra L;"
        ));
    }

    #[test]
    fn chosen_by_conditions() {
        let test =
            "ld.global.u32 r3, [d1]; setp.eq.u32 p3, r3, 7; ld.global.u32 r6, [d1+4]; setp.lt.u32 p4, r6, 5;";
        // Whether a run goes to the first where p1 holds, and then to the second where p3 does not.
        let way = |make: &str| {
            possible(&format!("{test} {make} @!p1 bra A; membar.gl; A: @p3 bra B; membar.sys; B:"))
        };
        assert!(!way("mov.pred p1, 0; @p3 mov.pred p1, 1;"));
        assert!(!way("mov.pred p1, 1; @!p3 mov.pred p1, 0;"));
        assert!(way("mov.pred p1, 0; @!p3 mov.pred p1, 1;"));
        assert!(!way("mov.pred p1, p4; @!p3 mov.pred p1, 0;"));
        assert!(way("mov.pred p1, p4; @!p3 mov.pred p1, 1;"));
        assert!(!way("mov.pred p1, 0; @p3 mov.pred p1, 1; @p4 mov.pred p1, 0;"));
        assert!(way("mov.pred p1, 0; @p3 mov.pred p1, 1; @p4 mov.pred p1, 1;"));
        let number = |make: &str| way(&format!("{make} setp.ne.u32 p1, r4, 0;"));
        assert!(!number("mov.u32 r4, 0; @p3 mov.u32 r4, 1;"));
        assert!(number("mov.u32 r4, 0; @!p3 mov.u32 r4, 1;"));
        assert!(number("mov.u32 r4, r6; @p3 mov.u32 r4, 1;"));
        assert!(!number("mov.u32 r4, r6; @!p3 mov.u32 r4, 0;"));
        assert!(!number("mov.u32 r4, 0; @!p3 bra S; mov.u32 r4, 1; S:"));
        assert!(number("mov.u32 r4, 0; @p3 bra S; mov.u32 r4, 1; S:"));
        assert!(!number("@!p3 bra T; mov.u32 r4, 1; bra S; T: mov.u32 r4, 0; S:"));
        assert!(number("@!p3 bra T; mov.u32 r4, 0; bra S; T: mov.u32 r4, 1; S:"));
        let nested = "mov.u32 r4, 0; @!p3 bra S; @p4 bra S; mov.u32 r4, {one}; S:";
        assert!(!number(&nested.replace("{one}", "1")));
        let nested =
            "@p3 bra T; @p4 bra U; mov.u32 r4, 0; bra S; U: mov.u32 r4, {u}; bra S; T: mov.u32 r4, 1; S:";
        assert!(!number(&nested.replace("{u}", "0")));
        assert!(number(&nested.replace("{u}", "2")));
        // It is another condition by then, or the register is written again.
        let late = "setp.eq.u32 p3, r6, 9;";
        assert!(number(&format!("mov.u32 r4, 0; @p3 mov.u32 r4, 1; {late}")));
        assert!(way("mov.pred p1, 0; @p3 mov.pred p1, 1; @p4 bra S; mov.pred p1, 1; S:"));
        let carried = |make: &str| {
            possible(&format!(
                "mov.u32 r7, 0; mov.u32 r4, 0; L: and.b32 r8, r7, r2; setp.ne.u32 p3, r8, 0; {make} \
                 setp.ne.u32 p1, r4, 0; @!p1 bra A; membar.gl; A: @!p3 bra B; membar.cta; B: \
                 add.u32 r7, r7, 1; setp.lt.u32 p5, r7, 9; @p5 bra L; membar.sys;"
            ))
        };
        assert!(!carried("mov.u32 r4, 0; @p3 mov.u32 r4, 1;"));
        assert!(!carried("mov.u32 r4, 0; @!p3 bra S; mov.u32 r4, 1; S:"));
        assert!(carried("@p3 mov.u32 r4, 1;"), "it stays that in the next iteration");
        assert!(carried("@!p3 bra S; mov.u32 r4, 1; S:"), "it stays that in the next iteration");
        // What is chosen is inverted.
        assert!(!number("selp.b32 r5, -1, 0, p3; not.b32 r4, r5; xor.b32 r4, r4, -1;"));
        assert!(number("selp.b32 r5, -1, 0, p3; not.b32 r4, r5;"));
        assert!(!number("selp.b32 r5, 0, 1, p3; xor.b32 r4, r5, 1;"));
        assert!(number("selp.b32 r5, 1, 0, p3; xor.b32 r4, r5, 1;"));
        assert!(!number("selp.b32 r5, 0, 1, p3; sub.s32 r4, 1, r5;"));
    }

    #[test]
    fn what_comes_round() {
        // The first of some iterations, and then another one of them.
        let modulo = "mov.u32 r3, 0; L: and.b32 r4, r3, {mask}; setp.ne.u32 p1, r4, 0; @p1 bra A; membar.gl; \
                      A: setp.ne.u32 p2, r4, {kill}; @p2 bra B; membar.cta; B: setp.ne.u32 p3, r4, {then}; \
                      @p3 bra C; membar.sys; C: add.u32 r3, r3, {by}; @p4 bra L;";
        let with = |mask: &str, kill: &str, then: &str, by: &str| {
            let body = modulo.replace("{mask}", mask).replace("{kill}", kill);
            possible(&body.replace("{then}", then).replace("{by}", by))
        };
        assert!(!with("3", "1", "2", "1"));
        assert!(with("3", "2", "1", "1"), "the kill is behind it");
        assert!(!with("3", "2", "1", "-1"), "backwards");
        assert!(with("3", "1", "2", "2"), "the kill is passed over");
        assert!(!with("7", "5", "6", "1"));
        assert!(!with("1", "1", "2", "1"), "there is no such iteration");
        assert!(with("3", "1", "2", "r2"));
        // By way of a sum.
        let next = "mov.u32 r3, 0; L: and.b32 r4, r3, 3; setp.ne.u32 p1, r4, 0; @p1 bra A; membar.gl; A: \
                    add.u32 r5, r3, 3; and.b32 r5, r5, 3; setp.ne.u32 p2, r5, {kill}; @p2 bra B; membar.cta; B: \
                    setp.ne.u32 p3, r4, 2; @p3 bra C; membar.sys; C: add.u32 r3, r3, 1; @p4 bra L;";
        assert!(!possible(&next.replace("{kill}", "0")), "the iteration after the first");
        assert!(possible(&next.replace("{kill}", "2")), "the last one");
        // One that counts within its bounds.
        let ring = "mov.u32 r3, 0; L: setp.ne.u32 p1, r3, 0; @p1 bra A; membar.gl; A: setp.ne.u32 p2, r3, 1; \
                    @p2 bra B; membar.cta; B: setp.ne.u32 p3, r3, 2; @p3 bra C; membar.sys; C: {next} @p4 bra L;";
        assert!(!possible(&ring.replace("{next}", "add.u32 r3, r3, 1; and.b32 r3, r3, 3;")));
        let wraps = "add.u32 r4, r3, 1; setp.eq.u32 p5, r4, 4; selp.b32 r3, {first}, r4, p5;";
        assert!(!possible(&ring.replace("{next}", &wraps.replace("{first}", "0"))));
        assert!(!possible(&ring.replace("{next}", &wraps.replace("{first}", "2"))), "the kill came before");
    }

    #[test]
    fn what_is_turned_round() {
        let alternate = |turn: &str, kills: &str| {
            possible(&format!(
                "mov.pred p1, 0; mov.u32 r3, 0; L: {turn} @!p1 bra A; membar.sys; membar.gl; A: {kills} B: @p4 bra L;"
            ))
        };
        let other = "@p1 bra B; membar.cta;";
        assert!(!alternate("not.pred p1, p1;", other));
        assert!(!alternate("xor.pred p1, p1, 1;", other));
        assert!(alternate("not.pred p1, p1; not.pred p1, p1; @p5 not.pred p1, p1;", other));
        assert!(!alternate("xor.b32 r3, r3, 1; setp.ne.u32 p1, r3, 0;", other));
        assert!(!alternate("sub.u32 r3, 1, r3; setp.ne.u32 p1, r3, 0;", other));
        assert!(alternate("xor.b32 r3, r3, 2; setp.eq.u32 p1, r3, r2;", "@p1 bra B; @p6 membar.cta;"));
    }

    #[test]
    fn flags_under_conditions() {
        let lazy = "mov.u32 r3, 0; L: setp.eq.u32 p1, r3, 0; @!p1 bra A; membar.sys; membar.gl; A: {set} \
                    @p4 bra L;";
        assert!(!possible(&lazy.replace("{set}", "selp.b32 r3, 1, r3, p1;")));
        assert!(!possible(&lazy.replace("{set}", "@p1 mov.u32 r3, 1;")));
        assert!(possible(&lazy.replace("{set}", "selp.b32 r3, r3, 1, p1;")));
        assert!(possible(&lazy.replace("{set}", "@!p1 mov.u32 r3, 1;")));
        assert!(possible(&lazy.replace("{set}", "@p5 mov.u32 r3, 1;")));
        // What one iteration does, the next one knows.
        let before = "setp.eq.u32 p5, r2, 3; mov.pred p1, 0; mov.u32 r4, 0; L: @!p1 bra A; membar.cta; A: and.b32 r5, r4, r2; \
                      setp.ne.u32 p2, r5, 0; @!p2 bra B; membar.sys; membar.gl; B: {carry} \
                      add.u32 r4, r4, 1; @p4 bra L;";
        assert!(!possible(&before.replace("{carry}", "mov.pred p1, p2;")));
        assert!(possible(&before.replace("{carry}", "not.pred p1, p2;")));
        assert!(!possible(&before.replace("{carry}", "or.pred p1, p2, p5;")));
        assert!(possible(&before.replace("{carry}", "and.pred p1, p2, p5;")));
    }

    #[test]
    fn all_threads_go_together() {
        let body = "mov.u32 r3, 0; setp.eq.u32 p1, {of}, 7; @p1 bra A; membar.gl; mov.u32 r3, 1; \
                    A: setp.eq.u32 p2, r3, 0; @p2 bra B; membar.cta; B: membar.sys;";
        assert!(gets_through(&body.replace("{of}", "r1"), false), "another thread goes past both");
        assert!(!gets_through(&body.replace("{of}", "r2"), false), "all do the same");
    }

    #[test]
    fn other_threads() {
        let roles = "setp.eq.u32 p1, r1, 0; @!p1 bra A; membar.gl; A: setp.ne.u32 p2, r1, 0; @!p2 bra B; \
                     {between} membar.sys; B:";
        let between = |text: &str| gets_through(&roles.replace("{between}", text), false);
        assert!(between(""), "another thread gets there");
        assert!(!between("membar.cta;"), "behind a barrier");
        assert!(!possible(&roles.replace("{between}", "")));
        // Where no thread has the other condition, there is no other thread.
        let roles = roles.replace("r1", "r2");
        assert!(!gets_through(&roles.replace("{between}", ""), false));
    }
}
