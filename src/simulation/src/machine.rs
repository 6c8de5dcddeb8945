//! The machine: all threads of a cluster, its memories, and what goes on beside the threads.
//!
//! Threads of a warp that go the same way are a [`Strand`](warp::Strand). The machine runs one
//! strand at a time until it has to wait, and lets asynchronous operations take effect when the
//! [`Schedule`] says so. When nothing can move any more, either all have ended or the kernel hangs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

mod access;
mod allocation;
mod answers;
mod barrier;
mod box_sizes;
mod boxes;
mod bulk;
mod bytes;
mod calls;
mod cells;
mod cta_barrier;
mod deadlock;
mod descriptors;
mod early;
mod extents;
mod global_races;
mod influence;
mod layouts;
mod meeting;
mod memory;
mod mma;
mod observed;
mod operation;
mod order;
mod phases;
mod places;
mod polling;
mod printing;
mod product;
mod races;
mod racing_reads;
mod recording;
mod reduction;
mod results;
mod specials;
mod spread;
mod states;
mod step;
mod tensor;
mod tensor_core;
mod tensor_maps;
mod touched;
mod traced;
mod unsynchronised;
mod warp;

use self::barrier::Mbarrier;
pub(crate) use self::bytes::{Bytes, Contents};
use self::cta_barrier::{ClusterBarrier, Named};
pub(crate) use self::extents::Extents;
pub(crate) use self::global_races::Between;
pub(crate) use self::memory::{Buffer, Fill, Global, Outside, Slot};
pub(crate) use self::observed::{BoxSize, BoxSizes, Contradiction};
use self::operation::Operation;
pub(crate) use self::printing::{Print, Prints};
pub(crate) use self::racing_reads::{RacingReads, Unknown};
pub(crate) use self::results::Results;
use self::tensor::TensorMemory;
pub(crate) use self::touched::Touched;
use self::warp::{Strand, Wait, Warp};
use super::arithmetic::Lanes;
use super::assumed::Assumption;
use super::clock::{Agent, Clock};
use super::findings::{self, Finding};
use super::program::{Action, Fixed, NOWHERE, Program, windows};
use super::provenance::Trace;
use super::record::{Record, Recorder};
use super::shadow::{History, Shadow};
use super::{Checks, Progress, Schedule};
use crate::descriptor::Features;
use crate::diagnostic::Code;
use crate::state::CtaState;

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

/// What people call a part of a grid: CTAs that have no cluster have only their own number.
pub(crate) fn part_of_grid(cluster: [u32; 3], index: u32) -> String {
    let kind = if cluster.iter().all(|size| *size <= 1) { "CTA" } else { "cluster" };
    format!("{kind} {index}")
}

impl Shape {
    /// The index of the cluster in the grid, and of one of its CTAs in it.
    fn position(&self, rank: u32) -> ([u32; 3], [u32; 3]) {
        let Self { grid, cluster, index, .. } = *self;
        let clusters: [u32; 3] = std::array::from_fn(|axis| (grid[axis] / cluster[axis].max(1)).max(1));
        let place = |index: u32, size: [u32; 3]| {
            [index % size[0], index / size[0] % size[1], index / size[0] / size[1]]
        };
        (place(index, clusters), place(rank, cluster))
    }

    /// The index of a CTA of the cluster in the grid.
    fn cta(&self, rank: u32) -> [u32; 3] {
        let (cluster, within) = self.position(rank);
        std::array::from_fn(|axis| cluster[axis] * self.cluster[axis] + within[axis])
    }
}

