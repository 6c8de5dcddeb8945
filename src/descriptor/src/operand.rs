//! Operands of matrix multiplies in shared memory (PTX ISA, "Canonical Layouts").

use std::ops::Range;

use super::swizzle::Swizzle;

/// How an operand lies in shared memory, as its descriptor says. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The address of its start.
    pub start: u32,
    /// From one pattern to the next: across rows where rows are contiguous, otherwise along a row,
    /// where nothing is swizzled. What is swizzled along rows has none.
    pub leading: u32,
    /// From eight rows to the next, or from eight columns.
    pub stride: u32,
    /// How it is swizzled.
    pub swizzle: Swizzle,
    /// Whether a row's elements are contiguous (K-major); otherwise a column's are (MN-major).
    pub is_k_major: bool,
    /// The base offset: at which multiple of 128 within 1024 the pattern of the swizzle starts, 0 to 7 (Table 41).
    pub base: u32,
    /// Whether `leading` is the address of what follows the 128 bytes of a row (9.7.16.3.1.2). Only K-major matrices in
    /// [`Swizzle::Bytes128`] have that.
    pub is_absolute: bool,
}

/// Bytes that lie together in every mode.
const SIXTEEN: u32 = 16;

/// Sixteen bytes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sixteen {
    /// The row (of M or N) of the first element.
    pub row: u32,
    /// Its column (of K).
    pub column: u32,
    /// Where the bytes are.
    pub address: u32,
}

impl Operand {
    /// Where a descriptor of shared memory says that an operand lies (9.7.16.4.1). `None` for a leading dimension that is
    /// an address where none can be (9.7.16.3.1.2.1).
    pub fn of_descriptor(word: u64, is_k_major: bool) -> Option<Self> {
        let bytes = |low: u32| ((word >> low & 0x3FFF) as u32) << 4;
        let (swizzle, is_absolute) = (Swizzle::of_descriptor(word), word >> 52 & 1 != 0);
        let operand = Self {
            start: bytes(0),
            leading: bytes(16),
            stride: bytes(32),
            swizzle,
            is_k_major,
            base: (word >> 49 & 7) as u32,
            is_absolute,
        };
        let is_allowed = is_k_major && swizzle == Swizzle::Bytes128 && operand.base == 0;
        (!is_absolute || is_allowed).then_some(operand)
    }

    /// Where an element is, by its row (M or N) and its column (K). Elements of less than a byte are
    /// asked for two or more at a time.
    pub fn address(&self, row: u32, column: u32, element_bytes: u32) -> u32 {
        let span = self.swizzle.span().unwrap_or(SIXTEEN);
        let is_plain = self.swizzle == Swizzle::None;
        let (start, place) = if self.is_k_major {
            let along = column * element_bytes;
            let lines = row % 8 * span + row / 8 * self.stride;
            let within = self.start % span + along;
            if is_plain {
                (self.start, lines + along % SIXTEEN + along / SIXTEEN * self.leading)
            } else if self.is_absolute && within >= span {
                (self.leading, lines + within - span)
            } else {
                (self.start, lines + along)
            }
        } else {
            let along = row * element_bytes;
            let (pattern, group) =
                if is_plain { (self.stride, self.leading) } else { (self.leading, self.stride) };
            let columns = self.swizzle.columns();
            let place = along % span + along / span * pattern;
            (self.start, place + column % columns * span + column / columns * group)
        };
        // The pattern counts from where it starts.
        let moved = self.base * 128;
        self.swizzle.apply(start.wrapping_add(place).wrapping_sub(moved)).wrapping_add(moved)
    }

    /// All of some rows, `columns` elements of each, that take `bits` bits. Some of the bytes may be of elements beside
    /// these.
    pub fn sixteens(
        &self,
        rows: Range<u32>,
        columns: u32,
        bits: u32,
    ) -> impl Iterator<Item = Sixteen> + use<> {
        let (operand, each) = (*self, (SIXTEEN * 8 / bits.max(1)).max(1));
        let (outer, inner) = if operand.is_k_major {
            (rows, 0..columns)
        } else {
            (0..columns, rows.start / each * each..rows.end)
        };
        outer.flat_map(move |line| {
            inner.clone().step_by(each as usize).map(move |at| {
                let byte = at * bits / 8;
                if operand.is_k_major {
                    Sixteen { row: line, column: at, address: operand.address(line, byte, 1) }
                } else {
                    Sixteen { row: at, column: line, address: operand.address(byte, line, 1) }
                }
            })
        })
    }
}
