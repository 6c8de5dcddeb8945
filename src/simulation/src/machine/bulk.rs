//! Copies that go on while threads do something else.

use std::collections::VecDeque;

use super::boxes::{Boxed, Moving, counted};
use super::operation::{AsyncStore, Kind, Transfer};
use super::places::Place;
use super::reduction::Unit;
use super::warp::{Strand, Wait, lanes};
use super::{Flow, Machine, Stop};
use crate::clock::Agent;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::generic::{LoadMode, ReductionOperator, Type};
use crate::program::{Address, Bulk, Read, Reduction, Slice, Where, windows};
use crate::tensor_map::{self, ElementType, Interleave};

/// Copies that the threads of a warp have started.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// `cp.async` that belong to no group yet, and groups.
    open: Vec<u64>,
    groups: VecDeque<(Vec<u64>, u32)>,
    /// How far the queue was at the last one.
    last: u32,
    queue: Option<u32>,
    /// Bulk copies, by lane.
    bulk: Vec<BulkCopies>,
    /// The last instruction that waited until copies have read what they copy.
    waited_for_reads: Option<u32>,
}

/// Bulk copies that a lane has started.
#[derive(Clone, Debug)]
struct BulkCopies {
    lane: u32,
    /// Those without a group.
    open: Vec<u64>,
    /// Groups that may not have read what they copy.
    groups: VecDeque<Vec<u64>>,
    /// Who writes to global memory for the lane, and how many copies do so far.
    writer: (Agent, u32),
    /// How many of them there are up to the end of each group that may not have written: the first ones, and the last
    /// ones by group.
    first_writes: u32,
    writes: VecDeque<u32>,
}

/// Groups that are told apart: none waits until fewer than so many are over.
const MOST_GROUPS: usize = 256;

impl Copies {
    /// The last instruction that waited until copies have read what they copy, and not until they are over.
    pub(super) fn waited_for_reads(&self) -> Option<u32> {
        self.waited_for_reads
    }

    /// The queue of `cp.async`.
    pub(super) fn queue(&self) -> Option<u32> {
        self.queue
    }
}

