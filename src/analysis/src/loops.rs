//! Loops, and what decides in them which thread executes something.

use rustc_hash::FxHashSet;

use super::cfg::{BlockId, Cfg};
use super::executing::Executing;
use super::flow::Flow;
use super::walks::Walk;

/// A loop: where it begins, what leads back there, and its blocks.
#[derive(Debug)]
pub struct Loop {
    /// Where each iteration begins.
    pub first: BlockId,
    /// Where one ends that another one follows.
    pub last: BlockId,
    /// All that an iteration may go through.
    pub blocks: FxHashSet<BlockId>,
}

impl Flow<'_> {
    /// The loops of this function; nothing where it takes too long to find them.
    pub fn loops(&self) -> Option<Vec<Loop>> {
        let cfg = self.cfg();
        let mut loops = Vec::new();
        for (last, block) in cfg.blocks().filter(|(block, _)| cfg.is_reachable(*block)) {
            for first in block.successors.iter().filter(|first| cfg.dominates(**first, last)) {
                loops.push(self.natural_loop(*first, last, usize::MAX)?);
            }
        }
        Some(loops)
    }

    /// The innermost loop around a block, if it has no more than so many blocks.
    pub fn loop_around(&self, block: BlockId, most: usize) -> Option<Loop> {
        /// Where more edges meet, they are those of a list of labels.
        const EDGES: usize = 8;
        let cfg = self.cfg();
        for first in cfg.dominating(block).take(most) {
            self.facts.budget.take(1).then_some(())?;
            let back = &cfg.block(first).predecessors;
            if back.len() > EDGES {
                return None;
            }
            let back = back.iter().filter(|it| cfg.is_reachable(**it) && cfg.dominates(first, **it));
            // Loops around one that is too large are larger.
            let found: Option<Vec<Loop>> = back.map(|last| self.natural_loop(first, *last, most)).collect();
            let found = found?.into_iter().filter(|it| it.blocks.contains(&block));
            let inner = found.min_by_key(|it| it.blocks.len());
            if inner.is_some() {
                return inner;
            }
        }
        None
    }

    /// The loop that an edge back to `first` closes, if it has no more than so many blocks.
    fn natural_loop(&self, first: BlockId, last: BlockId, most: usize) -> Option<Loop> {
        let mut walk = Walk::new(&self.facts.budget, [first, last]).at_most(most);
        while let Some(at) = walk.pop() {
            let before = if at == first { &[][..] } else { &self.cfg().block(at).predecessors };
            (before.len() <= most.saturating_mul(4)).then_some(())?;
            walk.extend(before.iter().copied());
        }
        Some(Loop { first, last, blocks: walk.reached()? })
    }

    /// Whether some thread executes an instruction in each iteration of a loop that does not leave it: what decides
    /// about it is only which thread it is.
    pub(super) fn is_in_each(&self, cycle: &Loop, instruction: u32, executing: &Executing<'_>) -> bool {
        let cfg = self.cfg();
        let Some(own) = cfg.block_of(instruction).filter(|own| cycle.blocks.contains(own)) else {
            return false;
        };
        let guarded = self.unit.module.guard(&self.unit.module.instructions[instruction as usize]).is_some();
        if guarded && !executing.is_by_thread(instruction) {
            return false;
        }
        if cfg.dominates(own, cycle.last) {
            return true;
        }
        let mut inner = own;
        for above in cfg.dominating(own).skip(1) {
            if inner == cycle.first || !self.facts.budget.take(1) {
                break;
            }
            let content = cfg.block(above);
            let leaves = content.successors.iter().any(|next| !cycle.blocks.contains(next));
            if !leaves && !cfg.post_dominates(inner, above) && !self.parts_threads(above, executing) {
                return false;
            }
            inner = above;
        }
        inner == cycle.first
    }

    /// The block that all threads of a loop get to where only which thread it is decides about a block; itself
    /// where something else does.
    pub(super) fn common(&self, cycle: &Loop, block: BlockId, executing: &Executing<'_>) -> BlockId {
        let cfg: &Cfg = self.cfg();
        let (mut common, mut inner) = (block, block);
        for above in cfg.dominating(block).skip(1) {
            if inner == cycle.first || !self.facts.budget.take(1) {
                break;
            }
            if !cfg.post_dominates(inner, above) {
                if !self.parts_threads(above, executing) {
                    break;
                }
                common = above;
            }
            inner = above;
        }
        common
    }

    /// Whether a branch goes one way for some threads and another one for the others, always the same.
    fn parts_threads(&self, block: BlockId, executing: &Executing<'_>) -> bool {
        let cfg = self.cfg();
        cfg.choice(block).is_none()
            && cfg.block(block).branch.is_some_and(|branch| executing.is_by_thread(branch))
    }
}
