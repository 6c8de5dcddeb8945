//! Copies that go on while threads do something else.

use std::collections::VecDeque;

use super::access::{Place, combined};
use super::barrier::Event;
use super::boxes::{Boxed, Moving};
use super::tensor_core::Work;
use super::warp::{Strand, Wait, lanes};
use super::{Flow, Machine, Stop};
use crate::diagnostic::Code;
use crate::isa::generic::{LoadMode, ReductionOperator, TensormapField, Type};
use crate::simulation::clock::{Agent, Clock};
use crate::simulation::findings::Finding;
use crate::simulation::program::{Address, Bulk, Operand, Scope, Slice, Where, windows};
use crate::simulation::shadow::{Access, Via};
use crate::simulation::tensor_map::{self, Interleave, TensorMap};

/// An operation under way.
#[derive(Debug)]
pub(super) struct Operation {
    /// Later ones have greater numbers.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) step: u32,
    pub(super) warp: u32,
    pub(super) mask: u32,
    pub(super) head: u32,
    pub(super) round: u32,
    /// Operations of one queue take effect in their order.
    pub(super) queue: Option<u32>,
    pub(super) agent: Agent,
    pub(super) tick: u32,
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
    cta: u32,
    offset: u32,
    pub(super) bytes: u32,
    value: u64,
    unknown: bool,
    operator: Option<(ReductionOperator, Type)>,
    mbarrier: u32,
}

/// A copy in bulk.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Bytes that are written to shared memory: the CTA, the offset, how many.
    pub(super) writes: Vec<(u32, u32, u32)>,
    /// Bytes of shared memory that are read.
    pub(super) reads: Vec<(u32, u32, u32)>,
    /// Where a plain copy comes from and goes, in global memory.
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    /// The mbarriers that bytes come to; each gets as many.
    pub(super) mbarriers: Vec<u32>,
    /// Bytes; nothing if the tensor map does not say.
    pub(super) bytes: Option<u32>,
    /// The box of a tensor.
    pub(super) moving: Option<Box<Moving>>,
    /// Whether something is computed with what is there.
    pub(super) reduces: bool,
}

