//! Results of multiplies, and whether anything reads them.
//!
//! Multiplies that add to the same accumulator make one result. It is read by a `tcgen05.ld`, or by a multiply that takes it
//! as its matrix A.

use std::collections::{BTreeMap, BTreeSet};

use super::Machine;
use super::tensor::{GROUPS, Region};
use crate::program::NOWHERE;

/// The results of a run, by the multiplies that make them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// By step of a multiply: another one of the same result, or itself.
    others: BTreeMap<u32, u32>,
    /// Multiplies whose results are read.
    read: BTreeSet<u32>,
}

impl Results {
    fn first(&self, step: u32) -> u32 {
        let mut at = step;
        while let Some(other) = self.others.get(&at).copied().filter(|other| *other != at) {
            at = other;
        }
        at
    }

    /// Two multiplies make the same result.
    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first(one), self.first(other));
        self.others.insert(one.max(other), one.min(other));
        self.others.entry(one.min(other)).or_insert(one.min(other));
    }

    /// Adds what another cluster did.
    pub(crate) fn add(&mut self, more: &Self) {
        for (one, other) in &more.others {
            self.join(*one, *other);
        }
        self.read.extend(&more.read);
    }

    /// The last multiply of each result that nothing reads, where others are read. A kernel that reads none measures time.
    pub(crate) fn unread(&self) -> Vec<u32> {
        let read: BTreeSet<u32> = self.read.iter().map(|step| self.first(*step)).collect();
        if read.is_empty() {
            return Vec::new();
        }
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        for step in self.others.keys() {
            last.insert(self.first(*step), *step);
        }
        last.into_iter().filter(|(first, _)| !read.contains(first)).map(|(_, step)| step).collect()
    }
}

impl Machine<'_> {
    /// The cells of a region, as places among those of their CTA.
    fn cells_of(region: &Region, columns: u32) -> impl Iterator<Item = usize> + use<> {
        let (groups, end) = (region.groups, (region.column + region.columns).min(columns));
        let columns = region.column.min(end)..end;
        columns.flat_map(move |column| {
            (0..GROUPS)
                .filter(move |group| groups >> group & 1 != 0)
                .map(move |group| (column * GROUPS + group) as usize)
        })
    }

    /// A multiply writes its result. `adds`: to what was there.
    pub(super) fn note_result(&mut self, step: u32, regions: &[Region], adds: bool) {
        for region in regions {
            let memory = &mut self.ctas[region.cta as usize].tensor;
            let columns = memory.sizes.columns;
            memory.makers.resize((columns * GROUPS) as usize, NOWHERE);
            self.results.join(step, step);
            // Mostly all cells have the same maker.
            let mut joined = step;
            for cell in Self::cells_of(region, columns) {
                let maker = std::mem::replace(&mut memory.makers[cell], step);
                if adds && maker != NOWHERE && maker != joined {
                    self.results.join(maker, step);
                    joined = maker;
                }
            }
        }
    }

    /// Something reads Tensor Memory.
    pub(super) fn note_result_read(&mut self, regions: &[Region]) {
        for region in regions {
            let memory = &self.ctas[region.cta as usize].tensor;
            let mut inserted = NOWHERE;
            for cell in Self::cells_of(region, memory.sizes.columns) {
                if let Some(maker) = memory.makers.get(cell).copied().filter(|maker| *maker != inserted) {
                    if maker != NOWHERE {
                        self.results.read.insert(maker);
                    }
                    inserted = maker;
                }
            }
        }
    }

    /// Something else writes Tensor Memory.
    pub(super) fn forget_results(&mut self, regions: &[Region]) {
        for region in regions {
            let memory = &mut self.ctas[region.cta as usize].tensor;
            for cell in Self::cells_of(region, memory.sizes.columns) {
                if let Some(maker) = memory.makers.get_mut(cell) {
                    *maker = NOWHERE;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Results;

    #[test]
    fn multiplies_that_add_make_one_result() {
        let mut results = Results::default();
        for step in [3, 5, 7, 9] {
            results.join(step, step);
        }
        results.join(5, 3);
        results.join(9, 7);
        assert_eq!(results.unread(), [0; 0]);
        results.read.insert(5);
        assert_eq!(results.unread(), [9]);
        let mut other = Results::default();
        other.join(7, 7);
        other.read.insert(7);
        results.add(&other);
        assert_eq!(results.unread(), [0; 0]);
    }
}
