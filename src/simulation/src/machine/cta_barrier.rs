//! The barriers of a CTA, and that of a cluster.

use super::warp::{Strand, Wait, Warp, lanes};
use super::{Flow, Machine, Stop};
use crate::clock::{Agent, Clock};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Action, BarrierKind, NOWHERE, Operand, Scope};

/// A barrier of a CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// Threads that it awaits; 0 for all.
    expected: u32,
    /// Threads that have arrived, whole warps.
    arrived: u32,
    /// By warp: lanes that have arrived by themselves.
    partial: Vec<(u32, u32)>,
    clock: Clock,
    /// Who has arrived, and when.
    events: Vec<(Agent, u32)>,
    /// The first who arrived.
    pub(super) first: u32,
    /// Over all values of those who reduce.
    all: bool,
    any: bool,
    holds: u32,
    unknown: bool,
    /// Where threads arrived by an `.aligned` instruction.
    pub(super) warps: Vec<u32>,
}

/// How often a barrier of a CTA was passed, as an agent of its own does it.
#[derive(Clone, Debug, Default)]
pub(super) struct Generation {
    agent: Option<Agent>,
    tick: u32,
    /// Who arrived the last time.
    events: Vec<(Agent, u32)>,
}

impl Generation {
    /// Whether all who have a clock's knowledge know that the last time is over.
    fn is_over_to(&self, clock: &Clock) -> bool {
        self.agent.is_none_or(|agent| clock.of(agent) >= self.tick)
            || self.events.iter().all(|(agent, tick)| clock.of(*agent) >= *tick)
    }
}

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterBarrier {
    pub(super) generation: u64,
    clock: Clock,
    released: Clock,
}