/// How a run goes.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct Conditions<'p> {
    pub(crate) schedule: Schedule,
    pub(crate) strict: bool,
    /// Warp instructions after which it ends.
    pub(crate) budget: u64,
    /// Whether the launch is not known.
    pub(crate) is_assumed: bool,
    /// What is taken for values that nobody has said.
    pub(crate) assumes: Option<Assumption>,
    pub(crate) features: Features,
    pub(crate) target: ptx_numbers::Target,
    /// Whether what happens is kept.
    pub(crate) records: bool,
    pub(crate) checks: Checks,
    /// Whether NaN and infinity are looked for.
    pub(crate) specials: bool,
    /// Whether results are computed that no source vouches for.
    pub(crate) believes: bool,
    /// Whether the launch is a cooperative one.
    pub(crate) is_cooperative: bool,
    /// Whether other clusters may write what this one waits for.
    pub(crate) is_one_of_several: bool,
    /// Where it is told how far the run is.
    pub(crate) progress: Option<&'p Progress>,
    /// Whether the memories of CTAs are kept.
    pub(crate) keeps_state: bool,
    /// The run ends where an instruction within these bytes of the text is due: the first, and the one after the last.
    pub(crate) until: Option<(u32, u32)>,
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
    /// CTAs that a cluster has to have for what it addresses to be there.
    pub(crate) addressed_ctas: u32,
    pub(crate) executed: u64,
    /// Whether the budget was used up.
    pub(crate) is_exhausted: bool,
    pub(crate) performed: u64,
    /// By step: how often warps executed it, if the launch is assumed.
    pub(crate) visits: Vec<u32>,
    /// By finding: how often its place and that of its first label were visited when it showed.
    pub(crate) shown: Vec<[u32; 2]>,
    /// How far tensor copies reach whose maps nobody has said.
    pub(crate) extents: Extents,
    /// The boxes of tensor maps that are assumed.
    pub(crate) boxes: BoxSizes,
    /// The words of the parameters that choose the ways of threads.
    pub(crate) leading: BTreeSet<u64>,
    pub(crate) global: Global,
    pub(crate) prints: Prints,
    pub(crate) record: Option<Record>,
    pub(crate) states: Vec<CtaState>,
    /// The results of multiplies, and which of them are read.
    pub(crate) results: Results,
}

/// Where a run has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// To its end.
    Ended,
    /// Nothing moves, and some thread waits for what others write in global memory.
    Waits,
}

/// What the clusters of a launch have in common.
#[derive(Debug, Default)]
pub(crate) struct Common {
    pub(crate) global: Global,
    /// The next cluster that starts, or whose work another one takes over.
    pub(crate) next_cluster: u32,
    /// What the clusters know of each other, if there are several.
    pub(crate) between: Option<Box<Between>>,
    /// What is asked of the run.
    pub(crate) trace: Option<Box<Trace>>,
    /// The reads of global memory that race, if it is asked for them.
    pub(crate) racing: Option<Box<RacingReads>>,
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
    /// Offsets in shared memory and the numbers of the mbarriers there, in order.
    mbarriers: Vec<(u32, u32)>,
    named: Vec<Named>,
    /// By barrier: the threads that it last awaited, and where.
    named_before: Vec<(u32, u32)>,
    generations: Vec<cta_barrier::Generation>,
    tensor: TensorMemory,
    layouts: layouts::Layouts,
    /// Registers that no warp has: at its start a CTA has those of its warps, and others those that are left.
    registers: u32,
    /// Where its last thread has ended.
    end: Option<u32>,
}

