//! At how many barriers of all threads warps arrive before they get somewhere.

use super::Kernel;
use crate::cfg::BlockId;
use crate::channels::Channel;
use crate::events::Event;
use crate::executing::Warps;
use crate::isa::generic::Synchronization;
use crate::reach::Passed;

/// More iterations through a function are not made to count what it passes.
const ROUNDS: usize = 8;

impl<'a> Kernel<'a> {
    /// Whether an event is one of those that count at a barrier of all threads.
    fn arrives(&self, event: Event, channel: Channel) -> bool {
        self.barriers.get(&event.instruction) == Some(&Some(channel))
            && self.flow.synchronization(event) != Synchronization::ClusterWait
    }

    fn waits(&self, event: Event, channel: Channel) -> bool {
        self.barriers.get(&event.instruction) == Some(&Some(channel))
            && self.flow.synchronization(event) != Synchronization::ClusterArrive
    }

    /// At how many of these barriers everybody certainly arrives between a block's start and an instruction in it.
    fn arrivals(&self, block: BlockId, end: u32, channel: Channel) -> u32 {
        let unit = self.flow.unit;
        let is_plain = |event: &&Event| {
            unit.module.guard(&unit.module.instructions[event.instruction as usize]).is_none()
        };
        let here = self.events_before(block, end).filter(is_plain);
        here.filter(|event| self.arrives(**event, channel)).count() as u32
    }

    /// What happens between a block's start and an instruction in it.
    fn events_before(&self, block: BlockId, end: u32) -> impl Iterator<Item = &'a Event> {
        let start = self.flow.cfg().block(block).instructions.start;
        let events = self.flow.events();
        let from = events.partition_point(|event| event.instruction < start);
        events[from..].iter().take_while(move |event| event.instruction < end)
    }

    /// At how many of these barriers a thread has arrived at least before an instruction, given how many there
    /// are before each block.
    pub(super) fn passed_at(&self, instruction: u32, channel: Channel, fewest: &[u32]) -> u32 {
        let Some(block) = self.flow.cfg().block_of(instruction) else { return 0 };
        fewest[block.index()].saturating_add(self.arrivals(block, instruction, channel))
    }

    /// By block: at how many barriers some warps arrive at least before they get there.
    pub(super) fn fewest(&self, channel: Channel, by: Warps) -> Option<Vec<u32>> {
        self.count_fewest(channel, &|block| self.may_enter(by, block))
    }

    pub(super) fn fewest_of_all(&self, channel: Channel) -> Option<Vec<u32>> {
        self.count_fewest(channel, &|_| true)
    }

    fn count_fewest(&self, channel: Channel, enters: &dyn Fn(BlockId) -> bool) -> Option<Vec<u32>> {
        let cfg = self.flow.cfg();
        let mut fewest = vec![u32::MAX; cfg.len()];
        let order = cfg.reverse_post_order();
        if let Some(first) = order.first() {
            fewest[first.index()] = 0;
        }
        for _ in 0..ROUNDS {
            if !self.flow.facts.budget.take(2 * cfg.len() as u64) {
                return None;
            }
            let mut changed = false;
            for block in order {
                let before = fewest[block.index()];
                if before == u32::MAX || !enters(*block) {
                    continue;
                }
                let content = cfg.block(*block);
                let behind = before.saturating_add(self.arrivals(*block, content.instructions.end, channel));
                for next in &content.successors {
                    let known = &mut fewest[next.index()];
                    changed |= behind < *known;
                    *known = behind.min(*known);
                }
            }
            if !changed {
                return Some(fewest);
            }
        }
        None
    }

    /// At how many barriers some warps wait at most before they get to an instruction; nothing if there is no
    /// end to it.
    pub(super) fn most(&self, channel: Channel, site: u32, by: Warps, before: &Passed) -> Option<u32> {
        let cfg = self.flow.cfg();
        let own = cfg.block_of(site)?;
        let mut most: Vec<Option<u32>> = vec![None; cfg.len()];
        let order = cfg.reverse_post_order();
        most[order.first()?.index()] = Some(0);
        let count = |block: BlockId, end: u32| {
            self.events_before(block, end).filter(|event| self.waits(**event, channel)).count() as u32
        };
        for _ in 0..ROUNDS {
            if !self.flow.facts.budget.take(2 * cfg.len() as u64) {
                return None;
            }
            let mut changed = false;
            for block in order {
                let content = cfg.block(*block);
                let last = content.instructions.end.saturating_sub(1);
                let Some(passed) = most[block.index()] else { continue };
                if !before.has(cfg, last) && *block != own || !self.may_enter(by, *block) {
                    continue;
                }
                let behind = passed + count(*block, content.instructions.end);
                for next in &content.successors {
                    let known = &mut most[next.index()];
                    changed |= known.is_none_or(|known| behind > known);
                    *known = Some(known.map_or(behind, |known| behind.max(known)));
                }
            }
            if !changed {
                return Some(most[own.index()].unwrap_or_default() + count(own, site));
            }
        }
        None
    }
}
