//! How two terms compare of which neither is a number: by how far apart they are.
//!
//! So that what a loop counts stays less than its end, or is equal to it for once, the distance is a term of its
//! own: with each iteration it is one less. It is a whole number: what the first term is, as a signed or an unsigned
//! number, less what the second one is.

use smallvec::{SmallVec, smallvec};

use super::carried::{Becomes, Made, Write};
use super::inverse::Inverse;
use super::range::{ValueSet, ones};
use super::terms::{Builder, Key, TermId};
use crate::isa::generic::Relation;
use crate::isa::special_registers::Values;

/// What a distance of 0 is as a number without a sign. Distances that are further from it than that are the
/// first number, or the last.
const EQUAL: u64 = 1 << 62;

/// What a distance is behind a write that makes one of the two terms a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Apart {
    number: u64,
    /// The term that is the number then.
    pub(super) register: TermId,
    /// The term that it is compared with.
    pub(super) other: TermId,
    /// What that can be at all.
    values: Option<Values>,
    /// Whether the number is the first one of them.
    is_first: bool,
    is_signed: bool,
    width: u32,
}

impl Apart {
    /// Whether the one term is the number, if this is known of it.
    pub(super) fn is_so(&self, register: Option<&ValueSet>) -> bool {
        register.and_then(ValueSet::single) == Some(self.number & ones(self.width))
    }

    /// What the distance can be, if this is known of the other term.
    pub(super) fn image(&self, other: Option<&ValueSet>) -> Option<ValueSet> {
        let values = self.values.map(|Values { first, last }| ValueSet::range(first, last));
        let set = match (other, values) {
            (Some(known), Some(values)) => known.and(&values),
            (Some(known), None) => known.clone(),
            (None, values) => values?,
        };
        Some(set.distances(self.number, self.is_first, self.is_signed, self.width))
    }
}

impl ValueSet {
    /// The distances of terms that compare so.
    pub(super) fn of_order(relation: Relation) -> Self {
        let mut outcomes = relation;
        outcomes.is_signed = false;
        Self::compared(outcomes, EQUAL, u64::BITS)
    }

    /// How far a number is from these, or these from the number.
    fn distances(&self, number: u64, is_first: bool, is_signed: bool, width: u32) -> Self {
        let (last, sign) = (ones(width), 1 << (width - 1));
        // With the sign inverted, signed numbers are in the order of unsigned ones.
        let turn = if is_signed { sign } else { 0 };
        let number = i128::from((number & last) ^ turn);
        let apart = |of: u64| {
            let of = i128::from(of ^ turn);
            let distance = if is_first { number - of } else { of - number };
            (distance + i128::from(EQUAL)).clamp(0, i128::from(u64::MAX)) as u64
        };
        let halves = [(0, sign - 1), (sign, last)].map(|(first, end)| self.and(&Self::range(first, end)));
        let ends = halves.iter().filter(|half| !half.is_empty()).filter_map(Self::ends);
        let distances = ends.map(|(first, end)| (apart(first), apart(end)));
        let ranges = distances.map(|(one, other)| Self::range(one.min(other), one.max(other)));
        ranges.reduce(|all, more| all.or(&more)).unwrap_or_else(Self::none)
    }

    /// The distances behind a sum that takes the first term up, or the second one down.
    pub(super) fn further(&self, by: i64) -> Self {
        let moved = self.moved(by);
        // What wraps around is on the other side then, and can be so only where it was not there before.
        let wraps = if by > 0 {
            (Self::range(EQUAL + 1, u64::MAX), Self::range(0, EQUAL.saturating_add_signed(by - 1)))
        } else {
            (Self::range(0, EQUAL - 1), Self::range(EQUAL.saturating_add_signed(by + 1), u64::MAX))
        };
        if moved.and(&wraps.0).is_empty() { moved } else { moved.or(&wraps.1) }
    }

