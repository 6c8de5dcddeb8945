//! The machine: all threads of a cluster, its memories, and what goes on beside the threads.
//!
//! Threads of a warp that go the same way are a [`Strand`](warp::Strand). The machine runs one
//! strand at a time until it has to wait, and lets asynchronous operations take effect when the
//! [`Schedule`] says so. When nothing can move any more, either all have ended or the kernel hangs.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

mod access;
mod barrier;
mod bulk;
mod calls;
mod deadlock;
mod memory;
mod tensor;
mod warp;

use self::barrier::{ClusterBarrier, Mbarrier, Named};
use self::bulk::Operation;
pub(crate) use self::memory::{Buffer, Bytes, Fill, Global};
use self::tensor::TensorMemory;
use self::warp::{Strand, Wait, Warp, lanes};
use super::Schedule;
use super::arithmetic::Lanes;
use super::clock::{Agent, Clock};
use super::findings::Finding;
use super::program::{Action, Fixed, NOWHERE, Program, Slice, Tensor, windows};
use super::shadow::{Access, Conflict, History, Shadow, Via, Visit};
use crate::descriptor::Features;
use crate::diagnostic::Code;

/// The shape of a launch, and what else the threads of a cluster know.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    /// Which cluster of the grid runs.
    pub(crate) index: u32,
    pub(crate) dynamic_shared: u32,
    /// Registers of each thread at its start.
    pub(crate) registers: u32,
}

/// How a run goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub(crate) schedule: Schedule,
    pub(crate) strict: bool,
    /// Warp instructions after which it ends.
    pub(crate) budget: u64,
    /// Whether the launch is not known; then the number that words of the parameters are.
    pub(crate) assumes: Option<u64>,
    pub(crate) features: Features,
}

/// Why a run ended before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) step: u32,
    pub(crate) reason: String,
}

/// What became of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) findings: Vec<Finding>,
    pub(crate) stop: Option<Stop>,
    /// What was taken for granted, and where.
    pub(crate) assumed: Vec<(u32, &'static str)>,
    pub(crate) executed: u64,
    pub(crate) performed: u64,
    pub(crate) global: Global,
}

/// How execution goes on behind a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// At the next step.
    Next,
    /// Where the step has left it.
    Jumped,
    /// At this step, when what is waited for has happened.
    Blocked,
    /// At the next step, after others.
    Yield,
    /// Where the step has left it, when something has happened.
    Waiting,
}

/// A CTA.
#[derive(Debug)]
struct Cta {
    shared: Bytes,
    shadow: Shadow,
    /// By 8 bytes: the number of the mbarrier there, from 1.
    mbarriers: Vec<u32>,
    named: Vec<Named>,
    tensor: TensorMemory,
    /// Registers that no warp has.
    registers: u32,
}

/// Everything.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    shape: Shape,
    schedule: Schedule,
    is_strict: bool,
    is_assumed: bool,
    assumes: Option<u64>,
    budget: u64,
    features: Features,
    ctas: Vec<Cta>,
    warps: Vec<Warp>,
    strands: Vec<Strand>,
    /// Strands that others made.
    fresh: Vec<Strand>,
    /// The strand at hand, while a barrier looks for those who wait.
    parked: Option<Strand>,
    mbarriers: Vec<Mbarrier>,
    cluster: ClusterBarrier,
    global: Global,
    constants: Bytes,
    parameters: Bytes,
    shared_bytes: u32,
    dynamic_start: u32,
    pending: VecDeque<Operation>,
    next_operation: u64,
    queues: u32,
    queue_agents: FxHashMap<u32, (Agent, u32)>,
    first_async_agent: Agent,
    async_ticks: Vec<u32>,
    /// By agent of a queue: what has taken effect.
    done: FxHashMap<Agent, u32>,
    /// By operation: bulk copies that are done and were not waited for.
    finished: FxHashMap<u64, (Agent, u32)>,
    /// By CTA whose memory it was and agent: the last operation, which somebody has to see the end of.
    unseen: FxHashMap<(u32, Agent), (u32, u32)>,
    /// Whether copies were made whose size is not known.
    has_open_copies: bool,
    /// What all know who take part in atomic operations.
    atomics: Clock,
    history: History,
    footprints: FxHashMap<tensor::Footprint, tensor::Pieces>,
    /// How often something happened that others can notice.
    epoch: u64,
    executed: u64,
    performed: u64,
    findings: Vec<Finding>,
    reported: FxHashSet<(Code, u32, u32)>,
    assumed: Vec<(u32, &'static str)>,
    random: u64,
}

/// Findings after which nobody reads on.
const MOST_FINDINGS: usize = 100;
/// Waits of a strand that may give up while nothing happens: it may wait for several things in turn.
const MOST_IN_VAIN: u32 = 8;
/// Steps that a strand goes before others do.
const TURN: u32 = 256;

