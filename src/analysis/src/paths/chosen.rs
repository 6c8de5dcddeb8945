//! What a register holds that was written under a condition: one of two terms.
//!
//! `mov x, 0; @q mov x, 1;` is what `selp x, 1, 0, q` is, and so is `mov x, 0;` with a branch past `mov x, 1;`.
//! Where values meet, the branches that they come by say which of them it is.

use smallvec::SmallVec;

use super::inverse::Inverse;
use super::terms::{Builder, DEEP, Facts, Found, Key, LEAVES, TermId, Test, VISIT};
use crate::cfg::BlockId;
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::isa::generic::Control;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolKind};
use crate::syntax::ast::Type;
use crate::values::{JoinId, ValueId};

/// Where it is decided what a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    /// By the guard of a definition.
    Guard(DefinitionId),
    /// By branches in front of a block where values of the register meet.
    Meeting(BlockId, RegisterId),
}

/// The ways from the last block that all of them go through to one where they meet.
struct Ways {
    parting: BlockId,
    meeting: BlockId,
    register: RegisterId,
    /// The blocks of the way that is gone.
    passed: SmallVec<[BlockId; 8]>,
    /// How many blocks were passed.
    steps: u32,
}

impl Builder<'_> {
    /// What a register holds at a place in a block, or at its end, where several definitions meet in it, if
    /// conditions that are known there choose one.
    pub(super) fn chosen(
        &mut self,
        block: BlockId,
        until: u32,
        register: RegisterId,
        join: JoinId,
        depth: u32,
    ) -> Option<Found> {
        let Function { unit, definitions, budget, .. } = self.function;
        if depth >= DEEP
            || !budget.take(VISIT)
            || definitions.joined(join).len() > LEAVES
            || !self.function.is_local(unit.symbols.register(register))
        {
            return None;
        }
        let all = definitions.all(ValueId::Join(join), budget)?;
        let choice = match self.last_guarded(&all, block, until) {
            Some(id) => Choice::Guard(id),
            None => Choice::Meeting(self.meeting(&all, block, register)?, register),
        };
        if let Some(known) = self.chosen.get(&choice) {
            return known.clone();
        }
        // What depends on itself is nothing that is known.
        self.chosen.insert(choice, None);
        let found = match choice {
            Choice::Guard(id) => self.by_guard(id, depth),
            Choice::Meeting(meeting, _) => {
                // What comes to the meeting comes from the last block that all ways to it go through.
                let parting = self.function.cfg.dominating(meeting).nth(1)?;
                let mut ways = Ways { parting, meeting, register, passed: SmallVec::new(), steps: 0 };
                self.behind(&mut ways, parting, depth).flatten()
            }
        };
        let is_small = |found: &Found| {
            self.facts[found.term.index()].leaves.len() <= LEAVES && found.carried.len() <= LEAVES
        };
        let found = found.filter(is_small);
        self.chosen.insert(choice, found.clone());
        found
    }

    /// The guarded definition that all ways go through, and none of the others behind it.
    fn last_guarded(&self, all: &[DefinitionId], block: BlockId, until: u32) -> Option<DefinitionId> {
        let definitions = self.function.definitions;
        let is_last = |id: &DefinitionId| {
            let is_first_of = |other: &DefinitionId| {
                other != id && self.is_behind(*id, definitions.get(*other).instruction)
            };
            definitions.get(*id).guarded
                && self.is_behind_in(*id, block, until)
                && !all.iter().any(is_first_of)
        };
        all.iter().copied().find(is_last)
    }

    /// The block where values of a register meet that is not written from there on.
    fn meeting(&self, all: &[DefinitionId], block: BlockId, register: RegisterId) -> Option<BlockId> {
        /// What is further above is not looked for.
        const ABOVE: usize = 32;
        let Function { cfg, definitions, budget, .. } = self.function;
        for above in cfg.dominating(block).take(ABOVE) {
            let is_written_behind = |id: &DefinitionId| {
                let at = cfg.block_of(definitions.get(*id).instruction);
                at.is_some_and(|at| cfg.dominates(above, at))
            };
            if !budget.take(all.len() as u64) || all.iter().any(is_written_behind) {
                return None;
            }
            let before = cfg.block(above).predecessors.iter().filter(|it| cfg.is_reachable(**it));
            let mut values = before.map(|it| definitions.leaving(cfg, *it, register, budget));
            if let Some(first) = values.next()
                && values.any(|value| value != first)
            {
                return Some(above);
            }
        }
        None
    }

    /// What a guarded definition leaves in its register.
    fn by_guard(&mut self, id: DefinitionId, depth: u32) -> Option<Found> {
        let Function { unit, definitions, budget, .. } = self.function;
        let definition = *definitions.get(id);
        let at = definition.instruction;
        // What it was is not what this has made before.
        if let Some(join @ ValueId::Join(_)) = self.function.value(at, definition.register)
            && definitions.all(join, budget)?.contains(&id)
        {
            return None;
        }
        let guard = unit.module.guard(&unit.module.instructions[at as usize])?;
        let Resolution::Register(predicate) = unit.symbols.guard(at) else { return None };
        let new = self.make(id, depth + 1)?;
        let old = self.register(at, definition.register, depth + 1)?;
        let when = self.register(at, predicate, depth + 1)?;
        let (yes, no) = if guard.negated { (old, new) } else { (new, old) };
        self.choose(&when, &yes, &no, definition.register)
    }

    /// What a register holds where ways meet that go on from a block; `Some(None)` if none of them gets there, and
    /// `None` where that cannot be told.
    #[allow(clippy::option_option, reason = "there may be no way, and it may not be known")]
    fn behind(&mut self, ways: &mut Ways, block: BlockId, depth: u32) -> Option<Option<Found>> {
        /// More blocks are not passed.
        const STEPS: u32 = 32;
        ways.steps += 1;
        if ways.passed.contains(&block) || ways.steps > STEPS || !self.function.budget.take(VISIT) {
            return None;
        }
        let Function { unit, cfg, .. } = self.function;
        let content = cfg.block(block);
        ways.passed.push(block);
        let found = match content.successors[..] {
            [] => Some(None),
            [only] => self.along(ways, block, only, depth),
            [one, other] => {
                let branch = content.branch?;
                let falls = |side: BlockId| side.0 == block.0 + 1;
                if unit.operations.of(branch).control() != Control::Branch || falls(one) == falls(other) {
                    return None;
                }
                let (taken, not) = if falls(one) { (other, one) } else { (one, other) };
                let taken = self.along(ways, block, taken, depth)?;
                let not = self.along(ways, block, not, depth)?;
                match (taken, not) {
                    (Some(taken), Some(not)) if taken.term != not.term => {
                        let guard = unit.module.guard(&unit.module.instructions[branch as usize])?;
                        let Resolution::Register(predicate) = unit.symbols.guard(branch) else { return None };
                        let when = self.register(branch, predicate, depth + 1)?;
                        let (yes, no) = if guard.negated { (not, taken) } else { (taken, not) };
                        Some(Some(self.choose(&when, &yes, &no, ways.register)?))
                    }
                    (Some(mut taken), Some(not)) => {
                        taken.is_made_of(&not);
                        Some(Some(taken))
                    }
                    (one, other) => Some(one.or(other)),
                }
            }
            _ => None,
        };
        ways.passed.pop();
        found
    }

    /// The same by way of an edge.
    #[allow(clippy::option_option, reason = "there may be no way, and it may not be known")]
    fn along(&mut self, ways: &mut Ways, from: BlockId, to: BlockId, depth: u32) -> Option<Option<Found>> {
        let Function { cfg, definitions, budget, .. } = self.function;
        if to == ways.parting {
            return Some(None);
        }
        if to != ways.meeting {
            return self.behind(ways, to, depth);
        }
        let end = cfg.block(from).instructions.end;
        match definitions.leaving(cfg, from, ways.register, budget)? {
            ValueId::Definition(id) => {
                let is_steady = self.is_behind_in(id, from, end) && self.counted(id).is_none();
                if is_steady { self.definition(id, depth + 1).map(Some) } else { None }
            }
            ValueId::Join(join) => self.chosen(from, end, ways.register, join, depth + 1).map(Some),
        }
    }

    /// One of two terms, one of which at least is a number: others are hardly ever compared.
    fn choose(&mut self, when: &Found, yes: &Found, no: &Found, register: RegisterId) -> Option<Found> {
        let constant = |this: &Self, found: &Found| this.facts[found.term.index()].constant;
        let numbers = (constant(self, yes), constant(self, no));
        let is_predicate = match self.function.unit.symbols.register(register).kind {
            SymbolKind::Register { ty, .. } => ty == Some(Type::Pred),
            _ => return None,
        };
        let term = match numbers {
            (None, None) => return None,
            _ if yes.term == no.term => yes.term,
            (Some(yes), Some(no)) if is_predicate => match (yes & 1, no & 1) {
                (1, 0) => when.term,
                (0, 1) => self.not(when.term),
                (_, _) => return None,
            },
            _ => self.one_of(when.term, yes.term, no.term, is_predicate),
        };
        let mut found = Found { is_chosen: true, ..Found::from(term) };
        for part in [when, yes, no] {
            found.is_made_of(part);
        }
        Some(found)
    }

    fn one_of(&mut self, when: TermId, yes: TermId, no: TermId, is_predicate: bool) -> TermId {
        let facts: Facts = self.facts_of(&[when, yes, no]);
        let term = self.term(Key::Chosen(when, yes, no), || facts);
        let numbers = (self.facts[yes.index()].constant, self.facts[no.index()].constant);
        if !is_predicate {
            match numbers {
                (Some(yes), Some(no)) => {
                    self.terms.set_inverse(term, when, Inverse::Select { yes, no });
                }
                _ => {
                    self.selections.insert(term, (when, yes, no));
                }
            }
            return term;
        }
        let test = match numbers {
            (Some(1), _) => Test::Or(when, no),
            (_, Some(0)) => Test::And(when, yes),
            (Some(_), _) => Test::And(self.not(when), no),
            (None, _) => Test::Or(self.not(when), yes),
        };
        self.terms.set_test(term, test);
        term
    }
}
