//! TC1: the form of one instruction against its row of the instruction table.

use crate::analysis::shared::Generic;
use crate::analysis::windows::Outside;
use crate::instruction::Base;
use crate::instruction::decode::Decoded;
use crate::isa::tensor::{InstructionForm, OperandSlot};
use crate::rules::Checker;
use crate::source::Span;
use crate::words::plural;

pub(super) mod address_not_converted;
pub(super) mod commit_mask;
pub(super) mod immediate_out_of_range;
pub(super) mod immediate_range;
pub(super) mod missing_modifier;
pub(super) mod missing_qualifier;
pub(super) mod modifiers_exclude;
pub(super) mod operand_count;
pub(super) mod operand_kind;
pub(super) mod operand_type;
pub(super) mod operands_misfit;
pub(super) mod qualifier_not_allowed;
pub(super) mod register_type;
pub(super) mod repeated_qualifier;
pub(super) mod state_space;
pub(super) mod unknown_instruction;
pub(super) mod unknown_modifier;
pub(super) mod unknown_operation;
pub(super) mod unknown_qualifier;
pub(super) mod vector_element;
pub(super) mod vector_length;
pub(super) mod vector_size;

/// What is given to an `alloc` or `commit` without a state space as a generic address, and is none of something in
/// shared memory: where it stands, and why.
fn each_wrong_generic(checker: &Checker<'_>, look: &mut dyn FnMut(Span, Generic)) {
    for flow in checker.flows() {
        for event in flow.events() {
            let alloc = flow.alloc(*event).map(|it| (&it.dst, it.space));
            let named = alloc.or_else(|| flow.commit(*event).map(|it| (&it.mbar, it.space)));
            let Some((address, space)) = named else { continue };
            if let (Base::Register(register), None) = (address.base, space)
                && let Some(wrong) = flow.generic(event.instruction, register.id)
            {
                look(register.span, wrong);
            }
        }
    }
}

/// Visits the addresses of `alloc` and `commit` that are certainly none in the shared memory of the own CTA. A `commit`
/// may signal an mbarrier of another one.
fn each_outside_own_cta(checker: &Checker<'_>, look: &mut dyn FnMut(Span, Outside)) {
    for flow in checker.flows() {
        for event in flow.events() {
            let alloc = flow.alloc(*event).map(|it| (&it.dst, it.space));
            let is_alloc = alloc.is_some();
            let named = alloc.or_else(|| flow.commit(*event).map(|it| (&it.mbar, it.space)));
            let Some((address, space)) = named else { continue };
            let Base::Register(register) = address.base else { continue };
            match flow.outside_own_cta(event.instruction, register.id, space.is_none()) {
                Some(Outside::Peer(_)) if !is_alloc => {}
                Some(outside) => look(register.span, outside),
                None => {}
            }
        }
    }
}

/// How many operands a form takes.
fn takes(least: usize, most: usize) -> String {
    match (least, most) {
        (0, 0) => "no operands".to_owned(),
        (least, most) if least == most => plural(least, "operand"),
        (least, most) => format!("{least} to {most} operands"),
    }
}

/// The operands that the form must have, and the positions of the optional ones.
fn syntax_help(form: &'static InstructionForm, decoded: &Decoded<'_>) -> String {
    let slots: Vec<&OperandSlot> = form.present(decoded.qualifiers.words()).collect();
    let required: Vec<String> =
        slots.iter().filter(|slot| !slot.optional).map(|slot| slot.bare_syntax()).collect();
    if required.is_empty() {
        return "remove the operands".to_owned();
    }
    let mut help = format!("with these qualifiers its operands are `{}`", required.join(", "));
    for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.optional) {
        let neighbour = match slots[index + 1..].iter().find(|slot| !slot.optional) {
            Some(next) => format!("before `{}`", next.bare_syntax()),
            None => "at the end".to_owned(),
        };
        help.push_str(&format!("; `{}` may stand {neighbour}", slot.bare_syntax()));
    }
    help
}
