//! What conditions are about.
//!
//! A term stands for what a register holds, by how that is made: two registers that are computed in the
//! same way from the same values are one term (value numbering). Its leaves are what is not looked into:
//! loads, results of atomics, values that loops carry. A term changes only where one of its leaves is
//! written.
//!
//! That holds because each definition that a term is made of dominates the one that reads it: a path from
//! where a leaf is written to where the term is read goes through all that is between. Where several
//! definitions meet, a leaf is what the register holds, and what reads it has to stand where none of them
//! can come in between.

use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::carried::Write;
use super::chosen::Choice;
use super::inverse::Inverse;
use super::order::{Apart, Compared};
use super::range::{ValueSet, ones};
use crate::bit_set::BitSet;
use crate::cfg::BlockId;
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::isa::generic::{
    Arithmetic, Bits, BooleanOperator, Computation, Flag, Lanes, Modifier, Relation, ShuffleMode, Space,
    Synchronization, Type,
};
use crate::isa::special_registers::{Extent, Lasting, Special, Values};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind};
use crate::syntax::ast::{BinaryOperator, OperandKind, StateSpace, UnaryOperator};
use crate::syntax::literal;
use crate::values::{JoinId, ValueId};

mod joint;
mod shared;

pub(super) use joint::Joint;

/// Index of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TermId(u32);

impl TermId {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a predicate says.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// The same in every run.
    Decided(bool),
    Not(TermId),
    And(TermId, TermId),
    Or(TermId, TermId),
    /// What both of two predicates say, each in its own way.
    Alike(TermId, TermId),
    /// That terms are in sets: where it is true, and where it is false.
    Within {
        atoms: Vec<(TermId, ValueSet, ValueSet)>,
    },
}

/// What a term says of others, and of itself.
#[derive(Debug, Default)]
struct About {
    /// Of a predicate: what it says.
    test: Option<Test>,
    /// How it is made of another one.
    inverse: Option<(TermId, Inverse)>,
    constant: Option<u64>,
    /// What it is at most, by the way it is made.
    bound: Option<u64>,
    /// How far it is from numbers that another one is set to, and the terms that say how far apart they are.
    aparts: Vec<(TermId, Apart)>,
}

/// The terms of the conditions of one function.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// By instruction: what its guard is, and whether it is negated.
    guards: FxHashMap<u32, (TermId, bool)>,
    /// By term.
    all: Vec<About>,
    /// What instructions make of a term.
    writes: Vec<Write>,
    /// Whether some of them say what it is then.
    assigns: bool,
    /// Registers that are set to constants only, or under a condition.
    flags: BitSet,
    /// By guarded instruction: what changes its guard.
    leaves: FxHashMap<u32, SmallVec<[u32; 2]>>,
    /// For each register that is only set to constants and counted up or down: where that is.
    counted: Vec<SmallVec<[u32; 4]>>,
    /// Terms that differ between the threads of a CTA by their nature.
    varying: BitSet,
}

impl Terms {
    /// Reads the conditions of guarded instructions; with them come the terms that several of them are
    /// about, or one that is met again while the term is what it was.
    pub(super) fn new(function: &Function<'_>, guards: &[u32]) -> (Self, BitSet) {
        let mut builder = Builder {
            function: *function,
            terms: Self::default(),
            known: FxHashMap::default(),
            facts: Vec::new(),
            made: FxHashMap::default(),
            made_plainly: FxHashMap::default(),
            chosen: FxHashMap::default(),
            is_plain: false,
            selections: FxHashMap::default(),
            joins: FxHashSet::default(),
            lows: FxHashMap::default(),
            orders: FxHashMap::default(),
        };
        for &instruction in guards {
            if let Some(guard) = builder.guard(instruction) {
                builder.terms.guards.insert(instruction, guard);
            }
        }
        builder.finish(guards)
    }

    /// Whether a predicate can only be true, or only false, by itself.
    pub(super) fn decides(&self) -> bool {
        self.all.iter().filter_map(|about| about.test.as_ref()).any(|test| match test {
            Test::Decided(_) => true,
            Test::Not(_) | Test::And(..) | Test::Or(..) | Test::Alike(..) => false,
            Test::Within { atoms } => atoms.iter().any(|(term, yes, no)| {
                let is_empty = |set: &ValueSet| match self.bound(*term) {
                    Some(bound) => set.and(&ValueSet::range(0, bound)).is_empty(),
                    None => set.is_empty(),
                };
                is_empty(yes) || is_empty(no)
            }),
        })
    }

    pub(super) fn guard(&self, instruction: u32) -> Option<(TermId, bool)> {
        self.guards.get(&instruction).copied()
    }

    pub(super) fn test(&self, term: TermId) -> Option<&Test> {
        self.all[term.index()].test.as_ref()
    }

