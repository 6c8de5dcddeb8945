//! mbarriers: barriers in shared memory, and the places that they are at.

use std::collections::VecDeque;

use super::bulk::Operation;
use super::warp::{Strand, Wait, lanes};
use super::{Flow, Machine, Stop};
use crate::diagnostic::Code;
use crate::simulation::arithmetic::Lanes;
use crate::simulation::clock::{Agent, Clock};
use crate::simulation::findings::Finding;
use crate::simulation::program::{
    Address, Mbarrier as Instruction, MbarrierKind, NOWHERE, Operand, Scope, Where, windows,
};

/// Transactions that an mbarrier can count (PTX ISA, "mbarrier").
const MOST_TRANSACTIONS: i64 = (1 << 20) - 1;
/// Phases of which it is remembered who brought them on.
const MOST_PHASES: usize = 8;

/// CTAs of a cluster (PTX ISA, "Cluster of Cooperative Thread Arrays", and what GPUs allow).
const MOST_CTAS: u32 = 16;

/// An mbarrier.
#[derive(Debug)]
pub(super) struct Mbarrier {
    pub(super) cta: u32,
    pub(super) offset: u32,
    /// Arrivals that a phase awaits.
    pub(super) count: u32,
    /// Those that the current phase still awaits.
    pub(super) pending: u32,
    /// Bytes that it still awaits.
    pub(super) transactions: i64,
    /// Phases that are over.
    pub(super) phase: u64,
    pub(super) is_valid: bool,
    /// Where it was initialised.
    pub(super) init: u32,
    /// The agent that ends its phases, and how far that was when it was initialised.
    agent: Agent,
    start: u32,
    /// Who has brought this phase on, and those before, of which the last one comes first.
    events: Vec<(Agent, u32)>,
    events_before: VecDeque<Vec<(Agent, u32)>>,
    /// What those know who arrived in this phase by an arrival that is no release.
    observed: Clock,
    /// Who asked for the phase before this one, or expects bytes in this one: that has to be over when
    /// this one ends.
    askers: Vec<Asker>,
    /// What those who arrived in this phase know.
    arrived: Clock,
    /// What those know who see that the last phase is over.
    pub(super) released: Clock,
    /// Who has arrived, in any phase: the step, the role, the last phase, and how often.
    pub(super) senders: Vec<Sender>,
    /// By warp: how many phases it knows to be over.
    pub(super) seen: Vec<(u32, u64)>,
    /// Copies under way that will complete transactions of it.
    pub(super) under_way: u32,
    /// Arrivals that operations under way will make.
    pub(super) promised: u32,
    /// Where the last bytes came from.
    brought: u32,
}

/// Someone who arrives, or brings bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<'c> {
    pub(super) agent: Agent,
    pub(super) tick: u32,
    pub(super) step: u32,
    pub(super) warp: u32,
    pub(super) clock: &'c Clock,
    /// Whether those who wait learn what `clock` knows.
    pub(super) releases: bool,
}

impl<'c> From<&'c Operation> for Event<'c> {
    fn from(operation: &'c Operation) -> Self {
        let Operation { agent, tick, step, warp, ref clock, .. } = *operation;
        Self { agent, tick, step, warp, clock, releases: true }
    }
}

/// Someone whose question or expectation belongs to one phase.
#[derive(Clone, Copy, Debug)]
struct Asker {
    agent: Agent,
    tick: u32,
    step: u32,
    warp: u32,
    expects: bool,
}

impl Mbarrier {
    /// How far the agent is when so many phases are over.
    fn time(&self, phase: u64) -> u32 {
        self.start.saturating_add(phase.min(u64::from(u32::MAX)) as u32)
    }

    /// Whether a clock knows of the initialisation.
    fn is_seen_by(&self, clock: &Clock) -> bool {
        clock.of(self.agent) >= self.start
    }

    /// Of how many phases a clock knows that they are over: of their end, or of all that brought it on.
    fn known_to(&self, clock: &Clock) -> u64 {
        let told = clock.of(self.agent).saturating_sub(self.start).into();
        if told >= self.phase {
            return self.phase;
        }
        let knows = |events: &Vec<(Agent, u32)>| events.iter().all(|(agent, tick)| clock.of(*agent) >= *tick);
        let since = self.events_before.iter().position(knows);
        since.map_or(told, |since| told.max(self.phase - since as u64))
    }
}

