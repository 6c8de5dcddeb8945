//! Operations that go on while threads do something else: how they start, and how they take effect.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Machine;
use super::barrier::Event;
use super::boxes::{Moving, Reduces};
use super::bytes::Contents;
use super::places::Place;
use super::reduction::{Unit, combined, reduced};
use super::step::ANSWER;
use super::tensor_core::Work;
use super::warp::Strand;
use crate::clock::{Agent, Clock};
use crate::program::{Reduction, Scope};
use crate::shadow::{Access, Via};

/// An operation under way.
#[derive(Debug)]
pub(super) struct Operation {
    /// Later ones have greater numbers.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) step: u32,
    pub(super) warp: u32,
    pub(super) mask: u32,
    pub(super) iteration: u32,
    /// Operations of one queue take effect in their order.
    pub(super) queue: Option<u32>,
    pub(super) agent: Agent,
    pub(super) tick: u32,
    /// Who writes to global memory for it, and when, if that may be later.
    pub(super) writer: Option<(Agent, u32)>,
    pub(super) clock: Clock,
}

/// What is under way.
#[derive(Debug)]
pub(super) enum Kind {
    /// `cp.async`, of each lane.
    Copies(Vec<SmallCopy>),
    /// Arrivals once copies are done: mbarriers.
    Arrivals(Vec<u32>),
    Bulk(Transfer),
    /// `st.async`, `red.async`, of each lane.
    Stores(Vec<AsyncStore>),
    /// What the tensor core does.
    Tensor(super::tensor_core::Work),
    /// The answer to a request for the next CTA: the first CTA of the cluster that is granted.
    Cancel {
        places: Vec<(u32, u32)>,
        mbarriers: Vec<u32>,
    },
}

/// `cp.async` of a lane: destination, source, bytes, and how many of them are read.
pub(super) type SmallCopy = (Option<(u32, u32)>, Option<Place>, u32, u32);

/// An element that is stored later.
#[derive(Debug)]
pub(super) struct AsyncStore {
    pub(super) cta: u32,
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) value: u64,
    pub(super) unknown: bool,
    pub(super) reduction: Option<Reduction>,
    pub(super) mbarrier: u32,
}

/// A copy in bulk.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Bytes that are written to shared memory: the CTA, the offset, how many.
    pub(super) writes: Vec<(u32, u32, u32)>,
    /// Bytes of shared memory that are read.
    pub(super) reads: Vec<(u32, u32, u32)>,
    /// Whether nobody has said how many they are.
    pub(super) is_open: bool,
    /// Where a plain copy comes from and goes, in global memory.
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    /// The mbarriers that bytes come to; each gets as many.
    pub(super) mbarriers: Vec<u32>,
    /// Bytes; nothing if the tensor map does not say.
    pub(super) bytes: Option<u32>,
    /// The box of a tensor.
    pub(super) moving: Option<Box<Moving>>,
    /// Which bytes of each 16 are written, if there is a mask; nothing in it if it is not known.
    #[allow(clippy::option_option, reason = "there may be none, and it may not be known")]
    pub(super) byte_mask: Option<Option<u16>>,
    /// What is computed with what is there; nothing in it if that is not known.
    pub(super) reduces: Reduces,
    /// Who writes to global memory, and when, where that may be later than what is read.
    pub(super) writer: Option<(Agent, u32)>,
}

