//! Conclusions from what is learnt of a predicate: what it says of the terms that it is made of, and what that says
//! of others.

use smallvec::SmallVec;

use super::knowledge::{Knowledge, Narrowed, SetId};
use super::range::ValueSet;
use super::terms::{TermId, Test};
use super::{FUEL, Paths};

/// Draws conclusions from what is learnt.
pub(super) struct Learner<'a> {
    paths: &'a Paths,
    pub(super) knowledge: &'a mut Knowledge,
    fuel: u32,
    /// Of predicates that are made of two others, those of whose parts more is known since: a bit for each.
    affected: SmallVec<[u64; 4]>,
    /// While something is only supposed: what was known of terms before, in the order in which it was lost.
    before: Option<Vec<(TermId, Option<SetId>)>>,
}

impl<'a> Learner<'a> {
    pub(super) fn new(paths: &'a Paths, knowledge: &'a mut Knowledge) -> Self {
        Self { paths, knowledge, fuel: FUEL, affected: SmallVec::new(), before: None }
    }

    /// Supposes something, and then knows again what was known before.
    pub(super) fn suppose<T>(&mut self, fuel: u32, conclude: impl FnOnce(&mut Self) -> T) -> T {
        let outer = (self.before.replace(Vec::new()), std::mem::replace(&mut self.fuel, fuel));
        let before = (self.affected.clone(), self.knowledge.is_unsettled);
        let concluded = conclude(self);
        for (term, set) in self.before.take().into_iter().flatten().rev() {
            self.knowledge.restore(term, set);
        }
        (self.affected, self.knowledge.is_unsettled) = before;
        (self.before, self.fuel) = outer;
        concluded
    }

    /// That a term is in a set; false when that cannot be.
    pub(super) fn narrow(&mut self, term: TermId, set: &ValueSet) -> bool {
        let Paths { terms, shared, sets, .. } = self.paths;
        let bounded = terms.bound(term).map(|bound| set.and(&ValueSet::range(0, bound)));
        let set = bounded.as_ref().unwrap_or(set);
        if set.is_empty() {
            return false;
        }
        if let Some(value) = terms.constant(term) {
            return !set.and(&ValueSet::only(value)).is_empty();
        }
        if self.fuel == 0 {
            return true;
        }
        self.fuel -= 1;
        if shared.contains(term.index()) {
            match self.knowledge.narrow(sets, term, set) {
                Narrowed::Impossible => return false,
                // What follows from that was concluded then.
                Narrowed::Same if terms.test(term).is_some() && !self.knowledge.is_unsettled => return true,
                Narrowed::Same => {}
                Narrowed::Less(known) => {
                    if let Some(before) = &mut self.before {
                        before.push((term, known));
                    }
                    let made_of = self.paths.joint.made_of(term);
                    self.affected.resize(made_of.len(), 0);
                    self.affected.iter_mut().zip(made_of).for_each(|(affected, more)| *affected |= more);
                }
            }
        }
        for (order, apart) in terms.aparts(term) {
            let is_so = self.knowledge.ask(sets, apart.register, |number| apart.is_so(number));
            let distances = if is_so { self.knowledge.ask(sets, term, |set| apart.image(set)) } else { None };
            if distances.is_some_and(|distances| !self.narrow(*order, &distances)) {
                return false;
            }
        }
        let follows = match (terms.test(term), set.single()) {
            (Some(test), Some(truth @ (0 | 1))) => self.test(test, truth == 1),
            _ => true,
        };
        follows
            && match terms.inverse(term) {
                Some((base, inverse)) => {
                    // What was known before counts, too.
                    let base_set =
                        self.knowledge.ask(sets, term, |known| inverse.apply(known.unwrap_or(set)));
                    base_set.is_none_or(|set| self.narrow(base, &set))
                }
                None => true,
            }
    }

    pub(super) fn truth(&mut self, term: TermId, holds: bool) -> bool {
        self.narrow(term, &ValueSet::truth(holds))
    }

    /// Whether what was learnt before of two predicates together can still be so: that not both hold, say,
    /// where it was not known which one does not.
    pub(super) fn agrees(&mut self) -> bool {
        let Paths { joint, terms, sets, .. } = self.paths;
        if std::mem::take(&mut self.knowledge.is_unsettled) {
            self.affected = SmallVec::from_elem(u64::MAX, joint.predicates.len().div_ceil(64));
        }
        let mut number = 0;
        while let Some(word) = self.affected.get(number / 64) {
            let left = word >> (number % 64);
            if left == 0 {
                number = (number / 64 + 1) * 64;
                continue;
            }
            number += left.trailing_zeros() as usize;
            let Some(&term) = joint.predicates.get(number) else { break };
            number += 1;
            if let (Some(test), Some(truth)) = (terms.test(term), self.knowledge.truth(sets, term))
                && self.fuel > 0
                && !self.test(test, truth)
            {
                return false;
            }
        }
        true
    }

    /// Whether a predicate can be so.
    fn can(&mut self, term: TermId, holds: bool) -> bool {
        self.suppose(self.fuel / 2, |supposing| supposing.truth(term, holds))
    }

    fn test(&mut self, test: &Test, holds: bool) -> bool {
        match test {
            Test::Decided(known) => *known == holds,
            Test::Not(term) => self.truth(*term, !holds),
            Test::And(one, other) if holds => self.truth(*one, true) && self.truth(*other, true),
            Test::Or(one, other) if !holds => self.truth(*one, false) && self.truth(*other, false),
            Test::Alike(one, other) => self.truth(*one, holds) && self.truth(*other, holds),
            // One of them decides; if one cannot, the other does.
            Test::And(one, other) | Test::Or(one, other) => {
                match (self.can(*one, holds), self.can(*other, holds)) {
                    (true, true) => true,
                    (true, false) => self.truth(*one, holds),
                    (false, true) => self.truth(*other, holds),
                    (false, false) => false,
                }
            }
            Test::Within { atoms } => {
                atoms.iter().all(|(term, yes, no)| self.narrow(*term, if holds { yes } else { no }))
            }
        }
    }
}
