//! Checks PTX for the tcgen05 instructions of NVIDIA's Blackwell GPUs.
//!
//! # The way of the data
//!
//! ```text
//! (a file of C++ ... ─► host: statements ─►) Source ─► lexer::Token ─► structure ─► grammar + Builder ─► ast::Module
//!    ─► resolve: Symbols, Operations ─► Unit ─► component of the call graph
//!    ─► decode ─► Instruction ─► analyses ─► rules ─► Diagnostic ─► suppression ─► Report ─► render
//! ```
//!
//! One direction, no step back. Each stage reads only what stands to its left and is total: it
//! returns its product *and* what was wrong, never stops at the first error, never panics. What it
//! does is bounded by the size of the text: where an analysis reaches its
//! budget, a finding says so.
//!
//! # The layers
//!
//! Each module names only modules in lines below its own; a test reads the picture and holds the code to it.
//!
//! ```text
//!  cli                    the program
//!  lsp                    the language server
//!  render                 findings as text, JSON, SARIF ...
//!  fix, config, layout    applies repairs; ptx-tc.toml; the white space of a module
//!  simulation             runs a kernel without a GPU
//!  check                  runs the stages, component by component
//!  suppression            comments that silence rules
//!  rules                  one file each, in families that know nothing of each other
//!  diagnostic             what a finding is, and what rules are called
//!  analysis               control flow, values, order, who executes: what rules ask
//!  instruction            typed tcgen05 instructions, and what targets have them
//!  resolve                the unit: a text with its tree, names and operations
//!  descriptor, host       fields to bits and back; the PTX in files of other languages, as one text
//!  isa                    facts: two tables of instructions, and all the other tables
//!  words, source, syntax  text to tree (a crate of its own), and lists of words in a sentence
//! ```
//!
//! - [`isa`] looks at no program. [`isa::tensor`] is *the* table of tcgen05, [`isa::generic`] that of
//!   all other instructions; decoding, messages, gates, completion and the analyses derive from them.
//! - [`host`] finds the PTX that stands in other languages. What follows sees PTX only; at the very end
//!   [`Document`] says where in the file it stands.
//! - [`resolve`] makes a [`Unit`]: what everything behind it reads and nothing changes.
//! - `src/analysis.rs` is the page that says what to ask for what.
//! - [`rules`] is the list of rules. To see how a rule looks, open any.
//! - Renderers know no rules, and rules know no formats. There is no input or output below `config`,
//!   and no type of an editor's protocol outside `lsp`.
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

#[allow(
    unreachable_pub,
    reason = "`pub` is what a module offers its siblings; here is said what leaves the crate"
)]
mod analysis;
mod check;
// The program.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
// For the task that writes its schema down.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod config;
pub mod descriptor;
pub mod diagnostic;
pub mod fix;
pub mod host;
pub mod instruction;
pub mod isa;
pub mod layout;
// For the tests, which talk to it without a process.
#[cfg(feature = "lsp")]
#[doc(hidden)]
pub mod lsp;
// For the tests and the tasks that compare what people see.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod render;
// For the tests of names and operations, and for the benchmark; a [`Unit`] has them as fields.
#[doc(hidden)]
pub mod resolve;
// For the task that writes the pages of the rules, and for the tests of their fixtures.
#[doc(hidden)]
pub mod rules;
// For the tests of what instructions compute, and for the task that asks the hardware.
#[doc(hidden)]
pub mod simulation;
// For the tests of what can be silenced.
#[doc(hidden)]
pub mod suppression;
pub(crate) mod words;

pub use analysis::description;
pub use check::{Document, Memory, check_unit, check_unit_again};
use description::Description;
use diagnostic::selection::RuleSettings;
use diagnostic::{Applicability, Diagnostic, Fix, Omitted, Severity};
use isa::targets::{PtxVersion, Target};
pub use ptx_syntax as syntax;
pub use ptx_syntax::source::{self, Source};
pub use resolve::unit::{Unit, UnknownOpcode};

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
    /// Whether findings say [which lines of its sources](resolve::provenance) a compiler made the PTX from.
    pub locate: bool,
    /// Instead of the limit that grows with a function: how much work the questions about the order
    /// of one function may cause.
    pub analysis_budget: Option<u64>,
    /// How many findings of one rule are reported, if not all (0 is all, too); the others are counted. Whoever shows
    /// findings to people sets it: a broken text can have as many as bytes.
    pub max_findings: Option<usize>,
    /// Which fixes are reported of findings that are not: none, the safe ones, or all.
    pub fixes_of_omitted: Option<Applicability>,
}

/// What the check of one source found.
#[derive(Debug, Default, PartialEq)]
#[non_exhaustive]
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
    Document::new(source).check(options, &|| false).unwrap_or_default()
}
