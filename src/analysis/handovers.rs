//! Tensor Memory that a thread may still access when it tells another one to go on.
//!
//! Whether that matters depends on who is told: most mbarriers give back shared memory, or another stage.
//! Where it is known which mbarrier or barrier it is, who waits there, and what follows, the columns say
//! whether they are handed over. What follows a further wait may have been told in time: it counts only where
//! that wait is known to be for somebody else.

use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::BlockId;
use super::events::{Action, Event};
use super::executing::{Executes, Executing};
use super::flow::{Flow, Pair, Role};
use super::footprint::{self, columns, operands_read};
use super::loads::Concern;
use super::mbarriers::{Mbarrier, Used};
use super::pending::{Threads, Transfer, pending_loads, pending_stores, pending_stores_if};
use crate::isa::generic::Synchronization;
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::Resolution;
use crate::syntax::literal;

/// A signal while a load or store may be under way.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// The load or store, and the signal.
    pub pair: Pair,
    /// Which of them it is.
    pub transfer: Transfer,
    /// What another warp does to its columns behind a wait for this signal, if that is known: it writes what is
    /// loaded, or accesses what is stored.
    pub then: Option<Event>,
}

/// Where threads that wait learn that others have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    /// An mbarrier, or one of a ring.
    Mbarrier(Mbarrier),
    /// The barrier of the CTA with this number.
    Barrier(u64),
    /// The barrier of the cluster.
    Cluster,
}

/// What another warp may do behind a wait for a signal.
type Behind = Vec<(Event, Executes)>;

impl<'a> Flow<'a> {
    /// The signals of this function that come too early.
    pub fn handovers(&self) -> &'a [Handover] {
        self.facts.handovers.get_or_init(|| {
            let suspected =
                [Transfer::Load, Transfer::Store].into_iter().filter(|it| self.may_hand_over(*it));
            let mut search = None;
            suspected.flat_map(|it| search.get_or_insert_with(|| Search::new(*self)).find(it)).collect()
        })
    }

    /// Whether a load or store may be under way at a signal, whatever is done with what was loaded. Most are
    /// waited for, and then nobody has to be looked for who is told.
    fn may_hand_over(&self, transfer: Transfer) -> bool {
        let role = |event: Event| match (event.action, self.operation(event)) {
            _ if self.signals(event) => Role::Query,
            (Action::Unknown, _) => Role::Kill,
            (_, Some(operation)) => transfer.pending().role(operation),
            _ => Role::None,
        };
        !self.pairs(role, |_| true).is_empty()
    }

    /// Whether an event tells others to go on.
    fn signals(&self, event: Event) -> bool {
        match event.action {
            Action::MbarrierArrive | Action::BarrierArrive => true,
            Action::Barrier => self.synchronization(event) == Synchronization::BarrierSync,
            Action::Tensor { operation, .. } => operation == Operation::Commit,
            Action::MbarrierWait
            | Action::WarpBarrier
            | Action::ProxyFence
            | Action::SharedStore
            | Action::SharedUpdate
            | Action::AsyncCopy
            | Action::Acquire
            | Action::BulkLoad
            | Action::Call(_)
            | Action::Unknown => false,
        }
    }

    fn synchronization(&self, event: Event) -> Synchronization {
        self.unit.operations.of(event.instruction).synchronization()
    }

    /// Where an instruction signals or waits, if that is known.
    fn channel(&self, event: Event) -> Option<Channel> {
        match self.synchronization(event) {
            Synchronization::ClusterArrive | Synchronization::ClusterWait => Some(Channel::Cluster),
            Synchronization::BarrierArrive | Synchronization::BarrierSync => {
                // Those that reduce have a type, and a result first.
                let reduces = !self.unit.operations.of(event.instruction).types.is_empty();
                let operands = self.unit.module.instructions[event.instruction as usize].operands;
                let operand = operands.range().nth(usize::from(reduces))? as u32;
                let found = &self.unit.module.operands[operand as usize];
                let number = match literal::evaluate(&self.unit.source, &self.unit.module, found) {
                    Some(value) => u64::try_from(value).ok()?,
                    None => match self.unit.symbols.operand(operand) {
                        Resolution::Register(register) => {
                            self.known(&[(event.instruction, register)]).first()?.constant(32)?
                        }
                        _ => return None,
                    },
                };
                Some(Channel::Barrier(number))
            }
            _ => self.mbarrier_of(event.instruction)?.mbarrier.map(Channel::Mbarrier),
        }
    }

    fn mbarrier_of(&self, instruction: u32) -> Option<&'a Used> {
        let used = self.mbarriers();
        let at = used.binary_search_by_key(&instruction, |it| it.instruction).ok()?;
        Some(&used[at])
    }
}

/// Looks for handovers in one function.
struct Search<'a> {
    flow: Flow<'a>,
    executing: Executing<'a>,
    /// By signal, as far as it was asked for.
    behind: FxHashMap<u32, Behind>,
}

impl<'a> Search<'a> {
    fn new(flow: Flow<'a>) -> Self {
        Self { flow, executing: flow.executing(None), behind: FxHashMap::default() }
    }

