//! Checks PTX for the tcgen05 instructions of NVIDIA's Blackwell GPUs.
//!
//! # The way of the data
//!
//! ```text
//! Source ─► lexer::Token ─► structure ─► grammar + ast::Builder ─► ast::Module
//!    ─► analysis (symbols, environment, calls) ─► decode ─► Instruction
//!    ─► rules ─► Diagnostic ─► render
//! ```
//!
//! One direction, no step back. Each stage reads only what stands to its left and is total: it
//! returns its product *and* what was wrong, never stops at the first error, never panics.
//!
//! - [`source`] names places: a [`Source`] is a text, a [`Span`](source::Span) two offsets in it.
//! - [`syntax`] makes a flat tree of a whole PTX module, whatever instructions it has.
//! - [`isa`] is data: the words of tcgen05, *the* instruction table, the gates of targets and
//!   versions. It looks at no program.
//! - [`analysis`] finds out what a module means: which declaration a name is, which function calls
//!   which.
//! - [`descriptor`] turns the fields of descriptors into bits and back, and says which words are
//!   wrong; rules and the commands `encode` and `decode` call it.
//! - [`instruction`] holds the typed tcgen05 instructions and their decoder, which derives
//!   everything from the table.
//! - [`rules`] is the list of rules; each is one file with its documentation, check and fix. To
//!   see how a rule looks, open any.
//! - [`diagnostic`] is what they produce; `render` and `cli` show it. Renderers know no rules, and
//!   rules know no formats.
//!
//! # Use
//!
//! ```
//! use ptx_tc::{Options, Source, check};
//!
//! let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n  \
//!     tcgen05.wait::ld.sync;\n}\n").unwrap();
//! let report = check(&source, &Options::default());
//! assert_eq!(report.diagnostics[0].code.rule().name, "missing-qualifier");
//! ```

pub mod analysis;
#[cfg(feature = "cli")]
pub mod cli;
pub mod descriptor;
pub mod diagnostic;
pub mod instruction;
pub mod isa;
#[cfg(feature = "lsp")]
pub mod lsp;
#[cfg(feature = "cli")]
pub mod render;
pub mod rules;
pub mod source;
pub mod syntax;

use analysis::environment::Environment;
use analysis::symbols::Symbols;
use diagnostic::{Diagnostic, Severity};
use instruction::decode::{self, Decoded};
use isa::targets::{PtxVersion, Target};
use rules::Checker;
pub use source::Source;
use syntax::ast::Module;
use syntax::parser::{self, SyntaxError};

/// What to check against, where it is not the module's own word.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Instead of the module's `.version`.
    pub ptx_version: Option<PtxVersion>,
    /// Instead of the module's `.target`; each is checked.
    pub targets: Vec<Target>,
}

/// What the check of one source found.
#[derive(Debug)]
pub struct Report {
    /// The findings in source order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Number of findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }
}

/// A module with everything that the analyses know of it.
#[derive(Debug)]
pub struct Analyzed<'s> {
    /// The text.
    pub source: &'s Source,
    /// Its syntax tree.
    pub module: Module,
    /// What was wrong with the text.
    pub syntax_errors: Vec<SyntaxError>,
}

impl<'s> Analyzed<'s> {
    /// Parses `source`.
    pub fn new(source: &'s Source) -> Self {
        let parsed = parser::parse(source);
        Self { source, module: parsed.module, syntax_errors: parsed.errors }
    }

    /// Resolves the names of the module.
    pub fn symbols(&self) -> Symbols {
        Symbols::new(self.source, &self.module)
    }

    /// Decodes the tcgen05 instructions of the module.
    pub fn instructions(&self, symbols: &Symbols) -> Vec<Decoded<'_>> {
        decode::decode_all(self.source, &self.module, symbols)
    }
}

/// Checks one source with all rules.
pub fn check(source: &Source, options: &Options) -> Report {
    let analyzed = Analyzed::new(source);
    let symbols = analyzed.symbols();
    let found =
        check_resolved(source, &analyzed.module, &analyzed.syntax_errors, &symbols, options, &|| false);
    Report { diagnostics: found.unwrap_or_default() }
}

/// Checks a module that is parsed and resolved already, or gives up (`None`) as soon as `cancelled`
/// says that nobody waits for the findings any more.
pub fn check_resolved(
    source: &Source,
    module: &Module,
    syntax_errors: &[SyntaxError],
    symbols: &Symbols,
    options: &Options,
    cancelled: &dyn Fn() -> bool,
) -> Option<Vec<Diagnostic>> {
    let instructions = decode::decode_all(source, module, symbols);
    let environment = Environment::new(source, module, options.ptx_version, &options.targets);
    let checker = Checker {
        source,
        syntax_errors,
        module,
        symbols,
        instructions: &instructions,
        environment: &environment,
    };
    checker.run_unless(cancelled)
}