    /// The distances before such a sum.
    pub(super) fn before_further(&self, by: i64) -> Self {
        let wrapped = if by > 0 {
            Self::range(EQUAL.saturating_add_signed(1 - by), u64::MAX)
        } else {
            Self::range(0, EQUAL.saturating_add_signed(-1 - by))
        };
        self.moved(-by).or(&wrapped)
    }

    /// Distances that are so much more. Those at either end may be any that are further away.
    fn moved(&self, by: i64) -> Self {
        let moved = |end: u64| end.saturating_add_signed(by);
        self.each(|first, last| {
            (if first == 0 { 0 } else { moved(first) }, if last == u64::MAX { last } else { moved(last) })
        })
    }
}

/// Two terms that are compared, as numbers with or without a sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    is_signed: bool,
    first: TermId,
    second: TermId,
    width: u32,
}

impl Builder<'_> {
    /// The term of how far apart two terms are, and whether it is the second one that is compared with the first.
    pub(super) fn order(&mut self, is_signed: bool, a: TermId, b: TermId, width: u32) -> (TermId, bool) {
        let ((of_a, by_a), (of_b, by_b)) = (self.sum(a, width), self.sum(b, width));
        let is_mirrored = (of_b, b) < (of_a, a);
        let (first, second) = if is_mirrored { (b, a) } else { (a, b) };
        let order = self.distance(is_signed, first, second, width);
        let ((base, by), (other, other_by)) =
            if is_mirrored { ((of_b, by_b), (of_a, by_a)) } else { ((of_a, by_a), (of_b, by_b)) };
        if base != other {
            let mut from = order;
            for (by, first, second) in [(by, base, second), (-other_by, base, other)] {
                if by != 0 {
                    let to = self.distance(is_signed, first, second, width);
                    self.terms.set_inverse(from, to, Inverse::Further { by });
                    from = to;
                }
            }
        }
        (order, is_mirrored)
    }

    fn distance(&mut self, is_signed: bool, first: TermId, second: TermId, width: u32) -> TermId {
        let facts = self.facts_of(&[first, second]);
        let order = self.term(Key::Order { is_signed, first, second, width }, || facts);
        self.orders.insert(order, Compared { is_signed, first, second, width });
        order
    }

    /// What a number is added to, and that.
    pub(super) fn sum(&self, term: TermId, width: u32) -> (TermId, i64) {
        match self.terms.inverse(term) {
            Some((base, inverse)) => added(inverse, width).map_or((term, 0), |by| (base, by)),
            None => (term, 0),
        }
    }

    /// The two terms that a distance is between, if a loop carries one of them.
    pub(super) fn counted_in(&self, order: TermId) -> SmallVec<[TermId; 2]> {
        let both = self.orders.get(&order).map(|Compared { first, second, .. }| [*first, *second]);
        let both = both.filter(|both| both.iter().any(|term| self.joins.contains(term)));
        both.into_iter().flatten().collect()
    }

    /// What writes make of how far apart two terms are.
    pub(super) fn writes_of_order(&mut self, order: TermId) -> Option<Vec<Write>> {
        let Compared { is_signed, first, second, width } = *self.orders.get(&order)?;
        let mut writes: Vec<Write> = Vec::new();
        let of_both = [self.writes_of(first), self.writes_of(second)];
        for (at, register, other) in [(0, first, second), (1, second, first)] {
            let (own, others) = (&of_both[at], &of_both[1 - at]);
            let values = self.facts[other.index()].values;
            let is_first = at == 0;
            for Write { instruction, becomes, .. } in own {
                let becomes = match becomes {
                    // What writes both of them moves both.
                    _ if others.iter().any(|other| other.instruction == *instruction) => Becomes::Other,
                    Becomes::Made(Made::Constant(number)) => {
                        let number = *number;
                        Becomes::Apart(Apart { number, register, other, values, is_first, is_signed, width })
                    }
                    Becomes::Made(Made::Through(steps)) => match steps[..] {
                        [] => becomes.clone(),
                        [step] => added(step, width).map_or(Becomes::Other, |by| {
                            let by = if is_first { by } else { -by };
                            Becomes::Made(Made::Through(smallvec![Inverse::Further { by }]))
                        }),
                        _ => Becomes::Other,
                    },
                    Becomes::Either { .. } | Becomes::Apart(_) | Becomes::Other => Becomes::Other,
                };
                writes.push(Write { instruction: *instruction, term: order, becomes });
            }
        }
        Some(writes)
    }
}

