use std::collections::BTreeSet;

use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::CtaGroup;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `.cta_group::2` in a kernel whose `.reqnctapercluster` is an odd number of CTAs, or whose
    /// `.maxclusterrank` is 1.
    ///
    /// ## Why is this bad?
    /// `.cta_group::2` needs the peer CTA of the pair. In a cluster of odd size, one CTA has no peer.
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
        let Some(cluster) = checker.launch_bounds(flow.function()).cluster() else { continue };
        let has_no_pair = if cluster.exact { cluster.ctas % 2 == 1 } else { cluster.ctas == 1 };
        if !has_no_pair {
            continue;
        }
        let pair = flow.summary().into_iter().flat_map(|summary| &summary.events).find_map(|event| {
            flow.cta_group(*event).filter(|group| *group == CtaGroup::Two)?;
            flow.decoded(*event)?.qualifiers.get::<CtaGroup>()
        });
        if let Some(group) = pair.filter(|group| reported.insert((group.span, cluster.span))) {
            let ctas = match cluster.ctas {
                1 => "1 CTA".to_owned(),
                ctas => format!("{ctas} CTAs"),
            };
            findings.push(
                Diagnostic::new(
                    Code::CtaGroup2WithoutCluster,
                    group.span,
                    "`.cta_group::2` needs clusters of CTA pairs",
                    "works on a pair of CTAs",
                )
                .label(cluster.span, format!("the cluster has {ctas}"))
                .note("a CTA pair is two CTAs of a cluster whose ranks differ in the last bit (PTX ISA, 9.7.16.5.1)")
                .help("give the cluster an even number of CTAs, or use `.cta_group::1` throughout"),
            );
        }
    }
}
