//! Values that certainly differ between the threads of a warp.
//!
//! The opposite caution of [`selection`](super::selection): a value counts only if it is made of the
//! number of the thread by steps that keep at least one of its bits apart, and of what is the same for
//! all threads of the warp.

use rustc_hash::FxHashMap;

use super::Uniformity;
use super::lanes::{constant, is_given, lane_register};
use crate::budget::Budget;
use crate::definitions::DefinitionId;
use crate::function::Function;
use crate::isa::generic::{Arithmetic, Bits, Computation, Modifier, Part};
use crate::isa::special_registers::{Extent, Lasting};
use crate::registers::{self, Access};
use crate::resolve::symbols::{RegisterId, Resolution};

/// The bits of `%laneid` and `%tid.x` that number the threads of a warp.
const LANE: u64 = 31;

/// The lane of an address in Tensor Memory within its half warp: 0 in each address that a warp may use.
const LANES_OF_ADDRESS: u64 = 0xF << 16;

/// What a step does to the bits that differ.
#[derive(Clone, Copy, Debug)]
enum Step {
    Keep,
    Left(u32),
    Right(u32),
    /// What the mask has zeros for is gone.
    Mask(u64),
    /// Something that is the same for the whole warp is added, or this is subtracted from it.
    Sum,
    /// Multiplied by a number with that many zeros at its end.
    Product(u32),
}

/// A value that differs between the threads of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// Bits that certainly do.
    bits: u64,
    /// The instruction that reads the number of the thread.
    cause: u32,
}

/// The values of definitions, as far as they were asked for; `None` where it is not known that they
/// differ.
pub(super) type Spreads = FxHashMap<DefinitionId, Option<Spread>>;

impl Step {
    fn apply(self, bits: u64) -> u64 {
        match self {
            Self::Keep => bits,
            Self::Left(by) => bits.checked_shl(by).unwrap_or(0),
            Self::Right(by) => bits.checked_shr(by).unwrap_or(0),
            Self::Mask(mask) => bits & mask,
            // Only into the lowest bit the carry is the same for all threads.
            Self::Sum => bits & bits.wrapping_neg(),
            Self::Product(zeros) => Self::Sum.apply(Self::Left(zeros).apply(bits)),
        }
    }
}

impl Uniformity {
    /// The instruction that first reads the number of the thread, if what `instruction` reads from a
    /// register of 32 bits certainly differs between the threads of a whole warp.
    pub fn differs(
        &self,
        function: &Function<'_>,
        instruction: u32,
        register: RegisterId,
        budget: &Budget,
    ) -> Option<u32> {
        let (mut at, mut register) = (instruction, register);
        // Definitions on the way back to one that is known, the last first; each is looked at once.
        let mut way: Vec<(DefinitionId, Step, u64)> = Vec::new();
        let mut found = loop {
            if !budget.take(super::VISIT) {
                return None;
            }
            let Some(id) = function.only(at, register) else { break None };
            if let Some(known) = self.spreads.borrow().get(&id) {
                break *known;
            }
            // Where the way leads back to itself, nothing is known.
            self.spreads.borrow_mut().insert(id, None);
            let definition = *function.definitions.get(id);
            let step =
                if definition.guarded { None } else { self.step(function, definition.instruction, budget) };
            let Some((apart, step)) = step else { break None };
            at = definition.instruction;
            way.push((id, step, kept(function, at)));
            match apart {
                Some(next) => register = next,
                None => break Some(Spread { bits: LANE, cause: at }),
            }
        };
        while let Some((id, step, kept)) = way.pop() {
            found = found.map(|spread| Spread { bits: step.apply(spread.bits) & kept, ..spread });
            self.spreads.borrow_mut().insert(id, found);
        }
        found.filter(|spread| spread.bits & u64::from(u32::MAX) != 0).map(|spread| spread.cause)
    }

