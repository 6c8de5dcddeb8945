//! Asynchronous operations that are not known to be complete where something else happens.

use std::cell::LazyCell;
use std::hash::Hash;

use rustc_hash::FxHashSet;

use super::events::{Action, Event};
use super::flow::{Flow, Pair, Role};
use super::footprint::is_same;
use super::loads::{Concern, register_of};
use super::mbarriers::{Mbarrier, Use};
use super::reach::{Direction, Fact, Reach};
use crate::instruction::Instruction;
use crate::isa::vocabulary::Operation;

/// Asynchronous operations by the way in which their completion is observed (9.7.16.6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// `ld`, observed by `wait::ld`.
    Load,
    /// `st`, observed by `wait::st`.
    Store,
    /// `mma`, `cp` and `shift`, observed on the mbarrier that `commit` signals.
    Operation,
}

impl Pending {
    /// How the completion of an operation is observed, if it is asynchronous.
    pub fn of(operation: Operation) -> Option<Self> {
        Some(match operation {
            Operation::Ld | Operation::LdRed | Operation::LdSpcompress | Operation::LdRedSpcompress => {
                Self::Load
            }
            Operation::St => Self::Store,
            Operation::Cp | Operation::Shift | Operation::Mma | Operation::MmaWs => Self::Operation,
            Operation::Alloc
            | Operation::Dealloc
            | Operation::RelinquishAllocPermit
            | Operation::WaitLd
            | Operation::WaitSt
            | Operation::Commit
            | Operation::FenceBefore
            | Operation::FenceAfter => return None,
        })
    }

    /// Whether `operation` is one of these.
    pub fn started_by(self, operation: Operation) -> bool {
        Self::of(operation) == Some(self)
    }

    /// What `operation` means to a question about these.
    pub fn role(self, operation: Operation) -> Role {
        match (self, operation) {
            _ if self.started_by(operation) => Role::Gen,
            (Self::Load, Operation::WaitLd) | (Self::Store, Operation::WaitSt) => Role::Kill,
            _ => Role::None,
        }
    }
}

/// What a warp moves between its registers and Tensor Memory: these have to be waited for before another thread
/// goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// `ld`
    Load,
    /// `st`
    Store,
}

impl Transfer {
    /// What `operation` moves, if it is such a one.
    pub fn of(operation: Operation) -> Option<Self> {
        match Pending::of(operation)? {
            Pending::Load => Some(Self::Load),
            Pending::Store => Some(Self::Store),
            Pending::Operation => None,
        }
    }

    /// The operations.
    pub const fn pending(self) -> Pending {
        match self {
            Self::Load => Pending::Load,
            Self::Store => Pending::Store,
        }
    }

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "ld",
            Self::Store => "st",
        }
    }

    /// What waits for it.
    pub const fn wait(self) -> &'static str {
        match self {
            Self::Load => "wait::ld",
            Self::Store => "wait::st",
        }
    }
}

/// Whose access matters to what happens behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// That of the same thread.
    Same,
    /// That of any thread.
    Any,
}

/// [`Flow::pending_loads`] for questions that are asked where Tensor Memory is written or freed, at
/// fences and where mbarriers are signalled. Most functions have no pending load at any of these,
/// which is found out once.
pub fn pending_loads(
    flow: &Flow<'_>,
    role: impl Fn(Event) -> Role,
    kills: impl Fn(&mut Reach, &[(Fact, Event)]),
    concern: impl FnMut(Pair) -> Concern,
) -> Vec<Pair> {
    let any = *flow.facts.pending_loads.get_or_init(|| {
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::Unknown, _) => Role::Kill,
            (Action::MbarrierArrive, _) | (_, Some(Operation::Dealloc | Operation::FenceBefore)) => {
                Role::Query
            }
            (_, Some(operation)) if Pending::Operation.started_by(operation) => Role::Query,
            (_, Some(operation)) => Pending::Load.role(operation),
            _ => Role::None,
        };
        // Most loads are waited for, whatever is done with what they loaded.
        let first_in_thread = |reach: &mut Reach, _: &[(Fact, Event)]| {
            reach.same_thread();
            reach.stop_at_first_answer();
        };
        flow.may_have_pairs(role, first_in_thread) && flow.has_pending_loads(role, first_in_thread)
    });
    if any { flow.pending_loads(role, kills, concern) } else { Vec::new() }
}