impl<'p> Machine<'p> {
    pub(crate) fn new(
        program: &'p Program,
        shape: Shape,
        conditions: Conditions,
        global: Global,
        parameters: Bytes,
    ) -> Self {
        let dynamic_start = program.static_shared.next_multiple_of(program.dynamic_align.max(16));
        let shared_bytes = dynamic_start + shape.dynamic_shared;
        let mut constants = Bytes::new(program.constant_bytes.len());
        constants.fill(0, program.constant_bytes.len(), Some(&program.constant_bytes));
        for (from, to) in &program.constant_unknown {
            constants.fill((*from).into(), (to - from) as usize, None);
        }
        let count = shape.cluster.iter().product::<u32>();
        let threads = shape.block.iter().product::<u32>();
        let warps_of_cta = threads.div_ceil(32);
        let first_async_agent = count * warps_of_cta;
        let seed = match conditions.schedule {
            Schedule::Random(seed) => seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            Schedule::Early | Schedule::Late => 1,
        };
        let mut this = Self {
            program,
            schedule: conditions.schedule,
            is_strict: conditions.strict,
            is_assumed: conditions.assumes.is_some(),
            assumes: conditions.assumes,
            budget: conditions.budget,
            features: conditions.features,
            ctas: Vec::new(),
            warps: Vec::new(),
            strands: Vec::new(),
            fresh: Vec::new(),
            parked: None,
            mbarriers: Vec::new(),
            cluster: ClusterBarrier::default(),
            global,
            constants,
            parameters,
            shared_bytes,
            dynamic_start,
            pending: VecDeque::new(),
            next_operation: 0,
            queues: 0,
            queue_agents: FxHashMap::default(),
            first_async_agent,
            async_ticks: Vec::new(),
            done: FxHashMap::default(),
            finished: FxHashMap::default(),
            unseen: FxHashMap::default(),
            has_open_copies: false,
            atomics: Clock::default(),
            history: History::default(),
            footprints: FxHashMap::default(),
            epoch: 0,
            executed: 0,
            performed: 0,
            findings: Vec::new(),
            reported: FxHashSet::default(),
            assumed: Vec::new(),
            random: seed,
            shape,
        };
        for rank in 0..count {
            this.add_cta(rank, threads);
        }
        this
    }

    fn add_cta(&mut self, rank: u32, threads: u32) {
        let Shape { grid, cluster, index, registers, .. } = self.shape;
        let clusters: [u32; 3] = std::array::from_fn(|axis| (grid[axis] / cluster[axis].max(1)).max(1));
        let place = |index: u32, size: [u32; 3]| {
            [index % size[0], index / size[0] % size[1], index / size[0] / size[1]]
        };
        let (cluster_id, within) = (place(index, clusters), place(rank, cluster));
        let id = std::array::from_fn(|axis| cluster_id[axis] * cluster[axis] + within[axis]);
        let warps = threads.div_ceil(32);
        self.ctas.push(Cta {
            shared: Bytes::new(self.shared_bytes as usize),
            shadow: Shadow::new(self.shared_bytes),
            mbarriers: vec![0; self.shared_bytes as usize / 8 + 1],
            named: vec![Named::default(); 16],
            tensor: TensorMemory::new(self.features.tensor_memory()),
            registers: (1u32 << 16).saturating_sub(registers * warps * 32),
        });
        for warp in 0..warps {
            let live = if threads - warp * 32 >= 32 { u32::MAX } else { (1 << (threads % 32)) - 1 };
            let number = self.warps.len() as u32;
            let fixed = self
                .program
                .fixed
                .iter()
                .map(|fixed| self.fixed_value(*fixed, (rank, id, cluster_id, within), warp))
                .collect();
            let kernel = &self.program.functions[0];
            let mut clock = Clock::default();
            clock.advance(number);
            let mut fresh = Warp {
                cta: rank,
                index: warp,
                live,
                bits: Vec::new(),
                unknown: Vec::new(),
                fixed,
                local: (0..32).map(|_| Bytes::new(kernel.local_bytes as usize)).collect(),
                joins: Vec::new(),
                agent: number,
                clock,
                cluster_arrived: 0,
                cluster_generation: 0,
                copies: bulk::Copies::default(),
                tensor: tensor::Pending::default(),
                register_count: registers,
            };
            fresh.reserve(kernel.registers as usize);
            self.warps.push(fresh);
            self.strands.push(Strand::new(number, live, kernel.entry));
        }
    }

    fn fixed_value(
        &self,
        fixed: Fixed,
        (rank, id, cluster_id, within): (u32, [u32; 3], [u32; 3], [u32; 3]),
        warp: u32,
    ) -> Lanes {
        let Shape { grid, block, cluster, dynamic_shared, .. } = self.shape;
        let axis = |axis: u8| usize::from(axis).min(2);
        let shared = |offset: u32| u64::from(rank << windows::RANK_SHIFT | offset);
        let dynamic = |offset: u32| shared(self.dynamic_start.wrapping_add(offset) & 0xFF_FFFF);
        let size = cluster.iter().product::<u32>();
        let warps = block.iter().product::<u32>().div_ceil(32);
        std::array::from_fn(|lane| {
            let thread = warp * 32 + lane as u32;
            let lane = lane as u32;
            let all = u64::from(u32::MAX);
            match fixed {
                Fixed::Tid(0) => (thread % block[0]).into(),
                Fixed::Tid(1) => (thread / block[0] % block[1]).into(),
                Fixed::Tid(_) => (thread / block[0] / block[1]).into(),
                Fixed::Ntid(at) => block[axis(at)].into(),
                Fixed::Ctaid(at) => id[axis(at)].into(),
                Fixed::Nctaid(at) => grid[axis(at)].into(),
                Fixed::ClusterCtaid(at) => within[axis(at)].into(),
                Fixed::ClusterNctaid(at) => cluster[axis(at)].into(),
                Fixed::Clusterid(at) => cluster_id[axis(at)].into(),
                Fixed::Nclusterid(at) => (grid[axis(at)] / cluster[axis(at)].max(1)).max(1).into(),
                Fixed::ClusterCtarank => rank.into(),
                Fixed::ClusterNctarank => size.into(),
                Fixed::IsExplicitCluster => u64::from(size > 1),
                Fixed::Laneid => lane.into(),
                Fixed::Warpid => warp.into(),
                Fixed::Nwarpid => warps.into(),
                Fixed::Smid => rank.into(),
                Fixed::Nsmid => 148,
                Fixed::LanemaskEq => 1 << lane,
                Fixed::LanemaskLt => (1 << lane) - 1,
                Fixed::LanemaskLe => (2 << lane) - 1,
                Fixed::LanemaskGe => all & (all << lane),
                Fixed::LanemaskGt => all & (all << lane << 1),
                Fixed::DynamicSmemSize => dynamic_shared.into(),
                Fixed::TotalSmemSize => self.shared_bytes.into(),
                Fixed::ReservedSmem => 0,
                Fixed::Shared(offset) => shared(offset),
                Fixed::DynamicShared(offset) => dynamic(offset),
                Fixed::GenericShared(offset) => windows::generic(windows::SHARED, shared(offset)),
                Fixed::GenericDynamicShared(offset) => windows::generic(windows::SHARED, dynamic(offset)),
            }
        })
    }

