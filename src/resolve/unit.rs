//! One text with everything that is known of it before its instructions are decoded.

use super::symbols::Symbols;
use crate::source::Source;
use crate::syntax::ast::Module;
use crate::syntax::parser::{self, SyntaxError};

/// A module, parsed and resolved. Everything behind this stage reads it, and nothing changes it.
#[derive(Debug)]
pub struct Unit {
    /// The text.
    pub source: Source,
    /// Its syntax tree.
    pub module: Module,
    /// What was wrong with the text.
    pub syntax_errors: Vec<SyntaxError>,
    /// What its names mean.
    pub symbols: Symbols,
}

impl Unit {
    /// Parses `source` and resolves its names.
    pub fn new(source: &Source) -> Self {
        let parsed = parser::parse(source);
        let symbols = Symbols::new(source, &parsed.module);
        Self { source: source.clone(), module: parsed.module, syntax_errors: parsed.errors, symbols }
    }

    /// How much work it was to make it: what was read, in the units of the tree.
    pub(crate) fn steps(&self) -> u64 {
        let Module { statements, operands, declarators, .. } = &self.module;
        (statements.len() + operands.len() + declarators.len() + self.source.text().len() / 8) as u64
    }
}