impl Machine<'_> {
    /// An agent whose next operation starts after its last one, as `clock` knows.
    pub(super) fn asynchronous_agent(&mut self, clock: &Clock) -> (Agent, u32) {
        let first = self.first_async_agent;
        let free = self
            .async_ticks
            .iter()
            .enumerate()
            .find(|(index, tick)| clock.of(first + *index as u32) >= **tick);
        let index = free.map_or(self.async_ticks.len(), |(index, _)| index);
        if index == self.async_ticks.len() {
            self.async_ticks.push(0);
        }
        self.async_ticks[index] += 1;
        (first + index as u32, self.async_ticks[index])
    }

    /// A number for operations that take effect in their order.
    pub(super) fn new_queue(&mut self) -> u32 {
        self.queues += 1;
        self.queues
    }

    /// Starts an operation of a warp.
    pub(super) fn start(&mut self, strand: &Strand, kind: Kind, queue: Option<u32>) -> u64 {
        let mut clock = self.warps[strand.warp as usize].clock.clone();
        let (agent, tick) = match queue.and_then(|queue| self.queue_agents.get(&queue).copied()) {
            Some((agent, tick)) => (agent, tick + 1),
            None if queue.is_some() => {
                // A queue keeps its agent.
                self.async_ticks.push(u32::MAX);
                (self.first_async_agent + self.async_ticks.len() as u32 - 1, 1)
            }
            None => self.asynchronous_agent(&clock),
        };
        if let Some(queue) = queue {
            self.queue_agents.insert(queue, (agent, tick));
        }
        match &kind {
            // Behind all that the thread gave before.
            Kind::Arrivals(_) | Kind::Tensor(Work::Commit(_)) => clock.learn(agent, tick),
            // Those of a queue begin in their order, and no more.
            Kind::Copies(_) | Kind::Tensor(Work::Compute { .. }) => {}
            Kind::Bulk(_) | Kind::Stores(_) | Kind::Cancel { .. } => clock.learn(agent, tick),
        }
        let writer = match &kind {
            Kind::Bulk(transfer) => transfer.writer,
            _ => None,
        };
        let id = self.next_operation;
        self.next_operation += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(id, self.executed);
        }
        self.pending.push_back(Operation {
            id,
            kind,
            step: strand.step,
            warp: strand.warp,
            mask: strand.mask,
            iteration: self.iterations(strand),
            queue,
            agent,
            tick,
            writer,
            clock,
        });
        self.epoch += 1;
        // What a warp does next its operation does not know.
        let warp = &mut self.warps[strand.warp as usize];
        warp.clock.advance(warp.agent);
        if self.pending.len() > MOST_UNDER_WAY {
            self.perform_unexpected();
        }
        id
    }

    pub(super) fn is_pending(&self, id: u64) -> bool {
        self.pending.binary_search_by_key(&id, |operation| operation.id).is_ok()
    }

    /// Whether an operation can take effect before anything else has to be known.
    pub(super) fn is_ready(&self, index: usize) -> bool {
        let operation = &self.pending[index];
        if matches!(&operation.kind, Kind::Bulk(Transfer { bytes: None, mbarriers, .. }) if !mbarriers.is_empty())
        {
            return false;
        }
        operation.queue.is_none()
            || !self.pending.iter().take(index).any(|other| other.queue == operation.queue)
    }

    /// Lets an operation take effect.
    pub(super) fn perform(&mut self, index: usize) {
        let Some(mut operation) = self.pending.remove(index) else { return };
        self.epoch += 1;
        self.performed += 1;
        if let Some(trace) = &mut self.trace {
            trace.tick();
        }
        let before = self.record_operation(&operation);
        let kind = std::mem::replace(&mut operation.kind, Kind::Arrivals(Vec::new()));
        match kind {
            Kind::Copies(copies) => self.perform_copies(&operation, &copies),
            Kind::Arrivals(mbarriers) => self.perform_arrivals(&operation, &mbarriers),
            Kind::Bulk(transfer) => {
                // Shipped kernels do not wait for the last of what they store, and nothing is lost by it.
                let read = transfer.reads.iter().filter(|_| self.is_strict);
                let ctas = transfer.writes.iter().chain(read).map(|(cta, _, _)| *cta);
                let ctas: Vec<u32> = ctas.collect();
                self.unseen.extend(
                    ctas.iter().map(|cta| ((*cta, operation.agent), (operation.tick, operation.step))),
                );
                let from = self.warps[operation.warp as usize].cta;
                for cta in ctas {
                    self.reach(cta, from, (operation.agent, operation.tick), operation.step);
                }
                self.perform_bulk(&operation, &transfer);
            }
            Kind::Stores(stores) => self.perform_stores(&operation, &stores),
            Kind::Tensor(work) => self.perform_tensor(&operation, work),
            Kind::Cancel { places, mbarriers } => {
                let answer = self.grant();
                for (cta, offset) in places {
                    self.unseen.insert((cta, operation.agent), (operation.tick, operation.step));
                    self.ctas[cta as usize].shared.fill(offset.into(), ANSWER as usize, Some(&answer));
                    self.touch_by(&operation, &[(cta, offset, ANSWER)], Via::Async, true);
                }
                for number in mbarriers {
                    self.mbarriers[number as usize].under_way -= 1;
                    self.complete_transactions(number, 16, (&operation).into());
                }
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.end_operation(before);
        }
    }

    /// The answer to who asks for a cluster that has not started: all of the grid that come behind this
    /// one are free, one after the other.
    pub(super) fn grant(&mut self) -> [u8; 16] {
        let mut answer = [0; 16];
        let clusters: [u32; 3] =
            std::array::from_fn(|axis| (self.shape.grid[axis] / self.shape.cluster[axis].max(1)).max(1));
        // Of a grid that nobody has said two are enough.
        let most = if self.is_assumed { self.shape.index + 3 } else { u32::MAX };
        if self.granted < clusters.iter().product::<u32>().min(most) {
            let index = self.granted;
            self.granted += 1;
            let place =
                [index % clusters[0], index / clusters[0] % clusters[1], index / clusters[0] / clusters[1]];
            for (axis, at) in place.iter().enumerate() {
                let first = (at * self.shape.cluster[axis]) as u16;
                answer[axis * 2..axis * 2 + 2].copy_from_slice(&first.to_le_bytes());
            }
            answer[15] = 1;
        }
        answer
    }

    pub(super) fn perform_stores(&mut self, operation: &Operation, stores: &[AsyncStore]) {
        let mut places = Vec::with_capacity(stores.len());
        for store in stores {
            let (offset, len) = (u64::from(store.offset), store.bytes as usize);
            let shared = &mut self.ctas[store.cta as usize].shared;
            let (mut value, mut unknown) = (Some(store.value), store.unknown);
            if let Some(reduction) = store.reduction
                && let Some(old) = shared.read(offset, len)
            {
                value = combined(reduction, Unit::Shared, old.value, store.value, 0);
                unknown |= old.unknown;
            }
            shared.write(offset, len, value.unwrap_or(0), unknown || value.is_none());
            places.push((store.cta, store.offset, store.bytes));
            self.unseen.insert((store.cta, operation.agent), (operation.tick, operation.step));
        }
        let access = self.access_of_operation(operation, Via::Generic, true);
        let is_atomic = stores.iter().any(|store| store.reduction.is_some());
        let access = Access { strong: is_atomic.then_some(Scope::Wide), ..access };
        self.visit(access, &operation.clock, &places);
        for store in stores {
            self.mbarriers[store.mbarrier as usize].under_way -= 1;
            if self.mbarriers[store.mbarrier as usize].is_valid {
                let bytes = store.bytes.into();
                self.complete_transactions(store.mbarrier, bytes, operation.into());
            }
        }
    }

    pub(super) fn perform_copies(&mut self, operation: &Operation, copies: &[SmallCopy]) {
        let (mut touched, mut read_pieces) = (Vec::new(), Vec::new());
        for (to, from, bytes, read) in copies {
            let Some((cta, offset)) = *to else { continue };
            let contents = match from {
                Some(Place::Global(address)) => self.global.contents(*address, *read as usize),
                _ if *read == 0 => Some(Contents::default()),
                _ => None,
            };
            let mut contents = contents.unwrap_or_else(|| Contents::unknown(*bytes as usize));
            // What is not read is zero.
            contents.bytes.resize(*bytes as usize, 0);
            self.ctas[cta as usize].shared.put(offset.into(), &contents);
            if self.trace.is_some() {
                self.trace_small_copy(operation, (cta, offset), *from, (*bytes, *read));
            }
            touched.push((cta, offset, *bytes));
            if let Some(Place::Global(address)) = from
                && *read > 0
            {
                read_pieces.push((*address, *read));
            }
        }
        self.touch_global_by(operation, &read_pieces, (false, false, false), false);
        // These are of the generic proxy.
        self.touch_by(operation, &touched, Via::Generic, true);
    }

    pub(super) fn perform_bulk(&mut self, operation: &Operation, transfer: &Transfer) {
        if transfer.is_open {
            self.touch_by_open(operation, &transfer.reads);
        } else if !transfer.reads.is_empty() {
            self.touch_by(operation, &transfer.reads, Via::Async, false);
        }
        let bytes = transfer.bytes.unwrap_or(0);
        for (cta, start, bytes) in &transfer.writes {
            self.ctas[*cta as usize].layouts.forget(*start, *bytes);
        }
        if let Some(moving) = &transfer.moving {
            self.move_box(operation, moving, transfer.reads.is_empty(), transfer.reduces);
        } else {
            if self.trace.is_some() {
                self.trace_bulk(operation, transfer);
            }
            let contents = match (transfer.from, transfer.reads.first()) {
                (Some(address), _) => self.global.contents(address, bytes as usize),
                (None, Some((cta, offset, _))) => {
                    self.ctas[*cta as usize].shared.contents((*offset).into(), bytes as usize)
                }
                (None, None) => None,
            };
            let contents = contents.unwrap_or_else(|| Contents::unknown(bytes as usize));
            let left = |old: Option<Contents>| match (transfer.reduces, old) {
                (None, _) => Cow::Borrowed(&contents),
                (Some(Some((reduction, unit))), Some(old)) => {
                    Cow::Owned(reduced(reduction, unit, &old, &contents))
                }
                (Some(_), _) => Cow::Owned(Contents::unknown(bytes as usize)),
            };
            for (cta, offset, _) in &transfer.writes {
                let shared = &mut self.ctas[*cta as usize].shared;
                let old = transfer.reduces.and_then(|_| shared.contents((*offset).into(), bytes as usize));
                shared.put((*offset).into(), &left(old));
            }
            if let Some(address) = transfer.from {
                self.touch_global_by(operation, &[(address, bytes)], (false, false, false), false);
            }
            if let Some(address) = transfer.to {
                let old = transfer.reduces.and_then(|_| self.global.contents(address, bytes as usize));
                let contents = left(old);
                self.global.step = operation.step;
                let (changes, is_unknown) = (self.global.changes(), !contents.unknown.is_empty());
                match transfer.byte_mask {
                    None => self.global.put(address, &contents),
                    Some(None) => self.global.put(address, &Contents::unknown(bytes as usize)),
                    Some(Some(mask)) => {
                        for at in (0..contents.bytes.len()).filter(|at| mask >> (at % 16) & 1 != 0) {
                            self.global.put(address.wrapping_add(at as u64), &contents.byte(at));
                        }
                    }
                }
                let keeps = self.global.changes() == changes;
                // Which of each sixteen bytes are written a mask says.
                if transfer.byte_mask.is_none() {
                    let how = (true, keeps, is_unknown);
                    self.touch_global_by(operation, &[(address, bytes)], how, transfer.reduces.is_some());
                }
            }
        }
        self.touch_by(operation, &transfer.writes, Via::Async, true);
        for number in &transfer.mbarriers {
            self.mbarriers[*number as usize].under_way -= 1;
            if self.mbarriers[*number as usize].is_valid {
                self.complete_transactions(*number, bytes.into(), operation.into());
            }
        }
        if transfer.mbarriers.is_empty() {
            self.finished.insert(operation.id, (operation.agent, operation.tick));
        }
    }

    /// An operation arrives at mbarriers.
    pub(super) fn perform_arrivals(&mut self, operation: &Operation, mbarriers: &[u32]) {
        let from = self.warps[operation.warp as usize].cta;
        for number in mbarriers {
            let cta = self.mbarriers[*number as usize].cta;
            self.reach(cta, from, (operation.agent, operation.tick), operation.step);
            self.mbarriers[*number as usize].promised -= 1;
            if self.mbarriers[*number as usize].is_valid {
                self.arrive(*number, 1, operation.into());
            }
        }
    }

    /// Lets the copies of unknown size take effect that an mbarrier waits for with nothing else: they
    /// bring what it expects. Whether there were some.
    pub(super) fn perform_open(&mut self) -> bool {
        let Some((numbers, is_guessed)) = self.awaited_by_open() else { return false };
        let mut last: BTreeMap<u32, LastOpen> = BTreeMap::new();
        let mut brought: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        let mut index = 0;
        while index < self.pending.len() {
            let Operation { agent, tick, step, warp, ref clock, ref kind, .. } = self.pending[index];
            let signals = open_signals(kind);
            if !signals.iter().any(|number| numbers.contains(number)) {
                index += 1;
                continue;
            }
            for number in signals.iter().filter(|number| numbers.contains(number)) {
                last.insert(*number, LastOpen { agent, tick, step, warp, clock: clock.clone() });
                let cta = self.mbarriers[*number as usize].cta;
                if let Kind::Bulk(Transfer { writes, .. }) = kind {
                    // In a pair, one of the two waits for the bytes of both.
                    let is_here = |(of, ..): &&(u32, u32, u32)| writes.len() < 2 || *of == cta;
                    let places = writes.iter().filter(is_here).map(|(cta, at, _)| (*cta, *at));
                    brought.entry(*number).or_default().extend(places);
                }
            }
            self.perform(index);
        }
        for (number, LastOpen { agent, tick, step, warp, clock }) in last {
            let expected = self.mbarriers[number as usize].transactions;
            if let Some(places) = brought.get(&number).filter(|_| !is_guessed) {
                self.note_awaited(step, places, expected as u32);
            }
            let event = Event { agent, tick, step, warp, clock: &clock, releases: true, is_elsewhere: false };
            self.complete_transactions(number, expected, event);
        }
        true
    }

    /// Lets the first copy of unknown size take effect whose bytes no mbarrier expects: nothing else ends it.
    fn perform_unexpected(&mut self) {
        let is_unexpected = |operation: &Operation| {
            let signals = open_signals(&operation.kind);
            let expects = |number: &u32| self.mbarriers[*number as usize].transactions != 0;
            !signals.is_empty() && !signals.iter().any(expects)
        };
        if let Some(index) = self.pending.iter().position(is_unexpected) {
            self.perform(index);
        }
    }

    /// Whether it is a copy of unknown size that an mbarrier gets to know of.
    pub(super) fn is_open(&self, index: usize) -> bool {
        self.pending.get(index).is_some_and(|operation| !open_signals(&operation.kind).is_empty())
    }

    /// The mbarriers that wait for copies of unknown size and nothing else. A multicast copy signals several: it takes
    /// effect when all of these wait, as each of them has a part of what it expects from it. With whether that is a guess.
    fn awaited_by_open(&mut self) -> Option<(Vec<u32>, bool)> {
        let waits = |number: &u32| {
            let barrier = &self.mbarriers[*number as usize];
            barrier.pending == 0 && barrier.transactions > 0
        };
        let open = || self.pending.iter().map(|operation| open_signals(&operation.kind));
        let mut first = None;
        for start in open().flatten().copied().filter(|number| waits(number)) {
            // What copies connect.
            let mut together = vec![start];
            let mut at = 0;
            while let Some(number) = together.get(at).copied() {
                at += 1;
                for signals in open().filter(|signals| signals.contains(&number)) {
                    for other in signals {
                        if !together.contains(other) {
                            together.push(*other);
                        }
                    }
                }
            }
            if together.iter().all(waits) {
                return Some((together, false));
            }
            first.get_or_insert(start);
        }
        // Some have not said what they expect: which copies come first is a guess. There is none when all has ended.
        let first = first.filter(|_| !self.strands.is_empty())?;
        if let Some(influence) = &mut self.influence {
            influence.guess();
        }
        Some((vec![first], true))
    }
}

/// Operations under way at once: kernels have a few for each thread that starts some.
const MOST_UNDER_WAY: usize = 512;

/// The last copy of unknown size that an mbarrier waits for: it brings what the others do not.
#[derive(Debug)]
struct LastOpen {
    agent: u32,
    tick: u32,
    step: u32,
    warp: u32,
    clock: Clock,
}

/// The mbarriers that a copy of unknown size signals.
fn open_signals(kind: &Kind) -> &[u32] {
    match kind {
        Kind::Bulk(Transfer { bytes: None, mbarriers, .. }) => mbarriers,
        Kind::Bulk(_)
        | Kind::Copies(_)
        | Kind::Arrivals(_)
        | Kind::Stores(_)
        | Kind::Tensor(_)
        | Kind::Cancel { .. } => &[],
    }
}
