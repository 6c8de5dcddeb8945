//! Predicates that are made of two others: what is known of both together may decide later, when more is known of
//! one of them.

use smallvec::SmallVec;

use super::{TermId, Terms};
use crate::bit_set::BitSet;
use crate::budget::Budget;
use crate::paths::FUEL;

/// Predicates that are made of two others.
#[derive(Debug, Default)]
pub(in crate::paths) struct Joint {
    pub(in crate::paths) predicates: Vec<TermId>,
    /// How many words a bit for each of them takes.
    words: usize,
    /// By term, and by their numbers: whether they are made of it.
    by_term: Vec<u64>,
}

impl Joint {
    /// A bit for each of them that is made of a term.
    pub(in crate::paths) fn made_of(&self, term: TermId) -> &[u64] {
        &self.by_term[term.index() * self.words..][..self.words]
    }
}

impl Terms {
    /// Those of these predicates that are made of two others, and which of them are made of each term, however deep.
    pub(in crate::paths) fn joint(&self, shared: &BitSet, budget: &Budget) -> Joint {
        /// Conclusions are drawn from no more terms.
        const PARTS: usize = FUEL as usize;
        let shared =
            (0..self.all.len()).filter(|term| shared.contains(*term)).map(|term| TermId(term as u32));
        let predicates: Vec<TermId> = shared.filter(|term| self.is_of_two(*term)).collect();
        let words = predicates.len().div_ceil(u64::BITS as usize);
        let mut by_term = vec![0; words * self.all.len()];
        for (number, of_two) in predicates.iter().enumerate() {
            let mut parts: SmallVec<[TermId; 16]> = SmallVec::new();
            self.for_each_part(*of_two, |part| parts.push(part));
            let mut at = 0;
            while let Some(&part) = parts.get(at)
                && budget.take(1)
            {
                at += 1;
                by_term[part.index() * words + number / 64] |= 1 << (number % 64);
                self.for_each_part(part, |next| {
                    if parts.len() < PARTS && !parts.contains(&next) {
                        parts.push(next);
                    }
                });
            }
        }
        Joint { predicates, words, by_term }
    }
}
