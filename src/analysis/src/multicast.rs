//! Stages that bulk copies fill in several CTAs of a cluster, and that are released to one of them only.
//!
//! Who starts a multicast copy writes into the stage of each CTA that it names, so it has to know that all of these have
//! read what was there before. In a kernel that signals mbarriers only within each CTA, it learns of its own CTA alone.
//! That nothing else tells it is answered generously: one signal to another CTA, or a barrier of the cluster in any
//! loop, may do so.

use rustc_hash::FxHashSet;

use super::cfg::BlockId;
use super::events::{Action, Event};
use super::flow::Flow;
use super::mbarriers::{Use, Used};
use crate::isa::generic::{Modifier, Space, Synchronization};
use crate::isa::vocabulary::CtaGroup;
use crate::resolve::operations::Opcode;
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

/// A stage that is released to the CTA which has read it, and filled from others.
#[derive(Clone, Copy, Debug)]
pub struct ReleasedLocally {
    /// What releases it.
    pub release: Used,
    /// The wait for that.
    pub wait: Used,
    /// The copy after the wait.
    pub copy: u32,
}

/// Kernels with more copies or uses of mbarriers are not looked at.
const MOST: usize = 128;

impl Flow<'_> {
    /// A multicast copy of this kernel that a loop starts again and again, where no mbarrier that the loop waits for is
    /// ever signalled from another CTA.
    pub fn released_locally(&self) -> Option<ReleasedLocally> {
        let copies: Vec<u32> =
            self.events().iter().filter(|it| self.is_multicast_load(it)).map(|it| it.instruction).collect();
        let used = self.mbarriers();
        if copies.is_empty() || copies.len().max(used.len()) > MOST || self.is_alone() {
            return None;
        }
        let summary = self.summary().filter(|summary| !summary.unknown)?;
        if summary.events.iter().any(|event| self.may_tell_others(event)) {
            return None;
        }
        let signals = || used.iter().filter(|it| it.how.arrives());
        let are_own = signals().all(|it| self.is_of_own_cta(it));
        if !are_own || self.reads_what_others_write() {
            return None;
        }
        let loops = self.loops()?;
        copies.iter().find_map(|copy| {
            let own = self.cfg().block_of(*copy)?;
            let waits_in = |blocks: &FxHashSet<BlockId>| {
                let is_inside =
                    |it: &Used| self.cfg().block_of(it.instruction).is_some_and(|it| blocks.contains(&it));
                used.iter().filter(|it| it.how == Use::Waits && is_inside(it)).collect::<Vec<&Used>>()
            };
            let around = loops.iter().filter(|it| it.blocks.contains(&own));
            let waiting = around.map(|it| waits_in(&it.blocks)).filter(|waits| !waits.is_empty());
            let waits = waiting.min_by_key(Vec::len)?;
            let mut released = None;
            for wait in waits {
                let mbarrier = wait.mbarrier?;
                self.facts.budget.take(used.len() as u64).then_some(())?;
                let is_it = |it: &&Used| it.mbarrier.is_none_or(|it| self.may_be_same(&it, &mbarrier));
                // What copies complete comes from any CTA.
                if used.iter().filter(is_it).any(|it| it.how == Use::Completes) {
                    return None;
                }
                let is_before = self.cfg().passes_before(wait.instruction, *copy);
                let release = signals().filter(|_| is_before).find(is_it);
                released = released.or(release.map(|it| (*it, *wait)));
            }
            released.map(|(release, wait)| ReleasedLocally { release, wait, copy: *copy })
        })
    }

    /// Whether something may tell another CTA what has been read, and is no arrival at an mbarrier.
    fn may_tell_others(&self, event: &Event) -> bool {
        match event.action {
            Action::Barrier => {
                let block = self.cfg().block_of(event.instruction);
                self.synchronization(*event) == Synchronization::ClusterWait
                    && block.is_none_or(|block| self.cfg().is_in_loop(block))
            }
            // One CTA of a pair multiplies what is in both.
            Action::Tensor { group, .. } => group == Some(CtaGroup::Two),
            Action::Acquire | Action::SharedUpdate | Action::Call(_) | Action::Unknown => true,
            Action::MbarrierWait
            | Action::MbarrierArrive
            | Action::BarrierArrive
            | Action::WarpBarrier
            | Action::ProxyFence
            | Action::SharedStore
            | Action::AsyncCopy
            | Action::BulkLoad => !self.is_own(*event),
        }
    }

    /// Whether an instruction loads in bulk into the shared memory of several CTAs.
    fn is_multicast_load(&self, event: &Event) -> bool {
        let opcode = self.unit.operations.of(event.instruction);
        event.action == Action::BulkLoad
            && self.is_own(*event)
            && is_multicast(opcode)
            // A mask of one CTA names nobody else.
            && self.mask_of_load(event.instruction).is_none_or(|mask| mask.count_ones() > 1)
    }

    /// The CTAs that a multicast load names, if they are known: what stands after its last address.
    fn mask_of_load(&self, at: u32) -> Option<u64> {
        /// Bits of the mask.
        const WIDTH: u32 = 16;
        let module = &self.unit.module;
        let operands = module.instructions[at as usize].operands.range();
        let is_address = |index: usize| matches!(module.operands[index].kind(), OperandKind::Address(_));
        let is_vector = |index: usize| matches!(module.operands[index].kind(), OperandKind::Vector(_));
        let last = operands.clone().rev().find(|index| is_address(*index))?;
        let mask = operands.skip_while(|index| *index <= last).find(|index| !is_vector(*index))?;
        if let Some(mask) = literal::evaluate(&self.unit.source, module, &module.operands[mask]) {
            return u64::try_from(mask).ok();
        }
        let register = self.register_at(mask as u32)?;
        self.facts.constants.at(&self.facts.view(self.unit), at, register).constant(WIDTH)
    }

    /// Whether something arrives at an mbarrier of its own CTA, and at no other.
    fn is_of_own_cta(&self, signal: &Used) -> bool {
        let opcode = self.unit.operations.of(signal.instruction);
        let commit = || self.event_at(signal.instruction).and_then(|event| self.commit(event));
        let is_for_several = if signal.how == Use::Commits {
            commit().is_none_or(|commit| commit.multicast.is_some())
        } else {
            is_multicast(opcode)
                || opcode.spaces().any(|space| space == Space::SharedCluster)
                    && self.named_in_other_cta(signal).is_some()
        };
        signal.mbarrier.is_some() && !signal.is_in_cluster && !is_for_several
    }
}

/// Whether an instruction is for several CTAs by its words.
fn is_multicast(opcode: &Opcode) -> bool {
    opcode.modifier(|it| matches!(it, Modifier::Multicast(_)).then_some(())).is_some()
}
