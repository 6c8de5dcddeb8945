//! Asynchronous operations that are not known to be complete where something else happens.

use std::cell::LazyCell;

use super::events::{Action, Event};
use super::flow::{Flow, Pair, Role};
use super::footprint::is_same;
use super::loads::Concern;
use super::places::Root;
use super::reach::{Fact, Reach};
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
    kills: impl FnOnce(&mut Reach, &[(Fact, Event)]),
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
        !flow.pending_loads(role, |reach, _| reach.stop_at_first_answer(), |_| Concern::Yes).is_empty()
    });
    if any { flow.pending_loads(role, kills, concern) } else { Vec::new() }
}

/// Stores that are pending where something happens: there is no `wait::st`, and no load has read
/// the same columns since.
pub fn pending_stores(flow: &Flow<'_>, threads: Threads, role: impl Fn(Event) -> Role) -> Vec<Pair> {
    let restrict = |reach: &mut Reach| match threads {
        Threads::Same => reach.same_thread(),
        Threads::Any => {}
    };
    let pairs = flow.pairs_killing(&role, |reach, _| restrict(reach), |_| true);
    if pairs.is_empty() {
        return pairs;
    }
    // Few do that, so it is asked for only where it may matter.
    let kills = |reach: &mut Reach, stores: &[(Fact, Event)]| {
        restrict(reach);
        flow.kill_where_read_again(reach, stores);
    };
    flow.pairs_killing(&role, kills, |_| true)
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
                match flow.place(*event, &ld.taddr)?.root {
                    Root::Register(register) => Some((*fact, register)),
                    Root::Literal | Root::Variable(_) | Root::Slot(_) => None,
                }
            });
            flow.kill_at_writes(reach, addressed);
        },
        |pair| {
            let matters =
                flow.operation(pair.then) == Some(Operation::Dealloc) || is_same(flow, pair.first, pair.then);
            if matters { Concern::IfLive } else { Concern::No }
        },
    )
}

/// Pending stores and what is not ordered behind them.
pub fn unordered_stores(flow: &Flow<'_>) -> Vec<Pair> {
    let role = |event: Event| match (event.action, flow.operation(event)) {
        (Action::Unknown, _) => Role::Kill,
        (_, Some(Operation::Commit | Operation::Dealloc)) => Role::Query,
        (_, Some(operation)) if Pending::Operation.started_by(operation) => Role::Query,
        (_, Some(operation)) => Pending::Store.role(operation),
        _ => Role::None,
    };
    pending_stores(flow, Threads::Same, role)
}
