//! TC1: the form of one instruction against its row of the instruction table.

pub(super) mod commit_mask;
pub(super) mod immediate_range;
pub(super) mod missing_qualifier;
pub(super) mod operand_count;
pub(super) mod operand_kind;
pub(super) mod operand_type;
pub(super) mod qualifier_not_allowed;
pub(super) mod repeated_qualifier;
pub(super) mod state_space;
pub(super) mod unknown_instruction;
pub(super) mod unknown_qualifier;
pub(super) mod vector_element;
pub(super) mod vector_length;
