//! Tensor Memory and the tensor core.

use super::cells::Cells;
use super::places::if_not_converted;
use super::reduction::Reduced;
use super::tensor_core::Work;
use super::warp::{Strand, lanes};
use super::{Flow, Machine, Stop};
use crate::Checks;
use crate::arithmetic::Lanes;
use crate::clock::{Agent, Clock};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::asynchrony;
use crate::isa::tensor_cells::RegisterCell;
use crate::isa::tensor_memory::TensorMemory as Sizes;
use crate::isa::vocabulary::{LdShape, Num};
use crate::program::{Address, LoadReduction, Operand, Slice, Step, Tensor};
use crate::record::Column;
use crate::shadow::{self, Access, GRANULE, Pipelined, Shadow, Via, Visit};

/// Lanes of a group, all of which are accessed or none.
const GROUP: u32 = 16;
/// Lanes of a CTA's Tensor Memory.
const LANES: u32 = Sizes::LANES;
/// Groups of lanes.
pub(super) const GROUPS: u32 = LANES / GROUP;
/// All of them.
pub(super) const ALL: u8 = u8::MAX;

/// The Tensor Memory of a CTA.
#[derive(Debug)]
pub(super) struct TensorMemory {
    pub(super) sizes: Sizes,
    /// Start, length, and the instruction that made it.
    pub(super) allocations: Vec<(u32, u32, u32)>,
    /// What was freed.
    pub(super) freed: Vec<Freed>,
    /// Who has allocated, when, where, and how many columns.
    pub(super) allocated: Vec<(Agent, u32, u32, u32)>,
    /// Where the CTA gave up the right to allocate.
    pub(super) relinquished: Option<u32>,
    /// By column and group of lanes.
    pub(super) shadow: Shadow,
    /// By column: the groups that were written.
    pub(super) written: Vec<u8>,
    /// By column and group of lanes: the multiply that wrote it last, if one did.
    pub(super) makers: Vec<u32>,
    pub(super) cells: Cells,
}

/// Columns that were freed: by whom, when, and what was known then.
#[derive(Debug)]
pub(super) struct Freed {
    pub(super) column: u32,
    pub(super) columns: u32,
    pub(super) agent: Agent,
    pub(super) tick: u32,
    pub(super) clock: Clock,
}

/// What a warp has to wait for, or may not yet use.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// By lane: the queue of what it gives the tensor core.
    pub(super) queues: Vec<(u32, u32)>,
    /// The agents that load and store for the warp, and how far they are.
    agents: Option<(Agent, Agent)>,
    pub(super) loaded: u32,
    pub(super) stored: u32,
    /// By register: which load it comes from; 0 for none.
    registers: Vec<u32>,
}

/// A piece of Tensor Memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) cta: u32,
    /// Groups of lanes.
    pub(super) groups: u8,
    pub(super) column: u32,
    pub(super) columns: u32,
}

/// The cells that a load or a store moves.
#[derive(Clone, Copy, Debug)]
struct Moved {
    cta: u32,
    /// The lane of the address.
    row: u32,
    /// The column of the address, and that of the second half of `.16x32bx2`.
    columns: [u32; 2],
    form: (LdShape, Num, bool),
}

/// The first columns of regions, of which there are one or two.
fn moved_columns(regions: &[Region]) -> [u32; 2] {
    let column = |region: Option<&Region>| region.map_or(0, |region| region.column);
    [column(regions.first()), column(regions.get(1))]
}

impl Freed {
    /// Whether some of these columns are among them.
    pub(super) fn meets(&self, column: u32, columns: u32) -> bool {
        column < self.column + self.columns && self.column < column + columns
    }
}

impl TensorMemory {
    pub(super) fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            allocations: Vec::new(),
            freed: Vec::new(),
            allocated: Vec::new(),
            relinquished: None,
            shadow: Shadow::new(sizes.columns * GROUPS * GRANULE),
            written: vec![0; sizes.columns as usize],
            makers: Vec::new(),
            cells: Cells::default(),
        }
    }

    /// The first free columns.
    pub(super) fn free(&self, columns: u32) -> Option<u32> {
        let step = columns.next_power_of_two().min(self.sizes.columns).max(Sizes::UNIT);
        (0..self.sizes.columns).step_by(step as usize).find(|start| {
            start + columns <= self.sizes.columns
                && self
                    .allocations
                    .iter()
                    .all(|(other, len, _)| start + columns <= *other || other + len <= *start)
        })
    }

    fn is_allocated(&self, column: u32, columns: u32) -> bool {
        if self.allocations.iter().any(|(start, len, _)| *start <= column && column + columns <= start + len)
        {
            return true;
        }
        // Neighbouring allocations may be accessed together.
        (column..column + columns).all(|column| {
            self.allocations.iter().any(|(start, len, _)| (*start..start + len).contains(&column))
        })
    }
}

