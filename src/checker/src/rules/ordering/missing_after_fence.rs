use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Role;
use crate::analysis::pending::Pending;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds accesses to Tensor Memory that follow a wait on an mbarrier or a barrier without a
    /// `tcgen05.fence::after_thread_sync` in between.
    ///
    /// ## Why is this bad?
    /// By the ISA, only this fence orders an asynchronous operation after a synchronization. Nearly all
    /// shipped kernels leave it out, so the rule is off by default.
    ///
    /// ## Example
    /// ```ptx
    /// bar.sync 0;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// bar.sync 0;
    /// tcgen05.fence::after_thread_sync;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.3
    MissingAfterFence Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::Unknown, _) | (_, Some(Operation::FenceAfter)) => Role::Kill,
            (Action::MbarrierWait | Action::Barrier, _) => Role::Gen,
            (_, Some(operation)) => Role::Query.only_if(Pending::of(operation).is_some()),
            _ => Role::None,
        };
        for pair in flow.first_pairs(role, |_| true) {
            let name = flow.operation(pair.then).map_or("", Operation::name);
            findings.push(
                Diagnostic::new(
                    Code::MissingAfterFence,
                    flow.span(pair.then),
                    format!("`tcgen05.{name}` follows a synchronisation without `fence::after_thread_sync`"),
                    "not ordered behind it",
                )
                .label(flow.span(pair.first), "synchronises with other threads")
                .note(
                    "an operation behind `fence::after_thread_sync` is ordered after what was synchronised \
                     (PTX ISA, 9.7.16.6.3)",
                )
                .help("put `tcgen05.fence::after_thread_sync;` behind the synchronisation"),
            );
        }
    }
}
