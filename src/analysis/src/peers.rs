//! Tensor Memory of a CTA pair that is freed while the peer CTA may still access it.
//!
//! A barrier of the CTA orders the warps of one CTA. What a warp of the peer CTA accesses is over for this CTA only
//! if the peer tells it so: at the barrier of the cluster, through an mbarrier, or through memory. The CTAs of a pair
//! execute the same kernel, so the question is whether anything of the kind can follow the access, in the warp that
//! accesses or in those that it meets at a barrier afterwards. It is answered generously: any signal counts.

use rustc_hash::FxHashSet;

use super::cfg::BlockId;
use super::channels::Channel;
use super::events::{Action, Event};
use super::flow::Flow;
use super::pending::Transfer;
use super::reach::{Direction, Passed};
use crate::isa::generic::Synchronization;
use crate::isa::special_registers::Extent;
use crate::isa::vocabulary::{CtaGroup, Operation};

/// An access of Tensor Memory that the peer CTA learns nothing of, and a deallocation of the pair.
#[derive(Clone, Copy, Debug)]
pub struct FreedForPeer {
    /// The load or store.
    pub access: Event,
    /// The deallocation.
    pub frees: Event,
    /// The barrier of one CTA between them.
    pub barrier: Event,
}

/// More accesses are not looked at.
const MOST: usize = 64;

impl Flow<'_> {
    /// The deallocations of this kernel with `.cta_group::2` that only a barrier of their own CTA orders with the
    /// loads and stores of other warps, each with the first of these. Those that are not `asked` for are left alone.
    pub fn freed_for_peer(&self, asked: impl Fn(u32) -> bool) -> Vec<FreedForPeer> {
        let is_free = |event: &&Event| {
            self.operation(**event) == Some(Operation::Dealloc)
                && self.cta_group(**event) == Some(CtaGroup::Two)
                && self.is_own(**event)
                && asked(event.instruction)
        };
        let is_access =
            |event: &&Event| self.operation(**event).and_then(Transfer::of).is_some() && self.is_own(**event);
        let frees: Vec<Event> = self.events().iter().filter(is_free).copied().collect();
        let accesses: Vec<Event> = self.events().iter().filter(is_access).take(MOST).copied().collect();
        if frees.is_empty() || accesses.is_empty() || self.reads_what_others_write() {
            return Vec::new();
        }
        let joins = self.joins();
        let find = |frees: &Event| {
            let before = self.passed_from(Direction::Backward, &[frees.instruction])?;
            let after = self.passed_from(Direction::Forward, &[frees.instruction])?;
            let by = self.executing(None).of(frees.instruction)?.by_warps();
            accesses.iter().find_map(|access| {
                let at = access.instruction;
                if after.has(self.cfg(), at) || !self.facts.budget.take(self.events().len() as u64) {
                    return None;
                }
                let executing = self.executing(None);
                let executes = executing.of_those_there(at, Extent::Cluster).or_else(|| executing.of(at))?;
                // In the same warp, the path from the one to the other says it.
                executes.by_warps().beside(by, executes.is_exact())?;
                let behind = self.passed_from(Direction::Forward, &[at])?;
                let barrier = self.events().iter().rfind(|event| {
                    event.action == Action::Barrier
                        && behind.has(self.cfg(), event.instruction)
                        && before.has(self.cfg(), event.instruction)
                })?;
                let is_silent = !self.tells_peer(&behind, &joins);
                is_silent.then_some(FreedForPeer { access: *access, frees: *frees, barrier: *barrier })
            })
        };
        frees.iter().filter_map(find).collect()
    }

    /// Whether something of what is passed may tell another CTA that it has been reached.
    fn tells_peer(&self, passed: &Passed, joins: &FxHashSet<u32>) -> bool {
        let cfg = self.cfg();
        let is_signal = |at: u32| passed.has(cfg, at);
        if self.mbarriers().iter().any(|used| used.how.signals() && is_signal(used.instruction)) {
            return true;
        }
        let tells = |event: &Event| event.action.tells(self.all) && !joins.contains(&event.instruction);
        self.events().iter().any(|event| is_signal(event.instruction) && tells(event))
    }

    /// Whether something reads what other threads may write meanwhile, such as a flag.
    pub(super) fn reads_what_others_write(&self) -> bool {
        let operations = &self.unit.operations;
        self.events().iter().any(|event| event.action == Action::Acquire)
            || self.cfg().instructions().any(|at| operations.of(at).memory().reads_strongly)
    }

    /// The barriers of the CTA at which each thread meets those that have come to the same instruction: a thread that
    /// is released continues from there. So it is where one instruction of the kernel names the barrier, where all threads
    /// pass each of the instructions that do once, and where the same warps execute all of these.
    pub(super) fn joins(&self) -> FxHashSet<u32> {
        let channels = self.channels();
        if channels.iter().any(|(_, channel)| channel.is_none()) || !self.all.are_without_calls() {
            return FxHashSet::default();
        }
        let is_passed_once = |event: &Event| {
            let block = self.cfg().block_of(event.instruction);
            self.synchronization(*event) == Synchronization::BarrierSync
                && self.is_for_all_threads(*event)
                && block.is_some_and(|block| {
                    !self.cfg().is_in_loop(block) && self.cfg().post_dominates(block, BlockId(0))
                })
        };
        let of = |wanted: Channel| channels.iter().filter(move |(_, channel)| *channel == Some(wanted));
        let executing = self.executing(None);
        let are_alike = |channel: Channel| {
            let mut all = of(channel).map(|(other, _)| {
                let warps = executing.of_those_there(other.instruction, Extent::Cta)?.by_warps();
                let is_known = other.action == Action::Barrier && warps.certain() == warps.possible();
                is_known.then_some(warps)
            });
            let first = all.next().flatten();
            first.is_some() && all.all(|it| it == first)
        };
        let is_join = |(event, channel): &&(Event, Option<Channel>)| {
            let Some(channel @ Channel::Barrier(_)) = *channel else { return false };
            // Where it stands alone, all threads that meet there have come to the same instruction.
            let is_alone = of(channel).count() == 1 && event.action == Action::Barrier;
            is_alone || of(channel).all(|(other, _)| is_passed_once(other)) || are_alike(channel)
        };
        channels.iter().filter(is_join).map(|(event, _)| event.instruction).collect()
    }
}
