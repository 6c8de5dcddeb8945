//! `mov`: a copy, packed or unpacked.

use super::lanes::each;
use super::{Decoded, FOREIGN_TYPE, Lanes, UNTYPED};
use crate::Integer;
use crate::Opcode;
use crate::domain::{Composing, Domain, Function};
use ptx_isa::generic::{Operation, Type};

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// Bits of all elements together; of a vector that is copied, of each.
    bits: u32,
    /// Whether it is a vector that is copied.
    is_vector: bool,
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        let ty = *opcode.types.first().ok_or(UNTYPED)?;
        let bits = match (ty, operation) {
            (Type::Pred, _) => 1,
            (_, Operation::Mov | Operation::MovVector) => ty.bits().ok_or(FOREIGN_TYPE)?,
            _ => return Err(super::NOT_HERE),
        };
        Ok(Self { bits, is_vector: operation == Operation::MovVector })
    }

    /// How many bits of each of so many sources matter; `None` where they are halves of 128.
    pub(super) const fn source_bits(self, count: usize) -> Option<u32> {
        match (self.bits, count) {
            (_, 0) => None,
            (bits, _) if self.is_vector => Some(bits),
            (bits, count) if bits / count as u32 > 64 => None,
            (bits, count) => Some(bits / count as u32),
        }
    }

    /// How many bits each of so many results has.
    pub(super) const fn result_bits(self, count: usize) -> u32 {
        let bits = if count > 1 && !self.is_vector { self.bits / count as u32 } else { self.bits };
        if bits > 64 { 64 } else { bits }
    }

    /// What the destination at a position, of so many, gets of the values of a domain.
    pub(super) fn compose<D: Domain>(
        self,
        of: &mut Composing<'_, D>,
        position: usize,
        count: usize,
    ) -> Option<D::Value> {
        let (from, to) = (of.sources(), count);
        let ty = |bits: u32| Integer { bits, signed: false };
        if from == to {
            let source = of.source(position)?;
            let bits = self.bits.min(64);
            return Some(of.of(Function::Extend(bits), ty(bits), &[source]));
        }
        let is_divided = |parts: usize| parts > 0 && self.bits.is_multiple_of(parts as u32);
        if self.bits > 64 || !is_divided(from) || !is_divided(to) {
            return None;
        }
        let (wide, part) = (ty(self.bits), self.element(from as u32));
        let mut row = of.source(0)?;
        row = of.of(Function::Extend(self.bits), ty(part), &[row]);
        for index in 1..from {
            let source = of.source(index)?;
            let (at, len) = (of.number(u64::from(part) * index as u64), of.number(part.into()));
            row = of.of(Function::Insert, wide, &[source, row, at, len]);
        }
        let part = self.element(to as u32);
        if to == 1 {
            return Some(row);
        }
        let by = of.number(u64::from(part) * position as u64);
        let shifted = of.of(Function::ShiftRight, wide, &[row, by]);
        Some(of.of(Function::Extend(part), wide, &[shifted]))
    }

    pub(super) fn execute(self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let (from, to) = (sources.len() as u32, destinations.len() as u32);
        // As many on both sides: a copy. 128 bits are two registers wherever they are.
        if from == to {
            let mask = u64::MAX >> (64 - self.bits.min(64));
            for (source, destination) in sources.iter().zip(destinations) {
                each(active, |lane| destination[lane] = source[lane] & mask);
            }
            return;
        }
        if from == 0 || to == 0 {
            return;
        }
        let (source_bits, destination_bits) = (self.element(from), self.element(to));
        if let (64, [low, high], [d]) = (self.bits, sources, &mut *destinations) {
            return each(active, |lane| d[lane] = high[lane] << 32 | low[lane] & 0xFFFF_FFFF);
        }
        if let (64, [a], [low, high]) = (self.bits, sources, &mut *destinations) {
            return each(active, |lane| {
                low[lane] = a[lane] & 0xFFFF_FFFF;
                high[lane] = a[lane] >> 32;
            });
        }
        // The bits of all sources in a row, then those of all destinations.
        each(active, |lane| {
            let mut row: u128 = 0;
            for (index, source) in sources.iter().enumerate() {
                let bits = u128::from(source[lane]) & low_bits(source_bits);
                row |= bits.checked_shl(index as u32 * source_bits).unwrap_or(0);
            }
            for (index, destination) in destinations.iter_mut().enumerate() {
                let bits = row.checked_shr(index as u32 * destination_bits).unwrap_or(0);
                destination[lane] = (bits & low_bits(destination_bits)) as u64;
            }
        });
    }

    /// Bits of one of so many elements.
    const fn element(self, count: u32) -> u32 {
        self.bits / count
    }
}

const fn low_bits(count: u32) -> u128 {
    if count == 0 { 0 } else { u128::MAX >> (128 - count) }
}
