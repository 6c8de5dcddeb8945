//! What a module means beyond the form of its statements.

pub mod calls;
pub mod cfg;
pub mod constants;
pub mod dataflow;
pub mod definitions;
pub mod description;
pub mod descriptors;
pub mod environment;
pub mod events;
pub mod flow;
pub mod functions;
pub mod places;
pub mod reach;
pub mod registers;
pub mod symbols;
pub mod uniformity;
