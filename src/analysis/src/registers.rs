//! Which registers an instruction writes and reads: a view of the roles that the tables give its
//! operands.
//!
//! Where operands do not fit the row, or there is no row, what PTX does nearly everywhere is taken to
//! hold: the first operand is written, unless it is an address.

use crate::isa::generic::Row;
use crate::isa::tensor::InstructionForm;
use crate::resolve::symbols::{RegisterId, Symbols};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Module, Slice};

/// How an instruction uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It writes it.
    Write,
    /// It reads it.
    Read,
}

/// Calls `visit` with every register that the instruction names, the index of the operand that
/// names it, and how it is used; one that is read and written comes twice. The guard is not an
/// operand and not among them.
pub fn accesses(unit: &Unit, instruction: u32, visit: &mut impl FnMut(RegisterId, u32, Access)) {
    let Unit { module, symbols, .. } = unit;
    let opcode = unit.operations.of(instruction);
    let operands = module.instructions[instruction as usize].operands;
    if let Some(operation) = opcode.tensor {
        let mut writing =
            InstructionForm::of(operation).operands.first().is_some_and(|slot| slot.class.is_written());
        for index in operands.range() {
            // `ld.red` and `ld.spcompress` have further destinations before the address.
            writing &= !module.operands[index].is_address();
            let access = if writing { Access::Write } else { Access::Read };
            walk(module, symbols, index, access, visit);
        }
    } else if let Some(writes) = opcode.writes_first() {
        first_and_others(unit, operands, writes, visit);
    } else if let Ok(slots) = opcode.assign(module, operands) {
        for (index, slot) in operands.range().zip(slots) {
            if slot.role.is_read() {
                walk(module, symbols, index, Access::Read, visit);
            }
            if slot.role.is_written() {
                walk(module, symbols, index, Access::Write, visit);
            }
        }
    } else {
        first_and_others(unit, operands, opcode.row.is_none_or(may_write_first), visit);
    }
}

/// The same of the registers that the instruction writes: what it reads is not looked at, where that is possible.
pub fn writes(unit: &Unit, instruction: u32, visit: &mut impl FnMut(RegisterId, u32)) {
    let Unit { module, symbols, operations, .. } = unit;
    let mut writes = |register, operand, access| {
        if access == Access::Write {
            visit(register, operand);
        }
    };
    let opcode = operations.of(instruction);
    match opcode.writes_first().filter(|_| opcode.tensor.is_none()) {
        None => accesses(unit, instruction, &mut writes),
        Some(false) => {}
        Some(true) => {
            let first = module.instructions[instruction as usize].operands.range().next();
            if let Some(first) = first {
                walk(module, symbols, first, Access::Write, &mut writes);
            }
        }
    }
}

/// Whether the first operand of a row is a destination, unless it is left out.
fn may_write_first(row: &Row) -> bool {
    row.operands.first().is_some_and(|slot| slot.role.is_written())
}

/// Visits operands of which the first may be written, unless it is an address, and the others are read.
#[inline]
fn first_and_others(
    unit: &Unit,
    operands: Slice,
    mut writes: bool,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    let Unit { module, symbols, .. } = unit;
    let range = operands.range();
    let start = range.start;
    for (at, register) in symbols.register_operands(range).enumerate() {
        let access = if std::mem::take(&mut writes) { Access::Write } else { Access::Read };
        one(module, symbols, (start + at, register), access, visit);
    }
}

/// Visits an operand and its parts.
#[inline]
fn walk(
    module: &Module,
    symbols: &Symbols,
    index: usize,
    access: Access,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    one(module, symbols, (index, symbols.register_operand(index as u32)), access, visit);
}

/// The same of one that is this register, or none. Nearly all are registers, and what else they look like does
/// not matter.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "it and `within` call each other: no compiler inlines that by itself"
)]
fn one(
    module: &Module,
    symbols: &Symbols,
    (index, register): (usize, Option<RegisterId>),
    access: Access,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    match register {
        Some(register) => visit(register, index as u32, access),
        None if module.operands[index].has_parts() => within(module, symbols, index, access, visit),
        None => {}
    }
}

/// Visits the parts of an operand that is no register.
fn within(
    module: &Module,
    symbols: &Symbols,
    index: usize,
    access: Access,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    let operand = &module.operands[index];
    // A pair of destinations, or a list of them. What else has parts reads them.
    let access = if operand.is_group() { access } else { Access::Read };
    let range = operand.parts().range();
    let start = range.start;
    for (at, register) in symbols.register_operands(range).enumerate() {
        one(module, symbols, (start + at, register), access, visit);
    }
}
