//! Where `mma` and `wmma` have the elements of their matrices: "Matrix Fragments for mma.m16n8k16" and its neighbours in
//! the PTX ISA, whose figures are written here as formulas.
//!
//! A warp has a matrix in registers, the same number in each lane. Four lanes, which the ISA calls a group, have a row of
//! A, C and D, and a column of B: its line. A register of 32 bits has one to 32 neighbours of a row of A or of a column of
//! B, the first in its lowest bits; an element of 64 bits has a register of its own.
//!
//! What the fragments of `wmma` hold is not for the ISA to say. Here it is what an H200 has there
//! (`fixtures/hardware/wmma_fragments.txt`).
//!
//! `.m8n8k4` of halves is four multiplies ("Matrix Fragments for mma.m8n8k4 with .f16 floating point type"). Eight lanes
//! have the matrices of each: four of the first sixteen, and those sixteen further. Here the lines of the four are counted
//! one after the other.

/// Lanes of a warp.
const LANES: u32 = 32;
/// Lanes of a group.
const GROUP: u32 = 4;
/// Lines that the groups of a warp have at a time.
const LINES: u32 = 8;

/// A or B: rows of A, columns of B, of `k` elements each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Rows of A or columns of B: a multiple of 8.
    pub lines: u32,
    /// Elements of a line. Of a sparse A, those that are stored.
    pub k: u32,
    /// Bits that an element takes in a register: 1, 4, 8, 16, 32 or 64.
    pub bits: u32,
    spread: Spread,
}

/// How lines lie on the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// Each group has some. A lane has so many lines before it has more of the same: 1 or 2.
    Groups(u32),
    /// Of four multiplies, each lane has a line.
    Line,
    /// Of four multiplies, each lane has one element of four lines.
    Across,
}

/// How many multiplies `.m8n8k4` of halves is.
const MULTIPLIES: u32 = 4;

/// Which of four multiplies a lane is part of, where in a group it is, and the first line that the group has.
const fn place_in_four(lane: u32) -> (u32, u32, u32) {
    (lane % 16 / GROUP, lane % GROUP, lane / 16 * GROUP)
}

impl Factor {
    /// A of a shape. `k` are the elements of a row that are stored.
    pub const fn a(m: u32, k: u32, bits: u32) -> Option<Self> {
        Self::new(m, k, bits, 2)
    }

    /// B of a shape. The wide one of `.m8n32` has the place of an A.
    pub const fn b(n: u32, k: u32, bits: u32) -> Option<Self> {
        Self::new(n, k, bits, if n == 32 { 2 } else { 1 })
    }

    const fn new(lines: u32, k: u32, bits: u32, together: u32) -> Option<Self> {
        if !matches!(bits, 1 | 4 | 8 | 16 | 32 | 64) || !matches!(lines, 8 | 16 | 32) {
            return None;
        }
        let together = if lines == LINES { 1 } else { together };
        let factor = Self { lines, k, bits, spread: Spread::Groups(together) };
        if k == 0 || !k.is_multiple_of(GROUP * factor.per_register()) {
            return None;
        }
        Some(factor)
    }

    /// A or B of `.m8n8k4` of halves, all four of them. `.row` of A and `.col` of B give each lane a line.
    pub const fn of_four(lane_has_line: bool) -> Self {
        let spread = if lane_has_line { Spread::Line } else { Spread::Across };
        Self { lines: MULTIPLIES * LINES, k: 4, bits: 16, spread }
    }

    /// Elements of a register.
    pub const fn per_register(self) -> u32 {
        if self.bits >= 32 { 1 } else { 32 / self.bits }
    }

    /// Registers that a lane needs.
    pub const fn registers(self) -> u32 {
        self.lines * self.k / (LANES * self.per_register())
    }

    /// How many registers of a lane are of the same line.
    const fn along(self) -> u32 {
        self.k / (GROUP * self.per_register())
    }

