//! What a value says of the threads that have it.

use super::Cause;

/// Whether a value selects one thread. `Holds` of both is the state before anything is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selects {
    /// Nothing has contradicted it: the value never occurs, or its cause is not found yet.
    Vacuous,
    /// At most one thread of a warp has this value.
    One(Cause),
    /// Several threads may have it.
    Several,
}

impl Selects {
    /// Some threads have it for one reason, some for another.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Vacuous, other) => other,
            (one, Self::Vacuous) => one,
            (Self::One(a), Self::One(b)) if a == b => Self::One(a),
            // Two elections elect two threads.
            _ => Self::Several,
        }
    }

    /// Either does.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Several, other) => other,
            (one, Self::Several) => one,
            (Self::Vacuous, _) | (_, Self::Vacuous) => Self::Vacuous,
            (Self::One(a), Self::One(b)) => Self::One(a.min(b)),
        }
    }
}

/// What a predicate, or an integer as a truth value, selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truth {
    /// Who has it true, or not zero.
    pub(super) yes: Selects,
    /// Who has it false, or zero.
    pub(super) no: Selects,
}

impl Truth {
    pub(super) const TOP: Self = Self { yes: Selects::Vacuous, no: Selects::Vacuous };
    pub(super) const UNKNOWN: Self = Self { yes: Selects::Several, no: Selects::Several };

    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    pub(super) fn not_if(self, negated: bool) -> Self {
        if negated { self.not() } else { self }
    }

    pub(super) fn join(self, other: Self) -> Self {
        Self { yes: self.yes.and(other.yes), no: self.no.and(other.no) }
    }

    pub(super) fn constant(value: i128) -> Self {
        if value == 0 {
            Self { yes: Selects::Vacuous, no: Selects::Several }
        } else {
            Self { yes: Selects::Several, no: Selects::Vacuous }
        }
    }
}
