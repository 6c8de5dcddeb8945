//! What paths pass between some instructions and others, and without passing which.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::budget::Budget;
use crate::cfg::{BlockId, Cfg, Direction, OfBlocks};

/// What paths pass that go from some instructions forward, or backward.
#[derive(Debug)]
pub struct Passed {
    direction: Direction,
    /// In the order of the blocks: which of those in a block is passed first.
    first: SmallVec<[(BlockId, u32); 4]>,
    /// The blocks that are entered after them.
    blocks: OfBlocks,
}

impl Passed {
    /// What paths from these instructions pass.
    pub fn new(cfg: &Cfg, direction: Direction, instructions: impl Iterator<Item = u32>) -> Self {
        let in_block = |instruction: u32| Some((cfg.block_of(instruction)?, instruction));
        let mut first: SmallVec<[(BlockId, u32); 4]> = instructions.filter_map(in_block).collect();
        match direction {
            Direction::Forward => first.sort_unstable(),
            Direction::Backward => first.sort_unstable_by_key(|(block, at)| (*block, Reverse(*at))),
        }
        first.dedup_by_key(|(block, _)| *block);
        let blocks = cfg.passed(direction, first.iter().map(|(block, _)| *block));
        Self { direction, first, blocks }
    }

    /// Whether there are no such instructions.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether a path passes an instruction of the function after one of those.
    pub fn has(&self, cfg: &Cfg, instruction: u32) -> bool {
        let Some(block) = cfg.block_of(instruction) else { return false };
        self.blocks[block.index()]
            || self.first.binary_search_by_key(&block, |(block, _)| *block).is_ok_and(|at| {
                let first = self.first[at].1;
                match self.direction {
                    Direction::Forward => first < instruction,
                    Direction::Backward => first > instruction,
                }
            })
    }
}

/// What paths pass that go from one instruction and stop at some others.
#[derive(Debug)]
pub struct PassedWithout<'s> {
    direction: Direction,
    from: u32,
    stops: &'s [u32],
    /// The blocks that are entered after it.
    blocks: FxHashSet<BlockId>,
}

impl<'s> PassedWithout<'s> {
    /// What paths from an instruction pass before any of the `stops`, which are in their order; nothing if the budget
    /// does not suffice.
    pub fn new(
        cfg: &Cfg,
        direction: Direction,
        from: u32,
        stops: &'s [u32],
        budget: &Budget,
    ) -> Option<Self> {
        let own = cfg.block_of(from).map(|block| cfg.block(block));
        let left = own.filter(|own| {
            let rest = match direction {
                Direction::Forward => from + 1..own.instructions.end,
                Direction::Backward => own.instructions.start..from,
            };
            !are_within(stops, rest)
        });
        let entered = left.into_iter().flat_map(|own| own.next(direction).iter().copied());
        let goes_on = |block: BlockId| !are_within(stops, cfg.block(block).instructions.clone());
        let blocks = cfg.reached(direction, entered, budget, goes_on)?;
        Some(Self { direction, from, stops, blocks })
    }

    /// Whether a path passes an instruction of the function before any of the stops.
    pub fn has(&self, cfg: &Cfg, instruction: u32) -> bool {
        let Some(block) = cfg.block_of(instruction) else { return false };
        let content = &cfg.block(block).instructions;
        let (is_after, from_entry, from_first) = match self.direction {
            Direction::Forward => {
                (self.from < instruction, content.start..instruction, self.from + 1..instruction)
            }
            Direction::Backward => {
                (self.from > instruction, instruction + 1..content.end, instruction + 1..self.from)
            }
        };
        self.blocks.contains(&block) && !are_within(self.stops, from_entry)
            || is_after && content.contains(&self.from) && !are_within(self.stops, from_first)
    }
}

/// Whether one of some instructions, which are in their order, is in a range.
pub fn are_within(sorted: &[u32], Range { start, end }: Range<u32>) -> bool {
    sorted.get(sorted.partition_point(|at| *at < start)).is_some_and(|at| *at < end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::unit::Unit;
    use crate::source::Source;

    /// Whether a path leads from `membar.gl` to `membar.sys` without `membar.cta`, followed in both directions.
    fn leads(body: &str) -> bool {
        let text = format!(".version 9.0\n.target sm_100a\n.entry k() {{ .reg .pred p<3>; {body} ret; }}");
        let source = Source::new("t", text).unwrap();
        let unit = Unit::new(&source);
        let (_, function) = unit.module.bodies().next().unwrap();
        let (cfg, budget) = (Cfg::new(&unit, function.body), Budget::default());
        let all = |opcode: &str| {
            let is_one = |at: &u32| source.slice(unit.module.instructions[*at as usize].opcode) == opcode;
            cfg.instructions().filter(is_one).collect::<Vec<_>>()
        };
        let (from, to, stops) = (all("membar.gl")[0], all("membar.sys")[0], all("membar.cta"));
        let [after, before] = [(Direction::Forward, from), (Direction::Backward, to)]
            .map(|(direction, at)| PassedWithout::new(&cfg, direction, at, &stops, &budget).unwrap());
        assert_eq!(after.has(&cfg, to), before.has(&cfg, from), "{body}");
        after.has(&cfg, to)
    }

    #[test]
    fn paths_without_some_instructions() {
        assert!(leads("membar.gl; membar.sys; membar.cta;"));
        assert!(leads("membar.cta; membar.gl; @p0 bra L; membar.cta; L: membar.sys;"));
        assert!(!leads("membar.gl; membar.cta; membar.sys;"));
        assert!(!leads("membar.sys; membar.gl;"));
        assert!(!leads("membar.gl; @p0 bra L; membar.cta; bra M; L: membar.cta; M: membar.sys;"));
    }

    #[test]
    fn paths_through_a_loop() {
        assert!(leads("L: membar.sys; membar.gl; @p0 bra L;"));
        assert!(!leads("L: membar.sys; membar.gl; membar.cta; @p0 bra L;"));
        assert!(!leads("L: membar.cta; membar.sys; membar.gl; @p0 bra L;"));
        assert!(leads("L: @p1 bra M; membar.cta; M: membar.sys; membar.gl; @p0 bra L;"));
    }
}
