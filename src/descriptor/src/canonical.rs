//! Canonical layouts: the strides of a matrix that is packed in shared memory (9.7.16.3.3).
//!
//! A matrix is cut into *atoms*, which the swizzling mode shapes: 8 rows of its span for a K-major
//! matrix, its span of rows by 8 columns of K for an MN-major one. Atoms follow each other first
//! along M or N, then along K; that is the order that CUTLASS and the examples of the ISA have.

use std::fmt;

use super::shared_memory::SwizzleMode;

/// Which dimension is contiguous in memory.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(ascii_case_insensitive)]
pub enum Major {
    /// K: not transposed.
    #[strum(serialize = "k-major")]
    K,
    /// M or N: transposed.
    #[strum(serialize = "mn-major")]
    Mn,
}

/// A matrix A or B as it is to lie in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedMatrix {
    /// Bits that an element takes in shared memory.
    pub element_bits: u32,
    /// Rows of A, columns of B.
    pub mn: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// The contiguous dimension.
    pub major: Major,
    /// The swizzling mode.
    pub swizzle: SwizzleMode,
}

/// How a packed matrix lies. Offsets and sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanonicalLayout {
    /// Leading-dimension offset; 16, which is 1 when encoded, where it is not used (errata E17).
    pub lbo: u64,
    /// Stride-dimension offset.
    pub sbo: u64,
    /// Size of an atom.
    pub atom: u64,
    /// What the start address has to be a multiple of for a base offset of 0 (Table 41).
    pub start_alignment: u64,
    /// Size of the matrix.
    pub bytes: u64,
}

/// Why a matrix cannot be packed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// The contiguous dimension does not divide into spans of the swizzling mode.
    Contiguous {
        /// Its size in bytes.
        bytes: u64,
        /// What that has to be a multiple of.
        span: u64,
    },
    /// The other dimension does not divide into atoms.
    Across {
        /// Its size in elements.
        size: u32,
        /// What that has to be a multiple of.
        step: u32,
    },
    /// Table 52: transposed elements of this width have no such swizzling mode.
    Swizzle {
        /// Their width in bits.
        element_bits: u32,
    },
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contiguous { bytes, span } => {
                write!(f, "the contiguous dimension has {bytes} bytes, which is not a multiple of {span}")
            }
            Self::Across { size, step } => {
                write!(f, "the other dimension has {size} elements, which is not a multiple of {step}")
            }
            Self::Swizzle { element_bits } => {
                write!(f, "transposed elements of {element_bits} bits do not go with this swizzling mode")
            }
        }
    }
}

impl std::error::Error for PackError {}

/// Eight rows, or columns, of 16 bytes: what the layouts are made of.
const GROUP: u32 = 8;

impl PackedMatrix {
    /// The strides of the matrix.
    ///
    /// # Errors
    /// When it does not divide into atoms, or its type does not go with the swizzling mode.
    pub fn layout(&self) -> Result<CanonicalLayout, PackError> {
        let swizzle = self.swizzle;
        let (contiguous, across) = match self.major {
            Major::K => (self.k, self.mn),
            Major::Mn => (self.mn, self.k),
        };
        let wide_atoms = swizzle == SwizzleMode::Bytes128Atom32;
        // Table 52; and 4-bit elements that fill no container cannot be transposed at all.
        if self.major == Major::Mn && ((self.element_bits == 32) != wide_atoms || self.element_bits < 8) {
            return Err(PackError::Swizzle { element_bits: self.element_bits });
        }
        let step = match self.major {
            // 32-byte units permute over 4 columns instead of 8.
            Major::Mn if wide_atoms => GROUP / 2,
            Major::K | Major::Mn => GROUP,
        };
        let bits = u64::from(contiguous) * u64::from(self.element_bits);
        let bytes = bits / 8;
        // Without swizzling K comes in pairs of 16 bytes: (T,2k) in the table.
        let span = match (self.major, swizzle) {
            (Major::K, SwizzleMode::None) => 32,
            _ => swizzle.span(),
        };
        if contiguous == 0 || !bits.is_multiple_of(8) || !bytes.is_multiple_of(span) {
            return Err(PackError::Contiguous { bytes, span });
        }
        if across == 0 || !across.is_multiple_of(step) {
            return Err(PackError::Across { size: across, step });
        }
        let atom = swizzle.span() * u64::from(step);
        let atoms_across = u64::from(across / step);
        let atoms_along = bytes / swizzle.span();
        let (lbo, sbo) = match (self.major, swizzle) {
            (Major::K, SwizzleMode::None) => (atoms_across * atom, atom),
            (Major::K, _) => (16, atom),
            // Interleaved: the two strides change their roles.
            (Major::Mn, SwizzleMode::None) => (atoms_along * atom, atom),
            (Major::Mn, _) => (atom, atoms_along * atom),
        };
        Ok(CanonicalLayout {
            lbo,
            sbo,
            atom,
            start_alignment: swizzle.pattern_alignment(),
            bytes: atoms_along * atoms_across * atom,
        })
    }
}

/// The base offset of a pattern that starts at this address (9.7.16.4.1); 0 on the boundary of
/// Table 41.
pub const fn base_offset(pattern_start: u64, swizzle: SwizzleMode) -> u64 {
    if pattern_start.is_multiple_of(swizzle.pattern_alignment()) { 0 } else { (pattern_start >> 7) & 7 }
}