    /// Whether a term is a predicate that is made of two others, which may not be decided where it is.
    pub(super) fn is_of_two(&self, term: TermId) -> bool {
        matches!(self.test(term), Some(Test::And(..) | Test::Or(..)))
    }

    /// What a term is made of.
    fn for_each_part(&self, term: TermId, mut each: impl FnMut(TermId)) {
        self.inverse(term).iter().for_each(|(base, _)| each(*base));
        match self.test(term) {
            None | Some(Test::Decided(_)) => {}
            Some(Test::Not(of)) => each(*of),
            Some(Test::And(one, other) | Test::Or(one, other) | Test::Alike(one, other)) => {
                each(*one);
                each(*other);
            }
            Some(Test::Within { atoms }) => atoms.iter().for_each(|(term, ..)| each(*term)),
        }
    }

    /// Whether a term differs between the threads of a CTA by its nature.
    pub(super) fn varies(&self, term: TermId) -> bool {
        self.varying.contains(term.index())
    }

    /// What a term is at most, by the way it is made.
    pub(super) fn bound(&self, term: TermId) -> Option<u64> {
        self.all[term.index()].bound
    }

    pub(super) fn constant(&self, term: TermId) -> Option<u64> {
        self.all[term.index()].constant
    }

    pub(super) fn inverse(&self, term: TermId) -> Option<(TermId, Inverse)> {
        self.all[term.index()].inverse
    }

    /// Says what a predicate says.
    pub(super) fn set_test(&mut self, term: TermId, test: Test) {
        self.all[term.index()].test = Some(test);
    }

    /// Says how a term is made of another one.
    pub(super) fn set_inverse(&mut self, term: TermId, base: TermId, inverse: Inverse) {
        self.all[term.index()].inverse = Some((base, inverse));
    }

    /// How far a term is from numbers that another one is set to, and the terms that say how far apart they are.
    pub(super) fn aparts(&self, term: TermId) -> &[(TermId, Apart)] {
        &self.all[term.index()].aparts
    }

    /// What these instructions make of terms, one after the other.
    pub(super) fn written_in(&self, instructions: Range<u32>) -> &[Write] {
        let start = self.writes.partition_point(|write| write.instruction < instructions.start);
        let end = self.writes.partition_point(|write| write.instruction < instructions.end);
        &self.writes[start..end.max(start)]
    }

    /// Whether writes say what terms are then.
    pub(super) fn assigns(&self) -> bool {
        self.assigns
    }

    /// The instructions that change the guard of another one.
    pub(super) fn leaves(&self, guarded: u32) -> &[u32] {
        self.leaves.get(&guarded).map_or(&[], |leaves| leaves)
    }

    /// For each register that is only set to constants and counted up or down: the instructions that do that.
    pub(super) fn counted(&self) -> impl Iterator<Item = &[u32]> {
        self.counted.iter().map(|all| &all[..])
    }

    /// Whether a term is a register that is set to constants only, or under a condition.
    pub(super) fn is_flag(&self, term: TermId) -> bool {
        self.flags.contains(term.index())
    }
}

/// What makes terms the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Value(ValueId),
    /// A register of the machine.
    Machine(Special),
    /// A parameter of the kernel, from an offset on.
    Parameter(SymbolId, i128),
    Constant(u64),
    /// What an opcode makes, by its number; its first result, or its second.
    Made(u32, bool, SmallVec<[TermId; 3]>),
    Not(TermId),
    /// One of two terms: the predicate, and what it is where that holds, and where not.
    Chosen(TermId, TermId, TermId),
    /// As many of the lowest bits of a term.
    Low(TermId, u32),
    /// [How far apart](super::order) two terms are, as signed numbers of so many bits or unsigned ones.
    Order {
        is_signed: bool,
        first: TermId,
        second: TermId,
        width: u32,
    },
}

/// What is known of a term.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) constant: Option<u64>,
    /// Definitions that change it.
    pub(super) leaves: SmallVec<[DefinitionId; 2]>,
    /// Whether the highest bit is 0.
    is_positive: bool,
    /// Whether it is so far from the ends of the signed numbers that a small sum does not reach them.
    is_small: bool,
    /// Whether it differs between the threads of a CTA by its nature.
    varies: bool,
    /// What it can be at all, where it is a register of the machine.
    pub(super) values: Option<Values>,
}

/// A term as it is read somewhere.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) term: TermId,
    /// Values that loops carry, each with who reads it: up to where that value is written, the term is
    /// what was read.
    pub(super) carried: SmallVec<[(u32, JoinId); 1]>,
    /// Whether it is made of what was chosen by a condition.
    pub(super) is_chosen: bool,
}

impl Found {
    /// That a term is made of this one, too.
    pub(super) fn is_made_of(&mut self, part: &Self) {
        self.is_chosen |= part.is_chosen;
        for carried in &part.carried {
            if !self.carried.contains(carried) {
                self.carried.push(*carried);
            }
        }
    }
}

