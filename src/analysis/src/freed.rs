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

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::BlockId;
use super::channels::Channel;
use super::events::{Action, Event};
use super::executing::{Executing, Warps};
use super::flow::Flow;
use super::pending::Pending;
use super::reach::{Direction, Passed};
use super::reached::Reached;
use crate::isa::generic::Synchronization;
use crate::isa::vocabulary::Operation;
use crate::syntax::literal;

mod passing;
mod told;

use told::{may_wait, tells_behind};

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
        let is_in_cycle = |(flow, at): &(Self, u32)| {
            flow.cfg().block_of(*at).is_none_or(|block| flow.cfg().is_in_loop(block))
        };
        if alloc.way().iter().any(is_in_cycle) {
            return Vec::new();
        }
        let frees = self.reached(is(Operation::Dealloc));
        let open = |frees: Reached<'a>| {
            if !asked(frees.event.instruction) {
                return None;
            }
            // A question about the graph alone, and in most kernels the last one.
            let open = self.open_accesses(&frees)?;
            // Where every warp frees, none of them is another one.
            let by = frees.executes(None)?.by_warps();
            if !by.are_some() || by.possible() == self.executing(None).everybody() {
                return None;
            }
            Some((frees, by, open))
        };
        let open: Vec<(Reached<'a>, Warps, Open)> = frees.into_iter().filter_map(open).collect();
        if open.is_empty() {
            return Vec::new();
        }
        let kernel = Kernel::new(*self);
        open.into_iter().filter_map(|(frees, by, open)| kernel.accessed_meanwhile(frees, by, &open)).collect()
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
    pub(super) fn is_for_all_threads(&self, event: Event) -> bool {
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

/// For some warps that access: what can still be told to who frees, and by barrier of all threads at how many the
/// warps have arrived at least before each block.
type Behind = (Passed, Vec<Vec<u32>>);

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

    /// The first access of another warp that nothing orders with a deallocation, which these warps execute.
    fn accessed_meanwhile(&self, frees: Reached<'a>, by: Warps, open: &Open) -> Option<Freed<'a>> {
        let Open { before, waited, sites } = open;
        let flow = &self.flow;
        let site = frees.site();
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

    /// Whether something reads what others may write meanwhile, before the deallocation or in a callee.
    fn reads_flags(&self, before: &Passed) -> bool {
        let flow = &self.flow;
        let is_strong = |at: u32| flow.unit.operations.of(at).memory().reads_strongly;
        let mut own = flow.cfg().instructions().filter(|at| before.has(flow.cfg(), *at));
        let callees = flow.all.reachable([flow.function()]);
        let mut others = callees.into_iter().filter(|function| *function != flow.function());
        own.any(is_strong) || others.any(|function| flow.instructions_of(function).any(is_strong))
    }
}
