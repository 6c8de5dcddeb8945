//! Where `mma.sync` has the elements of its matrices: "Matrix Fragments for mma.m16n8k16" and its neighbours in the PTX
//! ISA, whose figures are written here as formulas.
//!
//! A warp has a matrix in registers of 32 bits, the same number in each lane. Four lanes, which the ISA calls a group,
//! have a row of A, C and D, and a column of B. A register has one to eight neighbours of a row of A or of a column of
//! B, the first in its lowest bits. `.m8n8k4` of halves, for which each quarter of a warp has matrices of its own, is
//! not written here.

/// An element of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    /// From 0.
    pub row: u32,
    /// From 0.
    pub column: u32,
}

/// The fragments of a shape whose M is 8 or 16 and whose N is 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// Rows of A, C and D: 8 or 16.
    pub m: u32,
    /// Columns of A and rows of B.
    pub k: u32,
    /// Bits that an element of A or B takes in a register: 4, 8, 16 or 32.
    pub bits: u32,
}

/// Columns of B, C and D.
const N: u32 = 8;
/// Lanes of a group.
const GROUP: u32 = 4;
/// Rows that the groups of a warp have at a time.
const ROWS: u32 = 8;

impl Fragments {
    /// Those of a shape, if it has such.
    pub const fn new(m: u32, n: u32, k: u32, bits: u32) -> Option<Self> {
        if !matches!(bits, 4 | 8 | 16 | 32) || n != N || !matches!(m, 8 | 16) {
            return None;
        }
        let unit = GROUP * (32 / bits);
        if k == 0 || !k.is_multiple_of(unit) || k > 2 * unit {
            return None;
        }
        // Four matrices at a time.
        if m == 8 && bits == 16 {
            return None;
        }
        Some(Self { m, k, bits })
    }

    /// Elements of A and B in a register.
    pub const fn per_register(self) -> u32 {
        32 / self.bits
    }

    /// Registers of A.
    pub const fn registers_of_a(self) -> u32 {
        self.m / ROWS * self.registers_of_b()
    }

    /// Registers of B.
    pub const fn registers_of_b(self) -> u32 {
        self.k / (GROUP * self.per_register())
    }

    /// Elements of C and D that a lane has. They are in its registers in this order: one in each, or two if they
    /// are halves.
    pub const fn elements_of_d(self) -> u32 {
        self.m * N / 32
    }

    /// An element of A: number `element` of a register of a lane.
    pub const fn a(self, lane: u32, register: u32, element: u32) -> Element {
        let upper = self.m / ROWS;
        let block = register / upper;
        Element {
            row: lane / GROUP + register % upper * ROWS,
            column: (lane % GROUP + block * GROUP) * self.per_register() + element,
        }
    }

    /// An element of B: number `element` of a register of a lane.
    pub const fn b(self, lane: u32, register: u32, element: u32) -> Element {
        Element {
            row: (lane % GROUP + register * GROUP) * self.per_register() + element,
            column: lane / GROUP,
        }
    }

    /// An element of C or D: number `element` of those that a lane has.
    pub const fn d(self, lane: u32, element: u32) -> Element {
        Element { row: lane / GROUP + element / 2 * ROWS, column: lane % GROUP * 2 + element % 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shapes of the ISA that have such fragments, and the bits of an element.
    const SHAPES: &[(u32, u32, u32)] = &[
        (16, 8, 16),
        (16, 16, 16),
        (16, 4, 32),
        (16, 8, 32),
        (16, 16, 8),
        (16, 32, 8),
        (8, 16, 8),
        (16, 32, 4),
        (16, 64, 4),
        (8, 32, 4),
    ];

    #[test]
    fn each_element_is_in_one_place() {
        for &(m, k, bits) in SHAPES {
            let fragments = Fragments::new(m, 8, k, bits).unwrap();
            let all = |registers: u32, elements: u32, element: &dyn Fn(u32, u32, u32) -> Element| {
                let mut places: Vec<Element> = (0..32)
                    .flat_map(|lane| (0..registers).map(move |register| (lane, register)))
                    .flat_map(|(lane, register)| (0..elements).map(move |at| (lane, register, at)))
                    .map(|(lane, register, at)| element(lane, register, at))
                    .collect();
                places.sort_unstable();
                places
            };
            let matrix = |rows: u32, columns: u32| -> Vec<Element> {
                (0..rows).flat_map(|row| (0..columns).map(move |column| Element { row, column })).collect()
            };
            let count = fragments.per_register();
            let a =
                all(fragments.registers_of_a(), count, &|lane, register, at| fragments.a(lane, register, at));
            assert_eq!(a, matrix(m, k), "A of m{m}n8k{k}, {bits} bits");
            let b =
                all(fragments.registers_of_b(), count, &|lane, register, at| fragments.b(lane, register, at));
            assert_eq!(b, matrix(k, 8), "B of m{m}n8k{k}, {bits} bits");
            let d = all(1, fragments.elements_of_d(), &|lane, _, at| fragments.d(lane, at));
            assert_eq!(d, matrix(m, 8), "D of m{m}n8k{k}");
        }
    }

    #[test]
    fn elements_are_where_the_isa_says() {
        // "row = groupID for a0, a1, a4, a5, else groupID + 8; col = threadID_in_group * 2 + (i & 1), + 8 from a4 on".
        let halves = Fragments::new(16, 8, 16, 16).unwrap();
        for lane in 0..32 {
            for i in 0..8 {
                let row = lane / 4 + if matches!(i, 0 | 1 | 4 | 5) { 0 } else { 8 };
                let column = lane % 4 * 2 + i % 2 + if i >= 4 { 8 } else { 0 };
                assert_eq!(halves.a(lane, i / 2, i % 2), Element { row, column });
            }
        }
        // "row = groupID for i < 8 and 16 <= i < 24; col = threadID_in_group * 8 + (i & 7), + 32 from 16 on".
        let nibbles = Fragments::new(16, 8, 64, 4).unwrap();
        for lane in 0..32 {
            for i in 0..32 {
                let row = lane / 4 + if i < 8 || (16..24).contains(&i) { 0 } else { 8 };
                let column = lane % 4 * 8 + i % 8 + if i >= 16 { 32 } else { 0 };
                assert_eq!(nibbles.a(lane, i / 8, i % 8), Element { row, column });
            }
        }
    }

    #[test]
    fn other_shapes_have_none() {
        for (m, n, k, bits) in
            [(8, 8, 4, 16), (16, 8, 64, 8), (16, 16, 16, 16), (16, 8, 16, 64), (0, 8, 0, 8)]
        {
            assert_eq!(Fragments::new(m, n, k, bits), None);
        }
    }
}
