//! Sets of numbers, as conditions describe them: ranges, and bits that all numbers have in common.

use std::cmp::Ordering;

use smallvec::{SmallVec, smallvec};

use crate::descriptor::Known;
use crate::isa::generic::Relation;

/// More ranges than this are one that includes them.
const RANGES: usize = 8;

/// A set of numbers of at most 64 bits. It may include more numbers than are meant, never fewer.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ValueSet {
    /// Ascending, with gaps between them; both ends are inside.
    ranges: SmallVec<[(u64, u64); 2]>,
    /// Bits that every member has.
    known: Known,
}

// By hand, as a list that is copied at once takes a tenth of one that is cloned range by range.
impl Clone for ValueSet {
    fn clone(&self) -> Self {
        Self { ranges: SmallVec::from_slice(&self.ranges), known: self.known }
    }
}

/// All bits of a number of this width.
pub(super) const fn ones(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl ValueSet {
    const NO_BITS: Known = Known::new(0, 0);

    /// No number.
    pub(super) fn none() -> Self {
        Self { ranges: SmallVec::new(), known: Self::NO_BITS }
    }

    /// From one number to another.
    pub(super) fn range(first: u64, last: u64) -> Self {
        Self { ranges: smallvec![(first, last)], known: Self::NO_BITS }
    }

    /// One number.
    pub(super) fn only(value: u64) -> Self {
        Self::range(value, value)
    }

    /// A predicate that is true, or false.
    pub(super) fn truth(truth: bool) -> Self {
        Self::only(u64::from(truth))
    }

    /// The numbers with these bits.
    fn with_bits(known: Known, width: u32) -> Self {
        Self { ranges: smallvec![(0, ones(width))], known }
    }

    /// The numbers of `width` bits that compare with a constant in this way.
    pub(super) fn compared(relation: Relation, with: u64, width: u32) -> Self {
        let last = ones(width);
        let sign = 1 << (width - 1);
        // With the sign inverted, signed numbers are in the order of unsigned ones.
        let turn = if relation.is_signed { sign } else { 0 };
        let at = (with & last) ^ turn;
        let parts = [
            (Ordering::Less, at.checked_sub(1).map(|end| (0, end))),
            (Ordering::Equal, Some((at, at))),
            (Ordering::Greater, (at < last).then(|| (at + 1, last))),
        ];
        let ranges =
            parts.into_iter().filter(|(outcome, _)| relation.holds(*outcome)).filter_map(|(_, part)| part);
        let turned = |(first, end): (u64, u64)| -> SmallVec<[(u64, u64); 2]> {
            if turn == 0 {
                smallvec![(first, end)]
            } else if first < sign && end >= sign {
                smallvec![(0, end ^ sign), (first ^ sign, last)]
            } else {
                smallvec![(first ^ sign, end ^ sign)]
            }
        };
        Self::of(ranges.flat_map(turned), Self::NO_BITS)
    }

    /// Ranges in any order.
    fn of(ranges: impl Iterator<Item = (u64, u64)>, known: Known) -> Self {
        let mut all: SmallVec<[(u64, u64); 2]> = ranges.collect();
        all.sort_unstable();
        let mut ranges: SmallVec<[(u64, u64); 2]> = SmallVec::new();
        for (first, end) in all {
            match ranges.last_mut() {
                Some(last) if first <= last.1.saturating_add(1) => last.1 = last.1.max(end),
                _ => ranges.push((first, end)),
            }
        }
        if ranges.len() > RANGES {
            ranges = smallvec![(ranges[0].0, ranges[ranges.len() - 1].1)];
        }
        let mut this = Self { ranges, known };
        this.count_out();
        this
    }

    /// Of few numbers, those that have the known bits are counted out.
    fn count_out(&mut self) {
        /// Numbers up to this one.
        const FEW: u64 = 63;
        if self.known.mask == 0 || self.ranges.last().is_none_or(|(_, end)| *end > FEW) {
            return;
        }
        let Known { mask, value } = self.known;
        let all = self.ranges.iter().flat_map(|(first, end)| *first..=*end);
        let counted = Self::of(all.filter(|it| it & mask == value).map(|it| (it, it)), Self::NO_BITS);
        // More ranges than there may be are one again, with numbers that do not belong there.
        if counted.ranges.len() < RANGES {
            *self = counted;
        }
    }

    /// Whether no number is left.
    pub(super) fn is_empty(&self) -> bool {
        !self.ranges.iter().any(|(first, end)| self.next(*first).is_some_and(|next| next <= *end))
    }

    /// The only number, if there is one.
    pub(super) fn single(&self) -> Option<u64> {
        match self.ranges[..] {
            [(first, end)] if first == end => Some(first),
            _ => None,
        }
    }

    /// The smallest number from `from` on that has the known bits.
    fn next(&self, from: u64) -> Option<u64> {
        let Known { mask, value } = self.known;
        let differ = (from ^ value) & mask;
        if differ == 0 {
            return Some(from);
        }
        let top = 1 << differ.ilog2();
        let below = top - 1;
        if value & top != 0 {
            return Some(from & !(top | below) | top | value & below);
        }
        // A free bit further up has to become one.
        let free = !mask & !from & !(top | below);
        if free == 0 {
            return None;
        }
        let bit = 1 << free.trailing_zeros();
        Some(from & !(bit | (bit - 1)) | bit | value & (bit - 1))
    }

    /// The first number and the last one.
    pub(super) fn ends(&self) -> Option<(u64, u64)> {
        Some((self.ranges.first()?.0, self.ranges.last()?.1))
    }

    /// All ranges with other ends.
    pub(super) fn each(&self, ends: impl Fn(u64, u64) -> (u64, u64)) -> Self {
        Self::of(self.ranges.iter().map(|(first, last)| ends(*first, *last)), Self::NO_BITS)
    }

    /// What is in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        if (self.known.value ^ other.known.value) & self.known.mask & other.known.mask != 0 {
            return Self::none();
        }
        let known = Known::new(self.known.mask | other.known.mask, self.known.value | other.known.value);
        if let ([one], [other], 0) = (&self.ranges[..], &other.ranges[..], known.mask) {
            let (first, end) = (one.0.max(other.0), one.1.min(other.1));
            return if first <= end { Self::range(first, end) } else { Self::none() };
        }
        let both = |(first, end): &(u64, u64)| -> SmallVec<[(u64, u64); 2]> {
            let within = |it: &(u64, u64)| (it.0.max(*first), it.1.min(*end));
            other.ranges.iter().map(within).filter(|(first, end)| first <= end).collect()
        };
        Self::of(self.ranges.iter().flat_map(both), known)
    }

    /// What is in either.
    pub(super) fn or(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        if self.ranges.is_empty() {
            return other.clone();
        }
        if other.ranges.is_empty() {
            return self.clone();
        }
        let agreed = self.known.mask & other.known.mask & !(self.known.value ^ other.known.value);
        let known = Known::new(agreed, self.known.value);
        Self::of(self.ranges.iter().chain(&other.ranges).copied(), known)
    }

    /// What `x + by` may be where `x` is in this set.
    pub(super) fn behind_sum(&self, by: u64, width: u32) -> Self {
        self.within(width).before_sum(by.wrapping_neg() & ones(width), width)
    }

    /// A set that includes both, of which no chain grows for long: where the second goes beyond an end of the
    /// first, it is as if it went far beyond.
    pub(super) fn widened(&self, grown: &Self) -> Self {
        /// Ends that loops hardly pass: each leaves room for one more, for signed and unsigned numbers.
        const FAR: [u64; 6] = [0, 63, 1023, 0xFFFF, (1 << 31) - 2, (1 << 32) - 2];
        let (Some((first, end)), Some((lower, higher))) = (self.ends(), grown.ends()) else {
            return grown.clone();
        };
        let below = || FAR.into_iter().rev().find(|far| *far <= lower).unwrap_or(0);
        let above = || FAR.into_iter().find(|far| *far >= higher).unwrap_or(u64::MAX);
        Self::range(if lower < first { below() } else { first }, if higher > end { above() } else { end })
    }

    /// What `x` may be where `x + by` is in this set.
    pub(super) fn before_sum(&self, by: u64, width: u32) -> Self {
        let last = ones(width);
        let moved = |(first, end): &(u64, u64)| -> SmallVec<[(u64, u64); 2]> {
            let (first, end) = (first.wrapping_sub(by) & last, end.wrapping_sub(by) & last);
            if first <= end { smallvec![(first, end)] } else { smallvec![(0, end), (first, last)] }
        };
        Self::of(self.ranges.iter().flat_map(moved), Self::NO_BITS)
    }

    /// What `from - x` may be where `x` is in this set, and the other way around.
    pub(super) fn rest(&self, from: u64, width: u32) -> Self {
        let last = ones(width);
        let turned = |(first, end): &(u64, u64)| -> SmallVec<[(u64, u64); 2]> {
            let (first, end) = (from.wrapping_sub(*end) & last, from.wrapping_sub(*first) & last);
            if first <= end { smallvec![(first, end)] } else { smallvec![(0, end), (first, last)] }
        };
        Self::of(self.ranges.iter().flat_map(turned), Self::NO_BITS)
    }

    /// What `x ^ with` may be where `x` is in this set, and the other way around; nothing where that is not
    /// said.
    pub(super) fn toggled(&self, with: u64, width: u32) -> Option<Self> {
        let last = ones(width);
        let with = with & last;
        if with == last {
            return Some(self.rest(last, width));
        }
        // All numbers but one.
        let but = match self.ranges[..] {
            [(1, end)] if end == last => Some(0),
            [(0, end)] if end < last && end + 1 == last => Some(last),
            [(0, end), (first, to)] if end + 2 == first && to == last => Some(end + 1),
            _ => None,
        };
        if let Some(but) = but {
            let but = but ^ with;
            let parts = [but.checked_sub(1).map(|end| (0, end)), (but < last).then(|| (but + 1, last))];
            return Some(Self::of(parts.into_iter().flatten(), Self::NO_BITS));
        }
        let all = self.few()?;
        Some(Self::of(all.into_iter().map(|it| (it ^ with, it ^ with)), Self::NO_BITS))
    }

    /// What `x & mask` may be where `x` is in this set.
    pub(super) fn masked(&self, mask: u64) -> Self {
        if (mask.wrapping_add(1)).is_power_of_two()
            && let Some((_, end)) = self.ranges.last()
            && *end <= mask
        {
            return self.clone();
        }
        match self.few() {
            Some(all) => Self::of(all.into_iter().map(|it| (it & mask, it & mask)), Self::NO_BITS),
            None => Self::range(0, mask),
        }
    }

    /// The numbers, where they are few.
    fn few(&self) -> Option<SmallVec<[u64; 8]>> {
        /// As many can be in ranges with gaps.
        const FEW: u64 = 2 * RANGES as u64;
        let mut all = SmallVec::new();
        for (first, end) in &self.ranges {
            if end - first >= FEW {
                return None;
            }
            all.extend((*first..=*end).filter(|it| it & self.known.mask == self.known.value));
        }
        (all.len() as u64 <= FEW).then_some(all)
    }

    /// What `x` may be where `x & mask` is in this set; nothing where that is not said.
    pub(super) fn before_mask(&self, mask: u64, width: u32) -> Option<Self> {
        let mask = mask & ones(width);
        let below = ones(width) & !mask;
        // One bit is 0 or it is 1.
        let possible = if mask.is_power_of_two() {
            let of_bit = |value: u64| self.and(&Self::only(value));
            match (of_bit(0).is_empty(), of_bit(mask).is_empty()) {
                (false, false) => return None,
                (true, false) => Some(mask),
                (false, true) => Some(0),
                (true, true) => return Some(Self::none()),
            }
        } else {
            self.single()
        };
        match possible {
            Some(value) if value & !mask != 0 => Some(Self::none()),
            Some(value) => Some(Self::with_bits(Known::new(mask, value), width)),
            None if below.wrapping_add(1).is_power_of_two() => {
                let up = |(first, end): &(u64, u64)| (*first, end | below);
                Some(Self::of(self.ranges.iter().map(up), Self::NO_BITS))
            }
            None => None,
        }
    }

    /// What `x` may be where `x >> by`, filled with zeros, is in this set.
    pub(super) fn before_shift(&self, by: u32, width: u32) -> Self {
        let last = ones(width);
        let up = |(first, end): &(u64, u64)| {
            let highest = last >> by;
            (*first <= highest).then(|| (first << by, (*end).min(highest) << by | ones(by)))
        };
        Self::of(self.ranges.iter().filter_map(up), Self::NO_BITS)
    }

    /// What a field of `len` bits at `at` has to be in for this.
    pub(super) fn before_field(&self, at: u32, len: u32, width: u32) -> Option<Self> {
        let value = self.single()?;
        if value & !ones(len) != 0 || at >= width {
            return Some(Self::none());
        }
        Some(Self::with_bits(Known::new((ones(len) << at) & ones(width), value << at), width))
    }

    /// The members of no more than `width` bits.
    pub(super) fn within(&self, width: u32) -> Self {
        self.and(&Self::range(0, ones(width)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::isa::generic::{Comparison, Type};

    const WIDTH: u32 = 6;

    fn members(set: &ValueSet) -> Vec<u64> {
        let is_in = |value: &u64| !set.and(&ValueSet::only(*value)).is_empty();
        (0..64).filter(is_in).collect()
    }

    fn sets() -> impl Strategy<Value = ValueSet> {
        let ranges = prop::collection::vec((0u64..64, 0u64..64), 0..4);
        (ranges, 0u64..64, 0u64..64).prop_map(|(ranges, mask, value)| {
            let ranges = ranges.into_iter().map(|(a, b)| (a.min(b), a.max(b)));
            ValueSet::of(ranges, Known::new(mask, value & mask))
        })
    }

    proptest! {
        #[test]
        fn sets_of_sets(a in sets(), b in sets(), by in 0u64..64, mask in 0u64..64, shift in 0u32..6) {
            let (in_a, in_b) = (members(&a), members(&b));
            prop_assert_eq!(a.is_empty(), in_a.is_empty());
            let both: Vec<u64> = in_a.iter().copied().filter(|it| in_b.contains(it)).collect();
            prop_assert_eq!(members(&a.and(&b)), both);
            let either = members(&a.or(&b));
            prop_assert!(in_a.iter().chain(&in_b).all(|it| either.contains(it)));
            let before = |f: &dyn Fn(u64) -> u64| -> Vec<u64> {
                (0..64).filter(|x| in_a.contains(&(f(*x) & 63))).collect()
            };
            let includes = |set: &ValueSet, wanted: Vec<u64>| {
                let found = members(set);
                wanted.iter().all(|it| found.contains(it))
            };
            prop_assert!(includes(&a.before_sum(by, WIDTH), before(&|x| x + by)));
            prop_assert!(includes(&a.before_shift(shift, WIDTH), before(&|x| x >> shift)));
            prop_assert!(includes(&a.rest(by, WIDTH), before(&|x| by.wrapping_sub(x))));
            let turned = a.toggled(mask, WIDTH);
            prop_assert!(turned.is_none_or(|set| includes(&set, before(&|x| x ^ mask))));
            let masked: Vec<u64> = in_a.iter().map(|x| x & mask).collect();
            prop_assert!(includes(&a.masked(mask), masked));
            if let Some(set) = a.before_mask(mask, WIDTH) {
                prop_assert!(includes(&set, before(&|x| x & mask)));
            }
            if let Some(set) = a.before_field(shift, 3, WIDTH) {
                prop_assert!(includes(&set, before(&|x| (x >> shift) & 7)));
            }
        }

        #[test]
        fn comparisons(with in 0u64..64, value in 0u64..64) {
            let signed = |it: u64| it.cast_signed() << 58 >> 58;
            let cases = [
                (Comparison::Eq, false, value == with),
                (Comparison::Ne, false, value != with),
                (Comparison::Lt, false, value < with),
                (Comparison::Lt, true, signed(value) < signed(with)),
                (Comparison::Le, true, signed(value) <= signed(with)),
                (Comparison::Gt, true, signed(value) > signed(with)),
                (Comparison::Ge, true, signed(value) >= signed(with)),
                (Comparison::Lo, true, value < with),
                (Comparison::Ls, true, value <= with),
                (Comparison::Hi, true, value > with),
                (Comparison::Hs, true, value >= with),
            ];
            for (comparison, is_signed, holds) in cases {
                let ty = if is_signed { Type::S32 } else { Type::U32 };
                let set = ValueSet::compared(comparison.of_integers(ty).unwrap(), with, WIDTH);
                prop_assert_eq!(members(&set).contains(&value), holds, "{:?} {}", comparison, is_signed);
            }
        }
    }
}
