//! mbarriers: barriers in shared memory, and the places that they are at.

use std::collections::VecDeque;

use super::operation::Operation;
use super::warp::{Strand, Wait, lanes};
use super::{Flow, Machine, Stop};
use crate::clock::{Agent, Clock};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Address, Mbarrier as Instruction, MbarrierKind, NOWHERE, Operand, Scope, Where};

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
    pub(super) agent: Agent,
    pub(super) start: u32,
    /// Who has brought this phase on, and those before, of which the last one comes first.
    pub(super) events: Vec<(Agent, u32)>,
    pub(super) events_before: VecDeque<Vec<(Agent, u32)>>,
    /// What those know who arrived in this phase by an arrival that is no release.
    pub(super) observed: Clock,
    /// Who asked for the phase before this one, or expects bytes in this one: that has to be over when
    /// this one ends.
    pub(super) askers: Vec<Asker>,
    /// What those who arrived in this phase know: of the threads of other CTAs it is kept apart.
    pub(super) arrived: Clock,
    pub(super) arrived_elsewhere: Clock,
    /// What those know who see that the last phase is over.
    pub(super) released: Clock,
    pub(super) released_elsewhere: Clock,
    /// Who has arrived, in any phase: the step, the role, the last phase, and how often.
    pub(super) senders: Vec<Sender>,
    /// By warp: how many phases it knows to be over.
    pub(super) seen: Vec<(u32, u64)>,
    /// Copies under way that will complete transactions of it.
    pub(super) under_way: u32,
    /// Arrivals that operations under way will make.
    pub(super) promised: u32,
    /// Where the last bytes came from.
    pub(super) brought: u32,
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
    /// Whether it is a thread of another CTA.
    pub(super) is_elsewhere: bool,
}

impl<'c> From<&'c Operation> for Event<'c> {
    fn from(operation: &'c Operation) -> Self {
        let Operation { agent, tick, step, warp, ref clock, .. } = *operation;
        Self { agent, tick, step, warp, clock, releases: true, is_elsewhere: false }
    }
}

/// Someone whose question or expectation belongs to one phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) agent: Agent,
    pub(super) tick: u32,
    pub(super) step: u32,
    pub(super) warp: u32,
    pub(super) expects: bool,
}

impl Mbarrier {
    /// What is known to those who arrive: threads of the own CTA and operations, or threads of other CTAs.
    pub(super) fn arrived_mut(&mut self, is_elsewhere: bool) -> &mut Clock {
        if is_elsewhere { &mut self.arrived_elsewhere } else { &mut self.arrived }
    }

    /// How much of an agent those who arrived in this phase know.
    pub(super) fn has_arrived(&self, agent: Agent) -> u32 {
        let all = [&self.arrived, &self.arrived_elsewhere, &self.observed];
        all.iter().map(|clock| clock.of(agent)).max().unwrap_or(0)
    }

    /// How far the agent is when so many phases are over.
    pub(super) fn time(&self, phase: u64) -> u32 {
        self.start.saturating_add(phase.min(u64::from(u32::MAX)) as u32)
    }

    /// Whether a clock knows of the initialisation.
    pub(super) fn is_seen_by(&self, clock: &Clock) -> bool {
        clock.of(self.agent) >= self.start
    }

    /// Of how many phases a clock knows that they are over: of their end, or of all that brought it on.
    pub(super) fn known_to(&self, clock: &Clock) -> u64 {
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
        let places = &self.ctas.get(cta as usize)?.mbarriers;
        let at = places.binary_search_by_key(&offset, |(offset, _)| *offset).ok()?;
        Some(places[at].1).filter(|number| self.mbarriers[*number as usize].is_valid)
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
                self.mbarrier_in(strand, instruction, (lane, active), (cta as u32, offset))?;
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
        (lane, active): (usize, u32),
        (cta, offset): (u32, u32),
    ) -> Result<(), Stop> {
        if let MbarrierKind::Init { count } = instruction.kind {
            let count = self.number(strand, count, lane)?;
            self.mbarrier_init(strand, (cta, offset), count as u32);
            return Ok(());
        }
        let Some(number) = self.usable_mbarrier(strand, (cta, offset)) else { return Ok(()) };
        let warp = &self.warps[strand.warp as usize];
        let (from, at) = (warp.cta, (warp.agent, warp.clock.of(warp.agent)));
        self.reach(cta, from, at, strand.step);
        match instruction.kind {
            MbarrierKind::Invalidate => {
                self.in_use(strand, number, "invalidated");
                self.check_unexpected(number);
                self.mbarriers[number as usize].is_valid = false;
                self.ctas[cta as usize].mbarriers.retain(|(at, _)| *at != offset);
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
                    is_elsewhere: from != cta,
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
                let is_elsewhere = from != cta;
                // Those who wait at an mbarrier are in its CTA.
                let is_in_scope = !(release.is_narrow && is_elsewhere);
                let releases = release.is_ordered && is_in_scope;
                let released = if releases { self.released_by(strand, active) } else { None };
                let clock = std::mem::take(&mut self.warps[warp].clock);
                let event = Event {
                    agent,
                    tick: clock.of(agent),
                    step: strand.step,
                    warp: strand.warp,
                    clock: released.as_ref().unwrap_or(&clock),
                    releases,
                    is_elsewhere,
                };
                if !releases {
                    let Self { mbarriers, warps, .. } = self;
                    let arrived = mbarriers[number as usize].arrived_mut(is_elsewhere);
                    if is_in_scope {
                        let scope = if is_elsewhere { Scope::Cluster } else { Scope::Cta };
                        warps[warp].fences.tell(scope, arrived);
                    }
                    arrived.join_executed(&clock);
                }
                let tick = event.tick;
                self.arrive(number, count, event);
                let it = &mut self.warps[warp];
                it.clock = clock;
                it.clock.advance(agent);
                it.arrivals.add(tick, strand.step, (it.tensor.loaded, it.tensor.stored));
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
            arrived_elsewhere: Clock::default(),
            released: Clock::default(),
            released_elsewhere: Clock::default(),
            senders: Vec::new(),
            seen: Vec::new(),
            under_way: 0,
            promised: 0,
            brought: NOWHERE,
        });
        let number = self.mbarriers.len() as u32 - 1;
        let places = &mut self.ctas[cta as usize].mbarriers;
        match places.binary_search_by_key(&offset, |(offset, _)| *offset) {
            Ok(at) => places[at].1 = number,
            Err(at) => places.insert(at, (offset, number)),
        }
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
                format!("{role} uses {name}, and nothing orders that after its initialisation"),
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
