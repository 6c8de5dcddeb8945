//! What Tensor Memory holds.

use crate::isa::tensor_memory::TensorMemory as Sizes;

/// Lanes of a CTA's Tensor Memory.
const LANES: usize = Sizes::LANES as usize;

/// The lowest bit of an element in what it takes. In a byte, the ISA's figures 194 to 201 have those of 4 and of 6 bits in
/// the middle: `00xxxx00` and `0xxxxxx0`, as an example of CUTLASS says that tests it (`cp_narrow_a_to_tmem_mma.py`).
pub(super) const fn first_bit(bits: u32, container: u32) -> u32 {
    if container == 8 && bits < 8 { (container - bits) / 2 } else { 0 }
}

/// The cells of a CTA: 32 bits in each lane of each column.
#[derive(Debug, Default)]
pub(super) struct Cells {
    /// Lane by lane, as a multiply has the rows of D; nothing before something is known.
    values: Vec<u32>,
    /// By column: the lanes whose cells are known.
    known: Vec<u128>,
}

impl Cells {
    /// What a cell holds, if that is known.
    pub(super) fn get(&self, lane: u32, column: u32) -> Option<u32> {
        let (lane, column) = (lane as usize % LANES, column as usize);
        let known = self.known.get(column)?;
        (known >> lane & 1 != 0).then(|| self.values[lane * self.known.len() + column])
    }

    /// What 32 lanes of a column hold, and which of them are not known.
    pub(super) fn of_warp(&self, first: u32, column: u32) -> Option<(impl Iterator<Item = u32>, u32)> {
        let (first, column) = (first as usize % LANES, column as usize);
        let known = self.known.get(column).filter(|known| **known != 0)?;
        let lanes = self.values.get(first * self.known.len() + column..)?.iter().step_by(self.known.len());
        Some((lanes.take(32).copied(), !((known >> first) as u32)))
    }

    /// The lanes of some columns whose cells are known; fewer, if there are not so many columns.
    pub(super) fn known(&self, columns: std::ops::Range<usize>) -> &[u128] {
        let end = columns.end.min(self.known.len());
        &self.known[columns.start.min(end)..end]
    }

    /// What the cells of a lane hold in the same columns.
    pub(super) fn row(&self, lane: u32, columns: std::ops::Range<usize>) -> &[u32] {
        let end = columns.end.min(self.known.len());
        let start = lane as usize % LANES * self.known.len();
        &self.values[start + columns.start.min(end)..start + end]
    }

    /// The same to be written. The memory has `count` columns.
    pub(super) fn row_mut(&mut self, lane: u32, columns: std::ops::Range<usize>, count: u32) -> &mut [u32] {
        self.reserve(count);
        let end = columns.end.min(self.known.len());
        let start = lane as usize % LANES * self.known.len();
        &mut self.values[start + columns.start.min(end)..start + end]
    }

    /// The lanes of a column whose cells are known, to be written; nothing if there is no such column of `columns`.
    pub(super) fn known_mut(&mut self, column: u32, columns: u32) -> Option<&mut u128> {
        self.reserve(columns);
        self.known.get_mut(column as usize)
    }

    fn reserve(&mut self, columns: u32) {
        if self.known.is_empty() {
            self.values = vec![0; LANES * columns as usize];
            self.known = vec![0; columns as usize];
        }
    }

    /// Writes a cell. `columns` are those of the memory.
    pub(super) fn set(&mut self, lane: u32, column: u32, value: Option<u32>, columns: u32) {
        if self.known.is_empty() && value.is_none() {
            return;
        }
        self.reserve(columns);
        let count = self.known.len();
        let Some(known) = self.known.get_mut(column as usize) else { return };
        let lane = lane as usize % LANES;
        match value {
            Some(value) => {
                self.values[lane * count + column as usize] = value;
                *known |= 1 << lane;
            }
            None => *known &= !(1 << lane),
        }
    }

    /// Forgets what some lanes of columns hold.
    pub(super) fn forget(&mut self, lanes: u128, columns: std::ops::Range<u32>) {
        let end = (columns.end as usize).min(self.known.len());
        for known in &mut self.known[(columns.start as usize).min(end)..end] {
            *known &= !lanes;
        }
    }
}
