//! What the parser, the tables of the ISA and the readers of host languages have in common.
//!
//! [`source`] has texts and places in them, [`types`] the types and state spaces of PTX, [`threads`] work that
//! is done side by side. It is a crate of its own so that none of its users waits for another one, least of all for
//! the generated parser.

#![warn(missing_docs)]

pub mod source;
#[doc(hidden)]
pub mod threads;
pub mod types;

pub use source::Source;
