use rustc_hash::FxHashSet;

use crate::analysis::flow::Flow;
use crate::analysis::pairs::ForOthers;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a multicast `commit` with `.cta_group::2` whose mask is the same in every pair of a cluster of
    /// more than two CTAs, and contains no CTA of the second pair, if the second pair waits for the
    /// mbarrier and nothing else signals it. The kernel must give the size of the cluster with
    /// `.reqnctapercluster`.
    ///
    /// ## Why is this bad?
    /// Each bit of the mask is the rank of a CTA in the cluster, not in the pair. With the mask `3`, every
    /// pair signals the first pair. The mbarriers of the first pair complete a phase too early. Those of
    /// the other pairs never complete one, so these pairs wait forever.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 32 .reqnctapercluster 4
    /// {
    ///     .reg .pred done, elected, leads;
    ///     .reg .b32 rank, odd;
    ///     .reg .b16 mask;
    ///     .shared .align 8 .b64 full;
    ///     mov.u32 rank, %cluster_ctarank;
    ///     and.b32 odd, rank, 1;
    ///     setp.eq.u32 leads, odd, 0;
    ///     mov.b16 mask, 3;
    ///     elect.sync _|elected, -1;
    ///     and.pred elected, elected, leads;
    ///     @elected tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [full], mask;
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 32 .reqnctapercluster 4
    /// {
    ///     .reg .pred done, elected, leads;
    ///     .reg .b32 rank, odd, first, both;
    ///     .reg .b16 mask;
    ///     .shared .align 8 .b64 full;
    ///     mov.u32 rank, %cluster_ctarank;
    ///     and.b32 odd, rank, 1;
    ///     setp.eq.u32 leads, odd, 0;
    ///     and.b32 first, rank, 0xFFFFFFFE;
    ///     shl.b32 both, 3, first;
    ///     cvt.u16.u32 mask, both;
    ///     elect.sync _|elected, -1;
    ///     and.pred elected, elected, leads;
    ///     @elected tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [full], mask;
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.12.1
    CommitForAnotherPair Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let mut reported = FxHashSet::default();
        for ForOthers { commit, operand, mask, wait, rank, cluster } in flow.commits_for_other_pairs() {
            // Unrolled copies have one cause.
            if !reported.insert(wait.instruction) {
                continue;
            }
            let decoded = flow.event_at(commit.instruction).and_then(|event| flow.decoded(event));
            let origins = decoded.map_or_else(Vec::new, |decoded| checker.origins(decoded, operand));
            findings.push(
                Diagnostic::new(
                    Code::CommitForAnotherPair,
                    operand.span(),
                    format!("the pair of the CTAs {rank} and {} commits to other pairs only", rank + 1),
                    format!("the mask is {mask:#b} in every CTA: {}", named(mask)),
                )
                .origins(&origins)
                .label(wait.span, "the pair waits for this one, and nothing signals it there")
                .label(cluster.span, format!("the cluster has {} CTAs", cluster.ctas))
                .note("each bit of the mask is the rank of a CTA in its cluster, `%cluster_ctarank`, not in its pair")
                .help("shift the mask to the pair: `3 << (%cluster_ctarank & ~1)`"),
            );
        }
    }
}

/// The CTAs that a mask names.
fn named(mask: u64) -> String {
    let ranks: Vec<String> =
        (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
    match &ranks[..] {
        [only] => format!("CTA {only}"),
        [others @ .., last] => format!("CTAs {} and {last}", others.join(", ")),
        [] => "no CTA".to_owned(),
    }
}
