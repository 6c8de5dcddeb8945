//! Walks: all that is reached from somewhere, each thing once, and the order in which what depends on each
//! other is looked at again until nothing changes.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::bit_set::BitSet;
use super::budget::Budget;

/// What a walk has reached.
pub trait Marks<T> {
    /// Adds something. Whether it is new.
    fn mark(&mut self, thing: T) -> bool;
}

impl<T: Eq + Hash, S: BuildHasher> Marks<T> for HashSet<T, S> {
    fn mark(&mut self, thing: T) -> bool {
        self.insert(thing)
    }
}

/// A walk from things to what they lead to: blocks, definitions, values. It visits each once. Each that it is told of
/// takes a step of the budget. A walk that would be too long ends early, and is not [complete](Self::is_complete).
#[derive(Debug)]
pub struct Walk<'b, T, M = FxHashSet<T>> {
    budget: &'b Budget,
    most: usize,
    marks: M,
    /// How many are marked.
    len: usize,
    ahead: SmallVec<[T; 16]>,
    is_complete: bool,
}

impl<'b, T: Copy + Eq + Hash> Walk<'b, T> {
    /// A walk from these.
    pub fn new(budget: &'b Budget, from: impl IntoIterator<Item = T>) -> Self {
        Self::with_marks(budget, FxHashSet::default(), from)
    }
}

impl<'b, T: Copy, M: Marks<T>> Walk<'b, T, M> {
    /// The same with marks, none of which is set.
    pub fn with_marks(budget: &'b Budget, marks: M, from: impl IntoIterator<Item = T>) -> Self {
        let ahead = SmallVec::new();
        let mut walk = Self { budget, most: usize::MAX, marks, len: 0, ahead, is_complete: true };
        walk.extend(from);
        walk
    }

    /// The same walk, which ends early where it reaches more than `most`.
    #[must_use]
    pub fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Goes on to these later, but to those that were reached already.
    pub fn extend(&mut self, things: impl IntoIterator<Item = T>) {
        let mut steps = 0;
        for thing in things {
            steps += 1;
            if self.marks.mark(thing) {
                self.len += 1;
                self.ahead.push(thing);
            }
        }
        self.budget.take(steps);
    }

    /// The next one to visit; nothing at the end.
    pub fn pop(&mut self) -> Option<T> {
        if !self.ahead.is_empty() && (self.len > self.most || self.budget.is_spent()) {
            self.ahead.clear();
            self.is_complete = false;
        }
        self.ahead.pop()
    }

    /// Whether the walk did not end early.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// All that it has reached so far.
    pub fn so_far(&self) -> &M {
        &self.marks
    }

    /// All that it reached; nothing if it ended early.
    pub fn reached(self) -> Option<M> {
        self.is_complete.then_some(self.marks)
    }
}

/// Numbers of what has to be looked at, the lowest first. What becomes due meanwhile is looked at again.
#[derive(Debug)]
pub struct Worklist {
    due: BitSet,
    /// None below is due.
    from: usize,
}

impl Worklist {
    /// None of `len` is due.
    pub fn new(len: usize) -> Self {
        Self { due: BitSet::new(len), from: len }
    }

    /// All of `len` are due.
    pub fn full(len: usize) -> Self {
        Self { due: BitSet::full(len), from: 0 }
    }

    /// Makes one due.
    pub fn add(&mut self, number: usize) {
        self.due.insert(number);
        self.from = self.from.min(number);
    }

    /// Takes out the lowest.
    pub fn pop(&mut self) -> Option<usize> {
        let number = self.due.first_from(self.from);
        self.from = number.map_or(usize::MAX, |number| number + 1);
        number.inspect(|number| self.due.remove(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(walk: &mut Walk<'_, u32>) -> Vec<u32> {
        let mut visited = Vec::new();
        while let Some(number) = walk.pop() {
            visited.push(number);
            walk.extend([number / 2, number / 3]);
        }
        visited
    }

    #[test]
    fn visits_each_once() {
        let budget = Budget::new(100);
        let mut walk = Walk::new(&budget, [12]);
        assert_eq!(halves(&mut walk), [12, 4, 1, 0, 2, 6, 3]);
        assert_eq!(walk.reached().map(|it| it.len()), Some(7));
        assert_eq!(budget.taken(), 1 + 2 * 7);
    }

    #[test]
    fn ends_early() {
        let budget = Budget::new(100);
        let mut walk = Walk::new(&budget, [12]).at_most(3);
        assert_eq!(halves(&mut walk), [12, 4]);
        assert!(!walk.is_complete());
        let budget = Budget::new(4);
        let mut walk = Walk::new(&budget, [12]);
        assert_eq!(halves(&mut walk), [12, 4]);
        assert_eq!(walk.reached(), None);
    }

    #[test]
    fn lowest_first() {
        let mut list = Worklist::new(200);
        assert_eq!(list.pop(), None);
        list.add(150);
        list.add(3);
        assert_eq!(list.pop(), Some(3));
        list.add(1);
        list.add(170);
        assert_eq!([list.pop(), list.pop(), list.pop(), list.pop()], [Some(1), Some(150), Some(170), None]);
        list.add(0);
        assert_eq!(list.pop(), Some(0));
        let mut list = Worklist::full(2);
        assert_eq!([list.pop(), list.pop(), list.pop()], [Some(0), Some(1), None]);
    }
}
