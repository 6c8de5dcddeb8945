//! What comparisons mean, and what joins their outcomes.

use std::cmp::Ordering;

use super::{BooleanOperator, Comparison, Type};

/// A comparison of integers, by the outcomes that it holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Whether it holds where the first is less, equal, greater.
    holds: [bool; 3],
    /// Whether the numbers have signs.
    pub is_signed: bool,
}

impl Relation {
    /// Whether it holds for this outcome.
    pub const fn holds(self, outcome: Ordering) -> bool {
        self.holds[(outcome as i8 + 1) as usize]
    }

    /// Whether it asks which is more, and not only whether they are equal.
    pub const fn is_order(self) -> bool {
        self.holds(Ordering::Less) != self.holds(Ordering::Greater)
    }

    /// What holds where it does not.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { holds: self.holds.map(|holds| !holds), ..self }
    }

    /// The same with its sides exchanged.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        let [less, equal, greater] = self.holds;
        Self { holds: [greater, equal, less], ..self }
    }
}

impl Comparison {
    /// What it says of numbers of a type; `None` where that is no comparison of integers.
    pub fn of_integers(self, ty: Type) -> Option<Relation> {
        let (holds, by_type) = match self {
            Self::Eq => ([false, true, false], true),
            Self::Ne => ([true, false, true], true),
            Self::Lt => ([true, false, false], true),
            Self::Le => ([true, true, false], true),
            Self::Gt => ([false, false, true], true),
            Self::Ge => ([false, true, true], true),
            Self::Lo => ([true, false, false], false),
            Self::Ls => ([true, true, false], false),
            Self::Hi => ([false, false, true], false),
            Self::Hs => ([false, true, true], false),
            Self::Equ | Self::Neu | Self::Ltu | Self::Leu | Self::Gtu | Self::Geu | Self::Num | Self::Nan => {
                return None;
            }
        };
        (!ty.is_float()).then_some(Relation { holds, is_signed: by_type && ty.is_signed() })
    }

    /// Whether it holds for numbers that compare so; those that do not are not both numbers.
    pub const fn of_floats(self, ordering: Option<Ordering>) -> bool {
        let (less, equal, greater, unordered) = match ordering {
            Some(Ordering::Less) => (true, false, false, false),
            Some(Ordering::Equal) => (false, true, false, false),
            Some(Ordering::Greater) => (false, false, true, false),
            None => (false, false, false, true),
        };
        match self {
            Self::Eq => equal,
            Self::Ne => less || greater,
            Self::Lt | Self::Lo => less,
            Self::Le | Self::Ls => less || equal,
            Self::Gt | Self::Hi => greater,
            Self::Ge | Self::Hs => greater || equal,
            Self::Equ => equal || unordered,
            Self::Neu => !equal,
            Self::Ltu => less || unordered,
            Self::Leu => !greater,
            Self::Gtu => greater || unordered,
            Self::Geu => !less,
            Self::Num => !unordered,
            Self::Nan => unordered,
        }
    }

    /// The comparison with its sides exchanged.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Lo => Self::Hi,
            Self::Ls => Self::Hs,
            Self::Hi => Self::Lo,
            Self::Hs => Self::Ls,
            Self::Ltu => Self::Gtu,
            Self::Leu => Self::Geu,
            Self::Gtu => Self::Ltu,
            Self::Geu => Self::Leu,
            Self::Eq | Self::Ne | Self::Equ | Self::Neu | Self::Num | Self::Nan => self,
        }
    }
}

impl BooleanOperator {
    /// Two truth values joined.
    pub const fn join(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}
