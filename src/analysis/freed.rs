//! Tensor Memory that one warp frees while others access it.
//!
//! A deallocation is behind what another warp does if that warp tells somebody when it has done it, and what is
//! told gets to the warp that frees: at a barrier, through an mbarrier, perhaps by way of a third warp. So the
//! question is which signals can have been waited for before the deallocation, and whether one of them can
//! follow the access. Both are answered generously: what remains is freed meanwhile.
//!
//! Barriers that everybody passes are counted. Where the warp that frees has passed no more of them than lie
//! before the access, none of them lies behind it, whoever passes more later.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::{BlockId, Cfg};
use super::channels::Channel;
use super::events::{self, Action, Event};
use super::executing::{Executing, Warps};
use super::flow::Flow;
use super::mbarriers::Mbarrier;
use super::pending::Pending;
use super::reach::{Direction, Passed};
use super::reached::Reached;
use crate::isa::generic::Synchronization;
use crate::isa::vocabulary::Operation;
use crate::syntax::literal;

/// An access of Tensor Memory, and a deallocation that another warp may execute meanwhile.
#[derive(Debug)]
pub struct Freed<'a> {
    /// The access.
    pub access: Reached<'a>,
    /// The deallocation.
    pub frees: Reached<'a>,
    /// The barrier before the deallocation that everybody passes before the access, if there is one.
    pub barrier: Option<u32>,
}

impl<'a> Flow<'a> {
    /// The deallocations of this kernel that certainly do not wait for an access of another warp, each with the
    /// first such access. Those that are not `asked` for are left alone.
    pub fn freed_meanwhile(&self, asked: impl Fn(u32) -> bool) -> Vec<Freed<'a>> {
        let is = |wanted: Operation| move |event: Event| self.operation(event) == Some(wanted);
        let Some(summary) = self.summary().filter(|summary| !summary.unknown) else { return Vec::new() };
        let happens = |wanted: Operation| summary.events.iter().any(|event| is(wanted)(*event));
        if !happens(Operation::Alloc) || !happens(Operation::Dealloc) {
            return Vec::new();
        }
        // Of several allocations it would have to be known which one is accessed.
        let allocated = self.reached(is(Operation::Alloc));
        let [alloc] = &allocated[..] else { return Vec::new() };
        let goes_round = |(flow, at): &(Self, u32)| {
            flow.cfg().block_of(*at).is_none_or(|block| flow.cfg().is_in_loop(block))
        };
        if alloc.way().iter().any(goes_round) {
            return Vec::new();
        }
        let frees = self.reached(is(Operation::Dealloc));
        let asked = frees.into_iter().filter(|frees| asked(frees.event.instruction));
        let open: Vec<(Reached<'a>, Open)> =
            asked.filter_map(|frees| self.open_accesses(&frees).map(|open| (frees, open))).collect();
        if open.is_empty() {
            return Vec::new();
        }
        let kernel = Kernel::new(*self);
        open.into_iter().filter_map(|(frees, open)| kernel.accessed_meanwhile(frees, &open)).collect()
    }

