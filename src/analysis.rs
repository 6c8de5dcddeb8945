//! What a module means beyond the form of its statements.
//!
//! [`symbols`] and [`environment`] come before decoding. Then, for each function with tcgen05
//! instructions, [`functions`] brings together its control flow ([`mod@cfg`]), where its registers are
//! written ([`definitions`]) and which of their bits are known ([`constants`]). [`events`] lists
//! what happens in it that matters to order, [`reach`] answers what can have happened before what,
//! [`places`] says which addresses are the same, and [`uniformity`] who executes. A rule about
//! order asks its questions of a [`flow::Flow`].

pub mod budget;
pub mod calls;
pub mod cfg;
pub mod constants;
pub mod dataflow;
pub mod definitions;
pub mod description;
pub mod descriptors;
pub mod dominance;
pub mod events;
pub mod flow;
pub mod footprint;
pub mod function;
pub mod functions;
pub mod loads;
pub mod pending;
pub mod places;
pub mod reach;
pub mod registers;
pub mod uniformity;
