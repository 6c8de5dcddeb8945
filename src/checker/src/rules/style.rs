//! TC9: what the assembler does not care about.

pub(super) mod family_portability;
pub(super) mod qualifier_order;
pub(super) mod unused_suppression;
