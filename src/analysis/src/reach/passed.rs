//! Paths without anything on them: whether one leads from some instructions to another.

use std::cmp::Reverse;

use smallvec::SmallVec;

use super::Direction;
use crate::cfg::{BlockId, Cfg, OfBlocks};

/// What paths pass that go from some instructions forward, or backward.
#[derive(Debug)]
pub struct Passed {
    direction: Direction,
    /// In the order of the blocks: which of those in a block is passed first.
    first: SmallVec<[(BlockId, u32); 4]>,
    /// The blocks that are entered behind them.
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
        let from = first.iter().map(|(block, _)| *block);
        let blocks = match direction {
            Direction::Forward => cfg.followers(from),
            Direction::Backward => cfg.leaders(from),
        };
        Self { direction, first, blocks }
    }

    /// Whether there are no such instructions.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether a path passes an instruction of the function behind one of those.
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