/// Copies that the threads of a warp have started.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// `cp.async` that belong to no group yet, and groups.
    open: Vec<u64>,
    groups: VecDeque<(Vec<u64>, u32)>,
    /// How far the queue was at the last one.
    last: u32,
    queue: Option<u32>,
    /// Bulk copies: the lane, those without a group, groups.
    bulk: Vec<(u32, Vec<u64>, VecDeque<Vec<u64>>)>,
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
            head: strand.head,
            round: strand.round,
            queue,
            agent,
            tick,
            clock,
        });
        self.epoch += 1;
        // What a warp does next its operation does not know.
        let warp = &mut self.warps[strand.warp as usize];
        warp.clock.advance(warp.agent);
        id
    }

    pub(super) fn is_pending(&self, id: u64) -> bool {
        self.pending.binary_search_by_key(&id, |operation| operation.id).is_ok()
    }

    /// `cp.async`
    pub(super) fn copy_async(
        &mut self,
        strand: &Strand,
        (destination, source): (Address, Address),
        bytes: u32,
        source_bytes: Option<Operand>,
        active: u32,
    ) -> Result<(), Stop> {
        let mut all = Vec::new();
        for lane in lanes(active) {
            let Some(to) = self.address_at(strand, destination, lane) else {
                return Err(Self::stop(strand, "an address is not known"));
            };
            let from = self.address_at(strand, source, lane);
            let read = match source_bytes {
                Some(operand) => {
                    self.value_at(strand, operand, lane).map_or(bytes, |it| (it as u32).min(bytes))
                }
                None => bytes,
            };
            let to = self.shared_place(strand, Where::Shared, to, bytes, true);
            let from = from.filter(|_| read > 0).map(Place::Global);
            all.push((to, from, bytes, read));
        }
        let queue = match self.warps[strand.warp as usize].copies.queue {
            Some(queue) => queue,
            None => self.new_queue(),
        };
        let id = self.start(strand, Kind::Copies(all), Some(queue));
        let last = self.queue_agents.get(&queue).map_or(0, |(_, tick)| *tick);
        let copies = &mut self.warps[strand.warp as usize].copies;
        copies.queue = Some(queue);
        copies.open.push(id);
        copies.last = last;
        Ok(())
    }

    pub(super) fn copy_commit(&mut self, strand: &Strand) {
        let copies = &mut self.warps[strand.warp as usize].copies;
        let group = std::mem::take(&mut copies.open);
        copies.groups.push_back((group, copies.last));
    }

    /// Waits until only so many groups are under way.
    pub(super) fn copy_wait(&mut self, strand: &mut Strand, left: u32) -> Flow {
        if !self.copies_done(strand, left) {
            strand.wait = Wait::Copies { left };
            return Flow::Blocked;
        }
        let warp = &mut self.warps[strand.warp as usize];
        let keep = if left == u32::MAX { 0 } else { left as usize };
        let mut waited = if left == u32::MAX { warp.copies.last } else { 0 };
        while warp.copies.groups.len() > keep {
            waited = waited.max(warp.copies.groups.pop_front().map_or(0, |(_, last)| last));
        }
        if let Some((agent, _)) = warp.copies.queue.and_then(|queue| self.queue_agents.get(&queue)) {
            warp.clock.learn(*agent, waited);
        }
        Flow::Next
    }

    pub(super) fn copies_done(&self, strand: &Strand, left: u32) -> bool {
        let copies = &self.warps[strand.warp as usize].copies;
        let all = left == u32::MAX;
        let groups = copies.groups.len().saturating_sub(if all { 0 } else { left as usize });
        let mut awaited = copies.groups.iter().take(groups).flat_map(|(group, _)| group);
        let is_open = all && copies.open.iter().any(|id| self.is_pending(*id));
        !is_open && !awaited.any(|id| self.is_pending(*id))
    }

    /// Arrives when all copies of the threads so far are done.
    pub(super) fn copy_arrive(
        &mut self,
        strand: &Strand,
        (space, address): (Where, Address),
        counts: bool,
        active: u32,
    ) -> Result<(), Stop> {
        let mut mbarriers = Vec::new();
        for lane in lanes(active) {
            let Some(place) = self.barrier_place(strand, space, address, lane)? else { continue };
            let Some(number) = self.usable_mbarrier(strand, place) else { continue };
            let barrier = &mut self.mbarriers[number as usize];
            barrier.pending += u32::from(counts);
            barrier.promised += 1;
            mbarriers.push(number);
        }
        let queue = match self.warps[strand.warp as usize].copies.queue {
            Some(queue) => queue,
            None => self.new_queue(),
        };
        self.warps[strand.warp as usize].copies.queue = Some(queue);
        self.start(strand, Kind::Arrivals(mbarriers), Some(queue));
        Ok(())
    }

    /// A copy in bulk, of each active lane.
    pub(super) fn bulk(&mut self, strand: &Strand, bulk: &Bulk, active: u32) -> Result<(), Stop> {
        for lane in lanes(active) {
            let transfer = if bulk.tensor.is_some() {
                self.tensor_transfer(strand, bulk, lane)?
            } else {
                self.plain_transfer(strand, bulk, lane)?
            };
            let Some(transfer) = transfer else { continue };
            for number in &transfer.mbarriers {
                self.mbarriers[*number as usize].under_way += 1;
            }
            let in_group = bulk.barrier.is_none();
            let mut own = strand.clone();
            own.mask = 1 << lane;
            let id = self.start(&own, Kind::Bulk(transfer), None);
            if in_group {
                let groups = &mut self.warps[strand.warp as usize].copies.bulk;
                match groups.iter_mut().find(|(other, _, _)| *other == lane as u32) {
                    Some((_, open, _)) => open.push(id),
                    None => groups.push((lane as u32, vec![id], VecDeque::new())),
                }
            }
        }
        Ok(())
    }

    fn bulk_mbarrier(
        &mut self,
        strand: &Strand,
        bulk: &Bulk,
        lane: usize,
    ) -> Result<Option<(u32, u32)>, Stop> {
        match bulk.barrier {
            // Whatever space the copy names, the address says which CTA's it is.
            Some(address) => {
                let Some(value) = self.address_at(strand, address, lane) else {
                    return Err(Self::stop(strand, "the address of an mbarrier is not known"));
                };
                let is_generic = value >> windows::BITS != 0;
                let space = if is_generic { Where::Generic } else { Where::SharedCluster };
                Ok(self.shared_place(strand, space, value, 8, true))
            }
            None => Ok(None),
        }
    }

    /// The CTAs that a copy goes to.
    fn receivers(&mut self, strand: &Strand, bulk: &Bulk, lane: usize, cta: u32) -> Result<u32, Stop> {
        Ok(match bulk.mask {
            Some(mask) => match self.value_at(strand, mask, lane) {
                Some(mask) => {
                    self.address_ctas(mask as u32 & 0xFFFF);
                    mask as u32 & ((1u64 << self.ctas.len()) - 1) as u32
                }
                None => return Err(Self::stop(strand, "the mask of CTAs is not known")),
            },
            None => 1 << cta,
        })
    }

    fn plain_transfer(
        &mut self,
        strand: &Strand,
        bulk: &Bulk,
        lane: usize,
    ) -> Result<Option<Transfer>, Stop> {
        let (Some(to), Some(from)) =
            (self.address_at(strand, bulk.destination.1, lane), self.address_at(strand, bulk.source.1, lane))
        else {
            if bulk.barrier.is_none() && matches!(bulk.destination.0, Where::Global) {
                self.assume(
                    strand.step,
                    "stores to addresses in global memory that are not known change nothing that is read",
                );
                return Ok(None);
            }
            return Err(Self::stop(strand, "an address of a copy is not known"));
        };
        let Some(bytes) = bulk.bytes.and_then(|bytes| self.value_at(strand, bytes, lane)) else {
            return Err(Self::stop(strand, "the size of a copy is not known"));
        };
        let bytes = bytes as u32;
        if !bytes.is_multiple_of(16) || !to.is_multiple_of(16) || !from.is_multiple_of(16) {
            let finding = Finding::new(
                Code::Misaligned,
                strand.step,
                "addresses and size of a bulk copy must be multiples of 16",
                format!("{bytes} bytes from {from:#x} to {to:#x}"),
            );
            self.report(finding);
            return Ok(None);
        }
        let mut transfer = Transfer {
            writes: Vec::new(),
            reads: Vec::new(),
            from: None,
            to: None,
            mbarriers: Vec::new(),
            bytes: Some(bytes),
            moving: None,
            reduces: bulk.reduces,
        };
        match self.place(strand, bulk.source.0, from, bytes, false) {
            Some(Place::Global(address)) => transfer.from = Some(address),
            Some(Place::Shared { cta, offset }) => transfer.reads = vec![(cta, offset, bytes)],
            Some(_) | None => return Ok(None),
        }
        let own = self.warps[strand.warp as usize].cta;
        match self.place(strand, bulk.destination.0, to, bytes, true) {
            Some(Place::Global(address)) => transfer.to = Some(address),
            Some(Place::Shared { cta, offset }) => {
                let barrier = self.bulk_mbarrier(strand, bulk, lane)?;
                let receivers = self.receivers(strand, bulk, lane, cta)?;
                for cta in lanes(receivers).map(|cta| cta as u32) {
                    transfer.writes.push((cta, offset, bytes));
                    self.overwrites(strand, cta, (offset, bytes));
                    if let Some((barrier_cta, offset)) = barrier {
                        let place = (if bulk.mask.is_some() { cta } else { barrier_cta }, offset);
                        transfer.mbarriers.extend(self.usable_mbarrier(strand, place));
                    }
                }
            }
            Some(_) | None => return Ok(None),
        }
        let _ = own;
        Ok(Some(transfer))
    }

    /// The tensor map at a generic address; nothing if it is not known.
    pub(super) fn tensor_map(&mut self, strand: &Strand, address: u64) -> Option<TensorMap> {
        let (window, within) = (address >> windows::BITS, address & ((1 << windows::BITS) - 1));
        let bytes = match window {
            windows::PARAM => self.parameters.known(within, tensor_map::BYTES).map(<[u8]>::to_vec),
            windows::CONST => self.constants.known(within, tensor_map::BYTES).map(<[u8]>::to_vec),
            windows::GLOBAL => self.global.known(address, tensor_map::BYTES),
            _ => {
                self.outside(strand, &format!("there is no tensor map at the address {address:#x}"));
                None
            }
        };
        bytes.and_then(|bytes| TensorMap::decode(&bytes))
    }

    /// `tensormap.replace`
    pub(super) fn replace_tensor_map(
        &mut self,
        strand: &Strand,
        (space, address): (Where, Address),
        (field, ordinal): (TensormapField, u32),
        value: Operand,
        active: u32,
    ) -> Result<(), Stop> {
        for lane in lanes(active) {
            let Some(address) = self.address_at(strand, address, lane) else {
                return Err(Self::stop(strand, "the address of a tensor map is not known"));
            };
            let value = self.value_at(strand, value, lane);
            let Some(place) = self.place(strand, space, address, tensor_map::BYTES as u32, true) else {
                continue;
            };
            let old = self.map_bytes(place);
            let mut bytes: [u8; tensor_map::BYTES] =
                old.and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; tensor_map::BYTES]);
            // Where the tensor is matters less than how it is cut.
            let is_known = value.is_some() || field == TensormapField::GlobalAddress;
            let fits = TensorMap::replace(&mut bytes, field, ordinal, value.unwrap_or(0));
            self.write_map(strand, place, (is_known && fits).then_some(&bytes), 1 << lane);
        }
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_tensor_map(
        &mut self,
        strand: &Strand,
        destination: Address,
        source: Address,
        active: u32,
    ) -> Result<(), Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let (Some(to), Some(from)) =
            (self.address_at(strand, destination, lane), self.address_at(strand, source, lane))
        else {
            return Err(Self::stop(strand, "the address of a tensor map is not known"));
        };
        let size = tensor_map::BYTES as u32;
        let Some(from) = self.place(strand, Where::Shared, from, size, false) else { return Ok(()) };
        let bytes = self.map_bytes(from).and_then(|bytes| bytes.try_into().ok());
        self.write_map(strand, Place::Global(to), bytes.as_ref(), 1 << lane);
        Ok(())
    }

    fn map_bytes(&self, place: Place) -> Option<Vec<u8>> {
        match place {
            Place::Global(address) => self.global.known(address, tensor_map::BYTES),
            Place::Shared { cta, offset } => {
                let bytes = self.ctas[cta as usize].shared.known(offset.into(), tensor_map::BYTES);
                bytes.map(<[u8]>::to_vec)
            }
            Place::Local(_) | Place::Const(_) | Place::Parameter(_) => None,
        }
    }

    fn write_map(
        &mut self,
        strand: &Strand,
        place: Place,
        bytes: Option<&[u8; tensor_map::BYTES]>,
        mask: u32,
    ) {
        match place {
            Place::Shared { cta, offset } => {
                let data = bytes.map(|bytes| &bytes[..]);
                self.ctas[cta as usize].shared.fill(offset.into(), tensor_map::BYTES, data);
                let places = [(cta, offset, tensor_map::BYTES as u32)];
                self.touch(strand, &places, (true, false), None, mask);
            }
            Place::Global(address) => {
                for at in (0..tensor_map::BYTES).step_by(8) {
                    let piece =
                        bytes.and_then(|bytes| bytes[at..at + 8].try_into().ok()).map(u64::from_le_bytes);
                    // What is outside is found when the map is used.
                    let _ = self.global.write(address + at as u64, 8, piece.unwrap_or(0), piece.is_none());
                }
            }
            Place::Local(_) | Place::Const(_) | Place::Parameter(_) => {}
        }
        self.epoch += 1;
    }

    fn tensor_transfer(
        &mut self,
        strand: &Strand,
        bulk: &Bulk,
        lane: usize,
    ) -> Result<Option<Transfer>, Stop> {
        let Some(tensor) = &bulk.tensor else { return Ok(None) };
        let loads = bulk.barrier.is_some();
        let (map, memory) =
            if loads { (bulk.source, bulk.destination) } else { (bulk.destination, bulk.source) };
        let Some(at) = self.address_at(strand, memory.1, lane) else {
            return Err(Self::stop(strand, "an address of a copy is not known"));
        };
        let map = match self.address_at(strand, map.1, lane) {
            // One that a kernel has put together from what is assumed is of any kind.
            Some(address) if self.is_assumed_at(Place::Global(address), tensor_map::BYTES as u32) => None,
            Some(address) => self.tensor_map(strand, address),
            None => None,
        };
        let bytes = map.as_ref().map(|map| {
            let bytes = match tensor.mode {
                LoadMode::Tile
                | LoadMode::Im2colNoOffs
                | LoadMode::Im2col
                | LoadMode::Im2colW
                | LoadMode::Im2colW128 => map.box_bytes(),
                LoadMode::TileGather4 | LoadMode::TileScatter4 => map.row_bytes() * 4,
            };
            bytes.min(1 << 20) as u32
        });
        if let Some(map) = &map {
            if map.dims.len() != tensor.dimensions as usize
                && tensor.mode == LoadMode::Tile
                && !self.is_assumed
            {
                return Err(Self::stop(
                    strand,
                    format!(
                        "a copy of {} dimensions with a tensor map of {}",
                        tensor.dimensions,
                        map.dims.len()
                    ),
                ));
            }
            if !at.is_multiple_of(128) && map.interleave == Interleave::None {
                let finding = Finding::new(
                    Code::Misaligned,
                    strand.step,
                    "the address of a tensor copy in shared memory must be a multiple of 128",
                    format!("{at:#x} is none"),
                );
                self.report(finding);
            }
        }
        self.has_open_copies |= bytes.is_none();
        let coordinates = self.coordinates(strand, tensor.coordinates, lane);
        let boxed = map.as_ref().and_then(|map| Boxed::new(map, tensor.mode, coordinates));
        let extent = boxed.as_ref().map_or(bytes.unwrap_or(16), |boxed| boxed.extent().min(1 << 20) as u32);
        let Some((cta, offset)) = self.shared_place(strand, memory.0, at, extent, loads) else {
            return Ok(None);
        };
        if let Some(boxed) = &boxed {
            self.check_start(strand, boxed);
        }
        // Narrow boxes leave gaps.
        let intervals = boxed.as_ref().map_or(vec![(offset, extent)], |boxed| boxed.intervals(offset));
        let within = |cta: u32| intervals.iter().map(move |(start, bytes)| (cta, *start, *bytes));
        let mut transfer = Transfer {
            writes: Vec::new(),
            reads: if loads { Vec::new() } else { within(cta).collect() },
            from: None,
            to: None,
            mbarriers: Vec::new(),
            bytes,
            moving: None,
            reduces: bulk.reduces,
        };
        let mut places = Vec::new();
        if loads {
            let Some((barrier_cta, barrier_offset)) = self.bulk_mbarrier(strand, bulk, lane)? else {
                return Ok(None);
            };
            let receivers = self.receivers(strand, bulk, lane, cta)?;
            for cta in lanes(receivers).map(|cta| cta as u32) {
                transfer.writes.extend(within(cta));
                places.push((cta, offset));
                for (start, bytes) in &intervals {
                    self.overwrites(strand, cta, (*start, *bytes));
                }
                let barrier_cta = match (bulk.mask, tensor.pair) {
                    (None, _) => barrier_cta,
                    (Some(_), false) => cta,
                    // Each receiver signals in its own pair, on the side that the address names.
                    (Some(_), true) => cta & !1 | barrier_cta & 1,
                };
                transfer.mbarriers.extend(self.usable_mbarrier(strand, (barrier_cta, barrier_offset)));
            }
        } else {
            places.push((cta, offset));
        }
        transfer.moving = boxed.map(|boxed| Box::new(Moving { boxed, places }));
        Ok(Some(transfer))
    }

    pub(super) fn bulk_commit(&mut self, strand: &Strand, active: u32) {
        for (lane, open, groups) in &mut self.warps[strand.warp as usize].copies.bulk {
            if active >> *lane & 1 != 0 {
                groups.push_back(std::mem::take(open));
            }
        }
    }

    /// Waits until only so many groups are under way.
    pub(super) fn bulk_wait(&mut self, strand: &mut Strand, left: u32, active: u32) -> Flow {
        if !self.bulk_done(strand, left, active) {
            strand.wait = Wait::Bulk { left };
            return Flow::Blocked;
        }
        let warp = &mut self.warps[strand.warp as usize];
        for (lane, _, groups) in &mut warp.copies.bulk {
            while active >> *lane & 1 != 0 && groups.len() > left as usize {
                for id in groups.pop_front().into_iter().flatten() {
                    if let Some((agent, tick)) = self.finished.remove(&id) {
                        warp.clock.learn(agent, tick);
                    }
                }
            }
        }
        Flow::Next
    }

    pub(super) fn bulk_done(&self, strand: &Strand, left: u32, active: u32) -> bool {
        let bulk = &self.warps[strand.warp as usize].copies.bulk;
        let mut awaited =
            bulk.iter().filter(|(lane, _, _)| active >> lane & 1 != 0).flat_map(|(_, _, groups)| {
                groups.iter().take(groups.len().saturating_sub(left as usize)).flatten()
            });
        !awaited.any(|id| self.is_pending(*id))
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
        let before = self.record_operation(&operation);
        let kind = std::mem::replace(&mut operation.kind, Kind::Arrivals(Vec::new()));
        match kind {
            Kind::Copies(copies) => self.perform_copies(&operation, &copies),
            Kind::Arrivals(mbarriers) => self.perform_arrivals(&operation, &mbarriers),
            Kind::Bulk(transfer) => {
                // Shipped kernels do not wait for the last of what they store, and nothing is lost by it.
                let read = transfer.reads.iter().filter(|_| self.is_strict);
                let ctas = transfer.writes.iter().chain(read).map(|(cta, _, _)| *cta);
                self.unseen
                    .extend(ctas.map(|cta| ((cta, operation.agent), (operation.tick, operation.step))));
                self.perform_bulk(&operation, &transfer);
            }
            Kind::Stores(stores) => self.perform_stores(&operation, &stores),
            Kind::Tensor(work) => self.perform_tensor(&operation, work),
            Kind::Cancel { places, mbarriers } => {
                let answer = self.grant();
                for (cta, offset) in places {
                    self.ctas[cta as usize].shared.fill(offset.into(), 16, Some(&answer));
                    self.touch_by(&operation, &[(cta, offset, 16)], Via::Async, true);
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
    fn grant(&mut self) -> [u8; 16] {
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

    /// `st.async`, `red.async`
    pub(super) fn store_async(
        &mut self,
        strand: &Strand,
        (address, barrier): (Address, Address),
        (registers, bytes): (Slice, u8),
        operator: Option<(ReductionOperator, Type)>,
        active: u32,
    ) -> Result<(), Stop> {
        let registers = self.operands(registers);
        let bytes = u32::from(bytes);
        let total = bytes * registers.len() as u32;
        let mut stores = Vec::new();
        for lane in lanes(active) {
            let Some(to) = self.address_at(strand, address, lane) else {
                return Err(Self::stop(strand, "an address is not known"));
            };
            let Some((cta, offset)) = self.shared_place(strand, Where::SharedCluster, to, total, true) else {
                continue;
            };
            let Some(place) = self.barrier_place(strand, Where::SharedCluster, barrier, lane)? else {
                continue;
            };
            let Some(mbarrier) = self.usable_mbarrier(strand, place) else { continue };
            self.overwrites(strand, cta, (offset, total));
            for (index, register) in registers.iter().enumerate() {
                let (value, unknown) = self.value(strand, *register);
                self.mbarriers[mbarrier as usize].under_way += 1;
                stores.push(AsyncStore {
                    cta,
                    offset: offset + index as u32 * bytes,
                    bytes,
                    value: value[lane],
                    unknown: unknown >> lane & 1 != 0,
                    operator,
                    mbarrier,
                });
            }
        }
        if !stores.is_empty() {
            self.start(strand, Kind::Stores(stores), None);
        }
        Ok(())
    }

    fn perform_stores(&mut self, operation: &Operation, stores: &[AsyncStore]) {
        let mut places = Vec::with_capacity(stores.len());
        for store in stores {
            let (offset, len) = (u64::from(store.offset), store.bytes as usize);
            let shared = &mut self.ctas[store.cta as usize].shared;
            let (mut value, mut unknown) = (Some(store.value), store.unknown);
            if let Some((operator, ty)) = store.operator
                && let Some(old) = shared.read(offset, len)
            {
                value = combined(operator, ty, old.value, store.value, 0);
                unknown |= old.unknown;
            }
            shared.write(offset, len, value.unwrap_or(0), unknown || value.is_none());
            places.push((store.cta, store.offset, store.bytes));
            self.unseen.insert((store.cta, operation.agent), (operation.tick, operation.step));
        }
        let access = self.access_of_operation(operation, Via::Generic, true);
        let is_atomic = stores.iter().any(|store| store.operator.is_some());
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

    fn perform_copies(&mut self, operation: &Operation, copies: &[SmallCopy]) {
        let mut touched = Vec::new();
        for (to, from, bytes, read) in copies {
            let Some((cta, offset)) = *to else { continue };
            let data = match from {
                Some(Place::Global(address)) => self.global.known(*address, *read as usize),
                _ if *read == 0 => Some(Vec::new()),
                _ => None,
            };
            self.ctas[cta as usize].shared.fill(offset.into(), *bytes as usize, data.as_deref());
            touched.push((cta, offset, *bytes));
        }
        // These are of the generic proxy.
        self.touch_by(operation, &touched, Via::Generic, true);
    }

    fn perform_bulk(&mut self, operation: &Operation, transfer: &Transfer) {
        if !transfer.reads.is_empty() {
            self.touch_by(operation, &transfer.reads, Via::Async, false);
        }
        let bytes = transfer.bytes.unwrap_or(0);
        for (cta, start, bytes) in &transfer.writes {
            self.ctas[*cta as usize].layouts.forget(*start, *bytes);
        }
        if let Some(moving) = &transfer.moving {
            self.move_box(operation, moving, transfer.reads.is_empty(), transfer.reduces);
        } else {
            let data = match (transfer.from, transfer.reads.first()) {
                (Some(address), _) => self.global.known(address, bytes as usize),
                (None, Some((cta, offset, _))) => self.ctas[*cta as usize]
                    .shared
                    .known((*offset).into(), bytes as usize)
                    .map(<[u8]>::to_vec),
                (None, None) => None,
            };
            let data = data.filter(|_| !transfer.reduces);
            for (cta, offset, bytes) in &transfer.writes {
                self.ctas[*cta as usize].shared.fill((*offset).into(), *bytes as usize, data.as_deref());
            }
            if let Some(address) = transfer.to {
                self.global.fill(address, bytes as usize, data.as_deref());
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
        for number in mbarriers {
            self.mbarriers[*number as usize].promised -= 1;
            if self.mbarriers[*number as usize].is_valid {
                self.arrive(*number, 1, operation.into());
            }
        }
    }

    /// Lets the copies of unknown size take effect that an mbarrier waits for with nothing else: they
    /// bring what it expects. Whether there were some.
    pub(super) fn perform_open(&mut self) -> bool {
        let waits = |machine: &Self, number: u32| {
            let barrier = &machine.mbarriers[number as usize];
            barrier.pending == 0 && barrier.transactions > 0
        };
        let found = self.pending.iter().find_map(|operation| match &operation.kind {
            Kind::Bulk(Transfer { bytes: None, mbarriers, .. }) => {
                mbarriers.iter().copied().find(|number| waits(self, *number))
            }
            _ => None,
        });
        let Some(number) = found else { return false };
        let expected = self.mbarriers[number as usize].transactions;
        let mut last = None;
        let mut index = 0;
        while index < self.pending.len() {
            let is_here = matches!(&self.pending[index].kind,
                Kind::Bulk(Transfer { bytes: None, mbarriers, .. }) if mbarriers.contains(&number));
            if is_here {
                let Operation { agent, tick, step, warp, ref clock, .. } = self.pending[index];
                last = Some((agent, tick, step, warp, clock.clone()));
                self.perform(index);
            } else {
                index += 1;
            }
        }
        if let Some((agent, tick, step, warp, clock)) = last {
            let event = Event { agent, tick, step, warp, clock: &clock, releases: true };
            self.complete_transactions(number, expected, event);
        }
        true
    }
}
