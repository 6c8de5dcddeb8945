//! Who has which columns of Tensor Memory.

use super::places::if_not_converted;
use super::tensor::{ALL, Freed, Region};
use super::warp::{Strand, Wait};
use super::{Flow, Machine, Stop};
use crate::clock::Agent;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Address, Operand, Tensor, Where};
use crate::record::Column;
use crate::shadow::Via;

impl Machine<'_> {
    pub(super) fn alloc(
        &mut self,
        strand: &mut Strand,
        pair: bool,
        (space, destination): (Where, Address),
        (columns, exclusive): (Operand, bool),
        active: u32,
    ) -> Result<Flow, Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let Some(columns) = self.value_at(strand, columns, lane) else {
            return Err(Self::stop(strand, "the number of columns is not known"));
        };
        let columns = columns as u32;
        let own = self.warps[strand.warp as usize].cta;
        let sizes = self.ctas[own as usize].tensor.sizes;
        if !sizes.allocates(columns, exclusive) {
            let finding = Finding::new(
                Code::AllocationNeverSatisfied,
                strand.step,
                format!("the number of columns must be {}", sizes.sizes(exclusive)),
                format!("{columns} columns cannot be allocated"),
            );
            self.report(finding);
            return Ok(Flow::Next);
        }
        if let Some(step) = self.ctas[own as usize].tensor.relinquished {
            self.allocates_late(strand.step, step);
        }
        let group = self.group(strand, pair);
        let peer = if group.len() == 2 {
            let Some(index) = self.allocates_with(own, columns) else {
                strand.wait = Wait::Alloc { columns, pair };
                return Ok(Flow::Blocked);
            };
            Some(index)
        } else {
            None
        };
        let free = group.iter().map(|cta| self.ctas[*cta as usize].tensor.free(columns)).max().flatten();
        let is_free = group.iter().all(|cta| self.ctas[*cta as usize].tensor.free(columns).is_some());
        let Some(start) = free.filter(|_| is_free) else {
            strand.wait = Wait::Alloc { columns, pair };
            return Ok(Flow::Blocked);
        };
        for cta in &group {
            self.ctas[*cta as usize].tensor.allocations.push((start, columns, strand.step));
        }
        let warp = &self.warps[strand.warp as usize];
        let (agent, clock) = (warp.agent, &warp.clock);
        let allocated = &self.ctas[own as usize].tensor.allocated;
        let is_smaller = |(agent, tick, _, before): &&(Agent, u32, u32, u32)| {
            *before < columns && clock.of(*agent) >= *tick
        };
        let smaller = allocated.iter().find(is_smaller).map(|(.., step, before)| (*step, *before));
        let tick = clock.of(agent);
        self.ctas[own as usize].tensor.allocated.push((agent, tick, strand.step, columns));
        if let Some(smaller) = smaller {
            self.allocates_more(strand.step, columns, smaller);
        }
        self.epoch += 1;
        let regions: Vec<Region> =
            group.iter().map(|cta| Region { cta: *cta, groups: ALL, column: start, columns }).collect();
        self.record_columns(Column::Allocate, &regions, strand.step);
        self.learn_freed(strand.warp, &group, (start, columns));
        self.write_allocation(strand, (space, destination), lane, start)?;
        if let Some(index) = peer {
            let mut other = self.strands[index].clone();
            self.learn_freed(other.warp, &group, (start, columns));
            let lane = other.first_lane() as usize;
            if let crate::program::Action::Tensor(tensor) = &self.program.steps[other.step as usize].action
                && let Tensor::Alloc { space, destination, .. } = **tensor
            {
                self.write_allocation(&other, (space, destination), lane, start)?;
            }
            other.wait = Wait::None;
            other.step += 1;
            self.meet(&mut other);
            self.strands[index] = other;
        }
        Ok(Flow::Next)
    }

    /// The strand of the other CTA of a pair that waits to allocate as many columns.
    fn allocates_with(&self, own: u32, columns: u32) -> Option<usize> {
        self.strands.iter().position(|other| {
            matches!(other.wait, Wait::Alloc { columns: theirs, pair: true } if theirs == columns)
                && self.warps[other.warp as usize].cta == own ^ 1
        })
    }

    /// Who is given columns that were freed is behind that, and behind what was over by then: they are not given
    /// before. Of what was written elsewhere that says nothing.
    fn learn_freed(&mut self, warp: u32, group: &[u32], (column, columns): (u32, u32)) {
        let Self { ctas, warps, .. } = self;
        let clock = &mut warps[warp as usize].clock;
        for freed in group.iter().flat_map(|cta| &ctas[*cta as usize].tensor.freed) {
            if freed.meets(column, columns) {
                clock.join_executed(&freed.clock);
            }
        }
    }

    /// A CTA gives up the right to allocate: what may be allocated later must not be.
    pub(super) fn relinquish(&mut self, strand: &Strand) {
        let warp = &self.warps[strand.warp as usize];
        let memory = &mut self.ctas[warp.cta as usize].tensor;
        memory.relinquished = memory.relinquished.or(Some(strand.step));
        let is_later = |(agent, tick, ..): &&(Agent, u32, u32, u32)| warp.clock.of(*agent) < *tick;
        let later: Vec<u32> = memory.allocated.iter().filter(is_later).map(|(_, _, step, _)| *step).collect();
        for step in later {
            self.allocates_late(step, strand.step);
        }
    }

    pub(super) fn allocates_late(&mut self, step: u32, relinquished: u32) {
        let finding = Finding::new(
            Code::AllocationNeverSatisfied,
            step,
            "a CTA allocates Tensor Memory after it has given up the right to",
            "nothing orders this before the `relinquish_alloc_permit`",
        )
        .label(relinquished, "the right is given up here");
        self.report(finding);
    }

    fn allocates_more(&mut self, step: u32, columns: u32, (before, fewer): (u32, u32)) {
        let finding = Finding::new(
            Code::AllocationNeverSatisfied,
            step,
            "the number of columns must not increase from one allocation of a CTA to the next",
            format!("{columns} columns are allocated"),
        )
        .label(before, format!("{fewer} were allocated here before"));
        self.report(finding);
    }

    pub(super) fn write_allocation(
        &mut self,
        strand: &Strand,
        (space, destination): (Where, Address),
        lane: usize,
        start: u32,
    ) -> Result<(), Stop> {
        let Some(address) = self.address_at(strand, destination, lane) else {
            return Err(Self::stop(strand, "an address is not known"));
        };
        if let Some((cta, offset)) =
            self.shared_place(strand, if_not_converted(space, address), address, 4, true)
        {
            self.overwrites(strand, cta, (offset, 4));
            self.ctas[cta as usize].shared.write(offset.into(), 4, start.into(), false);
            self.touch(strand, &[(cta, offset, 4)], (true, false), None, 1 << lane);
        }
        Ok(())
    }

    pub(super) fn dealloc(
        &mut self,
        strand: &Strand,
        address: Operand,
        columns: Operand,
        active: u32,
    ) -> Result<(), Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let (Some(address), Some(columns)) =
            (self.value_at(strand, address, lane), self.value_at(strand, columns, lane))
        else {
            return Err(Self::stop(strand, "what is to be freed is not known"));
        };
        let (column, columns) = (address as u32 & 0xFFFF, columns as u32);
        let own = self.warps[strand.warp as usize].cta;
        let allocations = &mut self.ctas[own as usize].tensor.allocations;
        let found = allocations.iter().position(|(start, len, _)| (*start, *len) == (column, columns));
        if let Some(index) = found {
            allocations.remove(index);
            self.epoch += 1;
            let region = Region { cta: own, groups: ALL, column, columns };
            let access = self.access_of(strand, Via::Tensor, true, active);
            self.record_columns(Column::Free, &[region], strand.step);
            self.touch_tensor(strand, access, &[region]);
            let warp = &mut self.warps[strand.warp as usize];
            let clock = warp.clock.clone();
            // What comes behind it whoever is given the columns does not know.
            warp.clock.advance(warp.agent);
            let (agent, tick) = (access.agent, access.tick);
            let freed = &mut self.ctas[own as usize].tensor.freed;
            // Who is behind this is behind what it was behind.
            let known = clock.executed();
            freed.retain(|old| {
                (old.column, old.columns) != (column, columns) || known.of(old.agent) < old.tick
            });
            drop(known);
            freed.push(Freed { column, columns, agent, tick, clock });
            let written = &mut self.ctas[own as usize].tensor.written;
            written[column as usize..(column + columns) as usize].fill(0);
        } else {
            let all = allocations.clone();
            // What starts there was meant.
            allocations.retain(|(start, _, _)| *start != column);
            let mut finding = Finding::new(
                Code::DeallocNotAllocated,
                strand.step,
                "`tcgen05.dealloc` frees what no `alloc` has returned",
                format!("{columns} columns from column {column} on are no allocation"),
            );
            for (start, len, step) in all {
                finding =
                    finding.label(step, format!("{len} columns from column {start} on are allocated here"));
            }
            self.report(finding);
        }
        Ok(())
    }

    /// Whether an allocation that waits can be made now.
    pub(super) fn alloc_ready(&self, strand: &Strand, columns: u32, pair: bool) -> bool {
        let group = self.group(strand, pair);
        let own = self.warps[strand.warp as usize].cta;
        let is_here = group.len() == 1 || self.allocates_with(own, columns).is_some();
        is_here && group.iter().all(|cta| self.ctas[*cta as usize].tensor.free(columns).is_some())
    }

    /// What is still allocated when a CTA ends.
    pub(super) fn check_freed(&mut self, cta: u32) {
        for (start, len, step) in self.ctas[cta as usize].tensor.allocations.clone() {
            let finding = Finding::new(
                Code::TensorMemoryNotFreed,
                step,
                "Tensor Memory is not freed before the CTA ends",
                format!("the columns {start} to {} of CTA {cta} are never freed", start + len - 1),
            );
            self.report(finding);
        }
    }
}