/// Stores that are pending where something happens: there is no `wait::st`, and no load has read
/// the same columns since.
pub fn pending_stores(flow: &Flow<'_>, threads: Threads, role: impl Fn(Event) -> Role) -> Vec<Pair> {
    unless_read_again(flow, threads, |kills| flow.pairs_killing(&role, kills, |_| true))
}

/// The same, where it depends on the kinds of both whether a store matters to what happens, as
/// [`Flow::pairs_of_kinds`] has them.
pub fn pending_stores_of_kinds<K: Eq + Hash>(
    flow: &Flow<'_>,
    threads: Threads,
    role: impl Fn(Event) -> Role,
    kind: impl Fn(Event) -> K,
    relates: impl Fn(&K, &K) -> bool,
) -> Vec<Pair> {
    unless_read_again(flow, threads, |kills| flow.pairs_of_kinds_killing(&role, kills, &kind, &relates))
}

/// Adds to a problem where single facts are killed.
type Kills<'k> = &'k dyn Fn(&mut Reach, &[(Fact, Event)]);

/// Asks twice: a load that reads the columns of a store again, and is waited for, waits for the store, too.
/// Few kernels have such loads, and looking for them takes long, so that they count only where without them
/// a store is pending.
fn unless_read_again(flow: &Flow<'_>, threads: Threads, ask: impl Fn(Kills<'_>) -> Vec<Pair>) -> Vec<Pair> {
    let restrict = |reach: &mut Reach| match threads {
        Threads::Same => reach.same_thread(),
        Threads::Any => {}
    };
    let suspected = ask(&|reach, _| restrict(reach));
    if suspected.is_empty() {
        return suspected;
    }
    ask(&|reach, stores| {
        restrict(reach);
        flow.kill_where_read_again(reach, stores);
    })
}

/// The barriers that pass on that operations are complete: one completes nothing by itself, but a thread
/// may have waited on the mbarrier of a `commit` before it got there.
pub fn barriers_behind_waits(flow: &Flow<'_>) -> FxHashSet<u32> {
    let used = flow.mbarriers();
    let committed: Option<Vec<(Mbarrier, ())>> =
        used.iter().filter(|it| it.how == Use::Commits).map(|it| it.mbarrier.zip(Some(()))).collect();
    // Where nothing is committed at all, that is another mistake.
    let committed = committed.filter(|it| !it.is_empty()).map(|it| flow.several(it.into_iter()));
    // A wait on a known mbarrier that nothing is committed to is one for something else.
    let is_other = |instruction: u32| {
        let Some(committed) = &committed else { return false };
        let at = used.binary_search_by_key(&instruction, |it| it.instruction).ok();
        at.and_then(|at| used[at].mbarrier).is_some_and(|it| !flow.may_be_one_of(&it, committed))
    };
    let role = |event: Event| match event.action {
        Action::MbarrierWait => Role::Gen.only_if(!flow.is_own(event) || !is_other(event.instruction)),
        Action::Acquire | Action::Unknown => Role::Gen,
        Action::Barrier => Role::Query,
        _ => Role::None,
    };
    let barriers = flow.events().iter().filter(|event| event.action == Action::Barrier);
    // Where nothing waits at all, that is another mistake.
    let happens = |event: &Event| {
        flow.cfg().block_of(event.instruction).is_some_and(|block| flow.cfg().is_reachable(block))
    };
    let waits = |event: &Event| match event.action {
        Action::MbarrierWait => true,
        Action::Call(callee) => {
            flow.all.summary(callee).is_none_or(|summary| summary.unknown || summary.uses.has(Use::Waits))
        }
        _ => false,
    };
    if !flow.events().iter().any(|event| waits(event) && happens(event)) {
        return barriers.map(|event| event.instruction).collect();
    }
    let unreached: FxHashSet<u32> =
        flow.unreached(Direction::Forward, role).into_iter().map(|event| event.instruction).collect();
    barriers.map(|event| event.instruction).filter(|it| !unreached.contains(it)).collect()
}

