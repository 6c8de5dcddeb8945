//! Which threads of a block execute an instruction: the conditions on the way to it, tried for each
//! thread.
//!
//! What tells threads apart in a kernel is made of a few registers of the machine by plain arithmetic:
//! `(%tid.x & 31) < 16`, `%tid.x < 40`, `%tid.x >> 5 == 0` through a shuffle. So no algebra is needed:
//! such a condition is evaluated for each of the at most 1024 threads. What else a condition may be made
//! of is not known, but perhaps that it is the same for a whole warp.

use std::cell::{OnceCell, RefCell};

use rustc_hash::FxHashMap;

use super::cfg::{BlockId, Choice};
use super::control::{Deciding, Way};
use super::definitions::DefinitionId;
use super::flow::Flow;
use super::function::Function;
use super::uniformity::Uniformity;
use crate::isa::generic::Control;
use crate::isa::special_registers::Extent;
use crate::resolve::symbols::Resolution;

mod differs;
mod evaluate;
mod numbers;
mod results;
mod threads;
mod trips;
mod warps;
mod whole;

pub use trips::Trips;
pub use warps::Warps;

use evaluate::Value;
pub use threads::ThreadSet;
use threads::{Holds, MOST};

/// What it takes to evaluate something for all threads, in steps of the budget.
const ALL_THREADS: u64 = 64;

/// Who executes an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Executes {
    holds: Holds,
    all: ThreadSet,
    /// Whether the block has exactly these threads.
    is_exact: bool,
}