    /// What an instruction does to its one operand that may differ: a register, or the number of the
    /// thread.
    fn step(&self, function: &Function<'_>, at: u32, budget: &Budget) -> Option<(Option<RegisterId>, Step)> {
        let module = &function.unit.module;
        let raw = &module.instructions[at as usize];
        let operands = raw.operands.range().skip(1);
        let mut apart: Option<(u32, Option<RegisterId>)> = None;
        for (position, index) in (1..).zip(operands) {
            let register = match function.unit.symbols.operand(index as u32) {
                Resolution::Special(special) => match lane_register(special) {
                    Some(_) => None,
                    None if special.facts().same_in < Extent::Warp => return None,
                    // Threads may be at different places when they read it.
                    None if special.facts().lasting == Lasting::Never => return None,
                    None => continue,
                },
                Resolution::Register(register) => {
                    let value = function.value(at, register)?;
                    // What a whole function is given to count from is taken for the same.
                    let is_parameter = function
                        .only(at, register)
                        .is_some_and(|id| is_given(function, function.definitions.get(id).instruction));
                    if is_parameter || !self.may_differ(function, value, budget) {
                        continue;
                    }
                    Some(register)
                }
                _ => continue,
            };
            if apart.replace((position, register)).is_some() {
                return None;
            }
        }
        // Elements of vectors and parts of addresses are nothing that is followed here.
        let mut reads = 0;
        registers::accesses(function.unit, at, &mut |_, _, access| {
            reads += u32::from(access == Access::Read);
        });
        let named = raw.operands.range().skip(1);
        let named = named
            .filter(|index| matches!(function.unit.symbols.operand(*index as u32), Resolution::Register(_)));
        if named.count() != reads as usize {
            return None;
        }
        let (position, register) = apart?;
        let number = |position: u32| constant(function, raw.operands, position);
        let opcode = function.unit.operations.of(at);
        let step = match (opcode.computes(), position) {
            (Computation::Move | Computation::Convert, 1) if raw.operands.len == 2 => Step::Keep,
            (Computation::Bits(Bits::ShiftLeft), 1) => Step::Left(u32::try_from(number(2)?).ok()?),
            (Computation::Bits(Bits::ShiftRight), 1) => Step::Right(u32::try_from(number(2)?).ok()?),
            (Computation::And, 1) => Step::Mask(number(2)? as u64),
            (Computation::Or, 1) if number(2).is_some() => Step::Mask(!(number(2)? as u64)),
            // A base with lanes of its own: if it hides that the lanes differ, the address is of none of
            // those that a whole warp may start at.
            (Computation::Or, 1 | 2) => Step::Mask(LANES_OF_ADDRESS),
            (Computation::Xor, 1) if number(2).is_some() => Step::Keep,
            (Computation::Arithmetic(Arithmetic::Add | Arithmetic::Subtract), 1 | 2) => Step::Sum,
            (Computation::Arithmetic(Arithmetic::Multiply), 1) if opcode.has(Modifier::Part(Part::Lo)) => {
                let by = number(2)?;
                if by == 0 {
                    return None;
                }
                Step::Product(by.trailing_zeros())
            }
            // `d = a * b + c`, cut to the width of the three.
            (Computation::Arithmetic(Arithmetic::MultiplyAdd), 3) => Step::Sum,
            (Computation::Arithmetic(Arithmetic::MultiplyAdd), 1 | 2)
                if opcode.has(Modifier::Part(Part::Lo)) =>
            {
                let by = number(3 - position)?;
                if by == 0 {
                    return None;
                }
                Step::Product(by.trailing_zeros())
            }
            _ => return None,
        };
        Some((register, step))
    }
}

/// The bits that the types of an instruction let through: those of the shortest.
fn kept(function: &Function<'_>, at: u32) -> u64 {
    let opcode = function.unit.operations.of(at);
    if opcode.has(Modifier::Part(Part::Wide)) {
        return u64::MAX;
    }
    let shortest = opcode.types.iter().filter_map(|ty| ty.bits()).min();
    shortest.map_or(u64::MAX, |bits| u64::MAX.checked_shr(u64::BITS - bits.clamp(1, u64::BITS)).unwrap_or(0))
}
