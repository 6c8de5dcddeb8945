//! The rules.
//!
//! [`RULES`] is the whole list on one screen. Each rule is one file in one of the families below:
//! its documentation, which `explain` and the website show, its check, and its fix. A rule reads
//! typed values with spans from a [`Checker`]; it neither parses nor slices text.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::analysis::allocated::Distance;
use crate::analysis::calls::{CallGraph, Component};
use crate::analysis::constants::Known;
use crate::analysis::descriptors::Descriptors;
use crate::analysis::events::Events;
use crate::analysis::flow::{Flow, Pair};
use crate::analysis::functions::FunctionFacts;
use crate::analysis::reached::Reached;
pub use crate::diagnostic::Code;
use crate::diagnostic::{Diagnostic, Findings, Severity};
use crate::instruction::decode::Decoded;
use crate::instruction::gates::Gates;
use crate::instruction::index::{Index, OperationSet};
use crate::instruction::{Address, Base, Instruction, Scalar};
use crate::isa::sections::titled;
use crate::resolve::environment::Environment;
use crate::resolve::launch_bounds::LaunchBounds;
use crate::resolve::unit::Unit;

use crate::diagnostic::selection::RuleSettings;
use crate::source::Span;

mod allocation;
mod barriers;
mod data_movement;
mod descriptors;
mod form;
mod generic;
mod inline_assembly;
mod issue;
mod multiply;
mod ordering;
mod registers;
mod simulation;

mod style;
mod syntax;
mod targets;

/// What a rule may look at: everything that earlier stages know of one module.
#[derive(Debug)]
pub struct Checker<'a> {
    /// The text, its tree and its names.
    pub unit: &'a Unit,
    /// Its tcgen05 instructions in source order.
    pub instructions: &'a [Decoded<'a>],
    /// Which of them are what.
    pub index: &'a Index,
    /// The versions and targets to check against.
    pub environment: &'a Environment,
    /// What is not available there.
    pub gates: &'a Gates,
    /// Which functions can call which.
    pub calls: &'a CallGraph,
    /// The functions that are looked at.
    pub component: &'a Component,
    /// What happens in the functions with tcgen05 instructions, and in those they call.
    pub events: &'a Events,
    /// The functions with tcgen05 instructions, and those that call them; with what happens in each, as the rules
    /// about ordering see them.
    pub flows: &'a [Flow<'a>],
    /// The descriptors of multiplies and copies.
    pub descriptors: &'a [Descriptors],
}

/// How much of a program a rule has to see. Rules about texts and modules run once; the others run on
/// the functions that calls connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The text as it stands, whatever it is a piece of.
    Text,
    /// One statement, with what is known of its operands. Such a rule also makes sense of inline
    /// assembly.
    Statement,
    /// The contract between an `asm` statement and the language around it.
    Fragment,
    /// The ways through a function and what it calls. An excerpt of a kernel that has all that
    /// the rule looks at is judged like the whole.
    Function,
    /// A whole kernel: the rule says what it lacks.
    Kernel,
    /// The module: its header, and its text as a whole.
    Module,
    /// A run of a kernel: `simulate` finds it, and no check.
    Run,
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// What its findings are called.
    pub code: Code,
    /// How much it has to see.
    pub scope: Scope,
    /// Its documentation in Markdown, with the headings *What it does*, *Why is this bad?*,
    /// *Example*, *Use instead* and *References*.
    pub docs: &'static str,
    /// Finds the offences.
    pub check: fn(&Checker<'_>, &mut Findings<'_>),
}

/// A rule that is to run.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    rule: &'static Rule,
    /// What its findings get instead of their own severity.
    severity: Option<Severity>,
}

/// The rules about the registers of warps and about barriers: they make sense of kernels without tcgen05 instructions,
/// as does that about bulk copies.
const BESIDE_TENSOR: RangeInclusive<Code> = Code::SetmaxnregIgnored..=Code::MulticastReleasedLocally;