    /// Runs to the end, if there is one.
    pub(crate) fn run(mut self) -> Outcome {
        let stop = self.go_on().err();
        Outcome {
            findings: self.findings,
            stop,
            assumed: self.assumed,
            executed: self.executed,
            performed: self.performed,
            global: self.global,
        }
    }

    fn go_on(&mut self) -> Result<(), Stop> {
        let mut next = 0;
        loop {
            self.strands.retain(|strand| strand.mask != 0);
            if self.strands.is_empty() {
                // What is under way may still find something.
                while let Some(index) = (0..self.pending.len()).find(|index| self.is_ready(*index)) {
                    self.perform(index);
                }
                return Ok(());
            }
            if self.findings.len() >= MOST_FINDINGS {
                return Ok(());
            }
            let count = self.strands.len();
            let chosen = match self.schedule {
                Schedule::Early | Schedule::Late => {
                    (0..count).map(|by| (next + by) % count).find(|index| self.can_go(*index))
                }
                Schedule::Random(_) => {
                    let from = self.chance() as usize % count;
                    if !self.pending.is_empty() && self.chance().is_multiple_of(4) {
                        let index = self.chance() as usize % self.pending.len();
                        if self.is_ready(index) {
                            self.perform(index);
                            continue;
                        }
                    }
                    (0..count).map(|by| (from + by) % count).find(|index| self.can_go(*index))
                }
            };
            if let Some(index) = chosen {
                next = index + 1;
                let turn = match self.schedule {
                    Schedule::Early | Schedule::Late => TURN,
                    Schedule::Random(_) => 1 + self.chance() as u32 % 64,
                };
                self.turn(index, turn)?;
                continue;
            }
            // Nobody can go on: what is under way may help.
            if let Some(index) = (0..self.pending.len()).find(|index| self.is_ready(*index)) {
                self.perform(index);
                continue;
            }
            if self.perform_open() {
                continue;
            }
            if self.give_up_waiting() {
                continue;
            }
            self.hang();
            return Ok(());
        }
    }

    /// Lets those go on whose waits may be in vain, if that was not tried since something
    /// happened.
    fn give_up_waiting(&mut self) -> bool {
        let mut any = false;
        for strand in &mut self.strands {
            if let Wait::Mbarrier { may_give_up: true, .. } = strand.wait {
                if strand.gave_up.0 != self.epoch {
                    strand.gave_up = (self.epoch, 0);
                }
                if strand.gave_up.1 == MOST_IN_VAIN {
                    continue;
                }
                strand.gave_up.1 += 1;
                strand.expired = true;
                strand.wait = Wait::None;
                any = true;
            }
        }
        any
    }

