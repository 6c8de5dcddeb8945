//! Loops that the threads of a warp leave after different numbers of iterations.
//!
//! Only loops count of which the numbers are known for each thread: one branch leaves the loop, it compares what one
//! instruction counts in each iteration, and the first number and the bound are known. Everything else is silence: a
//! loop over `%tid.x, %tid.x + 128, ...` up to a parameter has the same number of iterations in a whole warp whenever
//! the parameter is a multiple of 32.

use super::Executing;
use super::differs::threads;
use super::numbers::{Grain, Numbers};
use crate::arithmetic::known_bits;
use crate::cfg::BlockId;
use crate::definitions::DefinitionId;
use crate::isa::generic::{Arithmetic, Bits, Computation, Control};
use crate::loops::Loop;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;
use crate::values::ValueId;

/// More iterations are not counted.
const MOST: u32 = 4096;

/// Copies of a register of a register.
const COPIES: usize = 8;

/// The fewest and the most iterations of the threads of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    /// The fewest.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// The comparison that ends the loop.
    pub compares: u32,
}

/// What is counted in a loop: where it begins, and what each iteration makes of it.
struct Counter {
    first: Numbers,
    /// The instruction that counts.
    counts: u32,
    by: u64,
    /// Whether the comparison sees the number after it was counted.
    is_counted: bool,
}