impl Chosen {
    /// Whether the rule is to run on functions without tcgen05 instructions as well.
    pub fn is_beside_tensor(&self) -> bool {
        BESIDE_TENSOR.contains(&self.rule.code) || self.rule.code == Code::BulkSourceOverwritten
    }

    /// Every rule of the scopes that is not off.
    pub fn of(settings: &RuleSettings, scopes: &[Scope]) -> Vec<Self> {
        // What the others have left of their budgets, only the last rule can say.
        let is_last = |code: &Code| *code == Code::AnalysisLimit;
        let codes = Code::all().filter(|code| !is_last(code)).chain(Code::all().filter(is_last));
        codes
            .filter(|code| settings.runs(*code) && scopes.contains(&code.rule().scope))
            .map(|code| Self { rule: code.rule(), severity: settings.override_of(code) })
            .collect()
    }
}

/// Declares a rule; its doc comment becomes its documentation at run time, too.
macro_rules! rule {
    ($(#[doc = $doc:literal])+ $code:ident $scope:ident $check:expr) => {
        $(#[doc = $doc])+
        pub(in crate::rules) static RULE: $crate::rules::Rule = $crate::rules::Rule {
            code: $crate::diagnostic::Code::$code,
            scope: $crate::rules::Scope::$scope,
            docs: concat!($($doc, "\n"),+),
            check: $check,
        };
    };
}
use rule;

/// Declares [`RULES`].
macro_rules! rules {
    ($($($path:ident)::+,)+) => {
        /// Every rule, in the order of the codes.
        pub static RULES: &[&Rule] = &[$(&$($path)::+::RULE,)+];
    };
}

rules! {
    // SIM1 Progress
    simulation::deadlock,
    simulation::work_outstanding_at_exit,
    simulation::registers_never_granted,
    simulation::divergent_aligned,
    // SIM2 Races
    simulation::shared_memory_race,
    simulation::tensor_memory_race,
    simulation::proxy_fence_missing,
    simulation::global_memory_race,
    // SIM3 Tensor Memory
    simulation::tensor_memory_unallocated,
    simulation::tensor_memory_not_freed,
    simulation::dealloc_not_allocated,
    simulation::allocation_never_satisfied,
    simulation::wrong_lanes,
    simulation::tensor_memory_uninitialized,
    simulation::result_unread,
    // SIM4 Barriers
    simulation::barrier_uninitialized,
    simulation::barrier_reused,
    simulation::arrival_overflow,
    simulation::transaction_mismatch,
    simulation::phase_overtaken,
    simulation::named_barrier_misuse,
    // SIM5 Addresses and layouts
    simulation::out_of_bounds,
    simulation::misaligned,
    simulation::descriptor_out_of_bounds,
    simulation::layout_mismatch,
    simulation::shared_memory_uninitialized,
    simulation::invalid_descriptor,
    simulation::operand_overlap,
    simulation::nan_or_infinity,
    // TC0 Syntax
    syntax::syntax_error,
    syntax::invalid_token,
    syntax::module_header,
    syntax::undeclared_name,
    syntax::analysis_limit,
    // TC1 Form of one instruction
    form::unknown_instruction,
    form::unknown_qualifier,
    form::qualifier_not_allowed,
    form::missing_qualifier,
    form::repeated_qualifier,
    form::operand_count,
    form::operand_kind,
    form::operand_type,
    form::vector_length,
    form::immediate_range,
    form::vector_element,
    form::state_space,
    form::commit_mask,
    form::address_not_converted,
    form::unknown_operation,
    form::unknown_modifier,
    form::missing_modifier,
    form::operands_misfit,
    form::modifiers_exclude,
    form::register_type,
    form::immediate_out_of_range,
    form::vector_size,
    // TC2 Target and version
    targets::instruction_unsupported_on_target,
    targets::feature_unsupported_on_target,
    targets::version_too_old,
    targets::target_needs_newer_version,
    targets::unknown_target,
    // TC3 Tensor Memory allocation
    allocation::ncols_invalid,
    allocation::ncols_increases,
    allocation::alloc_after_relinquish,
    allocation::missing_dealloc,
    allocation::dealloc_size_mismatch,
    allocation::over_allocation,
    allocation::tensor_memory_without_alloc,
    allocation::use_after_dealloc,
    allocation::dealloc_races_access,
    allocation::mixed_cta_group,
    allocation::cta_group_2_without_cluster,
    allocation::slot_read_too_early,
    allocation::literal_tmem_address,
    allocation::dealloc_address,
    // TC4 Data movement
    data_movement::shape_num,
    data_movement::half_split_offset,
    data_movement::cp_multicast,
    data_movement::cp_format,
    data_movement::shift_lane_alignment,
    data_movement::column_range,
    data_movement::spcompress_types,
    data_movement::lane_restriction,
    data_movement::outside_tensor_memory,
    data_movement::lanes_of_another_warp,
    data_movement::lanes_of_first_warp,
    data_movement::never_written,
    // TC5 Matrix multiply
    multiply::block_scale,
    multiply::scale_vector_size,
    multiply::weight_stationary,
    multiply::collector_buffer,
    multiply::ashift,
    multiply::scale_input_d,
    multiply::collector_use_without_fill,
    multiply::decompress,
    // TC6 Descriptor values
    descriptors::idesc_reserved_bits,
    descriptors::idesc_types,
    descriptors::idesc_shape,
    descriptors::idesc_sparsity,
    descriptors::idesc_transpose_negate,
    descriptors::idesc_saturate_shift,
    descriptors::idesc_scale,
    descriptors::idesc_k96,
    descriptors::idesc_ashift_m,
    descriptors::sparsity_selector,
    descriptors::smem_desc_fixed_bits,
    descriptors::smem_desc_swizzle,
    descriptors::smem_desc_absolute_stride,
    descriptors::smem_desc_swizzle_type,
    descriptors::zero_column_mask,
    descriptors::accumulator_columns,
    descriptors::lane_alignment,
    descriptors::transposed_a_in_tensor_memory,
    descriptors::swizzled_stride,
    descriptors::smem_desc_alignment,
    descriptors::swizzle_start,
    descriptors::swizzled_copy_start,
    // TC7 Ordering
    ordering::tmem_reused_before_wait_ld,
    ordering::missing_wait_st,
    ordering::result_read_early,
    ordering::missing_commit,
    ordering::fence_before_wait,
    ordering::missing_proxy_fence,
    ordering::missing_after_fence,
    ordering::signal_before_wait,
    ordering::no_mbarrier_wait,
    ordering::not_pipelined,
    ordering::waited_by_another_warp,
    ordering::source_overwritten,
    ordering::handed_over_before_wait,
    ordering::copy_never_waited_for,
    ordering::accumulates_from_start,
    ordering::loaded_register_read_early,
    ordering::bulk_source_overwritten,
    // TC8 Who issues it
    issue::aligned_in_one_thread,
    issue::issued_by_every_thread,
    issue::operand_differs_in_warp,
    issue::allocated_by_every_warp,
    issue::aligned_in_part_of_warp,
    issue::issued_by_several_threads,
    issue::pair_in_one_cta,
    issue::pair_multiplied_twice,
    issue::pair_not_synchronised,
    // TC82 Registers of warps
    registers::setmaxnreg_ignored,
    registers::setmaxnreg_part_of_warpgroup,
    registers::register_budget_exceeded,
    registers::too_few_registers,
    // TC83 Barriers
    barriers::mbarrier_count,
    barriers::barrier_number,
    barriers::mbarrier_never_signalled,
    barriers::commit_not_waited_for,
    barriers::wrong_parity,
    barriers::mbarrier_not_initialised,
    barriers::arrival_not_waited_for,
    barriers::more_arrivals_than_expected,
    barriers::wait_result_unread,
    barriers::arrival_scope_too_small,
    barriers::commit_for_another_pair,
    barriers::arrival_for_other_lanes,
    barriers::multicast_released_locally,
    // TC9 Style
    style::qualifier_order,
    style::family_portability,
    style::unused_suppression,
    // TC95 Inline assembly
    inline_assembly::operand_not_listed,
    inline_assembly::operand_not_used,
    inline_assembly::constraint_type,
    inline_assembly::percent_escape,
    inline_assembly::missing_volatile,
    inline_assembly::missing_memory_clobber,
    inline_assembly::missing_comma,
    inline_assembly::label_not_unique,
    inline_assembly::scope_not_closed,
    inline_assembly::missing_sideeffect,
    inline_assembly::missing_convergent,
}

/// A finding with the calls that lead to the instruction which it is about.
pub fn through_calls(finding: Diagnostic, reached: &Reached<'_>) -> Diagnostic {
    let source = &reached.flow().unit.source;
    reached.calls().fold(finding, |finding, (call, callee)| {
        finding.label(call, format!("`{}` is called here", source.slice(callee)))
    })
}

/// A finding with the calls through which the function reaches what it names.
pub fn labelled(finding: Diagnostic, flow: &Flow<'_>, pair: Pair) -> Diagnostic {
    let calls = [flow.call(pair.first, pair.from), flow.call(pair.then, pair.to)];
    calls.into_iter().flatten().fold(finding, |finding, (call, callee)| {
        finding.label(call, format!("`{}` is called here", flow.unit.source.slice(callee)))
    })
}

/// The lane of an address in Tensor Memory among the 32 of its warp, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The lane, modulo 32.
    pub in_warp: u32,
    /// How far it lies behind an allocation, if that says it.
    distance: Option<Distance>,
}

impl Lane {
    /// That of an address: from its known bits, or because an allocation starts at lane 0.
    pub fn of(checker: &Checker<'_>, decoded: &Decoded<'_>, address: &Address<'_>) -> Option<Self> {
        let known = checker.address(decoded, address)?;
        if let Some(lane) = known.shifted_right(16).constant(5) {
            return Some(Self { in_warp: lane as u32, distance: None });
        }
        let flow = checker.flow(decoded)?;
        let distance = flow.distance(decoded, address).or_else(|| flow.distance_in_warp(decoded, address))?;
        Some(Self { in_warp: distance.lanes % 32, distance: Some(distance) })
    }

    /// Whether it is this one, as an address of this instruction; to be asked last.
    pub fn is_certain(&self, checker: &Checker<'_>, decoded: &Decoded<'_>) -> bool {
        let certain =
            |distance: Distance| checker.flow(decoded).is_some_and(|flow| distance.is_certain(flow));
        self.distance.is_none_or(certain)
    }

    /// What was found, for the label of a finding.
    fn found(&self) -> String {
        format!("the lane is {} over a multiple of 32", self.in_warp)
    }

    /// Says why, where that is not in the address itself.
    fn explain(&self, finding: Diagnostic) -> Diagnostic {
        match self.distance {
            Some(distance) => finding.label(distance.alloc, "this allocation starts at lane 0"),
            None => finding,
        }
    }
}

impl Code {
    /// The rule with this code.
    pub fn rule(self) -> &'static Rule {
        RULES[self as usize]
    }
}

