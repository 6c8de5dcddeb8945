//! Phases of mbarriers: what brings them on and ends them, and who waits for their ends.
//!
//! A phase counts arrivals and bytes. Which phase something counts for must not depend on the schedule:
//! whoever arrives has to know that the phase before is over, and whoever waits has to see the end of a phase
//! before the next one may end.

use super::barrier::{Asker, Event, Mbarrier, Sender};
use super::races::MANY;
use super::warp::{Strand, Wait, lanes};
use super::{Flow, Machine, Stop};
use crate::arithmetic::Lanes;
use crate::clock::Clock;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Mbarrier as Instruction, MbarrierKind, NOWHERE, Told};

/// Transactions that an mbarrier can count (PTX ISA, "mbarrier").
const MOST_TRANSACTIONS: i64 = (1 << 20) - 1;
/// Phases of which it is remembered who brought them on.
const MOST_PHASES: usize = 8;

impl Machine<'_> {
    /// More bytes are to come in this phase.
    pub(super) fn expect(&mut self, strand: &Strand, number: u32, bytes: u32) {
        let warp = &self.warps[strand.warp as usize];
        let (agent, tick) = (warp.agent, warp.clock.of(warp.agent));
        let asker = Asker { agent, tick, step: strand.step, warp: strand.warp, expects: true };
        let barrier = &mut self.mbarriers[number as usize];
        barrier.askers.push(asker);
        barrier.transactions += i64::from(bytes);
        self.check_transactions(strand.step, number);
    }

    /// Something brings a phase on. If it may come before the phase before is over, phases are not what
    /// they seem.
    pub(super) fn count(&mut self, number: u32, event: Event<'_>) {
        let Event { agent, tick, step, warp, clock, releases, is_elsewhere } = event;
        let barrier = &mut self.mbarriers[number as usize];
        let is_early = barrier.known_to(clock) < barrier.phase;
        match barrier.events.iter_mut().find(|(other, _)| *other == agent) {
            Some((_, last)) => *last = (*last).max(tick),
            None => barrier.events.push((agent, tick)),
        }
        if releases {
            barrier.arrived_mut(is_elsewhere).join(clock);
        } else {
            barrier.observed.join(clock);
        }
        if !is_early {
            return;
        }
        let (phase, init) = (barrier.phase, barrier.init);
        let last = barrier.senders.iter().rfind(|sender| sender.phase + 1 == phase);
        let last = last.map(|sender| (sender.step, sender.warp)).filter(|last| *last != (step, warp));
        let name = self.mbarrier_name(&self.mbarriers[number as usize]);
        let role = self.role(warp);
        let mut finding = Finding::new(
            Code::PhaseOvertaken,
            step,
            "a thread may arrive at an mbarrier before the phase before is over",
            format!("what {role} does here counts for phase {phase} of {name}"),
        )
        .label(init, "it is initialised here")
        .note(if self.many.contains(&step) {
            MANY.to_owned()
        } else {
            format!("nothing orders it after the end of phase {}: it may count for that phase", phase - 1)
        });
        if let Some((step, warp)) = last {
            let role = self.role(warp);
            finding = finding.label(step, format!("{role} arrives here for phase {}", phase - 1));
        }
        let mut places = vec![(warp, step)];
        places.extend(last.map(|(step, warp)| (warp, step)));
        self.report(finding.doubted(self.doubt(&places)));
    }

    pub(super) fn check_transactions(&mut self, step: u32, number: u32) {
        let barrier = &self.mbarriers[number as usize];
        if barrier.transactions.abs() <= MOST_TRANSACTIONS {
            return;
        }
        let name = self.mbarrier_name(barrier);
        let finding = Finding::new(
            Code::TransactionMismatch,
            step,
            "an mbarrier is to count more than 2^20 - 1 bytes in a phase",
            format!("{name} is to count {} bytes", barrier.transactions),
        )
        .label(barrier.init, "it is initialised here");
        self.report(finding);
        // Once is enough.
        self.mbarriers[number as usize].transactions = 0;
    }

    /// Bytes have come.
    pub(super) fn complete_transactions(&mut self, number: u32, bytes: i64, event: Event<'_>) {
        let step = event.step;
        self.count(number, event);
        let barrier = &mut self.mbarriers[number as usize];
        barrier.transactions -= bytes;
        barrier.brought = step;
        self.epoch += 1;
        self.record_arrival(number, step);
        if self.mbarriers[number as usize].pending == 0 {
            self.check_unexpected(number);
        }
        self.check_transactions(step, number);
        self.end_phase(number);
    }

    /// Looks whether more bytes have come than are expected, when nobody is left to expect them; whether they
    /// have.
    pub(super) fn check_unexpected(&mut self, number: u32) -> bool {
        let barrier = &mut self.mbarriers[number as usize];
        let (more, init, step) = (-barrier.transactions, barrier.init, barrier.brought);
        if more <= 0 || step == NOWHERE {
            return false;
        }
        barrier.transactions = 0;
        let name = self.mbarrier_name(&self.mbarriers[number as usize]);
        let finding = Finding::new(
            Code::TransactionMismatch,
            step,
            "more bytes come to an mbarrier than its phase expects",
            format!("{more} bytes more come to {name} than its phase expects"),
        )
        .label(init, "it is initialised here")
        .cause();
        self.report(finding);
        true
    }

    /// The same for all mbarriers when nobody can go on; whether there is one.
    pub(super) fn check_all_unexpected(&mut self) -> bool {
        (0..self.mbarriers.len() as u32).fold(false, |any, number| {
            let is_valid = self.mbarriers[number as usize].is_valid;
            is_valid && self.check_unexpected(number) || any
        })
    }

    /// The same when a CTA ends.
    pub(super) fn check_transactions_at_exit(&mut self, cta: u32) {
        for number in 0..self.mbarriers.len() as u32 {
            let barrier = &self.mbarriers[number as usize];
            if barrier.is_valid && barrier.cta == cta {
                self.check_unexpected(number);
            }
        }
    }

    /// Someone arrives.
    pub(super) fn arrive(&mut self, number: u32, count: u32, event: Event<'_>) {
        let Event { step, warp, .. } = event;
        self.count(number, event);
        let barrier = &mut self.mbarriers[number as usize];
        self.epoch += 1;
        let phase = barrier.phase;
        self.record_arrival(number, step);
        let barrier = &mut self.mbarriers[number as usize];
        match barrier.senders.iter_mut().find(|sender| sender.step == step && sender.warp == warp) {
            Some(sender) => (sender.phase, sender.times) = (phase, sender.times + 1),
            None => barrier.senders.push(Sender { step, warp, phase, times: 1 }),
        }
        if count > barrier.pending {
            let (init, awaited, pending) = (barrier.init, barrier.count, barrier.pending);
            barrier.pending = 0;
            let last =
                barrier.senders.iter().rev().find(|sender| sender.phase == phase && sender.step != step);
            let last = last.map(|sender| (sender.step, sender.warp));
            let name = self.mbarrier_name(&self.mbarriers[number as usize]);
            let role = self.role(warp);
            let missing = self.mbarriers[number as usize].transactions;
            let label = if pending == 0 && missing > 0 {
                format!("{role} arrives at {name}, whose phase {phase} awaits {missing} bytes but no arrival")
            } else {
                format!("{role} arrives with {count} at {name}, whose phase {phase} awaits {pending} more")
            };
            let mut finding = Finding::new(
                Code::ArrivalOverflow,
                step,
                "more arrive at a phase of an mbarrier than it awaits",
                label,
            )
            .label(init, format!("it is initialised to await {awaited}"));
            let mut places = vec![(warp, step)];
            if let Some((last, other)) = last {
                finding = finding.label(last, "others arrive here");
                places.push((other, last));
            }
            self.report(finding.doubted(self.doubt(&places)));
        } else {
            barrier.pending -= count;
            if barrier.pending == 0 {
                self.check_unexpected(number);
            }
        }
        self.end_phase(number);
    }

    /// Ends the phase if all is there.
    pub(super) fn end_phase(&mut self, number: u32) {
        let barrier = &mut self.mbarriers[number as usize];
        if barrier.pending > 0 || barrier.transactions != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending = barrier.count;
        let (agent, time) = (barrier.agent, barrier.time(barrier.phase));
        self.barrier_agents.insert((barrier.cta, barrier.offset), (agent, time));
        barrier.released.join(&barrier.arrived);
        barrier.released.learn(agent, time);
        barrier.released_elsewhere.join(&barrier.arrived_elsewhere);
        // What those who ended the phase do not know of may as well happen after it.
        let late = barrier.askers.iter().find(|asker| barrier.has_arrived(asker.agent) < asker.tick);
        let late = late.copied();
        let Mbarrier { phase, askers, events, events_before, observed, .. } = barrier;
        let phase = *phase;
        events_before.truncate(MOST_PHASES - 1);
        events_before.push_front(std::mem::take(events));
        let mut late = late.map(|asker| (asker.step, asker.warp, asker.expects));
        askers.clear();
        *observed = Clock::default();
        self.record_phase(number);
        // Whoever waits for the phase before this one has missed that it was over.
        late = late.or_else(|| {
            let strand = self.strands.iter().find(|strand| {
                matches!(strand.wait, Wait::Mbarrier { barrier, phase: waited, .. } if barrier == number && waited + 2 == phase)
            });
            strand.map(|strand| (strand.step, strand.warp, false))
        });
        match late {
            Some((step, warp, false)) => self.overtaken(number, (step, warp), phase - 1),
            Some((step, warp, true)) => self.expected_late(number, (step, warp), phase - 1),
            None => {}
        }
        self.epoch += 1;
    }

    /// Reports that a phase may end before someone expects bytes in it.
    pub(super) fn expected_late(&mut self, number: u32, (step, warp): (u32, u32), phase: u64) {
        let barrier = &self.mbarriers[number as usize];
        let name = self.mbarrier_name(barrier);
        let role = self.role(warp);
        let finding = Finding::new(
            Code::PhaseOvertaken,
            step,
            "a phase of an mbarrier may end before all have said how many bytes they expect in it",
            format!("{role} expects bytes in phase {phase} of {name}, which may be over by then"),
        )
        .label(barrier.init, "it is initialised here");
        self.report(finding);
    }

    /// Reports that a phase may end before someone has seen the end of the one before.
    pub(super) fn overtaken(&mut self, number: u32, (step, warp): (u32, u32), phase: u64) {
        let barrier = &self.mbarriers[number as usize];
        let name = self.mbarrier_name(barrier);
        let role = self.role(warp);
        let waited = match phase.checked_sub(1) {
            Some(before) => format!("waits for phase {before}"),
            None => "asks for the phase before the first".to_owned(),
        };
        let mut finding = Finding::new(
            Code::PhaseOvertaken,
            step,
            "a phase of an mbarrier may end before all have seen the end of the one before",
            format!("{role} {waited} of {name}"),
        )
        .label(barrier.init, "it is initialised here")
        .note(format!("it may see the parity again only after phase {phase} is over, too"));
        let last = barrier.senders.iter().rfind(|sender| sender.phase == phase);
        if let Some(last) = last {
            let mask = self.mask_of(last);
            finding = finding.label(last.step, format!("phase {phase} is ended by who arrives here{mask}"));
        }
        let mut places = vec![(warp, step)];
        places.extend(last.map(|last| (last.warp, last.step)));
        self.report(finding.doubted(self.doubt(&places)));
    }

    pub(super) fn mbarrier_wait(
        &mut self,
        strand: &mut Strand,
        instruction: &Instruction,
        active: u32,
    ) -> Result<Flow, Stop> {
        let MbarrierKind::Wait { parity, value, may_suspend, acquire, destination } = instruction.kind else {
            return Ok(Flow::Next);
        };
        let mut passes = 0u64;
        let mut waits_for = None;
        let mut in_vain = false;
        // Most often all lanes ask the same.
        let mut last = None;
        for lane in lanes(active) {
            let Some(address) = self.address_at(strand, instruction.address, lane) else {
                return Err(Self::stop(strand, "the address of an mbarrier is not known"));
            };
            let Some(wanted) = self.value_at(strand, value, lane) else {
                return Err(Self::stop(strand, "the phase that is waited for is not known"));
            };
            if let Some((question, answer)) = last
                && question == (address, wanted)
            {
                passes |= u64::from(answer) << lane;
                continue;
            }
            let place = self.shared_place(strand, instruction.space, address, 8, false);
            let number = place.and_then(|place| self.usable_mbarrier(strand, place));
            let Some(number) = number else {
                passes |= 1 << lane;
                continue;
            };
            self.look_for_overtaken(strand, number, (parity, wanted));
            let barrier = &self.mbarriers[number as usize];
            let is_over = if parity { barrier.phase & 1 != wanted & 1 } else { barrier.phase > wanted >> 20 };
            let may_be_over =
                is_over && barrier.known_to(&self.warps[strand.warp as usize].clock) < barrier.phase;
            // All lanes are told the same.
            if in_vain || (may_be_over || !is_over && may_suspend) && self.answers_in_vain(strand) {
                in_vain = true;
                continue;
            }
            let barrier = &self.mbarriers[number as usize];
            last = Some(((address, wanted), is_over));
            if is_over {
                passes |= 1 << lane;
                self.see(strand, number, acquire);
                if passes.is_power_of_two() {
                    self.record_seen(number, strand.step);
                }
            } else {
                waits_for.get_or_insert((number, barrier.phase));
            }
        }
        if passes == 0
            && !in_vain
            && !strand.expired
            && let Some((barrier, phase)) = waits_for
        {
            if may_suspend {
                strand.wait = Wait::Mbarrier { barrier, phase, may_give_up: true };
                return Ok(Flow::Blocked);
            }
            if self.ask(strand, strand.step, u64::from(barrier), 2) {
                strand.wait = Wait::Mbarrier { barrier, phase, may_give_up: false };
                return Ok(Flow::Blocked);
            }
        }
        strand.expired = false;
        if passes != 0 {
            strand.idle = 0;
        }
        let results: Lanes = std::array::from_fn(|lane| passes >> lane & 1);
        self.set(strand, destination, active, &results.map(u64::from), 0);
        Ok(if passes == 0 { Flow::Yield } else { Flow::Next })
    }

    /// Whether phases that a warp knows nothing of may have ended since the one that it asks for.
    pub(super) fn look_for_overtaken(&mut self, strand: &Strand, number: u32, (parity, wanted): (bool, u64)) {
        let barrier = &self.mbarriers[number as usize];
        let clock = &self.warps[strand.warp as usize].clock;
        if !barrier.is_seen_by(clock) {
            return;
        }
        let known = barrier.known_to(clock);
        let next = match parity {
            true if known & 1 == wanted & 1 => known + 1,
            true => known,
            false => (wanted >> 20) + 1,
        };
        if barrier.phase > next {
            self.overtaken(number, (strand.step, strand.warp), next);
        }
    }

    /// A warp sees that the phase before the current one is over.
    pub(super) fn see(&mut self, strand: &Strand, number: u32, acquire: Told) {
        let Self { mbarriers, warps, .. } = self;
        let (warp, barrier) = (&mut warps[strand.warp as usize], &mut mbarriers[number as usize]);
        let phase = barrier.phase;
        match barrier.seen.iter_mut().find(|(warp, _)| *warp == strand.warp) {
            Some((_, last)) => *last = phase,
            None => barrier.seen.push((strand.warp, phase)),
        }
        let (agent, tick) = (warp.agent, warp.clock.of(warp.agent));
        let is_known = |asker: &Asker| asker.agent == agent && asker.tick == tick && !asker.expects;
        if !barrier.askers.iter().any(is_known) {
            let asker = Asker { agent, tick, step: strand.step, warp: strand.warp, expects: false };
            barrier.askers.push(asker);
        }
        if acquire.is_ordered {
            warp.unsynchronised.acquire(|agent| barrier.released.of(agent));
            warp.clock.join(&barrier.released);
        } else {
            warp.fences.hear(&barrier.released);
            warp.clock.join_executed(&barrier.released);
            warp.clock.learn(barrier.agent, barrier.time(phase));
        }
        match (acquire.is_ordered, acquire.is_narrow) {
            (true, false) => {
                warp.unsynchronised.acquire(|agent| barrier.released_elsewhere.of(agent));
                warp.clock.join(&barrier.released_elsewhere);
            }
            (false, false) => {
                warp.fences.hear(&barrier.released_elsewhere);
                warp.clock.join_executed(&barrier.released_elsewhere);
            }
            // That they are over is known, and no more.
            (_, true) => warp.clock.join_executed(&barrier.released_elsewhere),
        }
    }
}
