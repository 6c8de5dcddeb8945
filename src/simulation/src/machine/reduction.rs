//! What an atomic operation or a reduction makes of one element in memory (PTX ISA, "atom", "red",
//! "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor").
//!
//! Sums of floating point are those of `add.rn`, and depend on the order of the operations: here it is that of
//! execution. Units differ in subnormal numbers, and in what they make of a double that is no number;
//! fixtures/hardware/reductions.txt is what an H200 does.

use super::bytes::Contents;
use crate::arithmetic::{Arithmetic, Lanes, Opcode};
use crate::isa::generic::{Flag, Modifier, Operation, ReductionOperator, Type};
use crate::program::{LoadReduction, Reduction};

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// `atom` and `red` on global memory. The ISA says that `.add.f32` flushes subnormal inputs and results to
    /// sign-preserving zero there.
    Global,
    /// `atom` and `red` on shared memory, where it does not.
    Shared,
    /// Bulk copies. An H200 flushes only where the tensor map says so.
    Bulk,
    /// Tensor copies to elements whose type has `.ftz`.
    Flushing,
}

/// What is left in memory; nothing if that is not computed.
pub(super) fn combined(reduction: Reduction, unit: Unit, old: u64, b: u64, c: u64) -> Option<u64> {
    let Reduction { operator, ty, noftz } = reduction;
    let bits = ty.bits()?.min(64);
    let mask = u64::MAX >> (64 - bits.max(1));
    let (old, b, c) = (old & mask, b & mask, c & mask);
    if ty.is_float() {
        match operator {
            ReductionOperator::Add | ReductionOperator::Min | ReductionOperator::Max => {
                return float(operator, ty, (unit, noftz), old, b).map(|result| result & mask);
            }
            // They move bits.
            ReductionOperator::Exch | ReductionOperator::Cas => {}
            ReductionOperator::And
            | ReductionOperator::Or
            | ReductionOperator::Xor
            | ReductionOperator::Inc
            | ReductionOperator::Dec
            | ReductionOperator::Popc => return None,
        }
    }
    let unused = 64 - bits;
    let signed = |value: u64| (value << unused).cast_signed() >> unused;
    let is_less = if ty.is_signed() { signed(old) < signed(b) } else { old < b };
    Some(
        mask & match operator {
            ReductionOperator::And => old & b,
            ReductionOperator::Or => old | b,
            ReductionOperator::Xor => old ^ b,
            ReductionOperator::Exch => b,
            ReductionOperator::Cas => {
                if old == b {
                    c
                } else {
                    old
                }
            }
            ReductionOperator::Add => old.wrapping_add(b),
            ReductionOperator::Inc => {
                if old >= b {
                    0
                } else {
                    old + 1
                }
            }
            ReductionOperator::Dec => {
                if old == 0 || old > b {
                    b
                } else {
                    old - 1
                }
            }
            ReductionOperator::Min => {
                if is_less {
                    old
                } else {
                    b
                }
            }
            ReductionOperator::Max => {
                if is_less {
                    b
                } else {
                    old
                }
            }
            ReductionOperator::Popc => return None,
        },
    )
}

/// What `.red` of `tcgen05.ld` makes of the registers of each thread (9.7.16.8.3).
#[derive(Debug)]
pub(super) struct Reduced {
    how: LoadReduction,
    is_first: bool,
    pub(super) value: Lanes,
    /// Also where something is no number: how `.NaN` answers, and how it is without, no source says of this
    /// instruction.
    pub(super) unknown: u32,
}

impl Reduced {
    pub(super) const fn new(how: LoadReduction) -> Self {
        Self { how, is_first: true, value: [0; 32], unknown: 0 }
    }

    /// Another register.
    pub(super) fn add(&mut self, value: &Lanes, unknown: u32) {
        let LoadReduction { reduction, is_absolute } = self.how;
        self.unknown |= unknown;
        for (lane, (all, value)) in self.value.iter_mut().zip(value).enumerate() {
            let magnitude = *value & if is_absolute { 0x7FFF_FFFF } else { 0xFFFF_FFFF };
            let is_nan = reduction.ty == Type::F32 && f32::from_bits(magnitude as u32).is_nan();
            let result = if self.is_first {
                Some(magnitude)
            } else {
                combined(reduction, Unit::Shared, *all, magnitude, 0)
            };
            *all = result.unwrap_or(0);
            self.unknown |= u32::from(is_nan || result.is_none()) << lane;
        }
        self.is_first = false;
    }
}

/// The same of floating point.
fn float(
    operator: ReductionOperator,
    ty: Type,
    (unit, noftz): (Unit, bool),
    old: u64,
    b: u64,
) -> Option<u64> {
    let is_half = match ty {
        Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 => true,
        Type::F32 | Type::F64 => false,
        _ => return None,
    };
    let is_sum = operator == ReductionOperator::Add;
    let operation = match (operator, is_half) {
        (ReductionOperator::Add, true) => Operation::AddHalf,
        (ReductionOperator::Add, false) => Operation::AddFloat,
        (ReductionOperator::Min, true) => Operation::MinHalf,
        (ReductionOperator::Min, false) => Operation::MinFloat,
        (ReductionOperator::Max, true) => Operation::MaxHalf,
        (ReductionOperator::Max, false) => Operation::MaxFloat,
        _ => return None,
    };
    if ty == Type::F64 && is_sum && unit != Unit::Shared {
        // What is no number stays as it came, even one that signals: an H200 does so, though the ISA does not say it.
        let nan = [b, old].into_iter().find(|bits| f64::from_bits(*bits).is_nan());
        if nan.is_some() {
            return nan;
        }
    }
    let flushes = is_sum
        && ty == Type::F32
        && match unit {
            Unit::Global => !noftz,
            Unit::Flushing => true,
            Unit::Shared | Unit::Bulk => false,
        };
    let mut qualifiers = vec![Modifier::Type(ty)];
    if flushes {
        qualifiers.push(Modifier::Flag(Flag::Ftz));
    }
    let opcode = Opcode { operation, qualifiers: &qualifiers, types: &[ty], is_known: true };
    let arithmetic = Arithmetic::of(&opcode)?.ok()?;
    let mut result = [0; 32];
    arithmetic.execute(1, &[&[b; 32], &[old; 32]], &mut [&mut result]);
    Some(result[0])
}

/// What bytes become when others are reduced into them, element by element.
pub(super) fn reduced(reduction: Reduction, unit: Unit, old: &Contents, new: &Contents) -> Contents {
    let len = new.bytes.len().min(old.bytes.len());
    let bytes = (reduction.ty.bits().unwrap_or(8).clamp(8, 64) / 8) as usize;
    let mut result = Contents { bytes: vec![0; len], unknown: Vec::new() };
    for start in (0..len).step_by(bytes) {
        let range = start..(start + bytes).min(len);
        let is_unknown = |contents: &Contents| {
            contents.unknown.iter().any(|it| it.start < range.end && range.start < it.end)
        };
        let element = |contents: &Contents| {
            let mut word = [0; 8];
            word[..range.len()].copy_from_slice(&contents.bytes[range.clone()]);
            u64::from_le_bytes(word)
        };
        let value = if range.len() < bytes || is_unknown(old) || is_unknown(new) {
            None
        } else {
            combined(reduction, unit, element(old), element(new), 0)
        };
        match (value, result.unknown.last_mut()) {
            (Some(value), _) => {
                result.bytes[range.clone()].copy_from_slice(&value.to_le_bytes()[..range.len()]);
            }
            (None, Some(last)) if last.end == range.start => last.end = range.end,
            (None, _) => result.unknown.push(range),
        }
    }
    result
}