impl Rule {
    /// The documentation with the titles of the sections that it names.
    pub fn documentation(&self) -> Cow<'static, str> {
        titled(self.docs)
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
    /// Runs some rules, or stops between two of them once `cancelled` says so.
    pub fn run(all: &[Self], rules: &[Chosen], findings: &mut Findings<'_>, cancelled: &dyn Fn() -> bool) {
        for Chosen { rule, severity } in rules {
            if cancelled() {
                return;
            }
            findings.set_severity(*severity);
            for checker in all {
                (rule.check)(checker, findings);
            }
        }
        findings.set_severity(None);
    }

    /// Whether this is the pass over the text as such. Rules about statements judge what they do not need decoded in
    /// it, once for all functions.
    pub fn looks_at_text(&self) -> bool {
        self.component.functions.is_empty()
    }

    /// The analyses of the function that an instruction stands in.
    pub fn function(&self, decoded: &Decoded<'_>) -> Option<&'a FunctionFacts> {
        Some(self.flow(decoded)?.facts)
    }

    /// The functions as the rules about ordering see them.
    pub fn flows(&self) -> impl Iterator<Item = Flow<'a>> {
        self.flows.iter().filter(|flow| !flow.is_helper()).copied()
    }

    /// The function that an instruction stands in, as the rules about ordering see it.
    pub fn flow(&self, decoded: &Decoded<'_>) -> Option<&'a Flow<'a>> {
        let function = decoded.function?;
        let at = self.flows.binary_search_by_key(&function, Flow::function).ok()?;
        self.flows.get(at)
    }

