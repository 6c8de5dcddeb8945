//! How 16 bytes are exchanged so that rows and columns of a matrix are both in different banks.

use super::shared_memory::SwizzleMode;

/// Which bits of an address are changed by which others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// None.
    None,
    /// 16 bytes within 32.
    Bytes32,
    /// 16 bytes within 64.
    Bytes64,
    /// 16 bytes within 128.
    Bytes128,
    /// 32 bytes within 128.
    Bytes128Atom32,
    /// 32 bytes within 128, and in every other row the halves of 16 bytes.
    Bytes128Atom32Flip8,
    /// 64 bytes within 128.
    Bytes128Atom64,
}

impl Swizzle {
    /// That of the descriptor of a matrix in shared memory; a reserved one counts as none.
    pub const fn of_descriptor(word: u64) -> Self {
        match word >> 61 {
            1 => Self::Bytes128Atom32,
            2 => Self::Bytes128,
            4 => Self::Bytes64,
            6 => Self::Bytes32,
            _ => Self::None,
        }
    }

    /// Where a byte is that would be at an address in shared memory. What counts is the address: a
    /// pattern starts at a multiple of 256, 512 or 1024 bytes, wherever the matrix does.
    pub const fn apply(self, address: u32) -> u32 {
        // Which bits of the row's number come to which bits of the address.
        let (rows, unit) = match self {
            Self::None => return address,
            Self::Bytes32 => (1, 4),
            Self::Bytes64 => (3, 4),
            Self::Bytes128 => (7, 4),
            Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 => (3, 5),
            Self::Bytes128Atom64 => (1, 6),
        };
        let row = address >> 7;
        let flipped = matches!(self, Self::Bytes128Atom32Flip8) && row & 1 == 1;
        address ^ (row & rows) << unit ^ (flipped as u32) << 3
    }

    /// Columns of an MN-major matrix that are contiguous, before its stride counts: the pattern with atoms of
    /// 32 bytes has four.
    pub const fn columns(self) -> u32 {
        match self {
            Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 => 4,
            Self::None | Self::Bytes32 | Self::Bytes64 | Self::Bytes128 | Self::Bytes128Atom64 => 8,
        }
    }

    /// Bytes that stay together.
    pub const fn unit(self) -> u32 {
        match self {
            Self::Bytes128Atom32Flip8 => 8,
            Self::None | Self::Bytes32 | Self::Bytes64 | Self::Bytes128 => 16,
            Self::Bytes128Atom32 => 32,
            Self::Bytes128Atom64 => 64,
        }
    }

    /// Bytes of a row of a matrix: a narrower box leaves the rest of them alone.
    pub const fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 | Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 | Self::Bytes128Atom64 => {
                Some(128)
            }
        }
    }
}

/// That of a descriptor of shared memory.
impl From<SwizzleMode> for Swizzle {
    fn from(mode: SwizzleMode) -> Self {
        match mode {
            SwizzleMode::None => Self::None,
            SwizzleMode::Bytes32 => Self::Bytes32,
            SwizzleMode::Bytes64 => Self::Bytes64,
            SwizzleMode::Bytes128 => Self::Bytes128,
            SwizzleMode::Bytes128Atom32 => Self::Bytes128Atom32,
        }
    }
}
