//! What a module means beyond the form of its statements.

pub mod calls;
pub mod environment;
pub mod symbols;
