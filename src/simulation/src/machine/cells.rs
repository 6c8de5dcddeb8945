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
    /// By column; nothing before something is known.
    values: Vec<[u32; LANES]>,
    /// By column: the lanes whose cells are known.
    known: Vec<u128>,
}

impl Cells {
    /// What a cell holds, if that is known.
    pub(super) fn get(&self, lane: u32, column: u32) -> Option<u32> {
        let known = self.known.get(column as usize)?;
        let lane = lane as usize % LANES;
        (known >> lane & 1 != 0).then(|| self.values[column as usize][lane])
    }

    /// What 32 lanes of a column hold, and which of them are not known.
    pub(super) fn of_warp(&self, first: u32, column: u32) -> Option<(&[u32], u32)> {
        let known = self.known.get(column as usize).filter(|known| **known != 0)?;
        let first = first as usize % LANES;
        Some((self.values[column as usize].get(first..first + 32)?, !((known >> first) as u32)))
    }

    /// What the lanes of a column hold, and which of these are known.
    pub(super) fn column(&self, column: u32) -> Option<(&[u32; LANES], u128)> {
        let known = self.known.get(column as usize)?;
        Some((&self.values[column as usize], *known))
    }

    /// The same to be written; nothing if there is no such column of `columns`.
    pub(super) fn column_mut(&mut self, column: u32, columns: u32) -> Option<(&mut [u32; LANES], &mut u128)> {
        if self.known.is_empty() {
            self.values = vec![[0; LANES]; columns as usize];
            self.known = vec![0; columns as usize];
        }
        Some((self.values.get_mut(column as usize)?, self.known.get_mut(column as usize)?))
    }

    /// Writes a cell. `columns` are those of the memory.
    pub(super) fn set(&mut self, lane: u32, column: u32, value: Option<u32>, columns: u32) {
        if self.known.is_empty() && value.is_none() {
            return;
        }
        let Some((values, known)) = self.column_mut(column, columns) else { return };
        let lane = lane as usize % LANES;
        match value {
            Some(value) => {
                values[lane] = value;
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