    /// What a function says about how it is launched.
    pub fn launch_bounds(&self, function: u32) -> &'a LaunchBounds {
        self.unit.launch_bounds(&self.unit.module.functions[function as usize])
    }

    /// The known bits of an address in Tensor Memory.
    pub fn address(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Option<Known> {
        Some(self.function(decoded)?.address(self.unit, decoded, address))
    }

    /// The known bits of an operand.
    pub fn value(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Option<Known> {
        Some(self.function(decoded)?.value(self.unit, decoded, scalar))
    }

    /// The number of columns that an `alloc` or `dealloc` names, if it is known and one that can be
    /// allocated; of another one, only that is said.
    pub fn columns(&self, decoded: &Decoded<'_>) -> Option<u32> {
        let (n_cols, exclusive) = match decoded.instruction.as_ref()? {
            Instruction::Alloc(it) => (&it.n_cols, it.exclusive.is_some()),
            Instruction::Dealloc(it) => (&it.n_cols, it.exclusive.is_some()),
            _ => return None,
        };
        let columns = self.value(decoded, n_cols)?.constant(32)? as u32;
        self.environment.tensor_memory().allocates(columns, exclusive).then_some(columns)
    }

    /// Where the value of an operand was made.
    pub fn origins(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Vec<Span> {
        let facts = self.function(decoded);
        facts.map_or_else(Vec::new, |facts| facts.origins(self.unit, decoded, scalar))
    }

    /// Where the value of a descriptor of a matrix was made, but for its address.
    pub fn origins_beside_address(&self, decoded: &Decoded<'_>, scalar: &Scalar<'_>) -> Vec<Span> {
        let facts = self.function(decoded);
        facts.map_or_else(Vec::new, |facts| facts.origins_beside_address(self.unit, decoded, scalar))
    }

    /// Where the base of an address was made.
    pub fn address_origins(&self, decoded: &Decoded<'_>, address: &Address<'_>) -> Vec<Span> {
        match address.base {
            Base::Register(register) => self.origins(decoded, &Scalar::Register(register)),
            Base::Variable(_) => Vec::new(),
        }
    }

    /// The tcgen05 instructions of some operations, if they are understood completely.
    pub fn typed(
        &self,
        operations: OperationSet,
    ) -> impl Iterator<Item = (&'a Decoded<'a>, &'a Instruction<'a>)> {
        let found = self.at(self.index.of(operations));
        found.filter_map(|decoded| Some((decoded, decoded.instruction.as_ref()?)))
    }

    /// The tcgen05 instructions that something is wrong with.
    pub fn with_problems(&self) -> impl Iterator<Item = &'a Decoded<'a>> {
        self.at(self.index.with_problems())
    }

    /// The tcgen05 instructions whose qualifiers are not in the order of their form.
    pub fn out_of_order(&self) -> impl Iterator<Item = &'a Decoded<'a>> {
        self.at(self.index.out_of_order())
    }

    /// The tcgen05 instructions whose registers need a closer look.
    pub fn with_odd_registers(&self) -> impl Iterator<Item = &'a Decoded<'a>> {
        self.at(self.index.with_odd_registers())
    }

    /// The tcgen05 instructions of which a set of targets lacks something.
    pub fn unavailable(&self) -> impl Iterator<Item = &'a Decoded<'a>> {
        self.at(self.index.unavailable())
    }

    fn at(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = &'a Decoded<'a>> {
        let instructions = self.instructions;
        places.filter_map(|at| instructions.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_rule() {
        assert_eq!(RULES.len(), Code::all().count());
        for code in Code::all() {
            assert_eq!(RULES[code as usize].code, code);
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
