//! What writes make of what loops carry, and how long a term is what was read.

use smallvec::SmallVec;

use super::inverse::Inverse;
use super::order::Apart;
use super::range::{ValueSet, ones};
use super::terms::{Builder, Found, Key, TermId, Test};
use crate::cfg::BlockId;
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::isa::generic::{Arithmetic, Computation};
use crate::resolve::symbols::Resolution;
use crate::values::{JoinId, ValueId};
use crate::walks::Walk;

/// What an instruction makes of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) instruction: u32,
    pub(super) term: TermId,
    pub(super) becomes: Becomes,
}

/// What a term is behind a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// One thing.
    Made(Made),
    /// One where a predicate holds, and otherwise the other one; nobody knows which, if it is not said what the
    /// predicate is.
    Either { when: Option<TermId>, yes: Made, no: Made },
    /// How far a number is from another term.
    Apart(Apart),
    /// Something else.
    Other,
}

/// What a term is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// A number.
    Constant(u64),
    /// What it was, step by step; without any, it stays that.
    Through(SmallVec<[Inverse; 2]>),
}

impl Made {
    /// What it was.
    fn same() -> Self {
        Self::Through(SmallVec::new())
    }

    /// What the term is then, if this is known of it before.
    pub(super) fn image(&self, before: Option<&ValueSet>) -> Option<ValueSet> {
        match self {
            Self::Constant(value) => Some(ValueSet::only(*value)),
            Self::Through(steps) => {
                let mut set = before?.clone();
                for step in steps {
                    set = step.image(&set)?;
                }
                Some(set)
            }
        }
    }

    /// The same of the lowest bits.
    fn of_low_bits(&self, bits: u32) -> Option<Self> {
        match self {
            Self::Constant(value) => Some(Self::Constant(value & ones(bits))),
            Self::Through(steps) => {
                steps.iter().map(|step| step.of_low_bits(bits)).collect::<Option<_>>().map(Self::Through)
            }
        }
    }
}

impl Becomes {
    /// Whether the term is a number then, or what it was.
    pub(super) fn is_constant(&self) -> bool {
        let is_constant = |made: &Made| match made {
            Made::Constant(_) => true,
            Made::Through(steps) => steps.is_empty(),
        };
        match self {
            Self::Made(made) => is_constant(made),
            Self::Either { yes, no, .. } => is_constant(yes) && is_constant(no),
            Self::Apart(_) | Self::Other => false,
        }
    }

    /// The same of the lowest bits.
    pub(super) fn of_low_bits(&self, bits: u32) -> Self {
        let low = match self {
            Self::Made(made) => made.of_low_bits(bits).map(Self::Made),
            Self::Either { when, yes, no } => yes
                .of_low_bits(bits)
                .zip(no.of_low_bits(bits))
                .map(|(yes, no)| Self::Either { when: *when, yes, no }),
            Self::Apart(_) | Self::Other => None,
        };
        low.unwrap_or(Self::Other)
    }
}

/// A condition is not followed through more blocks.
const BETWEEN: usize = 64;