    fn chance(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    /// Whether a strand need not wait any longer.
    fn can_go(&self, index: usize) -> bool {
        let strand = &self.strands[index];
        match strand.wait {
            Wait::None => true,
            Wait::Mbarrier { barrier, phase, .. } => {
                let barrier = &self.mbarriers[barrier as usize];
                barrier.phase != phase || !barrier.is_valid
            }
            Wait::Named { .. } => false,
            Wait::Cluster { generation } => self.cluster.generation > generation,
            Wait::Warp { mask, aligned_step } => self.warp_is_here(strand, mask, aligned_step),
            Wait::Bulk { left } => self.bulk_done(strand, left, strand.mask),
            Wait::Copies { left } => self.copies_done(strand, left),
            Wait::Alloc { columns, pair } => self.alloc_ready(strand, columns, pair),
            Wait::Registers { count } => self.registers_ready(strand, count),
            Wait::Change => strand.epoch != self.epoch,
        }
    }

    /// Runs a strand for a while.
    fn turn(&mut self, index: usize, most: u32) -> Result<(), Stop> {
        let hole = Strand::new(self.strands[index].warp, 0, NOWHERE);
        let mut strand = std::mem::replace(&mut self.strands[index], hole);
        if !matches!(strand.wait, Wait::Warp { .. }) {
            strand.wait = Wait::None;
        }
        let mut left = most;
        let result = loop {
            if left == 0 || strand.mask == 0 {
                break Ok(());
            }
            left -= 1;
            self.executed += 1;
            if self.executed > self.budget {
                break Err(Self::stop(&strand, "the budget of instructions is used up"));
            }
            match self.step(&mut strand) {
                Ok(Flow::Next) => strand.step += 1,
                Ok(Flow::Jumped) => {}
                Ok(Flow::Blocked | Flow::Waiting) => break Ok(()),
                Ok(Flow::Yield) => {
                    strand.step += 1;
                    left = 0;
                }
                Err(stop) => break Err(stop),
            }
            if strand.join != warp::NO_JOIN && strand.mask != 0 && self.meet(&mut strand) {
                break Ok(());
            }
            if self.schedule == Schedule::Early {
                while let Some(index) = (0..self.pending.len()).find(|index| self.is_ready(*index)) {
                    self.perform(index);
                }
            }
        };
        if strand.mask != 0 {
            self.strands[index] = strand;
        }
        let fresh = std::mem::take(&mut self.fresh);
        self.strands.extend(fresh);
        result
    }

    /// The lanes that execute a step.
    fn active(&mut self, strand: &Strand, guard: Option<(u32, bool)>) -> Result<u32, Stop> {
        let Some((register, negated)) = guard else { return Ok(strand.mask) };
        let warp = &self.warps[strand.warp as usize];
        let index = (strand.base + register) as usize;
        let unknown = warp.unknown[index] & strand.mask;
        let bits = &warp.bits[index];
        let holds = lanes(strand.mask).fold(0u32, |all, lane| all | u32::from(bits[lane] & 1 != 0) << lane);
        if unknown != 0 {
            let action = &self.program.steps[strand.step as usize].action;
            match action {
                // Whether it happens or not, what it writes is not known, or not known to matter.
                Action::Compute { destinations, .. } | Action::Opaque { destinations } => {
                    let destinations = *destinations;
                    self.set_unknown(strand, destinations, unknown);
                }
                Action::Load(access) if access.space == super::program::Where::Global => {
                    let destinations = access.registers;
                    self.set_unknown(strand, destinations, unknown);
                }
                Action::Store(access) if access.space == super::program::Where::Global => {
                    self.assume(strand.step, "stores to global memory under a condition that is not known change nothing that is read");
                }
                Action::Nothing | Action::Fence => {}
                _ => {
                    return Err(Self::stop(
                        strand,
                        "it depends on a value that is not known whether this is executed",
                    ));
                }
            }
        }
        let active = if negated { strand.mask & !holds } else { holds };
        Ok(active & !unknown)
    }

    fn step(&mut self, strand: &mut Strand) -> Result<Flow, Stop> {
        let program = self.program;
        let Some(step) = program.steps.get(strand.step as usize) else {
            return Err(Self::stop(strand, "a jump leads nowhere"));
        };
        let active = self.active(strand, step.guard)?;
        if active == 0 {
            return Ok(Flow::Next);
        }
        if active != strand.mask && may_block(&step.action) {
            // The others wait behind it.
            strand.join = self.new_join(strand.warp, strand.mask, strand.step + 1, strand.join);
            let mut other = strand.clone();
            other.mask &= !active;
            other.step += 1;
            strand.mask = active;
            if !self.meet(&mut other) {
                self.fresh.push(other);
            }
        }
        if self.has_loaded(strand.warp) {
            self.look_for_uses(strand, &step.action);
        }
        match &step.action {
            Action::Compute { arithmetic, sources, destinations, depends } => {
                if program.arithmetics[*arithmetic as usize].is_exchange()
                    && let Some(flow) = self.gather(strand, *sources, active)?
                {
                    return Ok(flow);
                }
                self.compute(strand, *arithmetic, (*sources, *destinations), *depends, active);
                Ok(Flow::Next)
            }
            Action::Opaque { destinations } => {
                self.set_unknown(strand, *destinations, active);
                Ok(Flow::Next)
            }
            Action::Nothing | Action::Fence | Action::InitFence => Ok(Flow::Next),
            Action::Sleep => Ok(Flow::Yield),
            Action::Branch { target, join } => {
                self.part(strand, active, *target, *join);
                Ok(Flow::Jumped)
            }
            Action::IndexedBranch { index, targets, join } => {
                self.indexed_branch(strand, *index, *targets, *join, active)?;
                Ok(Flow::Jumped)
            }
            Action::Call { callee, results, arguments } => {
                self.call(strand, *callee, (*results, *arguments), active)?;
                Ok(Flow::Jumped)
            }
            Action::Return => {
                let ends = strand.frames.is_empty();
                self.end_threads(strand, active, ends);
                Ok(if strand.mask == 0 { Flow::Jumped } else { Flow::Next })
            }
            Action::Exit => {
                self.end_threads(strand, active, true);
                Ok(if strand.mask == 0 { Flow::Jumped } else { Flow::Next })
            }
            Action::Trap => Err(Self::stop(strand, "the kernel traps")),
            Action::Load(access) => self.load(strand, access, active),
            Action::Store(access) => {
                self.store(strand, access, active)?;
                Ok(Flow::Next)
            }
            Action::Atomic(atomic) => self.atomic(strand, atomic, active),
            Action::Convert { to_generic, space, source, destination } => {
                self.convert(strand, (*to_generic, *space), (*source, *destination), active);
                Ok(Flow::Next)
            }
            Action::IsInSpace { space, source, destination } => {
                self.is_in_space(strand, *space, (*source, *destination), active);
                Ok(Flow::Next)
            }
            Action::MapAddress { source, rank, destination } => {
                self.map_address(strand, (*source, *rank), *destination, active);
                Ok(Flow::Next)
            }
            Action::RankOf { source, destination } => {
                self.rank_of(strand, (*source, *destination), active);
                Ok(Flow::Next)
            }
            Action::Barrier { id, count, kind, aligned } => {
                self.barrier(strand, (*id, *count), *kind, *aligned, active)
            }
            Action::WarpBarrier { mask } => {
                let lane = active.trailing_zeros() as usize & 31;
                let Some(mask) = self.value_at(strand, *mask, lane) else {
                    return Err(Self::stop(strand, "the mask of a warp barrier is not known"));
                };
                Ok(self.wait_for_warp(strand, mask as u32, NOWHERE))
            }
            Action::ClusterArrive { release, aligned } => {
                self.check_aligned(strand, *aligned, active);
                self.cluster_arrive(strand, *release, active);
                Ok(Flow::Next)
            }
            Action::ClusterWait { aligned } => {
                self.check_aligned(strand, *aligned, active);
                Ok(self.cluster_wait(strand))
            }
            Action::Mbarrier(instruction) => self.mbarrier(strand, instruction, active),
            Action::ProxyFence => {
                self.warps[strand.warp as usize].clock.fence();
                Ok(Flow::Next)
            }
            Action::CopyAsync { destination, source, bytes, source_bytes } => {
                self.copy_async(strand, (*destination, *source), *bytes, *source_bytes, active)?;
                Ok(Flow::Next)
            }
            Action::CopyCommit => {
                self.copy_commit(strand);
                Ok(Flow::Next)
            }
            Action::CopyWait { left } => Ok(self.copy_wait(strand, *left)),
            Action::CopyArrive { space, address, counts } => {
                self.copy_arrive(strand, (*space, *address), *counts, active)?;
                Ok(Flow::Next)
            }
            Action::Bulk(bulk) => {
                self.bulk(strand, bulk, active)?;
                Ok(Flow::Next)
            }
            Action::BulkCommit => {
                self.bulk_commit(strand, active);
                Ok(Flow::Next)
            }
            Action::BulkWait { left } => Ok(self.bulk_wait(strand, *left, active)),
            Action::SetRegisters { count, up } => Ok(self.set_registers(strand, *count, *up, active)),
            Action::TryCancel { destination, barrier, multicast } => {
                self.try_cancel(strand, (*destination, *barrier), *multicast, active)?;
                Ok(Flow::Next)
            }
            Action::IsCanceled { response, destination } => {
                let response = self.operands(*response);
                let mut doubt = 0;
                let mut granted: Lanes = [0; 32];
                for part in response {
                    let (value, unknown) = self.value(strand, part);
                    doubt |= unknown;
                    for (all, value) in granted.iter_mut().zip(value) {
                        *all |= u64::from(value != 0);
                    }
                }
                self.set(strand, *destination, active, &granted, doubt);
                Ok(Flow::Next)
            }
            Action::FirstCta { response, destinations, axis } => {
                let response = self.operands(*response);
                let destinations = self.operands(*destinations);
                for (index, destination) in destinations.iter().enumerate() {
                    let which = axis.map_or(index, usize::from);
                    let (value, unknown) = match response.first() {
                        Some(first) => self.value(strand, *first),
                        None => ([0; 32], u32::MAX),
                    };
                    let part = value.map(|value| value >> (which * 16) & 0xFFFF);
                    self.set(strand, *destination, active, &part, unknown);
                }
                Ok(Flow::Next)
            }
            Action::Matrix { store, address, space, rows, row_bytes, registers } => {
                self.matrix(strand, *store, (*address, *space), (*rows, *row_bytes), *registers)?;
                Ok(Flow::Next)
            }
            Action::ReplaceTensorMap { address, space, field, ordinal, value } => {
                self.replace_tensor_map(strand, (*space, *address), (*field, *ordinal), *value, active)?;
                Ok(Flow::Next)
            }
            Action::CopyTensorMap { destination, source } => {
                self.copy_tensor_map(strand, *destination, *source, active)?;
                self.warps[strand.warp as usize].clock.fence();
                Ok(Flow::Next)
            }
            Action::Fill { address, bytes } => {
                self.fill(strand, *address, *bytes, active)?;
                Ok(Flow::Next)
            }
            Action::Tensor(tensor) => {
                let flow = self.tensor(strand, tensor, active)?;
                Ok(flow)
            }
            Action::Unknown(text) => {
                let text = &program.texts[*text as usize];
                Err(Self::stop(strand, format!("the machine does not know {text}")))
            }
        }
    }

    fn check_aligned(&mut self, strand: &Strand, aligned: bool, active: u32) {
        let live = self.warps[strand.warp as usize].live;
        if aligned && active != live {
            self.not_aligned(strand, active, live);
        }
    }

    /// Loads of Tensor Memory whose registers a step reads are over.
    fn look_for_uses(&mut self, strand: &Strand, action: &Action) {
        match action {
            Action::Compute { sources, .. } => self.uses(strand, *sources),
            Action::Store(access) => self.uses(strand, access.registers),
            Action::Atomic(atomic) => self.uses(strand, atomic.sources),
            Action::Matrix { store: true, registers, .. } => self.uses(strand, *registers),
            Action::Tensor(tensor) => {
                if let Tensor::Store { registers, .. } = **tensor {
                    self.uses(strand, registers);
                }
            }
            _ => {}
        }
    }

    fn indexed_branch(
        &mut self,
        strand: &mut Strand,
        index: super::program::Operand,
        targets: Slice,
        join: u32,
        active: u32,
    ) -> Result<(), Stop> {
        let (value, unknown) = self.value(strand, index);
        if unknown & active != 0 {
            return Err(Self::stop(strand, "the index of a jump is not known"));
        }
        let targets = &self.program.targets[targets.range()];
        let mut left = active;
        let skips = strand.mask & !active;
        if skips != 0 || lanes(active).any(|lane| value[lane] != value[active.trailing_zeros() as usize & 31])
        {
            // Each goes its way from a strand of its own.
            if join != NOWHERE {
                strand.join = self.new_join(strand.warp, strand.mask, join, strand.join);
            }
        }
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let same =
                lanes(left).filter(|other| value[*other] == value[lane]).fold(0u32, |all, it| all | 1 << it);
            left &= !same;
            let Some(target) = targets.get(value[lane] as usize) else {
                return Err(Self::stop(strand, "the index of a jump is too large"));
            };
            if left == 0 && skips == 0 {
                strand.mask = same;
                Self::go(strand, *target);
                return Ok(());
            }
            let mut other = strand.clone();
            other.mask = same;
            Self::go(&mut other, *target);
            if !self.meet(&mut other) {
                self.fresh.push(other);
            }
        }
        strand.mask = skips;
        strand.step += 1;
        Ok(())
    }

