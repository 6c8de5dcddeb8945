//! Which registers an instruction writes and reads, whatever it does.
//!
//! PTX puts destinations first. The exceptions are few: instructions that start with an address
//! (stores, `red`), those that only have effects, and `call`, whose results come in parentheses.

use crate::resolve::symbols::{RegisterId, Resolution, Symbols};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{BinaryOperator, Module, OperandKind};

/// The words of an opcode: `ld`, `global`, `b32`.
pub fn words_of(opcode: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(opcode);
    std::iter::from_fn(move || {
        let text = rest?;
        // Words are too short for a search that sets up more than a loop.
        let end = text.bytes().position(|byte| byte == b'.').unwrap_or(text.len());
        rest = text.get(end + 1..);
        Some(text[..end].trim())
    })
}

/// The words of the opcode of an instruction.
pub fn words(unit: &Unit, instruction: u32) -> impl Iterator<Item = &str> {
    words_of(unit.source.slice(unit.module.instructions[instruction as usize].opcode))
}

/// The first word of an opcode.
pub fn mnemonic_of(opcode: &str) -> &str {
    words_of(opcode).next().unwrap_or_default()
}

/// The first word of the opcode of an instruction.
pub fn mnemonic(unit: &Unit, instruction: u32) -> &str {
    mnemonic_of(unit.source.slice(unit.module.instructions[instruction as usize].opcode))
}

/// How an instruction uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It writes it.
    Write,
    /// It reads it.
    Read,
}

/// Instructions whose first operand is read although it is neither an address nor a list.
fn only_reads(opcode: &str) -> bool {
    match mnemonic_of(opcode).as_bytes() {
        // `bar.red` and `barrier.cta.red` return something.
        b"bar" | b"barrier" => words_of(opcode).all(|word| word != "red"),
        // Loads have destinations; what else starts with a register frees it.
        b"tcgen05" => words_of(opcode).nth(1) != Some("ld"),
        b"bra" | b"brx" | b"ret" | b"exit" | b"trap" | b"nanosleep" | b"setmaxnreg" | b"pmevent"
        | b"membar" | b"fence" | b"prefetch" | b"stackrestore" | b"griddepcontrol" | b"discard"
        | b"applypriority" => true,
        _ => false,
    }
}

/// Calls `visit` with every register that the instruction names, the index of the operand that
/// names it, and how it is used. The guard is not an operand and not among them.
pub fn accesses(unit: &Unit, instruction: u32, visit: &mut impl FnMut(RegisterId, u32, Access)) {
    let Unit { source, module, symbols, .. } = unit;
    let raw = &module.instructions[instruction as usize];
    let opcode = source.slice(raw.opcode);
    let is_call = opcode.starts_with("call");
    let reads_all = only_reads(opcode);
    // `ld.red` and `ld.spcompress` have further destinations before the address.
    let is_tensor_load = opcode.starts_with("tcgen05");
    let mut writing = !reads_all;
    for (position, index) in raw.operands.range().enumerate() {
        let operand = &module.operands[index];
        let access = match operand.kind() {
            OperandKind::Address(_) => {
                writing = false;
                Access::Read
            }
            OperandKind::List(_) if is_call && position == 0 && raw.operands.len > 1 => Access::Write,
            _ if is_call => Access::Read,
            _ if writing && (position == 0 || is_tensor_load) => Access::Write,
            _ => Access::Read,
        };
        walk(module, symbols, index, access, visit);
    }
}

fn walk(
    module: &Module,
    symbols: &Symbols,
    index: usize,
    access: Access,
    visit: &mut impl FnMut(RegisterId, u32, Access),
) {
    match module.operands[index].kind() {
        OperandKind::Name => {
            if let Resolution::Register(register) = symbols.operand(index as u32) {
                visit(register, index as u32, access);
            }
        }
        OperandKind::Integer | OperandKind::Float | OperandKind::String | OperandKind::Sink => {}
        // A pair of destinations, or a list of them.
        OperandKind::Vector(parts)
        | OperandKind::List(parts)
        | OperandKind::Binary(BinaryOperator::Or, parts) => {
            for part in parts.range() {
                walk(module, symbols, part, access, visit);
            }
        }
        OperandKind::Address(parts)
        | OperandKind::Unary(_, parts)
        | OperandKind::Binary(_, parts)
        | OperandKind::Conditional(parts)
        | OperandKind::Cast(_, parts)
        | OperandKind::Apply(parts)
        | OperandKind::Element(parts) => {
            for part in parts.range() {
                walk(module, symbols, part, Access::Read, visit);
            }
        }
    }
}
