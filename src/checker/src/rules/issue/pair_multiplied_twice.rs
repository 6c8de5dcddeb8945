use std::collections::BTreeSet;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::{CtaGroup, Operation};
use crate::resolve::symbols::Resolution;
use crate::rules::{Checker, Code, rule, through_calls};

rule! {
    /// ## What it does
    /// Finds a `mma`, `cp`, `shift` or `commit` with `.cta_group::2` that both CTAs of a pair certainly
    /// execute: no condition on the path depends on the CTA. A kernel that never reads which CTA it is in
    /// is checked for `mma` only, and only if it allocates for a pair, multiplies, commits, waits and loads
    /// the result.
    ///
    /// ## Why is this bad?
    /// One thread of one CTA of the pair issues the operation for both. If each CTA does, both write the
    /// same cells of Tensor Memory.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .b64 a, .param .b64 b, .param .b32 d) .reqnctapercluster 2
    /// {
    ///     .reg .pred elected, leader;
    ///     .reg .b32 taddr, rank;
    ///     .reg .b64 adesc, bdesc;
    ///     ld.param.b64 adesc, [a];
    ///     ld.param.b64 bdesc, [b];
    ///     ld.param.b32 taddr, [d];
    ///     mov.u32 rank, %cluster_ctarank;
    ///     setp.eq.u32 leader, rank, 0;
    ///     elect.sync _|elected, -1;
    ///     @elected tcgen05.mma.cta_group::2.kind::f16 [taddr], adesc, bdesc, 0x10200490, 0;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .b64 a, .param .b64 b, .param .b32 d) .reqnctapercluster 2
    /// {
    ///     .reg .pred elected, leader;
    ///     .reg .b32 taddr, rank;
    ///     .reg .b64 adesc, bdesc;
    ///     ld.param.b64 adesc, [a];
    ///     ld.param.b64 bdesc, [b];
    ///     ld.param.b32 taddr, [d];
    ///     mov.u32 rank, %cluster_ctarank;
    ///     setp.eq.u32 leader, rank, 0;
    ///     @!leader ret;
    ///     elect.sync _|elected, -1;
    ///     @elected tcgen05.mma.cta_group::2.kind::f16 [taddr], adesc, bdesc, 0x10200490, 0;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.5
    PairMultipliedTwice Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let cluster = checker.launch_bounds(flow.function()).cluster();
        // Where the launch says how large the cluster is, it has a pair at least: `.cta_group::2` needs one.
        if cluster.as_ref().is_some_and(|cluster| !cluster.exact) {
            continue;
        }
        let issued = flow.reached(|event| {
            matches!(
                flow.operation(event),
                Some(
                    Operation::Mma | Operation::MmaWs | Operation::Cp | Operation::Shift | Operation::Commit
                )
            ) && flow.cta_group(event) == Some(CtaGroup::Two)
        });
        if issued.is_empty() {
            continue;
        }
        let is_judged = if knows_rank(checker, &flow) { cluster.is_some() } else { is_whole(&flow) };
        if !is_judged {
            continue;
        }
        let (mut judged, mut reported) = (BTreeSet::new(), BTreeSet::new());
        for reached in issued {
            let event = reached.event;
            // Adjacent instructions have the same cause.
            if !judged.insert(reached.conditions()) {
                continue;
            }
            // How many warps there are does not matter: both CTAs have as many.
            let of_rank = |rank: u32| reached.executes_where_all_get_there(rank);
            if !of_rank(0).zip(of_rank(1)).is_some_and(|(first, second)| first.is_of_same_warp(&second)) {
                continue;
            }
            if !reported.insert(reached.block()) {
                continue;
            }
            let name = flow.operation(event).map_or("", Operation::name);
            let finding = Diagnostic::new(
                Code::PairMultipliedTwice,
                flow.span(event),
                format!("both CTAs of the pair issue this `tcgen05.{name}.cta_group::2`"),
                "no condition on the way selects one CTA",
            );
            let mut finding = through_calls(finding, &reached);
            if let Some(cluster) = &cluster {
                finding = finding.label(cluster.span, format!("the cluster has {} CTAs", cluster.ctas));
            }
            findings.push(
                finding
                    .note(
                        "one thread of one CTA of the pair issues it for both (PTX ISA, 9.7.16.5, Table 46)",
                    )
                    .help("issue it in the CTA whose `%cluster_ctarank` is even"),
            );
        }
    }
}

/// Whether a kernel is more than the one instruction: it allocates for a pair, multiplies, commits, waits, and reads
/// what was computed.
fn is_whole(flow: &Flow<'_>) -> bool {
    let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { return false };
    let has = |operations: &[Operation]| {
        summary.events.iter().any(|event| {
            flow.cta_group(*event) == Some(CtaGroup::Two)
                && flow.operation(*event).is_some_and(|it| operations.contains(&it))
        })
    };
    let deallocs = || summary.events.iter().filter(|it| flow.operation(**it) == Some(Operation::Dealloc));
    let is_before_dealloc = |load: Event| {
        deallocs().any(|it| {
            !flow.is_own(load) || !flow.is_own(*it) || flow.leads_to(load.instruction, it.instruction)
        })
    };
    has(&[Operation::Alloc])
        && has(&[Operation::Mma, Operation::MmaWs])
        && has(&[Operation::Commit])
        && summary.events.iter().any(|event| event.action == Action::MbarrierWait)
        && summary.events.iter().any(|event| flow.load(*event).is_some() && is_before_dealloc(*event))
}

/// Whether a kernel asks which CTA of the cluster it is in.
fn knows_rank(checker: &Checker<'_>, flow: &Flow<'_>) -> bool {
    let unit = checker.unit;
    flow.cfg().instructions().any(|instruction| {
        unit.module.instructions[instruction as usize].operands.range().any(|index| {
            matches!(unit.symbols.operand(index as u32), Resolution::Special(it) if it.register.is_rank())
        })
    })
}
