//! Paths without anything on them: whether one leads from some instructions to another.

use rustc_hash::FxHashMap;

use super::Direction;
use crate::analysis::cfg::{BlockId, Cfg};

/// What paths pass that go from some instructions forward, or backward.
#[derive(Debug)]
pub struct Passed {
    direction: Direction,
    /// By block: which of those in it is passed first.
    first: FxHashMap<BlockId, u32>,
    /// The blocks that are entered behind them.
    blocks: Vec<bool>,
}

impl Passed {
    /// What paths from these instructions pass.
    pub fn new(cfg: &Cfg, direction: Direction, instructions: impl Iterator<Item = u32>) -> Self {
        let mut first: FxHashMap<BlockId, u32> = FxHashMap::default();
        for instruction in instructions {
            if let Some(block) = cfg.block_of(instruction) {
                let first = first.entry(block).or_insert(instruction);
                *first = match direction {
                    Direction::Forward => instruction.min(*first),
                    Direction::Backward => instruction.max(*first),
                };
            }
        }
        let blocks = match direction {
            Direction::Forward => cfg.followers(first.keys().copied()),
            Direction::Backward => cfg.leaders(first.keys().copied()),
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
            || self.first.get(&block).is_some_and(|first| match self.direction {
                Direction::Forward => *first < instruction,
                Direction::Backward => *first > instruction,
            })
    }
}