/// Everything.
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
pub(crate) struct Machine<'p> {
    program: &'p Program,
    shape: Shape,
    schedule: Schedule,
    is_strict: bool,
    is_assumed: bool,
    assumes: Option<Assumption>,
    /// By address: the buffers whose addresses are taken to be there.
    assumed_buffers: FxHashMap<u64, u64>,
    budget: u64,
    features: Features,
    target: ptx_numbers::Target,
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
    /// By agent of a queue of the tensor core: what its last operations were.
    chains: FxHashMap<Agent, tensor_core::Chain>,
    first_async_agent: Agent,
    async_ticks: Vec<u32>,
    /// Whether there are bulk copies: they and a single warp can race in global memory.
    copies_in_bulk: bool,
    /// By operation: bulk copies that are done and were not waited for.
    finished: FxHashMap<u64, (Agent, u32)>,
    /// By CTA whose memory it was and agent: the last operation, which somebody has to see the end of.
    unseen: FxHashMap<(u32, Agent), (u32, u32)>,
    /// Whether copies were made whose size is not known.
    has_open_copies: bool,
    /// By step and warp of a multicast commit: where the mbarriers are, and to which CTAs it went last.
    masks: BTreeMap<(u32, u32), (u32, u32)>,
    /// The next cluster that may be granted.
    granted: u32,
    messages: order::Messages,
    /// By warp and lanes: the agent of what they stored and others did not release, and how far it got.
    lane_agents: FxHashMap<(u32, u32), (Agent, u32)>,
    /// By such an agent: the arrival that did not release it.
    arrivals_of_lanes: FxHashMap<Agent, u32>,
    /// By place: the agent of the mbarriers there, and how far it got.
    barrier_agents: FxHashMap<(u32, u32), (Agent, u32)>,
    history: History,
    footprints: FxHashMap<tensor_core::Extent, Arc<tensor_core::Footprint>>,
    /// By CTA and number: the matrices that are written, as far as so many of 16 bytes hold elements.
    written_matrices: FxHashSet<(u32, u32, usize)>,
    /// Descriptors that were judged.
    descriptors: descriptors::Judged,
    /// Steps in which several threads of a warp gave the tensor core something at once.
    many: FxHashSet<u32>,
    /// Products that multiplies have computed.
    products: u64,
    /// How often something happened that others can notice.
    epoch: u64,
    executed: u64,
    performed: u64,
    findings: Vec<Finding>,
    prints: Prints,
    reported: FxHashSet<(Code, u32, u32, u32)>,
    assumed: Vec<(u32, &'static str)>,
    addressed_ctas: u32,
    random: u64,
    recorder: Option<Box<Recorder>>,
    checks: Checks,
    specials: bool,
    /// Whether results are computed that no source vouches for.
    believes: bool,
    is_cooperative: bool,
    /// What a slice asks of the run, if there is one.
    trace: Option<Box<Trace>>,
    racing: Option<Box<RacingReads>>,
    results: Results,
    progress: Option<&'p Progress>,
    keeps_state: bool,
    until: Option<(u32, u32)>,
    /// Bytes that calls may still take.
    room: usize,
    /// What words that are assumed decide, if there are any.
    influence: Option<Box<influence::Influence>>,
    /// By address in global memory: how often others are taken to have written there.
    from_others: FxHashMap<u64, u32>,
    /// By step: how often it was executed, if it is asked for.
    visits: Vec<u32>,
    /// By finding: how often its places were visited when it showed.
    shown: Vec<[u32; 2]>,
    /// Why threads could not go on, if there are such: the first.
    stopped: Option<Stop>,
    /// Why the run has ended before its time.
    last: Option<Stop>,
    is_one_of_several: bool,
    polling: polling::Polling,
    /// Who accessed global memory last.
    global_pages: global_races::Pages,
    /// What the clusters know of each other, while this one runs and if there are several.
    between: Option<Box<Between>>,
    /// By question about a phase: whether who asks it asks again.
    asked_again: FxHashMap<u32, bool>,
    /// What tensor copies store, if the kernel has some.
    stored: Option<Box<extents::Stored>>,
}

/// Why a run ends at a line.
pub(crate) const REACHED: &str = "the run has reached the line where it is to end";
/// Why a run ends that somebody stops.
pub(crate) const INTERRUPTED: &str = "the run was stopped";
/// Bytes that the registers and the memory of calls take together.
const MOST_FOR_CALLS: usize = 1 << 29;
/// Findings of one rule after which nobody reads on. What is found by another may be their cause.
const MOST_FINDINGS: usize = 100;
/// Waits of a strand that may give up while nothing happens: it may wait for several things in turn.
const MOST_IN_VAIN: u32 = 8;
/// Products of a multiply that take as long as a warp instruction.
const PRODUCTS: u64 = 512;
/// Steps that a strand goes before others do.
const TURN: u32 = 256;

