//! The rules.
//!
//! [`RULES`] is the whole list on one screen. Each rule is one file in one of the families below:
//! its documentation, which `explain` and the website show, its check, and its fix. A rule reads
//! typed values with spans from a [`Checker`]; it neither parses nor slices text.

use std::fmt;

use serde::{Serialize, Serializer};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use crate::analysis::constants::Known;
use crate::analysis::descriptors::Descriptors;
use crate::analysis::environment::Environment;
use crate::analysis::events::Events;
use crate::analysis::flow::Flow;
use crate::analysis::functions::{Context, FunctionFacts};
use crate::analysis::symbols::Symbols;
use crate::diagnostic::{Diagnostic, Ptxas, Severity};
use crate::instruction::decode::Decoded;
use crate::instruction::{Address, Base, Scalar};

use crate::rules::selection::RuleSettings;
use crate::source::{Source, Span};
use crate::syntax::ast::Module;
use crate::syntax::parser::SyntaxError;

mod allocation;
mod data_movement;
mod descriptors;
mod form;
mod issue;
mod multiply;
mod ordering;
pub mod selection;
mod style;
mod syntax;
mod targets;

/// What a rule may look at: everything that earlier stages know of one module.
#[derive(Debug)]
pub struct Checker<'a> {
    /// The text.
    pub source: &'a Source,
    /// What was wrong with it.
    pub syntax_errors: &'a [SyntaxError],
    /// Its syntax tree.
    pub module: &'a Module,
    /// What its names mean.
    pub symbols: &'a Symbols,
    /// Its tcgen05 instructions in source order.
    pub instructions: &'a [Decoded<'a>],
    /// The versions and targets to check against.
    pub environment: &'a Environment,
    /// What happens in the functions with tcgen05 instructions, and in those they call.
    pub events: &'a Events,
    /// The functions with tcgen05 instructions, and those that call them.
    pub functions: &'a [FunctionFacts],
    /// The descriptors of multiplies and copies.
    pub descriptors: &'a [Descriptors],
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// `TC301`; never reused.
    pub code: &'static str,
    /// `ncols-invalid`
    pub name: &'static str,
    /// How much its findings matter by default.
    pub severity: Severity,
    /// What the assembler does with its findings.
    pub ptxas: Ptxas,
    /// Its documentation in Markdown, with the headings *What it does*, *Why is this bad?*,
    /// *Example*, *Use instead* and *References*.
    pub docs: &'static str,
    /// Finds the offences.
    pub check: fn(&Checker<'_>, &mut Vec<Diagnostic>),
}

