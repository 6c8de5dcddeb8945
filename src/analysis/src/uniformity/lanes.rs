//! What differs between the threads of a warp.

use crate::function::Function;
use crate::isa::generic::{
    self, Change, Comparison, Computation, Flag, Modifier, Semantics, ShuffleMode, Space, Synchronization,
};
use crate::isa::special_registers::{Extent, Special, SpecialRegister};
use crate::registers::{self, Access};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::Resolution;
use crate::syntax::ast::{OperandKind, RawInstruction, Slice};
use crate::syntax::literal;
use crate::values::ValueId;

/// The literal at a position.
pub(super) fn constant(function: &Function<'_>, operands: Slice, position: u32) -> Option<i128> {
    let operand = function.unit.module.operands(operands).get(position as usize)?;
    literal::evaluate(&function.unit.source, &function.unit.module, operand)
}

/// The register of the machine that a value is made of, by instructions with one source that keep
/// what matters: `keeps` is given each of them.
fn made_of(
    function: &Function<'_>,
    instruction: u32,
    operand: u32,
    keeps: impl Fn(Change, &RawInstruction) -> bool,
) -> Option<Special> {
    let (mut at, mut index) = (instruction, operand);
    // A chain that is longer comes back to itself.
    for _ in 0..=function.definitions.len() {
        if !function.budget.take(1) {
            return None;
        }
        let found = &function.unit.module.operands[index as usize];
        if found.kind() != OperandKind::Name {
            return None;
        }
        let register = match function.unit.symbols.operand(index) {
            Resolution::Special(special) => return Some(special),
            Resolution::Register(register) => register,
            _ => return None,
        };
        at = function.definitions.get(function.only(at, register)?).instruction;
        let raw = &function.unit.module.instructions[at as usize];
        let change = function.unit.operations.of(at).computes().change();
        if raw.operands.len < 2 || function.unit.module.guard(raw).is_some() || !keeps(change, raw) {
            return None;
        }
        index = raw.operands.start + 1;
    }
    None
}

/// A register of the machine that tells the threads of a warp apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneRegister {
    /// `%laneid`
    Lane,
    /// `%tid.x`
    Thread,
}

/// What tells the threads of a warp apart, if a value is it or keeps its low five bits.
pub(super) fn lane_register_of(
    function: &Function<'_>,
    instruction: u32,
    operand: u32,
) -> Option<LaneRegister> {
    let number = |raw: &RawInstruction| constant(function, raw.operands, 2);
    let found = made_of(function, instruction, operand, |change, raw| match change {
        Change::Copied => true,
        Change::Masked => number(raw).is_some_and(|mask| mask & 31 == 31),
        Change::Left => number(raw).is_some_and(|by| by > 0 && by % 32 == 0),
        Change::Moved | Change::High | Change::Divided | Change::Other => false,
    });
    found.and_then(lane_register)
}

/// The register that a name reads, if it counts the threads of a warp.
pub(super) fn lane_register(special: Special) -> Option<LaneRegister> {
    if special == Special::whole(SpecialRegister::Laneid) {
        Some(LaneRegister::Lane)
    } else if special == Special::x(SpecialRegister::Tid) {
        Some(LaneRegister::Thread)
    } else {
        None
    }
}

/// Whether a value is `%tid.x` plus a multiple of 32.
fn is_thread_index(function: &Function<'_>, instruction: u32, operand: u32) -> bool {
    let found = made_of(function, instruction, operand, |change, raw| match change {
        Change::Copied => raw.operands.len == 2,
        Change::Moved => constant(function, raw.operands, 2).is_some_and(|by| by % 32 == 0),
        Change::Masked | Change::High | Change::Divided | Change::Left | Change::Other => false,
    });
    found == Some(Special::x(SpecialRegister::Tid))
}

/// Whether something differs between the threads of a warp.
enum Lanes {
    /// It may differ.
    Differ,
    /// It does not.
    Same,
    /// It differs where an operand does.
    AsOperands,
}

/// Visits the values that what an instruction makes is the same for all threads of a warp with; false where it
/// differs whatever they are, or they are not known.
pub(super) fn needed(function: &Function<'_>, at: u32, visit: &mut dyn FnMut(ValueId)) -> bool {
    match lanes(function, at) {
        Lanes::Differ => false,
        Lanes::Same => true,
        Lanes::AsOperands => {
            let mut is_known = true;
            registers::accesses(function.unit, at, &mut |register, _, access| {
                if access == Access::Read {
                    match function.value(at, register) {
                        Some(value) => visit(value),
                        None => is_known = false,
                    }
                }
            });
            is_known
        }
    }
}