impl<'p> Machine<'p> {
    pub(crate) fn new(
        program: &'p Program,
        shape: Shape,
        conditions: Conditions<'p>,
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
            is_assumed: conditions.is_assumed,
            assumes: conditions.assumes,
            assumed_buffers: FxHashMap::default(),
            budget: conditions.budget,
            features: conditions.features,
            target: conditions.target,
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
            chains: FxHashMap::default(),
            first_async_agent,
            async_ticks: Vec::new(),
            copies_in_bulk: program.steps.iter().any(|step| matches!(step.action, Action::Bulk(_))),
            finished: FxHashMap::default(),
            unseen: FxHashMap::default(),
            has_open_copies: false,
            masks: BTreeMap::new(),
            products: 0,
            granted: shape.index + 1,
            messages: order::Messages::default(),
            lane_agents: FxHashMap::default(),
            arrivals_of_lanes: FxHashMap::default(),
            barrier_agents: FxHashMap::default(),
            history: History::default(),
            footprints: FxHashMap::default(),
            written_matrices: FxHashSet::default(),
            descriptors: descriptors::Judged::default(),
            many: FxHashSet::default(),
            epoch: 0,
            executed: 0,
            performed: 0,
            findings: Vec::new(),
            prints: Prints::default(),
            reported: FxHashSet::default(),
            assumed: Vec::new(),
            addressed_ctas: 0,
            random: seed,
            recorder: conditions.records.then(Box::default),
            checks: conditions.checks,
            specials: conditions.specials,
            believes: conditions.believes,
            is_cooperative: conditions.is_cooperative,
            trace: None,
            racing: None,
            results: Results::default(),
            progress: conditions.progress,
            keeps_state: conditions.keeps_state,
            until: conditions.until,
            room: MOST_FOR_CALLS,
            influence: (conditions.is_assumed && conditions.assumes.is_some()).then(Box::default),
            visits: vec![0; if conditions.is_assumed { program.steps.len() } else { 0 }],
            shown: Vec::new(),
            from_others: FxHashMap::default(),
            stopped: None,
            last: None,
            is_one_of_several: conditions.is_one_of_several,
            polling: polling::Polling::default(),
            global_pages: global_races::Pages::default(),
            between: None,
            asked_again: FxHashMap::default(),
            stored: None,
            shape,
        };
        for rank in 0..count {
            this.add_cta(rank, threads);
        }
        this
    }

    /// The same where it is known how far tensor copies reach.
    pub(crate) fn reaching(mut self, extents: &Extents) -> Self {
        self.stored = extents::Stored::new(self.program, extents);
        self
    }

    /// About how many bytes a run takes, before it calls anything.
    pub(crate) fn bytes(program: &Program, shape: &Shape) -> u64 {
        let product = |of: [u32; 3]| of.iter().map(|size| u64::from(*size)).product::<u64>();
        let (ctas, threads) = (product(shape.cluster), product(shape.block));
        let kernel = program.functions.first();
        let registers = kernel.map_or(0, |kernel| u64::from(kernel.registers)) + program.fixed.len() as u64;
        let local = kernel.map_or(0, |kernel| u64::from(kernel.local_bytes));
        let of_threads =
            threads.div_ceil(32) * registers * size_of::<Lanes>() as u64 + threads * local * 5 / 4;
        // Each byte with what is known of it, and who accessed it last.
        let shared = (u64::from(program.static_shared) + u64::from(shape.dynamic_shared)) * 10;
        ctas * (of_threads + shared)
    }

    fn add_cta(&mut self, rank: u32, threads: u32) {
        let registers = self.shape.registers;
        let (cluster_id, within) = self.shape.position(rank);
        let id = self.shape.cta(rank);
        let warps = threads.div_ceil(32);
        self.ctas.push(Cta {
            shared: Bytes::new(self.shared_bytes as usize),
            shadow: Shadow::new(self.shared_bytes),
            mbarriers: Vec::new(),
            named: vec![Named::default(); 16],
            named_before: vec![(0, NOWHERE); 16],
            generations: vec![cta_barrier::Generation::default(); 16],
            tensor: TensorMemory::new(self.features.tensor_memory()),
            layouts: layouts::Layouts::default(),
            registers: 0,
            end: None,
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
                ends: smallvec::SmallVec::new(),
                bits: Vec::new(),
                unknown: Vec::new(),
                partly: rustc_hash::FxHashMap::default(),
                fixed,
                local: (0..32).map(|_| Bytes::new(kernel.local_bytes as usize)).collect(),
                joins: Vec::new(),
                agent: number,
                clock,
                fences: order::Fences::default(),
                cluster_arrived: 0,
                cluster_generation: 0,
                unsynchronised: unsynchronised::Unsynchronised::default(),
                arrivals: early::Arrivals::default(),
                copies: bulk::Copies::default(),
                tensor: tensor::Pending::default(),
                register_count: registers,
                register_changes: smallvec::SmallVec::new(),
                answered: smallvec::SmallVec::new(),
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
                Fixed::Workspace(_) if !self.is_cooperative => 0,
                Fixed::Workspace(is_upper) => {
                    if is_upper {
                        windows::WORKSPACE >> 32
                    } else {
                        windows::WORKSPACE & 0xFFFF_FFFF
                    }
                }
                Fixed::Shared(offset) => shared(offset),
                Fixed::DynamicShared(offset) => dynamic(offset),
                Fixed::GenericShared(offset) => windows::generic(windows::SHARED, shared(offset)),
                Fixed::GenericDynamicShared(offset) => windows::generic(windows::SHARED, dynamic(offset)),
            }
        })
    }

    /// Runs to the end, if there is one.
    pub(crate) fn run(mut self) -> Outcome {
        self.advance();
        self.outcome()
    }

    /// Runs until nothing moves any more.
    pub(crate) fn advance(&mut self) -> Advance {
        match self.go_on() {
            Ok(Advance::Ended) => {
                self.forgive_unwritten();
                Advance::Ended
            }
            Ok(Advance::Waits) => Advance::Waits,
            Err(stop) => {
                self.last = Some(stop);
                Advance::Ended
            }
        }
    }

    /// Others have written what it may wait for.
    pub(crate) fn look_again(&mut self) {
        self.epoch += 1;
    }

    /// Takes what the clusters have in common, and gives it back when it is called again.
    pub(crate) fn exchange(&mut self, common: &mut Common) {
        std::mem::swap(&mut self.global, &mut common.global);
        std::mem::swap(&mut self.granted, &mut common.next_cluster);
        std::mem::swap(&mut self.between, &mut common.between);
        std::mem::swap(&mut self.racing, &mut common.racing);
        self.trace_with(&mut common.trace);
    }

    /// What became of it.
    pub(crate) fn outcome(mut self) -> Outcome {
        let record = self.recorded();
        let states = if self.keeps_state { self.states() } else { Vec::new() };
        let is_exhausted = self.is_exhausted() && self.stopped.is_none();
        let stop = self.stopped.or(self.last);
        let (findings, shown) = findings::causes_first(self.findings, self.shown);
        let extents = self.stored.map_or_else(Extents::new, |stored| stored.extents());
        Outcome {
            record,
            states,
            is_exhausted,
            findings,
            stop,
            assumed: self.assumed,
            addressed_ctas: self.addressed_ctas,
            executed: self.executed,
            performed: self.performed,
            visits: self.visits,
            shown,
            boxes: self.influence.as_ref().map_or_else(BoxSizes::default, |it| it.observed.sizes(&extents)),
            leading: self.influence.map_or_else(BTreeSet::new, |influence| influence.leading()),
            extents,
            results: self.results,
            global: self.global,
            prints: self.prints,
        }
    }

    /// Whether the budget is used up: by instructions, and by what they start beside them, which takes memory
    /// until it is over, and time when something else comes to the same bytes.
    fn is_exhausted(&self) -> bool {
        /// What an operation costs, in instructions.
        const OPERATION: u64 = 16;
        self.executed + OPERATION * self.next_operation + self.products / PRODUCTS > self.budget
    }

    fn go_on(&mut self) -> Result<Advance, Stop> {
        let mut next = 0;
        loop {
            self.strands.retain(|strand| strand.mask != 0);
            if self.strands.is_empty() {
                self.perform_rest();
                return Ok(Advance::Ended);
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
                match self.turn(index, turn) {
                    Err(stop) if stop.reason == REACHED => return Err(stop),
                    Err(stop) => self.go_on_without(index, stop)?,
                    Ok(()) => {}
                }
                if self.is_one_of_several && self.lets_others_go_on() {
                    return Ok(Advance::Waits);
                }
                if self.progress.is_some_and(Progress::is_stopped) {
                    let step = self.strands.get(index).map_or(crate::program::NOWHERE, |strand| strand.step);
                    return Err(Stop { step, reason: INTERRUPTED.to_owned() });
                }
                continue;
            }
            if self.schedule == Schedule::Late && self.answers_in_time() {
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
            if self.stopped.is_some() {
                return Ok(Advance::Ended);
            }
            if self.give_up_waiting() {
                continue;
            }
            if self.is_one_of_several && self.waits_in_global_memory().is_some() {
                return Ok(Advance::Waits);
            }
            if self.go_on_apart() {
                continue;
            }
            if self.others_write() {
                continue;
            }
            if let Some(stop) = self.waits_for_another_cluster() {
                return Err(stop);
            }
            self.hang();
            return Ok(Advance::Ended);
        }
    }

    /// All threads have ended: what is under way may still find something.
    fn perform_rest(&mut self) {
        loop {
            if let Some(index) = (0..self.pending.len()).find(|index| self.is_ready(*index)) {
                self.perform(index);
            } else if !self.perform_open() {
                break;
            }
        }
        // Copies of unknown size come although no mbarrier expects them.
        while let Some(index) = (0..self.pending.len()).find(|index| self.is_open(*index)) {
            self.perform(index);
        }
    }

    /// Threads cannot go on, as the machine does not know what they do. What others do until they wait for them
    /// may show why: what is not known may be so because nobody waited for it.
    fn go_on_without(&mut self, index: usize, stop: Stop) -> Result<(), Stop> {
        let is_trap = self.program.steps.get(stop.step as usize).is_some_and(|it| it.action.traps());
        let Some(strand) = self.strands.get_mut(index).filter(|_| !is_trap) else { return Err(stop) };
        strand.wait = Wait::Unknown;
        if self.is_exhausted() {
            return Err(stop);
        }
        self.stopped.get_or_insert(stop);
        Ok(())
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

    /// Lets the first `try_wait` of a place and a warp end without success while what it waits for is still under
    /// way: so it may, and who does not ask again has not waited.
    fn answers_in_time(&mut self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let mut any = false;
        for strand in &mut self.strands {
            let Wait::Mbarrier { may_give_up: true, .. } = strand.wait else { continue };
            let answered = &mut self.warps[strand.warp as usize].answered;
            if answered.contains(&strand.step) {
                continue;
            }
            answered.push(strand.step);
            strand.expired = true;
            strand.wait = Wait::None;
            any = true;
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
            Wait::Unknown => false,
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
            if self.is_exhausted() {
                break Err(Self::stop(&strand, "the budget of instructions is used up"));
            }
            if self.until.is_some_and(|until| self.is_at(strand.step, until)) {
                break Err(Self::stop(&strand, REACHED));
            }
            let (at, records) = (strand.step, self.recorder.is_some());
            if records {
                self.record_turn(&strand);
            }
            let flow = self.step(&mut strand);
            if let (true, Ok(flow)) = (records, &flow) {
                self.record_step(&strand, at, *flow);
            }
            match flow {
                Ok(Flow::Next) => self.go_behind(&mut strand),
                Ok(Flow::Jumped) => {}
                Ok(Flow::Blocked | Flow::Waiting) => break Ok(()),
                Ok(Flow::Yield) => {
                    self.go_behind(&mut strand);
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
        self.record_pause();
        if let Some(progress) = self.progress {
            progress.instructions.fetch_add((most - left).into(), Ordering::Relaxed);
        }
        if strand.mask != 0 {
            self.strands[index] = strand;
        }
        let fresh = std::mem::take(&mut self.fresh);
        self.strands.extend(fresh);
        result
    }

    /// Whether a step is an instruction within some bytes of the text.
    fn is_at(&self, step: u32, (start, end): (u32, u32)) -> bool {
        self.program.spans.get(step as usize).is_some_and(|span| (start..end).contains(&span.start))
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

    /// Notes which CTAs of the cluster are addressed.
    fn address_ctas(&mut self, mask: u32) {
        self.addressed_ctas = self.addressed_ctas.max(32 - mask.leading_zeros());
    }

    /// Keeps a finding, unless there is one like it.
    fn report(&mut self, mut finding: Finding) {
        if finding.doubt.is_none() {
            finding.doubt = self.doubt_of_place(finding.code, finding.step);
        }
        let other = finding.labels.first().map_or(NOWHERE, |(step, _)| *step);
        let is_enough =
            || self.findings.iter().filter(|known| known.code == finding.code).count() >= MOST_FINDINGS;
        if self.reported.insert((finding.code, finding.step, other, finding.which)) && !is_enough() {
            let visited = |step: u32| self.visits.get(step as usize).copied().unwrap_or(0);
            self.shown.push([visited(finding.step), visited(other)]);
            self.record_finding(&finding);
            self.findings.push(finding);
        }
    }
}
