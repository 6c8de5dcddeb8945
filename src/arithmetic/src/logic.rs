//! Logic and shifts.

use super::bits::overflow;
use super::lanes::{each, map1, map2, map3};
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function as Step};
use ptx_isa::generic::{BooleanOperator, Direction, Modifier, Operation, Overflow};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    ty: Integer,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    And,
    Or,
    Xor,
    Not,
    /// Whether it is zero.
    LogicalNot,
    /// A function of three bits, by its table.
    Lookup,
    /// That, and whether any bit of it is set.
    LookupPredicate(BooleanOperator),
    Funnel(Direction, Overflow),
    ShiftLeft,
    ShiftRight,
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let function = match operation {
            Operation::And => Function::And,
            Operation::Or => Function::Or,
            Operation::Xor => Function::Xor,
            Operation::Not => Function::Not,
            Operation::Cnot => Function::LogicalNot,
            Operation::Lop3 => Function::Lookup,
            Operation::Lop3Predicate => {
                Function::LookupPredicate(opcode.boolean_operator().ok_or(INCOMPLETE)?)
            }
            Operation::Shf => Function::Funnel(direction(opcode)?, overflow(opcode)?),
            Operation::Shl => Function::ShiftLeft,
            Operation::Shr => Function::ShiftRight,
            _ => return Err(NOT_HERE),
        };
        Ok(Self { function, ty: Integer::first(opcode)? })
    }

    /// How many bits of a source matter.
    pub(super) fn source_bits(&self, position: usize) -> u32 {
        match (self.function, position) {
            (Function::ShiftLeft | Function::ShiftRight, 1) => 32,
            (Function::LookupPredicate(_), 4) => 1,
            (Function::Lookup | Function::LookupPredicate(_) | Function::Funnel(..), _) => 32,
            _ => self.ty.bits,
        }
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        let ty = self.ty;
        match self.function {
            Function::And => of.of_sources(Step::And, ty, 2),
            Function::Or => of.of_sources(Step::Or, ty, 2),
            Function::Xor => of.of_sources(Step::Xor, ty, 2),
            Function::Not => of.of_sources(Step::Not, ty, 1),
            Function::Lookup | Function::LookupPredicate(_) => of.of_sources(Step::Lookup, ty, 4),
            Function::ShiftLeft => of.of_sources(Step::ShiftLeft, ty, 2),
            Function::ShiftRight => of.of_sources(Step::ShiftRight, ty, 2),
            Function::Funnel(direction, overflow) => {
                let amount = of.known(2, 32)?;
                let amount = match overflow {
                    Overflow::Clamp => amount.min(32),
                    Overflow::Wrap => amount & 31,
                };
                let from = match direction {
                    Direction::Left => 32 - amount,
                    Direction::Right => amount,
                };
                let (a, b, from) = (of.source(0)?, of.source(1)?, of.number(from));
                Some(of.of(Step::Funnel, Integer::U32, &[a, b, from]))
            }
            Function::LogicalNot => None,
        }
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ty = self.ty;
        let mask = ty.mask();
        match self.function {
            Function::And => map2(active, sources, destinations, |a, b| a & b & mask),
            Function::Or => map2(active, sources, destinations, |a, b| (a | b) & mask),
            Function::Xor => map2(active, sources, destinations, |a, b| (a ^ b) & mask),
            Function::Not => map1(active, sources, destinations, |a| !a & mask),
            Function::LogicalNot => map1(active, sources, destinations, |a| u64::from(a & mask == 0)),
            Function::Lookup => {
                // The table is a number in the text.
                let table = sources.get(3).map_or(0, |table| table[0]);
                let rows = std::array::from_fn(|row| 0_u32.wrapping_sub(table as u32 >> row & 1));
                map3(active, sources, destinations, |a, b, c| lookup([a as u32, b as u32, c as u32], rows));
            }
            Function::LookupPredicate(operator) => {
                let ([a, b, c, table, q, ..], [d, p, ..]) = (sources, destinations) else { return };
                let rows = std::array::from_fn(|row| 0_u32.wrapping_sub(table[0] as u32 >> row & 1));
                each(active, |lane| {
                    d[lane] = lookup([a[lane] as u32, b[lane] as u32, c[lane] as u32], rows);
                    p[lane] = u64::from(operator.join(d[lane] != 0, q[lane] & 1 == 1));
                });
            }
            Function::Funnel(direction, overflow) => {
                map3(active, sources, destinations, |a, b, c| funnel(direction, overflow, a, b, c));
            }
            Function::ShiftLeft => {
                map2(
                    active,
                    sources,
                    destinations,
                    |a, b| if b as u32 >= 64 { 0 } else { a << (b & 63) & mask },
                );
            }
            Function::ShiftRight if ty.signed => map2(active, sources, destinations, |a, b| {
                (ty.sign_extended(a) >> u64::from(b as u32).min(63)) as u64 & mask
            }),
            Function::ShiftRight => {
                map2(
                    active,
                    sources,
                    destinations,
                    |a, b| {
                        if b as u32 >= 64 { 0 } else { (a & mask) >> (b & 63) }
                    },
                );
            }
        }
    }
}

fn direction(opcode: &Opcode<'_>) -> Decoded<Direction> {
    let word = opcode.modifier(|modifier| match modifier {
        Modifier::Direction(direction) => Some(direction),
        _ => None,
    });
    word.ok_or(INCOMPLETE)
}

/// A function of three bits; which rows of its table are set.
#[inline]
fn lookup([a, b, c]: [u32; 3], rows: [u32; 8]) -> u64 {
    let terms =
        [!a & !b & !c, !a & !b & c, !a & b & !c, !a & b & c, a & !b & !c, a & !b & c, a & b & !c, a & b & c];
    u64::from(terms.iter().zip(rows).fold(0, |sum, (term, row)| sum | term & row))
}

fn funnel(direction: Direction, overflow: Overflow, a: u64, b: u64, c: u64) -> u64 {
    let both = (b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF;
    let amount = match overflow {
        Overflow::Clamp => (c as u32).min(32),
        Overflow::Wrap => c as u32 & 31,
    };
    match direction {
        Direction::Left => both << amount >> 32,
        Direction::Right => both >> amount & 0xFFFF_FFFF,
    }
}