impl From<TermId> for Found {
    fn from(term: TermId) -> Self {
        Self { term, carried: SmallVec::new(), is_chosen: false }
    }
}

pub(super) struct Builder<'a> {
    pub(super) function: Function<'a>,
    pub(super) terms: Terms,
    pub(super) known: FxHashMap<Key, TermId>,
    /// By term.
    pub(super) facts: Vec<Facts>,
    made: FxHashMap<DefinitionId, Found>,
    /// The same, as long as nothing is taken for chosen, where that makes a difference.
    made_plainly: FxHashMap<DefinitionId, Found>,
    /// What was chosen by conditions, where that was found out.
    pub(super) chosen: FxHashMap<Choice, Option<Found>>,
    /// Whether nothing is taken for chosen.
    pub(super) is_plain: bool,
    /// What is one of two terms: the predicate, and what it is where that holds, and where not.
    pub(super) selections: FxHashMap<TermId, (TermId, TermId, TermId)>,
    /// The terms that are what a register holds where several definitions meet.
    pub(super) joins: FxHashSet<TermId>,
    /// Those that are the lowest bits of one, and how many.
    pub(super) lows: FxHashMap<TermId, (TermId, u32)>,
    /// Those that are how far apart two terms are.
    pub(super) orders: FxHashMap<TermId, Compared>,
}

/// Deeper expressions are not looked into.
pub(super) const DEEP: u32 = 16;
/// Terms that more definitions change are not looked into.
pub(super) const LEAVES: usize = 8;
/// What a term takes, in steps of the budget.
pub(super) const VISIT: u64 = 4;

