//! Clusters that poll global memory in loops of several warps: a thread polls, and hands what it has read to others by
//! barriers, as Triton compiles `while tl.atomic_add(counter, 0) < n`. None of the threads waits for good then, although
//! nothing that the cluster does changes anything.

use smallvec::SmallVec;

use super::Machine;
use super::places::Place;

/// Instructions without a change of global memory after which a cluster that polls lets others go on.
const RESTLESS: u64 = 20_000;
/// Places that are remembered.
const MOST: usize = 16;

/// What a cluster polls.
#[derive(Debug, Default)]
pub(super) struct Polling {
    /// The places in global memory that were read strongly since it has changed.
    places: SmallVec<[u64; MOST]>,
    /// How often global memory had changed then, and how many instructions were executed.
    changes: u64,
    since: u64,
    /// Whether the cluster lets others go on.
    is_waiting: bool,
    /// Whether it goes on whatever happens: no others are left.
    is_patient: bool,
}

impl Machine<'_> {
    /// A thread reads places strongly.
    pub(super) fn note_poll(&mut self, places: &[Place]) {
        if !self.is_one_of_several {
            return;
        }
        for place in places {
            if let Place::Global(address) = place
                && self.polling.places.len() < MOST
                && !self.polling.places.contains(address)
            {
                self.polling.places.push(*address);
            }
        }
    }

    /// Whether others are to go on, as the cluster polls and changes nothing.
    pub(super) fn lets_others_go_on(&mut self) -> bool {
        let (changes, executed) = (self.global.changes(), self.executed);
        let polling = &mut self.polling;
        if changes != polling.changes {
            (polling.changes, polling.since) = (changes, executed);
            polling.places.clear();
        }
        let is_restless = executed - polling.since > RESTLESS;
        polling.is_waiting = is_restless && !polling.is_patient && !polling.places.is_empty();
        if polling.is_waiting {
            polling.since = executed;
        }
        polling.is_waiting
    }

    /// The places that a cluster polls which lets others go on.
    pub(super) fn polled_in_turns(&self) -> &[u64] {
        if self.polling.is_waiting { &self.polling.places } else { &[] }
    }

    /// Whether it has only let others go on, and could go on itself.
    pub(crate) fn could_go_on(&self) -> bool {
        self.polling.is_waiting
    }

    /// It goes on, although nothing has changed: its budget ends it.
    pub(crate) fn go_on_alone(&mut self) {
        self.polling.is_patient = true;
    }
}
