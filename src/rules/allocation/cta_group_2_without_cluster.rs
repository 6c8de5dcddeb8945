use std::collections::BTreeSet;

use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::CtaGroup;
use crate::rules::{Checker, Code, rule};
use crate::syntax::literal;

rule! {
    /// ## What it does
    /// Finds `.cta_group::2` in a kernel whose `.reqnctapercluster` is an odd number of CTAs.
    ///
    /// ## Why is this bad?
    /// `.cta_group::2` needs the peer CTA of the pair, and one CTA of an odd cluster has none.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqnctapercluster 1
    /// {
    ///     tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqnctapercluster 2
    /// {
    ///     tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.5.1
    CtaGroup2WithoutCluster Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut reported = BTreeSet::new();
    for flow in checker.flows().filter(Flow::is_entry) {
        let function = &checker.unit.module.functions[flow.facts.function as usize];
        let directives = &checker.unit.module.directives[function.directives.range()];
        let Some(directive) = directives
            .iter()
            .find(|directive| checker.unit.source.slice(directive.name) == ".reqnctapercluster")
        else {
            continue;
        };
        let ctas = checker
            .unit
            .module
            .operands(directive.operands)
            .iter()
            .map(|operand| literal::evaluate(&checker.unit.source, &checker.unit.module, operand))
            .try_fold(1i128, |product, size| product.checked_mul(size?));
        let Some(ctas) = ctas.filter(|ctas| ctas % 2 == 1) else { continue };
        let pair = flow.summary().into_iter().flat_map(|summary| &summary.events).find_map(|event| {
            let group = flow.decoded(*event)?.qualifiers.get::<CtaGroup>()?;
            (group.value == CtaGroup::Two).then_some(group)
        });
        if let Some(group) = pair.filter(|group| reported.insert((group.span, directive.name))) {
            let plural = if ctas == 1 { "CTA" } else { "CTAs" };
            findings.push(
                Diagnostic::new(
                    Code::CtaGroup2WithoutCluster,
                    group.span,
                    "`.cta_group::2` needs clusters of CTA pairs",
                    "works on a pair of CTAs",
                )
                .label(directive.name, format!("the cluster has {ctas} {plural}"))
                .note("a CTA pair is two CTAs of a cluster whose ranks differ in the last bit (PTX ISA, 9.7.16.5.1)")
                .help("give the cluster an even number of CTAs, or use `.cta_group::1` throughout"),
            );
        }
    }
}
