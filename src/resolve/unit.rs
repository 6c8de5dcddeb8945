//! One text with everything that is known of it before its instructions are decoded.

use super::operations::Operations;
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
    /// What its opcodes mean.
    pub operations: Operations,
}

impl Unit {
    /// Parses `source` and resolves its names.
    pub fn new(source: &Source) -> Self {
        #[cfg(feature = "parallel")]
        let parsed = parser::parse_parallel(source, rayon::current_num_threads());
        #[cfg(not(feature = "parallel"))]
        let parsed = parser::parse(source);
        let symbols = Symbols::new(source, &parsed.module);
        let operations = Operations::new(source, &parsed.module);
        Self {
            source: source.clone(),
            module: parsed.module,
            syntax_errors: parsed.errors,
            symbols,
            operations,
        }
    }

    /// The opcodes that are not in the table, as they are first written.
    pub(crate) fn unknown_opcodes(&self) -> Vec<UnknownOpcode> {
        let unknown = |(first, count): (u32, usize)| UnknownOpcode {
            text: self.source.slice(self.module.instructions[first as usize].opcode).to_owned(),
            count,
            is_operation: self.operations.of(first).row.is_none(),
        };
        self.operations.unknown().into_iter().map(unknown).collect()
    }

    /// How much work it was to make it: what was read, in the units of the tree.
    pub(crate) fn steps(&self) -> u64 {
        let Module { statements, operands, declarators, .. } = &self.module;
        (statements.len() + operands.len() + declarators.len() + self.source.text().len() / 8) as u64
    }
}

/// An opcode that the table of instructions does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOpcode {
    /// As it is written.
    pub text: String,
    /// Number of instructions.
    pub count: usize,
    /// Whether it is the operation that is unknown, not only one of its modifiers.
    pub is_operation: bool,
}
