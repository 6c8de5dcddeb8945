//! What warps are told before they free: the signals that they may have waited for, at barriers and through
//! mbarriers, also by way of other warps.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Kernel;
use crate::channels::Channel;
use crate::events::{Action, Event};
use crate::executing::Warps;
use crate::flow::Flow;
use crate::isa::generic::Synchronization;
use crate::mbarriers::Mbarrier;
use crate::reach::{Direction, Passed};

/// What is told before a deallocation.
pub(super) struct Told {
    /// The instructions of the kernel that tell it.
    pub(super) signals: FxHashSet<u32>,
    /// How many of the barriers that everybody passes the warp that frees passes at most.
    pub(super) passed: Vec<(Channel, u32)>,
}

/// What has been looked at.
#[derive(Default)]
struct Seen {
    channels: FxHashSet<Channel>,
    mbarriers: FxHashSet<Option<Mbarrier>>,
}

impl Kernel<'_> {
    /// What the warps that free have been told before; nothing if it may be anything.
    pub(super) fn told_before(&self, site: u32, by: Warps, before: &Passed) -> Option<Told> {
        let flow = &self.flow;
        let mut passed: Vec<(Channel, u32)> = Vec::new();
        for event in flow.events() {
            let Some(Some(channel)) = self.barriers.get(&event.instruction) else { continue };
            let is_new = !passed.iter().any(|(known, _)| known == channel);
            if is_new && self.counted.contains(channel) && before.has(flow.cfg(), event.instruction) {
                passed.push((*channel, self.most(*channel, site, by, before)?));
            }
        }
        let mut told = Told { signals: FxHashSet::default(), passed };
        let mut seen = Seen::default();
        let mut work: Vec<(Vec<u32>, Option<Warps>)> = vec![(vec![site], Some(by))];
        while let Some((at, by)) = work.pop() {
            let before = flow.passed_from(Direction::Backward, &at)?;
            if !flow.facts.budget.take(flow.events().len() as u64) {
                return None;
            }
            let mut new: Vec<u32> = Vec::new();
            for event in flow.events().iter().filter(|event| before.has(flow.cfg(), event.instruction)) {
                if by.is_none_or(|by| self.may_execute(by, event.instruction)) {
                    self.add_waited_for(*event, &told, &mut seen, &mut new)?;
                }
            }
            let mut by_warps: FxHashMap<Option<Warps>, Vec<u32>> = FxHashMap::default();
            for signal in new {
                if told.signals.insert(signal) {
                    by_warps.entry(self.warps(signal)).or_default().push(signal);
                }
            }
            work.extend(by_warps.into_iter().map(|(by, signals)| (signals, by)));
        }
        Some(told)
    }

    /// Adds the signals that an event may wait for; nothing if that may be anything.
    fn add_waited_for(&self, event: Event, told: &Told, seen: &mut Seen, found: &mut Vec<u32>) -> Option<()> {
        let flow = &self.flow;
        if let Action::Call(callee) = event.action {
            let happens = flow.all.summary(callee)?.events.len();
            flow.facts.budget.take(happens as u64).then_some(())?;
        }
        waited_for(flow, event, &mut |event, waits| match waits {
            Waits::AtBarrier => self.add_of_channel(self.channel(event)?, told, seen, found),
            Waits::ForMbarrier => {
                let mbarrier = flow.is_own(event).then(|| flow.mbarrier_of(event.instruction)).flatten();
                self.add_of_mbarrier(mbarrier.and_then(|used| used.mbarrier), seen, found);
                Some(())
            }
            Waits::ForAnything => None,
        })
    }

    fn add_of_channel(
        &self,
        channel: Channel,
        told: &Told,
        seen: &mut Seen,
        found: &mut Vec<u32>,
    ) -> Option<()> {
        let flow = &self.flow;
        if !seen.channels.insert(channel) {
            return Some(());
        }
        let is_counted = self.counted.contains(&channel);
        let most = told.passed.iter().find(|(counted, _)| *counted == channel).map(|(_, most)| *most);
        for event in flow.events() {
            let may_be = match event.action {
                Action::Barrier | Action::BarrierArrive => {
                    let own = self.channel(*event);
                    let arrives = self.flow.synchronization(*event) != Synchronization::ClusterWait;
                    // Who leaves the kernel has arrived at such a barrier for good.
                    if own == Some(channel) && !is_counted && flow.is_for_all_threads(*event) {
                        return None;
                    }
                    arrives && own.is_none_or(|own| own == channel)
                }
                Action::Call(callee) => flow.all.summary(callee)?.events.iter().any(|inner| {
                    matches!(inner.action, Action::Barrier | Action::BarrierArrive)
                        && self.channel(*inner).is_none_or(|own| own == channel)
                }),
                _ => false,
            };
            if may_be {
                found.push(event.instruction);
            }
        }
        if let Some(most) = most.filter(|_| is_counted) {
            // Those that come later are not waited for.
            let fewest = self.fewest_of_all(channel)?;
            found.retain(|at| {
                self.barriers.get(at) != Some(&Some(channel)) || self.passed_at(*at, channel, &fewest) < most
            });
        }
        Some(())
    }

    fn add_of_mbarrier(&self, mbarrier: Option<Mbarrier>, seen: &mut Seen, found: &mut Vec<u32>) {
        let flow = &self.flow;
        if !seen.mbarriers.insert(mbarrier) {
            return;
        }
        let may_be = |other: Option<Mbarrier>| match (mbarrier, other) {
            (Some(waited), Some(other)) => flow.may_be_same(&waited, &other),
            (Some(_) | None, Some(_) | None) => true,
        };
        let used = flow.mbarriers().iter().filter(|used| used.how.signals());
        found.extend(used.filter(|used| may_be(used.mbarrier)).map(|used| used.instruction));
        let calls = flow.events().iter().filter(|event| match event.action {
            Action::Call(callee) => flow.all.summary(callee).is_none_or(|summary| summary.uses.signal()),
            _ => false,
        });
        found.extend(calls.map(|event| event.instruction));
    }
}

