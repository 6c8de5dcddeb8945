//! Many mbarriers, sorted so that those that another one may be are found without comparing it with all.

use rustc_hash::FxHashMap;

use super::{LONGEST_RING, Mbarrier};
use crate::budget::Budget;
use crate::flow::Flow;
use crate::places::Root;

/// Mbarriers, with what belongs to each.
#[derive(Debug)]
pub struct Several<T> {
    by_root: FxHashMap<Root, Vec<Entry<T>>>,
    /// How many of the roots may begin at the same address as another one.
    movable: usize,
}

/// One of them. Those of a root are in the order of their first bytes.
#[derive(Debug)]
struct Entry<T> {
    mbarrier: Mbarrier,
    of_it: Vec<T>,
    /// The last byte of this one and of all before it.
    end: i64,
}

/// The first byte and the last one where an mbarrier may begin.
fn ends(mbarrier: &Mbarrier) -> (i64, i64) {
    let Mbarrier { bytes, .. } = mbarrier;
    (bytes.first().unwrap_or(i64::MIN), bytes.last().unwrap_or(i64::MAX))
}

/// Of those of one root, which begin at or before the last byte of `mbarrier`, the last one first.
fn before_end<'e, T>(
    entries: &'e [Entry<T>],
    mbarrier: &Mbarrier,
) -> impl Iterator<Item = &'e Entry<T>> + use<'e, T> {
    let (_, last) = ends(mbarrier);
    entries[..entries.partition_point(|it| ends(&it.mbarrier).0 <= last)].iter().rev()
}

/// Whether one of those of one root may be `mbarrier`; also if the budget does not suffice to find out.
fn may_have<T>(entries: &[Entry<T>], mbarrier: &Mbarrier, budget: &Budget) -> bool {
    let (first, _) = ends(mbarrier);
    let mut near = before_end(entries, mbarrier).take_while(|it| it.end >= first);
    near.any(|it| !budget.take(1) || it.mbarrier.may_be(mbarrier))
}

impl<T> Several<T> {
    /// Sorts mbarriers; `is_movable` says of a root whether another one may begin where it does.
    fn new(all: impl Iterator<Item = (Mbarrier, T)>, is_movable: impl Fn(Root) -> bool) -> Self {
        let mut known: FxHashMap<Mbarrier, Vec<T>> = FxHashMap::default();
        for (mbarrier, of_it) in all {
            known.entry(mbarrier).or_default().push(of_it);
        }
        let mut by_root: FxHashMap<Root, Vec<Entry<T>>> = FxHashMap::default();
        for (mbarrier, of_it) in known {
            let (_, end) = ends(&mbarrier);
            by_root.entry(mbarrier.root).or_default().push(Entry { mbarrier, of_it, end });
        }
        for entries in by_root.values_mut() {
            // What begins at the same byte stays in one order, whatever the map's is.
            entries.sort_unstable_by_key(|it| (ends(&it.mbarrier), it.mbarrier.bytes.count()));
            let mut end = i64::MIN;
            for entry in entries {
                end = end.max(entry.end);
                entry.end = end;
            }
        }
        let movable = by_root.keys().filter(|root| is_movable(**root)).count();
        Self { by_root, movable }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_root.is_empty()
    }

    /// Those with the same root that begin at or before the last byte of `mbarrier`, the last one first.
    fn before_end(&self, mbarrier: &Mbarrier) -> impl Iterator<Item = &Entry<T>> {
        before_end(self.by_root.get(&mbarrier.root).map_or(&[][..], Vec::as_slice), mbarrier)
    }

    /// Whether one of them may be `mbarrier`, counted from the same root; also if the budget does not suffice
    /// to find out.
    pub fn may_have(&self, mbarrier: &Mbarrier, budget: &Budget) -> bool {
        self.by_root.get(&mbarrier.root).is_some_and(|entries| may_have(entries, mbarrier, budget))
    }