    /// An element, number `element` of a register of a lane: its line, and where it is in the line.
    pub const fn place(self, lane: u32, register: u32, element: u32) -> (u32, u32) {
        let (multiply, in_group, first) = place_in_four(lane);
        let number = register * self.per_register() + element;
        match self.spread {
            Spread::Groups(together) => {
                let block = register / together % self.along();
                let line = register % together + register / (together * self.along()) * together;
                (lane / GROUP + line * LINES, (lane % GROUP + block * GROUP) * self.per_register() + element)
            }
            Spread::Line => (multiply * LINES + first + in_group, number),
            Spread::Across => (multiply * LINES + first + number, in_group),
        }
    }
}

/// C or D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Rows: 8, 16 or 32.
    pub m: u32,
    /// Columns: likewise.
    pub n: u32,
    /// Those of four multiplies, as whose rows their rows are counted: whether they are halves.
    of_four: Option<bool>,
}

/// An element of C or D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    /// From 0.
    pub row: u32,
    /// From 0.
    pub column: u32,
}

impl Sum {
    /// That of a shape.
    pub const fn new(m: u32, n: u32) -> Option<Self> {
        if matches!((m, n), (8 | 16 | 32, 8) | (16, 16) | (8, 32)) {
            Some(Self { m, n, of_four: None })
        } else {
            None
        }
    }

    /// That of `.m8n8k4` of halves, all four of them. Halves lie in other places than numbers of 32 bits.
    pub const fn of_four(are_halves: bool) -> Self {
        Self { m: MULTIPLIES * LINES, n: LINES, of_four: Some(are_halves) }
    }

    /// How many multiplies there are, with as many lines each.
    pub const fn multiplies(self) -> u32 {
        if self.of_four.is_some() { MULTIPLIES } else { 1 }
    }

    /// The line of B that a row is multiplied by for a column.
    pub const fn line_of_b(self, Element { row, column }: Element) -> u32 {
        row / (self.m / self.multiplies()) * self.n + column
    }

    /// Elements that a lane has. They are in its registers in this order: one in each, or two if they are halves.
    pub const fn elements(self) -> u32 {
        self.m * self.n / LANES
    }

    /// An element: number `element` of those that a lane has.
    pub const fn place(self, lane: u32, element: u32) -> Element {
        if let Some(are_halves) = self.of_four {
            let (multiply, in_group, first) = place_in_four(lane);
            let (row, column) = if are_halves {
                (in_group, element)
            } else {
                ((lane & 1) + (element & 2), (element & 4) + (lane & 2) + (element & 1))
            };
            return Element { row: multiply * LINES + first + row, column };
        }
        // The wide one lies as its transpose does.
        let is_wide = self.n == 32;
        let lines = if is_wide { self.n } else { self.m } / LINES;
        let line = lane / GROUP + element / 2 % lines * LINES;
        let along = lane % GROUP * 2 + element % 2 + element / 2 / lines * LINES;
        if is_wide { Element { row: along, column: line } } else { Element { row: line, column: along } }
    }
}

/// The lane that has the scale factors of a row of A, of 16. `thread` is the thread id of the instruction: the first or the
/// second two lanes of each group have them, one of these those of row r and the other those of row r + 8.
pub const fn scale_lane_of_a(row: u32, thread: u32) -> u32 {
    row % LINES * GROUP + thread % 2 * 2 + row / LINES
}