impl Executes {
    /// The threads that certainly execute it, where every block has them.
    fn certain(&self) -> impl Iterator<Item = u32> + '_ {
        let shown = if self.is_exact { usize::MAX } else { 1 };
        self.holds.yes.warps().take(shown)
    }

    /// The threads of each warp that may execute it, and those that there are.
    fn possible(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let warps = self.all.warps().zip(self.holds.no.warps());
        warps.map(|(all, no)| (all & !no, all)).filter(|(_, all)| *all != 0)
    }

    /// Who executes an instruction of a function that is called here: `inner` are those of all that call it.
    #[must_use]
    pub fn and_within(&self, inner: &Self) -> Self {
        let Holds { yes, no, agrees, elects } = inner.holds;
        let inner = Holds { yes: yes.and(self.all), no: no.and(self.all), agrees, elects };
        Self { holds: self.holds.and(inner, self.all), ..*self }
    }

    /// Whether the block has exactly as many threads as are looked at.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Whether nobody executes it.
    pub fn is_nobody(&self) -> bool {
        self.all.without(self.holds.no).is_empty()
    }

    /// Whether some thread may execute it.
    pub fn is_somebody(&self) -> bool {
        !self.is_nobody()
    }

    /// The lanes of a warp of which some certainly execute it and others do not, wherever a warp does at
    /// all.
    pub fn part_of_warp(&self) -> Option<u32> {
        let mut reached = self.possible().filter(|(possible, _)| *possible != 0).peekable();
        let first = reached.peek().map(|(possible, _)| *possible)?;
        if reached.all(|(possible, all)| possible != all) {
            return Some(first);
        }
        let mut certain = self.certain().zip(self.possible());
        certain.find(|(yes, (possible, all))| *yes != 0 && possible != all).map(|(_, (possible, _))| possible)
    }

    /// How many threads of one warp certainly execute it, where a warp does at all; the fewest.
    pub fn threads_of_warp(&self) -> Option<u32> {
        let mut certain = 0;
        for lanes in self.certain() {
            if lanes == u32::MAX {
                return Some(u32::BITS);
            }
            certain = certain.max(lanes.count_ones());
        }
        if certain > 1 {
            return Some(certain);
        }
        if !self.holds.agrees {
            return None;
        }
        // The others of a warp do, too, or do not.
        let fewest = |(yes, (possible, _)): (u32, (u32, u32))| {
            if yes == 0 { possible.count_ones() } else { yes.count_ones() }
        };
        self.holds.yes.warps().zip(self.possible()).map(fewest).filter(|count| *count > 0).min()
    }

    /// Whether no thread that executes it can execute the other one as well.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        let mut pairs = self.possible().zip(other.possible());
        if self.holds.elects.is_some() || other.holds.elects.is_some() {
            pairs.all(|((one, _), (other, _))| one == 0 || other == 0)
        } else {
            pairs.all(|((one, _), (other, _))| one & other == 0)
        }
    }

    /// Whether no warp can execute both.
    pub fn is_of_other_warps(&self, other: &Self) -> bool {
        self.possible().zip(other.possible()).all(|((one, _), (other, _))| one == 0 || other == 0)
    }

    /// Whether a warp executes it that certainly does not execute the other one, if blocks are as large as
    /// they can be.
    pub fn is_of_more_warps_than(&self, other: &Self) -> bool {
        self.holds.yes.warps().zip(other.possible()).any(|(one, (other, _))| one != 0 && other == 0)
    }

    /// The same of several others, none of which the warp executes.
    pub fn is_of_more_warps_than_all(&self, others: &[Self]) -> bool {
        let is_none = |warp: usize| others.iter().all(|it| it.possible_lanes(warp) == 0);
        self.holds.yes.warps().enumerate().any(|(warp, yes)| yes != 0 && is_none(warp))
    }

    /// The warps that certainly execute it, if blocks are as large as they can be.
    pub fn certain_warps(&self) -> impl Iterator<Item = usize> + '_ {
        self.holds.yes.warps().enumerate().filter(|(_, lanes)| *lanes != 0).map(|(warp, _)| warp)
    }

    /// How many threads of the first warps may execute it.
    pub(super) fn most_threads(&self, warps: usize) -> u32 {
        (0..warps).map(|warp| self.possible_lanes(warp).count_ones()).sum()
    }

    /// The lanes of a warp that certainly execute it, if blocks are as large as they can be.
    pub(super) fn certain_lanes(&self, warp: usize) -> u32 {
        self.holds.yes.lanes(warp)
    }

    /// Whether, in each warp of which some thread certainly executes the other one, all of these certainly execute
    /// it, or nobody does.
    pub(super) fn is_by_all_or_none(&self, other: &Self) -> bool {
        let others = || other.holds.yes.warps();
        let is_by_all = others().zip(self.holds.yes.warps()).all(|(other, yes)| other & !yes == 0);
        is_by_all || others().enumerate().all(|(warp, other)| other == 0 || self.possible_lanes(warp) == 0)
    }

    /// The lanes of a warp that may execute it.
    pub fn possible_lanes(&self, warp: usize) -> u32 {
        self.all.lanes(warp) & !self.holds.no.lanes(warp)
    }

    /// How many warps certainly execute it.
    pub fn warps(&self) -> usize {
        self.certain().filter(|lanes| *lanes != 0).count()
    }

    /// Whether there is a warp that certainly executes both, where blocks have it: those of one launch are all the
    /// same.
    pub fn is_of_same_warp(&self, other: &Self) -> bool {
        self.holds.yes.some_of_warps() & other.holds.yes.some_of_warps() != 0
    }

    /// The warps that certainly execute it, and those that may, one bit each, if blocks are as large as they can be.
    pub fn warp_sets(&self) -> (u32, u32) {
        (self.holds.yes.some_of_warps(), self.all.without(self.holds.no).some_of_warps())
    }
}

/// The threads of the blocks of one kernel.
#[derive(Debug)]
pub struct Executing<'a> {
    function: Function<'a>,
    uniformity: &'a Uniformity,
    /// The rank of the CTA in its cluster, if that is looked at.
    rank: Option<u32>,
    size: [u64; 3],
    is_exact: bool,
    all: ThreadSet,
    deciding: &'a Deciding,
    found: &'a OfCta,
    /// The function with those that it calls, if it calls some.
    calling: Option<Flow<'a>>,
}

/// What was found out about the threads of a kernel, as far as it was asked for: of any CTA, and of the
/// first three of a cluster.
#[derive(Debug, Default)]
pub struct FoundOut {
    block: OnceCell<Block>,
    by_rank: [OfCta; 4],
}