/// The number that is added to a term of this width, with its sign. The one that has no other sign says nothing.
fn added(inverse: Inverse, width: u32) -> Option<i64> {
    match inverse {
        Inverse::Sum { by, width: of } if of == width => {
            let by = (by << (u64::BITS - width)).cast_signed() >> (u64::BITS - width);
            Some(by).filter(|by| *by != i64::MIN)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDTH: u32 = 16;

    fn distance(one: u16, other: u16, is_signed: bool) -> u64 {
        let number = |it: u16| if is_signed { i64::from(it.cast_signed()) } else { i64::from(it) };
        EQUAL.saturating_add_signed(number(one) - number(other))
    }

    fn has(set: &ValueSet, value: u64) -> bool {
        !set.and(&ValueSet::only(value)).is_empty()
    }

    /// Numbers close to where they wrap around, and others.
    fn numbers() -> impl Strategy<Value = u16> {
        prop_oneof![any::<u16>(), 0..5u16, 0xFFFB..=0xFFFFu16, 0x7FFC..0x8004u16]
    }

    proptest! {
        #[test]
        fn sums_move_distances(one in numbers(), other in numbers(), by in -6..6i16, is_signed: bool) {
            prop_assume!(by != 0);
            let before = distance(one, other, is_signed);
            let moved = one.wrapping_add_signed(by);
            let behind = distance(moved, other, is_signed);
            prop_assert!(has(&ValueSet::only(before).further(by.into()), behind));
            prop_assert!(has(&ValueSet::only(behind).before_further(by.into()), before));
            // What is added to the second term makes it less.
            let before = distance(other, one, is_signed);
            let behind = distance(other, moved, is_signed);
            prop_assert!(has(&ValueSet::only(before).further((-by).into()), behind));
            prop_assert!(has(&ValueSet::only(behind).before_further((-by).into()), before));
        }

        #[test]
        fn numbers_are_apart(
            number in numbers(),
            (first, last) in (numbers(), numbers()),
            within in any::<prop::sample::Index>(),
            is_signed: bool,
        ) {
            let (first, last) = (first.min(last), first.max(last));
            let value = first + within.index(usize::from(last - first) + 1) as u16;
            let set = ValueSet::range(first.into(), last.into());
            for (is_first, wanted) in
                [(true, distance(number, value, is_signed)), (false, distance(value, number, is_signed))]
            {
                prop_assert!(has(&set.distances(number.into(), is_first, is_signed, WIDTH), wanted));
            }
        }
    }

    /// Distances that are too long to be told may be any that are.
    #[test]
    fn long_distances_are_not_lost() {
        let furthest = ValueSet::only(0).distances(0, false, false, 64);
        assert_eq!(furthest, ValueSet::only(EQUAL));
        let long = ValueSet::only(u64::MAX).distances(0, true, false, 64);
        assert_eq!(long, ValueSet::only(0));
        assert_eq!(long.further(3), ValueSet::range(0, 3));
        assert_eq!(long.further(-3).and(&ValueSet::only(0)), long);
    }

    /// What is less stays less or becomes equal, and what is next is not equal unless it was one less.
    #[test]
    fn one_more_is_at_most_equal() {
        let less = ValueSet::range(0, EQUAL - 1);
        assert_eq!(less.further(1), ValueSet::range(0, EQUAL));
        let differs = ValueSet::range(0, EQUAL - 1).or(&ValueSet::range(EQUAL + 1, u64::MAX));
        assert!(!has(&differs.before_further(1), EQUAL - 1));
        assert_eq!(less.and(&differs.before_further(1)), ValueSet::range(0, EQUAL - 2));
    }
}