impl Builder<'_> {
    /// The same of a predicate about the next value of what a loop carries, which it has become meanwhile.
    pub(super) fn moved_on(&mut self, found: &Found, until: u32) -> Option<TermId> {
        let Function { cfg, definitions, budget, .. } = self.function;
        let &(reader, join) = found.carried.first()?;
        let from = found.carried.iter().map(|(reader, _)| *reader).min()?;
        if found.carried.iter().any(|(_, other)| *other != join)
            || cfg.block_of(reader) != cfg.block_of(until)
        {
            return None;
        }
        let all = definitions.all(ValueId::Join(join), budget)?;
        let mut between = all.iter().filter(|id| (from..until).contains(&definitions.get(**id).instruction));
        let (Some(written), None) = (between.next(), between.next()) else { return None };
        let carried = *self.known.get(&Key::Value(ValueId::Join(join)))?;
        let Becomes::Made(Made::Through(steps)) = self.becomes(*written, carried) else { return None };
        let &[step] = &steps[..] else { return None };
        let Some(Test::Within { atoms }) = self.terms.test(found.term) else { return None };
        let is_next = |term: TermId| self.terms.inverse(term) == Some((carried, step));
        let atoms: Vec<_> = atoms
            .iter()
            .filter(|(term, ..)| is_next(*term))
            .map(|(_, yes, no)| (carried, yes.clone(), no.clone()))
            .collect();
        (!atoms.is_empty()).then(|| self.anonymous(Test::Within { atoms }, &[carried]))
    }

    /// Whether nothing writes what an instruction reads on the way from there to another one, which control
    /// comes to behind it only.
    pub(super) fn is_kept(&self, reader: u32, join: JoinId, until: u32) -> bool {
        let Function { cfg, definitions, budget, .. } = self.function;
        let (Some(from), Some(to)) = (cfg.block_of(reader), cfg.block_of(until)) else { return false };
        let Some(all) = definitions.all(ValueId::Join(join), budget) else { return false };
        let mut written = all.iter().map(|id| definitions.get(*id).instruction);
        if from == to {
            return reader <= until && !written.any(|at| (reader..until).contains(&at));
        }
        // What is read on one of several ways matters only on that way, from where they part.
        let top = cfg.dominating(from).find(|it| cfg.dominates(*it, to));
        let Some(top) = top.filter(|top| *top != to) else { return false };
        // What leads to the second one, up to the block of the first one.
        let before = |block: BlockId| cfg.block(block).predecessors.iter().copied();
        let mut between = Walk::new(budget, before(to)).at_most(BETWEEN);
        while let Some(block) = between.pop() {
            if block != top && block != to {
                between.extend(before(block));
            }
        }
        let Some(between) = between.reached() else { return false };
        let is_between = |at: u32| match cfg.block_of(at) {
            Some(block) if block == top => block == from && at >= reader,
            Some(block) if block == to => at < until || between.contains(&to),
            Some(block) => between.contains(&block),
            None => true,
        };
        !written.any(is_between)
    }

    /// The same of all that a term is made of.
    pub(super) fn are_kept(&self, found: &Found, until: u32) -> bool {
        found.carried.iter().all(|(reader, join)| self.is_kept(*reader, *join, until))
    }

    /// Whether none of a term's leaves is written behind a reader of it, but before it is read again.
    pub(super) fn is_stable(&mut self, term: TermId, reader: u32) -> bool {
        let Some(block) = self.function.cfg.block_of(reader) else { return false };
        self.is_kept_round(term, block)
    }

    /// What writes the leaves of a term, and what it is then: that is said where the term is a register.
    pub(super) fn writes_of(&mut self, term: TermId) -> Vec<Write> {
        let is_register = self.joins.contains(&term);
        let leaves = self.facts[term.index()].leaves.clone();
        let mut writes = Vec::with_capacity(leaves.len());
        for id in leaves {
            let instruction = self.function.definitions.get(id).instruction;
            let becomes = if is_register { self.becomes(id, term) } else { Becomes::Other };
            writes.push(Write { instruction, term, becomes });
        }
        writes
    }

    /// What a register is behind one of the definitions that a term of it has.
    fn becomes(&mut self, id: DefinitionId, register: TermId) -> Becomes {
        let definition = *self.function.definitions.get(id);
        let at = definition.instruction;
        let found = if definition.guarded { self.make(id, 0) } else { self.definition(id, 0) };
        let Some(found) = found else { return Becomes::Other };
        if !self.are_kept(&found, at) {
            return Becomes::Other;
        }
        let made = self.made_of(found.term, register);
        if definition.guarded {
            let Some(made) = made else { return Becomes::Other };
            let guard = self.guard(at);
            let when = guard.map(|(term, _)| term);
            return match guard {
                Some((_, true)) => Becomes::Either { when, yes: Made::same(), no: made },
                Some((_, false)) | None => Becomes::Either { when, yes: made, no: Made::same() },
            };
        }
        if let Some(made) = made {
            return Becomes::Made(made);
        }
        if let Some((predicate, Inverse::Select { yes, no })) = self.terms.inverse(found.term) {
            return Becomes::Either {
                when: Some(predicate),
                yes: Made::Constant(yes),
                no: Made::Constant(no),
            };
        }
        if let Some((predicate, yes, no)) = self.selections.get(&found.term).copied() {
            let (yes, no) = (self.made_of(yes, register), self.made_of(no, register));
            let either = yes.zip(no).map(|(yes, no)| Becomes::Either { when: Some(predicate), yes, no });
            return either.unwrap_or(Becomes::Other);
        }
        if self.terms.test(found.term).is_some() {
            let (yes, no) = (Made::Constant(1), Made::Constant(0));
            return Becomes::Either { when: Some(found.term), yes, no };
        }
        Becomes::Other
    }

    /// How a term is made of a register, or a number.
    fn made_of(&self, term: TermId, register: TermId) -> Option<Made> {
        /// Longer chains are not followed.
        const STEPS: usize = 4;
        if let Some(value) = self.facts[term.index()].constant {
            return Some(Made::Constant(value));
        }
        let mut steps: SmallVec<[Inverse; 2]> = SmallVec::new();
        let mut at = term;
        while at != register {
            let (base, step) = match (self.terms.inverse(at), self.terms.test(at)) {
                (Some(made), _) => made,
                (None, Some(Test::Not(of))) => (*of, Inverse::Toggled { with: 1, width: 1 }),
                (None, _) => return None,
            };
            if steps.len() == STEPS || step.image(&ValueSet::only(0)).is_none() {
                return None;
            }
            steps.push(step);
            at = base;
        }
        steps.reverse();
        Some(Made::Through(steps))
    }

    /// Where a definition counts a register up or down, inverts it, or leaves it as it is under a condition:
    /// what it counts, which the register is behind it, too.
    pub(super) fn counted(&self, id: DefinitionId) -> Option<ValueId> {
        let Function { unit, definitions, .. } = self.function;
        let definition = definitions.get(id);
        let opcode = unit.operations.of(definition.instruction);
        let operands = unit.module.instructions[definition.instruction as usize].operands;
        let is_itself = |at: u32| {
            at < operands.len
                && unit.symbols.operand(operands.start + at) == Resolution::Register(definition.register)
        };
        let counts = match opcode.computes() {
            Computation::Arithmetic(Arithmetic::Add) | Computation::Not => is_itself(1),
            Computation::Arithmetic(Arithmetic::Subtract) | Computation::Xor | Computation::Select => {
                is_itself(1) || is_itself(2)
            }
            _ => false,
        };
        let counts = counts && !definition.guarded && definition.operand == operands.start;
        if counts { self.carrying(id) } else { None }
    }

    /// What a loop carries to a definition that is a part of it: what the register is behind it, too.
    pub(super) fn carrying(&self, id: DefinitionId) -> Option<ValueId> {
        let Function { definitions, budget, .. } = self.function;
        let definition = definitions.get(id);
        let value = self.function.value(definition.instruction, definition.register)?;
        let is_own = matches!(value, ValueId::Join(_)) && definitions.all(value, budget)?.contains(&id);
        is_own.then_some(value)
    }

    /// Whether a term is the same in each iteration of the loops that a block is in.
    pub(super) fn is_kept_round(&mut self, term: TermId, block: BlockId) -> bool {
        let leaves = self.facts[term.index()].leaves.clone();
        leaves.iter().all(|id| {
            let from = self.function.cfg.block_of(self.function.definitions.get(*id).instruction);
            from.is_some_and(|from| !self.function.cfg.share_circle(from, block))
        })
    }
}