/// Declares a rule; its doc comment becomes its documentation at run time, too.
macro_rules! rule {
    (
        $(#[doc = $doc:literal])+
        $code:literal $name:literal $severity:ident $ptxas:ident $check:expr
    ) => {
        $(#[doc = $doc])+
        pub(in crate::rules) static RULE: $crate::rules::Rule = $crate::rules::Rule {
            code: $code,
            name: $name,
            severity: $crate::diagnostic::Severity::$severity,
            ptxas: $crate::diagnostic::Ptxas::$ptxas,
            docs: concat!($($doc, "\n"),+),
            check: $check,
        };
    };
}
use rule;

/// Declares [`Code`] and [`RULES`].
macro_rules! rules {
    ($( $(#[doc = $family:literal])? $variant:ident = $($path:ident)::+, )+) => {
        /// The code of a rule: a name for it that is cheap to compare.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, IntoStaticStr)]
        #[allow(missing_docs, reason = "each is explained by its rule")]
        pub enum Code {
            $($variant,)+
        }

        /// Every rule, in the order of the codes.
        pub static RULES: &[&Rule] = &[$(&$($path)::+::RULE,)+];
    };
}

rules! {
    // TC0 Syntax
    SyntaxError = syntax::syntax_error,
    InvalidToken = syntax::invalid_token,
    ModuleHeader = syntax::module_header,
    UndeclaredName = syntax::undeclared_name,
    AnalysisLimit = syntax::analysis_limit,
    // TC1 Form of one instruction
    UnknownInstruction = form::unknown_instruction,
    UnknownQualifier = form::unknown_qualifier,
    QualifierNotAllowed = form::qualifier_not_allowed,
    MissingQualifier = form::missing_qualifier,
    RepeatedQualifier = form::repeated_qualifier,
    OperandCount = form::operand_count,
    OperandKind = form::operand_kind,
    OperandType = form::operand_type,
    VectorLength = form::vector_length,
    ImmediateRange = form::immediate_range,
    VectorElement = form::vector_element,
    StateSpace = form::state_space,
    // TC2 Target and version
    InstructionUnsupportedOnTarget = targets::instruction_unsupported_on_target,
    FeatureUnsupportedOnTarget = targets::feature_unsupported_on_target,
    VersionTooOld = targets::version_too_old,
    TargetNeedsNewerVersion = targets::target_needs_newer_version,
    UnknownTarget = targets::unknown_target,
    // TC3 Tensor Memory allocation
    NcolsInvalid = allocation::ncols_invalid,
    NcolsIncreases = allocation::ncols_increases,
    AllocAfterRelinquish = allocation::alloc_after_relinquish,
    MissingDealloc = allocation::missing_dealloc,
    DeallocSizeMismatch = allocation::dealloc_size_mismatch,
    OverAllocation = allocation::over_allocation,
    TensorMemoryWithoutAlloc = allocation::tensor_memory_without_alloc,
    UseAfterDealloc = allocation::use_after_dealloc,
    DeallocRacesAccess = allocation::dealloc_races_access,
    MixedCtaGroup = allocation::mixed_cta_group,
    CtaGroup2WithoutCluster = allocation::cta_group_2_without_cluster,
    SlotReadTooEarly = allocation::slot_read_too_early,
    LiteralTmemAddress = allocation::literal_tmem_address,
    // TC4 Data movement
    ShapeNum = data_movement::shape_num,
    HalfSplitOffset = data_movement::half_split_offset,
    CpMulticast = data_movement::cp_multicast,
    CpFormat = data_movement::cp_format,
    ShiftLaneAlignment = data_movement::shift_lane_alignment,
    ColumnRange = data_movement::column_range,
    SpcompressTypes = data_movement::spcompress_types,
    LaneRestriction = data_movement::lane_restriction,
    // TC5 Matrix multiply
    BlockScale = multiply::block_scale,
    ScaleVectorSize = multiply::scale_vector_size,
    WeightStationary = multiply::weight_stationary,
    CollectorBuffer = multiply::collector_buffer,
    Ashift = multiply::ashift,
    ScaleInputD = multiply::scale_input_d,
    CollectorUseWithoutFill = multiply::collector_use_without_fill,
    Decompress = multiply::decompress,
    // TC6 Descriptor values
    IdescReservedBits = descriptors::idesc_reserved_bits,
    IdescTypes = descriptors::idesc_types,
    IdescShape = descriptors::idesc_shape,
    IdescSparsity = descriptors::idesc_sparsity,
    IdescTransposeNegate = descriptors::idesc_transpose_negate,
    IdescSaturateShift = descriptors::idesc_saturate_shift,
    IdescScale = descriptors::idesc_scale,
    IdescK96 = descriptors::idesc_k96,
    IdescAshiftM = descriptors::idesc_ashift_m,
    SparsitySelector = descriptors::sparsity_selector,
    SmemDescFixedBits = descriptors::smem_desc_fixed_bits,
    SmemDescSwizzle = descriptors::smem_desc_swizzle,
    SmemDescAbsoluteStride = descriptors::smem_desc_absolute_stride,
    SmemDescSwizzleType = descriptors::smem_desc_swizzle_type,
    ZeroColumnMask = descriptors::zero_column_mask,
    AccumulatorColumns = descriptors::accumulator_columns,
    LaneAlignment = descriptors::lane_alignment,
    TransposedAInTensorMemory = descriptors::transposed_a_in_tensor_memory,
    // TC7 Ordering
    TmemReusedBeforeWaitLd = ordering::tmem_reused_before_wait_ld,
    MissingWaitSt = ordering::missing_wait_st,
    ResultReadEarly = ordering::result_read_early,
    MissingCommit = ordering::missing_commit,
    FenceBeforeWait = ordering::fence_before_wait,
    MissingProxyFence = ordering::missing_proxy_fence,
    MissingAfterFence = ordering::missing_after_fence,
    SignalBeforeWait = ordering::signal_before_wait,
    NoMbarrierWait = ordering::no_mbarrier_wait,
    // TC8 Who issues it
    AlignedInOneThread = issue::aligned_in_one_thread,
    IssuedByEveryThread = issue::issued_by_every_thread,
    // TC9 Style
    QualifierOrder = style::qualifier_order,
    FamilyPortability = style::family_portability,
    UnusedSuppression = style::unused_suppression,
}

impl Code {
    /// Every code.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The rule with this code.
    pub fn rule(self) -> &'static Rule {
        RULES[self as usize]
    }

    /// The code written `TC301`, or the name written `ncols-invalid`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::iter().find(|code| code.rule().code.eq_ignore_ascii_case(text) || code.rule().name == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().code)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.rule().code)
    }
}

impl Rule {
    /// The page of the rule in the project's documentation.
    pub fn url(&self) -> String {
        format!("https://ptx-tc.github.io/rules/{}", self.code)
    }

    /// The first sentence of the documentation: what the rule finds.
    pub fn summary(&self) -> String {
        self.docs
            .lines()
            .skip_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
            .take_while(|line| !line.trim().is_empty())
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl<'a> Checker<'a> {
    /// Runs every rule that is not off; findings in source order.
    pub fn run(&self, settings: &RuleSettings) -> Vec<Diagnostic> {
        self.run_unless(settings, &|| false).unwrap_or_default()
    }

    /// Like [`Checker::run`], but stops between two rules once `cancelled` says so.
    pub fn run_unless(
        &self,
        settings: &RuleSettings,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Vec<Diagnostic>> {
        let mut findings: Vec<Diagnostic> = Vec::new();
        // What the others have left of their budgets, only the last rule can say.
        let is_last = |code: &Code| *code == Code::AnalysisLimit;
        let codes = Code::all().filter(|code| !is_last(code)).chain(Code::all().filter(is_last));
        for code in codes.filter(|code| settings.runs(*code)) {
            if cancelled() {
                return None;
            }
            let before = findings.len();
            (code.rule().check)(self, &mut findings);
            if let Some(severity) = settings.override_of(code) {
                findings[before..].iter_mut().for_each(|finding| finding.severity = severity);
            }
        }
        findings.sort_by_key(|finding| (finding.primary.span, finding.code));
        Some(findings)
    }

    /// The module, for the analyses of its functions.
    pub fn context(&self) -> Context<'a> {
        Context { source: self.source, module: self.module, symbols: self.symbols }
    }

    /// The analyses of the function that an instruction stands in.
    pub fn function(&self, decoded: &Decoded<'_>) -> Option<&'a FunctionFacts> {
        let function = decoded.function?;
        let at = self.functions.binary_search_by_key(&function, |facts| facts.function).ok()?;
        self.functions.get(at)
    }

    /// The functions as the rules about ordering see them.
    pub fn flows(&self) -> impl Iterator<Item = Flow<'a>> {
        let (context, instructions, all) = (self.context(), self.instructions, self.events);
        self.functions.iter().map(move |facts| Flow { context, instructions, all, facts })
    }

    /// The known bits of an address in Tensor Memory.
    pub fn address(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Option<Known> {
        Some(self.function(decoded)?.address(self.context(), decoded, address))
    }

    /// The known bits of an operand.
    pub fn value(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Option<Known> {
        Some(self.function(decoded)?.value(self.context(), decoded, scalar))
    }

    /// Where the value of an operand was made.
    pub fn origins(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Vec<Span> {
        let facts = self.function(decoded);
        facts.map_or_else(Vec::new, |facts| facts.origins(self.context(), decoded, scalar))
    }

    /// Where the base of an address was made.
    pub fn address_origins(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Vec<Span> {
        match address.base {
            Base::Register(register) => self.origins(decoded, &Scalar::Register(register)),
            Base::Variable(_) => Vec::new(),
        }
    }

    /// The tcgen05 instructions that are understood completely.
    pub fn typed(&self) -> impl Iterator<Item = (&Decoded<'a>, &crate::instruction::Instruction<'a>)> {
        self.instructions.iter().filter_map(|decoded| Some((decoded, decoded.instruction.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted() {
        for pair in RULES.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} before {}", pair[0].code, pair[1].code);
        }
    }

    #[test]
    fn names_are_unique() {
        for code in Code::all() {
            assert_eq!(Code::parse(code.rule().name), Some(code));
            assert_eq!(Code::parse(code.rule().code), Some(code));
        }
    }

    #[test]
    fn documentation_has_its_headings() {
        for rule in RULES {
            let headings: Vec<&str> =
                rule.docs.lines().filter_map(|line| line.trim().strip_prefix("## ")).collect();
            assert_eq!(
                headings,
                ["What it does", "Why is this bad?", "Example", "Use instead", "References"],
                "{}",
                rule.code
            );
        }
    }
}
