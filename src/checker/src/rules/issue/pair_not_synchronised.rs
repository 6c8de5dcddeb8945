use rustc_hash::FxHashSet;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role, first_of_each_cause};
use crate::analysis::peers::FreedForPeer;
use crate::analysis::pending::Pending;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Synchronization;
use crate::isa::vocabulary::{CtaGroup, Operation};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `dealloc` with `.cta_group::2` after an access to Tensor Memory without anything in between
    /// in which the peer CTA could take part: no `barrier.cluster.wait`, no wait on an mbarrier.
    ///
    /// Where other warps load or store than the one that deallocates, it finds a `dealloc` after a barrier of the CTA
    /// if nothing that follows the access can reach another CTA: no arrival at an mbarrier, no barrier of the cluster.
    ///
    /// ## Why is this bad?
    /// The two CTAs free the columns together, and each may still access them when the other one reaches
    /// the `dealloc`. `bar.sync` synchronizes one CTA only. Some shipped kernels rely on `bar.sync`, and on
    /// the wait of `dealloc` itself, so the finding is an info.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 128;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// bar.sync 0;
    /// tcgen05.dealloc.cta_group::2.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 128;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// barrier.cluster.arrive.aligned;
    /// barrier.cluster.wait.aligned;
    /// tcgen05.dealloc.cta_group::2.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    PairNotSynchronised Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let waits_for_cluster = |event: Event| {
            checker.unit.operations.of(event.instruction).synchronization() == Synchronization::ClusterWait
        };
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::MbarrierWait | Action::Acquire | Action::Unknown, _) => Role::Discharge,
            (Action::Barrier, _) => Role::Discharge.only_if(waits_for_cluster(event)),
            (_, Some(Operation::Dealloc)) => {
                Role::Query.only_if(flow.cta_group(event) == Some(CtaGroup::Two))
            }
            (_, Some(operation)) => Role::Gen.only_if(Pending::of(operation).is_some()),
            _ => Role::None,
        };
        let mut reported: FxHashSet<u32> = FxHashSet::default();
        for pair in first_of_each_cause(flow.pairs(role, |_| true)) {
            reported.insert(pair.then.instruction);
            findings.push(finding(&flow, pair.first, pair.then));
        }
        for FreedForPeer { access, frees, barrier } in flow.freed_for_peer(|at| !reported.contains(&at)) {
            let only = "this barrier is one of the own CTA only";
            findings.push(finding(&flow, access, frees).label(flow.span(barrier), only));
        }
    }
}

fn finding(flow: &Flow<'_>, access: Event, frees: Event) -> Diagnostic {
    let name = flow.operation(access).map_or("", Operation::name);
    Diagnostic::new(
        Code::PairNotSynchronised,
        flow.span(frees),
        "the CTAs of the pair are not synchronised before this `tcgen05.dealloc.cta_group::2`",
        "the peer CTA may still access what is deallocated",
    )
    .label(flow.span(access), format!("this `tcgen05.{name}` may be under way in the peer CTA"))
    .note(
        "both CTAs of the pair must synchronise their accesses before they deallocate (PTX ISA, \
         9.7.16.7.1)",
    )
    .help("put `barrier.cluster.arrive` and `barrier.cluster.wait` before the `dealloc`")
}