    /// Threads return or end.
    fn end_threads(&mut self, strand: &mut Strand, leaving: u32, ends: bool) {
        self.leave(strand, leaving, ends);
        if ends {
            self.epoch += 1;
            let cta = self.warps[strand.warp as usize].cta;
            // Those who remain may be all that barriers wait for.
            for id in 0..16 {
                self.end_barrier(cta, id);
            }
            self.end_cluster_barrier();
            if self.warps.iter().all(|warp| warp.cta != cta || warp.live == 0) {
                self.end_cta(cta, strand.step);
            }
        }
    }

    /// A CTA has ended.
    fn end_cta(&mut self, cta: u32, step: u32) {
        // It takes effect all the same.
        while let Some(index) = (0..self.pending.len())
            .find(|index| self.is_ready(*index) && self.warps[self.pending[*index].warp as usize].cta == cta)
        {
            self.perform(index);
        }
        let mut known = Clock::default();
        for warp in self.warps.iter().filter(|warp| warp.cta == cta) {
            known.join(&warp.clock);
        }
        let unseen =
            self.unseen.iter().filter(|((of, agent), (tick, _))| *of == cta && known.of(*agent) < *tick);
        let mut unseen: Vec<u32> = unseen.map(|(_, (_, step))| *step).collect();
        unseen.sort_unstable();
        unseen.dedup();
        for at in unseen {
            let finding = Finding::new(
                Code::WorkOutstandingAtExit,
                at,
                "a CTA ends only after the asynchronous work on its memory",
                "no thread of the CTA has waited for the end of this",
            )
            .label(step, "the last thread of the CTA ends here");
            self.report(finding);
        }
        self.check_freed(cta);
    }