    /// The accesses of this kernel that no barrier of all threads certainly parts from a deallocation; nothing if
    /// there are none.
    fn open_accesses(&self, frees: &Reached<'a>) -> Option<Open> {
        let flow = self;
        let site = frees.site();
        // What a callee waits for before it frees is not looked at.
        let waits = |(callee, at): &(Flow<'a>, u32)| {
            let before = Passed::new(callee.cfg(), Direction::Backward, std::iter::once(*at));
            let may_wait = |event: &Event| may_wait(callee, *event);
            callee.events().iter().any(|event| before.has(callee.cfg(), event.instruction) && may_wait(event))
        };
        if frees.way().iter().skip(1).any(waits) {
            return None;
        }
        // Most deallocations stand behind a barrier that can be reached from all accesses.
        let before = flow.passed_from(Direction::Backward, &[site])?;
        let waited = flow.events().iter().filter(|event| match event.action {
            Action::Barrier => flow.is_for_all_threads(**event),
            Action::Call(_) => may_wait(flow, **event),
            _ => false,
        });
        let waited: Vec<u32> =
            waited.map(|event| event.instruction).filter(|at| before.has(flow.cfg(), *at)).collect();
        let joined = flow.passed_from(Direction::Backward, &waited)?;
        // What comes after the deallocation is another mistake.
        let after = flow.passed_from(Direction::Forward, &[site])?;
        let is_access = |event: Event| flow.operation(event).is_some_and(|it| Pending::of(it).is_some());
        let sites: FxHashSet<u32> = flow
            .events()
            .iter()
            .filter(|event| match event.action {
                Action::Call(callee) => flow
                    .all
                    .summary(callee)
                    .is_some_and(|summary| summary.events.iter().any(|inner| is_access(*inner))),
                _ => is_access(**event),
            })
            .map(|event| event.instruction)
            .filter(|at| !joined.has(flow.cfg(), *at) && !after.has(flow.cfg(), *at))
            .collect();
        (!sites.is_empty()).then_some(Open { before, waited, sites })
    }

    /// Whether all threads have part in the barrier of an event: that of the cluster, or one of the CTA which
    /// names no number of threads, or that of all.
    fn is_for_all_threads(&self, event: Event) -> bool {
        let unit = self.unit;
        match self.synchronization(event) {
            Synchronization::ClusterArrive | Synchronization::ClusterWait => true,
            Synchronization::BarrierSync => {
                let operands = unit.module.instructions[event.instruction as usize].operands;
                let reduces = !unit.operations.of(event.instruction).types.is_empty();
                let Some(count) = operands.range().nth(1) else { return true };
                let count = literal::evaluate(&unit.source, &unit.module, &unit.module.operands[count]);
                let all = self.block_size().map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z));
                !reduces && count.zip(all).is_some_and(|(count, all)| count == i128::from(all))
            }
            _ => false,
        }
    }
}

/// What has to be looked at of a deallocation.
struct Open {
    /// What may have happened before it.
    before: Passed,
    /// The barriers of all threads, and the calls, before it.
    waited: Vec<u32>,
    /// The accesses from which none of these can be reached, or the calls that lead to them.
    sites: FxHashSet<u32>,
}

/// The kernel that is looked at.
struct Kernel<'a> {
    flow: Flow<'a>,
    executing: Executing<'a>,
    /// By instruction, as far as it was asked for.
    warps: RefCell<FxHashMap<u32, Option<Warps>>>,
    /// Its barriers, and which ones they are.
    barriers: FxHashMap<u32, Option<Channel>>,
    /// Those that all threads there are have part in, wherever they are named.
    counted: FxHashSet<Channel>,
}

/// What is told before a deallocation.
struct Told {
    /// The instructions of the kernel that tell it.
    signals: FxHashSet<u32>,
    /// How many of the barriers that everybody passes the warp that frees passes at most.
    passed: Vec<(Channel, u32)>,
}

/// For some warps that access: what can still be told to who frees, and by barrier of all threads at how many the
/// warps have arrived at least before each block.
type Behind = (Passed, Vec<Vec<u32>>);

/// What has been looked at.
#[derive(Default)]
struct Seen {
    channels: FxHashSet<Channel>,
    mbarriers: FxHashSet<Option<Mbarrier>>,
}

/// More rounds through a function are not made to count what it passes.
const ROUNDS: usize = 8;

