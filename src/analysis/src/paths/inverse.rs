//! How terms are made of others: what that says of these, and of what is made of them.

use super::range::{ValueSet, ones};

/// How a term is made of another one and constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inverse {
    /// `x + by`
    Sum { by: u64, width: u32 },
    /// `from - x`, which is `!x` where `from` is all ones.
    Rest { from: u64, width: u32 },
    /// `x ^ with`
    Toggled { with: u64, width: u32 },
    /// `x & mask`
    Mask { mask: u64, width: u32 },
    /// `x >> by`
    Shift { by: u32, width: u32 },
    /// `len` bits of `x` from `at` on.
    Field { at: u32, len: u32, width: u32 },
    /// `x`, of `width` bits, with zeros above.
    Extended { width: u32 },
    /// `yes` where the predicate `x` holds, and otherwise `no`.
    Select { yes: u64, no: u64 },
    /// How far apart two terms are where `by` is added to the first one, and `x` is how far they are without.
    Further { by: i64 },
}

impl Inverse {
    /// What the base is in, if what is made of it is in `set`; `None` where that says nothing.
    pub(super) fn apply(&self, set: &ValueSet) -> Option<ValueSet> {
        match *self {
            Self::Sum { by, width } => Some(set.before_sum(by, width)),
            Self::Rest { from, width } => Some(set.rest(from, width)),
            Self::Toggled { with, width } => set.toggled(with, width),
            Self::Mask { mask, width } => set.before_mask(mask, width),
            Self::Shift { by, width } => Some(set.before_shift(by, width)),
            Self::Field { at, len, width } => set.before_field(at, len, width),
            Self::Extended { width } => Some(set.within(width)),
            Self::Further { by } => Some(set.before_further(by)),
            Self::Select { yes, no } => {
                let can = |value: u64| !set.and(&ValueSet::only(value)).is_empty();
                match (can(yes), can(no)) {
                    (true, true) => None,
                    (true, false) => Some(ValueSet::truth(true)),
                    (false, true) => Some(ValueSet::truth(false)),
                    (false, false) => Some(ValueSet::none()),
                }
            }
        }
    }

    /// What is made of a base that is in `set`; `None` where that is not said.
    pub(super) fn image(&self, set: &ValueSet) -> Option<ValueSet> {
        match *self {
            Self::Sum { by, width } => Some(set.behind_sum(by, width)),
            Self::Rest { from, width } => Some(set.within(width).rest(from, width)),
            Self::Toggled { with, width } => set.within(width).toggled(with, width),
            Self::Mask { mask, width } => Some(set.within(width).masked(mask & ones(width))),
            Self::Further { by } => Some(set.further(by)),
            Self::Shift { .. } | Self::Field { .. } | Self::Extended { .. } | Self::Select { .. } => None,
        }
    }

    /// The same of the lowest bits of the base, which are made the lowest bits of what is made of it; `None`
    /// where those depend on higher bits, or that is not said.
    pub(super) fn of_low_bits(&self, bits: u32) -> Option<Self> {
        let low = |number: u64| number & ones(bits);
        Some(match *self {
            Self::Sum { by, width } if bits <= width => Self::Sum { by: low(by), width: bits },
            Self::Rest { from, width } if bits <= width => Self::Rest { from: low(from), width: bits },
            Self::Toggled { with, width } if bits <= width => Self::Toggled { with: low(with), width: bits },
            Self::Mask { mask, width } if bits <= width => Self::Mask { mask: low(mask), width: bits },
            _ => return None,
        })
    }
}