impl Builder<'_> {
    /// The term of an instruction's guard, and whether it is negated.
    pub(super) fn guard(&mut self, instruction: u32) -> Option<(TermId, bool)> {
        let Function { unit, .. } = self.function;
        let guard = unit.module.guard(&unit.module.instructions[instruction as usize])?;
        let Resolution::Register(register) = unit.symbols.guard(instruction) else { return None };
        let found = self.register(instruction, register, 0)?;
        if !found.is_chosen {
            return Some((self.settled(&found, instruction, register)?, guard.negated));
        }
        // It is what was chosen, and it is what the registers hold that were written.
        self.is_plain = true;
        let plain = self.register(instruction, register, 0);
        let plain = plain.and_then(|plain| self.settled(&plain, instruction, register));
        self.is_plain = false;
        let is_kept = self.are_kept(&found, instruction);
        let term = match plain.filter(|plain| *plain != found.term) {
            Some(plain) if is_kept => self.anonymous(Test::Alike(found.term, plain), &[found.term, plain]),
            Some(plain) => plain,
            None if is_kept || plain.is_some() => found.term,
            None => return None,
        };
        Some((term, guard.negated))
    }

    /// The term of a predicate that an instruction reads.
    fn settled(&mut self, found: &Found, instruction: u32, register: RegisterId) -> Option<TermId> {
        if self.are_kept(found, instruction) {
            return Some(found.term);
        }
        if let Some(term) = self.moved_on(found, instruction) {
            return Some(term);
        }
        // The predicate itself is what it is; where a loop carries it, that is followed.
        let value = self.function.value(instruction, register)?;
        if let ValueId::Definition(id) = value
            && let Some(carried) = self.carrying(id)
            && let Some(found) = self.value(carried, instruction)
        {
            return Some(found.term);
        }
        Some(self.value(value, instruction)?.term)
    }

    pub(super) fn term(&mut self, key: Key, facts: impl FnOnce() -> Facts) -> TermId {
        let next = TermId(self.facts.len() as u32);
        let term = *self.known.entry(key).or_insert(next);
        if term == next {
            self.add(facts());
        }
        term
    }

    /// One more term.
    fn add(&mut self, facts: Facts) -> TermId {
        let term = TermId(self.facts.len() as u32);
        self.facts.push(facts);
        self.terms.all.push(About::default());
        term
    }

    fn constant(&mut self, value: u64) -> TermId {
        let term = self.term(Key::Constant(value), || Facts { constant: Some(value), ..Facts::default() });
        self.terms.all[term.index()].constant = Some(value);
        term
    }

    /// What a register holds where an instruction reads it; `None` where that cannot be followed.
    pub(super) fn register(&mut self, reader: u32, register: RegisterId, depth: u32) -> Option<Found> {
        match self.function.value(reader, register)? {
            ValueId::Definition(id) => {
                if !self.is_behind(id, reader) {
                    return None;
                }
                match self.counted(id) {
                    Some(counted) => self.value(counted, reader),
                    None => self.definition(id, depth),
                }
            }
            value @ ValueId::Join(join) => {
                match self.function.cfg.block_of(reader).filter(|_| !self.is_plain) {
                    Some(block) => match self.chosen(block, reader, register, join, depth) {
                        Some(chosen) => Some(chosen),
                        None => self.value(value, reader),
                    },
                    None => self.value(value, reader),
                }
            }
        }
    }

    /// A value as it is.
    fn value(&mut self, value: ValueId, reader: u32) -> Option<Found> {
        let term = if let Some(term) = self.known.get(&Key::Value(value)) {
            *term
        } else {
            if let ValueId::Join(join) = value
                && self.function.definitions.joined(join).len() > LEAVES
            {
                return None;
            }
            let leaves = self.function.definitions.all(value, self.function.budget)?;
            if leaves.len() > LEAVES || !self.function.budget.take(VISIT) {
                return None;
            }
            let leaves: SmallVec<[DefinitionId; 2]> = leaves.into_iter().collect();
            let operations = &self.function.unit.operations;
            let varies = leaves.iter().any(|id| {
                match operations.of(self.function.definitions.get(*id).instruction).lanes() {
                    Lanes::Elected | Lanes::Exchanged | Lanes::Differ => true,
                    Lanes::AsSources | Lanes::Memory | Lanes::Same => false,
                }
            });
            let term = self.term(Key::Value(value), || Facts { leaves, varies, ..Facts::default() });
            if matches!(value, ValueId::Join(_)) {
                self.joins.insert(term);
            }
            term
        };
        let mut found = Found::from(term);
        if let ValueId::Join(join) = value
            && !self.is_stable(term, reader)
        {
            found.carried.push((reader, join));
        }
        Some(found)
    }

    /// Whether all ways to an instruction go through a definition.
    pub(super) fn is_behind(&self, id: DefinitionId, instruction: u32) -> bool {
        let block = self.function.cfg.block_of(instruction);
        block.is_some_and(|block| self.is_behind_in(id, block, instruction))
    }

    /// The same of a place in a block, or its end.
    pub(super) fn is_behind_in(&self, id: DefinitionId, block: BlockId, until: u32) -> bool {
        let Function { cfg, definitions, .. } = self.function;
        let at = definitions.get(id).instruction;
        match cfg.block_of(at) {
            Some(from) if from == block => at < until,
            Some(from) => cfg.dominates(from, block),
            None => false,
        }
    }

    pub(super) fn definition(&mut self, id: DefinitionId, depth: u32) -> Option<Found> {
        match self.made.get(&id) {
            Some(found) if !found.is_chosen || !self.is_plain => return Some(found.clone()),
            Some(_) | None => {}
        }
        if let Some(found) = self.made_plainly.get(&id).filter(|_| self.is_plain) {
            return Some(found.clone());
        }
        let is_guarded = self.function.definitions.get(id).guarded;
        let looks = !is_guarded && depth < DEEP && self.function.budget.take(VISIT);
        let made = if looks { self.make(id, depth) } else { None };
        let is_small = |found: &Found| {
            self.facts[found.term.index()].leaves.len() <= LEAVES && found.carried.len() <= LEAVES
        };
        let found = match made.filter(is_small) {
            Some(found) => found,
            None => self.value(ValueId::Definition(id), self.function.definitions.get(id).instruction)?,
        };
        let known = if self.is_plain { &mut self.made_plainly } else { &mut self.made };
        known.insert(id, found.clone());
        Some(found)
    }

    /// What a definition makes of other terms where no guard keeps it from that; `None` if that is not looked into.
    pub(super) fn make(&mut self, id: DefinitionId, depth: u32) -> Option<Found> {
        let Function { unit, definitions, .. } = self.function;
        let definition = *definitions.get(id);
        if !self.function.is_local(self.function.unit.symbols.register(definition.register)) {
            return None;
        }
        let instruction = definition.instruction;
        let raw = &unit.module.instructions[instruction as usize];
        let opcode = unit.operations.of(instruction);
        let name = unit.operations.number(instruction);
        let first = raw.operands.start;
        let is_second = match unit.module.operands.get(first as usize)?.kind() {
            OperandKind::Name => false,
            OperandKind::Binary(BinaryOperator::Or, parts) if parts.len == 2 => {
                definition.operand == parts.start + 1
            }
            _ => return None,
        };
        let computes = opcode.computes();
        if opcode.has_flag(Flag::Sat) {
            return None;
        }
        if computes == Computation::Load {
            return self.parameter(opcode, first + 1).map(Found::from);
        }
        if computes == Computation::Elect {
            // The same thread is elected for the same mask every time.
            let mask = self.operand(instruction, first + 1, depth + 1)?;
            let elected = self.made(name, is_second, &[mask]);
            self.facts[elected.term.index()].varies = true;
            return Some(elected);
        }
        if computes == Computation::Shuffle {
            let from_one = opcode.has(Modifier::ShuffleMode(ShuffleMode::Idx))
                && raw.operands.len == 5
                && [2, 3].iter().all(|at| self.literal(first + at).is_some())
                && matches!(self.literal(first + 4), Some(-1 | 0xFFFF_FFFF));
            let value = self.operand(instruction, first + 1, depth + 1)?;
            // What changes in another lane is not seen here.
            if !from_one || is_second || !self.facts[value.term.index()].leaves.is_empty() {
                return None;
            }
            // The lane, and where the segments end.
            let lane = self.operand(instruction, first + 2, depth + 1)?;
            let clamp = self.operand(instruction, first + 3, depth + 1)?;
            return Some(self.made(name, false, &[value, lane, clamp]));
        }
        let is_pure = opcode.lanes() == Lanes::AsSources
            && opcode.synchronization() == Synchronization::None
            && opcode.accepts(&unit.module, raw.operands);
        if !is_pure || raw.operands.len > 5 {
            return None;
        }
        let mut of: SmallVec<[Found; 3]> = SmallVec::new();
        for index in raw.operands.range().skip(1) {
            of.push(self.operand(instruction, index as u32, depth + 1)?);
        }
        if let [only] = &of[..]
            && (computes == Computation::Move
                || computes == Computation::Convert && is_same_width(opcode, &self.widths(instruction)))
        {
            return Some(only.clone());
        }
        let found = self.made(name, is_second, &of);
        let of: SmallVec<[TermId; 3]> = of.iter().map(|found| found.term).collect();
        // What a conversion cuts before it extends it says less.
        if computes != Computation::Convert || reads_whole(opcode, &self.widths(instruction)) {
            self.describe(found.term, opcode, &of, is_second);
        }
        Some(found)
    }

    fn made(&mut self, opcode: u32, is_second: bool, of: &[Found]) -> Found {
        let terms: SmallVec<[TermId; 3]> = of.iter().map(|found| found.term).collect();
        let facts = self.facts_of(&terms);
        let term = self.term(Key::Made(opcode, is_second, terms), || facts);
        let mut found = Found::from(term);
        for part in of {
            found.is_made_of(part);
        }
        found
    }

    /// The widths of the registers that an instruction writes and reads first.
    fn widths(&self, instruction: u32) -> [Option<u32>; 2] {
        let Function { unit, .. } = self.function;
        let first = unit.module.instructions[instruction as usize].operands.start;
        [first, first + 1].map(|index| match unit.symbols.operand(index) {
            Resolution::Register(register) => Function::width(unit.symbols.register(register)),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        })
    }

    /// What is known of something that is made of terms.
    pub(super) fn facts_of(&self, of: &[TermId]) -> Facts {
        let mut leaves: SmallVec<[DefinitionId; 2]> =
            of.iter().flat_map(|term| self.facts[term.index()].leaves.iter().copied()).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let varies = of.iter().any(|term| self.facts[term.index()].varies);
        Facts { leaves, varies, ..Facts::default() }
    }

    /// Says how a term is made, where that helps.
    fn describe(&mut self, term: TermId, opcode: &Opcode, of: &[TermId], is_second: bool) {
        if self.terms.test(term).is_some() || self.terms.inverse(term).is_some() {
            return;
        }
        let constant = |this: &Self, at: usize| this.facts[of.get(at)?.index()].constant;
        let ty = opcode.types.last().copied();
        let is_predicate = ty == Some(Type::Pred);
        let test = match opcode.computes() {
            Computation::Not if is_predicate => Some(Test::Not(of[0])),
            Computation::And if is_predicate => Some(Test::And(of[0], of[1])),
            Computation::Or if is_predicate => Some(Test::Or(of[0], of[1])),
            Computation::Xor if is_predicate => match (constant(self, 0), constant(self, 1)) {
                (None, Some(1)) => Some(Test::Not(of[0])),
                (Some(1), None) => Some(Test::Not(of[1])),
                _ => None,
            },
            Computation::Compare => self.compare(opcode, of, is_second),
            _ => None,
        };
        if let Some(test) = test {
            self.terms.set_test(term, test);
            return;
        }
        let Some(width @ (32 | 64)) = ty.and_then(Type::bits) else { return };
        let is_signed = ty.is_some_and(Type::is_signed);
        if opcode.computes() == Computation::Bits(Bits::ShiftRight)
            && constant(self, 1).is_some_and(|by| by >= 2)
        {
            self.facts[term.index()].is_small = true;
        }
        let chooses_numbers = constant(self, 0).is_some() && constant(self, 1).is_some();
        if let (Computation::Select, &[yes, no, predicate]) = (opcode.computes(), of)
            && !chooses_numbers
        {
            self.selections.insert(term, (predicate, yes, no));
        }
        let wide = opcode.modifier(|it| matches!(it, Modifier::Part(_)).then_some(())).is_some();
        let inverse = match (opcode.computes(), constant(self, 0), constant(self, 1)) {
            (Computation::Arithmetic(Arithmetic::Add), None, Some(by)) => {
                Some((0, Inverse::Sum { by, width }))
            }
            (Computation::Arithmetic(Arithmetic::Add), Some(by), None) => {
                Some((1, Inverse::Sum { by, width }))
            }
            (Computation::Arithmetic(Arithmetic::Subtract), None, Some(by)) => {
                Some((0, Inverse::Sum { by: by.wrapping_neg(), width }))
            }
            (Computation::Arithmetic(Arithmetic::Subtract), Some(from), None) => {
                Some((1, Inverse::Rest { from, width }))
            }
            (Computation::Arithmetic(Arithmetic::Negate), None, _) => {
                Some((0, Inverse::Rest { from: 0, width }))
            }
            (Computation::Not, None, _) => Some((0, Inverse::Rest { from: u64::MAX, width })),
            (Computation::Xor, None, Some(with)) => Some((0, Inverse::Toggled { with, width })),
            (Computation::Xor, Some(with), None) => Some((1, Inverse::Toggled { with, width })),
            (Computation::And, None, Some(mask)) => {
                self.facts[term.index()].is_positive = mask >> (width - 1) == 0;
                self.facts[term.index()].is_small = mask >> (width - 2) == 0;
                Some((0, Inverse::Mask { mask, width }))
            }
            (Computation::Bits(Bits::ShiftRight), None, Some(by))
                if by < u64::from(width) && (!is_signed || self.facts[of[0].index()].is_positive) =>
            {
                self.facts[term.index()].is_positive = by > 0;
                Some((0, Inverse::Shift { by: by as u32, width }))
            }
            (Computation::Bits(Bits::Extract), None, Some(at)) if !is_signed => constant(self, 2)
                .filter(|len| at < u64::from(width) && (1..64).contains(len))
                .map(|len| (0, Inverse::Field { at: at as u32, len: len as u32, width })),
            (Computation::Convert, None, _) => match opcode.types[..] {
                [to, from] if !from.is_signed() && !from.is_float() && !to.is_float() => {
                    match (to.bits(), from.bits()) {
                        (Some(64), Some(32)) => Some((0, Inverse::Extended { width: 32 })),
                        _ => None,
                    }
                }
                _ => None,
            },
            (Computation::Select, Some(yes), Some(no)) if of.len() == 3 => {
                Some((2, Inverse::Select { yes, no }))
            }
            _ => None,
        };
        let is_integer = !opcode.types.iter().any(|ty| ty.is_float() || ty.is_packed());
        if let Some((base, inverse)) = inverse.filter(|_| is_integer && !wide) {
            let bound = match inverse {
                Inverse::Mask { mask, .. } => Some(mask),
                Inverse::Shift { by, width } => Some(ones(width) >> by),
                Inverse::Field { len, .. } => Some(ones(len)),
                Inverse::Extended { width } => Some(ones(width)),
                Inverse::Sum { .. }
                | Inverse::Rest { .. }
                | Inverse::Toggled { .. }
                | Inverse::Select { .. }
                | Inverse::Further { .. } => None,
            };
            self.terms.all[term.index()].bound = bound;
            let of_low_bits = match inverse {
                Inverse::Mask { mask, width } => self.lowest_bits(of[base], mask, width),
                _ => None,
            };
            let (base, inverse) = of_low_bits.unwrap_or((of[base], inverse));
            self.terms.set_inverse(term, base, inverse);
        }
    }

    /// The lowest bits of what a loop carries, or of a sum of that: what loops count comes back there.
    fn lowest_bits(&mut self, of: TermId, mask: u64, width: u32) -> Option<(TermId, Inverse)> {
        let bits = (mask & ones(width)).trailing_ones();
        if bits >= width || mask & ones(width) != ones(bits) {
            return None;
        }
        let (register, by) = match self.terms.inverse(of) {
            Some((register, Inverse::Sum { by, width: whole })) if whole == width => (register, by),
            _ => (of, 0),
        };
        if !self.joins.contains(&register) {
            return None;
        }
        let facts = Facts { is_positive: true, is_small: bits + 2 <= width, ..self.facts_of(&[register]) };
        let low = self.term(Key::Low(register, bits), || facts);
        self.lows.insert(low, (register, bits));
        self.terms.all[low.index()].bound = Some(ones(bits));
        self.terms.set_inverse(low, register, Inverse::Mask { mask: ones(bits), width });
        Some((low, Inverse::Sum { by: by & ones(bits), width: bits }))
    }

    /// What a comparison says.
    fn compare(&mut self, opcode: &Opcode, of: &[TermId], is_second: bool) -> Option<Test> {
        let ty = opcode.types.last().copied()?;
        let width = ty.bits().filter(|width| matches!(width, 16 | 32 | 64) && !ty.is_float())?;
        let (a, b) = (*of.first()?, *of.get(1)?);
        let relation = opcode.comparison()?.of_integers(ty)?;
        let relation = if is_second { relation.negated() } else { relation };
        let test = self.comparison(relation, a, b, width);
        let test = match self.selected(relation, a, b, width) {
            Some(selected) => {
                let (one, other) = (self.anonymous(test, &[a, b]), self.anonymous(selected, &[a, b]));
                Test::Alike(one, other)
            }
            None => test,
        };
        combined(opcode, of, test, self)
    }

    /// That two terms compare so.
    fn comparison(&mut self, relation: Relation, a: TermId, b: TermId, width: u32) -> Test {
        let compared = |relation: Relation, with| {
            (ValueSet::compared(relation, with, width), ValueSet::compared(relation.negated(), with, width))
        };
        let (of_a, of_b) = (self.facts[a.index()].constant, self.facts[b.index()].constant);
        let (term, yes, no) = match (of_a, of_b) {
            (_, Some(with)) => {
                let (yes, no) = compared(relation, with);
                (a, yes, no)
            }
            (Some(with), None) => {
                let (yes, no) = compared(relation.mirrored(), with);
                (b, yes, no)
            }
            (None, None) => {
                if let Some(ordering) = self.known_order(relation, a, b, width) {
                    return Test::Decided(relation.holds(ordering));
                }
                let is_signed = relation.is_signed && relation.is_order();
                let (order, is_mirrored) = self.order(is_signed, a, b, width);
                let (first, second, relation) =
                    if is_mirrored { (b, a, relation.mirrored()) } else { (a, b, relation) };
                let (yes, no) = (ValueSet::of_order(relation), ValueSet::of_order(relation.negated()));
                let mut atoms = vec![(order, yes.clone(), no.clone())];
                if !relation.is_order() {
                    // They are equal or not, in whatever order.
                    atoms.push((self.order(true, a, b, width).0, yes, no));
                }
                // What is less than something is not the last number, and that is not the first.
                let ends = [(first, relation), (second, relation.mirrored())];
                atoms.extend(ends.into_iter().filter_map(|(term, relation)| {
                    let at = |relation: Relation| beyond_end(relation, width);
                    let (yes, no) = (at(relation), at(relation.negated()));
                    (yes.is_some() || no.is_some()).then(|| {
                        let any = || ValueSet::range(0, u64::MAX);
                        (term, yes.unwrap_or_else(any), no.unwrap_or_else(any))
                    })
                }));
                return Test::Within { atoms };
            }
        };
        Test::Within { atoms: vec![(term, yes, no)] }
    }

    /// How two terms compare that are the same, but for a constant that is added to either.
    fn known_order(&self, relation: Relation, a: TermId, b: TermId, width: u32) -> Option<Ordering> {
        if a == b {
            return Some(Ordering::Equal);
        }
        let ((base, to_a), (other, to_b)) = (self.sum(a, width), self.sum(b, width));
        if base != other {
            return None;
        }
        // What wraps around is equal to nothing else all the same, but it is not less or more.
        let is_far = self.facts[base.index()].is_small && to_a.abs().max(to_b.abs()) < 1 << (width - 3);
        (!relation.is_order() || relation.is_signed && is_far).then(|| to_a.cmp(&to_b))
    }

    /// The same of terms of which one is chosen by a predicate: what holds of the one that is.
    fn selected(&mut self, relation: Relation, a: TermId, b: TermId, width: u32) -> Option<Test> {
        let (predicate, yes, no) = match (self.selections.get(&a), self.selections.get(&b)) {
            (Some(&(predicate, yes, no)), None) => (predicate, (yes, b), (no, b)),
            (None, Some(&(predicate, yes, no))) => (predicate, (a, yes), (a, no)),
            (None, None) | (Some(_), Some(_)) => return None,
        };
        let terms = [predicate, a, b];
        let not = self.anonymous(Test::Not(predicate), &terms);
        let mut case = |holds: TermId, (a, b): (TermId, TermId)| {
            let compared = self.comparison(relation, a, b, width);
            let compared = self.anonymous(compared, &terms);
            self.anonymous(Test::And(holds, compared), &terms)
        };
        let (one, other) = (case(predicate, yes), case(not, no));
        Some(Test::Or(one, other))
    }

    /// That a predicate does not hold.
    pub(super) fn not(&mut self, of: TermId) -> TermId {
        let facts = self.facts_of(&[of]);
        let not = self.term(Key::Not(of), || facts);
        self.terms.set_test(not, Test::Not(of));
        not
    }

    /// A predicate that no register holds.
    pub(super) fn anonymous(&mut self, test: Test, of: &[TermId]) -> TermId {
        let facts = self.facts_of(of);
        let term = self.add(facts);
        self.terms.set_test(term, test);
        term
    }

    fn literal(&self, index: u32) -> Option<i128> {
        let Function { unit, .. } = self.function;
        literal::evaluate(&unit.source, &unit.module, unit.module.operands.get(index as usize)?)
    }

    pub(super) fn operand(&mut self, instruction: u32, index: u32, depth: u32) -> Option<Found> {
        let Function { unit, .. } = self.function;
        if let Some(value) = self.literal(index) {
            let ty = unit.operations.of(instruction).types.last().copied();
            let low = (value & i128::from(u64::MAX)) as u64;
            let value = match ty.and_then(Type::bits) {
                _ if ty == Some(Type::Pred) => u64::from(value != 0),
                Some(width) if width <= 32 => low & u64::from(u32::MAX),
                Some(_) | None => low,
            };
            return Some(self.constant(value).into());
        }
        let operand = &unit.module.operands[index as usize];
        match (operand.kind(), unit.symbols.operand(index)) {
            (OperandKind::Name, Resolution::Register(register)) => {
                self.register(instruction, register, depth)
            }
            (OperandKind::Name, Resolution::Special(special)) => {
                let machine = special.facts();
                let is_positive =
                    special.values().is_some_and(|values| values.last <= u64::from(i32::MAX.unsigned_abs()));
                let varies = machine.same_in < Extent::Cta;
                let values = special.values();
                let facts = || Facts { is_positive, varies, values, ..Facts::default() };
                (machine.lasting == Lasting::Always).then(|| self.term(Key::Machine(special), facts).into())
            }
            (OperandKind::Unary(UnaryOperator::Not, part), _) if part.len == 1 && depth < DEEP => {
                let of = self.operand(instruction, part.start, depth + 1)?;
                Some(Found { term: self.not(of.term), ..of })
            }
            _ => None,
        }
    }

    /// A parameter of the kernel, which nothing changes.
    fn parameter(&mut self, opcode: &Opcode, index: u32) -> Option<TermId> {
        let Function { unit, cfg, .. } = self.function;
        let space = opcode.spaces().next()?;
        if !matches!(space, Space::Param | Space::ParamEntry) || opcode.types.len() != 1 {
            return None;
        }
        let OperandKind::Address(parts) = unit.module.operands.get(index as usize)?.kind() else {
            return None;
        };
        let inner = unit.module.operands(parts).first().filter(|_| parts.len == 1)?;
        let (name, offset) = match inner.kind() {
            OperandKind::Name => (parts.start, 0),
            OperandKind::Binary(BinaryOperator::Add, sum) if sum.len == 2 => {
                (sum.start, self.literal(sum.start + 1)?)
            }
            _ => return None,
        };
        let Resolution::Symbol(id) = unit.symbols.operand(name) else { return None };
        let symbol = unit.symbols.symbol(id);
        let body = unit.module.statements[cfg.body().range()].first()?;
        let is_own = matches!(symbol.kind, SymbolKind::Variable { space: StateSpace::Param, .. })
            && symbol.span.start < body.span.start
            && unit.module.functions.iter().any(|it| it.is_entry && it.body == cfg.body());
        let width = opcode.types.first().and_then(|ty| ty.bits())?;
        // Loads of another width are something else.
        is_own.then(|| self.term(Key::Parameter(id, offset * 256 + i128::from(width)), Facts::default))
    }
}

