use rustc_hash::FxHashSet;

use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::decode::decode_statement;
use crate::isa::generic::Demand;
use crate::isa::targets::{Portability, TENSOR_TARGETS, Target};
use crate::resolve::environment::Declared;
use crate::rules::generic::Lacking;
use crate::rules::targets::names;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::StatementKind;
use crate::words::{list_words, plural};

rule! {
    /// ## What it does
    /// Finds instructions that the module's target does not have: tcgen05 on a target without Tensor
    /// Memory, `wgmma` on any target but `sm_90a`. Only the first instruction of each name is reported.
    ///
    /// ## Why is this bad?
    /// Tensor Memory exists only on the architecture-specific and family-specific targets of datacenter
    /// Blackwell and its relatives. Plain `sm_100` does not have it, and neither does `sm_120a`.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100
    /// .entry k() { tcgen05.fence::after_thread_sync; }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .entry k() { tcgen05.fence::after_thread_sync; }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *Target ISA Notes* of sections 9.7.16.7 to 9.7.16.12
    InstructionUnsupportedOnTarget Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    outside_tensor(checker, findings);
    let unit = checker.unit;
    for targets in checker.gates.without_tensor_memory() {
        // The target is what is wrong, not each of its instructions.
        let mut instructions = unit.module.statements.iter().zip(0..).filter_map(|(statement, at)| {
            let StatementKind::Instruction(index) = statement.kind() else { return None };
            unit.operations.of(index).tensor.map(|operation| (at, operation))
        });
        let Some((statement, operation)) = instructions.next() else { return };
        let Some(first) = decode_statement(unit, statement, None) else { return };
        let label = match instructions.count() {
            0 => "this needs Tensor Memory".to_owned(),
            others => format!("this needs Tensor Memory, and so do {}", plural(others, "other instruction")),
        };
        let names = names(targets);
        let message = format!("`tcgen05.{operation}` does not exist on {names}");
        let mut finding = Diagnostic::new(Code::InstructionUnsupportedOnTarget, first.name, message, label);
        if let Some(Declared { span: Some(span), .. }) = targets.first() {
            finding = finding.label(*span, "the module's target");
        }
        findings.push(match targets {
            [Declared { value, span }] => repair(finding, *value, *span),
            _ => finding.help(all_targets()),
        });
    }
}

fn repair(finding: Diagnostic, target: Target, span: Option<Span>) -> Diagnostic {
    if target.portability != Portability::Forward || !target.has_tensor_memory() {
        return finding.help(all_targets());
    }
    let (a, f) = (Target::a(target.sm), Target::f(target.sm));
    let fix = span.map(|span| Fix::guess(format!("Target {a}"), span, a.to_string()));
    finding
        .help(format!("write `.target {a}`, or `{f}` for code that runs on the whole family; plain {target} lacks tcgen05"))
        .fix(fix)
}

fn all_targets() -> String {
    format!("targets with tcgen05 are {}", list_words(TENSOR_TARGETS.iter().map(Target::to_string), "and"))
}

/// Instructions outside tcgen05: one finding for all of one name.
fn outside_tensor(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut seen = FxHashSet::default();
    for lacking in Lacking::each(checker) {
        let name = lacking.generic.name();
        if lacking.targets.is_empty()
            || !lacking.words.is_empty()
            || !seen.insert((name, lacking.targets.as_ptr()))
        {
            continue;
        }
        let names = names(lacking.targets);
        // A removed instruction has a successor that names the lanes that take part.
        let (what, help) = match lacking.gate.then {
            Demand::Gone(..) => (
                format!("`{name}` without `.sync`"),
                format!("write `{name}.sync`, and the lanes that take part at the end: 0xffffffff for all"),
            ),
            _ => (format!("`{name}`"), format!("it exists on {}", lacking.having())),
        };
        let mut finding = Diagnostic::new(
            Code::InstructionUnsupportedOnTarget,
            lacking.span(),
            format!("{what} does not exist on {names}"),
            "this target does not have it",
        )
        .help(help);
        if let Some(Declared { span: Some(span), .. }) = lacking.targets.first() {
            finding = finding.label(*span, "the module's target");
        }
        findings.push(finding);
    }
}
