//! Checks PTX for the tcgen05 instructions of NVIDIA's Blackwell GPUs.
//!
//! # The way of the data
//!
//! ```text
//! Source ─► lexer::Token ─► structure ─► grammar + ast::Builder ─► ast::Module
//!    ─► analysis (symbols, environment) ─► decode ─► Instruction
//!    ─► analysis (events, control flow, constants, order) ─► rules ─► Diagnostic
//!    ─► suppression ─► render
//! ```
//!
//! One direction, no step back. Each stage reads only what stands to its left and is total: it
//! returns its product *and* what was wrong, never stops at the first error, never panics.
//!
//! - [`source`] names places: a [`Source`] is a text, a [`Span`](source::Span) two offsets in it.
//! - [`syntax`] makes a flat tree of a whole PTX module, whatever instructions it has.
//! - [`isa`] is data: the words of tcgen05, *the* instruction table, the gates of targets and
//!   versions. It looks at no program.
//! - [`analysis`] finds out what a module means: which declaration a name is, which bits of a
//!   register are known, what can have happened before what, who executes it.
//! - [`descriptor`] turns the fields of descriptors into bits and back, and says which words are
//!   wrong; rules and the commands `encode` and `decode` call it.
//! - [`instruction`] holds the typed tcgen05 instructions and their decoder, which derives
//!   everything from the table.
//! - [`rules`] is the list of rules; each is one file with its documentation, check and fix. To
//!   see how a rule looks, open any.
//! - [`diagnostic`] is what they produce, without what comments silence; `render` and `cli` show it.
//!   Renderers know no rules, and rules know no formats.
//! - [`mod@fix`] applies the repairs that findings offer.
//!
//! # Use
//!
//! ```
//! use ptx_tc::{Options, Source, check};
//!
//! let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n  \
//!     tcgen05.wait::ld.sync;\n}\n").unwrap();
//! let report = check(&source, &Options::default());
//! assert_eq!(report.diagnostics[0].code.name(), "missing-qualifier");
//! ```

#![warn(missing_docs)]

pub mod analysis;
mod check;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub(crate) mod config;
pub mod descriptor;
pub mod diagnostic;
pub mod fix;
pub mod instruction;
pub mod isa;
#[cfg(feature = "lsp")]
pub mod lsp;
#[cfg(feature = "cli")]
pub mod render;
pub mod resolve;
pub mod rules;
pub mod suppression;
pub(crate) mod words;

use analysis::description::Description;
pub use check::{Memory, check_unit, check_unit_again};
use diagnostic::selection::RuleSettings;
use diagnostic::{Applicability, Diagnostic, Fix, Omitted, Severity};
use isa::targets::{PtxVersion, Target};
pub use ptx_syntax as syntax;
pub use ptx_syntax::source::{self, Source};
pub use resolve::unit::Unit;

/// What to check against, where it is not the module's own word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Instead of the module's `.version`.
    pub ptx_version: Option<PtxVersion>,
    /// Instead of the module's `.target`; each is checked.
    pub targets: Vec<Target>,
    /// Which rules run, and how much their findings matter.
    pub rules: RuleSettings,
    /// Whether the report describes every multiply and copy, too.
    pub describe: bool,
    /// Instead of [`Budget::LIMIT`](analysis::budget::Budget::LIMIT): how much work the questions about the order of one function may
    /// cause.
    pub analysis_budget: Option<u64>,
    /// How many findings of one rule are reported, if not all (0 is all, too); the others are counted. Whoever shows
    /// findings to people sets it: a broken text can have as many as bytes.
    pub max_findings: Option<usize>,
    /// Which fixes are reported of findings that are not: none, the safe ones, or all.
    pub fixes_of_omitted: Option<Applicability>,
}

/// What the check of one source found.
#[derive(Debug, Default)]
pub struct Report {
    /// The findings in source order; of a rule with very many, the first.
    pub diagnostics: Vec<Diagnostic>,
    /// How many there are besides.
    pub omitted: Vec<Omitted>,
    /// Fixes of those, without titles, when they were asked for.
    pub omitted_fixes: Vec<Fix>,
    /// What is known of the descriptors of each multiply and copy, when that was asked for.
    pub descriptors: Option<Vec<Description>>,
    /// How much work it was: tokens, and steps of the analyses. It grows with the text as the time
    /// does, whatever the machine.
    pub steps: u64,
    /// Opcodes outside tcgen05 that the table of instructions does not have, so that the analyses may
    /// miss what they do.
    pub unknown_opcodes: Vec<UnknownOpcode>,
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

impl Report {
    /// Number of findings of this severity, with those that are omitted.
    pub fn count(&self, severity: Severity) -> usize {
        let omitted = self.omitted.iter().filter(|omitted| omitted.severity == severity);
        let here = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity);
        here.count() + omitted.map(|omitted| omitted.count).sum::<usize>()
    }

    /// Number of findings with a fix, with those that are omitted.
    pub fn fixable(&self) -> usize {
        let here = self.diagnostics.iter().filter(|diagnostic| diagnostic.fix.is_some());
        here.count() + self.omitted.iter().map(|omitted| omitted.fixable).sum::<usize>()
    }
}

/// Checks one source with all rules.
///
/// ```
/// use ptx_tc::diagnostic::Severity;
/// use ptx_tc::diagnostic::selection::{Layer, RuleSettings};
/// use ptx_tc::{Options, Source, check};
///
/// let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n\
///     .reg .b32 t;\n\
///     tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48;\n}\n")?;
/// let report = check(&source, &Options::default());
/// let finding = &report.diagnostics[0];
/// assert_eq!(finding.code.to_string(), "TC301");
/// assert_eq!(source.slice(finding.primary.span), "48");
/// assert_eq!(finding.fix.as_ref().unwrap().edits[0].text, "64");
///
/// // For another target, and with another opinion about the rule.
/// let layer = Layer { severity: vec![("TC301".parse()?, Severity::Warning)], ..Layer::default() };
/// let options = Options {
///     targets: vec!["sm_103a".parse()?],
///     rules: RuleSettings::default().with(&layer),
///     ..Options::default()
/// };
/// assert_eq!(check(&source, &options).count(Severity::Warning), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(source: &Source, options: &Options) -> Report {
    let unit = Unit::new(source);
    check_unit(&unit, options, &|| false).unwrap_or_default()
}