    /// The strands that wait for a warp.
    fn warp_is_here(&self, strand: &Strand, mask: u32, step: u32) -> bool {
        let live = self.warps[strand.warp as usize].live;
        let here = |other: &&Strand| {
            other.warp == strand.warp
                && matches!(other.wait, Wait::Warp { aligned_step, .. } if aligned_step == step)
                && (step == NOWHERE || other.step == step)
        };
        let arrived = self.strands.iter().filter(here).fold(0, |all, other| all | other.mask);
        mask & live & !arrived == 0
    }

    /// Waits for the threads of a mask. With a step all of them are to be there.
    fn wait_for_warp(&mut self, strand: &mut Strand, mask: u32, step: u32) -> Flow {
        let live = self.warps[strand.warp as usize].live;
        if let Wait::Warp { .. } = strand.wait {
            // It was let go on.
            strand.wait = Wait::None;
            return Flow::Next;
        }
        if mask & live & !strand.mask == 0 {
            return Flow::Next;
        }
        strand.wait = Wait::Warp { mask, aligned_step: step };
        if self.warp_is_here_with(strand, mask, step) {
            for other in &mut self.strands {
                if other.warp == strand.warp
                    && matches!(other.wait, Wait::Warp { aligned_step, .. } if aligned_step == step)
                {
                    // Behind the barrier.
                    other.wait = Wait::None;
                    other.step += 1;
                }
            }
            strand.wait = Wait::None;
            return Flow::Next;
        }
        Flow::Blocked
    }

    fn warp_is_here_with(&self, strand: &Strand, mask: u32, step: u32) -> bool {
        let live = self.warps[strand.warp as usize].live;
        let here = |other: &&Strand| {
            other.warp == strand.warp
                && matches!(other.wait, Wait::Warp { aligned_step, .. } if aligned_step == step)
                && (step == NOWHERE || other.step == step)
        };
        let arrived = self.strands.iter().filter(here).fold(strand.mask, |all, other| all | other.mask);
        mask & live & !arrived == 0
    }

