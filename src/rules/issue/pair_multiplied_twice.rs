use std::collections::BTreeSet;

use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::{CtaGroup, Operation};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `mma` with `.cta_group::2` that both CTAs of a pair certainly execute: no condition on
    /// the way depends on which of them it is.
    ///
    /// ## Why is this bad?
    /// One thread of one CTA of the pair issues the multiply for both. When each of them does, both
    /// multiplies write the same accumulators.
    ///
    /// ## Example
    /// ```ptx
    /// elect.sync _|elected, -1;
    /// @elected tcgen05.mma.cta_group::2.kind::f16 [taddr], adesc, bdesc, 0x10200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, %cluster_ctarank;
    /// setp.eq.u32 p, r1, 0;
    /// @!p bra DONE;
    /// elect.sync _|elected, -1;
    /// @elected tcgen05.mma.cta_group::2.kind::f16 [taddr], adesc, bdesc, 0x10200490, p;
    /// DONE:
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.5
    PairMultipliedTwice Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let multiplies = flow.events().iter().filter(|event| {
            matches!(flow.operation(**event), Some(Operation::Mma | Operation::MmaWs))
                && flow.decoded(**event).is_some_and(|it| {
                    it.qualifiers.get::<CtaGroup>().is_some_and(|it| it.value == CtaGroup::Two)
                })
        });
        let mut ranks = None;
        let mut reported = BTreeSet::new();
        for event in multiplies {
            let ranks = ranks.get_or_insert_with(|| [0, 1].map(|rank| flow.executing(Some(rank))));
            let is_certain =
                |rank: usize| ranks[rank].of(event.instruction).is_some_and(|executes| executes.warps() > 0);
            // What stands together has the same cause.
            let block = flow.cfg().block_of(event.instruction);
            if !is_certain(0) || !is_certain(1) || !reported.insert(block) {
                continue;
            }
            findings.push(
                Diagnostic::new(
                    Code::PairMultipliedTwice,
                    flow.span(*event),
                    "both CTAs of the pair issue this `tcgen05.mma.cta_group::2`",
                    "no condition on the way selects one CTA",
                )
                .note("one thread of one CTA of the pair issues it for both (PTX ISA, 9.7.16.5, Table 46)")
                .help("issue it in the CTA whose `%cluster_ctarank` is even"),
            );
        }
    }
}
