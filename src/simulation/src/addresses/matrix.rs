//! Matrices in the registers of a warp: `ldmatrix`, `stmatrix`.
//!
//! A matrix of 16-bit elements has eight rows of eight elements, 16 bytes each. The addresses of its rows are those of
//! eight lanes: lanes 0 to 7 for the first matrix, 8 to 15 for the second, and so on. Matrix `n` is
//! register `n` of each lane: two elements of a row, or of a column with `.trans`.

/// A part of a register, and where it is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The lane whose address is that of the row.
    pub row: u32,
    /// The byte in that row.
    pub byte: u32,
    /// How many bytes.
    pub bytes: u32,
    /// The first bit in the register.
    pub bit: u32,
    /// The first bit in the first byte.
    pub shift: u32,
}

/// What a lane's register number `matrix` of an `m8n8` of 16-bit elements is made of.
pub fn eight_by_eight(lane: u32, matrix: u32, transposed: bool) -> impl Iterator<Item = Place> {
    let first = 8 * matrix;
    let (major, minor) = (lane / 4, lane % 4);
    let count = if transposed { 2 } else { 1 };
    (0..count).map(move |part| {
        if transposed {
            Place { row: first + 2 * minor + part, byte: 2 * major, bytes: 2, bit: 16 * part, shift: 0 }
        } else {
            Place { row: first + major, byte: 4 * minor, bytes: 4, bit: 0, shift: 0 }
        }
    })
}

/// What a lane's register of a transposed `m16n16` of bytes is made of. A matrix has 16 rows, whose
/// addresses are those of 16 lanes, and two registers in each lane.
pub fn sixteen_by_sixteen(lane: u32, register: u32) -> impl Iterator<Item = Place> {
    let (matrix, half) = (register / 2, register % 2);
    let (column, group) = (lane / 4, lane % 4);
    (0..4).map(move |part| Place {
        row: 16 * matrix + 4 * group + part,
        byte: column + 8 * half,
        bytes: 1,
        bit: 8 * part,
        shift: 0,
    })
}

/// What a lane's register number `matrix` of a transposed `m16n8` of bytes is made of. In memory, such a matrix has
/// eight rows of 16 bytes, whose addresses are those of eight lanes.
pub fn sixteen_by_eight(lane: u32, matrix: u32) -> impl Iterator<Item = Place> {
    let (column, group) = (lane / 4, lane % 4);
    (0..4).map(move |part| Place {
        row: 8 * matrix + 2 * group + part % 2,
        byte: column + part / 2 * 8,
        bytes: 1,
        bit: 8 * part,
        shift: 0,
    })
}

/// What a lane's register is made of where elements of so many bits are expanded to bytes. The elements of a row lie next
/// to each other from its start on, 16 of them; padding follows. Four lanes have a row of an `m8n16`, each four columns;
/// a transposed `m16n16` lies in registers as one of bytes does.
pub fn expanded(lane: u32, register: u32, bits: u32, transposed: bool) -> impl Iterator<Item = Place> {
    let columns = (0..4).map(move |part| (8 * register + lane / 4, 4 * (lane % 4) + part, 8 * part));
    let rows = sixteen_by_sixteen(lane, register).map(|place| (place.row, place.byte, place.bit));
    let rows = rows.filter(move |_| transposed);
    columns.filter(move |_| !transposed).chain(rows).map(move |(row, element, bit)| {
        let (byte, shift) = (bits * element / 8, bits * element % 8);
        Place { row, byte, bytes: (shift + bits).div_ceil(8), bit, shift }
    })
}