impl Machine<'_> {
    /// A barrier of the CTA.
    pub(super) fn barrier(
        &mut self,
        strand: &mut Strand,
        (id, count): (Operand, Option<Operand>),
        kind: BarrierKind,
        aligned: bool,
        active: u32,
    ) -> Result<Flow, Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let Some(id) = self.value_at(strand, id, lane) else {
            return Err(Self::stop(strand, "the number of a barrier is not known"));
        };
        let count = match count {
            Some(count) => match self.value_at(strand, count, lane) {
                Some(count) => count as u32,
                None => return Err(Self::stop(strand, "the number of threads of a barrier is not known")),
            },
            None => 0,
        };
        if id >= 16 {
            let finding = Finding::new(
                Code::NamedBarrierMisuse,
                strand.step,
                "barriers have the numbers 0 to 15",
                format!("there is no barrier {id}"),
            );
            self.report(finding);
            return Ok(Flow::Next);
        }
        if count % 32 != 0 {
            let finding = Finding::new(
                Code::NamedBarrierMisuse,
                strand.step,
                "the threads of a barrier must be a multiple of 32",
                format!("it awaits {count} threads"),
            );
            self.report(finding);
        }
        let (value, doubt) = match kind {
            BarrierKind::Arrive | BarrierKind::Sync => ([0; 32], 0),
            BarrierKind::Count { value, .. }
            | BarrierKind::And { value, .. }
            | BarrierKind::Or { value, .. } => self.value(strand, value),
        };
        let warp = &self.warps[strand.warp as usize];
        let (cta, live, step) = (warp.cta, warp.live, strand.step);
        if aligned && active != live {
            self.not_aligned(strand, active, live);
        }
        let named = &mut self.ctas[cta as usize].named[id as usize];
        let is_first = named.arrived == 0 && named.partial.is_empty();
        if is_first {
            *named = Named { expected: count, first: step, all: true, ..Named::default() };
        } else if named.expected != count {
            let (expected, first) = (named.expected, named.first);
            self.report(different_numbers(id as u32, (step, count), (first, expected), ""));
        }
        let named = &mut self.ctas[cta as usize].named[id as usize];
        for lane in lanes(active) {
            named.all &= value[lane] & 1 != 0;
            named.any |= value[lane] & 1 != 0;
            named.holds += u32::from(value[lane] & 1 != 0);
        }
        named.unknown |= doubt & active != 0;
        named.warps.push(strand.warp);
        if aligned || active == live {
            named.arrived += 32;
        } else {
            let warp = strand.warp;
            match named.partial.iter_mut().find(|(other, _)| *other == warp) {
                Some((_, mask)) => *mask |= active,
                None => named.partial.push((warp, active)),
            }
            let whole = named.partial.iter().position(|(other, mask)| *other == warp && *mask & live == live);
            if let Some(index) = whole {
                named.partial.swap_remove(index);
                named.arrived += 32;
            }
        }
        let Self { ctas, warps, .. } = self;
        let warp = &mut warps[strand.warp as usize];
        let named = &mut ctas[cta as usize].named[id as usize];
        named.clock.join(&warp.clock);
        named.events.push((warp.agent, warp.clock.of(warp.agent)));
        let is_early = !ctas[cta as usize].generations[id as usize].is_over_to(&warp.clock);
        warp.clock.advance(warp.agent);
        self.epoch += 1;
        if is_early {
            self.comes_early(strand, cta, id as u32);
        }
        if kind != BarrierKind::Arrive {
            self.synchronise_lanes(strand.warp, u32::MAX);
            strand.wait = Wait::Named { id: id as u32 };
            // It goes on behind the barrier, by itself or when others have come.
        }
        let flow = if kind == BarrierKind::Arrive { Flow::Next } else { Flow::Blocked };
        self.parked = (kind != BarrierKind::Arrive).then(|| strand.clone());
        self.end_barrier(cta, id as u32);
        if let Some(own) = self.parked.take() {
            let was_waiting = own.wait != Wait::None;
            *strand = own;
            if !was_waiting {
                return Ok(Flow::Jumped);
            }
        }
        Ok(flow)
    }

    /// Lets those go on who wait at a barrier that is complete.
    pub(super) fn end_barrier(&mut self, cta: u32, id: u32) {
        let named = &self.ctas[cta as usize].named[id as usize];
        if named.arrived == 0 && named.partial.is_empty() {
            return;
        }
        let expected = if named.expected == 0 {
            let live = self.warps.iter().filter(|warp| warp.cta == cta && warp.live != 0).count();
            live as u32 * 32
        } else {
            named.expected
        };
        let partial: u32 = named.partial.iter().map(|(_, mask)| mask.count_ones()).sum();
        if named.arrived + partial < expected {
            return;
        }
        let mut named = std::mem::take(&mut self.ctas[cta as usize].named[id as usize]);
        let agent = match self.ctas[cta as usize].generations[id as usize].agent {
            Some(agent) => agent,
            None => self.new_agent(),
        };
        let generation = &mut self.ctas[cta as usize].generations[id as usize];
        generation.agent = Some(agent);
        generation.tick += 1;
        generation.events = std::mem::take(&mut named.events);
        named.clock.learn(agent, generation.tick);
        self.ctas[cta as usize].named_before[id as usize] = (named.expected, named.first);
        let is_here = |strand: &Strand, warps: &[Warp]| {
            strand.wait == Wait::Named { id } && warps[strand.warp as usize].cta == cta
        };
        for index in 0..self.strands.len() {
            if is_here(&self.strands[index], &self.warps) {
                let mut strand = self.strands[index].clone();
                self.pass_barrier(&mut strand, &named);
                if strand.mask == 0 {
                    self.strands[index].mask = 0;
                } else {
                    self.strands[index] = strand;
                }
            }
        }
        if let Some(mut own) = self.parked.take() {
            if is_here(&own, &self.warps) {
                self.pass_barrier(&mut own, &named);
            }
            self.parked = Some(own);
        }
        self.epoch += 1;
    }

    pub(super) fn pass_barrier(&mut self, strand: &mut Strand, named: &Named) {
        let warp = &mut self.warps[strand.warp as usize];
        warp.clock.join(&named.clock);
        strand.wait = Wait::None;
        if let Action::Barrier { kind, .. } = &self.program.steps[strand.step as usize].action {
            let unknown = if named.unknown { u32::MAX } else { 0 };
            let (destination, value) = match *kind {
                BarrierKind::Arrive | BarrierKind::Sync => (Operand::Sink, 0),
                BarrierKind::Count { destination, .. } => (destination, u64::from(named.holds)),
                BarrierKind::And { destination, .. } => (destination, u64::from(named.all)),
                BarrierKind::Or { destination, .. } => (destination, u64::from(named.any)),
            };
            self.set(strand, destination, strand.mask, &[value; 32], unknown);
        }
        strand.step += 1;
        self.meet(strand);
    }

    /// Reports who waits at a barrier for more or fewer threads than have just passed it; whether somebody
    /// does.
    pub(super) fn waits_for_others(&mut self) -> bool {
        let found = self.strands.iter().find_map(|strand| {
            let Wait::Named { id } = strand.wait else { return None };
            let cta = &self.ctas[self.warps[strand.warp as usize].cta as usize];
            let (before, step) = cta.named_before[id as usize];
            let now = cta.named[id as usize].expected;
            (step != NOWHERE && before != now).then_some((strand.step, id, now, before, step))
        });
        let Some((step, id, now, before, other)) = found else { return false };
        self.report(different_numbers(id, (step, now), (other, before), ", who have passed it already"));
        true
    }

    /// Says that a warp may take part in a barrier one time too early.
    fn comes_early(&mut self, strand: &Strand, cta: u32, id: u32) {
        let (_, first) = self.ctas[cta as usize].named_before[id as usize];
        let role = self.role(strand.warp);
        let finding = Finding::new(
            Code::NamedBarrierMisuse,
            strand.step,
            "a thread may come to a barrier again before it was passed",
            format!(
                "nothing orders {role} after the last phase of barrier {id}: its arrival may count for that phase"
            ),
        )
        .label(first, "then the first one came here")
        .cause();
        self.report(finding);
    }

    /// Says that only part of a warp executes what all have to.
    pub(super) fn not_aligned(&mut self, strand: &Strand, active: u32, live: u32) {
        let role = self.role_of(strand, active);
        let come = if active.is_power_of_two() { "comes" } else { "come" };
        let finding = Finding::new(
            Code::DivergentAligned,
            strand.step,
            "a part of a warp executes an `.aligned` instruction",
            format!(
                "{role} {come} here without the other {} threads of the warp",
                (live & !active).count_ones()
            ),
        );
        self.report(finding);
    }

    /// Arrives at the barrier of the cluster.
    pub(super) fn cluster_arrive(&mut self, strand: &Strand, release: bool, active: u32) {
        let generation = self.cluster.generation;
        let warp = &mut self.warps[strand.warp as usize];
        if warp.cluster_generation != generation || warp.cluster_arrived == 0 {
            warp.cluster_generation = generation;
            warp.cluster_arrived = 0;
        }
        warp.cluster_arrived |= active;
        if release {
            self.cluster.clock.join(&warp.clock);
            warp.clock.advance(warp.agent);
        } else {
            warp.fences.tell(Scope::Cluster, &mut self.cluster.clock);
            self.cluster.clock.join_executed(&warp.clock);
            warp.clock.advance(warp.agent);
        }
        self.epoch += 1;
        self.end_cluster_barrier();
    }

    /// Ends the generation of the cluster's barrier if all have arrived.
    pub(super) fn end_cluster_barrier(&mut self) {
        let generation = self.cluster.generation;
        let mut any = false;
        for warp in &self.warps {
            let arrived = if warp.cluster_generation == generation { warp.cluster_arrived } else { 0 };
            any |= arrived != 0;
            if warp.live & !arrived != 0 {
                return;
            }
        }
        if any {
            self.cluster.generation += 1;
            let clock = std::mem::take(&mut self.cluster.clock);
            self.cluster.released.join(&clock);
            for warp in &mut self.warps {
                warp.cluster_arrived = 0;
            }
            self.epoch += 1;
        }
    }

    /// Waits at the barrier of the cluster.
    pub(super) fn cluster_wait(&mut self, strand: &mut Strand) -> Flow {
        let warp = &mut self.warps[strand.warp as usize];
        if self.cluster.generation > warp.cluster_generation {
            warp.clock.join(&self.cluster.released);
            return Flow::Next;
        }
        strand.wait = Wait::Cluster { generation: warp.cluster_generation };
        Flow::Blocked
    }
}

/// Two steps name different numbers of threads for a barrier; 0 are all.
fn different_numbers(id: u32, one: (u32, u32), other: (u32, u32), of_others: &str) -> Finding {
    let words = |count: u32| if count == 0 { "all threads".to_owned() } else { format!("{count} threads") };
    Finding::new(
        Code::NamedBarrierMisuse,
        one.0,
        "those who take part in a barrier name different numbers of threads",
        format!("barrier {id} awaits {} here", words(one.1)),
    )
    .label(other.0, format!("but {} here{of_others}", words(other.1)))
}
