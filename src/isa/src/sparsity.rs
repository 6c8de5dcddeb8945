//! Sparse matrices: what metadata say (9.7.16.10.8; "Sparse matrix storage" of `mma.sp`), and where they lie.
//!
//! A row of a sparse A is divided into chunks. Four bits of metadata say which elements of a chunk are stored; the
//! others are zero.

use super::vocabulary::Kind;

/// How many elements of a chunk are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// One of two: 32-bit elements.
    OneOfTwo,
    /// Two of four: elements of 16 and 8 bits.
    TwoOfFour,
    /// Four of eight, in two pairs: 4-bit elements.
    PairsOfEight,
}

/// Which pairs of indices mean something: the behavior of others is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indices {
    /// Those that 9.7.16.10.8 lists for `tcgen05.mma.sp`.
    Listed,
    /// Any two that differ: those of `mma.sp`.
    Differing,
    /// The first below the second: those of `mma.sp::ordered_metadata`.
    Ordered,
}

impl Indices {
    const fn have_meaning(self, first: u32, second: u32) -> bool {
        match self {
            // All in order, and 0b0110.
            Self::Listed => first < second || (first == 2 && second == 1),
            Self::Differing => first != second,
            Self::Ordered => first < second,
        }
    }
}

/// Bits of metadata of a chunk.
pub const BITS_OF_CHUNK: u32 = 4;

impl Granularity {
    /// That of a `tcgen05.mma.sp` (the table of 9.7.16.10.8).
    pub const fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Tf32 => Self::OneOfTwo,
            Kind::F16 | Kind::F8f6f4 | Kind::I8 | Kind::Mxf8f6f4 | Kind::Ti16 => Self::TwoOfFour,
            Kind::Mxf4 | Kind::Mxf4nvf4 => Self::PairsOfEight,
        }
    }

    /// That of a `mma.sp` whose elements take so many bits of a register.
    pub const fn of_bits(bits: u32) -> Option<Self> {
        match bits {
            4 => Some(Self::PairsOfEight),
            8 | 16 => Some(Self::TwoOfFour),
            32 => Some(Self::OneOfTwo),
            _ => None,
        }
    }

    /// Elements of a chunk.
    pub const fn chunk(self) -> u32 {
        match self {
            Self::OneOfTwo => 2,
            Self::TwoOfFour => 4,
            Self::PairsOfEight => 8,
        }
    }

    /// Bits of metadata of a row of `k` elements.
    pub const fn bits_of_row(self, k: u32) -> u32 {
        k / self.chunk() * BITS_OF_CHUNK
    }

    /// Where in the chunk the stored elements are, in the order in which they are stored, as four bits say.
    ///
    /// Each half of the bits is an index, the lower half the first one. One of two elements is the first for 0b0100, and
    /// the second for 0b1110. `None` for bits that mean nothing.
    pub fn positions(self, indices: Indices, bits: u32) -> Option<impl Iterator<Item = u32>> {
        let (first, second) = (bits & 3, bits >> 2 & 3);
        let (places, count, each) = match self {
            Self::OneOfTwo if bits == 0b0100 => ([0, 0], 1, 1),
            Self::OneOfTwo if bits == 0b1110 => ([1, 1], 1, 1),
            Self::OneOfTwo => return None,
            Self::TwoOfFour | Self::PairsOfEight if !indices.have_meaning(first, second) => return None,
            Self::TwoOfFour => ([first, second], 2, 1),
            Self::PairsOfEight => ([first * 2, second * 2], 2, 2),
        };
        Some(places.into_iter().take(count).flat_map(move |place| place..place + each))
    }
}

