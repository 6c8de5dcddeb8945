//! Video instructions, of registers and of their halves or bytes.
//!
//! What an operand picks of its register (`a.b0`) is no part of the opcode: see [`Selection`].

use super::lanes::{each, packed};
use super::{Decoded, INCOMPLETE, Integer, Lanes, NOT_HERE, UNTYPED};
use crate::{Opcode, Selection};
use ptx_isa::generic::{
    Comparison, Flag, Modifier, Operation, Overflow, Relation, SecondOperation, Type, VideoScale,
};

/// The bits of a register.
const LOW: u64 = 0xFFFF_FFFF;

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    function: Function,
    /// How many elements a register has.
    count: u32,
    result: Integer,
    first: Integer,
    second: Integer,
    saturates: bool,
    /// What is done with the result and the third source.
    then: Option<SecondOperation>,
    /// Of the first and the second source: where each element starts in the bits of both, the first being below.
    starts: [[u32; 4]; 2],
    /// The elements that are written; the others are those of the third source.
    written: u32,
    /// Of a single element: the bits and the start of the part that is written, the rest being the third source's.
    part: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
enum Function {
    Add,
    Subtract,
    AbsoluteDifference,
    Average,
    Minimum,
    Maximum,
    ShiftLeft(Overflow),
    ShiftRight(Overflow),
    Compare(Relation),
    MultiplyAdd(MultiplyAdd),
}