impl Machine<'_> {
    /// `cp.async`
    pub(super) fn copy_async(
        &mut self,
        strand: &Strand,
        (destination, source): (Address, Address),
        bytes: u32,
        read: Read,
        active: u32,
    ) -> Result<(), Stop> {
        let mut all = Vec::new();
        for lane in lanes(active) {
            let Some(to) = self.address_at(strand, destination, lane) else {
                return Err(Self::stop(strand, "an address is not known"));
            };
            let from = self.address_at(strand, source, lane);
            let read = match read {
                Read::All => Some(bytes),
                Read::Bytes(operand) => {
                    self.value_at(strand, operand, lane).map(|it| it.min(bytes.into()) as u32)
                }
                Read::Unless(operand) => {
                    self.value_at(strand, operand, lane).map(|it| if it == 0 { bytes } else { 0 })
                }
            };
            let to = self.shared_place(strand, Where::Shared, to, bytes, true);
            // If it is not known how much is read, what is written is not.
            let from = from.filter(|_| read.is_some_and(|read| read > 0));
            if let (Some(from), Some(read)) = (from, read) {
                self.within_global(strand, from, read)?;
            }
            let from = from.map(Place::Global);
            all.push((to, from, bytes, read.unwrap_or(bytes)));
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
            let transfer = if in_group {
                Transfer { writer: Some(self.next_write(strand.warp, lane as u32)), ..transfer }
            } else {
                transfer
            };
            let mut own = strand.clone();
            own.mask = 1 << lane;
            let id = self.start(&own, Kind::Bulk(transfer), None);
            if in_group {
                let mut all = self.warps[strand.warp as usize].copies.bulk.iter_mut();
                if let Some(copies) = all.find(|copies| copies.lane == lane as u32) {
                    copies.open.push(id);
                }
            }
        }
        Ok(())
    }

    /// When a copy of a lane writes to global memory. A wait for what it reads does not wait for that.
    fn next_write(&mut self, warp: u32, lane: u32) -> (Agent, u32) {
        let all = &self.warps[warp as usize].copies.bulk;
        let index = all.iter().position(|copies| copies.lane == lane).unwrap_or_else(|| {
            // It belongs to the lane for good.
            self.async_ticks.push(u32::MAX);
            let agent = self.first_async_agent + self.async_ticks.len() as u32 - 1;
            let all = &mut self.warps[warp as usize].copies.bulk;
            all.push(BulkCopies {
                lane,
                open: Vec::new(),
                groups: VecDeque::new(),
                writer: (agent, 0),
                first_writes: 0,
                writes: VecDeque::new(),
            });
            all.len() - 1
        });
        let copies = &mut self.warps[warp as usize].copies.bulk[index];
        copies.writer.1 += 1;
        copies.writer
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
            is_open: false,
            from: None,
            to: None,
            mbarriers: Vec::new(),
            bytes: Some(bytes),
            moving: None,
            writer: None,
            byte_mask: bulk.byte_mask.map(|mask| self.value_at(strand, mask, lane).map(|mask| mask as u16)),
            reduces: bulk
                .reduces
                .map(|(operator, ty)| Some((Reduction { operator, ty: ty?, noftz: false }, Unit::Bulk))),
        };
        match self.place(strand, bulk.source.0, from, bytes, false) {
            Some(Place::Global(address)) => {
                self.within_global(strand, address, bytes)?;
                transfer.from = Some(address);
            }
            Some(Place::Shared { cta, offset }) => transfer.reads = vec![(cta, offset, bytes)],
            Some(_) | None => return Ok(None),
        }
        let own = self.warps[strand.warp as usize].cta;
        match self.place(strand, bulk.destination.0, to, bytes, true) {
            Some(Place::Global(address)) => {
                self.within_global(strand, address, bytes)?;
                transfer.to = Some(address);
            }
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
        let map_address = self.address_at(strand, map.1, lane);
        let map = match map_address {
            // One that a kernel has put together from what is assumed is of any kind.
            Some(address) if self.is_assumed_at(Place::Global(address), tensor_map::BYTES as u32) => None,
            Some(address) => self.tensor_map(strand, address),
            None => None,
        };
        let coordinates = self.coordinates(strand, tensor.coordinates, lane);
        let offsets = self.coordinates(strand, tensor.offsets, lane);
        let bytes = map.as_ref().and_then(|map| counted(map, tensor.mode, offsets.as_deref()));
        let bytes = bytes.map(|bytes| bytes.min(1 << 20) as u32);
        if let Some(map) = &map
            && map.dims.len() != tensor.dimensions as usize
            && tensor.mode == LoadMode::Tile
            && !self.is_assumed
        {
            return Err(Self::stop(
                strand,
                format!("a copy of {} dimensions with a tensor map of {}", tensor.dimensions, map.dims.len()),
            ));
        }
        // Whatever the map says, unless its tensor is interleaved.
        if !at.is_multiple_of(128) && map.as_ref().is_none_or(|map| map.interleave == Interleave::None) {
            let finding = Finding::new(
                Code::Misaligned,
                strand.step,
                "the address of a tensor copy in shared memory must be a multiple of 128",
                format!("{at:#x} is none"),
            );
            self.report(finding);
        }
        self.has_open_copies |= bytes.is_none();
        let boxed = map.as_ref().and_then(|map| Boxed::new(map, tensor.mode, (coordinates, offsets)));
        let is_open = boxed.is_none() && bytes.is_none();
        let extent = boxed.as_ref().map_or(bytes.unwrap_or(16), |boxed| boxed.extent().min(1 << 20) as u32);
        let Some((cta, offset)) = self.shared_place(strand, memory.0, at, extent, loads) else {
            return Ok(None);
        };
        let extent = if is_open && !loads { self.extent_of_store(cta, offset) } else { extent };
        if let Some(boxed) = &boxed {
            self.check_start(strand, boxed);
            if loads {
                self.check_corner(strand, boxed);
            }
        }
        // Narrow boxes leave gaps.
        let intervals = boxed.as_ref().map_or(vec![(offset, extent)], |boxed| boxed.intervals(offset));
        let within = |cta: u32| intervals.iter().map(move |(start, bytes)| (cta, *start, *bytes));
        let mut transfer = Transfer {
            writes: Vec::new(),
            reads: if loads { Vec::new() } else { within(cta).collect() },
            is_open: is_open && !loads,
            from: None,
            to: None,
            mbarriers: Vec::new(),
            bytes,
            moving: None,
            writer: None,
            byte_mask: None,
            reduces: bulk
                .reduces
                .map(|(operator, _)| map.as_ref().and_then(|map| reduction(map.element, operator))),
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
        if is_open {
            let accessed = if loads { &transfer.writes } else { &transfer.reads };
            self.note_open_copy(map_address, tensor, loads, accessed);
        }
        transfer.moving = boxed.map(|boxed| Box::new(Moving { boxed, places }));
        Ok(Some(transfer))
    }

    pub(super) fn bulk_commit(&mut self, strand: &Strand, active: u32) {
        for copies in &mut self.warps[strand.warp as usize].copies.bulk {
            if active >> copies.lane & 1 != 0 {
                copies.groups.push_back(std::mem::take(&mut copies.open));
                copies.writes.push_back(copies.writer.1);
                if copies.writes.len() > MOST_GROUPS {
                    copies.first_writes = copies.writes.pop_front().unwrap_or(0);
                }
            }
        }
    }

    /// Waits until only so many groups are under way, or may read what they copy.
    pub(super) fn bulk_wait(
        &mut self,
        strand: &mut Strand,
        (left, for_reads): (u32, bool),
        active: u32,
    ) -> Flow {
        if !self.bulk_done(strand, left, active) {
            strand.wait = Wait::Bulk { left };
            return Flow::Blocked;
        }
        let warp = &mut self.warps[strand.warp as usize];
        if for_reads {
            warp.copies.waited_for_reads = Some(strand.step);
        }
        for copies in warp.copies.bulk.iter_mut().filter(|copies| active >> copies.lane & 1 != 0) {
            while copies.groups.len() > left as usize {
                for id in copies.groups.pop_front().into_iter().flatten() {
                    if let Some((agent, tick)) = self.finished.remove(&id) {
                        warp.clock.learn(agent, tick);
                    }
                }
            }
            // What they write can be seen when they are over.
            while !for_reads && copies.writes.len() > left as usize {
                copies.first_writes = copies.writes.pop_front().unwrap_or(0);
            }
            if !for_reads {
                warp.clock.learn(copies.writer.0, copies.first_writes);
            }
        }
        Flow::Next
    }

    pub(super) fn bulk_done(&self, strand: &Strand, left: u32, active: u32) -> bool {
        let bulk = &self.warps[strand.warp as usize].copies.bulk;
        let own = bulk.iter().filter(|copies| active >> copies.lane & 1 != 0);
        let mut awaited = own.flat_map(|BulkCopies { groups, .. }| {
            groups.iter().take(groups.len().saturating_sub(left as usize)).flatten()
        });
        !awaited.any(|id| self.is_pending(*id))
    }

    /// `st.async`, `red.async`
    pub(super) fn store_async(
        &mut self,
        strand: &Strand,
        (address, barrier): (Address, Address),
        (registers, bytes): (Slice, u8),
        reduction: Option<Reduction>,
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
                    reduction,
                    mbarrier,
                });
            }
        }
        if !stores.is_empty() {
            self.start(strand, Kind::Stores(stores), None);
        }
        Ok(())
    }
}

