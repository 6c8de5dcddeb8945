//! Counting, finding and moving bits.

use super::lanes::{map1, map2, map3, map4};
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function as Step};
use ptx_isa::generic::{Flag, Modifier, Operation, Overflow};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    ty: Integer,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Count,
    LeadingZeros,
    /// The position of the highest bit that says something, or the shift that would move it to the top.
    Find {
        as_shift: bool,
    },
    FindNth,
    Reverse,
    Extract,
    Insert,
    ExtendSign(Overflow),
    Mask(Overflow),
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let function = match operation {
            Operation::Popc => Function::Count,
            Operation::Clz => Function::LeadingZeros,
            Operation::Bfind => Function::Find { as_shift: opcode.has_flag(Flag::Shiftamt) },
            Operation::Fns => Function::FindNth,
            Operation::Brev => Function::Reverse,
            Operation::Bfe => Function::Extract,
            Operation::Bfi => Function::Insert,
            Operation::Szext => Function::ExtendSign(overflow(opcode)?),
            Operation::Bmsk => Function::Mask(overflow(opcode)?),
            _ => return Err(NOT_HERE),
        };
        Ok(Self { function, ty: Integer::first(opcode)? })
    }

    /// Whether the ISA says what it makes: of 64 bits, a field begins and ends within a byte's numbers.
    pub(super) fn is_defined(&self, sources: &[u64]) -> bool {
        let field = match self.function {
            Function::Extract => sources.get(1..),
            Function::Insert => sources.get(2..),
            _ => None,
        };
        self.ty.bits < 64 || field.unwrap_or_default().iter().all(|it| *it as u32 <= 0xFF)
    }

    /// How many bits of a source matter.
    pub(super) fn source_bits(&self, position: usize) -> u32 {
        match (self.function, position) {
            (Function::Extract, 1 | 2) | (Function::Insert, 2 | 3) => 32,
            (Function::FindNth | Function::ExtendSign(_) | Function::Mask(_), _) => 32,
            _ => self.ty.bits,
        }
    }

    /// How many bits the result has: a number of bits has 32 of them.
    pub(super) fn result_bits(&self) -> u32 {
        match self.function {
            Function::Reverse | Function::Extract | Function::Insert => self.ty.bits,
            Function::Count
            | Function::LeadingZeros
            | Function::Find { .. }
            | Function::FindNth
            | Function::ExtendSign(_)
            | Function::Mask(_) => 32,
        }
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        match self.function {
            Function::Reverse => of.of_sources(Step::Reverse, self.ty, 1),
            Function::Extract => of.of_sources(Step::Extract, self.ty, 3),
            Function::Insert => of.of_sources(Step::Insert, self.ty, 4),
            Function::Count
            | Function::LeadingZeros
            | Function::Find { .. }
            | Function::FindNth
            | Function::ExtendSign(_)
            | Function::Mask(_) => None,
        }
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ty = self.ty;
        let mask = ty.mask();
        match self.function {
            Function::Count => map1(active, sources, destinations, |a| u64::from((a & mask).count_ones())),
            Function::LeadingZeros => {
                map1(active, sources, destinations, |a| u64::from((a & mask).leading_zeros() + ty.bits - 64));
            }
            Function::Find { as_shift } => {
                map1(active, sources, destinations, |a| find(ty, as_shift, a));
            }
            Function::FindNth => map3(active, sources, destinations, find_nth),
            Function::Reverse => {
                map1(active, sources, destinations, |a| (a & mask).reverse_bits() >> (64 - ty.bits));
            }
            Function::Extract => map3(active, sources, destinations, |a, b, c| extract(ty, a, b, c)),
            Function::Insert => map4(active, sources, destinations, |sources| insert(ty, sources)),
            Function::ExtendSign(overflow) => {
                map2(active, sources, destinations, |a, b| extend_sign(ty.signed, overflow, a, b));
            }
            Function::Mask(overflow) => {
                map2(active, sources, destinations, |a, b| bit_mask(overflow, a, b));
            }
        }
    }
}