impl Executing<'_> {
    /// How many iterations a loop has in the threads of the first warp that certainly executes an instruction of it, or
    /// of the first that may; nothing where all of them have as many.
    pub fn differing_trips(&self, around: &Loop, at: u32) -> Option<Trips> {
        let function = &self.function;
        let cfg = function.cfg;
        let mut leaving = around.blocks.iter().copied().filter(|block| {
            let content = cfg.block(*block);
            content.leaves || content.successors.iter().any(|next| !around.blocks.contains(next))
        });
        let (Some(exit), None) = (leaving.next(), leaving.next()) else { return None };
        let content = cfg.block(exit);
        let branch = content.branch?;
        let opcode = function.unit.operations.of(branch);
        if content.leaves
            || cfg.choice(exit).is_some()
            || content.successors.len() != 2
            || opcode.control() != Control::Branch
            || !cfg.dominates(exit, around.last)
        {
            return None;
        }
        let stays = *content.successors.iter().find(|next| around.blocks.contains(next))?;
        let guard = function.unit.module.guard(&function.unit.module.instructions[branch as usize])?;
        let Resolution::Register(predicate) = function.unit.symbols.guard(branch) else { return None };
        let definition = *function.definitions.get(function.only(branch, predicate)?);
        let compares = definition.instruction;
        let raw = &function.unit.module.instructions[compares as usize];
        let opcode = function.unit.operations.of(compares);
        let is_plain = opcode.computes() == Computation::Compare
            && raw.operands.len == 3
            && definition.operand == raw.operands.start
            && !definition.guarded
            && opcode.boolean_operator().is_none();
        if !is_plain || !self.is_in_each(around, compares) {
            return None;
        }
        let ty = *opcode.types.last()?;
        let relation = opcode.comparison()?.of_integers(ty)?;
        let width = ty.bits().filter(|bits| *bits <= 64)?;
        // The branch is taken where the guard holds.
        let goes_on_if = (stays != exit.next()) != guard.negated;
        let counter = |position: u32| match function.unit.symbols.operand(raw.operands.start + position) {
            Resolution::Register(register) => self.counter(around, compares, register),
            Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => None,
        };
        let compared = function.computing(compares)?;
        let [a, b] = *compared.sources() else { return None };
        let (counter, bound, is_left) = match (counter(1), counter(2)) {
            (Some(counter), None) => (counter, self.number(compares, b, 0)?, true),
            (None, Some(counter)) => (counter, self.number(compares, a, 0)?, false),
            _ => return None,
        };
        if counter.first.grain().max(bound.grain()) < Grain::Thread {
            return None;
        }
        let goes_on = |counted: u64, bound: u64| {
            let (a, b) = if is_left { (counted, bound) } else { (bound, counted) };
            known_bits::compare(relation, a, b, width) == goes_on_if
        };
        let trips = |thread: usize| {
            let bound = bound.at(Grain::Thread, thread);
            let mut number = counter.first.at(Grain::Thread, thread);
            for trips in 1..=MOST {
                let next = self.counted(&counter, number)?;
                if !goes_on(if counter.is_counted { next } else { number }, bound) {
                    return Some(trips);
                }
                number = next;
            }
            None
        };
        let executes = self.of(at)?;
        let mut warps = (0..self.threads().div_ceil(32)).map(|warp| {
            let lanes = executes.certain_lanes(warp);
            (warp, if lanes == 0 { executes.possible_lanes(warp) } else { lanes })
        });
        let (warp, lanes) = warps.find(|(_, lanes)| *lanes != 0)?;
        if !function.budget.take(u64::from(MOST)) {
            return None;
        }
        let all: Option<Vec<u32>> = threads(lanes, warp).map(trips).collect();
        let all = all?;
        let (least, most) = (*all.iter().min()?, *all.iter().max()?);
        (least < most).then_some(Trips { least, most, compares })
    }

    /// Whether each iteration that does not leave the loop before executes an instruction once.
    fn is_in_each(&self, around: &Loop, at: u32) -> bool {
        let cfg = self.function.cfg;
        let Some(block) = cfg.block_of(at).filter(|block| around.blocks.contains(block)) else {
            return false;
        };
        cfg.dominates(block, around.last) && !self.is_in_inner(around, block)
    }

    /// Whether a block of a loop is in another one inside of it: control gets back to it without passing where the
    /// loop begins.
    fn is_in_inner(&self, around: &Loop, block: BlockId) -> bool {
        let cfg = self.function.cfg;
        let goes_on = |at: BlockId| at != around.first && around.blocks.contains(&at);
        block != around.first && cfg.comes_back(block, self.function.budget, goes_on)
    }

    /// What a comparison reads, if each iteration counts it once.
    fn counter(&self, around: &Loop, compares: u32, register: RegisterId) -> Option<Counter> {
        let function = &self.function;
        let (value, counted) = match self.source(compares, register)? {
            ValueId::Definition(id) => {
                let counts = function.definitions.get(id).instruction;
                (self.source(counts, self.counted_register(counts)?)?, Some(id))
            }
            join @ ValueId::Join(_) => (join, None),
        };
        let ValueId::Join(join) = value else { return None };
        let joined = function.definitions.joined(join);
        let [ValueId::Definition(one), ValueId::Definition(other)] = joined[..] else { return None };
        let is_inside =
            |at: u32| function.cfg.block_of(at).is_some_and(|block| around.blocks.contains(&block));
        let inside = |id| is_inside(function.definitions.get(id).instruction);
        let (first, again) = match (inside(one), inside(other)) {
            (false, true) => (one, other),
            (true, false) => (other, one),
            _ => return None,
        };
        // A copy at the end of the iteration is what was counted before.
        let again = match self.uncopied(again)? {
            ValueId::Definition(id) => id,
            ValueId::Join(_) => return None,
        };
        let definition = *function.definitions.get(again);
        let counts = definition.instruction;
        let read = self.source(counts, self.counted_register(counts)?)?;
        if definition.guarded || read != value || counted.is_some_and(|id| id != again) {
            return None;
        }
        let operands = function.unit.module.instructions[counts as usize].operands;
        let by = function.unit.module.operands(operands).get(2)?;
        let by = literal::evaluate(&function.unit.source, &function.unit.module, by)?;
        let by = (by & i128::from(u64::MAX)) as u64;
        if !is_inside(counts) || !self.is_in_each(around, counts) {
            return None;
        }
        Some(Counter { first: self.number_of(first)?, counts, by, is_counted: counted.is_some() })
    }

    /// The register that an instruction counts on from.
    fn counted_register(&self, at: u32) -> Option<RegisterId> {
        let raw = &self.function.unit.module.instructions[at as usize];
        let counts = matches!(
            self.function.unit.operations.of(at).computes(),
            Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)
                | Computation::Bits(Bits::ShiftLeft | Bits::ShiftRight)
        );
        match self.function.unit.symbols.operand(raw.operands.start + 1) {
            Resolution::Register(register) if counts && raw.operands.len == 3 => Some(register),
            _ => None,
        }
    }

    /// What a register holds where an instruction reads it, without the copies on the way.
    fn source(&self, at: u32, register: RegisterId) -> Option<ValueId> {
        match self.function.value(at, register)? {
            ValueId::Definition(id) => self.uncopied(id),
            join @ ValueId::Join(_) => Some(join),
        }
    }

    fn uncopied(&self, id: DefinitionId) -> Option<ValueId> {
        let function = &self.function;
        let mut value = ValueId::Definition(id);
        for _ in 0..COPIES {
            let ValueId::Definition(id) = value else { return Some(value) };
            let definition = *function.definitions.get(id);
            let raw = &function.unit.module.instructions[definition.instruction as usize];
            let is_copy = function.unit.operations.of(definition.instruction).computes() == Computation::Move
                && raw.operands.len == 2
                && !definition.guarded;
            match function.unit.symbols.operand(raw.operands.start + 1) {
                Resolution::Register(register) if is_copy => {
                    value = function.value(definition.instruction, register)?;
                }
                _ => return Some(value),
            }
        }
        None
    }

    /// What an iteration makes of a number.
    fn counted(&self, counter: &Counter, number: u64) -> Option<u64> {
        let computing = self.function.computing(counter.counts)?;
        computing.arithmetic?.number(&[number, counter.by], 0, 1)
    }
}
