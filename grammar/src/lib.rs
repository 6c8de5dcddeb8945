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
//! rarely.

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

#[allow(clippy::all, clippy::pedantic, unused, unreachable_pub, reason = "this code is generated")]
pub(crate) mod grammar {
    lalrpop_util::lalrpop_mod!(generated, "/ptx.rs");
    pub(crate) use generated::ModuleParser;
}
