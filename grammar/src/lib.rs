//! The syntax of PTX: text becomes tokens, tokens become a flat tree.
//!
//! ```text
//! Source ─► lexer::Token ─► structure ─► grammar + Builder ─► ast::Module
//! ```
//!
//! The entry point is [`parser::parse`]. It never fails: it returns a [`ast::Module`] and the
//! [errors](parser::SyntaxError) met on the way, and a broken statement costs itself alone. No
//! opcode is named here: what instructions mean is the business of the tables in `ptx-tc`.
//!
//! This is a crate of its own because the generated parser takes long to compile and changes
//! rarely. The repository holds the parser: who builds the checker does not build LALRPOP first.
//! `cargo xtask generate` writes it anew when `ptx.lalrpop` has changed.

#![warn(missing_docs)]

pub mod ast;
pub(crate) mod builder;
pub(crate) mod eight;
pub mod lexer;
pub mod literal;
pub(crate) mod names;
pub(crate) mod opcodes;
pub(crate) mod parallel;
pub mod parser;
pub(crate) mod plain;
pub mod section;
pub mod structure;

pub use ptx_text::source::{self, Source};
#[doc(hidden)]
pub use ptx_text::threads;

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused,
    unreachable_pub,
    reason = "LALRPOP wrote it, from `ptx.lalrpop`"
)]
#[rustfmt::skip]
pub(crate) mod generated;
