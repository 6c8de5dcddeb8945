//! What the names of a module mean, before any instruction is understood.
//!
//! A [`Unit`](unit::Unit) is the product: a text with its tree, the declarations behind its names and
//! the operations behind its opcodes.
//! [`launch_bounds`] says how a kernel is launched, as far as it says so itself.
//! [`environment`] says what it is checked against, [`provenance`] which lines of a compiler's sources
//! it comes from.

pub mod environment;
mod families;
pub mod launch_bounds;
pub mod misfits;
pub mod operations;
pub mod provenance;
mod register_index;
pub mod symbols;
pub mod unit;
pub(crate) mod words;