    fn find(&mut self, transfer: Transfer) -> Vec<Handover> {
        let flow = self.flow;
        let read = LazyCell::new(|| flow.loads_that_are_read());
        let role =
            |event: Event, is_asked: &dyn Fn(Event) -> bool| match (event.action, flow.operation(event)) {
                _ if is_asked(event) => Role::Query,
                (_, Some(operation)) if transfer.pending().started_by(operation) => {
                    Role::Gen.only_if(transfer == Transfer::Store || read.contains(&event.instruction))
                }
                (Action::Unknown, _) => Role::Kill,
                (_, Some(operation)) => transfer.pending().role(operation),
                _ => Role::None,
            };
        let arrives = |event: Event| event.action == Action::MbarrierArrive;
        let arrivals = match transfer {
            Transfer::Load => {
                pending_loads(&flow, |event| role(event, &arrives), |_, _| {}, |_| Concern::IfLive)
            }
            Transfer::Store => pending_stores(&flow, Threads::Same, |event| role(event, &arrives)),
        };
        // Barriers and commits say nothing unless it is known what they are for.
        let mut asked: FxHashSet<u32> = FxHashSet::default();
        for event in flow.events() {
            let counts = match event.action {
                // As for a store, there is a rule for that.
                Action::Tensor { .. } => transfer == Transfer::Load,
                Action::MbarrierArrive => !arrivals.is_empty(),
                _ => true,
            };
            if counts && flow.signals(*event) && !self.behind(*event).is_empty() {
                asked.insert(event.instruction);
            }
        }
        let mut known: FxHashMap<u32, Handover> = FxHashMap::default();
        if !asked.is_empty() {
            let is_asked = |event: Event| asked.contains(&event.instruction);
            let role = |event: Event| role(event, &is_asked);
            let pairs = match transfer {
                Transfer::Load => flow.pending_loads(
                    role,
                    |_, _| {},
                    |pair| {
                        if self.then(transfer, pair).is_some() { Concern::IfLive } else { Concern::No }
                    },
                ),
                Transfer::Store => {
                    pending_stores_if(&flow, Threads::Same, role, |pair| self.then(transfer, pair).is_some())
                }
            };
            for pair in pairs {
                let then = self.then(transfer, pair);
                known.insert(pair.then.instruction, Handover { pair, transfer, then });
            }
        }
        for pair in arrivals {
            known.entry(pair.then.instruction).or_insert(Handover { pair, transfer, then: None });
        }
        let mut found: Vec<Handover> = known.into_values().collect();
        found.sort_unstable_by_key(|it| it.pair.then.instruction);
        found
    }

    /// What another warp does to the columns of a load or store behind a wait for a signal.
    fn then(&self, transfer: Transfer, pair: Pair) -> Option<Event> {
        let flow = &self.flow;
        if !flow.is_own(pair.first) {
            return None;
        }
        let accessed = columns(flow, pair.first)?;
        accessed.certain()?;
        let by = self.executing.of(pair.first.instruction).filter(Executes::is_somebody)?;
        let conflicts = |(event, executes): &&(Event, Executes)| {
            let Some(instruction) = flow.instruction(*event) else { return false };
            let Some((_, writes)) = footprint::accessed(instruction) else { return false };
            let is_own_lanes = !matches!(
                flow.operation(*event),
                Some(Operation::Mma | Operation::MmaWs | Operation::Cp | Operation::Shift)
            );
            let overlaps = |it: footprint::Columns| it.overlaps(&accessed);
            let touches = (writes || transfer == Transfer::Store)
                && columns(flow, *event).is_some_and(overlaps)
                || transfer == Transfer::Store
                    && operands_read(flow, *event).into_iter().flatten().any(overlaps);
            touches
                && by.is_of_more_warps_than_or_apart(executes)
                // Of a warp, only those with the same rank in a warpgroup access the same lanes.
                && (!is_own_lanes || by.shares_lanes_with(executes))
        };
        self.behind.get(&pair.then.instruction)?.iter().find(conflicts).map(|(event, _)| *event)
    }

    /// The accesses by other warps behind the waits for a signal.
    fn behind(&mut self, signal: Event) -> &Behind {
        if !self.behind.contains_key(&signal.instruction) {
            let behind = self.find_behind(signal).unwrap_or_default();
            self.behind.insert(signal.instruction, behind);
        }
        &self.behind[&signal.instruction]
    }

    fn find_behind(&self, signal: Event) -> Option<Behind> {
        let flow = &self.flow;
        if !flow.is_own(signal) {
            return None;
        }
        let channel = flow.channel(signal)?;
        let signals = self.executing.of(signal.instruction).filter(Executes::is_somebody)?;
        let (is_barrier, waits) = match channel {
            Channel::Mbarrier(signalled) => (false, self.waits_on(&signalled, &signals)),
            // How many threads there are decides who else is there.
            Channel::Barrier(_) | Channel::Cluster => {
                flow.block_size()?;
                (true, self.waits_at(channel, signal, &signals)?)
            }
        };
        let is_of_others = |other: &Executes| {
            if is_barrier { signals.is_of_more_warps_than(other) } else { signals.is_of_other_warps(other) }
        };
        let mut behind = Behind::new();
        for event in self.reached(&waits, &signals) {
            let executes = self.executing.of(event.instruction).filter(Executes::is_somebody);
            behind.extend(executes.filter(|it| is_of_others(it)).map(|it| (event, it)));
        }
        Some(behind)
    }

