//! The lattices of the election analysis: which threads of a warp there can be.

use super::Cause;

/// Which threads of a warp do something, or have some value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// None, as far as is known: nobody does it, or nothing is found out yet.
    Bottom,
    /// At most one, the one that was elected there.
    One(Cause),
    /// Any.
    Top,
}

impl Threads {
    /// The threads of both.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bottom, other) => other,
            (one, Self::Bottom) => one,
            (Self::One(a), Self::One(b)) if a == b => Self::One(a),
            // Two elections elect two threads.
            (Self::One(_) | Self::Top, Self::One(_) | Self::Top) => Self::Top,
        }
    }

    /// The threads that are in both.
    pub(super) fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Top, other) => other,
            (one, Self::Top) => one,
            (Self::Bottom, _) | (_, Self::Bottom) => Self::Bottom,
            (Self::One(a), Self::One(b)) => Self::One(a.min(b)),
        }
    }
}

/// How a predicate, or an integer that stands for one, divides a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    /// The threads for which it is true, or not zero.
    pub(super) if_true: Threads,
    /// The threads for which it is false, or zero.
    pub(super) if_false: Threads,
}

impl Partition {
    pub(super) const BOTTOM: Self = Self { if_true: Threads::Bottom, if_false: Threads::Bottom };
    pub(super) const TOP: Self = Self { if_true: Threads::Top, if_false: Threads::Top };

    pub(super) fn not(self) -> Self {
        Self { if_true: self.if_false, if_false: self.if_true }
    }

    pub(super) fn not_if(self, negated: bool) -> Self {
        if negated { self.not() } else { self }
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self { if_true: self.if_true.join(other.if_true), if_false: self.if_false.join(other.if_false) }
    }

    pub(super) fn constant(value: i128) -> Self {
        if value == 0 {
            Self { if_true: Threads::Bottom, if_false: Threads::Top }
        } else {
            Self { if_true: Threads::Top, if_false: Threads::Bottom }
        }
    }
}
