//! What differs between the threads of a warp.

use crate::analysis::function::Function;
use crate::analysis::registers;
use crate::resolve::symbols::Resolution;
use crate::syntax::ast::{OperandKind, RawInstruction, Slice};
use crate::syntax::literal;

/// The literal at a position.
pub(super) fn constant(function: &Function<'_>, operands: Slice, position: u32) -> Option<i128> {
    let operand = function.unit.module.operands(operands).get(position as usize)?;
    literal::evaluate(&function.unit.source, &function.unit.module, operand)
}

/// The register of the machine that a value is made of, by instructions with one source that keep
/// what matters: `keeps` is given each of them.
fn made_of<'a>(
    function: &Function<'a>,
    instruction: u32,
    operand: u32,
    keeps: impl Fn(&str, &RawInstruction) -> bool,
) -> Option<&'a str> {
    let (mut at, mut index) = (instruction, operand);
    // A chain that is longer goes round and round.
    for _ in 0..=function.definitions.len() {
        if !function.budget.take(1) {
            return None;
        }
        let found = &function.unit.module.operands[index as usize];
        if found.kind() != OperandKind::Name {
            return None;
        }
        let register = match function.unit.symbols.operand(index) {
            Resolution::Special => return Some(function.unit.source.slice(found.span())),
            Resolution::Register(register) => register,
            _ => return None,
        };
        let [only] = *function.reaching(at, register) else { return None };
        at = function.definitions.get(only).instruction;
        let raw = &function.unit.module.instructions[at as usize];
        let name = registers::mnemonic(function.unit, at);
        if raw.operands.len < 2 || function.unit.module.guard(raw).is_some() || !keeps(name, raw) {
            return None;
        }
        index = raw.operands.start + 1;
    }
    None
}

/// Whether no two threads of a warp have the same value: `%laneid`, `%tid.x`, or what keeps the
/// low five bits of one of them.
pub(super) fn identifies_lane(function: &Function<'_>, instruction: u32, operand: u32) -> bool {
    let number = |raw: &RawInstruction| constant(function, raw.operands, 2);
    let found = made_of(function, instruction, operand, |name, raw| match name {
        "mov" | "cvt" => true,
        "and" => number(raw).is_some_and(|mask| mask & 31 == 31),
        "rem" => number(raw).is_some_and(|by| by > 0 && by % 32 == 0),
        _ => false,
    });
    matches!(found, Some("%laneid" | "%tid.x" | "%tid"))
}

/// Whether a value is `%tid.x` plus a multiple of 32.
fn is_thread_index(function: &Function<'_>, instruction: u32, operand: u32) -> bool {
    let found = made_of(function, instruction, operand, |name, raw| match name {
        "mov" | "cvt" => raw.operands.len == 2,
        "add" | "sub" => constant(function, raw.operands, 2).is_some_and(|by| by % 32 == 0),
        _ => false,
    });
    matches!(found, Some("%tid.x" | "%tid"))
}

/// Whether something differs between the threads of a warp.
pub(super) enum Lanes {
    /// It may differ.
    Differ,
    /// It does not.
    Same,
    /// It differs where an operand does.
    AsOperands,
}

/// How what an instruction writes differs between the threads of a warp.
pub(super) fn lanes(function: &Function<'_>, instruction: u32) -> Lanes {
    let raw = &function.unit.module.instructions[instruction as usize];
    let words: Vec<&str> = registers::words(function.unit, instruction).collect();
    let number = |position: u32| constant(function, raw.operands, position);
    match words[0] {
        "elect" | "vote" | "match" | "activemask" | "atom" | "call" | "redux" => return Lanes::Differ,
        "ld" | "ldu"
            if !words
                .iter()
                .any(|word| word.starts_with("shared") || word.starts_with("param") || *word == "const") =>
        {
            return Lanes::Differ;
        }
        // From one lane to all.
        "shfl" if words.contains(&"idx") && number(2).is_some() => return Lanes::Same,
        // The number of the warp, in one form or another.
        "shr" | "and" | "bfe" | "div" if is_thread_index(function, instruction, raw.operands.start + 1) => {
            let of_warp = number(2).is_some_and(|number| match words[0] {
                "shr" | "bfe" => number >= 5,
                "and" => number.trailing_zeros() >= 5,
                _ => number > 0 && number % 32 == 0,
            });
            if of_warp {
                return Lanes::Same;
            }
        }
        "setp" if splits_between_warps(function, instruction, raw, &words) => return Lanes::Same,
        _ => {}
    }
    // Registers of the machine that differ between the threads of a warp.
    let differs = raw.operands.range().any(|index| reads_lane(function, index as u32));
    if differs { Lanes::Differ } else { Lanes::AsOperands }
}

fn reads_lane(function: &Function<'_>, index: u32) -> bool {
    let operand = &function.unit.module.operands[index as usize];
    if operand.kind() == OperandKind::Name && function.unit.symbols.operand(index) == Resolution::Special {
        let name = function.unit.source.slice(operand.span());
        return ["%tid", "%laneid", "%lanemask"].iter().any(|prefix| name.starts_with(prefix));
    }
    match operand.kind() {
        OperandKind::Vector(parts) => parts.range().any(|part| reads_lane(function, part as u32)),
        _ => false,
    }
}

/// Whether a comparison of `%tid.x` with a constant has the same result in a whole warp.
fn splits_between_warps(
    function: &Function<'_>,
    instruction: u32,
    raw: &RawInstruction,
    words: &[&str],
) -> bool {
    let Some(bound) = constant(function, raw.operands, 2) else { return false };
    let aligned = match words.get(1) {
        Some(&("lt" | "ge" | "lo" | "hs")) => bound % 32 == 0,
        Some(&("gt" | "le" | "hi" | "ls")) => bound.rem_euclid(32) == 31,
        _ => false,
    };
    // A predicate that is combined with the comparison is a condition of its own.
    aligned && raw.operands.len == 3 && is_thread_index(function, instruction, raw.operands.start + 1)
}