    /// Before threads exchange values: those of the mask who went another way are waited for, and
    /// then exchange together.
    fn gather(&mut self, strand: &mut Strand, sources: Slice, active: u32) -> Result<Option<Flow>, Stop> {
        let live = self.warps[strand.warp as usize].live;
        if active == live {
            return Ok(None);
        }
        // The last source is the mask, where there is one.
        let Some(last) = self.program.operands[sources.range()].last().copied() else { return Ok(None) };
        let Action::Compute { sources: all, .. } = &self.program.steps[strand.step as usize].action else {
            return Ok(None);
        };
        if !self.program.masked.contains(&strand.step) || all.len == 0 {
            return Ok(None);
        }
        let lane = active.trailing_zeros() as usize & 31;
        let Some(mask) = self.value_at(strand, last, lane) else {
            return Err(Self::stop(strand, "the mask of an exchange is not known"));
        };
        let mask = mask as u32;
        if mask & live & !active == 0 {
            return Ok(None);
        }
        strand.wait = Wait::Warp { mask, aligned_step: strand.step };
        if !self.warp_is_here_with(strand, mask, strand.step) {
            return Ok(Some(Flow::Blocked));
        }
        // They execute it together, and go on by themselves.
        let mut together = strand.mask;
        let mut partners = Vec::new();
        for (index, other) in self.strands.iter().enumerate() {
            if other.warp == strand.warp
                && other.step == strand.step
                && other.base == strand.base
                && matches!(other.wait, Wait::Warp { aligned_step, .. } if aligned_step == strand.step)
            {
                together |= other.mask;
                partners.push(index);
            }
        }
        if let Action::Compute { arithmetic, sources, destinations, depends } =
            self.program.steps[strand.step as usize].action
        {
            self.compute(strand, arithmetic, (sources, destinations), depends, together);
        }
        for index in partners {
            let mut other = self.strands[index].clone();
            other.wait = Wait::None;
            other.step += 1;
            self.meet(&mut other);
            self.strands[index] = other;
        }
        strand.wait = Wait::None;
        Ok(Some(Flow::Next))
    }

    fn registers_ready(&self, strand: &Strand, count: u32) -> bool {
        let warp = &self.warps[strand.warp as usize];
        self.ctas[warp.cta as usize].registers >= count.saturating_sub(warp.register_count) * 32
    }

    /// `setmaxnreg`
    fn set_registers(&mut self, strand: &mut Strand, count: u32, up: bool, active: u32) -> Flow {
        self.check_aligned(strand, true, active);
        if up && !self.registers_ready(strand, count) {
            strand.wait = Wait::Registers { count };
            return Flow::Blocked;
        }
        let warp = &mut self.warps[strand.warp as usize];
        let pool = &mut self.ctas[warp.cta as usize].registers;
        if up {
            *pool -= count.saturating_sub(warp.register_count) * 32;
            warp.register_count = warp.register_count.max(count);
        } else {
            *pool += warp.register_count.saturating_sub(count) * 32;
            warp.register_count = warp.register_count.min(count);
        }
        self.epoch += 1;
        Flow::Next
    }

    /// Asks for a CTA that has not started.
    fn try_cancel(
        &mut self,
        strand: &Strand,
        (destination, barrier): (super::program::Address, super::program::Address),
        multicast: bool,
        active: u32,
    ) -> Result<(), Stop> {
        for lane in lanes(active) {
            let Some(to) = self.address_at(strand, destination, lane) else {
                return Err(Self::stop(strand, "an address is not known"));
            };
            let Some((cta, offset)) =
                self.shared_place(strand, super::program::Where::SharedCluster, to, 16, true)
            else {
                continue;
            };
            let Some((barrier_cta, barrier_offset)) =
                self.barrier_place(strand, super::program::Where::SharedCluster, barrier, lane)?
            else {
                continue;
            };
            let targets: Vec<(u32, u32)> = if multicast {
                (0..self.ctas.len() as u32).map(|cta| (cta, cta)).collect()
            } else {
                vec![(cta, barrier_cta)]
            };
            let (mut places, mut mbarriers) = (Vec::new(), Vec::new());
            for (cta, barrier_cta) in targets {
                places.push((cta, offset));
                if let Some(number) = self.usable_mbarrier(strand, (barrier_cta, barrier_offset)) {
                    self.mbarriers[number as usize].under_way += 1;
                    mbarriers.push(number);
                }
            }
            self.start(strand, bulk::Kind::Cancel { places, mbarriers }, None);
        }
        Ok(())
    }

    /// An access of threads.
    fn access_of(&self, strand: &Strand, via: Via, writes: bool, mask: u32) -> Access {
        let warp = &self.warps[strand.warp as usize];
        Access {
            agent: warp.agent,
            tick: warp.clock.of(warp.agent),
            step: strand.step,
            warp: strand.warp,
            mask,
            head: strand.head,
            round: strand.round,
            via,
            writes,
        }
    }

    fn access_of_operation(operation: &Operation, via: Via, writes: bool) -> Access {
        Access {
            agent: operation.agent,
            tick: operation.tick,
            step: operation.step,
            warp: operation.warp,
            mask: operation.mask,
            head: operation.head,
            round: operation.round,
            via,
            writes,
        }
    }

    /// Looks for races of accesses of threads to shared memory.
    fn touch(
        &mut self,
        strand: &Strand,
        places: &[(u32, u32, u32)],
        via: Via,
        writes: bool,
        keeps: bool,
        mask: u32,
    ) {
        let access = self.access_of(strand, via, writes, mask);
        let clock = std::mem::take(&mut self.warps[strand.warp as usize].clock);
        self.visit(access, &clock, places, keeps);
        self.warps[strand.warp as usize].clock = clock;
    }

    /// The same of an operation.
    fn touch_by(&mut self, operation: &Operation, places: &[(u32, u32, u32)], via: Via, writes: bool) {
        let access = Self::access_of_operation(operation, via, writes);
        self.visit(access, &operation.clock, places, false);
    }

