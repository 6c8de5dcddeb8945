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

/// A signal while a load or store may be under way.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// The load or store, and the signal.
    pub pair: Pair,
    /// Which of them it is.
    pub access: Pending,
    /// What another warp writes to the columns of a load behind a wait for this signal, if that is known. Of
    /// stores it is not asked: the signals behind these that are known hand over something else.
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
        let then = |pair: Pair| if loads { self.behind_signal(pair) } else { None };
        pairs.into_iter().map(|pair| Handover { pair, access, then: then(pair) }).collect()
    }

    /// What another warp writes to the columns of a load behind a wait for a signal.
    fn behind_signal(&self, pair: Pair) -> Option<Event> {
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
            let writes =
                self.instruction(**event).and_then(footprint::accessed).is_some_and(|(_, writes)| writes);
            writes && columns(self, **event).is_some_and(|it| it.overlaps(&accessed))
        };
        self.events()
            .iter()
            .filter(|event| self.is_own(**event) && behind.has(self.cfg(), event.instruction))
            .filter(conflicts)
            .find(|event| is_of_others(event.instruction))
            .copied()
    }
}
