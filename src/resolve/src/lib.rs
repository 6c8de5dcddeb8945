//! What the names of a module mean, before any instruction is understood.
//!
//! A [`Unit`](unit::Unit) is the product: a text with its tree, the declarations behind its names and
//! the operations behind its opcodes.
//! [`launch_bounds`] says how a kernel is launched, as far as it says so itself.
//! [`environment`] says what it is checked against, [`provenance`] which lines of a compiler's sources
//! it comes from.

use ptx_arithmetic as arithmetic;
use ptx_descriptor as descriptor;
use ptx_host as host;
use ptx_isa as isa;
use ptx_syntax::{self as syntax, source};

pub mod environment;
mod families;
pub mod instruction;
pub mod launch_bounds;
pub mod misfits;
pub mod opcode_words;
pub mod operations;
pub mod provenance;
mod register_index;
pub mod symbols;
pub mod unit;
pub mod words;