/// The threads of a block.
#[derive(Debug)]
struct Block {
    size: [u64; 3],
    /// Whether the kernel says that it has these; otherwise they are as many as there can be, in a row.
    is_exact: bool,
    all: ThreadSet,
}

impl Block {
    fn of(function: &Function<'_>) -> Self {
        let given = function
            .block_size()
            .filter(|[x, y, z]| x.saturating_mul(*y).saturating_mul(*z) <= MOST as u64 && *x > 0);
        // Where rows of threads are no warps, that is said.
        let most = function.most_threads().unwrap_or(MOST as u64).clamp(1, MOST as u64);
        let size = given.unwrap_or([most, 1, 1]);
        let all = ThreadSet::below(size.iter().product::<u64>() as usize);
        Self { size, is_exact: given.is_some(), all }
    }
}

/// The same of one CTA.
#[derive(Debug, Default)]
struct OfCta {
    values: RefCell<FxHashMap<DefinitionId, Option<Value>>>,
    blocks: RefCell<Blocks>,
    /// The same, where the whole CTA gets there, or its whole cluster.
    together: [RefCell<Blocks>; 2],
}

/// Who gets to the blocks of a kernel, as far as that was asked for.
#[derive(Debug, Default)]
struct Blocks {
    /// By block: which of those below.
    known: FxHashMap<BlockId, u32>,
    /// Each once: few blocks differ, and each takes as much as all else that is known of a block.
    different: Vec<Holds>,
}

impl Blocks {
    fn get(&self, block: BlockId) -> Option<&Holds> {
        self.different.get(*self.known.get(&block)? as usize)
    }

    fn insert(&mut self, block: BlockId, holds: &Holds) {
        /// Of more, the others are not compared.
        const MOST: usize = 8;
        let same = self.different.iter().take(MOST).position(|it| it == holds);
        let index = same.unwrap_or_else(|| {
            self.different.push(*holds);
            self.different.len() - 1
        });
        self.known.insert(block, index as u32);
    }
}

/// What is taken for granted of conditions of which nothing is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// Nothing.
    Stays,
    /// Those hold that are the same for all threads of a CTA, or of its cluster.
    Holds(Extent),
}

impl<'a> Executing<'a> {
    /// Looks at the threads of a kernel; at those of the CTA with this rank in its cluster, at most 2, if one
    /// is given. `found` is what is known of these already.
    pub fn new(
        function: Function<'a>,
        uniformity: &'a Uniformity,
        rank: Option<u32>,
        found: &'a FoundOut,
    ) -> Self {
        let block = found.block.get_or_init(|| Block::of(&function));
        let deciding = uniformity.deciding(&function, function.budget);
        let rank = rank.map(|rank| rank.min(2));
        let found = &found.by_rank[rank.map_or(0, |rank| rank as usize + 1)];
        Self {
            function,
            uniformity,
            rank,
            size: block.size,
            is_exact: block.is_exact,
            all: block.all,
            deciding,
            found,
            calling: None,
        }
    }

    /// The warps of a block, one bit each.
    pub fn everybody(&self) -> u32 {
        self.all.some_of_warps()
    }

    /// Who executes an instruction.
    pub fn of(&self, instruction: u32) -> Option<Executes> {
        let function = &self.function;
        let block = function.cfg.block_of(instruction)?;
        if !self.deciding.is_complete || self.deciding.goes_back {
            return None;
        }
        let raw = &function.unit.module.instructions[instruction as usize];
        let reached = self.block(block, Unknown::Stays)?;
        let holds = match function.unit.module.guard(raw) {
            Some(guard) => reached.and(self.guard(instruction).not_if(guard.negated), self.all),
            None => reached,
        };
        Some(Executes { holds, all: self.all, is_exact: self.is_exact })
    }