/// How what an instruction writes differs between the threads of a warp.
fn lanes(function: &Function<'_>, instruction: u32) -> Lanes {
    let raw = &function.unit.module.instructions[instruction as usize];
    let opcode = function.unit.operations.of(instruction);
    match opcode.lanes() {
        generic::Lanes::Differ | generic::Lanes::Elected => return Lanes::Differ,
        generic::Lanes::Same => return together(function, opcode, raw),
        generic::Lanes::Memory => {
            // These are what all threads of a warp read alike.
            let is_uniform = |space: Space| {
                space.is_shared()
                    || is_parameter(space) && !is_given(function, instruction)
                    || space == Space::Const
                    || space == Space::Global && is_weak(opcode)
            };
            if !opcode.spaces().next().is_some_and(is_uniform) {
                return Lanes::Differ;
            }
        }
        generic::Lanes::Exchanged => {
            if opcode.computes() != Computation::Shuffle {
                return Lanes::Differ;
            }
            // From one lane to all.
            let from_one = opcode.has(Modifier::ShuffleMode(ShuffleMode::Idx));
            if from_one && constant(function, raw.operands, 2).is_some() {
                return Lanes::Same;
            }
        }
        generic::Lanes::AsSources => {
            let is_same = if opcode.computes() == Computation::Compare {
                splits_between_warps(function, instruction, raw, opcode)
            } else {
                is_warp_number(function, instruction, raw, opcode)
            };
            if is_same {
                return Lanes::Same;
            }
        }
    }
    // Registers of the machine that differ between the threads of a warp.
    let differs = raw.operands.range().any(|index| reads_lane(function, index as u32));
    if differs { Lanes::Differ } else { Lanes::AsOperands }
}

/// Whether a load is one that nobody may write to meanwhile: that would be a data race. What loads to
/// synchronise, such as a poll of a flag, may see another value in each thread.
fn is_weak(opcode: &Opcode) -> bool {
    let semantics = opcode.modifier(|modifier| match modifier {
        Modifier::Semantics(semantics) => Some(semantics),
        _ => None,
    });
    semantics.is_none_or(|semantics| semantics == Semantics::Weak) && !opcode.has_flag(Flag::Mmio)
}

/// For a result that is the same for all threads that take part: whether these are the whole warp.
fn together(function: &Function<'_>, opcode: &Opcode, raw: &RawInstruction) -> Lanes {
    const WHOLE_WARP: i128 = 0xFFFF_FFFF;
    match opcode.synchronization() {
        // All threads of the CTA, or of whole warps of it.
        Synchronization::BarrierSync => Lanes::Same,
        Synchronization::WarpCollective => {
            let mask =
                raw.operands.len.checked_sub(1).and_then(|last| constant(function, raw.operands, last));
            if mask.is_some_and(|mask| mask == -1 || mask == WHOLE_WARP) {
                Lanes::Same
            } else {
                Lanes::Differ
            }
        }
        // Whoever happens to be there.
        _ => Lanes::Differ,
    }
}

/// Whether an instruction loads what another function gives: a parameter of a function that is no kernel,
/// or the result of a call. These may be another thing in each thread.
pub(super) fn is_given(function: &Function<'_>, instruction: u32) -> bool {
    let module = &function.unit.module;
    let raw = &module.instructions[instruction as usize];
    if !function.unit.operations.of(instruction).spaces().next().is_some_and(is_parameter) {
        return false;
    }
    let named = raw.operands.range().nth(1).and_then(|address| module.base_of(address as u32));
    match named.map(|index| function.unit.symbols.operand(index)) {
        Some(Resolution::Symbol(id)) => !function.is_of_kernel(function.unit.symbols.symbol(id)),
        _ => false,
    }
}

fn is_parameter(space: Space) -> bool {
    matches!(space, Space::Param | Space::ParamEntry | Space::ParamFunc)
}

/// Whether the result is the number of the warp, in one form or another.
fn is_warp_number(function: &Function<'_>, instruction: u32, raw: &RawInstruction, opcode: &Opcode) -> bool {
    let Some(number) = constant(function, raw.operands, 2) else { return false };
    let is_of_warp = match opcode.computes().change() {
        // Of the position of a field, a byte counts.
        Change::High => (5..256).contains(&number),
        Change::Masked => number.trailing_zeros() >= 5,
        Change::Divided => number > 0 && number % 32 == 0,
        Change::Copied | Change::Moved | Change::Left | Change::Other => false,
    };
    is_of_warp && is_thread_index(function, instruction, raw.operands.start + 1)
}

fn reads_lane(function: &Function<'_>, index: u32) -> bool {
    let operand = &function.unit.module.operands[index as usize];
    match operand.kind() {
        OperandKind::Name => match function.unit.symbols.operand(index) {
            Resolution::Special(special) => special.facts().same_in < Extent::Warp,
            Resolution::Register(_) | Resolution::Symbol(_) | Resolution::Undeclared => false,
        },
        OperandKind::Vector(parts) => parts.range().any(|part| reads_lane(function, part as u32)),
        _ => false,
    }
}

/// Whether a comparison of `%tid.x` with a constant has the same result in a whole warp.
fn splits_between_warps(
    function: &Function<'_>,
    instruction: u32,
    raw: &RawInstruction,
    opcode: &Opcode,
) -> bool {
    let Some(bound) = constant(function, raw.operands, 2) else { return false };
    let Some(comparison) = opcode.comparison() else { return false };
    let aligned = match comparison {
        Comparison::Lt | Comparison::Ge | Comparison::Lo | Comparison::Hs => bound % 32 == 0,
        Comparison::Gt | Comparison::Le | Comparison::Hi | Comparison::Ls => bound.rem_euclid(32) == 31,
        Comparison::Eq
        | Comparison::Ne
        | Comparison::Equ
        | Comparison::Neu
        | Comparison::Ltu
        | Comparison::Leu
        | Comparison::Gtu
        | Comparison::Geu
        | Comparison::Num
        | Comparison::Nan => false,
    };
    // A predicate that is combined with the comparison is a condition of its own.
    aligned && raw.operands.len == 3 && is_thread_index(function, instruction, raw.operands.start + 1)
}
