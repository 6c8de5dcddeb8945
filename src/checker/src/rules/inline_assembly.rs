//! TC95: the contract between an `asm` statement and the language around it.

use crate::host::Fragment;
use crate::isa::generic::{Access, Lanes, Modifier, Role, Semantics, Space, Synchronization};
use crate::isa::special_registers::Lasting;
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::Resolution;
use crate::resolve::unit::Unit;
use crate::source::Span;
use crate::syntax::ast::{RawInstruction, StatementKind};

pub(super) mod constraint_type;
pub(super) mod label_not_unique;
pub(super) mod missing_comma;
pub(super) mod missing_convergent;
pub(super) mod missing_memory_clobber;
pub(super) mod missing_sideeffect;
pub(super) mod missing_volatile;
pub(super) mod operand_not_listed;
pub(super) mod operand_not_used;
pub(super) mod percent_escape;
pub(super) mod scope_not_closed;

/// An instruction in a fragment.
struct Member<'u> {
    raw: &'u RawInstruction,
    opcode: &'u Opcode,
}

/// The instructions of a fragment whose operation is known.
fn instructions<'u>(unit: &'u Unit, fragment: &Fragment) -> impl Iterator<Item = Member<'u>> {
    unit.statements_in(fragment.body).iter().filter_map(|statement| {
        let StatementKind::Instruction(index) = statement.kind() else { return None };
        let opcode = unit.operations.of(index);
        let raw = &unit.module.instructions[index as usize];
        opcode.row.map(|_| Member { raw, opcode })
    })
}

/// What makes it matter whether and when an instruction is executed, if anything does.
fn effect(unit: &Unit, member: &Member<'_>) -> Option<(&'static str, Span)> {
    let Member { raw, opcode } = member;
    let here = |what| Some((what, raw.opcode));
    match opcode.synchronization() {
        Synchronization::Tensor => return here("it works on Tensor Memory, beside the thread"),
        Synchronization::None | Synchronization::WarpCollective | Synchronization::MbarrierQuery => {}
        _ => return here("it synchronises"),
    }
    if opcode.lanes() == Lanes::Elected {
        return here("it elects a thread");
    }
    // Global memory is often read only, and read as if it were; shared memory never is.
    let may_have_changed = opcode.modifiers.iter().any(|placed| match placed.modifier {
        Modifier::Space(space) => matches!(space, Space::Shared | Space::SharedCta | Space::SharedCluster),
        Modifier::Semantics(semantics) => semantics != Semantics::Weak,
        _ => false,
    });
    let slots = opcode.assign(&unit.module, raw.operands).unwrap_or_default();
    for slot in slots {
        match slot.role {
            Role::Address(Access::Write | Access::ReadWrite, _) => return here("it writes memory"),
            Role::Address(Access::Read, _) if may_have_changed => return here("it reads what others write"),
            _ => {}
        }
    }
    let changes = raw.operands.range().find(|index| match unit.symbols.operand(*index as u32) {
        Resolution::Special(special) => special.facts().lasting == Lasting::Never,
        Resolution::Register(_) | Resolution::Symbol(_) | Resolution::Undeclared => false,
    });
    changes.map(|index| ("what it reads changes", unit.module.operands[index].span()))
}
