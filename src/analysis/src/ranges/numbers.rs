//! Sets of whole numbers: from one to another, in steps.

use std::cmp::Ordering;

use crate::descriptor::Known;
use crate::isa::generic::Relation;

/// Nothing is less, or it is not known what is.
const LEAST: i64 = -(1 << 48);
/// Nothing is more, or it is not known what is.
const MOST: i64 = 1 << 48;

/// `first`, `first + step`, and so on to `last`. It may include more numbers than are meant, never fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    first: i64,
    last: i64,
    /// 0 where there is one number.
    step: u64,
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl From<i64> for Numbers {
    fn from(value: i64) -> Self {
        Self::new(value, value, 0)
    }
}

impl Numbers {
    /// Whatever it is.
    pub const ANY: Self = Self { first: LEAST, last: MOST, step: 1 };

    /// From one number to another.
    pub fn between(first: i64, last: i64) -> Self {
        Self::new(first, last, 1)
    }

    /// Cut to what can be told apart.
    fn new(first: i64, last: i64, step: u64) -> Self {
        // What cannot be told apart from its neighbours is no number that is known.
        if first >= MOST || last <= LEAST {
            return Self::ANY;
        }
        let (first, last) = (first.clamp(LEAST, MOST), last.clamp(LEAST, MOST));
        // What has no first number has no steps that are counted from it.
        let step = if first == LEAST { 1 } else { step };
        if first >= last || step == 0 {
            return Self { first, last: first, step: 0 };
        }
        let last = if last == MOST { last } else { last - (last - first) % step.cast_signed().max(1) };
        if first == last { Self { first, last, step: 0 } } else { Self { first, last, step } }
    }

    /// The least, if there is one.
    pub fn first(self) -> Option<i64> {
        (self.first > LEAST).then_some(self.first)
    }

    /// The largest, if there is one.
    pub fn last(self) -> Option<i64> {
        (self.last < MOST).then_some(self.last)
    }

    /// The only number, if there is one.
    pub fn single(self) -> Option<i64> {
        (self.first == self.last).then_some(self.first)
    }

    /// How many there are.
    pub fn count(self) -> Option<u64> {
        let (first, last) = self.first().zip(self.last())?;
        Some(last.abs_diff(first) / self.step.max(1) + 1)
    }

    /// Whether it is of numbers that a word of `width` bits without a sign holds.
    pub fn fits(self, width: u32) -> bool {
        self.first >= 0 && self.last < MOST && (width >= 48 || self.last < 1 << width)
    }

    /// Whether it has no numbers but those of another one.
    pub fn is_within(self, other: Self) -> bool {
        self.or(other) == other
    }

    /// What is in either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let step = gcd(gcd(self.step, other.step), self.first.abs_diff(other.first));
        Self::new(self.first.min(other.first), self.last.max(other.last), step)
    }

    /// Whether no number is in both.
    pub fn is_disjoint(self, other: Self) -> bool {
        let step = gcd(self.step, other.step);
        self.last < other.first
            || other.last < self.first
            || step != 0 && !self.first.abs_diff(other.first).is_multiple_of(step)
            || step == 0 && self.first != other.first
    }

    /// From where on, with no end.
    #[must_use]
    pub fn upwards(self) -> Self {
        Self::new(self.first, MOST, self.step.max(1))
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: i64, b: i64, open: i64| if a == open || b == open { open } else { a + b };
        let (first, last) = (sum(self.first, other.first, LEAST), sum(self.last, other.last, MOST));
        Self::new(first, last, gcd(self.step, other.step))
    }

    #[must_use]
    pub fn negated(self) -> Self {
        let turned = |value: i64| if value.abs() >= MOST { value.signum() * -MOST } else { -value };
        let (first, last) = (turned(self.last), turned(self.first));
        // Without an end there is nothing to count the steps from.
        Self::new(first, last, self.step)
    }

    #[must_use]
    pub fn times(self, factor: i64) -> Self {
        if factor == 0 {
            return Self::from(0);
        }
        let product = |value: i64| match value {
            LEAST | MOST => value * factor.signum(),
            value => value.saturating_mul(factor).clamp(LEAST, MOST),
        };
        let (one, other) = (product(self.first), product(self.last));
        Self::new(one.min(other), one.max(other), self.step.saturating_mul(factor.unsigned_abs()))
    }

    /// Divided, without what is left, where all fit into a word.
    #[must_use]
    pub fn divided(self, by: i64, width: u32) -> Self {
        if !self.fits(width) || by <= 0 {
            return if by > 0 && width <= 32 { Self::between(0, ((1 << width) - 1) / by) } else { Self::ANY };
        }
        let divides = |value: u64| value.is_multiple_of(by.unsigned_abs());
        let step = if divides(self.step) && divides(self.first.unsigned_abs()) {
            self.step / by.unsigned_abs()
        } else {
            1
        };
        Self::new(self.first / by, self.last / by, step)
    }

    /// The high words of products of words with a number.
    #[must_use]
    pub fn high(self, factor: u32) -> Self {
        let (first, last) =
            if self.fits(u32::BITS) { (self.first, self.last) } else { (0, i64::from(u32::MAX)) };
        let high = |word: i64| i64::from(((u64::from(word as u32) * u64::from(factor)) >> u32::BITS) as u32);
        Self::between(high(first), high(last))
    }

    /// The low bits of a word, as a mask of that many ones leaves them.
    #[must_use]
    pub fn low_bits(self, count: u32) -> Self {
        if self.fits(count) {
            return self;
        }
        let modulus = 1u64 << count.min(40);
        let step = gcd(self.step, modulus);
        let first = self.first.rem_euclid(modulus.cast_signed()).rem_euclid(step.cast_signed().max(1));
        if self.first == LEAST {
            return Self::between(0, modulus.cast_signed() - 1);
        }
        if self.step != 0 && step == modulus {
            return Self::from(self.first.rem_euclid(modulus.cast_signed()));
        }
        match self.single() {
            Some(single) => Self::from(single.rem_euclid(modulus.cast_signed())),
            None => Self::new(first, modulus.cast_signed() - 1, step),
        }
    }

    /// The columns of addresses in Tensor Memory, if all of them are in the same lane.
    pub fn columns(self) -> Option<Self> {
        let first = self.first()?;
        let column = i64::from((first as u16).cast_signed());
        // What starts far below 0 and has no end is no address that goes on, but a number of which little is known.
        let goes_on = self.last == MOST && first >= i64::from(i16::MIN);
        let is_one_lane = self.last.saturating_sub(first) < 1 << 15 || goes_on;
        is_one_lane.then(|| self.plus(Self::from(column - first)))
    }

    /// Those that compare with a number in this way; none where no number does. A word is as large as it is
    /// counted: it has not wrapped around.
    #[must_use]
    pub fn compared(self, relation: Relation, with: i64) -> Option<Self> {
        // Numbers without a sign are not negative.
        if !relation.is_signed && relation.is_order() && (self.first < 0 || with < 0) {
            return Some(self);
        }
        let (mut first, mut last) = (self.first, self.last);
        let step = self.step.max(1).cast_signed();
        let is_equal = i64::from(relation.holds(Ordering::Equal));
        if !relation.holds(Ordering::Less) {
            first = first.max(with + 1 - is_equal);
        }
        if !relation.holds(Ordering::Greater) {
            last = last.min(with - 1 + is_equal);
        }
        if !relation.is_order() && is_equal == 0 {
            if first == with {
                first += step;
            }
            if last == with {
                last -= step;
            }
        }
        if first > last {
            return None;
        }
        // Up to the next of those that there are.
        if self.first > LEAST && first > self.first {
            first = self.first + (first - self.first).div_ceil_by(step) * step;
        }
        (first <= last).then(|| Self::new(first, last, self.step))
    }

    /// The bits that all of them have in common, in a word of `width` bits.
    pub fn bits(self, width: u32) -> Known {
        let all = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        if let Some(single) = self.single() {
            return Known::new(all, single.cast_unsigned() & all);
        }
        // What is less than a step does not change.
        let below = if self.step == 0 { 0 } else { (1u64 << self.step.trailing_zeros()) - 1 };
        let mut mask = if self.first > LEAST { below } else { 0 };
        let mut value = self.first.cast_unsigned() & mask;
        if self.fits(width) {
            let differ = (self.first ^ self.last).cast_unsigned();
            let above = all & !(u64::MAX >> differ.leading_zeros());
            mask |= above;
            value |= self.first.cast_unsigned() & above;
        }
        Known::new(mask & all, value & all)
    }
}