/// What a tensor copy computes; nothing if an H200 refuses that.
fn reduction(element: ElementType, operator: ReductionOperator) -> Option<(Reduction, Unit)> {
    let is_sum = operator == ReductionOperator::Add;
    let is_extreme = matches!(operator, ReductionOperator::Min | ReductionOperator::Max);
    let is_logic =
        matches!(operator, ReductionOperator::And | ReductionOperator::Or | ReductionOperator::Xor);
    let is_count = matches!(operator, ReductionOperator::Inc | ReductionOperator::Dec);
    let (ty, is_computed) = match element {
        ElementType::U32 => (Type::U32, is_sum || is_extreme || is_logic || is_count),
        ElementType::S32 => (Type::S32, is_sum || is_extreme || is_logic),
        ElementType::U64 => (Type::U64, is_sum || is_extreme || is_logic),
        ElementType::S64 => (Type::S64, is_extreme),
        ElementType::F16 => (Type::F16, is_sum || is_extreme),
        ElementType::Bf16 => (Type::Bf16, is_sum || is_extreme),
        // The bits that tf32 does not have are summed, too.
        ElementType::F32 | ElementType::Tf32 | ElementType::F32Ftz | ElementType::Tf32Ftz => {
            (Type::F32, is_sum)
        }
        ElementType::F64 => (Type::F64, is_sum),
        ElementType::U8
        | ElementType::U16
        | ElementType::B4x16
        | ElementType::B4x16P64
        | ElementType::B6x16P32 => return None,
    };
    let unit = match element {
        ElementType::F32Ftz | ElementType::Tf32Ftz => Unit::Flushing,
        _ => Unit::Bulk,
    };
    is_computed.then_some((Reduction { operator, ty, noftz: false }, unit))
}
