//! From text to a syntax tree: [`lexer`] → `structure` → the generated grammar → [`ast`].
//!
//! The entry point is [`parser::parse`]. It never fails: it returns a [`ast::Module`] and the
//! [`errors`](parser::SyntaxError) met on the way, and a broken statement costs itself alone.

pub mod ast;
pub(crate) mod builder;
pub mod lexer;
pub mod literal;
pub mod parser;
pub(crate) mod structure;

#[allow(clippy::all, clippy::pedantic, unused, unreachable_pub, reason = "this code is generated")]
pub(crate) mod grammar {
    lalrpop_util::lalrpop_mod!(generated, "/ptx.rs");
    pub(crate) use generated::ModuleParser;
}