/// What an opcode does with positions that are too large.
pub(super) fn overflow(opcode: &Opcode<'_>) -> Decoded<Overflow> {
    let word = opcode.modifier(|modifier| match modifier {
        Modifier::Overflow(overflow) => Some(overflow),
        _ => None,
    });
    word.ok_or(INCOMPLETE)
}

const NOT_FOUND: u64 = 0xFFFF_FFFF;

fn find(ty: Integer, as_shift: bool, a: u64) -> u64 {
    // Of a negative number, the highest zero.
    let bits = if ty.signed && ty.sign_extended(a) < 0 { !a } else { a } & ty.mask();
    match bits.checked_ilog2() {
        None => NOT_FOUND,
        Some(position) if as_shift => u64::from(ty.bits - 1 - position),
        Some(position) => u64::from(position),
    }
}

fn find_nth(mask: u64, base: u64, offset: u64) -> u64 {
    let mut position = i64::from(base as u32);
    let offset = offset as u32 as i32;
    let is_set = |position: i64| (0..32).contains(&position) && mask >> position & 1 == 1;
    if offset == 0 {
        return if is_set(position) { position as u64 } else { NOT_FOUND };
    }
    // The number that has no opposite goes wrong in the hardware's program.
    if offset == i32::MIN {
        return 0;
    }
    let mut left = offset.unsigned_abs();
    while (0..32).contains(&position) {
        if is_set(position) {
            left -= 1;
            if left == 0 {
                return position as u64;
            }
        }
        position += i64::from(offset.signum());
    }
    NOT_FOUND
}

/// Where a field starts and how long it is. Of 32 bits a byte of them counts, of 64 all do.
fn field(ty: Integer, position: u64, length: u64) -> (u32, u32) {
    let mask = if ty.bits == 64 { u32::MAX } else { 0xFF };
    (position as u32 & mask, length as u32 & mask)
}

fn extract(ty: Integer, a: u64, position: u64, length: u64) -> u64 {
    let (position, length) = field(ty, position, length);
    let last = position.saturating_add(length).saturating_sub(1).min(ty.bits - 1);
    let is_negative = ty.signed && length > 0 && a >> last & 1 == 1;
    let field = (a & ty.mask()).checked_shr(position).unwrap_or(0);
    let field_mask = low_bits(length.min(ty.bits.saturating_sub(position)));
    (if is_negative { field | !field_mask } else { field & field_mask }) & ty.mask()
}

fn insert(ty: Integer, [a, b, position, length]: [u64; 4]) -> u64 {
    let (position, length) = field(ty, position, length);
    let place = low_bits(length).checked_shl(position).unwrap_or(0);
    let field = a.checked_shl(position).unwrap_or(0);
    (b & !place | field & place) & ty.mask()
}

/// As many ones.
fn low_bits(count: u32) -> u64 {
    1_u64.checked_shl(count).unwrap_or(0).wrapping_sub(1)
}

/// The ISA's own program, but that nothing has no sign.
fn extend_sign(signed: bool, overflow: Overflow, a: u64, b: u64) -> u64 {
    let (a, b) = (a as u32, b as u32);
    let width = b & 31;
    let is_too_large = b >= 32 && overflow == Overflow::Clamp;
    let mask = if is_too_large { 0 } else { u32::MAX << width };
    let sign = width.wrapping_sub(1) & 31;
    let is_negative = signed && a >> sign & 1 == 1 && (width > 0 || is_too_large);
    u64::from(if is_negative { a | mask } else { a & !mask })
}

/// The ISA's own program.
fn bit_mask(overflow: Overflow, a: u64, b: u64) -> u64 {
    let (a, b) = (a as u32, b as u32);
    let (start, width) = (a & 31, b & 31);
    let clamps = overflow == Overflow::Clamp;
    let from = if clamps && a >= 32 { 0 } else { u32::MAX << start };
    let is_beyond = start + width >= 32 || clamps && (a >= 32 || b >= 32);
    let beyond = if is_beyond { 0 } else { u32::MAX << (start + width) };
    u64::from(from & !beyond)
}
