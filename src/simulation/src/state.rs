//! What the memories of CTAs hold when a run has ended.

use std::ops::Range;

/// The memories of a CTA.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CtaState {
    /// The index of the CTA in the grid.
    pub index: [u32; 3],
    /// Its shared memory, from the address 0 on; the first 1024 bytes are kept by the system. What is not known is 0.
    pub shared: Vec<u8>,
    /// The bytes of it that are not known, in their order.
    pub shared_unknown: Vec<Range<usize>>,
    /// Its Tensor Memory: 128 lanes, the columns of a lane next to each other. What is not known is 0.
    pub tensor: Vec<u32>,
    /// Which of its cells are known.
    pub tensor_known: Vec<bool>,
    /// The columns that are allocated: the first, and how many.
    pub allocated: Vec<(u32, u32)>,
}

impl CtaState {
    /// Lanes of Tensor Memory.
    pub const LANES: usize = 128;
}
