//! The checker: the text of a file becomes findings, and nothing else happens.
//!
//! It is the part of `ptx-tc` without a command line, formats, an editor's protocol or a machine that runs
//! kernels; the documentation of that crate draws how the data flows through both, and which crate depends on which.
//!
//! # The layers
//!
//! A module only uses modules in lines below its own.
//!
//! ```text
//!  check          runs the stages, component by component
//!  suppression    comments that silence rules
//!  rules          one file each, in families that do not depend on each other
//!  diagnostic     what a finding is, and what rules are called
//! ```
//!
//! # Use
//!
//! ```
//! use ptx_check::{Options, Source, check};
//!
//! let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n  \
//!     tcgen05.wait::ld.sync;\n}\n").unwrap();
//! let report = check(&source, &Options::default());
//! assert_eq!(report.diagnostics[0].code.name(), "missing-qualifier");
//! ```

#![warn(missing_docs)]

mod check;
pub mod diagnostic;
pub mod rules;
pub mod suppression;

pub use check::{Document, Memory, check_unit, check_unit_again, locate};
use description::Description;
use diagnostic::selection::RuleSettings;
use diagnostic::{Applicability, Diagnostic, Fix, Omitted, Severity};
use isa::targets::{PtxVersion, Target};
pub use ptx_analysis::{self as analysis, description};
pub use ptx_descriptor as descriptor;
pub use ptx_host as host;
pub use ptx_isa as isa;
pub use ptx_resolve::{self as resolve, instruction, words};
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
    ///
    /// ```
    /// use ptx_check::{Options, Source, check};
    ///
    /// let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n\
    ///     .reg .pred p;\n.reg .b32 taddr, idesc;\n.reg .b64 adesc, bdesc;\n\
    ///     mov.b32 idesc, 0x08400490;\n\
    ///     tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;\n}\n")?;
    /// let report = check(&source, &Options { describe: true, ..Options::default() });
    /// let descriptions = report.descriptors.unwrap();
    /// let multiply = descriptions[0].multiply.as_ref().unwrap();
    /// assert_eq!((multiply.m, multiply.n, multiply.k), (Some(128), Some(256), Some(16)));
    /// assert_eq!(multiply.b.element.unwrap().name(), "bf16");
    /// // Nothing is known of where the matrix is.
    /// assert_eq!(multiply.b.swizzle, None);
    /// # Ok::<(), ptx_check::source::SourceError>(())
    /// ```
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

    /// Number of findings with a fix that is applied only when all are, with those that are omitted.
    pub fn unsafe_fixable(&self) -> usize {
        let is_unsafe = |fix: &Fix| fix.applicability == Applicability::Unsafe;
        let here = self.diagnostics.iter().filter(|it| it.fix.as_ref().is_some_and(is_unsafe));
        here.count() + self.omitted.iter().map(|omitted| omitted.unsafe_fixable).sum::<usize>()
    }
}

/// Checks one source with all rules.
///
/// ```
/// use ptx_check::diagnostic::Severity;
/// use ptx_check::diagnostic::selection::{Layer, RuleSettings};
/// use ptx_check::{Options, Source, check};
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
