//! Addresses as sums of what is not known, and a constant.
//!
//! Which stage of a ring an accumulator lies in is not known, but two addresses that are made of the same
//! stage are as far from each other as their constants are. A sum is made of parts, each as often as it was
//! added: what a definition made, or what a register held in a block.
//!
//! Two addresses with the same parts are that far from each other as long as nothing that goes into the first
//! is written between the instructions that use them. For each definition on the way dominates what reads it: a
//! path from where a part is written to where the address is used goes through all that is between.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cfg::BlockId;
use super::definitions::{Definition, DefinitionId};
use super::function::Function;
use super::values::ValueId;
use crate::arithmetic::Integer;
use crate::arithmetic::domain::{Domain, Function as Step};
use crate::ir::{Argument, Simple};
use crate::isa::generic::Operation;
use crate::resolve::symbols::RegisterId;

/// What is not known of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unknown {
    /// What a definition makes.
    Made(DefinitionId),
    /// What a register holds in a block, behind the last instruction there that writes it.
    Held(RegisterId, BlockId, Option<u32>),
}

/// What is not known, each with how often it is added, ascending.
type Factors = SmallVec<[(Unknown, u32); 2]>;

/// A linear form.
#[derive(Clone, Debug)]
struct Parts {
    unknown: Factors,
    constant: u32,
}

/// An address: parts that have a number, and what is added to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    parts: u32,
    constant: u32,
}

impl Sum {
    /// How far behind another one it is, if that is known.
    pub fn behind(self, other: Self) -> Option<i32> {
        (self.parts == other.parts).then(|| self.constant.wrapping_sub(other.constant).cast_signed())
    }

    /// The same with a constant more.
    #[must_use]
    pub fn plus(self, by: i64) -> Self {
        Self { constant: self.constant.wrapping_add(by as u32), ..self }
    }
}

/// The sums of one function, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Sums {
    numbers: RefCell<FxHashMap<Factors, u32>>,
    /// By instruction: the registers that go into the addresses that it uses.
    registers: RefCell<FxHashMap<u32, SmallVec<[RegisterId; 4]>>>,
}

impl Sums {
    /// What a register holds where an instruction reads it.
    pub fn of(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Option<Sum> {
        let mut way = Way { function, registers: SmallVec::new() };
        let Parts { unknown, constant } = way.sum(instruction, register, 0)?;
        let Way { registers: used, .. } = way;
        let mut numbers = self.numbers.borrow_mut();
        let mut registers = self.registers.borrow_mut();
        let next = numbers.len() as u32;
        let number = *numbers.entry(unknown).or_insert(next);
        let known = registers.entry(instruction).or_default();
        for register in used {
            if !known.contains(&register) {
                known.push(register);
            }
        }
        Some(Sum { parts: number, constant })
    }

    /// The registers that go into the addresses of an instruction, as far as they were asked for: how far
    /// another one is from them is known as long as none of these is written behind it.
    pub fn registers(&self, instruction: u32) -> SmallVec<[RegisterId; 4]> {
        self.registers.borrow().get(&instruction).cloned().unwrap_or_default()
    }
}

/// Expressions that are deeper are parts.
const DEEP: u32 = 16;
/// Sums of more parts are not followed.
const PARTS: usize = 8;
/// What a definition takes, in steps of the budget.
const VISIT: u64 = 4;

struct Way<'a, 'f> {
    function: &'a Function<'f>,
    registers: SmallVec<[RegisterId; 4]>,
}

impl Way<'_, '_> {
    fn sum(&mut self, reader: u32, register: RegisterId, depth: u32) -> Option<Parts> {
        let Function { cfg, definitions, budget, unit, .. } = *self.function;
        if !budget.take(VISIT) || !self.function.is_local(unit.symbols.register(register)) {
            return None;
        }
        self.registers.push(register);
        let block = cfg.block_of(reader)?;
        let id = match self.function.value(reader, register)? {
            ValueId::Definition(id) => id,
            ValueId::Join(_) => {
                let all = definitions.of(register);
                let before = all.partition_point(|id| definitions.get(*id).instruction < reader);
                let last = before.checked_sub(1).map(|at| definitions.get(all[at]).instruction);
                let last = last.filter(|last| cfg.block_of(*last) == Some(block));
                return Some(Parts::of(Unknown::Held(register, block, last)));
            }
        };
        let Definition { instruction, guarded, .. } = *definitions.get(id);
        let from = cfg.block_of(instruction)?;
        if guarded || !(from == block && instruction < reader || from != block && cfg.dominates(from, block))
        {
            return None;
        }
        let made = if depth < DEEP { self.made(id, depth) } else { None };
        Some(made.unwrap_or_else(|| Parts::of(Unknown::Made(id))))
    }