impl<'a> Kernel<'a> {
    fn new(flow: Flow<'a>) -> Self {
        let barriers: FxHashMap<u32, Option<Channel>> =
            flow.channels().into_iter().map(|(event, channel)| (event.instruction, channel)).collect();
        let mut this = Self {
            flow,
            executing: flow.executing(None),
            warps: RefCell::default(),
            barriers,
            counted: FxHashSet::default(),
        };
        let mut not_counted: FxHashSet<Channel> = FxHashSet::default();
        let mut any_in_callees = false;
        for event in flow.events() {
            match event.action {
                Action::Barrier | Action::BarrierArrive => {
                    let Some(channel) = this.channel(*event) else { continue };
                    this.counted.insert(channel);
                    if !flow.is_for_all_threads(*event) {
                        not_counted.insert(channel);
                    }
                }
                Action::Call(callee) => {
                    let happens = flow.all.summary(callee).into_iter().flat_map(|summary| &summary.events);
                    for inner in happens {
                        if matches!(inner.action, Action::Barrier | Action::BarrierArrive) {
                            let channel = this.channel(*inner);
                            any_in_callees |= channel.is_none();
                            not_counted.extend(channel);
                        }
                    }
                }
                _ => {}
            }
        }
        this.counted.retain(|channel| !any_in_callees && !not_counted.contains(channel));
        this
    }

    /// The barrier that an event of the kernel or of a callee is about.
    fn channel(&self, event: Event) -> Option<Channel> {
        if let Some(known) = self.barriers.get(&event.instruction) {
            return *known;
        }
        match self.flow.synchronization(event) {
            Synchronization::ClusterArrive | Synchronization::ClusterWait => Some(Channel::Cluster),
            _ => self.flow.written_barrier(event.instruction).map(Channel::Barrier),
        }
    }

