//! Boxes of tensors (PTX ISA, "Tiled Mode").

use super::Swizzle;

/// The most dimensions that a tensor has: one more where its channels are interleaved.
const MOST_DIMENSIONS: usize = 6;

/// An element of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bits in global memory.
    pub bits: u32,
    /// Whether 16 of them take 16 bytes of shared memory, however few bits they have.
    pub is_padded: bool,
}

impl Element {
    /// So many bytes, there and here.
    pub const fn bytes(bytes: u32) -> Self {
        Self { bits: 8 * bytes, is_padded: false }
    }

    /// Bytes of so many elements in global memory.
    const fn in_global(self, count: i64) -> i64 {
        count * self.bits as i64 / 8
    }

    /// Bytes of so many elements in shared memory.
    const fn in_shared(self, count: u32) -> u32 {
        if self.is_padded { count } else { (count as u64 * self.bits as u64 / 8) as u32 }
    }
}

/// A tensor in global memory; the innermost dimension comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// What it is made of.
    pub element: Element,
    /// Elements of each dimension.
    pub sizes: Vec<u32>,
    /// Bytes from one to the next, in all dimensions but the innermost.
    pub strides: Vec<u64>,
}

/// A box of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The tensor.
    pub tensor: Tensor,
    /// Elements of each dimension that the box covers.
    pub sizes: Vec<u32>,
    /// Of them every so many-th is taken; of the innermost dimension, all are.
    pub steps: Vec<u32>,
    /// How it lies in shared memory.
    pub swizzle: Swizzle,
    /// Whether the channels of the tensor are interleaved: then nothing is between narrow rows.
    pub is_interleaved: bool,
}

/// Bytes that are together in the tensor and in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The address in shared memory.
    pub shared: u32,
    /// The place in the tensor; nothing for what is out of bounds, which is filled.
    pub global: Option<u64>,
    /// How many in shared memory.
    pub bytes: u32,
}

impl Tensor {
    /// The place of an element, if all its coordinates are in bounds but perhaps the innermost.
    pub(super) fn row(&self, coordinates: &[i64]) -> Option<i64> {
        let mut place = 0;
        for (index, coordinate) in coordinates.iter().enumerate().skip(1) {
            let size = i64::from(*self.sizes.get(index)?);
            if !(0..size).contains(coordinate) {
                return None;
            }
            place += coordinate.wrapping_mul(self.strides.get(index - 1)?.cast_signed());
        }
        Some(place)
    }

    /// The pieces of a row of elements that starts at a coordinate; `row` is where the tensor's row
    /// starts, if it has one.
    pub(super) fn row_pieces(
        &self,
        (row, first, count): (Option<i64>, i64, u32),
        swizzle: Swizzle,
        shared: u32,
        each: &mut impl FnMut(Piece),
    ) {
        let size = i64::from(self.sizes.first().copied().unwrap_or(0));
        // Before the tensor, in it, behind it.
        let start = (-first).clamp(0, i64::from(count));
        let end = if row.is_some() { (size - first).clamp(start, i64::from(count)) } else { start };
        for (from, to, inside) in [(0, start, false), (start, end, true), (end, i64::from(count), false)] {
            if from == to {
                continue;
            }
            let global =
                row.filter(|_| inside).map(|row| (row + self.element.in_global(first + from)) as u64);
            let place = shared + self.element.in_shared(from as u32);
            self.cut(global, (place, self.element.in_shared((to - from) as u32)), swizzle, each);
        }
    }

    /// Where swizzling or padding takes bytes apart.
    fn cut(
        &self,
        global: Option<u64>,
        (shared, bytes): (u32, u32),
        swizzle: Swizzle,
        each: &mut impl FnMut(Piece),
    ) {
        let is_padded = self.element.is_padded && self.element.bits < 8;
        if swizzle == Swizzle::None && !is_padded {
            return each(Piece { shared, global, bytes });
        }
        let unit = if is_padded { 16 } else { swizzle.unit() };
        let mut done = 0;
        while done < bytes {
            let at = shared + done;
            let part = (unit - at % unit).min(bytes - done);
            // Of 16 padded elements only some bytes are copied.
            let (skipped, copied) = if is_padded {
                (u64::from(done) * u64::from(self.element.bits) / 8, part * self.element.bits / 8)
            } else {
                (u64::from(done), part)
            };
            let global = global.map(|global| global + skipped);
            each(Piece { shared: swizzle.apply(at), global, bytes: copied });
            done += part;
        }
    }
}

impl Tile {
    /// Rows of a dimension that are taken.
    fn count(&self, dimension: usize) -> u32 {
        let size = self.sizes.get(dimension).copied().unwrap_or(1);
        if dimension == 0 {
            size
        } else {
            size.div_ceil(self.steps.get(dimension).copied().unwrap_or(1).max(1))
        }
    }

    /// How many rows of elements it has.
    pub fn row_count(&self) -> u64 {
        (1..self.sizes.len()).map(|dimension| u64::from(self.count(dimension))).product()
    }

    /// Bytes of a row in shared memory.
    pub fn row_bytes(&self) -> u32 {
        self.tensor.element.in_shared(self.count(0))
    }

    /// Bytes from one row to the next in shared memory.
    pub fn pitch(&self) -> u32 {
        let span = self.swizzle.span().filter(|_| !self.is_interleaved);
        span.map_or(self.row_bytes(), |span| span.max(self.row_bytes()))
    }

    /// Whether the box may start there: the hardware traps where the innermost coordinate is no
    /// multiple of 16 bytes.
    pub fn may_start_at(&self, coordinates: &[i32]) -> bool {
        let first = i64::from(coordinates.first().copied().unwrap_or(0));
        (first * i64::from(self.tensor.element.bits)) % 128 == 0
    }

    /// The pieces of the box at some coordinates, when it goes to an address in shared memory.
    pub fn pieces(&self, coordinates: &[i32], shared: u32, mut each: impl FnMut(Piece)) {
        let rank = self.sizes.len().min(MOST_DIMENSIONS);
        let mut index = [0_u32; MOST_DIMENSIONS];
        let mut place = [0_i64; MOST_DIMENSIONS];
        let mut to = shared;
        if rank == 0 || (0..rank).any(|dimension| self.count(dimension) == 0) {
            return;
        }
        loop {
            for dimension in 0..rank {
                let step = if dimension == 0 { 0 } else { self.steps.get(dimension).copied().unwrap_or(1) };
                let start = i64::from(coordinates.get(dimension).copied().unwrap_or(0));
                place[dimension] = start + i64::from(index[dimension]) * i64::from(step);
            }
            let row = self.tensor.row(&place[..rank]);
            self.tensor.row_pieces((row, place[0], self.count(0)), self.swizzle, to, &mut each);
            to = to.wrapping_add(self.pitch());
            // The next row.
            let next = (1..rank).find(|dimension| {
                index[*dimension] += 1;
                let is_over = index[*dimension] == self.count(*dimension);
                if is_over {
                    index[*dimension] = 0;
                }
                !is_over
            });
            if next.is_none() {
                return;
            }
        }
    }

    /// The pieces of four rows, of which each is given by itself (`.tile::gather4`, `.tile::scatter4`).
    pub fn rows(&self, first: i32, rows: [i32; 4], shared: u32, mut each: impl FnMut(Piece)) {
        for (index, row) in rows.into_iter().enumerate() {
            let place = [i64::from(first), i64::from(row)];
            let to = shared + index as u32 * self.pitch();
            let row = self.tensor.row(&place);
            self.tensor.row_pieces((row, place[0], self.count(0)), self.swizzle, to, &mut each);
        }
    }
}
