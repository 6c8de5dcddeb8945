//! Compares with numbers: what they say of a register where a predicate holds, or where a branch goes.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::cfg::BlockId;
use crate::definitions::Definition;
use crate::function::Function;
use crate::isa::generic::{Computation, Control, Relation, Type};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::OperandKind;
use crate::syntax::literal;
use crate::values::ValueId;

/// A branch that goes on under a condition about a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) block: BlockId,
    pub(super) compare: u32,
    /// What the register holds where it is compared.
    pub(super) value: ValueId,
    /// What holds where the branch is taken.
    pub(super) taken: Relation,
    pub(super) with: i64,
}

/// That a value compares so with a number.
pub(super) type Limit = (Relation, i64);

/// One of the values that meet where a register is read, and what compares say of it there.
pub(super) type Limited = (ValueId, SmallVec<[Limit; 2]>);

/// Whether control passes a block whenever it comes back to another one.
pub(super) fn is_passed(function: &Function<'_>, from: BlockId, block: BlockId) -> bool {
    let Function { cfg, budget, .. } = *function;
    if from == block {
        return true;
    }
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![from];
    while let Some(next) = work.pop() {
        for next in &cfg.block(next).successors {
            if *next == block || !seen.insert(*next) {
                continue;
            }
            if *next == from || !budget.take(1) {
                return false;
            }
            work.push(*next);
        }
    }
    true
}

pub(super) fn branch_test(
    function: &Function<'_>,
    block: BlockId,
    branch: u32,
) -> Option<(RegisterId, Test)> {
    let Function { unit, cfg, .. } = *function;
    if unit.operations.of(branch).control() != Control::Branch || cfg.block(block).successors.len() != 2 {
        return None;
    }
    let guard = unit.module.guard(&unit.module.instructions[branch as usize])?;
    let Resolution::Register(predicate) = unit.symbols.guard(branch) else { return None };
    let compared = compared(function, branch, predicate)?;
    // The same iteration of a loop.
    if cfg.block_of(compared.compare) != Some(block) {
        return None;
    }
    let taken = if guard.negated { compared.relation.negated() } else { compared.relation };
    let Compared { compare, register, with, .. } = compared;
    let value = function.value(compare, register)?;
    Some((register, Test { block, compare, value, taken, with }))
}

/// A register that is compared with a number.
pub(super) struct Compared {
    pub(super) compare: u32,
    pub(super) register: RegisterId,
    pub(super) relation: Relation,
    pub(super) with: i64,
}

/// What a predicate says, where an instruction reads it.
pub(super) fn compared(function: &Function<'_>, reader: u32, predicate: RegisterId) -> Option<Compared> {
    let Function { unit, definitions, .. } = *function;
    let Definition { instruction, operand, guarded, .. } =
        *definitions.get(function.only(reader, predicate)?);
    let raw = &unit.module.instructions[instruction as usize];
    let opcode = unit.operations.of(instruction);
    let ty = *opcode.types.last()?;
    let is_plain = opcode.computes() == Computation::Compare
        && opcode.boolean_operator().is_none()
        && !guarded
        && operand == raw.operands.start
        && raw.operands.len == 3
        && matches!(ty.bits(), Some(32 | 64));
    if !is_plain {
        return None;
    }
    let relation = opcode.comparison()?.of_integers(ty)?;
    let (first, second) = (raw.operands.start + 1, raw.operands.start + 2);
    let number = |index: u32| {
        let value = literal(function, index)?;
        let is_large = !ty.is_signed() && relation.is_order();
        if is_large { i64::try_from(value).ok() } else { signed(value, ty) }
    };
    let register =
        |index: u32| match (unit.module.operands[index as usize].kind(), unit.symbols.operand(index)) {
            (OperandKind::Name, Resolution::Register(register)) => Some(register),
            _ => None,
        };
    match (register(first), number(second), number(first), register(second)) {
        (Some(register), Some(with), ..) => Some(Compared { compare: instruction, register, relation, with }),
        (.., Some(with), Some(register)) => {
            Some(Compared { compare: instruction, register, relation: relation.mirrored(), with })
        }
        _ => None,
    }
}

pub(super) fn literal(function: &Function<'_>, index: u32) -> Option<i128> {
    let unit = function.unit;
    literal::evaluate(&unit.source, &unit.module, unit.module.operands.get(index as usize)?)
}

/// A number of a type, with a sign: what is added to an address may be written as the complement of two.
pub(super) fn signed(value: i128, ty: Type) -> Option<i64> {
    match ty.bits()? {
        bits @ (16 | 32) => {
            let value = i64::try_from(value).ok()?;
            if value >= 1 << bits || value < -(1 << (bits - 1)) {
                return None;
            }
            Some(if value >= 1 << (bits - 1) { value - (1 << bits) } else { value })
        }
        64 => i64::try_from(value).ok().or_else(|| u64::try_from(value).ok().map(u64::cast_signed)),
        _ => None,
    }
}