    /// The warps that execute an instruction of the kernel.
    fn warps(&self, instruction: u32) -> Option<Warps> {
        match self.warps.borrow_mut().entry(instruction) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                *new.insert(self.executing.of(instruction).map(|executes| executes.by_warps()))
            }
        }
    }

    /// Whether some of these warps may execute an instruction of the kernel.
    fn may_execute(&self, by: Warps, instruction: u32) -> bool {
        self.warps(instruction).is_none_or(|warps| !by.are_others_than(warps))
    }

    /// Whether some of these warps may get to a block.
    fn may_enter(&self, by: Warps, block: BlockId) -> bool {
        let unit = self.flow.unit;
        let mut instructions = self.flow.cfg().block(block).instructions.clone();
        let plain =
            instructions.find(|at| unit.module.guard(&unit.module.instructions[*at as usize]).is_none());
        plain.is_none_or(|plain| self.may_execute(by, plain))
    }

    /// The first access of another warp that nothing orders with a deallocation.
    fn accessed_meanwhile(&self, frees: Reached<'a>, open: &Open) -> Option<Freed<'a>> {
        let Open { before, waited, sites } = open;
        let flow = &self.flow;
        let site = frees.site();
        let executes = frees.executes(None)?;
        let by = executes.by_warps();
        if !by.are_some() {
            return None;
        }
        let is_access = |event: Event| flow.operation(event).is_some_and(|it| Pending::of(it).is_some());
        let by_others = |access: Reached<'a>| {
            let is_open = sites.contains(&access.site()) && !access.way().iter().skip(1).any(tells_behind);
            let executes = if is_open { access.executes(None)? } else { return None };
            Some((access, executes.by_warps().beside(by, executes.is_exact())?))
        };
        let accesses: Vec<_> = flow.reached(is_access).into_iter().filter_map(by_others).collect();
        if accesses.is_empty() {
            return None;
        }
        let told = self.told_before(site, by, before)?;
        let mut behind: FxHashMap<Warps, Option<Behind>> = FxHashMap::default();
        for (access, others) in accesses {
            let (told_from, passed) = behind
                .entry(others)
                .or_insert_with(|| {
                    let signals: Vec<u32> =
                        told.signals.iter().copied().filter(|at| self.may_execute(others, *at)).collect();
                    let fewest = told
                        .passed
                        .iter()
                        .map(|(channel, _)| self.fewest(*channel, others))
                        .collect::<Option<_>>()?;
                    Some((flow.passed_from(Direction::Backward, &signals)?, fewest))
                })
                .as_ref()?;
            let is_counted = || {
                told.passed
                    .iter()
                    .zip(passed)
                    .all(|((channel, most), fewest)| *most <= self.passed_at(access.site(), *channel, fewest))
            };
            if told_from.has(flow.cfg(), access.site()) || !is_counted() || self.reads_flags(before) {
                continue;
            }
            let last = waited.iter().copied().rfind(|at| *at < site && self.barriers.contains_key(at));
            return Some(Freed { access, frees, barrier: last.filter(|at| self.may_execute(by, *at)) });
        }
        None
    }

    /// What the warps that free have been told before; nothing if it may be anything.
    fn told_before(&self, site: u32, by: Warps, before: &Passed) -> Option<Told> {
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
        let waited = mbarrier.map(|it| flow.several(std::iter::once((it, ()))));
        let may_be = |other: Option<Mbarrier>| match (&waited, other) {
            (Some(waited), Some(other)) => flow.may_be_one_of(&other, waited),
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
    fn passed_at(&self, instruction: u32, channel: Channel, fewest: &[u32]) -> u32 {
        let Some(block) = self.flow.cfg().block_of(instruction) else { return 0 };
        fewest[block.index()].saturating_add(self.arrivals(block, instruction, channel))
    }

    /// By block: at how many barriers some warps arrive at least before they get there.
    fn fewest(&self, channel: Channel, by: Warps) -> Option<Vec<u32>> {
        self.count_fewest(channel, &|block| self.may_enter(by, block))
    }

    fn fewest_of_all(&self, channel: Channel) -> Option<Vec<u32>> {
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
    fn most(&self, channel: Channel, site: u32, by: Warps, before: &Passed) -> Option<u32> {
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

    /// Whether something reads what others may write meanwhile, before the deallocation or in a callee.
    fn reads_flags(&self, before: &Passed) -> bool {
        let flow = &self.flow;
        let is_strong = |at: u32| events::is_strong_read(flow.unit.operations.of(at));
        let mut own = flow.cfg().instructions().filter(|at| before.has(flow.cfg(), *at));
        let callees = flow.all.reachable([flow.facts.function]);
        let mut others = callees.into_iter().filter(|function| *function != flow.facts.function);
        own.any(is_strong) || others.any(|function| instructions_of(flow, function).any(is_strong))
    }
}

/// The instructions of a function, whether it is looked at together with this one or has nothing to do with
/// tcgen05.
fn instructions_of(flow: &Flow<'_>, function: u32) -> Range<u32> {
    let module = &flow.unit.module;
    let range = Cfg::instruction_range(module, module.functions[function as usize].body);
    flow.facts.budget.take(range.len() as u64);
    range
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
fn may_wait(flow: &Flow<'_>, event: Event) -> bool {
    waited_for(flow, event, &mut |_, _| None).is_none()
}

/// Whether anything is told behind an instruction of a callee, before that returns.
fn tells_behind((flow, at): &(Flow<'_>, u32)) -> bool {
    let behind = Passed::new(flow.cfg(), Direction::Forward, std::iter::once(*at));
    let is_behind = |instruction: u32| behind.has(flow.cfg(), instruction);
    let tells = |event: &Event| match event.action {
        Action::Barrier | Action::BarrierArrive | Action::SharedUpdate | Action::Unknown => true,
        Action::Call(callee) => flow.all.summary(callee).is_none_or(|summary| {
            let tells = |inner: &Event| {
                matches!(inner.action, Action::Barrier | Action::BarrierArrive | Action::SharedUpdate)
            };
            summary.unknown || summary.uses.signal() || summary.events.iter().any(tells)
        }),
        Action::Tensor { .. }
        | Action::MbarrierWait
        | Action::MbarrierArrive
        | Action::WarpBarrier
        | Action::ProxyFence
        | Action::SharedStore
        | Action::AsyncCopy
        | Action::Acquire
        | Action::BulkLoad => false,
    };
    flow.events().iter().any(|event| is_behind(event.instruction) && tells(event))
        || flow.mbarriers().iter().any(|used| used.how.signals() && is_behind(used.instruction))
}
