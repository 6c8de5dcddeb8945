//! Sets of the threads of a block, and conditions that hold for some of them.

use crate::isa::hierarchy::{THREADS_OF_CTA, WARPS_OF_CTA};

/// The most threads that a block can have.
pub(super) const MOST: usize = THREADS_OF_CTA as usize;

/// The most warps.
const WARPS: usize = WARPS_OF_CTA as usize;

/// A set of threads of a block: the lanes of each warp, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSet([u32; WARPS]);

impl ThreadSet {
    pub(crate) const EMPTY: Self = Self([0; WARPS]);

    /// The first threads of a block.
    pub(super) fn below(count: usize) -> Self {
        Self::where_lanes(count, |_| u32::MAX)
    }

    /// Those of the first `count` threads for which something holds.
    pub(super) fn where_each(count: usize, holds: impl Fn(usize) -> bool) -> Self {
        Self::where_lanes(count, |warp| {
            let lanes = (count - warp * 32).min(32);
            (0..lanes).fold(0, |bits, lane| bits | u32::from(holds(warp * 32 + lane)) << lane)
        })
    }

    /// Those of the first `count` threads that are in a set of lanes given for each warp.
    pub(super) fn where_lanes(count: usize, lanes: impl Fn(usize) -> u32) -> Self {
        let mut set = Self::EMPTY;
        for (warp, word) in set.0.iter_mut().enumerate().take(count.div_ceil(32)) {
            let there = (count - warp * 32).min(32) as u32;
            *word = lanes(warp) & (u32::MAX >> (32 - there));
        }
        set
    }

    fn zip(self, other: Self, combine: impl Fn(u32, u32) -> u32) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(other.0).for_each(|(word, other)| *word = combine(*word, other));
        Self(words)
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.zip(other, |one, other| one & other)
    }

    /// Those that are in either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.zip(other, |one, other| one | other)
    }

    pub(super) fn without(self, other: Self) -> Self {
        self.zip(other, |one, other| one & !other)
    }

    /// The warps of which some thread is in it, with all their threads that there are.
    pub(super) fn whole_warps(self, all: Self) -> Self {
        self.zip(all, |some, all| if some == 0 { 0 } else { all })
    }

    pub(super) fn contains(&self, thread: usize) -> bool {
        self.0[thread / 32] >> (thread % 32) & 1 == 1
    }

    /// Whether no thread is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The warps of which some thread is in it, one bit each.
    pub fn some_of_warps(&self) -> u32 {
        let some = |(warp, lanes): (usize, &u32)| u32::from(*lanes != 0) << warp;
        self.0.iter().enumerate().map(some).fold(0, |bits, bit| bits | bit)
    }

    /// The lanes of a warp that are in it, one bit each.
    pub fn lanes(&self, warp: usize) -> u32 {
        self.0.get(warp).copied().unwrap_or_default()
    }

    /// The lanes of each warp that are in it, one bit each.
    pub fn warps(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

/// For which threads something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holds {
    /// Those for which it certainly does.
    pub(super) yes: ThreadSet,
    /// Those for which it certainly does not.
    pub(super) no: ThreadSet,
    /// Whether the others of each warp agree, whatever it is.
    pub(super) agrees: bool,
    /// The `elect` that has part in it, of which it does not matter which thread it elects; of several,
    /// one.
    pub(super) elects: Option<u32>,
}

impl Holds {
    pub(super) const NEVER_KNOWN: Self =
        Self { yes: ThreadSet::EMPTY, no: ThreadSet::EMPTY, agrees: false, elects: None };

    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes, ..self }
    }

    pub(super) fn not_if(self, negated: bool) -> Self {
        if negated { self.not() } else { self }
    }

    pub(super) fn and(self, other: Self, all: ThreadSet) -> Self {
        // Which thread is elected is not known: with what parts a warp, nothing more is than which warps
        // have none.
        let in_no_thread = |it: &Self| {
            ThreadSet::where_lanes(MOST, |warp| if it.no.0[warp] == all.0[warp] { all.0[warp] } else { 0 })
        };
        let elects = self.elects.or(other.elects);
        let no = match (self.elects, other.elects) {
            (Some(one), Some(other_one)) if one != other_one => {
                Some(in_no_thread(&self).or(in_no_thread(&other)))
            }
            (Some(_), None) if !other.is_of_warps(all) => Some(other.no.or(in_no_thread(&self))),
            (None, Some(_)) if !self.is_of_warps(all) => Some(self.no.or(in_no_thread(&other))),
            (Some(_) | None, Some(_) | None) => None,
        };
        if let Some(no) = no {
            return Self { no, elects, ..Self::NEVER_KNOWN };
        }
        let both = Self {
            yes: self.yes.and(other.yes),
            no: self.no.or(other.no),
            agrees: self.agrees_with(&other, all),
            elects,
        };
        // Of whole warps it does not matter which thread is elected.
        Self { elects: both.elects.filter(|_| !both.is_of_warps(all)), ..both }
    }

    pub(super) fn or(self, other: Self, all: ThreadSet) -> Self {
        self.not().and(other.not(), all).not()
    }

    pub(super) fn exclusive_or(self, other: Self, all: ThreadSet) -> Self {
        self.and(other.not(), all).or(self.not().and(other, all), all)
    }

    /// Whether it holds for whole warps or for none of their threads.
    pub(super) fn is_of_warps(&self, all: ThreadSet) -> bool {
        let whole = |set: ThreadSet| set.warps().zip(all.warps()).all(|(set, all)| set == 0 || set == all);
        self.agrees && whole(self.yes) && whole(self.no)
    }

    /// Whether what is unknown of both together agrees in each warp: it is unknown of all of a warp's
    /// threads for the same reason, because of one of both that holds otherwise, or because of both.
    fn agrees_with(&self, other: &Self, all: ThreadSet) -> bool {
        if !self.agrees || !other.agrees {
            return false;
        }
        let unknown = |it: &Self| all.without(it.yes.or(it.no));
        let (one, two) = (unknown(self), unknown(other));
        if one.is_empty() && two.is_empty() {
            return true;
        }
        let reasons = [one.and(two), one.and(other.yes), self.yes.and(two)];
        (0..WARPS).all(|warp| reasons.iter().map(|it| u32::from(it.0[warp] != 0)).sum::<u32>() < 2)
    }
}