/// What a number is that is less, or more, than some other one.
fn beyond_end(relation: Relation, width: u32) -> Option<ValueSet> {
    let [less, equal, greater] =
        [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|outcome| relation.holds(outcome));
    if equal || less == greater {
        return None;
    }
    let sign = if relation.is_signed { 1 << (width - 1) } else { 0 };
    let end = if less { ones(width) ^ sign } else { sign };
    Some(ValueSet::compared(relation, end, width))
}

/// With the predicate that a comparison is joined with.
fn combined(opcode: &Opcode, of: &[TermId], test: Test, builder: &mut Builder<'_>) -> Option<Test> {
    let Some(operator) = opcode.boolean_operator() else { return Some(test) };
    let with = *of.get(2)?;
    let compared = builder.anonymous(test, &of[..2]);
    match operator {
        BooleanOperator::And => Some(Test::And(compared, with)),
        BooleanOperator::Or => Some(Test::Or(compared, with)),
        BooleanOperator::Xor => None,
    }
}

/// Whether a conversion between registers of these widths changes nothing: it neither cuts what it reads, nor extends
/// what it writes.
fn is_same_width(opcode: &Opcode, widths: &[Option<u32>; 2]) -> bool {
    match opcode.types[..] {
        [to, from] => {
            let fills = widths[0].is_none_or(|width| to.bits() == Some(width));
            let is_same = to.bits().is_some() && to.bits() == from.bits();
            is_same && fills && reads_whole(opcode, widths) && !to.is_float() && !from.is_float()
        }
        _ => false,
    }
}

/// Whether a conversion reads all that is in a register of this width.
fn reads_whole(opcode: &Opcode, &[_, read]: &[Option<u32>; 2]) -> bool {
    read.is_none_or(|width| opcode.types.last().and_then(|ty| ty.bits()) == Some(width))
}
