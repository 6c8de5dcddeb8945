//! Which registers an instruction writes and reads: a view of the roles that the tables give its
//! operands.
//!
//! Where operands do not fit the row, or there is no row, what PTX does nearly everywhere is taken to
//! hold: the first operand is written, unless it is an address.

use crate::isa::generic::{OperandSlot, Role, Row};
use crate::isa::tensor::InstructionForm;
use crate::resolve::symbols::{RegisterId, Resolution, Symbols};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{BinaryOperator, Module, OperandKind};

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
            writing &= !matches!(module.operands[index].kind(), OperandKind::Address(_));
            let access = if writing { Access::Write } else { Access::Read };
            walk(module, symbols, index, access, visit);
        }
    } else if opcode.is_filled(module.operands(operands)) {
        for (index, slot) in operands.range().zip(&opcode.slots) {
            if module.operands[index].is_literal() {
                continue;
            }
            as_in(module, symbols, index, slot, visit);
        }
    } else if let Ok(slots) = opcode.assign(module, operands) {
        for (index, slot) in operands.range().zip(slots) {
            as_in(module, symbols, index, slot, visit);
        }
    } else {
        let mut writing = opcode.row.is_none_or(may_write_first);
        for index in operands.range() {
            writing &= !matches!(module.operands[index].kind(), OperandKind::Address(_));
            let access = if writing { Access::Write } else { Access::Read };
            walk(module, symbols, index, access, visit);
            writing = false;
        }
    }
}

/// Whether the first operand of a row is a destination, unless it is left out.
fn may_write_first(row: &Row) -> bool {
    row.operands.first().is_some_and(|slot: &OperandSlot| writes(slot.role))
}

fn writes(role: Role) -> bool {
    match role {
        Role::Destination | Role::Accumulator | Role::Results => true,
        Role::Source | Role::Address(..) | Role::Label | Role::Callee | Role::Arguments | Role::Prototype => {
            false
        }
    }
}

fn reads(role: Role) -> bool {
    match role {
        Role::Source
        | Role::Accumulator
        | Role::Address(..)
        | Role::Label
        | Role::Callee
        | Role::Arguments
        | Role::Prototype => true,
        Role::Destination | Role::Results => false,
    }
}

/// Visits an operand in its position.
#[inline]
fn as_in(
    module: &Module,
    symbols: &Symbols,
    index: usize,
    slot: &OperandSlot,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    if reads(slot.role) {
        walk(module, symbols, index, Access::Read, visit);
    }
    if writes(slot.role) {
        walk(module, symbols, index, Access::Write, visit);
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
    if module.operands[index].is_name() {
        name(symbols, index, access, visit);
    } else {
        walk_parts(module, symbols, index, access, visit);
    }
}

#[inline]
fn name(symbols: &Symbols, index: usize, access: Access, visit: &mut impl FnMut(RegisterId, u32, Access)) {
    if let Resolution::Register(register) = symbols.operand(index as u32) {
        visit(register, index as u32, access);
    }
}

fn walk_parts(
    module: &Module,
    symbols: &Symbols,
    index: usize,
    access: Access,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    let (parts, access) = match module.operands[index].kind() {
        OperandKind::Name
        | OperandKind::Integer
        | OperandKind::Float
        | OperandKind::String
        | OperandKind::Sink => return,
        // A pair of destinations, or a list of them.
        OperandKind::Vector(parts)
        | OperandKind::List(parts)
        | OperandKind::Binary(BinaryOperator::Or, parts) => (parts, access),
        OperandKind::Address(parts)
        | OperandKind::Unary(_, parts)
        | OperandKind::Binary(_, parts)
        | OperandKind::Conditional(parts)
        | OperandKind::Cast(_, parts)
        | OperandKind::Apply(parts)
        | OperandKind::Element(parts) => (parts, Access::Read),
    };
    for (index, part) in parts.range().zip(module.operands(parts)) {
        if part.is_name() {
            name(symbols, index, access, visit);
        } else if !part.is_literal() {
            walk_parts(module, symbols, index, access, visit);
        }
    }
}
