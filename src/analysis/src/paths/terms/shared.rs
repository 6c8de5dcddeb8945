//! Which terms several conditions are about, and where these are written: what has to be remembered on a path.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Builder, TermId, Terms};
use crate::bit_set::BitSet;
use crate::budget::Budget;
use crate::definitions::DefinitionId;
use crate::paths::carried::{Becomes, Write};

impl Builder<'_> {
    /// Keeps what conditions share, and where it is written.
    pub(super) fn finish(mut self, guards: &[u32]) -> (Terms, BitSet) {
        let none = (Terms::default(), BitSet::default());
        let mut mentions = Mentions::default();
        for guard in guards {
            let Some((term, _)) = self.terms.guard(*guard) else { continue };
            let Some(seen) = mentions.add(term, &self.terms, self.function.budget) else { return none };
            if let Some(block) = self.function.cfg.block_of(*guard)
                && self.function.cfg.is_in_loop(block)
            {
                for term in seen {
                    if mentions.of(term) == 1 && self.is_kept_round(term, block) {
                        mentions.again.insert(term);
                    }
                }
            }
        }
        let Some(mut written) = self.registers_written(&mut mentions) else { return none };
        let mut shared = BitSet::new(self.facts.len());
        let mut varying = BitSet::new(self.facts.len());
        let mut flags = BitSet::new(self.facts.len());
        let mut writes: Vec<Write> = Vec::new();
        for index in 0..self.facts.len() {
            let term = TermId(index as u32);
            if self.facts[index].varies {
                varying.insert(index);
            }
            let is_again = mentions.again.contains(&term);
            if self.facts[index].constant.is_some() || mentions.of(term) == 0 && !is_again {
                continue;
            }
            let written = written.remove(&term).unwrap_or_else(|| self.writes_of(term));
            let is_told = written.len() > 1 && written.iter().all(|write| write.becomes != Becomes::Other);
            if is_told && self.joins.contains(&term) {
                self.terms.counted.push(written.iter().map(|write| write.instruction).collect());
            }
            let is_flag = is_told && written.iter().all(|write| write.becomes.is_constant());
            let depends = |write: &Write| matches!(write.becomes, Becomes::Either { .. });
            if is_flag || is_told && written.iter().any(depends) {
                flags.insert(index);
            }
            let comes_round = is_told && self.lows.contains_key(&term);
            if mentions.of(term) > 1 || is_again || is_flag || comes_round {
                shared.insert(index);
                writes.extend(written);
            }
        }
        // What two predicates are together may be known before what each of them is.
        if shared.first_from(0).is_some() {
            let is_of_two = |term: &TermId| self.terms.is_of_two(*term);
            let of_two: Vec<TermId> = (0..self.facts.len() as u32).map(TermId).filter(is_of_two).collect();
            for term in of_two {
                if mentions.of(term) == 1 && !shared.contains(term.index()) {
                    shared.insert(term.index());
                    writes.extend(self.writes_of(term));
                }
            }
        }
        for (guard, (term, _)) in &self.terms.guards {
            let instruction = |id: &DefinitionId| self.function.definitions.get(*id).instruction;
            let leaves = self.facts[term.index()].leaves.iter().map(instruction).collect();
            self.terms.leaves.insert(*guard, leaves);
        }
        writes.sort_by_key(|write| (write.instruction, write.term));
        writes.dedup();
        self.terms.assigns = writes.iter().any(|write| write.becomes != Becomes::Other);
        self.terms.writes = writes;
        self.terms.varying = varying;
        self.terms.flags = flags;
        (self.terms, shared)
    }

    /// What writes registers that conditions are about: where that depends on another condition, it is about that,
    /// too. `None` where that is too much.
    fn registers_written(&mut self, mentions: &mut Mentions) -> Option<FxHashMap<TermId, Vec<Write>>> {
        let mut written: FxHashMap<TermId, Vec<Write>> = FxHashMap::default();
        let mut orders: Vec<TermId> =
            self.orders.keys().copied().filter(|order| mentions.of(*order) > 1).collect();
        orders.sort_unstable();
        for order in &orders {
            // What is known of the two terms may say how far apart they are, as if several conditions asked for it.
            for term in self.counted_in(*order) {
                mentions.count(term, 2);
            }
        }
        loop {
            let is_new = |term: &TermId| mentions.of(*term) > 0 && !written.contains_key(term);
            let mut registers: Vec<TermId> = self.joins.iter().copied().filter(is_new).collect();
            if registers.is_empty() {
                break;
            }
            registers.sort_unstable();
            for register in registers {
                let writes = self.writes_of(register);
                for write in &writes {
                    let Becomes::Either { when: Some(when), .. } = write.becomes else { continue };
                    if self.terms.guards.contains_key(&write.instruction) {
                        continue;
                    }
                    let module = &self.function.unit.module;
                    let guard = module.guard(&module.instructions[write.instruction as usize]);
                    let is_negated = guard.is_some_and(|guard| guard.negated);
                    self.terms.guards.insert(write.instruction, (when, is_negated));
                    mentions.add(when, &self.terms, self.function.budget)?;
                }
                written.insert(register, writes);
            }
        }
        for (low, (register, bits)) in &self.lows {
            let writes = written.get(register).into_iter().flatten();
            let of_low = |write: &Write| Write {
                instruction: write.instruction,
                term: *low,
                becomes: write.becomes.of_low_bits(*bits),
            };
            let writes: Vec<Write> = writes.map(of_low).collect();
            written.insert(*low, writes);
        }
        for order in orders {
            let Some(writes) = self.writes_of_order(order) else { continue };
            for write in &writes {
                if let Becomes::Apart(apart) = &write.becomes {
                    self.terms.all[apart.other.index()].aparts.push((order, apart.clone()));
                }
            }
            written.insert(order, writes);
        }
        Some(written)
    }
}

/// How many conditions are about what.
#[derive(Default)]
struct Mentions {
    /// By term.
    counts: Vec<u32>,
    /// Terms that are met again while they are what they were.
    again: FxHashSet<TermId>,
}

impl Mentions {
    fn of(&self, term: TermId) -> u32 {
        self.counts.get(term.index()).copied().unwrap_or_default()
    }

    /// So many more conditions are about a term.
    fn count(&mut self, term: TermId, more: u32) {
        if self.counts.len() <= term.index() {
            self.counts.resize(term.index() + 1, 0);
        }
        self.counts[term.index()] += more;
    }

    /// One more condition is about a term, and what that is made of, which is returned; `None` where that is too
    /// much.
    fn add(&mut self, term: TermId, terms: &Terms, budget: &Budget) -> Option<FxHashSet<TermId>> {
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut work = vec![term];
        while let Some(term) = work.pop() {
            if !budget.take(1) {
                return None;
            }
            if !seen.insert(term) {
                continue;
            }
            self.count(term, 1);
            terms.for_each_part(term, |part| work.push(part));
        }
        Some(seen)
    }
}
