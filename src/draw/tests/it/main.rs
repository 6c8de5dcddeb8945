//! Tests of the pictures.

mod copies;
mod data;
mod errors;
mod mma;
mod registers;
mod rendered;
mod smem;

use ptx_draw::{Block, Grid, Picture};

/// The grids of a picture.
fn grids(picture: &Picture) -> Vec<&Grid> {
    picture
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Grid(grid) => Some(grid),
            _ => None,
        })
        .collect()
}

/// Shapes and strides, from the fastest on.
type Strides = Vec<(u64, u64)>;

/// A layout as `CuTe` writes it, in parts from the fastest on: where the `index`-th element is.
fn offset(layout: &[(u64, u64)], index: u64) -> u64 {
    let mut rest = index;
    let mut at = 0;
    for (position, (shape, stride)) in layout.iter().enumerate() {
        let is_last = position + 1 == layout.len();
        let digit = if is_last { rest } else { rest % shape };
        at += digit * stride;
        rest /= (*shape).max(1);
    }
    at
}

/// Two ends of `3` or `0-31`, both included.
fn ends(text: &str) -> (u32, u32) {
    match text.split_once('-') {
        Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
        None => (text.parse().unwrap(), text.parse().unwrap()),
    }
}