    /// The same of an operation that reads a matrix.
    fn touch_pieces(&mut self, operation: &Operation, cta: u32, pieces: &[(u32, u32)]) {
        let access = Self::access_of_operation(operation, Via::Async, false);
        let Self { history, ctas, .. } = self;
        let mut visit = Visit::new(history, &operation.clock, access);
        for (start, bytes) in pieces {
            visit.at.0 = cta;
            ctas[cta as usize].shadow.access(*start, *bytes, &mut visit);
        }
        let (number, conflicts) = (visit.number, visit.conflicts);
        for (conflict, (cta, offset)) in conflicts {
            let place = self.place_name(cta, offset);
            self.race(number, conflict, Code::SharedMemoryRace, &place);
        }
    }

    fn visit(&mut self, access: Access, clock: &Clock, places: &[(u32, u32, u32)], keeps: bool) {
        let Self { history, ctas, .. } = self;
        let mut visit = Visit::new(history, clock, access);
        visit.keeps = keeps;
        for (cta, start, bytes) in places {
            visit.at.0 = *cta;
            ctas[*cta as usize].shadow.access(*start, *bytes, &mut visit);
        }
        let (number, conflicts) = (visit.number, visit.conflicts);
        for (conflict, (cta, offset)) in conflicts {
            let place = self.place_name(cta, offset);
            self.race(number, conflict, Code::SharedMemoryRace, &place);
        }
    }

    /// Reports two accesses that conflict.
    fn race(&mut self, own: u32, conflict: Conflict, code: Code, place: &str) {
        let (code, other) = match conflict {
            Conflict::Race(other) => (code, other),
            Conflict::Proxy(other) => (Code::ProxyFenceMissing, other),
        };
        let (own, other) = (*self.history.access(own), *self.history.access(other));
        let message = match code {
            Code::TensorMemoryRace => "accesses to the same cells of Tensor Memory are ordered",
            Code::ProxyFenceMissing => {
                "what threads write is shown to the async proxy by `fence.proxy.async` before it reads"
            }
            _ => "accesses to the same bytes of shared memory are ordered",
        };
        let verb = |access: &Access| {
            let frees = |tensor: &Tensor| matches!(tensor, Tensor::Dealloc { .. });
            match &self.program.steps[access.step as usize].action {
                Action::Tensor(tensor) if frees(tensor) => "frees",
                _ if access.writes => "writes",
                _ => "reads",
            }
        };
        let (mine, theirs) = (self.describe(&own), self.describe(&other));
        let remark = match code {
            Code::ProxyFenceMissing => format!("{mine} {} {place} through the async proxy", verb(&own)),
            _ => format!("{mine} {} {place}, and nothing orders that", verb(&own)),
        };
        let finding = Finding::new(code, own.step, message, remark)
            .label(other.step, format!("with what {theirs} {} here", verb(&other)));
        self.report(finding);
    }

    /// Who made an access, and when.
    fn describe(&self, access: &Access) -> String {
        let mut words = self.role(access.warp);
        let live = u32::MAX;
        if access.mask.is_power_of_two() {
            words.push_str(&format!(" (lane {})", access.mask.trailing_zeros()));
        } else if access.mask != live {
            words.push_str(&format!(" ({} lanes)", access.mask.count_ones()));
        }
        if access.head != NOWHERE && access.round > 0 {
            words.push_str(&format!(", {} round of its loop,", ordinal(access.round + 1)));
        }
        words
    }

    /// What people call a warp.
    fn role(&self, warp: u32) -> String {
        let warp = &self.warps[warp as usize];
        if self.ctas.len() > 1 {
            format!("warp {} of CTA {}", warp.index, warp.cta)
        } else {
            format!("warp {}", warp.index)
        }
    }

    fn role_of(&self, strand: &Strand, mask: u32) -> String {
        let role = self.role(strand.warp);
        match mask.count_ones() {
            32 => role,
            1 => format!("lane {} of {role}", mask.trailing_zeros()),
            count => format!("{count} threads of {role}"),
        }
    }

    /// Ends the run.
    fn stop(strand: &Strand, reason: impl Into<String>) -> Stop {
        Stop { step: strand.step, reason: reason.into() }
    }

    /// Notes what is taken for granted.
    fn assume(&mut self, step: u32, what: &'static str) {
        if !self.assumed.iter().any(|(_, known)| *known == what) {
            self.assumed.push((step, what));
        }
    }

    /// Keeps a finding, unless there is one like it.
    fn report(&mut self, finding: Finding) {
        let other = finding.labels.first().map_or(NOWHERE, |(step, _)| *step);
        if self.reported.insert((finding.code, finding.step, other)) {
            self.findings.push(finding);
        }
    }
}

/// Whether threads may have to wait in a step.
fn may_block(action: &Action) -> bool {
    match action {
        Action::Barrier { .. }
        | Action::WarpBarrier { .. }
        | Action::ClusterWait { .. }
        | Action::CopyWait { .. }
        | Action::BulkWait { .. }
        | Action::SetRegisters { .. }
        | Action::Load(_)
        | Action::Atomic(_) => true,
        Action::Mbarrier(instruction) => {
            matches!(instruction.kind, super::program::MbarrierKind::Wait { .. })
        }
        Action::Tensor(tensor) => matches!(**tensor, Tensor::Alloc { .. }),
        _ => false,
    }
}

/// `1st`, `2nd`
fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
