//! What is known of terms on a path, and where paths meet.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::range::ValueSet;
use super::terms::{TermId, Terms};
use crate::executing::ThreadSet;

/// More terms than these are not remembered at once.
const REMEMBERED: usize = 48;

/// How often what is known where a block is entered may change by and by; then what grows has no end
/// where it grows.
const CHANGES: u32 = 6;

/// Index of a set: the same for the same set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SetId(u32);

/// The sets that the terms of one function are in. What is known is handed on from block to block and joined
/// where these meet, and nearly always it is the same.
#[derive(Debug, Default)]
pub(super) struct Sets {
    all: RefCell<Vec<ValueSet>>,
    known: RefCell<FxHashMap<ValueSet, SetId>>,
    joined: RefCell<FxHashMap<(SetId, SetId), SetId>>,
}

impl Sets {
    pub(super) fn id(&self, set: &ValueSet) -> SetId {
        let mut known = self.known.borrow_mut();
        if let Some(id) = known.get(set) {
            return *id;
        }
        let mut all = self.all.borrow_mut();
        let id = SetId(all.len() as u32);
        all.push(set.clone());
        known.insert(set.clone(), id);
        id
    }

    /// Asks something of a set. What is asked must not make other sets known.
    fn ask<T>(&self, id: SetId, ask: impl FnOnce(&ValueSet) -> T) -> T {
        ask(&self.all.borrow()[id.0 as usize])
    }

    /// What is in either.
    fn or(&self, one: SetId, other: SetId) -> SetId {
        if let Some(known) = self.joined.borrow().get(&(one, other)) {
            return *known;
        }
        let either = self.ask(one, |one| self.ask(other, |other| one.or(other)));
        let either = self.id(&either);
        self.joined.borrow_mut().insert((one, other), either);
        either
    }
}

/// What is known of terms on a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    /// By term.
    sets: Vec<(TermId, SetId)>,
    /// The threads that can have taken the path; all, if nothing is said.
    threads: Option<Box<ThreadSet>>,
    /// Whether something was written since conclusions were drawn from what is known of several terms.
    pub(super) is_unsettled: bool,
}

/// What it means for what is known of a term that it is in a set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrowed {
    /// That cannot be.
    Impossible,
    /// That was known.
    Same,
    /// More is known, or it is not remembered. What was known before.
    Less(Option<SetId>),
}

impl Knowledge {
    /// Asks something of the set that a term is in, if one is known. What is asked must not make other sets known.
    pub(super) fn ask<T>(&self, sets: &Sets, term: TermId, ask: impl FnOnce(Option<&ValueSet>) -> T) -> T {
        match self.position(term) {
            Ok(at) => sets.ask(self.sets[at].1, |set| ask(Some(set))),
            Err(_) => ask(None),
        }
    }

