//! Groups of `cp.async`: which waits wait for none of them.
//!
//! `cp.async.wait_group N` leaves the last N groups alone. Where no more have been committed when a thread comes to its
//! first multiply, it has waited for nothing.

use rustc_hash::FxHashSet;

use super::cfg::BlockId;
use super::events::{Action, Event};
use super::flow::Flow;
use super::reach::Direction;
use crate::isa::generic::{Space, Synchronization};
use crate::isa::vocabulary::Operation;
use crate::syntax::literal;

/// A wait for groups of copies, and a multiply behind it that reads what none of them has to have copied.
#[derive(Clone, Copy, Debug)]
pub struct IdleWait {
    /// The wait.
    pub wait: u32,
    /// How many groups it leaves alone.
    pub left: u64,
    /// How many are committed before it at most; no more than it leaves alone.
    pub committed: u64,
    /// The multiply.
    pub multiply: Event,
}

/// No kernel copies further ahead.
const AHEAD: u64 = 16;

/// A wait, the groups that it leaves alone, and those that are committed when a thread gets there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Idle {
    wait: u32,
    left: u64,
    committed: u64,
}

/// What a thread has done on its way to a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    block: BlockId,
    /// Groups, none of which has been waited for.
    committed: u64,
    /// The last wait, which waited for none.
    idle: Option<Idle>,
}

impl Flow<'_> {
    /// The wait before the first multiply of this kernel that certainly waits for no group of copies, where nothing but
    /// these copies writes shared memory, and whoever multiplies copies.
    pub fn idle_wait(&self) -> Option<IdleWait> {
        let is_multiply =
            |event: &&Event| matches!(self.operation(**event), Some(Operation::Mma | Operation::MmaWs));
        let multiply = *self.events().iter().find(is_multiply)?;
        let writes = |event: &Event| {
            matches!(
                event.action,
                Action::SharedStore
                    | Action::SharedUpdate
                    | Action::BulkLoad
                    | Action::Call(_)
                    | Action::Unknown
            )
        };
        let mut most = 0;
        self.facts.budget.take(self.cfg().instructions().len() as u64).then_some(())?;
        for at in self.cfg().instructions() {
            match self.unit.operations.of(at).synchronization() {
                Synchronization::AsyncCopyWait => most = most.max(self.left_by(at)?),
                Synchronization::AsyncCopyArrive | Synchronization::AsyncStore => return None,
                _ => {}
            }
        }
        if most == 0 || most > AHEAD || self.events().iter().any(writes) || self.may_store_anywhere() {
            return None;
        }
        self.waits_in_vain(multiply, most)
    }

    /// How many groups a wait leaves alone.
    fn left_by(&self, wait: u32) -> Option<u64> {
        let operands = self.unit.module.instructions[wait as usize].operands;
        let Some(left) = operands.range().next() else { return Some(0) };
        let left = literal::evaluate(&self.unit.source, &self.unit.module, &self.unit.module.operands[left])?;
        u64::try_from(left).ok()
    }

    /// Whether something is stored to an address that may be one of shared memory without saying so.
    fn may_store_anywhere(&self) -> bool {
        self.cfg().instructions().any(|at| {
            let opcode = self.unit.operations.of(at);
            opcode.memory().shared.is_some() && !opcode.spaces().any(|space| space != Space::Global)
        })
    }

    /// Looks at all ways to the multiply, up to where all threads of its loop come before it.
    fn waits_in_vain(&self, multiply: Event, most: u64) -> Option<IdleWait> {
        let cfg = self.cfg();
        let own = cfg.block_of(multiply.instruction)?;
        let executing = self.executing(None);
        let loops = self.loops()?;
        let inner = loops.iter().filter(|it| it.blocks.contains(&own)).min_by_key(|it| it.blocks.len());
        let end = inner.map_or(own, |cycle| self.common(cycle, own, &executing));
        let until = if end == own { multiply.instruction } else { cfg.block(end).instructions.end };
        let mut seen: FxHashSet<Way> = FxHashSet::default();
        let mut work = vec![Way { block: BlockId(0), committed: 0, idle: None }];
        let mut found: Option<IdleWait> = None;
        let before = self.passed_from(Direction::Backward, &[multiply.instruction])?;
        while let Some(Way { block, mut committed, mut idle }) = work.pop() {
            let content = cfg.block(block);
            if !before.has(cfg, content.instructions.start) && block != end {
                continue;
            }
            let instructions = content.instructions.clone();
            self.facts.budget.take(1 + instructions.len() as u64).then_some(())?;
            for at in instructions.take_while(|at| block != end || *at < until) {
                let how = self.unit.operations.of(at).synchronization();
                let is_group =
                    matches!(how, Synchronization::AsyncCopyCommit | Synchronization::AsyncCopyWait);
                if !is_group || !cfg.is_executed(at) {
                    continue;
                }
                if self.unit.module.guard(&self.unit.module.instructions[at as usize]).is_some() {
                    return None;
                }
                if how == Synchronization::AsyncCopyCommit {
                    committed = (committed + 1).min(most + 1);
                    continue;
                }
                let left = self.left_by(at)?;
                // What has been waited for may be what is multiplied.
                if committed > left {
                    return None;
                }
                idle = Some(Idle { wait: at, left, committed });
            }
            if block == end {
                // Whoever has copied nothing has nothing to wait for.
                let Idle { wait, left, committed } = idle.filter(|_| committed > 0)?;
                let most = found.filter(|most| most.committed >= committed);
                found = most.or(Some(IdleWait { wait, left, committed, multiply }));
                continue;
            }
            for &next in &content.successors {
                let way = Way { block: next, committed, idle };
                if seen.insert(way) {
                    work.push(way);
                }
            }
        }
        found
    }
}
