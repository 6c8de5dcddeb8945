//! Tables 54 and 55: which scale vector sizes a kind has.

use std::ops::Range;

use super::vocabulary::{Kind, ScaleVectorSize};

/// The sizes that go with `kind`, as the tables list them; none for kinds that do not scale.
pub const fn allowed(kind: Kind) -> &'static [ScaleVectorSize] {
    match kind {
        Kind::Mxf8f6f4 => &[ScaleVectorSize::X1, ScaleVectorSize::Block32],
        Kind::Mxf4 => &[ScaleVectorSize::X2, ScaleVectorSize::Block32],
        Kind::Mxf4nvf4 => {
            &[ScaleVectorSize::X2, ScaleVectorSize::X4, ScaleVectorSize::Block16, ScaleVectorSize::Block32]
        }
        Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 | Kind::Ti16 => &[],
    }
}

/// How many scale factors a row of A or a column of B has (Table 54).
pub const fn count(kind: Kind, size: ScaleVectorSize, k: u32) -> u32 {
    match (kind, size, k) {
        (Kind::Mxf8f6f4, ..) => 1,
        (_, ScaleVectorSize::X4 | ScaleVectorSize::Block16, 96) => 6,
        (_, ScaleVectorSize::X4 | ScaleVectorSize::Block16, _) => 4,
        (_, ScaleVectorSize::X1 | ScaleVectorSize::X2 | ScaleVectorSize::Block32, 96) => 3,
        (_, ScaleVectorSize::X1 | ScaleVectorSize::X2 | ScaleVectorSize::Block32, _) => 2,
    }
}

/// Where a scale factor lies (9.7.16.10.7.2 and .3): for the `number`-th one of a row of A or column of B, the lane, the
/// column and the byte. `lines` are the rows or columns that lie together; each quarter of the lanes holds all of them.
///
/// 32 lines lie in the lanes of a column, the next in the next one. The id is the byte of the first factor. What does
/// not fit the four bytes follows the columns of all lines, which are a multiple of four.
pub const fn cell(line: u32, number: u32, id: u32, lines: u32) -> (u32, u32, u32) {
    let at = id + number;
    (line % 32, at / 4 * (lines.div_ceil(128) * 4) + line / 32, at % 4)
}

/// The columns that so many scale factors of each line lie in, from the first one on: see [`cell`].
pub fn columns(count: u32, id: u32, lines: u32) -> impl Iterator<Item = Range<u32>> {
    let group = move |at: u32| at / 4 * (lines.div_ceil(128) * 4);
    let groups = (id / 4..(id + count).div_ceil(4)).map(move |at| group(at * 4));
    groups.map(move |first| first..first + lines.div_ceil(32))
}

/// The size that a multiply without one has.
pub const fn default(kind: Kind) -> Option<ScaleVectorSize> {
    match kind {
        Kind::Mxf8f6f4 | Kind::Mxf4 => Some(ScaleVectorSize::Block32),
        Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 | Kind::Ti16 | Kind::Mxf4nvf4 => None,
    }
}

/// The name of the same size that family-specific targets know, too.
pub const fn portable(size: ScaleVectorSize) -> Option<ScaleVectorSize> {
    match size {
        ScaleVectorSize::X1 | ScaleVectorSize::X2 => Some(ScaleVectorSize::Block32),
        ScaleVectorSize::X4 => Some(ScaleVectorSize::Block16),
        ScaleVectorSize::Block16 | ScaleVectorSize::Block32 => None,
    }
}

/// Whether the size has to be written: mxf4nvf4 has no default (9.7.16.10.9.1).
pub const fn must_be_stated(kind: Kind) -> bool {
    matches!(kind, Kind::Mxf4nvf4)
}

/// The scale factor ids that select something for this size and K (9.7.16.10.7.2 and .3).
///
/// `None` where the ISA says nothing: the longer K that PTX ISA 9.4 has on `sm_107`.
pub const fn ids(kind: Kind, size: ScaleVectorSize, k: u32, sparse: bool) -> Option<&'static [u32]> {
    let blocks_of_16 = match size {
        ScaleVectorSize::X4 | ScaleVectorSize::Block16 => true,
        ScaleVectorSize::X1 | ScaleVectorSize::X2 | ScaleVectorSize::Block32 => false,
    };
    match kind {
        Kind::Mxf8f6f4 => Some(&[0, 1, 2, 3]),
        Kind::Mxf4 | Kind::Mxf4nvf4 => match (k, sparse, blocks_of_16) {
            (64, false, true) | (128, true, true) => Some(&[0]),
            (64, false, false) | (128, true, false) | (96, false, true) => Some(&[0, 2]),
            (96, false, false) => Some(&[0, 1, 2, 3]),
            _ => None,
        },
        Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 | Kind::Ti16 => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn columns_are_those_of_the_cells() {
        for (lines, count, id) in [(128, 1, 3), (64, 2, 2), (256, 4, 0), (32, 6, 0), (192, 6, 2), (8, 3, 1)] {
            let cells = (0..lines).flat_map(|line| (0..count).map(move |it| cell(line, it, id, lines).1));
            let all: BTreeSet<u32> = columns(count, id, lines).flatten().collect();
            assert_eq!(all, cells.collect(), "{lines} lines, {count} factors, id {id}");
        }
    }
}
