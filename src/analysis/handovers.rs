//! Tensor Memory that a thread may still access when it tells another one to go on.
//!
//! Whether that matters depends on who is told: most mbarriers give back shared memory, or another stage.
//! Where it is known which mbarrier it is, who waits on it, and what follows there, the columns say whether
//! they are handed over.

use super::events::{Action, Event};
use super::executing::Executes;
use super::flow::{Flow, Pair, Role};
use super::footprint::{self, columns};
use super::loads::Concern;
use super::mbarriers::Use;
use super::pending::{Pending, Threads, pending_loads, pending_stores};
use super::reach::{Direction, Passed};
use crate::instruction::Instruction;
use crate::isa::vocabulary::Operation;

/// A signal while a load or store may be under way.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// The load or store, and the signal.
    pub pair: Pair,
    /// Which of them it is.
    pub access: Pending,
    /// What another warp does to the columns of it behind a wait for this signal, if that is known.
    pub then: Option<Event>,
}

impl<'a> Flow<'a> {
    /// The signals of this function that come too early.
    pub fn handovers(&self) -> &'a [Handover] {
        self.facts.handovers.get_or_init(|| {
            [Pending::Load, Pending::Store]
                .into_iter()
                .flat_map(|access| self.find_handovers(access))
                .collect()
        })
    }

    fn find_handovers(&self, access: Pending) -> Vec<Handover> {
        let loads = access == Pending::Load;
        let read = std::cell::LazyCell::new(|| self.loads_that_are_read());
        let role = |event: Event| match (event.action, self.operation(event)) {
            (_, Some(operation)) if loads && access.started_by(operation) => {
                Role::Gen.only_if(read.contains(&event.instruction))
            }
            (Action::Unknown, _) => Role::Kill,
            (Action::MbarrierArrive, _) => Role::Query,
            (_, Some(operation)) => access.role(operation),
            _ => Role::None,
        };
        let pairs = if loads {
            pending_loads(self, role, |_, _| {}, |_| Concern::IfLive)
        } else {
            pending_stores(self, Threads::Same, role)
        };
        let then = |pair: Pair| self.behind_signal(pair, access);
        pairs.into_iter().map(|pair| Handover { pair, access, then: then(pair) }).collect()
    }

    /// What another warp does to the columns of an access behind a wait for a signal.
    fn behind_signal(&self, pair: Pair, access: Pending) -> Option<Event> {
        if !self.is_own(pair.first) || !self.is_own(pair.then) {
            return None;
        }
        let accessed = columns(self, pair.first)?;
        accessed.certain()?;
        let used = self.mbarriers();
        let at = used.binary_search_by_key(&pair.then.instruction, |it| it.instruction).ok()?;
        let signalled = used[at].mbarrier?;
        let executing = self.executing(None);
        let signals = executing.of(pair.then.instruction).filter(Executes::is_somebody)?;
        let is_of_others = |instruction: u32| {
            let other = executing.of(instruction).filter(Executes::is_somebody);
            other.is_some_and(|other| signals.is_of_other_warps(&other))
        };
        let waits = used.iter().filter(|it| {
            it.how == Use::Waits
                && it.mbarrier.is_some_and(|it| it.is_of_same_ring(&signalled))
                && is_of_others(it.instruction)
        });
        let behind = Passed::new(self.cfg(), Direction::Forward, waits.map(|it| it.instruction));
        if behind.is_empty() {
            return None;
        }
        let conflicts = |event: &&Event| {
            let own = || columns(self, **event).is_some_and(|it| it.overlaps(&accessed));
            let operands = || {
                footprint::operands_read(self, **event).into_iter().flatten().any(|it| it.overlaps(&accessed))
            };
            match self.instruction(**event) {
                Some(Instruction::Mma(_)) => own() || access == Pending::Store && operands(),
                Some(Instruction::St(_) | Instruction::Cp(_) | Instruction::Shift(_)) => own(),
                Some(Instruction::Ld(_)) => access == Pending::Store && own(),
                Some(
                    Instruction::Alloc(_)
                    | Instruction::Dealloc(_)
                    | Instruction::RelinquishAllocPermit(_)
                    | Instruction::Wait(_)
                    | Instruction::Commit(_)
                    | Instruction::Fence(_),
                )
                | None => false,
            }
        };
        self.events()
            .iter()
            .filter(|event| self.is_own(**event) && behind.has(self.cfg(), event.instruction))
            .filter(conflicts)
            .find(|event| is_of_others(event.instruction))
            .copied()
    }

    /// What an operation does to columns, in a word.
    pub fn verb(&self, event: Event) -> &'static str {
        match self.operation(event) {
            Some(Operation::Mma | Operation::MmaWs) => "multiplies there",
            Some(Operation::St) => "stores there",
            Some(Operation::Cp) => "copies there",
            Some(Operation::Shift) => "shifts there",
            Some(_) | None => "loads from there",
        }
    }
}
