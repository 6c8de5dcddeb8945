//! What may still become of an opcode that is being written.

use smallvec::SmallVec;

use super::{Constraint, Demand, Modifier, Row, Term};

/// What is known of a term while words may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It holds, and whatever follows changes nothing about that.
    Holds,
    /// It does not, whatever follows.
    Fails,
    /// That depends on what follows.
    Open,
}

impl Row {
    /// Whether the words of an opcode may go together once the others have been written. `is_free` says which of the
    /// groups of modifiers no word fills yet.
    pub fn may_become_sound(&self, words: &[Modifier], is_free: impl Fn(usize) -> bool) -> bool {
        let term = |term: &Term| self.known(term, words, &is_free);
        let is_lost = |constraint: &Constraint| match constraint.then {
            Demand::Needs(it) => term(&it) == Known::Fails,
            Demand::Excludes(it) => term(&it) == Known::Holds,
            Demand::OneOf(lists) => lists.iter().all(|list| list.iter().any(|it| term(it) == Known::Fails)),
            Demand::Since(_) | Demand::On(_) | Demand::Gone(..) | Demand::Leads(_) => false,
        };
        let concerns = |constraint: &Constraint| constraint.when.iter().all(|it| term(it) == Known::Holds);
        !self.constraints.iter().any(|constraint| concerns(constraint) && is_lost(constraint))
    }

    /// The gates that stand before words, whatever follows them.
    pub fn gates(
        &self,
        words: &[Modifier],
        is_free: impl Fn(usize) -> bool,
    ) -> SmallVec<[&'static Constraint; 4]> {
        let concerns = |constraint: &&Constraint| {
            constraint.when.iter().all(|it| self.known(it, words, &is_free) == Known::Holds)
        };
        self.constraints.iter().filter(|constraint| constraint.is_gate()).filter(concerns).collect()
    }

    fn known(&self, term: &Term, words: &[Modifier], is_free: &impl Fn(usize) -> bool) -> Known {
        let stands = Term { absent: false, ..*term }.find(words).is_some();
        let may_come = || {
            let free = self.modifiers.iter().enumerate().filter(|(at, _)| is_free(*at));
            free.flat_map(|(_, group)| group.words).any(|word| term.words.contains(word))
        };
        match (stands, term.absent) {
            (true, false) => Known::Holds,
            (true, true) => Known::Fails,
            (false, _) if may_come() => Known::Open,
            (false, false) => Known::Fails,
            (false, true) => Known::Holds,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::generic::{Modifier, Row, rows};

    fn fitting(row: &'static Row, written: &str) -> Vec<String> {
        let (mut words, mut filled) = (Vec::new(), 0u64);
        for word in written.split('.').filter(|it| !it.is_empty()) {
            let (group, modifier) = row.place(word, filled).unwrap();
            filled |= 1 << group;
            words.push(modifier);
        }
        let mut fitting = Vec::new();
        for (index, group) in row.modifiers.iter().enumerate().filter(|(index, _)| filled >> index & 1 == 0) {
            for word in group.words {
                let all: Vec<Modifier> = words.iter().copied().chain([*word]).collect();
                let is_free = |at: usize| at != index && filled >> at & 1 == 0;
                if row.may_become_sound(&all, is_free) {
                    fitting.push(word.spelling());
                }
            }
        }
        fitting
    }

    fn row(name: &str) -> &'static Row {
        rows().find(|row| row.name() == name).unwrap()
    }

    #[test]
    fn words_that_exclude_each_other_are_not_offered() {
        assert!(fitting(row("add"), "").contains(&"u64".to_owned()));
        let after_sat = fitting(row("add"), "sat");
        assert!(
            after_sat.contains(&"s32".to_owned()) && !after_sat.contains(&"u64".to_owned()),
            "{after_sat:?}"
        );
        let after_ftz = fitting(row("fma"), "rn.ftz");
        assert!(
            after_ftz.contains(&"f32".to_owned()) && !after_ftz.contains(&"f64".to_owned()),
            "{after_ftz:?}"
        );
    }

    #[test]
    fn something_may_follow_nothing() {
        for row in rows() {
            assert!(row.may_become_sound(&[], |_| true), "{}", row.name());
        }
    }
}