/// Division that rounds up, of numbers that are not negative.
trait DivCeil {
    fn div_ceil_by(self, by: Self) -> Self;
}

impl DivCeil for i64 {
    fn div_ceil_by(self, by: Self) -> Self {
        self / by + Self::from(self % by != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::isa::generic::{Comparison, Type};

    fn sets() -> impl Strategy<Value = Numbers> {
        (-40i64..40, 0i64..20, 0u64..9)
            .prop_map(|(first, count, step)| Numbers::new(first, first + count * step.cast_signed(), step))
    }

    fn members(of: Numbers) -> Vec<i64> {
        (-4000..4000).filter(|it| !Numbers::from(*it).is_disjoint(of)).collect()
    }

    proptest! {
        #[test]
        fn operations(a in sets(), b in sets(), factor in -9i64..9, bits in 1u32..8, by in 1i64..9, with in -50i64..50) {
            let (in_a, in_b) = (members(a), members(b));
            prop_assert_eq!(in_a.first().copied(), a.first());
            prop_assert_eq!(in_a.last().copied(), a.last());
            let holds = |set: Numbers, value: i64| !Numbers::from(value).is_disjoint(set);
            for x in &in_a {
                for y in &in_b {
                    prop_assert!(holds(a.plus(b), x + y));
                    prop_assert!(holds(a.plus(b.negated()), x - y));
                    prop_assert!(!(a.is_disjoint(b) && x == y));
                }
                prop_assert!(holds(a.or(b), *x) && holds(b.or(a), *x));
                prop_assert!(holds(a.times(factor), x * factor));
                prop_assert!(holds(a.upwards(), *x) && holds(a.upwards(), x + a.step.cast_signed()));
                prop_assert!(holds(a.low_bits(bits), x & ((1 << bits) - 1)), "{:?}", a.low_bits(bits));
                let word = i64::from(*x as u32);
                prop_assert!(holds(a.divided(by, 32), word / by));
                let factor = (factor.unsigned_abs() as u32).wrapping_mul(0x5555_5556);
                prop_assert!(holds(a.high(factor), ((i128::from(word) * i128::from(factor)) >> 32) as i64));
                let known = a.bits(32);
                prop_assert_eq!(word.cast_unsigned() & known.mask, known.value);
                for (comparison, holds_it) in
                    [(Comparison::Lt, *x < with), (Comparison::Eq, *x == with), (Comparison::Ne, *x != with), (Comparison::Ge, *x >= with)]
                {
                    let relation = comparison.of_integers(Type::S32).unwrap();
                    let compared = a.compared(relation, with);
                    if holds_it {
                        prop_assert!(compared.is_some_and(|it| holds(it, *x)), "{:?} {:?} {}", a, comparison, with);
                    }
                    let negated = a.compared(relation.negated(), with);
                    if !holds_it {
                        prop_assert!(negated.is_some_and(|it| holds(it, *x)));
                    }
                }
            }
        }
    }
}