    /// What belongs to those of the same ring as `mbarrier`, as far as the budget suffices.
    pub fn of_ring<'s>(
        &'s self,
        mbarrier: &'s Mbarrier,
        budget: &'s Budget,
    ) -> impl Iterator<Item = &'s T> + 's {
        let (first, _) = ends(mbarrier);
        // A ring begins no farther in front of one of its mbarriers.
        let near = self
            .before_end(mbarrier)
            .take_while(move |it| ends(&it.mbarrier).0.saturating_add(LONGEST_RING) > first);
        near.filter(move |it| budget.take(1) && it.mbarrier.is_of_same_ring(mbarrier))
            .flat_map(|it| &it.of_it)
    }
}

impl Flow<'_> {
    /// Sorts mbarriers.
    pub fn several<T>(&self, all: impl Iterator<Item = (Mbarrier, T)>) -> Several<T> {
        Several::new(all, |root| self.is_movable(root))
    }

    /// Whether another variable may begin at the same address: one that has no size, as all of these begin at
    /// the same address, or none at all.
    fn is_movable(&self, root: Root) -> bool {
        match root {
            Root::Variable(variable) => self.is_external(variable),
            Root::Literal | Root::Slot(_) | Root::Parameter(_) | Root::Register(_) => true,
        }
    }

    /// Whether an mbarrier may be one of several, also where each is counted from another root; also if the
    /// budget does not suffice to find out.
    pub fn may_be_one_of<T>(&self, mbarrier: &Mbarrier, several: &Several<T>) -> bool {
        let entries = several.by_root.get(&mbarrier.root);
        self.is_movable(mbarrier.root) && several.movable > usize::from(entries.is_some())
            || entries.is_some_and(|entries| may_have(entries, mbarrier, &self.facts.budget))
    }

    /// Whether two mbarriers may be the same, also where each is counted from another root; also if the budget does
    /// not suffice to find out.
    pub fn may_be_same(&self, one: &Mbarrier, other: &Mbarrier) -> bool {
        if one.root == other.root {
            !self.facts.budget.take(1) || one.may_be(other)
        } else {
            self.is_movable(one.root) && self.is_movable(other.root)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::Numbers;

    fn mbarrier(bytes: Numbers) -> Mbarrier {
        Mbarrier { root: Root::Literal, bytes }
    }

    fn at(byte: i64) -> Mbarrier {
        mbarrier(Numbers::from(byte))
    }

    fn stages(first: i64, count: i64) -> Mbarrier {
        mbarrier(Numbers::from(0).or(Numbers::from(8)).or(Numbers::from(8 * (count - 1))).plus(first.into()))
    }

    /// Of these mbarriers, the numbers of those in whose ring another one is.
    fn of_ring(all: &[Mbarrier], other: &Mbarrier) -> Vec<usize> {
        let several = Several::new(all.iter().copied().zip(0..), |_| true);
        let mut found: Vec<usize> = several.of_ring(other, &Budget::default()).copied().collect();
        found.sort_unstable();
        found
    }

    fn may_have(all: &[Mbarrier], other: &Mbarrier) -> bool {
        let several = Several::new(all.iter().map(|it| (*it, ())), |_| true);
        several.may_have(other, &Budget::default())
    }

    #[test]
    fn as_if_all_were_compared() {
        let any = mbarrier(Numbers::ANY);
        let mut all: Vec<Mbarrier> = (0..40).map(|stage| at(24 * stage)).collect();
        all.extend([stages(0, 4), stages(16, 8), stages(400, 64), stages(4, 3)]);
        let others = (0..1000).step_by(4).map(at).chain([stages(8, 2), stages(0, 64), stages(2, 9), any]);
        for other in others {
            for all in [&all[..], &all[..7], &all[40..], &[any]] {
                let expected: Vec<usize> =
                    (0..all.len()).filter(|it| all[*it].is_of_same_ring(&other)).collect();
                assert_eq!(of_ring(all, &other), expected, "{other:?}");
                assert_eq!(may_have(all, &other), all.iter().any(|it| it.may_be(&other)), "{other:?}");
            }
        }
    }

    #[test]
    fn without_a_budget_all_is_possible() {
        let several = Several::new([(at(8), ())].into_iter(), |_| true);
        assert!(several.may_have(&mbarrier(Numbers::between(4, 12)), &Budget::new(0)));
        assert!(!several.may_have(&at(100), &Budget::default()));
    }
}