/// Where the metadata of a sparse A lie in Tensor Memory (9.7.16.10.8.4): for the `chunk`-th four bits of a row, the lane,
/// the column, and the lowest bit. `of_row` are the bits of metadata that a row has; `row` counts in the CTA.
///
/// A row of 64 bits lies in its own lane. Of 32 bits, the halves of rows r and r + 8 share two lanes: the lower half of
/// the cell is that of row r.
pub const fn metadata_cell(row: u32, chunk: u32, of_row: u32) -> (u32, u32, u32) {
    let bit = chunk * BITS_OF_CHUNK;
    if of_row > 32 {
        return (row, bit / 32, bit % 32);
    }
    (row / 16 * 16 + row % 8 + bit / 16 * 8, 0, bit % 16 + row / 8 % 2 * 16)
}

/// Where the metadata of `mma.sp` are: for the `chunk`-th four bits of a row of 16, the lane and the lowest bit of its
/// register. `of_row` are the bits of metadata that a row has: 16, 32 or 64; `bits` those of an element.
///
/// One lane of a group of four has those of 16 bits, two have those of 32, and all those of 64. The sparsity selector
/// says which: lane 0 to 3, or the first or the second two. Of two lanes, each has half of rows r and r + 8 if the
/// elements have 16 or 32 bits, and otherwise one row.
pub const fn metadata_lane(row: u32, chunk: u32, (of_row, bits): (u32, u32), selector: u32) -> (u32, u32) {
    let (group, half, bit) = (row % 8 * 4, row / 8, chunk * BITS_OF_CHUNK);
    match of_row {
        ..=16 => (group + selector % 4, bit + half * 16),
        17..=32 if bits >= 16 => (group + selector % 2 * 2 + bit / 16, bit % 16 + half * 16),
        17..=32 => (group + selector % 2 * 2 + half, bit),
        _ => (group + half + bit / 32 * 2, bit % 32),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn chunks_have_as_many_elements_as_their_granularity_says() {
        let all = |granularity: Granularity, indices| -> Vec<Vec<u32>> {
            let positions = |bits| Some(granularity.positions(indices, bits)?.collect());
            (0..16).filter_map(positions).collect()
        };
        assert_eq!(all(Granularity::OneOfTwo, Indices::Differing), [[0], [1]]);
        let pairs = |indices| all(Granularity::TwoOfFour, indices);
        assert_eq!(pairs(Indices::Ordered), [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]);
        assert_eq!(pairs(Indices::Listed), [[0, 1], [2, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]);
        assert_eq!(pairs(Indices::Differing).len(), 12);
        // "0b1001": the second pair and the third.
        let positions = Granularity::PairsOfEight.positions(Indices::Listed, 0b1001).unwrap();
        assert_eq!(positions.collect::<Vec<u32>>(), [2, 3, 4, 5]);
        for kind in [Kind::Tf32, Kind::F16, Kind::I8, Kind::Mxf4] {
            let granularity = Granularity::of_kind(kind);
            assert_eq!(granularity.bits_of_row(64), 4 * 64 / granularity.chunk());
        }
    }

    #[test]
    fn metadata_fill_their_columns() {
        for (of_row, columns) in [(32, 1), (64, 2)] {
            let mut bits = BTreeSet::new();
            for (row, chunk) in (0..128).flat_map(|row| (0..of_row / 4).map(move |chunk| (row, chunk))) {
                let (lane, column, bit) = metadata_cell(row, chunk, of_row);
                assert!(lane < 128 && column < columns && bit % 4 == 0 && bit < 32);
                assert!(bits.insert((lane, column, bit)));
            }
            assert_eq!(bits.len() as u32, 128 * columns * 8);
        }
    }

    #[test]
    fn metadata_of_a_warp_have_places_of_their_own() {
        for (of_row, of_element, selectors) in [(16, 16, 4), (32, 32, 2), (32, 8, 2), (64, 4, 1)] {
            let mut bits = BTreeSet::new();
            for (selector, row) in (0..selectors).flat_map(|it| (0..16).map(move |row| (it, row))) {
                for chunk in 0..of_row / 4 {
                    let (lane, bit) = metadata_lane(row, chunk, (of_row, of_element), selector);
                    assert!(lane < 32 && bit < 32 && bits.insert((lane, bit)));
                }
            }
            assert_eq!(bits.len(), 32 * 8);
        }
    }
}