    /// Who executes an instruction in those runs in which the CTA, or its whole cluster, gets there, as far as that
    /// depends on what is the same for all of its threads, whatever it is: parameters, and what is counted in loops.
    pub fn of_those_there(&self, instruction: u32, together: Extent) -> Option<Executes> {
        let everything = self.of(instruction)?;
        let reached = self.block(self.function.cfg.block_of(instruction)?, Unknown::Holds(together))?;
        let raw = &self.function.unit.module.instructions[instruction as usize];
        let holds = match self.function.unit.module.guard(raw) {
            Some(guard) => reached.and(self.guard(instruction).not_if(guard.negated), self.all),
            None => reached,
        };
        Some(Executes { holds, ..everything })
    }

    /// The same of those that get to an instruction, whether its guard holds or not.
    pub(super) fn of_those_at(&self, instruction: u32, together: Extent) -> Option<Executes> {
        let everything = self.of(instruction)?;
        let holds = self.block(self.function.cfg.block_of(instruction)?, Unknown::Holds(together))?;
        Some(Executes { holds, ..everything })
    }

    /// The threads for which the guard of an instruction may hold, and those for which it may not, where
    /// that tells threads apart. Which thread of a warp is elected is not known.
    pub fn by_guard(&self, instruction: u32) -> Option<(ThreadSet, ThreadSet)> {
        let guard = self
            .function
            .unit
            .module
            .guard(self.function.unit.module.instructions.get(instruction as usize)?)?;
        let holds = self.guard(instruction).not_if(guard.negated);
        let without = |set: ThreadSet| {
            let rest = self.all.without(set);
            if holds.elects.is_some() { rest.whole_warps(self.all) } else { rest }
        };
        let (may, may_not) = (without(holds.no), without(holds.yes));
        (may != self.all || may_not != self.all).then_some((may, may_not))
    }

    /// Whether it is known for every thread whether the guard of an instruction holds, but for which one of
    /// a warp is elected: then nothing else decides about it.
    pub fn is_by_thread(&self, instruction: u32) -> bool {
        let Holds { yes, no, .. } = self.guard(instruction);
        self.all.without(yes.or(no)).is_empty()
    }

    /// The threads that get to a block.
    fn block(&self, block: BlockId, unknown: Unknown) -> Option<Holds> {
        let found = match unknown {
            Unknown::Stays => &self.found.blocks,
            Unknown::Holds(of) => &self.found.together[usize::from(of > Extent::Cta)],
        };
        if let Some(known) = found.borrow().get(block) {
            return Some(*known);
        }
        let everybody = Holds { yes: self.all, no: ThreadSet::EMPTY, agrees: true, elects: None };
        // Blocks whose branches have to be known first, the last one on top.
        let mut work = vec![block];
        while let Some(&at) = work.last() {
            if !self.function.budget.take(ALL_THREADS) {
                return None;
            }
            let deciding = &self.deciding.blocks[at.index()];
            let missing: Vec<BlockId> = {
                let known = found.borrow();
                deciding.iter().map(|(branch, _)| *branch).filter(|it| known.get(*it).is_none()).collect()
            };
            if !missing.is_empty() {
                // A circle has no beginning.
                if work.len() > self.function.cfg.len() {
                    return None;
                }
                work.extend(missing);
                continue;
            }
            work.pop();
            let mut reached: Option<Holds> = None;
            for (branch, way) in deciding {
                let from = *found.borrow().get(*branch)?;
                let through = match way {
                    Way::Only(_) if matches!(unknown, Unknown::Holds(of) if self.is_open_to_all(*branch, of)) => {
                        from
                    }
                    Way::Only(successor) => from.and(self.edge(*branch, *successor), self.all),
                    Way::Several => from.and(self.several(*branch, at), self.all),
                };
                reached = Some(reached.map_or(through, |other| other.or(through, self.all)));
            }
            found.borrow_mut().insert(at, &reached.unwrap_or(everybody));
        }
        found.borrow().get(block).copied()
    }

