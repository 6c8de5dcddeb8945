//! Operations of the last iteration of a loop that no commit tracks.
//!
//! A commit tracks what its thread has issued before it. If the commit of each iteration comes before the operation, no
//! commit follows the operation of the last iteration: no thread can know when it is complete.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::cfg::BlockId;
use super::executing::{Executes, Executing};
use super::flow::{Condition, Flow};
use super::loops::Loop;
use super::reach::{Direction, Passed};
use super::walks::Walk;
use crate::isa::generic::Control;

/// An operation, and the commit that stands before it in each iteration.
#[derive(Clone, Copy, Debug)]
pub struct Untracked {
    /// The operation.
    pub operation: u32,
    /// The commit.
    pub commit: u32,
}

/// A commit, and who issues it.
struct Commit {
    at: u32,
    executes: Option<Executes>,
}

impl Flow<'_> {
    /// Of these operations, the first whose last execution none of these commits can follow, though those before
    /// it are followed by one.
    pub fn untracked(&self, operations: &[u32], commits: &[u32]) -> Option<Untracked> {
        let cfg = self.cfg();
        let is_repeated = |at: &u32| {
            cfg.block_of(*at).is_some_and(|block| cfg.is_reachable(block) && cfg.is_in_loop(block))
        };
        let operations: Vec<u32> = operations.iter().copied().filter(is_repeated).collect();
        // Where all commits are outside of loops, they are behind, or missing altogether.
        if operations.is_empty() || !commits.iter().any(is_repeated) {
            return None;
        }
        // Nearly all are committed at once, under the same condition.
        let last: BTreeMap<Condition, u32> = commits.iter().map(|at| (self.condition_at(*at), *at)).collect();
        let is_committed = |at: &u32| last.get(&self.condition_at(*at)).is_some_and(|commit| commit > at);
        if operations.iter().all(is_committed) {
            return None;
        }
        let executing = self.executing(None);
        let loops = self.loops()?;
        let commits: Vec<Commit> =
            commits.iter().map(|at| Commit { at: *at, executes: executing.of(*at) }).collect();
        let mut judged: FxHashSet<BlockId> = FxHashSet::default();
        // The last of each block has the others before it.
        for operation in operations.into_iter().rev() {
            let Some(block) = cfg.block_of(operation).filter(|block| judged.insert(*block)) else { continue };
            let inner = loops.iter().filter(|it| it.blocks.contains(&block)).min_by_key(|it| it.blocks.len());
            let Some(inner) = inner else { continue };
            if let Some(commit) = self.stays_behind(operation, block, inner, &commits, &executing) {
                return Some(Untracked { operation, commit });
            }
        }
        None
    }

    /// The commit that stands before an operation in each iteration of a loop, if none can follow the last one.
    fn stays_behind(
        &self,
        operation: u32,
        block: BlockId,
        inner: &Loop,
        commits: &[Commit],
        executing: &Executing<'_>,
    ) -> Option<u32> {
        let cfg = self.cfg();
        let issues = executing.of(operation).filter(Executes::is_somebody)?;
        let may_be_by_same = |commit: &&Commit| {
            commit.executes.as_ref().is_none_or(|executes| !issues.is_of_other_warps(executes))
        };
        let follows = self.passed_from(Direction::Forward, &[operation])?;
        let commits = commits.iter().filter(|it| follows.has(cfg, it.at)).filter(may_be_by_same);
        let commits: Vec<u32> = commits.map(|commit| commit.at).collect();
        let &first =
            commits.iter().find(|it| cfg.block_of(**it).is_some_and(|own| inner.blocks.contains(&own)))?;
        let common = self.common(inner, block, executing);
        let passed = Passing { block: common, at: if common == block { operation } else { u32::MAX } };
        if self.end_without(&commits, passed)? {
            return None;
        }
        // Control has to end at all.
        self.ends_after(&follows).then_some(first)
    }

    /// Whether a path leads from one of these instructions to the function's end and does not pass a place.
    fn end_without(&self, from: &[u32], place: Passing) -> Option<bool> {
        let cfg = self.cfg();
        let blocks = from.iter().filter_map(|at| Some((cfg.block_of(*at)?, *at)));
        let starts = blocks.filter(|(block, at)| *block != place.block || *at >= place.at);
        let mut blocks = Walk::new(&self.facts.budget, starts.map(|(block, _)| block));
        while let Some(block) = blocks.pop() {
            if self.is_end(block) {
                return Some(true);
            }
            let next = cfg.block(block).successors.iter().copied();
            blocks.extend(next.filter(|next| *next != place.block));
        }
        blocks.is_complete().then_some(false)
    }

    /// Whether the function may end after what is passed.
    fn ends_after(&self, passed: &Passed) -> bool {
        let cfg = self.cfg();
        cfg.blocks().any(|(block, content)| {
            self.is_end(block) && passed.has(cfg, content.instructions.end.saturating_sub(1))
        })
    }

    /// Whether a function may end behind a block, other than by a trap.
    fn is_end(&self, block: BlockId) -> bool {
        let content = self.cfg().block(block);
        let last = content.instructions.end.checked_sub(1).filter(|last| content.instructions.contains(last));
        let control = last.map(|last| self.unit.operations.of(last).control());
        match control {
            Some(Control::Return | Control::Exit) => true,
            Some(Control::Trap) => false,
            Some(Control::Branch | Control::IndexedBranch | Control::Next | Control::Call) | None => {
                content.successors.is_empty()
            }
        }
    }
}

/// A place on the way: an instruction of a block, or its end.
#[derive(Clone, Copy)]
struct Passing {
    block: BlockId,
    at: u32,
}
