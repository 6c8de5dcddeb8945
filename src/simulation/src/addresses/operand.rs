//! Operands of matrix multiplies in shared memory (PTX ISA, "Canonical Layouts").

use super::Swizzle;

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
}

impl Operand {
    /// Where a descriptor of shared memory says that an operand lies (9.7.16.4.1). A base offset, and a leading dimension
    /// that is an address, are not looked at.
    pub const fn of_descriptor(word: u64, is_k_major: bool) -> Self {
        const fn bytes(word: u64, low: u32) -> u32 {
            (((word >> low) & 0x3FFF) as u32) << 4
        }
        Self {
            start: bytes(word, 0),
            leading: bytes(word, 16),
            stride: bytes(word, 32),
            swizzle: Swizzle::of_descriptor(word),
            is_k_major,
        }
    }

    /// Where an element is, by its row (M or N) and its column (K). Elements of less than a byte are
    /// asked for two or more at a time.
    pub const fn address(&self, row: u32, column: u32, element_bytes: u32) -> u32 {
        let span = match self.swizzle.span() {
            Some(span) => span,
            None => 16,
        };
        let is_plain = matches!(self.swizzle, Swizzle::None);
        let place = if self.is_k_major {
            let along = column * element_bytes;
            let along = if is_plain { along % 16 + along / 16 * self.leading } else { along };
            row % 8 * span + row / 8 * self.stride + along
        } else {
            let along = row * element_bytes;
            let (pattern, eight) =
                if is_plain { (self.stride, self.leading) } else { (self.leading, self.stride) };
            along % span + along / span * pattern + column % 8 * span + column / 8 * eight
        };
        self.swizzle.apply(self.start + place)
    }
}
