//! The pairs of asynchronous accesses of Tensor Memory that are pipelined: of one warp, the second of
//! a pair follows the first without a wait between (9.7.16.6.2, as PTX ISA 9.4 states it; errata E13).
//!
//! Instructions of different warps are never pipelined, nor are accesses of shared memory.

/// What an asynchronous instruction does to a part of Tensor Memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `mma` reads A, the sparsity metadata, or the scales, which lie there as the metadata do.
    MultiplyReadsOperand,
    /// `mma` reads the accumulator: C.
    MultiplyReadsC,
    /// `mma` writes the accumulator: D.
    MultiplyWritesD,
    /// `cp` of another shape than `.4x256b`
    Copy,
    /// `cp.4x256b`
    Copy4x256b,
    /// `shift` reads and writes rows.
    Shift,
    /// `st`
    Store,
    /// `ld`
    Load,
}

impl Access {
    /// Whether the access changes what is there.
    pub const fn writes(self) -> bool {
        match self {
            Self::MultiplyWritesD | Self::Copy | Self::Copy4x256b | Self::Shift | Self::Store => true,
            Self::MultiplyReadsOperand | Self::MultiplyReadsC | Self::Load => false,
        }
    }

    /// Whether the order of this access and one behind it, of the same cells, changes a result.
    pub const fn conflicts_with(self, then: Self) -> bool {
        self.writes() || then.writes()
    }
}

/// What two accesses must have in common to be pipelined, besides the CTA group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Nothing,
    /// The address.
    Address,
    /// The address of the accumulator, and its shape.
    Accumulator,
}

/// The table: the first access, the one behind it, and what they have in common.
#[rustfmt::skip]
pub const PIPELINED: &[(Access, Access, Condition)] = &[
    (Access::MultiplyReadsOperand, Access::MultiplyWritesD,      Condition::Nothing),
    (Access::MultiplyReadsOperand, Access::Copy,                 Condition::Nothing),
    (Access::MultiplyReadsOperand, Access::Copy4x256b,           Condition::Nothing),
    (Access::MultiplyReadsOperand, Access::Shift,                Condition::Nothing),
    (Access::MultiplyReadsC,       Access::MultiplyWritesD,      Condition::Accumulator),
    (Access::MultiplyWritesD,      Access::MultiplyReadsC,       Condition::Accumulator),
    (Access::MultiplyWritesD,      Access::MultiplyWritesD,      Condition::Accumulator),
    (Access::Copy,                 Access::MultiplyReadsOperand, Condition::Address),
    (Access::Copy4x256b,           Access::MultiplyReadsOperand, Condition::Nothing),
    (Access::Shift,                Access::MultiplyReadsOperand, Condition::Nothing),
    (Access::Shift,                Access::Copy4x256b,           Condition::Nothing),
    (Access::Store,                Access::Load,                 Condition::Nothing),
    (Access::Store,                Access::Store,                Condition::Nothing),
    (Access::Load,                 Access::Store,                Condition::Nothing),
];

/// On which condition two accesses are pipelined; `None` if they never are.
pub fn pipelined(first: Access, then: Access) -> Option<Condition> {
    PIPELINED.iter().find(|(one, other, _)| (*one, *other) == (first, then)).map(|(.., condition)| *condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stand_once_and_matter() {
        for (at, (first, then, _)) in PIPELINED.iter().enumerate() {
            assert!(first.conflicts_with(*then), "{first:?} and {then:?} need no order");
            let again = PIPELINED[at + 1..].iter().any(|(one, other, _)| (one, other) == (first, then));
            assert!(!again, "{first:?} and {then:?} stand twice");
        }
    }
}