    /// The waits of other warps on an mbarrier, or on another one of its ring.
    fn waits_on(&self, signalled: &Mbarrier, signals: &Executes) -> Vec<u32> {
        let is_other = |event: &Event| {
            let waited = self.flow.mbarrier_of(event.instruction).and_then(|it| it.mbarrier);
            waited.is_some_and(|it| it.is_of_same_ring(signalled))
                && self
                    .executing
                    .of(event.instruction)
                    .is_some_and(|it| it.is_somebody() && signals.is_of_other_warps(&it))
        };
        let waits = self.flow.events().iter().filter(|event| event.action == Action::MbarrierWait);
        waits.filter(|event| is_other(event)).map(|event| event.instruction).collect()
    }

    /// Where others wait at a barrier, as far as it is clear that it is in the same phase: at the same
    /// instruction, or where those who signal have only this one and the others only one, too.
    fn waits_at(&self, channel: Channel, signal: Event, signals: &Executes) -> Option<Vec<u32>> {
        let flow = &self.flow;
        let (mut of_others, mut together) = (Vec::new(), 0);
        for event in flow.events() {
            if !matches!(event.action, Action::Barrier | Action::BarrierArrive) {
                continue;
            }
            let other = flow.channel(*event);
            if other.is_some_and(|other| other != channel) || event.instruction == signal.instruction {
                continue;
            }
            let executes = self.executing.of(event.instruction).filter(|_| other.is_some())?;
            if signals.is_of_other_warps(&executes) {
                of_others.push(*event);
            } else {
                together += 1;
            }
        }
        let is_wait = |event: Event| event.action == Action::Barrier;
        match of_others[..] {
            // Everybody waits where the signal is given, whatever else there is.
            [] if is_wait(signal) => Some(vec![signal.instruction]),
            [] if channel == Channel::Cluster => {
                // Who arrives there waits there, farther on.
                let waits =
                    flow.events().iter().filter(|it| is_wait(**it) && flow.channel(**it) == Some(channel));
                let waits: Vec<u32> = waits.map(|event| event.instruction).collect();
                (waits.len() == 1).then_some(waits)
            }
            [only] if together == 0 && is_wait(only) => Some(vec![only.instruction]),
            _ => None,
        }
    }

    /// The accesses of Tensor Memory behind some waits, up to where the warps that signal may have told
    /// something else.
    fn reached(&self, waits: &[u32], signals: &Executes) -> Vec<Event> {
        let flow = &self.flow;
        let cfg = flow.cfg();
        let mut found: FxHashMap<u32, Event> = FxHashMap::default();
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut work: Vec<(BlockId, u32)> =
            waits.iter().filter_map(|wait| Some((cfg.block_of(*wait)?, wait + 1))).collect();
        while let Some((block, first)) = work.pop() {
            let content = cfg.block(block);
            let from = flow.events().partition_point(|event| event.instruction < first);
            let here =
                flow.events()[from..].iter().take_while(|event| event.instruction < content.instructions.end);
            let mut goes_on = flow.facts.budget.take(1);
            for event in here {
                if waits.contains(&event.instruction) || self.may_tell(*event, signals) {
                    goes_on = false;
                    break;
                }
                if flow.instruction(*event).is_some_and(|it| footprint::accessed(it).is_some()) {
                    found.insert(event.instruction, *event);
                }
            }
            if goes_on {
                let next = content.successors.iter().filter(|next| seen.insert(**next));
                work.extend(next.map(|next| (*next, cfg.block(*next).instructions.start)));
            }
        }
        let mut found: Vec<Event> = found.into_values().collect();
        found.sort_unstable_by_key(|event| event.instruction);
        found
    }

    /// Whether a thread may learn from some warps that they are farther.
    fn may_tell(&self, event: Event, by: &Executes) -> bool {
        let flow = &self.flow;
        match event.action {
            Action::Barrier | Action::Acquire | Action::Call(_) | Action::Unknown => true,
            Action::MbarrierWait => {
                let waited = flow.mbarrier_of(event.instruction).and_then(|it| it.mbarrier);
                waited.is_none_or(|waited| {
                    flow.mbarriers().iter().any(|used| {
                        let signals = used.how.signals()
                            && used.mbarrier.is_none_or(|mbarrier| flow.may_be_same(&mbarrier, &waited));
                        let is_apart = || {
                            let executes = self.executing.of(used.instruction);
                            executes.is_some_and(|it| by.is_of_other_warps(&it))
                        };
                        signals && !is_apart()
                    })
                })
            }
            Action::Tensor { .. }
            | Action::MbarrierArrive
            | Action::BarrierArrive
            | Action::WarpBarrier
            | Action::ProxyFence
            | Action::SharedStore
            | Action::SharedUpdate
            | Action::AsyncCopy
            | Action::BulkLoad => false,
        }
    }
}
