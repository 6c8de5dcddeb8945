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
use crate::isa::generic::{Arithmetic, Bits, Computation, Flag, Modifier, Part};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;

/// What is not known of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unknown {
    /// What a definition makes.
    Made(DefinitionId),
    /// What a register holds in a block, behind the last instruction there that writes it.
    Held(RegisterId, BlockId, Option<u32>),
}

/// The parts, each with how often it is added.
type Parts = SmallVec<[(Unknown, u32); 2]>;

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
    numbers: RefCell<FxHashMap<Parts, u32>>,
    /// By instruction: the registers that go into the addresses that it uses.
    registers: RefCell<FxHashMap<u32, SmallVec<[RegisterId; 4]>>>,
}

impl Sums {
    /// What a register holds where an instruction reads it.
    pub fn of(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Option<Sum> {
        let mut way = Way { function, registers: SmallVec::new() };
        let (parts, constant) = way.sum(instruction, register, 0)?;
        let Way { registers: used, .. } = way;
        let mut numbers = self.numbers.borrow_mut();
        let mut registers = self.registers.borrow_mut();
        let next = numbers.len() as u32;
        let number = *numbers.entry(parts).or_insert(next);
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
    fn sum(&mut self, reader: u32, register: RegisterId, depth: u32) -> Option<(Parts, u32)> {
        let Function { cfg, definitions, budget, unit, .. } = *self.function;
        if !budget.take(VISIT) || !self.function.is_local(unit.symbols.register(register)) {
            return None;
        }
        self.registers.push(register);
        let block = cfg.block_of(reader)?;
        let part = |unknown: Unknown| (SmallVec::from_slice(&[(unknown, 1)]), 0);
        let id = match self.function.value(reader, register)? {
            ValueId::Definition(id) => id,
            ValueId::Join(_) => {
                let all = definitions.of(register);
                let before = all.partition_point(|id| definitions.get(*id).instruction < reader);
                let last = before.checked_sub(1).map(|at| definitions.get(all[at]).instruction);
                let last = last.filter(|last| cfg.block_of(*last) == Some(block));
                return Some(part(Unknown::Held(register, block, last)));
            }
        };
        let Definition { instruction, guarded, .. } = *definitions.get(id);
        let from = cfg.block_of(instruction)?;
        if guarded || !(from == block && instruction < reader || from != block && cfg.dominates(from, block))
        {
            return None;
        }
        let made = if depth < DEEP { self.made(id, depth) } else { None };
        Some(made.unwrap_or_else(|| part(Unknown::Made(id))))
    }

    /// What an instruction adds up, if it does that.
    fn made(&mut self, id: DefinitionId, depth: u32) -> Option<(Parts, u32)> {
        let Function { unit, definitions, .. } = *self.function;
        let Definition { instruction, operand, .. } = *definitions.get(id);
        let raw = &unit.module.instructions[instruction as usize];
        let opcode = unit.operations.of(instruction);
        let first = raw.operands.start;
        let is_word =
            matches!(opcode.types[..], [ty] if ty.bits() == Some(32) && !ty.is_float() && !ty.is_packed());
        if !is_word || operand != first || opcode.has_flag(Flag::Sat) {
            return None;
        }
        let is_low = || opcode.has(Modifier::Part(Part::Lo));
        let mut value = |position: u32| self.operand(instruction, first + position, depth + 1);
        match (opcode.computes(), raw.operands.len) {
            (Computation::Move, 2) => value(1),
            (Computation::Arithmetic(Arithmetic::Add), 3) => plus(value(1)?, value(2)?),
            (Computation::Arithmetic(Arithmetic::Subtract), 3) => plus(value(1)?, times(value(2)?, u32::MAX)),
            (Computation::Bits(Bits::ShiftLeft), 3) => {
                let by = constant(&value(2)?).filter(|by| *by < 32)?;
                Some(times(value(1)?, 1 << by))
            }
            (Computation::Arithmetic(Arithmetic::Multiply), 3) if is_low() => product(value(1)?, value(2)?),
            (Computation::Arithmetic(Arithmetic::MultiplyAdd), 4) if is_low() => {
                plus(product(value(1)?, value(2)?)?, value(3)?)
            }
            _ => None,
        }
    }

    fn operand(&mut self, instruction: u32, index: u32, depth: u32) -> Option<(Parts, u32)> {
        let unit = self.function.unit;
        let operand = unit.module.operands.get(index as usize)?;
        if let Some(value) = literal::evaluate(&unit.source, &unit.module, operand) {
            return Some((SmallVec::new(), (value & i128::from(u32::MAX)) as u32));
        }
        match (operand.kind(), unit.symbols.operand(index)) {
            (OperandKind::Name, Resolution::Register(register)) => self.sum(instruction, register, depth),
            _ => None,
        }
    }
}

fn constant((parts, constant): &(Parts, u32)) -> Option<u32> {
    parts.is_empty().then_some(*constant)
}

fn times((mut parts, constant): (Parts, u32), factor: u32) -> (Parts, u32) {
    for (_, count) in &mut parts {
        *count = count.wrapping_mul(factor);
    }
    parts.retain(|(_, count)| *count != 0);
    (parts, constant.wrapping_mul(factor))
}

fn product(a: (Parts, u32), b: (Parts, u32)) -> Option<(Parts, u32)> {
    match (constant(&a), constant(&b)) {
        (_, Some(factor)) => Some(times(a, factor)),
        (Some(factor), None) => Some(times(b, factor)),
        (None, None) => None,
    }
}

fn plus((mut parts, constant): (Parts, u32), (more, by): (Parts, u32)) -> Option<(Parts, u32)> {
    for (unknown, count) in more {
        match parts.binary_search_by_key(&unknown, |(unknown, _)| *unknown) {
            Ok(at) => parts[at].1 = parts[at].1.wrapping_add(count),
            Err(at) => parts.insert(at, (unknown, count)),
        }
    }
    parts.retain(|(_, count)| *count != 0);
    (parts.len() <= PARTS).then(|| (parts, constant.wrapping_add(by)))
}
