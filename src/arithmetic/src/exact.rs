//! Arithmetic of exact numbers.
//!
//! A number is exact as far as rounding can tell: where a result has more bits than fit, the lowest
//! bit says whether any below it is set.

use super::format::{Exact, Format, Number, Overflow};
use ptx_isa::generic::Rounding;

/// The highest bit that a sum may have before it carries.
const TOP: u32 = 126;

impl Exact {
    pub(super) const ONE: Self = Self { negative: false, exponent: 0, magnitude: 1 };

    pub(super) const fn zero(negative: bool) -> Self {
        Self { negative, exponent: 0, magnitude: 0 }
    }

    pub(super) const fn from_integer(value: i128) -> Self {
        Self { negative: value < 0, exponent: 0, magnitude: value.unsigned_abs() }
    }

    pub(super) const fn is_zero(&self) -> bool {
        self.magnitude == 0
    }

    const fn negated(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    /// The sum. That of opposite numbers is positive but where rounding goes down.
    pub(super) fn add(self, other: Self, rounding: Rounding) -> Self {
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if high.is_zero() || low.is_zero() {
            return match (self.is_zero(), other.is_zero()) {
                (true, true) if self.negative == other.negative => self,
                (true, true) => Self::zero(rounding == Rounding::Rm),
                (true, false) => other,
                (false, _) => self,
            };
        }
        let distance = (high.exponent - low.exponent) as u32;
        let room = TOP - high.magnitude.ilog2().min(TOP);
        let left = distance.min(room);
        let first = high.magnitude << left;
        let second = shifted_down(low.magnitude, distance - left);
        let exponent = high.exponent - left as i32;
        if high.negative == low.negative {
            return Self { negative: high.negative, exponent, magnitude: first + second };
        }
        match first.cmp(&second) {
            std::cmp::Ordering::Equal => Self::zero(rounding == Rounding::Rm),
            std::cmp::Ordering::Greater => {
                Self { negative: high.negative, exponent, magnitude: first - second }
            }
            std::cmp::Ordering::Less => Self { negative: low.negative, exponent, magnitude: second - first },
        }
    }

    /// The product. The factors have at most 64 bits.
    pub(super) const fn multiply(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            magnitude: self.magnitude * other.magnitude,
        }
    }

    /// The quotient. The divisor is not zero.
    pub(super) fn divide(self, other: Self) -> Self {
        let negative = self.negative != other.negative;
        let Some(top) = self.magnitude.checked_ilog2() else { return Self::zero(negative) };
        let left = TOP - top;
        let dividend = self.magnitude << left;
        let sticky = u128::from(!dividend.is_multiple_of(other.magnitude));
        let exponent = self.exponent - left as i32 - other.exponent;
        Self { negative, exponent, magnitude: (dividend / other.magnitude) | sticky }
    }

    /// The root of a positive number.
    pub(super) fn square_root(self) -> Self {
        let Some(top) = self.magnitude.checked_ilog2() else { return self };
        // An even exponent, and as many bits as there are.
        let left = TOP - top;
        let left = if (self.exponent - left as i32) % 2 == 0 { left } else { left - 1 };
        let square = self.magnitude << left;
        let root = square.isqrt();
        let sticky = u128::from(root * root != square);
        // One more bit, for the sticky one.
        Self {
            negative: false,
            exponent: (self.exponent - left as i32) / 2 - 1,
            magnitude: root << 1 | sticky,
        }
    }
}

/// Without its low bits, but for whether one of them is set.
pub(super) fn shifted_down(magnitude: u128, bits: u32) -> u128 {
    let kept = magnitude.checked_shr(bits).unwrap_or(0);
    let lost = kept.checked_shl(bits).unwrap_or(0) != magnitude;
    kept | u128::from(lost)
}

impl Number {
    pub(super) fn add(self, other: Self, rounding: Rounding) -> Self {
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) => Self::Nan,
            (Self::Infinite { negative }, Self::Infinite { negative: other }) => {
                if negative == other {
                    self
                } else {
                    Self::Nan
                }
            }
            (Self::Infinite { .. }, Self::Finite(_)) => self,
            (Self::Finite(_), Self::Infinite { .. }) => other,
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a.add(b, rounding)),
        }
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) => Self::Nan,
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a.multiply(b)),
            (Self::Infinite { .. }, Self::Finite(zero)) | (Self::Finite(zero), Self::Infinite { .. })
                if zero.is_zero() =>
            {
                Self::Nan
            }
            (Self::Infinite { .. }, _) | (_, Self::Infinite { .. }) => Self::Infinite { negative },
        }
    }

    pub(super) fn divide(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Self::Nan, _) | (_, Self::Nan) | (Self::Infinite { .. }, Self::Infinite { .. }) => Self::Nan,
            (Self::Infinite { .. }, Self::Finite(_)) => Self::Infinite { negative },
            (Self::Finite(_), Self::Infinite { .. }) => Self::Finite(Exact::zero(negative)),
            (Self::Finite(a), Self::Finite(b)) => match (a.is_zero(), b.is_zero()) {
                (true, true) => Self::Nan,
                (false, true) => Self::Infinite { negative },
                (_, false) => Self::Finite(a.divide(b)),
            },
        }
    }

    pub(super) fn square_root(self) -> Self {
        match self {
            Self::Nan | Self::Infinite { negative: true } => Self::Nan,
            Self::Infinite { negative: false } => self,
            Self::Finite(exact) if exact.is_zero() => self,
            Self::Finite(exact) if exact.negative => Self::Nan,
            Self::Finite(exact) => Self::Finite(exact.square_root()),
        }
    }

    #[must_use]
    pub(super) const fn negated(self) -> Self {
        match self {
            Self::Nan => Self::Nan,
            Self::Infinite { negative } => Self::Infinite { negative: !negative },
            Self::Finite(exact) => Self::Finite(exact.negated()),
        }
    }

    pub(super) const fn is_negative(self) -> bool {
        match self {
            Self::Nan => false,
            Self::Infinite { negative } => negative,
            Self::Finite(exact) => exact.negative,
        }
    }
}

impl Format {
    /// The bits of a number, rounded as arithmetic does.
    pub(super) fn round(self, number: Number, rounding: Rounding) -> u64 {
        self.encode_number(number, rounding, Overflow::Infinity)
    }

    /// One.
    pub(super) fn one(self) -> u64 {
        self.round(Number::Finite(Exact::ONE), Rounding::Rn)
    }
}
