//! Which registers an instruction writes and reads, whatever it does.
//!
//! PTX puts destinations first. The exceptions are few: instructions that start with an address
//! (stores, `red`), those that only have effects, and `call`, whose results come in parentheses.

use super::symbols::{RegisterId, Resolution, Symbols};
use crate::source::Source;
use crate::syntax::ast::{BinaryOperator, Module, OperandKind};

/// The words of an opcode: `ld`, `global`, `b32`.
pub fn words<'s>(source: &'s Source, module: &Module, instruction: u32) -> impl Iterator<Item = &'s str> {
    let opcode = source.slice(module.instructions[instruction as usize].opcode);
    opcode.split('.').map(str::trim)
}

/// The first word of an opcode.
pub fn mnemonic<'s>(source: &'s Source, module: &Module, instruction: u32) -> &'s str {
    words(source, module, instruction).next().unwrap_or_default()
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
    const NAMES: &[&str] = &[
        "bra",
        "brx",
        "ret",
        "exit",
        "trap",
        "bar",
        "barrier",
        "nanosleep",
        "setmaxnreg",
        "pmevent",
        "membar",
        "fence",
        "prefetch",
        "stackrestore",
        "griddepcontrol",
        "discard",
        "applypriority",
    ];
    let name = opcode.split('.').next().unwrap_or_default().trim_end();
    match name {
        // `bar.red` and `barrier.cta.red` return something.
        "bar" | "barrier" => !opcode.split('.').any(|word| word == "red"),
        "tcgen05" => {
            // Loads have destinations; what else starts with a register frees it.
            opcode.split('.').nth(1).is_none_or(|word| word != "ld")
        }
        name => NAMES.contains(&name),
    }
}

/// Calls `visit` with every register that the instruction names, the index of the operand that
/// names it, and how it is used. The guard is not an operand and not among them.
pub fn accesses(
    source: &Source,
    module: &Module,
    symbols: &Symbols,
    instruction: u32,
    visit: &mut dyn FnMut(RegisterId, u32, Access),
) {
    let raw = &module.instructions[instruction as usize];
    let opcode = source.slice(raw.opcode);
    let is_call = opcode.starts_with("call");
    let reads_all = only_reads(opcode);
    // `ld.red` and `ld.spcompress` have further destinations before the address.
    let is_tensor_load = opcode.starts_with("tcgen05");
    let mut writing = !reads_all;
    for (position, index) in raw.operands.range().enumerate() {
        let operand = &module.operands[index];
        let access = match operand.kind {
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
    visit: &mut dyn FnMut(RegisterId, u32, Access),
) {
    match module.operands[index].kind {
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
        | OperandKind::Cast(parts)
        | OperandKind::Apply(parts)
        | OperandKind::Element(parts) => {
            for part in parts.range() {
                walk(module, symbols, part, Access::Read, visit);
            }
        }
    }
}