/// Someone who arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) step: u32,
    pub(super) warp: u32,
    pub(super) phase: u64,
    pub(super) times: u64,
}

impl Machine<'_> {
    /// The mbarrier at an address.
    pub(super) fn mbarrier_at(&self, cta: u32, offset: u32) -> Option<u32> {
        let slots = &self.ctas.get(cta as usize)?.mbarriers;
        let number = *slots.get(offset as usize / 8)?;
        (number != 0 && offset.is_multiple_of(8))
            .then(|| number - 1)
            .filter(|it| self.mbarriers[*it as usize].is_valid)
    }

    /// What people call a place in shared memory: the variable that it is in.
    pub(super) fn place_name(&self, cta: u32, offset: u32) -> String {
        let found = self.program.shared_names.iter().find(|(start, end, _)| (*start..*end).contains(&offset));
        let at = match found {
            Some((start, _, name)) if *start == offset => format!("`{name}`"),
            Some((start, _, name)) => format!("`{name}+{}`", offset - start),
            None if offset >= self.dynamic_start => {
                format!("dynamic shared memory + {}", offset - self.dynamic_start)
            }
            None => format!("shared memory at {offset}"),
        };
        if self.ctas.len() > 1 { format!("{at} of CTA {cta}") } else { at }
    }

    /// What people call an mbarrier: a variable's name says what it is.
    pub(super) fn mbarrier_name(&self, barrier: &Mbarrier) -> String {
        let name = self.place_name(barrier.cta, barrier.offset);
        if name.starts_with('`') { name } else { format!("the mbarrier at {name}") }
    }

    /// An mbarrier instruction.
    pub(super) fn mbarrier(
        &mut self,
        strand: &mut Strand,
        instruction: &Instruction,
        active: u32,
    ) -> Result<Flow, Stop> {
        if let MbarrierKind::PendingCount { state, destination } = instruction.kind {
            let (state, unknown) = self.value(strand, state);
            self.set(strand, destination, active, &state.map(|state| state & 0xF_FFFF), unknown);
            return Ok(Flow::Next);
        }
        if let MbarrierKind::Wait { .. } = instruction.kind {
            return self.mbarrier_wait(strand, instruction, active);
        }
        for lane in lanes(active) {
            let Some(address) = self.address_at(strand, instruction.address, lane) else {
                return Err(Self::stop(strand, "the address of an mbarrier is not known"));
            };
            let Some((cta, offset)) = self.shared_place(strand, instruction.space, address, 8, true) else {
                continue;
            };
            let targets = match instruction.mask {
                Some(mask) => match self.value_at(strand, mask, lane) {
                    Some(mask) => mask as u32,
                    None => return Err(Self::stop(strand, "the mask of CTAs is not known")),
                },
                None => 1 << cta,
            };
            for cta in lanes(targets) {
                self.mbarrier_in(strand, instruction, lane, (cta as u32, offset))?;
            }
        }
        Ok(Flow::Next)
    }

    fn number(&mut self, strand: &Strand, operand: Operand, lane: usize) -> Result<u64, Stop> {
        match self.value_at(strand, operand, lane) {
            Some(value) => Ok(value),
            None => Err(Self::stop(strand, "a count of an mbarrier is not known")),
        }
    }

    fn mbarrier_in(
        &mut self,
        strand: &mut Strand,
        instruction: &Instruction,
        lane: usize,
        (cta, offset): (u32, u32),
    ) -> Result<(), Stop> {
        if let MbarrierKind::Init { count } = instruction.kind {
            let count = self.number(strand, count, lane)?;
            self.mbarrier_init(strand, (cta, offset), count as u32);
            return Ok(());
        }
        let Some(number) = self.usable_mbarrier(strand, (cta, offset)) else { return Ok(()) };
        match instruction.kind {
            MbarrierKind::Invalidate => {
                self.in_use(strand, number, "invalidated");
                self.check_unexpected(number);
                self.mbarriers[number as usize].is_valid = false;
                self.ctas[cta as usize].mbarriers[offset as usize / 8] = 0;
                self.epoch += 1;
            }
            MbarrierKind::Expect { bytes } => {
                let bytes = self.number(strand, bytes, lane)? as u32;
                self.expect(strand, number, bytes);
                self.epoch += 1;
            }
            MbarrierKind::Complete { bytes } => {
                let bytes = self.number(strand, bytes, lane)? as u32;
                let warp = strand.warp as usize;
                let clock = self.warps[warp].clock.clone();
                let agent = self.warps[warp].agent;
                let event = Event {
                    agent,
                    tick: clock.of(agent),
                    step: strand.step,
                    warp: strand.warp,
                    clock: &clock,
                    releases: true,
                };
                self.complete_transactions(number, i64::from(bytes), event);
                self.warps[warp].clock.advance(agent);
            }
            MbarrierKind::Arrive { count, bytes, drop, release, state } => {
                let count = match count {
                    Some(count) => self.number(strand, count, lane)? as u32,
                    None => 1,
                };
                if let Some(bytes) = bytes {
                    let bytes = self.number(strand, bytes, lane)? as u32;
                    self.expect(strand, number, bytes);
                }
                let barrier = &mut self.mbarriers[number as usize];
                let before = barrier.phase << 20 | u64::from(barrier.pending & 0xF_FFFF);
                if drop {
                    barrier.count = barrier.count.saturating_sub(count);
                }
                let warp = strand.warp as usize;
                let agent = self.warps[warp].agent;
                let clock = std::mem::take(&mut self.warps[warp].clock);
                let event = Event {
                    agent,
                    tick: clock.of(agent),
                    step: strand.step,
                    warp: strand.warp,
                    clock: &clock,
                    releases: release,
                };
                if !release {
                    let Self { mbarriers, warps, .. } = self;
                    warps[warp].fences.tell(Scope::Wide, &mut mbarriers[number as usize].arrived);
                    mbarriers[number as usize].arrived.join_executed(&clock);
                }
                self.arrive(number, count, event);
                self.warps[warp].clock = clock;
                self.warps[warp].clock.advance(agent);
                if state != Operand::Sink {
                    self.set_all(strand, state, 1 << lane, before);
                }
            }
            MbarrierKind::Init { .. } | MbarrierKind::Wait { .. } | MbarrierKind::PendingCount { .. } => {}
        }
        Ok(())
    }

    fn mbarrier_init(&mut self, strand: &Strand, (cta, offset): (u32, u32), count: u32) {
        if self.is_misaligned(strand, (cta, offset)) {
            return;
        }
        if let Some(old) = self.mbarrier_at(cta, offset) {
            self.in_use(strand, old, "initialised again");
            self.mbarriers[old as usize].is_valid = false;
        }
        let (agent, start) = match self.barrier_agents.get(&(cta, offset)) {
            Some((agent, last)) => (*agent, *last + 1),
            None => (self.new_agent(), 1),
        };
        self.barrier_agents.insert((cta, offset), (agent, start));
        self.warps[strand.warp as usize].clock.learn(agent, start);
        self.mbarriers.push(Mbarrier {
            cta,
            offset,
            count,
            pending: count,
            transactions: 0,
            phase: 0,
            is_valid: true,
            init: strand.step,
            agent,
            start,
            events: Vec::new(),
            events_before: VecDeque::new(),
            observed: Clock::default(),
            askers: Vec::new(),
            arrived: Clock::default(),
            released: Clock::default(),
            senders: Vec::new(),
            seen: Vec::new(),
            under_way: 0,
            promised: 0,
            brought: NOWHERE,
        });
        let number = self.mbarriers.len() as u32;
        self.ctas[cta as usize].mbarriers[offset as usize / 8] = number;
        self.ctas[cta as usize].shared.fill(offset.into(), 8, None);
        self.epoch += 1;
    }

    /// Says that a barrier ends while something needs it.
    fn in_use(&mut self, strand: &Strand, number: u32, what: &str) {
        let barrier = &self.mbarriers[number as usize];
        let waits = self.strands.iter().any(|strand| {
            matches!(strand.wait, Wait::Mbarrier { barrier, phase, .. }
                if barrier == number && phase == self.mbarriers[number as usize].phase)
        });
        let reason = if waits {
            "a thread waits for its phase"
        } else if barrier.under_way > 0 {
            "a copy under way will complete transactions of it"
        } else if barrier.promised > 0 {
            "a commit under way will arrive at it"
        } else if barrier.transactions > 0 {
            "bytes are expected in its phase"
        } else {
            return;
        };
        let name = self.mbarrier_name(barrier);
        let finding = Finding::new(
            Code::BarrierReused,
            strand.step,
            "an mbarrier is ended while it is still needed",
            format!("{name} is {what} while {reason}"),
        )
        .label(barrier.init, "it is initialised here")
        .cause();
        self.report(finding);
    }

    /// The mbarrier at a place; its absence is a finding.
    pub(super) fn usable_mbarrier(&mut self, strand: &Strand, (cta, offset): (u32, u32)) -> Option<u32> {
        if self.is_misaligned(strand, (cta, offset)) {
            return None;
        }
        let found = self.mbarrier_at(cta, offset);
        let Some(number) = found else {
            self.no_mbarrier(strand.step, strand.warp, (cta, offset));
            return None;
        };
        let barrier = &self.mbarriers[number as usize];
        if !barrier.is_seen_by(&self.warps[strand.warp as usize].clock) {
            let init = barrier.init;
            let name = self.mbarrier_name(barrier);
            let role = self.role(strand.warp);
            let finding = Finding::new(
                Code::BarrierUninitialized,
                strand.step,
                "an mbarrier may be used before its `mbarrier.init` is seen",
                format!("{role} uses {name}, and nothing orders that behind its initialisation"),
            )
            .label(init, "it is initialised here");
            self.report(finding);
        }
        found
    }

    /// Whether no mbarrier can be at a place, which is a finding.
    fn is_misaligned(&mut self, strand: &Strand, (cta, offset): (u32, u32)) -> bool {
        /// Bytes of an mbarrier, and its alignment (PTX ISA, "Size and alignment of mbarrier object").
        const BYTES: u32 = 8;
        if offset.is_multiple_of(BYTES) {
            return false;
        }
        let finding = Finding::new(
            Code::Misaligned,
            strand.step,
            "an mbarrier must be at a multiple of 8 bytes",
            format!("{} is {offset:#x} in shared memory", self.place_name(cta, offset)),
        );
        self.report(finding);
        true
    }

    /// An agent that does nothing else.
    pub(super) fn new_agent(&mut self) -> Agent {
        self.async_ticks.push(u32::MAX);
        self.first_async_agent + self.async_ticks.len() as u32 - 1
    }

    /// `fence.mbarrier_init`
    pub(super) fn fence_initialisations(&mut self, strand: &Strand) {
        let Self { barrier_agents, warps, .. } = self;
        let warp = &mut warps[strand.warp as usize];
        let mut known = Clock::default();
        for (agent, _) in barrier_agents.values() {
            known.learn(*agent, warp.clock.of(*agent));
        }
        warp.fences.initialise(&known);
    }

    /// More bytes are to come in this phase.
    fn expect(&mut self, strand: &Strand, number: u32, bytes: u32) {
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
    fn count(&mut self, number: u32, event: Event<'_>) {
        let Event { agent, tick, step, warp, clock, releases } = event;
        let barrier = &mut self.mbarriers[number as usize];
        let is_early = barrier.known_to(clock) < barrier.phase;
        match barrier.events.iter_mut().find(|(other, _)| *other == agent) {
            Some((_, last)) => *last = (*last).max(tick),
            None => barrier.events.push((agent, tick)),
        }
        if releases {
            barrier.arrived.join(clock);
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
        .note(format!("nothing orders it behind the end of phase {}: it may count for that", phase - 1));
        if let Some((step, warp)) = last {
            let role = self.role(warp);
            finding = finding.label(step, format!("{role} arrives here for phase {}", phase - 1));
        }
        let mut places = vec![(warp, step)];
        places.extend(last.map(|(step, warp)| (warp, step)));
        self.report(finding.doubted(self.doubt(&places)));
    }

    pub(super) fn no_mbarrier(&mut self, step: u32, warp: u32, (cta, offset): (u32, u32)) {
        let name = self.place_name(cta, offset);
        let role = self.role(warp);
        let finding = Finding::new(
            Code::BarrierUninitialized,
            step,
            "an mbarrier is used that is not initialised",
            format!("{role} uses the mbarrier at {name}, which is not initialised"),
        );
        self.report(finding);
    }

    fn check_transactions(&mut self, step: u32, number: u32) {
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
    fn check_unexpected(&mut self, number: u32) -> bool {
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
    fn end_phase(&mut self, number: u32) {
        let barrier = &mut self.mbarriers[number as usize];
        if barrier.pending > 0 || barrier.transactions != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending = barrier.count;
        let (agent, time) = (barrier.agent, barrier.time(barrier.phase));
        self.barrier_agents.insert((barrier.cta, barrier.offset), (agent, time));
        let Mbarrier { arrived, released, phase, askers, events, events_before, observed, .. } = barrier;
        released.join(arrived);
        released.learn(agent, time);
        let phase = *phase;
        events_before.truncate(MOST_PHASES - 1);
        events_before.push_front(std::mem::take(events));
        // What those who ended the phase do not know of may as well happen after it.
        let late = askers
            .iter()
            .find(|asker| arrived.of(asker.agent) < asker.tick && observed.of(asker.agent) < asker.tick);
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
    fn expected_late(&mut self, number: u32, (step, warp): (u32, u32), phase: u64) {
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
            finding = finding.label(last.step, format!("phase {phase} is ended by who arrives here"));
        }
        let mut places = vec![(warp, step)];
        places.extend(last.map(|last| (last.warp, last.step)));
        self.report(finding.doubted(self.doubt(&places)));
    }

    fn mbarrier_wait(
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
    fn look_for_overtaken(&mut self, strand: &Strand, number: u32, (parity, wanted): (bool, u64)) {
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
    fn see(&mut self, strand: &Strand, number: u32, acquire: bool) {
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
        if acquire {
            warp.clock.join(&barrier.released);
        } else {
            warp.fences.hear(&barrier.released);
            warp.clock.join_executed(&barrier.released);
            warp.clock.learn(barrier.agent, barrier.time(phase));
        }
    }

    /// Counts a question that is answered like the last one; whether it is vain to ask again before
    /// something happens.
    pub(super) fn ask(&self, strand: &mut Strand, step: u32, about: u64, most: u32) -> bool {
        if strand.asked == (step, about) && strand.epoch == self.epoch {
            strand.idle += 1;
        } else {
            (strand.asked, strand.epoch, strand.idle) = ((step, about), self.epoch, 0);
        }
        strand.idle >= most
    }

    /// The CTA and the offset of an address in shared memory; what is outside is a finding.
    pub(super) fn shared_place(
        &mut self,
        strand: &Strand,
        space: Where,
        address: u64,
        bytes: u32,
        writes: bool,
    ) -> Option<(u32, u32)> {
        let own = self.warps[strand.warp as usize].cta;
        let address = match space {
            Where::Generic if address >> windows::BITS == windows::SHARED => address & u64::from(u32::MAX),
            Where::Generic => {
                self.outside(strand, &format!("the generic address {address:#x} is not in shared memory"));
                return None;
            }
            _ => address,
        };
        let (rank, offset) = Self::split_shared(address);
        let size = self.shared_bytes;
        if rank < MOST_CTAS {
            self.address_ctas(1 << rank);
        }
        if rank as usize >= self.ctas.len()
            || offset.saturating_add(bytes) > size
            || offset < windows::RESERVED
        {
            let verb = if writes { "write" } else { "read" };
            let what = if rank as usize >= self.ctas.len() {
                format!("there is no CTA {rank} in the cluster: the address is {address:#x}")
            } else {
                format!(
                    "{bytes} bytes at {offset} are {verb}, but the shared memory of the CTA ends at {size}"
                )
            };
            self.outside(strand, &what);
            return None;
        }
        if space == Where::Shared && rank != own {
            self.outside(
                strand,
                &format!("the address {address:#x} is in the shared memory of CTA {rank}, not of CTA {own}"),
            );
            return None;
        }
        Some((rank, offset))
    }

    /// The address of an mbarrier for an asynchronous operation of a thread.
    pub(super) fn barrier_place(
        &mut self,
        strand: &Strand,
        space: Where,
        address: Address,
        lane: usize,
    ) -> Result<Option<(u32, u32)>, Stop> {
        let Some(address) = self.address_at(strand, address, lane) else {
            return Err(Self::stop(strand, "the address of an mbarrier is not known"));
        };
        Ok(self.shared_place(strand, space, address, 8, true))
    }
}