    /// Whether a predicate holds, if that is known.
    pub(super) fn truth(&self, sets: &Sets, term: TermId) -> Option<bool> {
        match self.ask(sets, term, |set| set?.single())? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn position(&self, term: TermId) -> Result<usize, usize> {
        self.sets.binary_search_by_key(&term, |(term, _)| *term)
    }

    /// That a term is in a set.
    pub(super) fn narrow(&mut self, sets: &Sets, term: TermId, set: &ValueSet) -> Narrowed {
        match self.position(term) {
            Ok(at) => {
                let before = self.sets[at].1;
                let both = sets.ask(before, |known| {
                    let both = known.and(set);
                    (both != *known).then_some(both)
                });
                match both {
                    None => Narrowed::Same,
                    Some(both) if both.is_empty() => Narrowed::Impossible,
                    Some(both) => {
                        self.sets[at].1 = sets.id(&both);
                        Narrowed::Less(Some(before))
                    }
                }
            }
            Err(_) if set.is_empty() => Narrowed::Impossible,
            Err(at) => {
                if self.sets.len() < REMEMBERED {
                    self.sets.insert(at, (term, sets.id(set)));
                }
                Narrowed::Less(None)
            }
        }
    }

    /// The threads that can have taken the path, of these.
    pub(super) fn threads_of(&self, threads: &ThreadSet) -> ThreadSet {
        self.threads.as_ref().map_or(*threads, |known| known.and(*threads))
    }

    /// That the thread is one of these; false when it is not.
    pub(super) fn narrow_threads(&mut self, threads: &ThreadSet) -> bool {
        let both = self.threads_of(threads);
        self.threads = Some(Box::new(both));
        !both.is_empty()
    }

    /// What is known besides; false when both cannot be.
    pub(super) fn and(&mut self, sets: &Sets, more: &Self) -> bool {
        if !more.threads.as_ref().is_none_or(|threads| self.narrow_threads(threads)) {
            return false;
        }
        self.is_unsettled = true;
        more.sets.iter().all(|(term, set)| {
            let set = sets.ask(*set, ValueSet::clone);
            self.narrow(sets, *term, &set) != Narrowed::Impossible
        })
    }

    /// How much is known.
    pub(crate) fn len(&self) -> usize {
        self.sets.len() + usize::from(self.threads.is_some())
    }

    /// Whether nothing is known of any term.
    pub(super) fn has_no_terms(&self) -> bool {
        self.sets.is_empty()
    }

    /// What is known of some terms only, and not of threads.
    pub(super) fn only(&self, terms: impl Fn(TermId) -> bool) -> Self {
        let sets = self.sets.iter().copied().filter(|(term, _)| terms(*term)).collect();
        Self { sets, threads: None, is_unsettled: self.is_unsettled }
    }

    /// What is known on one of two paths: on this one, or on another. Whether that is less than before.
    pub(super) fn join(&mut self, sets: &Sets, other: &Self) -> bool {
        let mut is_less = false;
        self.is_unsettled |= other.is_unsettled;
        let mut others = other.sets.iter().peekable();
        self.sets.retain_mut(|(term, set)| {
            while others.next_if(|(other, _)| other < term).is_some() {}
            let Some((_, more)) = others.next_if(|(other, _)| other == term) else {
                is_less = true;
                return false;
            };
            if set != more {
                let either = sets.or(*set, *more);
                is_less |= either != *set;
                *set = either;
            }
            true
        });
        let threads = self.threads.as_ref().zip(other.threads.as_ref());
        let either = threads.map(|(one, other)| one.or(**other));
        if either.as_ref() != self.threads.as_deref() {
            is_less = true;
            self.threads = either.map(Box::new);
        }
        is_less
    }

    /// What includes both, so that it does not go on growing.
    fn widened(&self, sets: &Sets, terms: &Terms, grown: &Self) -> Self {
        let widened = |&(term, set): &(TermId, SetId)| {
            let at = grown.position(term).ok()?;
            let other = grown.sets[at].1;
            if other == set {
                return Some((term, set));
            }
            let widened = sets.ask(set, |set| sets.ask(other, |other| set.widened(other)));
            if widened == ValueSet::range(0, u64::MAX) {
                return None;
            }
            let bounded = match terms.bound(term) {
                Some(bound) => widened.and(&ValueSet::range(0, bound)),
                None => widened,
            };
            Some((term, sets.id(&bounded)))
        };
        Self {
            sets: self.sets.iter().filter_map(widened).collect(),
            threads: self.threads.clone().filter(|_| self.threads == grown.threads),
            is_unsettled: self.is_unsettled || grown.is_unsettled,
        }
    }

    /// That a term is in a set from here on, if that is known.
    pub(super) fn assign(&mut self, sets: &Sets, term: TermId, set: Option<&ValueSet>) {
        self.is_unsettled |= set.is_some();
        self.restore(term, set.map(|set| sets.id(set)));
    }

    /// That this was known of a term.
    pub(super) fn restore(&mut self, term: TermId, set: Option<SetId>) {
        match (self.position(term), set) {
            (Ok(at), Some(set)) => self.sets[at].1 = set,
            (Ok(at), None) => {
                self.sets.remove(at);
            }
            (Err(at), Some(set)) if self.sets.len() < REMEMBERED => self.sets.insert(at, (term, set)),
            (Err(_), _) => {}
        }
    }
}

/// What is known where something is entered, while paths are followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entered {
    pub(super) knowledge: Option<Knowledge>,
    changes: u32,
}

impl Entered {
    /// What is known, if a path leads here.
    pub(crate) fn knowledge(&self) -> Option<&Knowledge> {
        self.knowledge.as_ref()
    }

    /// Whether what is known did not stop growing.
    pub(super) fn is_widened(&self) -> bool {
        self.changes > CHANGES
    }

    /// One more path leads here; whether that changes anything.
    pub(super) fn join(&mut self, sets: &Sets, terms: &Terms, by: Knowledge) -> bool {
        let Some(known) = &mut self.knowledge else {
            self.knowledge = Some(by);
            return true;
        };
        let before = (self.changes >= CHANGES).then(|| known.clone());
        if !known.join(sets, &by) {
            return false;
        }
        self.changes += 1;
        if let Some(before) = before {
            *known = before.widened(sets, terms, known);
        }
        true
    }
}