impl Machine<'_> {
    /// An instruction of tcgen05.
    pub(super) fn tensor(&mut self, strand: &mut Strand, tensor: &Tensor, active: u32) -> Result<Flow, Stop> {
        match tensor {
            Tensor::Alloc { .. }
            | Tensor::Dealloc { .. }
            | Tensor::Relinquish
            | Tensor::Load { .. }
            | Tensor::Store { .. }
            | Tensor::WaitLoad
            | Tensor::WaitStore => {
                self.check_aligned(strand, true, active);
                self.synchronise_lanes(strand.warp, active);
            }
            Tensor::Copy { .. } | Tensor::Shift { .. } | Tensor::Multiply(_) | Tensor::Commit { .. } => {
                if !active.is_power_of_two() {
                    self.many.insert(strand.step);
                }
            }
            Tensor::FenceBefore | Tensor::FenceAfter => {}
        }
        match tensor {
            Tensor::Alloc { pair, space, destination, columns, exclusive } => {
                return self.alloc(strand, *pair, (*space, *destination), (*columns, *exclusive), active);
            }
            Tensor::Dealloc { address, columns } => self.dealloc(strand, *address, *columns, active)?,
            Tensor::Relinquish => self.relinquish(strand),
            Tensor::FenceBefore | Tensor::FenceAfter => {}
            Tensor::Load { shape, num, packed, address, split, registers, reduction, extra } => {
                self.tensor_load(
                    strand,
                    (*shape, *num, *packed),
                    (*address, *split),
                    (*registers, *reduction, *extra),
                    active,
                )?;
            }
            Tensor::Store { shape, num, packed, address, split, registers } => {
                self.tensor_store(strand, (*shape, *num, *packed), (*address, *split), *registers, active)?;
            }
            Tensor::WaitLoad => {
                let warp = &mut self.warps[strand.warp as usize];
                if let Some((agent, _)) = warp.tensor.agents {
                    warp.clock.learn(agent, warp.tensor.loaded);
                }
            }
            Tensor::WaitStore => {
                let warp = &mut self.warps[strand.warp as usize];
                if let Some((_, agent)) = warp.tensor.agents {
                    warp.clock.learn(agent, warp.tensor.stored);
                }
            }
            Tensor::Copy { pair, shape, multicast, decompressed, address, descriptor } => {
                for lane in lanes(active) {
                    let how = (*shape, *multicast, *decompressed);
                    let work = self.copy_work(strand, (*pair, how), *address, *descriptor, lane)?;
                    self.submit(strand, work, lane);
                }
            }
            Tensor::Shift { pair, address } => {
                for lane in lanes(active) {
                    let (column, first) = self.tensor_address(strand, *address, lane)?;
                    let work = self.shift_work(strand, *pair, (first, column));
                    self.submit(strand, work, lane);
                }
            }
            Tensor::Multiply(multiply) => {
                for lane in lanes(active) {
                    let work = self.multiply_work(strand, multiply, lane)?;
                    self.submit(strand, work, lane);
                }
            }
            Tensor::Commit { space, barrier, mask } => {
                for lane in lanes(active) {
                    let space = match self.address_at(strand, *barrier, lane) {
                        Some(address) => if_not_converted(*space, address),
                        None => *space,
                    };
                    let Some((cta, offset)) = self.barrier_place(strand, space, *barrier, lane)? else {
                        continue;
                    };
                    let targets = match mask {
                        Some(mask) => match self.value_at(strand, *mask, lane) {
                            Some(mask) => {
                                self.address_ctas(mask as u32 & 0xFFFF);
                                let mask = mask as u32 & ((1u64 << self.ctas.len()) - 1) as u32;
                                self.masks.insert((strand.step, strand.warp), (offset, mask));
                                mask
                            }
                            None => return Err(Self::stop(strand, "the mask of CTAs is not known")),
                        },
                        None => 1 << cta,
                    };
                    let mut mbarriers = Vec::new();
                    for cta in lanes(targets) {
                        mbarriers.extend(self.usable_mbarrier(strand, (cta as u32, offset)));
                    }
                    for number in &mbarriers {
                        self.mbarriers[*number as usize].promised += 1;
                    }
                    self.submit(strand, Work::Commit(mbarriers), lane);
                }
            }
        }
        Ok(Flow::Next)
    }

    /// The CTAs that an instruction of a group concerns.
    pub(super) fn group(&self, strand: &Strand, pair: bool) -> Vec<u32> {
        let own = self.warps[strand.warp as usize].cta;
        if pair && (own ^ 1) < self.ctas.len() as u32 { vec![own & !1, own | 1] } else { vec![own] }
    }

    /// The column and the lane of an address.
    pub(super) fn tensor_address(
        &mut self,
        strand: &Strand,
        address: Address,
        lane: usize,
    ) -> Result<(u32, u32), Stop> {
        match self.address_at(strand, address, lane) {
            Some(address) => Ok((address as u32 & 0xFFFF, address as u32 >> 16)),
            None => Err(Self::stop(strand, "an address in Tensor Memory is not known")),
        }
    }

    /// The lanes of a load or store; those of other warps are a finding.
    pub(super) fn warp_groups(&mut self, strand: &Strand, lane: u32, count: u32) -> u8 {
        let index = self.warps[strand.warp as usize].index % 4;
        let own = index * 32..index * 32 + 32;
        if lane < own.start || lane + count > own.end {
            let role = self.role(strand.warp);
            let finding = Finding::new(
                Code::WrongLanes,
                strand.step,
                "a warp accesses lanes of Tensor Memory that are those of other warps",
                format!(
                    "{role} may access the lanes {} to {}, not {lane} to {}",
                    own.start,
                    own.end - 1,
                    lane + count - 1
                ),
            );
            self.report(finding);
        }
        let first = (lane / GROUP).min(GROUPS - 1);
        let last = ((lane + count.max(1) - 1) / GROUP).min(GROUPS - 1);
        (first..=last).fold(0, |groups, group| groups | 1 << group)
    }

    pub(super) fn moved_regions(
        &mut self,
        strand: &Strand,
        (shape, num, packed): (LdShape, Num, bool),
        (address, split): (Address, i64),
        lane: usize,
    ) -> Result<(Vec<Region>, u32, u32), Stop> {
        let (column, mut row) = self.tensor_address(strand, address, lane)?;
        let cta = self.warps[strand.warp as usize].cta;
        if !self.is_strict {
            // Shipped kernels leave out the number of the warp, or some of its bits, and mean the warp's own quarter,
            // or the one that the warp's number in the whole CTA would name.
            row %= LANES;
            let quarter = LANES / 4;
            let own = self.warps[strand.warp as usize].index % 4;
            let named = row / quarter;
            if named & !own == 0 {
                row = own * quarter + row % quarter;
            }
        }
        let groups = self.warp_groups(strand, row, shape.lanes());
        let columns = shape.columns(num, packed);
        let mut regions = vec![Region { cta, groups, column, columns }];
        if shape == LdShape::S16x32bx2 {
            // Other columns of the same lanes.
            let column = i64::from(column).saturating_add(split).clamp(0, 0xFFFF) as u32;
            regions.push(Region { cta, groups, column, columns });
        }
        Ok((regions, column, row))
    }

    pub(super) fn tensor_agents(&mut self, strand: &Strand) -> (Agent, Agent) {
        if let Some(agents) = self.warps[strand.warp as usize].tensor.agents {
            return agents;
        }
        let first = self.first_async_agent + self.async_ticks.len() as u32;
        // They belong to the warp for good.
        self.async_ticks.extend([u32::MAX, u32::MAX]);
        self.warps[strand.warp as usize].tensor.agents = Some((first, first + 1));
        (first, first + 1)
    }

    pub(super) fn tensor_load(
        &mut self,
        strand: &Strand,
        form: (LdShape, Num, bool),
        place: (Address, i64),
        (registers, reduction, extra): (Slice, Option<LoadReduction>, Slice),
        active: u32,
    ) -> Result<(), Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let (regions, _, row) = self.moved_regions(strand, form, place, lane)?;
        let (agent, _) = self.tensor_agents(strand);
        let warp = &mut self.warps[strand.warp as usize];
        warp.tensor.loaded += 1;
        let tick = warp.tensor.loaded;
        let mut access = self.access_of(strand, Via::Tensor, false, active);
        (access.agent, access.tick) = (agent, tick);
        access.does = Some(Pipelined { access: asynchrony::Access::Load, accumulator: 0, follows: 0 });
        self.check_regions(strand.step, strand.warp, &regions, true, None);
        self.note_result_read(&regions);
        self.touch_tensor(strand, access, &regions);
        let operands = self.operands(registers);
        // The two halves of `.16x32bx2` are of the same lanes: whether they are reduced together no source says.
        let mut reduced = reduction.filter(|_| form.0 == LdShape::S32x32b && !form.2).map(Reduced::new);
        if regions.iter().all(|region| self.exists(region)) {
            let cells = Moved { cta: regions[0].cta, row, columns: moved_columns(&regions), form };
            for (index, operand) in operands.iter().enumerate() {
                let (mut value, mut unknown) = self.read_cells(&cells, index as u32);
                if self.trace.is_some() {
                    self.trace_cells(strand, false, (*operand, index as u32), &cells);
                }
                if let Some(assumption) = self.assumes.filter(|_| unknown != 0) {
                    self.assume(strand.step, "the elements of Tensor Memory that are not known");
                    if let Some(influence) = &mut self.influence {
                        influence.load_result();
                    }
                    for lane in lanes(std::mem::take(&mut unknown)) {
                        value[lane] = assumption.result();
                    }
                }
                self.set(strand, *operand, active, &value, unknown);
                if let Some(reduced) = &mut reduced {
                    reduced.add(&value, unknown);
                }
            }
        } else {
            self.set_unknown(strand, registers, active);
            reduced = None;
        }
        self.set_unknown(strand, extra, active);
        if let (Some(Reduced { value, unknown, .. }), Some(result)) = (reduced, self.operands(extra).first())
            && self.assumes.is_none()
        {
            self.set(strand, *result, active, &value, unknown);
            if self.trace.is_some() {
                let (shape, first) = (form.0, regions[0].column);
                self.trace_reduced(strand, *result, active, regions[0].cta, |thread| {
                    let cell = move |register| shape.cell(thread, register);
                    let count = operands.len() as u32;
                    (0..count).map(cell).map(|cell| (row + cell.lane, first + cell.column)).collect()
                });
            }
        }
        let warp = &mut self.warps[strand.warp as usize];
        warp.tensor.registers.resize(warp.bits.len(), 0);
        for operand in operands.iter().chain(&self.program.operands[extra.range()]) {
            if let Operand::Register(number) = operand {
                warp.tensor.registers[(strand.base + number) as usize] = tick;
            }
        }
        Ok(())
    }

    /// A thread uses registers: if they were loaded from Tensor Memory, the load is over.
    /// Loads of Tensor Memory whose registers a step reads are over.
    pub(super) fn uses(&mut self, strand: &Strand, step: &Step) {
        let program = self.program;
        let warp = &mut self.warps[strand.warp as usize];
        let Some((agent, _)) = warp.tensor.agents else { return };
        let (clock, loaded) = (&mut warp.clock, &warp.tensor.registers);
        let mut used = |number: u32| {
            if let Some(tick) = loaded.get((strand.base + number) as usize) {
                clock.learn(agent, *tick);
            }
        };
        if let Some((guard, _)) = step.guard {
            used(guard);
        }
        program.each_read(&step.action, &mut |_, operand| {
            if let Operand::Register(number) | Operand::Not(number) = operand {
                used(number);
            }
        });
    }

    pub(super) fn has_loaded(&self, warp: u32) -> bool {
        let warp = &self.warps[warp as usize];
        let loads = warp.tensor.agents.filter(|_| !self.is_strict);
        loads.is_some_and(|(agent, _)| warp.clock.of(agent) < warp.tensor.loaded)
    }

    pub(super) fn tensor_store(
        &mut self,
        strand: &Strand,
        form: (LdShape, Num, bool),
        place: (Address, i64),
        registers: Slice,
        active: u32,
    ) -> Result<(), Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let (regions, _, row) = self.moved_regions(strand, form, place, lane)?;
        let (_, agent) = self.tensor_agents(strand);
        let warp = &mut self.warps[strand.warp as usize];
        warp.tensor.stored += 1;
        let tick = warp.tensor.stored;
        let mut access = self.access_of(strand, Via::Tensor, true, active);
        (access.agent, access.tick) = (agent, tick);
        access.does = Some(Pipelined { access: asynchrony::Access::Store, accumulator: 0, follows: 0 });
        self.check_regions(strand.step, strand.warp, &regions, false, None);
        self.forget_results(&regions);
        self.touch_tensor(strand, access, &regions);
        self.mark_written(&regions);
        if regions.iter().all(|region| self.exists(region)) {
            let cells = Moved { cta: regions[0].cta, row, columns: moved_columns(&regions), form };
            for (index, operand) in self.operands(registers).iter().enumerate() {
                let (value, unknown) = self.value(strand, *operand);
                if self.trace.is_some() {
                    self.trace_cells(strand, true, (*operand, index as u32), &cells);
                }
                for thread in lanes(active & !unknown) {
                    self.write_cell(&cells, (thread as u32, index as u32), value[thread] as u32);
                }
            }
        }
        Ok(())
    }

    /// What the threads of a warp load into a register, and those for which that is not known.
    fn read_cells(&self, moved: &Moved, register: u32) -> (Lanes, u32) {
        let Moved { cta, row, columns, form: (shape, _, packed) } = *moved;
        let cells = &self.ctas[cta as usize].tensor.cells;
        let (mut value, mut unknown): (Lanes, u32) = ([0; 32], u32::MAX);
        if shape == LdShape::S32x32b && !packed && row % 32 == 0 {
            if let Some((all, lost)) = cells.of_warp(row, columns[0] + register) {
                for (value, cell) in value.iter_mut().zip(all) {
                    *value = cell.into();
                }
                unknown = lost;
            }
            return (value, unknown);
        }
        for thread in 0..32 {
            let RegisterCell { lane, column, is_second } = shape.cell(thread, register);
            let (lane, first) = (row + lane, columns[usize::from(is_second)]);
            let cell = if packed {
                let half = |at: u32| cells.get(lane, first + column * 2 + at).map(|cell| cell & 0xFFFF);
                half(0).zip(half(1)).map(|(low, high)| low | high << 16)
            } else {
                cells.get(lane, first + column)
            };
            if let Some(cell) = cell {
                value[thread as usize] = cell.into();
                unknown &= !(1 << thread);
            }
        }
        (value, unknown)
    }

    /// Tells the trace of what the threads of a warp load into a register, or store from it.
    fn trace_cells(
        &mut self,
        strand: &Strand,
        store: bool,
        (operand, register): (Operand, u32),
        moved: &Moved,
    ) {
        let Moved { cta, row, columns, form: (shape, _, packed) } = *moved;
        for thread in 0..32 {
            let RegisterCell { lane, column, is_second } = shape.cell(thread, register);
            let (lane, first) = (row + lane, columns[usize::from(is_second)]);
            let thread = thread as usize;
            if packed {
                for half in 0..2 {
                    let at = (cta, lane, first + column * 2 + half);
                    self.trace_cell(strand, store, (operand, thread, Some(half)), at);
                }
            } else {
                self.trace_cell(strand, store, (operand, thread, None), (cta, lane, first + column));
            }
        }
    }

    /// What a thread stores from a register.
    fn write_cell(&mut self, moved: &Moved, (thread, register): (u32, u32), value: u32) {
        let Moved { cta, row, columns, form: (shape, _, packed) } = *moved;
        let memory = &mut self.ctas[cta as usize].tensor;
        let RegisterCell { lane, column, is_second } = shape.cell(thread, register);
        let (lane, first) = (row + lane, columns[usize::from(is_second)]);
        let count = memory.sizes.columns;
        if packed {
            memory.cells.set(lane, first + column * 2, Some(value & 0xFFFF), count);
            memory.cells.set(lane, first + column * 2 + 1, Some(value >> 16), count);
        } else {
            memory.cells.set(lane, first + column, Some(value), count);
        }
    }

    pub(super) fn exists(&self, region: &Region) -> bool {
        region.column + region.columns <= self.ctas[region.cta as usize].tensor.sizes.columns
    }

    /// What is written holds other values from now on.
    pub(super) fn mark_written(&mut self, regions: &[Region]) {
        for region in regions {
            let memory = &mut self.ctas[region.cta as usize].tensor;
            let lanes = (0..GROUPS)
                .filter(|group| region.groups >> group & 1 != 0)
                .fold(0u128, |all, group| all | ((1u128 << GROUP) - 1) << (group * GROUP));
            let end = (region.column + region.columns).min(memory.sizes.columns);
            let columns = region.column.min(end) as usize..end as usize;
            memory.written[columns].iter_mut().for_each(|groups| *groups |= region.groups);
            self.results.note_written(region.cta);
            memory.cells.forget(lanes, region.column.min(end)..end);
        }
    }

    /// Looks whether what is accessed is allocated, and was written if it is read.
    pub(super) fn check_regions(
        &mut self,
        step: u32,
        warp: u32,
        regions: &[Region],
        reads: bool,
        clock: Option<&Clock>,
    ) {
        let is_load = clock.is_none();
        for region in regions {
            let memory = &self.ctas[region.cta as usize].tensor;
            // What may have happened before it was freed is a race with that.
            let clock = clock.unwrap_or(&self.warps[warp as usize].clock).executed();
            let is_race = memory.freed.iter().any(|freed| {
                freed.meets(region.column, region.columns) && clock.of(freed.agent) < freed.tick
            });
            if is_race {
                continue;
            }
            let (first, last) = (region.column, region.column + region.columns - 1);
            if !memory.is_allocated(region.column, region.columns) {
                let allocations = memory.allocations.clone();
                let role = self.role(warp);
                let mut finding = Finding::new(
                    Code::TensorMemoryUnallocated,
                    step,
                    "columns of Tensor Memory are accessed that are not allocated",
                    format!("{role} accesses the columns {first} to {last} of CTA {}", region.cta),
                );
                for (start, len, step) in allocations {
                    finding = finding.label(
                        step,
                        format!("the columns {start} to {} are allocated here", start + len - 1),
                    );
                }
                self.report(finding);
            } else if reads {
                let written = &memory.written[first as usize..=last as usize];
                let is_missing = |groups: &u8| {
                    let covered = groups & region.groups;
                    if is_load { covered == 0 } else { covered != region.groups }
                };
                // Warps load more than a matrix has, and use only what is of it.
                if is_load && !written.iter().all(is_missing) {
                    continue;
                }
                // What is loaded before there is anything may be left unused, as what decides about that
                // is only assumed.
                if is_load && self.is_assumed && !self.program.parameters.is_empty() {
                    self.results.note_load_of_nothing(step, region.cta);
                    self.assume(step, "what is loaded from Tensor Memory before it is written is not used");
                    continue;
                }
                if let Some(at) = written.iter().position(is_missing) {
                    let role = self.role(warp);
                    let finding = Finding::new(
                        Code::TensorMemoryUninitialized,
                        step,
                        "Tensor Memory is read where nothing was written",
                        format!("nothing was written to column {} of what {role} reads", first + at as u32),
                    );
                    self.report(finding);
                }
            }
        }
    }

    /// Looks for races of an access of a thread.
    pub(super) fn touch_tensor(&mut self, strand: &Strand, access: Access, regions: &[Region]) {
        let clock = std::mem::take(&mut self.warps[strand.warp as usize].clock);
        self.visit_tensor(access, &clock, regions);
        self.warps[strand.warp as usize].clock = clock;
    }

    /// Looks for races in Tensor Memory; which operations of its thread the access follows.
    pub(super) fn visit_tensor(&mut self, access: Access, clock: &Clock, regions: &[Region]) -> u64 {
        if let Some(how) = access.does {
            self.record_columns(Column::Access(how.access), regions, access.step);
        }
        if self.checks == Checks::None {
            return 0;
        }
        let Self { history, ctas, .. } = self;
        let clock = clock.executed();
        let mut visit = Visit::new(history, &clock, access);
        for region in regions {
            visit.memory = region.cta;
            let Region { groups, column, columns, .. } = *region;
            let pieces = (column..column.saturating_add(columns)).flat_map(move |column| {
                let groups = (0..GROUPS).filter(move |group| groups >> group & 1 != 0);
                groups.map(move |group| ((column * GROUPS + group) * GRANULE, GRANULE))
            });
            let shadow = &mut ctas[region.cta as usize].tensor.shadow;
            shadow.access_region(shadow::Region::Cells(groups, column, columns), pieces, &mut visit);
        }
        let (number, conflicts) = (visit.number, visit.conflicts);
        for (conflict, (cta, offset)) in conflicts {
            let column = offset / (GROUPS * GRANULE);
            let place = if self.ctas.len() > 1 {
                format!("column {column} of the Tensor Memory of CTA {cta}")
            } else {
                format!("column {column} of Tensor Memory")
            };
            self.race(number, (conflict, &clock), Code::TensorMemoryRace, &place);
        }
        self.history.access(number).does.map_or(0, |it| it.follows)
    }
}
