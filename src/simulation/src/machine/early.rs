//! Hand-overs that came too early: a warp arrives at an mbarrier, and its access comes after that.
//!
//! What a thread knows of another warp it knows from one thing that this warp has released. Each warp remembers its
//! last arrivals, by its time then. So if two accesses race, it is known which arrival was the last that the later
//! access is ordered after, if it was an arrival. The other access, or the wait for its end, comes after that arrival.
//! This looks only at what is known anyway, when a race is reported.

use std::collections::VecDeque;

use super::Machine;
use crate::clock::Clock;
use crate::findings::Finding;
use crate::program::{Action, Tensor};
use crate::shadow::{Access, Via};

/// Arrivals of a warp that are remembered. A race with what came before is found soon after it.
const MOST: usize = 64;

/// The last arrivals of a warp, by the time of the warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(VecDeque<Arrival>);

/// An arrival.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    tick: u32,
    step: u32,
    /// Loads and stores of Tensor Memory that the warp had started.
    started: (u32, u32),
}

impl Arrivals {
    pub(super) fn add(&mut self, tick: u32, step: u32, started: (u32, u32)) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Arrival { tick, step, started });
    }

    /// The arrival at a time; nothing if the warp did something else then.
    fn at(&self, tick: u32) -> Option<Arrival> {
        let at = self.0.binary_search_by_key(&tick, |arrival| arrival.tick).ok()?;
        Some(self.0[at])
    }
}

impl Machine<'_> {
    /// Says which arrival came too early, if a race is due to one. `clock` is what the second access is ordered after.
    pub(super) fn handed_over_early(
        &self,
        finding: Finding,
        (own, other): (&Access, &Access),
        clock: &Clock,
    ) -> Finding {
        if own.warp == other.warp {
            return finding;
        }
        let warp = &self.warps[other.warp as usize];
        let Some(arrival) = warp.arrivals.at(clock.of(warp.agent)) else { return finding };
        let action = &self.program.steps[other.step as usize].action;
        let is_store = other.writes;
        let (remark, help) = match other.via {
            // A thread that accesses something at a later time does so after the arrival.
            Via::Generic if other.agent == warp.agent && other.tick > arrival.tick => {
                (", and accesses this after the arrival", "arrive after the access")
            }
            Via::Tensor if matches!(action, Action::Tensor(tensor) if matches!(**tensor, Tensor::Load { .. } | Tensor::Store { .. })) =>
            {
                let started = if is_store { arrival.started.1 } else { arrival.started.0 };
                match (other.tick <= started, is_store) {
                    (true, false) => (
                        ", before it waits for its `tcgen05.ld`",
                        "execute `tcgen05.wait::ld` between the load and the arrival",
                    ),
                    (true, true) => (
                        ", before it waits for its `tcgen05.st`",
                        "execute `tcgen05.wait::st` between the store and the arrival",
                    ),
                    (false, _) => {
                        (", and accesses this after the arrival", "arrive after the access and its wait")
                    }
                }
            }
            Via::Generic | Via::Async | Via::Tensor => return finding,
        };
        let role = self.role(other.warp);
        let mine = self.role(own.warp);
        finding
            .label(arrival.step, format!("{role} arrives here{remark}"))
            .note(format!("this arrival is the last of {role} that the access of {mine} is ordered after"))
            .help(format!("{help}, or wait for an arrival that comes after it"))
    }
}