/// How threads may learn what others have done.
#[derive(Clone, Copy)]
enum Waits {
    AtBarrier,
    ForMbarrier,
    ForAnything,
}

/// Calls `visit` with what threads may wait for at an event, until that returns nothing: what is called may wait
/// for several things.
fn waited_for(
    flow: &Flow<'_>,
    event: Event,
    visit: &mut dyn FnMut(Event, Waits) -> Option<()>,
) -> Option<()> {
    match event.action {
        Action::Barrier => visit(event, Waits::AtBarrier),
        Action::MbarrierWait => visit(event, Waits::ForMbarrier),
        Action::Acquire | Action::SharedUpdate | Action::Unknown => visit(event, Waits::ForAnything),
        Action::Call(callee) => match flow.all.summary(callee) {
            Some(summary) if !summary.unknown => {
                summary.events.iter().try_for_each(|inner| waited_for(flow, *inner, visit))
            }
            _ => visit(event, Waits::ForAnything),
        },
        Action::Tensor { .. }
        | Action::MbarrierArrive
        | Action::BarrierArrive
        | Action::WarpBarrier
        | Action::ProxyFence
        | Action::SharedStore
        | Action::AsyncCopy
        | Action::BulkLoad => Some(()),
    }
}

/// Whether threads may learn at an event what others have done.
pub(super) fn may_wait(flow: &Flow<'_>, event: Event) -> bool {
    waited_for(flow, event, &mut |_, _| None).is_none()
}

/// Whether anything is told behind an instruction of a callee, before that returns.
pub(super) fn tells_behind((flow, at): &(Flow<'_>, u32)) -> bool {
    let behind = Passed::new(flow.cfg(), Direction::Forward, std::iter::once(*at));
    let is_behind = |instruction: u32| behind.has(flow.cfg(), instruction);
    flow.events().iter().any(|event| is_behind(event.instruction) && event.action.tells(flow.all))
        || flow.mbarriers().iter().any(|used| used.how.signals() && is_behind(used.instruction))
}