/// Whether everything is surely complete at these instructions: on every way there stands a wait or a barrier behind
/// which nothing is started any more. Most kernels end so, and what it takes to see it is little.
pub fn is_complete_at(flow: &Flow<'_>, instructions: &[u32]) -> bool {
    let cfg = flow.cfg();
    if !cfg.is_reached_whole() {
        return false;
    }
    let completes =
        |event: &Event| matches!(event.action, Action::Barrier | Action::MbarrierWait | Action::Unknown);
    let starts = |event: &Event| match event.action {
        Action::Call(_) => true,
        _ => flow.operation(*event).is_some_and(|operation| Pending::of(operation).is_some()),
    };
    instructions.iter().all(|at| {
        let is_before = |event: &&Event| {
            event.instruction < *at
                && completes(event)
                && cfg
                    .block_of(event.instruction)
                    .zip(cfg.block_of(*at))
                    .is_some_and(|(before, block)| before == block || cfg.dominates(before, block))
        };
        let last = flow.events().iter().rev().find(is_before);
        let behind = last.and_then(|last| flow.passed_from(Direction::Forward, &[last.instruction]));
        behind.is_some_and(|behind| {
            !flow.events().iter().any(|event| starts(event) && behind.has(cfg, event.instruction))
        })
    })
}

/// Pending loads with live registers, and what is done to their Tensor Memory.
pub fn overwritten_loads(flow: &Flow<'_>) -> Vec<Pair> {
    let read = LazyCell::new(|| flow.loads_that_are_read());
    let role = |event: Event| match (event.action, flow.operation(event)) {
        (_, Some(operation)) if Pending::Load.started_by(operation) => {
            Role::Gen.only_if(read.contains(&event.instruction))
        }
        (Action::Unknown, _) => Role::Kill,
        (_, Some(Operation::Alloc)) => Role::Kill,
        (_, Some(Operation::Dealloc)) => Role::Query,
        (_, Some(operation)) if Pending::Operation.started_by(operation) => Role::Query,
        (_, Some(operation)) => Pending::Load.role(operation),
        _ => Role::None,
    };
    pending_loads(
        flow,
        role,
        |reach, loads| {
            let addressed = loads.iter().filter_map(|(fact, event)| {
                let Some(Instruction::Ld(ld)) = flow.instruction(*event) else { return None };
                Some((*fact, register_of(flow.place(*event, &ld.taddr)?.root)?))
            });
            flow.kill_at_writes(reach, addressed);
        },
        |pair| {
            let is_dealloc = flow.operation(pair.then) == Some(Operation::Dealloc);
            let is_current = || [pair.first, pair.then].iter().all(|event| flow.reads_current_slot(*event));
            let matters = is_dealloc || is_same(flow, pair.first, pair.then) && is_current();
            if matters { Concern::IfLive } else { Concern::No }
        },
    )
}

/// The stores that something of the same thread is not ordered behind.
pub fn stores_unordered(flow: &Flow<'_>) -> FxHashSet<u32> {
    unordered_stores(flow).iter().map(|pair| pair.first.instruction).collect()
}

/// Pending stores and what is not ordered behind them.
///
/// What is handed over to another warp should have been waited for before that: the deallocation at the end of the
/// kernel says nothing of it.
pub fn unordered_stores(flow: &Flow<'_>) -> Vec<Pair> {
    let mut pairs = stores_and_then(flow);
    if pairs.iter().any(|pair| flow.operation(pair.then) == Some(Operation::Dealloc)) {
        let block = |event: Event| flow.cfg().block_of(event.instruction);
        let handed_over = flow.handovers().iter().filter(|it| it.is_of(Transfer::Store));
        let handed_over: FxHashSet<_> = handed_over.map(|it| block(it.pair.first)).collect();
        pairs.retain(|pair| {
            flow.operation(pair.then) != Some(Operation::Dealloc) || !handed_over.contains(&block(pair.first))
        });
    }
    pairs
}

/// The same, whatever else is said of the stores.
pub fn stores_and_then(flow: &Flow<'_>) -> Vec<Pair> {
    let role = |event: Event| match (event.action, flow.operation(event)) {
        (Action::Unknown, _) => Role::Kill,
        (_, Some(Operation::Commit | Operation::Dealloc)) => Role::Query,
        (_, Some(operation)) if Pending::Operation.started_by(operation) => Role::Query,
        (_, Some(operation)) => Pending::Store.role(operation),
        _ => Role::None,
    };
    pending_stores(flow, Threads::Same, role)
}