    /// The threads that leave a block to another one, of those that get there.
    fn edge(&self, block: BlockId, successor: BlockId) -> Holds {
        let function = &self.function;
        let content = function.cfg.block(block);
        let next = block.next();
        if let Some(choice) = function.cfg.choice(block) {
            return self.chooses(choice, |target| target == successor);
        }
        let Some(branch) = content.branch else { return self.by_list(block) };
        let raw = &function.unit.module.instructions[branch as usize];
        let control = function.unit.operations.of(branch).control();
        let Some(guard) = function.unit.module.guard(raw) else { return Holds::NEVER_KNOWN };
        let taken = match control {
            Control::Branch if content.successors.len() == 2 => successor != next,
            Control::Return | Control::Exit | Control::Trap if successor == next => false,
            Control::Branch
            | Control::Return
            | Control::Exit
            | Control::Trap
            | Control::IndexedBranch
            | Control::Next
            | Control::Call => return self.by_list(block),
        };
        self.guard(branch).not_if(guard.negated == taken)
    }

    /// The threads that get from a block to another one by several of its edges.
    fn several(&self, branch: BlockId, to: BlockId) -> Holds {
        let cfg = self.function.cfg;
        match cfg.choice(branch) {
            Some(choice) => self.chooses(choice, |target| cfg.post_dominates(to, target)),
            // By both.
            None if cfg.block(branch).successors.len() == 2 => {
                Holds { yes: self.all, no: ThreadSet::EMPTY, agrees: true, elects: None }
            }
            None => self.by_list(branch),
        }
    }

    /// The threads that go to some of the labels of a list.
    fn chooses(&self, choice: &Choice, is_wanted: impl Fn(BlockId) -> bool) -> Holds {
        let wanted: Vec<bool> = choice.targets.iter().map(|target| is_wanted(*target)).collect();
        let chosen = self.chosen(choice.instruction, |number| {
            usize::try_from(number).is_ok_and(|number| wanted.get(number) == Some(&true))
        });
        let together = || {
            let block = self.function.cfg.block_of(choice.instruction);
            block.is_some_and(|block| self.uniformity.goes_together(&self.function, block))
        };
        Holds { agrees: chosen.agrees || together(), ..chosen }
    }

    /// The threads that leave a block by one label of a list: which these are is not known, but perhaps that
    /// all of a warp take the same.
    fn by_list(&self, block: BlockId) -> Holds {
        Holds { agrees: self.uniformity.goes_together(&self.function, block), ..Holds::NEVER_KNOWN }
    }

    /// The threads for which the guard register of an instruction is true.
    fn guard(&self, instruction: u32) -> Holds {
        match self.function.unit.symbols.guard(instruction) {
            Resolution::Register(register) => self.truth(instruction, register, 0),
            _ => Holds::NEVER_KNOWN,
        }
    }

    /// The instruction that makes the condition which parts a warp on the way to an instruction: that of
    /// its guard, or of the nearest branch.
    pub fn parted_by(&self, instruction: u32) -> Option<u32> {
        let function = &self.function;
        let parts = |holds: Holds| {
            let (no, all) = (holds.no.warps(), self.all.warps());
            no.zip(all).any(|(no, all)| no != 0 && no != all)
        };
        let made = |at: u32| {
            let Resolution::Register(register) = function.unit.symbols.guard(at) else { return None };
            Some(function.definitions.get(function.only(at, register)?).instruction)
        };
        let raw = &function.unit.module.instructions[instruction as usize];
        if let Some(guard) = function.unit.module.guard(raw)
            && parts(self.guard(instruction).not_if(guard.negated))
        {
            return made(instruction);
        }
        let mut block = function.cfg.block_of(instruction)?;
        // Outwards.
        for _ in 0..function.cfg.len() {
            let (branch, way) = *self.deciding.blocks[block.index()].first()?;
            if let Way::Only(successor) = way
                && parts(self.edge(branch, successor))
            {
                return match function.cfg.choice(branch) {
                    Some(choice) => Some(choice.instruction),
                    None => made(function.cfg.block(branch).branch?),
                };
            }
            block = branch;
        }
        None
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

    /// Who executes the instruction `trap` of a kernel with these directives, in the CTA of this rank.
    fn trap(directives: &str, rank: Option<u32>, body: &str) -> Executes {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.entry k(.param .u32 n) {directives} {{ .reg .pred p<9>; \
             .reg .b32 r<9>; mov.u32 r0, %tid.x; mov.u32 r1, %laneid; {body} }}"
        );
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let module = &unit.module;
        let (_, function) = module.bodies().next().unwrap();
        let cfg = Cfg::new(&unit, function.body);
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
        let at = module.instructions.iter().position(|it| source.slice(it.opcode) == "trap").unwrap() as u32;
        let uniformity = Uniformity::new(&function, &[cfg.block_of(at).unwrap()], &[at], &budget);
        Executing::new(function, &uniformity, rank, &FoundOut::default()).of(at).unwrap()
    }

