//! Tables 47 and 48, the multicasts of `cp`, and the sizes that follow from them.

use super::vocabulary::{CpShape, LdShape, Num, WarpMulticast};

/// Columns whose rows `shift` moves: its implicit shape is `.31x256b` (9.7.16.2.3).
pub const SHIFT_COLUMNS: u32 = 256 / 32;

impl LdShape {
    /// Registers per thread for `.x1`, the first row of Tables 47 and 48.
    pub const fn registers(self) -> u32 {
        match self {
            Self::S16x64b | Self::S32x32b | Self::S16x32bx2 => 1,
            Self::S16x128b => 2,
            Self::S16x256b => 4,
        }
    }

    /// Registers per thread: Tables 47 and 48. `None` where they say NA.
    pub const fn vector_length(self, num: Num) -> Option<u32> {
        let registers = self.registers() * num.factor();
        if registers <= 128 { Some(registers) } else { None }
    }

    /// Columns of Tensor Memory that one access covers from its address on.
    ///
    /// A column is 32 bits wide. `.pack::16b` and `.unpack::16b` keep 16 bits of each, so that
    /// they touch twice as many. The second half of `.16x32bx2` lies elsewhere and is not counted.
    pub const fn columns(self, num: Num, packed: bool) -> u32 {
        let per_repetition = match self {
            Self::S16x64b => 2,
            Self::S16x128b => 4,
            Self::S16x256b => 8,
            Self::S32x32b | Self::S16x32bx2 => 1,
        };
        per_repetition * num.factor() * if packed { 2 } else { 1 }
    }

    /// Lanes of Tensor Memory that one access covers from its address on (9.7.16.2.3).
    ///
    /// The second half of `.16x32bx2` lies elsewhere and is not counted.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::S16x64b | Self::S16x128b | Self::S16x256b | Self::S16x32bx2 => 16,
            Self::S32x32b => 32,
        }
    }

    /// Whether `ld.red` reduces this shape (9.7.16.8.3).
    pub const fn reduces(self) -> bool {
        match self {
            Self::S32x32b | Self::S16x32bx2 => true,
            Self::S16x64b | Self::S16x128b | Self::S16x256b => false,
        }
    }
}

impl CpShape {
    /// The multicasts that the shape must be combined with; none for most (9.7.16.9.2).
    pub const fn multicasts(self) -> &'static [WarpMulticast] {
        match self {
            Self::S128x256b | Self::S4x256b | Self::S128x128b => &[],
            Self::S64x128b => &[WarpMulticast::Warpx2_02_13, WarpMulticast::Warpx2_01_23],
            Self::S32x128b => &[WarpMulticast::Warpx4],
        }
    }

    /// Whether the copy writes all lanes, with the multicast that the shape has.
    pub const fn fills_lanes(self) -> bool {
        match self {
            Self::S128x256b | Self::S128x128b | Self::S64x128b | Self::S32x128b => true,
            Self::S4x256b => false,
        }
    }

    /// Columns of Tensor Memory that the copy writes.
    pub const fn columns(self) -> u32 {
        match self {
            Self::S128x256b | Self::S4x256b => 8,
            Self::S128x128b | Self::S64x128b | Self::S32x128b => 4,
        }
    }
}
