//! Columns of pixels (PTX ISA, "Im2col Mode").

use super::{Piece, Swizzle, Tensor};

/// A column of pixels that a filter sees: channels, then columns, rows and so on of an image, then
/// the image's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Im2col {
    /// The images.
    pub tensor: Tensor,
    /// By how much the box that the filter's corner walks in starts before the image, for each of its
    /// dimensions; negative for outside. Where the box has fewer dimensions than the image, it has one element along
    /// the others.
    pub lower: Vec<i32>,
    /// By how much it ends before the image; positive for outside.
    pub upper: Vec<i32>,
    /// Channels of each pixel.
    pub channels: u32,
    /// Pixels.
    pub pixels: u32,
    /// From one pixel to the next, in each dimension of the tensor.
    pub steps: Vec<u32>,
    /// How it lies in shared memory.
    pub swizzle: Swizzle,
    /// Whether the channels of the images are interleaved: then nothing is between narrow pixels.
    pub is_interleaved: bool,
}

impl Im2col {
    /// Bytes of a pixel in shared memory.
    pub fn row_bytes(&self) -> u32 {
        (u64::from(self.channels) * u64::from(self.tensor.element.bits) / 8) as u32
    }

    /// Bytes from one pixel to the next in shared memory.
    pub fn pitch(&self) -> u32 {
        let span = self.swizzle.span().filter(|_| !self.is_interleaved);
        span.map_or(self.row_bytes(), |span| span.max(self.row_bytes()))
    }

    /// The pieces of the column that starts at some coordinates, seen through the filter's pixel at
    /// `offsets`.
    pub fn pieces(&self, coordinates: &[i32], offsets: &[u16], shared: u32, mut each: impl FnMut(Piece)) {
        let rank = self.tensor.sizes.len();
        if rank < 3 || coordinates.len() < rank {
            return;
        }
        let pitch = self.pitch();
        let mut corner: Vec<i64> = coordinates.iter().map(|coordinate| i64::from(*coordinate)).collect();
        for pixel in 0..self.pixels {
            let mut place = corner.clone();
            for (coordinate, offset) in place[1..rank - 1].iter_mut().zip(offsets) {
                *coordinate += i64::from(*offset);
            }
            let row = self.tensor.row(&place);
            let to = shared.wrapping_add(pixel.wrapping_mul(pitch));
            self.tensor.row_pieces((row, place[0], self.channels), self.swizzle, to, &mut each);
            self.advance(&mut corner);
        }
    }

    /// The next pixel: along a line of the image, then the next line, then the next image.
    fn advance(&self, corner: &mut [i64]) {
        let images = corner.len() - 1;
        let walked = self.lower.len().min(images - 1);
        for (at, coordinate) in corner[1..=walked].iter_mut().enumerate() {
            let bound = |corner: &[i32]| i64::from(corner.get(at).copied().unwrap_or(0));
            let last = i64::from(self.tensor.sizes[at + 1]) - 1 + bound(&self.upper);
            *coordinate += i64::from(self.steps.get(at + 1).copied().unwrap_or(1));
            if *coordinate <= last {
                return;
            }
            *coordinate = bound(&self.lower);
        }
        corner[images] += 1;
    }
}
