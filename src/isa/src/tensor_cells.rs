//! Which cells of Tensor Memory hold what: the registers of a warp (9.7.16.2.3.1), the rows of a copy (9.7.16.9.2), the
//! elements of an accumulator (9.7.16.10.5).
//!
//! A cell is one lane of one column: 32 bits. What the ISA draws is written here as a formula.

use super::datapath::{DatapathLayout, Organization};
use super::tensor_memory::TensorMemory;
use super::vocabulary::{CpShape, CtaGroup, LdShape, WarpMulticast};

/// Lanes that one warp may access.
const LANES_OF_WARP: u32 = TensorMemory::LANES / 4;

/// The cell of a register, from the lane and the column of the address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterCell {
    /// The lane.
    pub lane: u32,
    /// The column. With `.pack::16b` and `.unpack::16b`, each stands for two columns, of which the lower 16 bits count.
    pub column: u32,
    /// Whether the column counts from the second address of `.16x32bx2`.
    pub is_second: bool,
}

impl LdShape {
    /// The cell of a thread's register in `tcgen05.ld` and `tcgen05.st` (9.7.16.2.3.1). Threads are 0 to 31; registers
    /// count from 0 in the order of the vector.
    pub const fn cell(self, thread: u32, register: u32) -> RegisterCell {
        let (lane, column) = match self {
            Self::S32x32b => (thread, register),
            Self::S16x64b => (thread % 2 * 8 + thread / 4, register * 2 + thread / 2 % 2),
            Self::S16x128b => (thread / 4 + register % 2 * 8, register / 2 * 4 + thread % 4),
            Self::S16x256b => {
                (thread / 4 + register / 2 % 2 * 8, register / 4 * 8 + thread % 4 * 2 + register % 2)
            }
            Self::S16x32bx2 => (thread % 16, register),
        };
        RegisterCell { lane, column, is_second: matches!(self, Self::S16x32bx2) && thread >= 16 }
    }
}

impl CpShape {
    /// Rows of the matrix that is copied.
    pub const fn rows(self) -> u32 {
        match self {
            Self::S128x256b | Self::S128x128b => 128,
            Self::S64x128b => 64,
            Self::S32x128b => 32,
            Self::S4x256b => 4,
        }
    }

    /// The lanes that a row is copied to: those of several warps, with a multicast. `None` for `.4x256b`, of which the
    /// ISA says only that it writes four lanes.
    pub fn lanes(self, multicast: Option<WarpMulticast>, row: u32) -> Option<impl Iterator<Item = u32>> {
        let (first, step, count) = match (self, multicast) {
            (Self::S128x256b | Self::S128x128b, _) => (row, 0, 1),
            (Self::S64x128b, Some(WarpMulticast::Warpx2_01_23)) => {
                (row % LANES_OF_WARP + row / LANES_OF_WARP * 2 * LANES_OF_WARP, LANES_OF_WARP, 2)
            }
            (Self::S64x128b, _) => (row, 2 * LANES_OF_WARP, 2),
            (Self::S32x128b, _) => (row, LANES_OF_WARP, 4),
            (Self::S4x256b, _) => return None,
        };
        Some((0..count).map(move |index| first + index * step))
    }
}

impl DatapathLayout {
    /// CTAs of the group.
    pub const fn ctas(&self) -> u32 {
        match self.cta_group {
            CtaGroup::One => 1,
            CtaGroup::Two => 2,
        }
    }

    /// Rows of A and D that each CTA holds.
    pub const fn rows(&self) -> u32 {
        self.m / self.ctas()
    }

    /// How many parts the columns of D are divided into, each in lanes of its own. A in Tensor Memory is held once
    /// for each of them.
    pub const fn parts(&self) -> u32 {
        match self.organization {
            Organization::FourByOne => 1,
            Organization::TwoByTwo => 2,
            Organization::OneByFour => 4,
        }
    }

    /// The lane of a row of those that a CTA holds, in a part.
    pub fn lane(&self, row: u32, part: u32) -> u32 {
        // Where half of the lanes are used, it is the first or the second half of each warp's.
        let used = self.lanes_of_group();
        let lane = if used < LANES_OF_WARP { row / used * LANES_OF_WARP + row % used } else { row };
        lane + part * self.rows()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantArray;

    use super::*;
    use crate::datapath::DATAPATH_LAYOUTS;
    use crate::vocabulary::Num;

    /// Each cell that an access covers is that of one register of one thread.
    #[test]
    fn registers_and_cells_are_one_to_one() {
        for shape in LdShape::VARIANTS {
            for num in Num::VARIANTS {
                let Some(registers) = shape.vector_length(*num) else { continue };
                let mut cells = BTreeSet::new();
                for (thread, register) in (0..32).flat_map(|it| (0..registers).map(move |other| (it, other)))
                {
                    let cell = shape.cell(thread, register);
                    assert!(cell.lane < shape.lanes() && cell.column < shape.columns(*num, false));
                    assert!(cells.insert((cell.is_second, cell.lane, cell.column)), "{shape} {cell:?}");
                }
                assert_eq!(cells.len() as u32, 32 * registers, "{shape}");
            }
        }
    }

    #[test]
    fn accumulators_fill_the_columns_of_their_layout() {
        for layout in DATAPATH_LAYOUTS {
            let n = 64;
            let mut cells = BTreeSet::new();
            for (row, column) in (0..layout.m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let columns = n / layout.parts();
                let (cta, lane) = (row / layout.rows(), layout.lane(row % layout.rows(), column / columns));
                let column = column % columns;
                assert!(lane < TensorMemory::LANES, "{}", layout.id);
                assert!(column < layout.organization.columns(n), "{}", layout.id);
                // From the other lane that the address may start at, they are there, too.
                assert!(lane % LANES_OF_WARP < layout.lanes_of_group(), "{}", layout.id);
                assert!(cells.insert((cta, lane, column)), "{}", layout.id);
            }
            let full = layout.ctas() * TensorMemory::LANES * layout.organization.columns(n);
            let used = full * layout.lanes_of_group() / LANES_OF_WARP;
            assert_eq!(cells.len() as u32, used, "{}", layout.id);
        }
    }

    #[test]
    fn copies_fill_all_lanes() {
        for shape in CpShape::VARIANTS.iter().filter(|shape| shape.fills_lanes()) {
            let multicasts = shape.multicasts().iter().map(|it| Some(*it));
            for multicast in multicasts.chain(shape.multicasts().is_empty().then_some(None)) {
                let lanes: BTreeSet<u32> = (0..shape.rows())
                    .flat_map(|row| shape.lanes(multicast, row).into_iter().flatten())
                    .collect();
                assert_eq!(lanes, (0..TensorMemory::LANES).collect(), "{shape}");
            }
        }
        let lanes =
            |multicast, row| CpShape::S64x128b.lanes(Some(multicast), row).unwrap().collect::<Vec<_>>();
        assert_eq!(lanes(WarpMulticast::Warpx2_02_13, 33), [33, 97]);
        assert_eq!(lanes(WarpMulticast::Warpx2_01_23, 33), [65, 97]);
    }
}
