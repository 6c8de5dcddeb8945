//! What the names of a module mean, before any instruction is understood.
//!
//! A [`Unit`](unit::Unit) is the product: a text with its tree and the declarations behind its names.
//! [`environment`] says what it is checked against.

pub mod environment;
pub mod symbols;
pub mod unit;