/// `vmad`: the product is negated, or the third source, or one is added.
#[derive(Clone, Copy, Debug, Default)]
struct MultiplyAdd {
    shift: u32,
    plus_one: bool,
    is_product_negated: bool,
    is_third_negated: bool,
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        Self::packed(operation, 1, opcode)
    }

    /// Of so many elements in a register.
    pub(super) fn packed(operation: Operation, count: u32, opcode: &Opcode<'_>) -> Decoded<Self> {
        let function = match operation {
            Operation::Vadd | Operation::Vadd2 | Operation::Vadd4 => Function::Add,
            Operation::Vsub | Operation::Vsub2 | Operation::Vsub4 => Function::Subtract,
            Operation::Vavrg2 | Operation::Vavrg4 => Function::Average,
            Operation::Vabsdiff | Operation::Vabsdiff2 | Operation::Vabsdiff4 => Function::AbsoluteDifference,
            Operation::Vmin | Operation::Vmin2 | Operation::Vmin4 => Function::Minimum,
            Operation::Vmax | Operation::Vmax2 | Operation::Vmax4 => Function::Maximum,
            Operation::Vshl => Function::ShiftLeft(super::bits::overflow(opcode)?),
            Operation::Vshr => Function::ShiftRight(super::bits::overflow(opcode)?),
            Operation::Vset | Operation::Vset2 | Operation::Vset4 => {
                let comparison: Comparison = opcode.comparison().ok_or(INCOMPLETE)?;
                // The sources are compared as the numbers they are, whatever their types.
                Function::Compare(comparison.of_integers(Type::S64).ok_or(INCOMPLETE)?)
            }
            Operation::Vmad => Function::MultiplyAdd(MultiplyAdd {
                shift: match opcode.modifier(|it| match it {
                    Modifier::VideoScale(scale) => Some(scale),
                    _ => None,
                }) {
                    Some(VideoScale::Shr7) => 7,
                    Some(VideoScale::Shr15) => 15,
                    None => 0,
                },
                plus_one: opcode.has_flag(Flag::Po),
                ..MultiplyAdd::default()
            }),
            _ => return Err(NOT_HERE),
        };
        let saturates = opcode.has_flag(Flag::Sat);
        if saturates && matches!(function, Function::ShiftLeft(_)) {
            return Err("how it saturates is not known");
        }
        let bits = 32 / count;
        let ty = |index: usize| -> Decoded<Integer> {
            let ty = opcode.types.get(index).ok_or(UNTYPED)?;
            Ok(Integer { signed: ty.is_signed(), bits })
        };
        let unsigned = Integer { bits, signed: false };
        let (result, skip) =
            if matches!(function, Function::Compare(_)) { (unsigned, 0) } else { (ty(0)?, 1) };
        let then = opcode.modifier(|modifier| match modifier {
            Modifier::SecondOperation(then) => Some(then),
            _ => None,
        });
        let start = |element: u32| (element * bits).min(32 - bits);
        let first = [0, 1, 2, 3].map(start);
        Ok(Self {
            function,
            count,
            result,
            first: ty(skip)?,
            second: ty(skip + 1)?,
            saturates,
            then,
            starts: [first, first.map(|start| 32 + start)],
            written: (1 << count) - 1,
            part: None,
        })
    }

    /// The same of parts of its operands: the result, and the sources.
    pub(super) fn selecting(mut self, selections: &[Selection<'_>]) -> Option<Self> {
        let selection = |position: usize| selections.get(position).copied().unwrap_or_default();
        let (d, sources) = (selection(0), [selection(1), selection(2)]);
        let negated = |position: usize| selection(position).is_negated;
        if let Function::MultiplyAdd(it) = &mut self.function {
            it.is_product_negated = negated(1) != negated(2);
            it.is_third_negated = negated(3);
        } else if negated(1) || negated(2) || negated(3) {
            return None;
        }
        if self.count > 1 {
            let elements = |text: &str| -> Option<Vec<u32>> {
                let (kind, digits) = text.split_at_checked(1)?;
                let is_kind = kind == if self.count == 2 { "h" } else { "b" };
                // The highest element comes first.
                let all: Option<Vec<u32>> = digits.chars().rev().map(|digit| digit.to_digit(10)).collect();
                all.filter(|all| is_kind && !all.is_empty())
            };
            let bits = self.result.bits;
            for (starts, Selection { part, .. }) in self.starts.iter_mut().zip(sources) {
                if part.is_empty() {
                    continue;
                }
                let picked = elements(part)?;
                if picked.len() != self.count as usize || picked.iter().any(|it| *it >= 2 * self.count) {
                    return None;
                }
                for (start, element) in starts.iter_mut().zip(picked) {
                    *start = element * bits;
                }
            }
            if !d.part.is_empty() {
                let written = elements(d.part)?;
                self.written = written.iter().fold(0, |all, element| all | 1 << element.min(&31));
                return (self.written < 1 << self.count).then_some(self);
            }
            return Some(self);
        }
        let part = |text: &str| -> Option<Option<(u32, u32)>> {
            Some(match text {
                "" => None,
                "b0" => Some((8, 0)),
                "b1" => Some((8, 8)),
                "b2" => Some((8, 16)),
                "b3" => Some((8, 24)),
                "h0" => Some((16, 0)),
                "h1" => Some((16, 16)),
                _ => return None,
            })
        };
        self.part = part(d.part)?;
        let types = [&mut self.first, &mut self.second];
        for ((starts, ty), Selection { part: text, .. }) in self.starts.iter_mut().zip(types).zip(sources) {
            if let Some((bits, start)) = part(text)? {
                ty.bits = bits;
                starts[0] += start;
            }
        }
        Some(self)
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let ([a, b, rest @ ..], [d, ..]) = (sources, destinations) else { return };
        let Self { count, result, .. } = *self;
        each(active, |lane| {
            let row = (b[lane] & LOW) << 32 | a[lane] & LOW;
            let [first, second] = self.starts;
            let source = |index: usize| {
                (self.first.value(row >> first[index]), self.second.value(row >> second[index]))
            };
            let compute = |index: u32| {
                let (a, b) = source(index as usize % 4);
                self.compute(a, b)
            };
            let c = rest.first().map(|c| c[lane] & LOW);
            if let (Function::MultiplyAdd(it), Some(c)) = (self.function, c) {
                d[lane] = self.multiply(it, source(0), c);
                return;
            }
            let whole = Integer { bits: 32, ..result };
            let written = (0..count).filter(|index| self.written >> index & 1 != 0);
            d[lane] = match (c, self.then) {
                (Some(c), Some(then)) => {
                    // All elements are added up, without being cut if they are several.
                    let value: i128 = if count > 1 && !self.saturates {
                        written.map(compute).sum()
                    } else {
                        written.map(|index| result.value(self.limited(compute(index)))).sum()
                    };
                    let c = whole.value(c);
                    whole.wrapped(match then {
                        SecondOperation::Add => value + c,
                        SecondOperation::Min => value.min(c),
                        SecondOperation::Max => value.max(c),
                    })
                }
                (Some(c), None) if self.part.is_some() || self.written + 1 != 1 << count => {
                    let parts = written.map(|index| match self.part {
                        Some((bits, start)) => (bits, start, index),
                        None => (result.bits, index * result.bits, index),
                    });
                    parts.fold(c, |all, (bits, start, index)| {
                        let mask = u64::MAX >> (64 - bits);
                        all & !(mask << start) | (self.limited(compute(index)) & mask) << start
                    })
                }
                _ => packed(result.bits, count, |at| self.limited(compute(at / result.bits))),
            };
        });
    }

    /// `vmad` (PTX ISA, "vmad"): the final result has a sign if something has one that it is made of.
    fn multiply(&self, it: MultiplyAdd, (a, b): (i128, i128), c: u64) -> u64 {
        let signed = self.first.signed || self.second.signed || it.is_product_negated || it.is_third_negated;
        let ty = Integer { bits: 32, signed };
        let (product, c) = (a * b, ty.value(c));
        let sum = if it.is_product_negated { c - product } else { product + c };
        let sum = if it.is_third_negated { product - c } else { sum };
        let result = (sum + i128::from(it.plus_one)) >> it.shift;
        if self.saturates { ty.saturated(result) } else { ty.wrapped(result) }
    }

    /// Within what `.sat` asks for. The programs that the assembler makes of the instructions with one
    /// element let unsigned numbers overflow.
    fn limited(&self, value: i128) -> u64 {
        if let (true, Some((bits, _))) = (self.saturates, self.part) {
            return Integer { bits, ..self.result }.saturated(value);
        }
        match (self.saturates, self.result.signed) {
            (true, true) => self.result.saturated(value),
            (true, false) if self.count == 1 => self.result.wrapped(value.max(0)),
            (true, false) => self.result.saturated(value),
            (false, _) => self.result.wrapped(value),
        }
    }

    fn compute(&self, a: i128, b: i128) -> i128 {
        match self.function {
            Function::Add => a + b,
            Function::Subtract => a - b,
            Function::AbsoluteDifference => (a - b).abs(),
            // Halves go away from zero.
            Function::Average => {
                let sum = a + b;
                if sum < 0 { sum >> 1 } else { (sum + 1) >> 1 }
            }
            Function::Minimum => a.min(b),
            Function::Maximum => a.max(b),
            Function::ShiftLeft(overflow) => a << amount(overflow, b),
            Function::ShiftRight(overflow) => a >> amount(overflow, b),
            Function::Compare(relation) => i128::from(relation.holds(a.cmp(&b))),
            Function::MultiplyAdd(_) => a * b,
        }
    }
}

fn amount(overflow: Overflow, b: i128) -> i128 {
    match overflow {
        Overflow::Clamp => b.min(32),
        Overflow::Wrap => b & 31,
    }
}