    /// The lanes of each warp that certainly execute it, and those that may, up to the last warp that may.
    fn lanes(directives: &str, body: &str) -> (Vec<u32>, Vec<u32>) {
        let executes = trap(directives, None, body);
        let possible: Vec<u32> = executes.possible().map(|(lanes, _)| lanes).collect();
        let last = possible.iter().rposition(|lanes| *lanes != 0).map_or(0, |at| at + 1);
        let certain: Vec<u32> = executes.holds.yes.warps().take(last).collect();
        (certain, possible[..last].to_vec())
    }

    fn known(lanes: &[u32]) -> (Vec<u32>, Vec<u32>) {
        (lanes.to_vec(), lanes.to_vec())
    }

    const ALL: u32 = u32::MAX;

    #[test]
    fn conditions_are_tried_for_each_thread() {
        let in_two = |body: &str| lanes(".reqntid 64", body);
        assert_eq!(in_two("trap;"), known(&[ALL, ALL]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 trap;"), known(&[ALL, 0xFF]));
        assert_eq!(in_two("and.b32 r2, r0, 1; setp.eq.u32 p1, r2, 1; @p1 trap;"), known(&[0xAAAA_AAAA; 2]));
        assert_eq!(in_two("setp.ge.s32 p1, r1, 30; @p1 trap;"), known(&[0xC000_0000; 2]));
        assert_eq!(in_two("shr.u32 r2, r0, 5; setp.eq.u32 p1, r2, 1; @p1 trap;"), known(&[0, ALL]));
        assert_eq!(in_two("div.u32 r2, r0, 32; setp.ne.u32 p1, r2, 1; @p1 trap;"), known(&[ALL]));
        assert_eq!(in_two("elect.sync _|p1, -1; @p1 trap;"), known(&[1, 1]));
        assert_eq!(in_two("elect.sync _|p1, -1; @!p1 trap;"), known(&[!1, !1]));
        // Where the one warp elects is behind where the others of another one come along.
        let both = "setp.ge.u32 p1, r0, 32; @p1 bra M; L: setp.lt.u32 p2, r0, 32; @!p2 bra N; \
                    elect.sync _|p3, -1; @!p3 trap; N: ret; M: elect.sync _|p4, -1; @!p4 bra L; ret;";
        assert_eq!(in_two(both), known(&[!1]));
        let shuffled = "shr.u32 r2, r0, 5; shfl.sync.idx.b32 r3, r2, 0, 31, -1; setp.eq.u32 p1, r3, 1;";
        assert_eq!(in_two(&format!("{shuffled} @p1 trap;")), known(&[0, ALL]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 8; setp.eq.or.u32 p2, r0, 9, p1; @p2 trap;"), known(&[0x2FF]));
        assert_eq!(
            in_two("setp.lt.u32 p1, r0, 8; selp.u32 r2, 5, 6, p1; setp.eq.u32 p2, r2, 6; @p2 trap;"),
            { known(&[!0xFF, ALL]) }
        );
        assert_eq!(
            in_two(
                "mov.u32 r2, 0; setp.lt.u32 p1, r0, 8; @p1 mov.u32 r2, 1; setp.ne.u32 p2, r2, 0; @p2 trap;"
            ),
            { known(&[0xFF]) }
        );
    }

    #[test]
    fn paths_part_threads() {
        let in_two = |body: &str| lanes(".reqntid 64", body);
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 bra L; trap; L: ret;"), known(&[0, !0xFF]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 ret; trap;"), known(&[0, !0xFF]));
        assert_eq!(in_two("setp.lt.u32 p1, r0, 40; @p1 bra L; bar.sync 0; L: trap;"), known(&[ALL, ALL]));
        let nested = "setp.lt.u32 p1, r0, 40; setp.lt.u32 p2, r1, 4; @!p1 bra L; @!p2 bra L; trap; L: ret;";
        assert_eq!(in_two(nested), known(&[0xF, 0xF]));
        let either = "setp.eq.u32 p1, r0, 3; setp.eq.u32 p2, r0, 40; @p1 bra M; @!p2 bra L; M: trap; L: ret;";
        assert_eq!(in_two(either), known(&[8, 0x100]));
        // Each warp takes one label of a list.
        let list = "T: .branchtargets A, B, C; {number} brx.idx r2, T; \
                    A: mov.u32 r3, 0; B: setp.lt.u32 p1, r1, 2; @p1 trap; C: ret;";
        let by = |number: &str| list.replace("{number}", number);
        assert_eq!(in_two(&by("shr.u32 r2, r0, 5;")), known(&[3, 3]));
        assert_eq!(in_two(&by("shr.u32 r2, r0, 4;")), known(&[3]));
        // Which one it takes may not be known, but that it is one.
        let param = by("ld.param.u32 r2, [n];");
        assert_eq!(in_two(&param), (vec![0, 0], vec![3, 3]));
        assert_eq!(trap(".reqntid 64", None, &param).threads_of_warp(), Some(2));
        let loaded = by("ld.global.u32 r2, [r0];");
        assert_eq!(trap(".reqntid 64", None, &loaded).threads_of_warp(), None);
    }

    #[test]
    fn what_is_not_known_is_not_certain() {
        let param = "ld.param.u32 r2, [n]; setp.eq.u32 p1, r2, 3;";
        assert_eq!(lanes(".reqntid 32", &format!("{param} @p1 trap;")), (vec![0], vec![ALL]));
        let with_lane = format!("{param} setp.lt.and.u32 p2, r1, 16, p1; @p2 trap;");
        assert_eq!(lanes(".reqntid 32", &with_lane), (vec![0], vec![0xFFFF]));
        // Whatever it is, it is the same for all of a warp.
        assert_eq!(trap("", None, &with_lane).part_of_warp(), Some(0xFFFF));
        assert_eq!(trap("", None, &with_lane).threads_of_warp(), Some(16));
        let shared =
            "ld.global.u32 r2, [r3]; setp.eq.u32 p1, r2, 3; setp.lt.and.u32 p2, r1, 16, p1; @p2 trap;";
        assert_eq!(trap("", None, shared).threads_of_warp(), None);
        // The same of what is unknown twice, as long as both are unknown of the same threads.
        let twice = "ld.param.u32 r2, [n]; setp.eq.u32 p1, r2, 3; setp.eq.u32 p2, r2, 4; \
                     setp.lt.u32 p3, r1, 2; @!p1 bra L; @!p3 bra L; @!p2 bra L; trap; L: ret;";
        assert_eq!(trap("", None, twice).threads_of_warp(), Some(2));
        // What is made behind the condition that parts them, is the same for those who are there.
        let counted = "ld.param.u32 r2, [n]; setp.lt.u32 p3, r1, 2; @!p3 bra L; mov.u32 r3, 0; \
                       M: add.u32 r3, r3, 1; setp.eq.u32 p1, r3, r2; @!p1 bra M; \
                       setp.eq.u32 p2, r3, 7; @!p2 bra L; trap; L: ret;";
        assert_eq!(trap("", None, counted).threads_of_warp(), Some(2));
        let by_lane = counted.replace("mov.u32 r3, 0;", "mov.u32 r3, r1;");
        assert_eq!(trap("", None, &by_lane).threads_of_warp(), None);
        let in_time = "ld.param.u32 r2, [n]; mov.u32 r3, 0; \
                       M: add.u32 r3, r3, 1; setp.lt.u32 p1, r3, r1; @p1 bra M; \
                       setp.eq.u32 p2, r3, r2; @!p2 bra L; trap; L: ret;";
        assert_eq!(trap("", None, in_time).threads_of_warp(), None);
        let either = "ld.param.u32 r2, [n]; setp.eq.u32 p1, r2, 3; setp.eq.u32 p2, r2, 4; \
                      setp.lt.or.u32 p3, r1, 2, p1; @!p2 bra L; @p3 trap; L: ret;";
        assert_eq!(trap("", None, either).threads_of_warp(), None);
    }

    #[test]
    fn what_is_the_same_for_a_cta_agrees() {
        let agrees = |body: &str| trap("", None, body).holds.agrees;
        assert!(agrees("mov.u32 r2, %ctaid.x; setp.eq.u32 p1, r2, 3; @p1 trap;"));
        assert!(agrees("setp.eq.u32 p1, %ctaid.x, 3; @p1 trap;"));
        assert!(!agrees("setp.eq.u32 p1, %clock, 3; @p1 trap;"));
    }

    #[test]
    fn masks_of_lanes() {
        let of = |condition: &str| {
            trap(".reqntid 64", None, &format!("setp.{condition}; @p1 trap;")).threads_of_warp()
        };
        assert_eq!(of("eq.u32 p1, %lanemask_lt, 0"), Some(1));
        assert_eq!(of("eq.u32 p1, %lanemask_eq, 16"), Some(1));
        assert_eq!(of("le.u32 p1, %lanemask_le, 7"), Some(3));
        assert_eq!(of("eq.u32 p1, %lanemask_gt, 0"), Some(1));
        assert_eq!(of("ne.u32 p1, %lanemask_ge, -1"), Some(31));
    }

    #[test]
    fn blocks_may_be_smaller() {
        let body = "setp.lt.u32 p1, r0, 40; @p1 trap;";
        assert_eq!(trap("", None, body).part_of_warp(), None);
        assert_eq!(trap(".reqntid 128", None, body).part_of_warp(), Some(0xFF));
        assert_eq!(trap("", None, "trap;").warps(), 1);
        assert_eq!(trap(".reqntid 128", None, "trap;").warps(), 4);
        assert_eq!(
            trap(".reqntid 8, 8", None, "mov.u32 r2, %tid.y; setp.eq.u32 p1, r2, 5; @p1 trap;").warps(),
            1
        );
        // The last warp of such a block is small.
        assert_eq!(trap(".reqntid 40", None, "setp.ge.u32 p1, r0, 32; @p1 trap;").part_of_warp(), None);
    }

    #[test]
    fn ranks() {
        let leader = "mov.u32 r2, %cluster_ctarank; and.b32 r2, r2, 1; setp.eq.u32 p1, r2, 0; @p1 trap;";
        assert!(trap("", Some(0), leader).is_somebody());
        assert!(trap("", Some(1), leader).is_nobody());
        assert!(trap("", None, leader).is_somebody());
    }

    #[test]
    fn threads_apart() {
        let of = |body: &str| trap(".reqntid 64", None, body);
        let first = of("setp.eq.u32 p1, r0, 0; @p1 trap;");
        let second = of("setp.eq.u32 p1, r0, 1; @p1 trap;");
        let elected = of("elect.sync _|p1, -1; setp.lt.and.u32 p2, r0, 32, p1; @p2 trap;");
        let other = of("setp.eq.u32 p1, r0, 32; @p1 trap;");
        assert!(first.is_apart_from(&second) && !first.is_of_other_warps(&second));
        // Any thread of the warp may be elected.
        assert!(!second.is_apart_from(&elected) && other.is_apart_from(&elected));
        assert!(of("trap;").is_of_more_warps_than(&first) && !first.is_of_more_warps_than(&of("trap;")));
    }
}
