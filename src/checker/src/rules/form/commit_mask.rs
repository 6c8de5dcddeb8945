use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::isa::vocabulary::Multicast;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a multicast `commit` whose known `ctaMask` names no CTA, or a CTA that the cluster of its
    /// kernel does not have.
    ///
    /// ## Why is this bad?
    /// Each bit of the mask is the rank of a CTA whose mbarrier is signaled. Without a bit, nobody learns
    /// that the operations are complete. A CTA that does not exist has no mbarrier.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [mbar], 0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [mbar], 3;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.12.1
    CommitMask Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, instruction) in checker.typed(OperationSet::of(&[Operation::Commit])) {
        let Instruction::Commit(commit) = instruction else { continue };
        let Some(operand) = &commit.cta_mask else { continue };
        let Some(known) = checker.value(decoded, operand) else { continue };
        // Of a register only its own bits are known.
        let width =
            if commit.multicast.is_some_and(|it| it.value == Multicast::Cluster32b) { 32 } else { 16 };
        // Larger masks are reported by another rule.
        if operand.immediate().is_some_and(|mask| mask.value() >> width != 0) {
            continue;
        }
        if known.constant(width) == Some(0) {
            findings.push(
                Diagnostic::new(
                    Code::CommitMask,
                    operand.span(),
                    "the `ctaMask` of a `commit` must name a CTA",
                    "no bit is set",
                )
                .origins(&checker.origins(decoded, operand))
                .help("set the bit of each CTA of the cluster whose mbarrier is to be signalled"),
            );
            continue;
        }
        let Some(cluster) = decoded.function.and_then(|function| checker.launch_bounds(function).cluster())
        else {
            continue;
        };
        // One bit that is certainly set is enough.
        let set = known.value & known.mask & ((1 << width) - 1);
        let Some(rank) = set.checked_ilog2().filter(|rank| u64::from(*rank) >= cluster.ctas) else {
            continue;
        };
        let ctas = match cluster.ctas {
            1 => "1 CTA".to_owned(),
            ctas => format!("{ctas} CTAs"),
        };
        let at_most = if cluster.exact { "" } else { "at most " };
        findings.push(
            Diagnostic::new(
                Code::CommitMask,
                operand.span(),
                "the `ctaMask` of a `commit` must name CTAs of the cluster",
                format!("bit {rank} is set: the CTA of rank {rank}"),
            )
            .origins(&checker.origins(decoded, operand))
            .label(cluster.span, format!("the cluster has {at_most}{ctas}"))
            .help(format!("only bits below bit {} can be set", cluster.ctas)),
        );
    }
}