    /// What an instruction adds up, if it does that.
    fn made(&mut self, id: DefinitionId, depth: u32) -> Option<Parts> {
        let Definition { instruction, operand, .. } = *self.function.definitions.get(id);
        let computing = self.function.computing(instruction)?;
        let adds = matches!(
            computing.operation,
            Operation::Mov
                | Operation::Add
                | Operation::Sub
                | Operation::Shl
                | Operation::Mul
                | Operation::Mad
        );
        // What is as long as its sources, and one word.
        let arithmetic = computing.arithmetic.filter(|it| adds && it.result_bits(0, 1) == u32::BITS)?;
        if computing.position(operand) != Some(0) || computing.results().len() > 1 {
            return None;
        }
        let sources: SmallVec<[Option<Parts>; 4]> = computing
            .sources()
            .iter()
            .map(|it| self.argument(instruction, it.argument, depth + 1).map(Some))
            .collect::<Option<_>>()?;
        arithmetic.transfer(&mut Linear, &sources, 0, 1)
    }

    fn argument(&mut self, instruction: u32, argument: Argument, depth: u32) -> Option<Parts> {
        match argument.simple() {
            Simple::Number(value) => Some(Parts::from(value as u32)),
            Simple::Register(id) => self.sum(instruction, id, depth),
            Simple::Not(_) | Simple::Other => None,
        }
    }
}

/// The domain of linear forms: words that are a constant and a few unknowns, each times a factor. Must: the word is
/// exactly that, modulo 2 to the 32.
struct Linear;

impl Domain for Linear {
    type Value = Option<Parts>;

    fn unknown(&mut self) -> Option<Parts> {
        None
    }

    fn number(&mut self, bits: u64) -> Option<Parts> {
        Some(Parts::from(bits as u32))
    }

    fn known(&mut self, value: &Option<Parts>, _: u32) -> Option<u64> {
        value.as_ref()?.number().map(u64::from)
    }

    fn apply(&mut self, function: Step, ty: Integer, sources: &[Option<Parts>]) -> Option<Parts> {
        if ty.bits != u32::BITS {
            return None;
        }
        let source = |position: usize| sources.get(position).cloned().flatten();
        let (a, b) = (source(0)?, source(1));
        match function {
            Step::Extend(u32::BITS) => Some(a),
            Step::Add => a.plus(b?),
            Step::Subtract => a.plus(b?.times(u32::MAX)),
            Step::ShiftLeft => {
                let by = b?.number().filter(|by| *by < u32::BITS)?;
                Some(a.times(1 << by))
            }
            Step::Multiply => {
                let b = b?;
                match (a.number(), b.number()) {
                    (_, Some(factor)) => Some(a.times(factor)),
                    (Some(factor), None) => Some(b.times(factor)),
                    (None, None) => None,
                }
            }
            // Nothing else of an unknown is one times a factor.
            _ => None,
        }
    }
}

impl From<u32> for Parts {
    fn from(constant: u32) -> Self {
        Self { unknown: SmallVec::new(), constant }
    }
}

impl Parts {
    fn of(unknown: Unknown) -> Self {
        Self { unknown: SmallVec::from_slice(&[(unknown, 1)]), constant: 0 }
    }

    fn number(&self) -> Option<u32> {
        self.unknown.is_empty().then_some(self.constant)
    }

    fn times(mut self, factor: u32) -> Self {
        for (_, count) in &mut self.unknown {
            *count = count.wrapping_mul(factor);
        }
        self.unknown.retain(|(_, count)| *count != 0);
        Self { constant: self.constant.wrapping_mul(factor), ..self }
    }

    fn plus(mut self, more: Self) -> Option<Self> {
        for (unknown, count) in more.unknown {
            match self.unknown.binary_search_by_key(&unknown, |(unknown, _)| *unknown) {
                Ok(at) => self.unknown[at].1 = self.unknown[at].1.wrapping_add(count),
                Err(at) => self.unknown.insert(at, (unknown, count)),
            }
        }
        self.unknown.retain(|(_, count)| *count != 0);
        let constant = self.constant.wrapping_add(more.constant);
        (self.unknown.len() <= PARTS).then_some(Self { constant, ..self })
    }
}