/// The lane that has the scale factors of a column of B, of 8: one of each group, which the thread id says.
pub const fn scale_lane_of_b(column: u32, thread: u32) -> u32 {
    column * GROUP + thread % GROUP
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The shapes of `mma` that have such fragments, and the bits of an element.
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
        (8, 4, 64),
        (16, 4, 64),
        (16, 16, 64),
        (8, 128, 1),
        (16, 256, 1),
    ];

    /// How many places each element has.
    fn counts(factor: Factor) -> BTreeMap<(u32, u32), usize> {
        let mut counts = BTreeMap::new();
        for (lane, register) in (0..32).flat_map(|it| (0..factor.registers()).map(move |other| (it, other))) {
            for element in 0..factor.per_register() {
                *counts.entry(factor.place(lane, register, element)).or_default() += 1;
            }
        }
        counts
    }

    #[test]
    fn each_element_is_in_one_place() {
        for &(m, k, bits) in SHAPES {
            for factor in [Factor::a(m, k, bits), Factor::b(8, k, bits), Factor::b(8, 2 * k, bits)] {
                let factor = factor.unwrap();
                let all = (0..factor.lines).flat_map(|line| (0..factor.k).map(move |at| ((line, at), 1)));
                assert_eq!(counts(factor), all.collect(), "{factor:?}");
            }
        }
        for (m, n) in [(8, 8), (16, 8), (16, 16), (32, 8), (8, 32)] {
            let sum = Sum::new(m, n).unwrap();
            let mut places: Vec<Element> =
                (0..32).flat_map(|lane| (0..sum.elements()).map(move |at| sum.place(lane, at))).collect();
            places.sort_unstable();
            let all: Vec<Element> =
                (0..m).flat_map(|row| (0..n).map(move |column| Element { row, column })).collect();
            assert_eq!(places, all);
        }
    }

    #[test]
    fn four_multiplies_have_places_of_their_own() {
        for has in [false, true] {
            let (factor, sum) = (Factor::of_four(has), Sum::of_four(has));
            assert_eq!((factor.registers(), sum.elements(), sum.multiplies()), (2, 8, 4));
            let all = (0..32).flat_map(|line| (0..4).map(move |at| ((line, at), 1)));
            assert_eq!(counts(factor), all.collect());
            let mut places = BTreeMap::<Element, u32>::new();
            for (lane, at) in (0..32).flat_map(|lane| (0..8).map(move |at| (lane, at))) {
                let place = sum.place(lane, at);
                // "MMA computation 1: threads 0-3 and 16-19", and so on.
                assert_eq!(place.row / 8, lane % 16 / 4);
                assert_eq!(sum.line_of_b(place), place.row / 8 * 8 + place.column);
                *places.entry(place).or_default() += 1;
            }
            assert_eq!((places.len(), places.values().max()), (256, Some(&1)));
        }
    }

    #[test]
    fn elements_are_where_the_isa_says() {
        // "row = groupID for a0, a1, a4, a5, else groupID + 8; col = threadID_in_group * 2 + (i & 1), + 8 from a4 on".
        let halves = Factor::a(16, 16, 16).unwrap();
        for lane in 0..32 {
            for i in 0..8 {
                let row = lane / 4 + if matches!(i, 0 | 1 | 4 | 5) { 0 } else { 8 };
                let column = lane % 4 * 2 + i % 2 + if i >= 4 { 8 } else { 0 };
                assert_eq!(halves.place(lane, i / 2, i % 2), (row, column));
            }
        }
        // "row = groupID for i < 8 and 16 <= i < 24; col = threadID_in_group * 8 + (i & 7), + 32 from 16 on".
        let nibbles = Factor::a(16, 64, 4).unwrap();
        for lane in 0..32 {
            for i in 0..32 {
                let row = lane / 4 + if i < 8 || (16..24).contains(&i) { 0 } else { 8 };
                let column = lane % 4 * 8 + i % 8 + if i >= 16 { 32 } else { 0 };
                assert_eq!(nibbles.place(lane, i / 8, i % 8), (row, column));
            }
        }
    }

    #[test]
    fn other_shapes_have_none() {
        for (lines, k, bits) in [(4, 16, 16), (16, 12, 8), (0, 8, 8), (16, 8, 128), (24, 16, 16)] {
            assert_eq!(Factor::a(lines, k, bits), None);
        }
        assert_eq!(Sum::new(16, 32), None);
    }
}
