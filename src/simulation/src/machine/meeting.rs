//! Threads of a warp that wait for each other.

use super::warp::{Strand, Wait};
use super::{Flow, Machine, Stop};
use crate::program::{Action, NOWHERE, Slice};

impl Machine<'_> {
    /// The strands that wait for a warp.
    pub(super) fn warp_is_here(&self, strand: &Strand, mask: u32, step: u32) -> bool {
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
    pub(super) fn wait_for_warp(&mut self, strand: &mut Strand, mask: u32, step: u32) -> Flow {
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

    pub(super) fn warp_is_here_with(&self, strand: &Strand, mask: u32, step: u32) -> bool {
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
    pub(super) fn gather(
        &mut self,
        strand: &mut Strand,
        sources: Slice,
        active: u32,
    ) -> Result<Option<Flow>, Stop> {
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
}
