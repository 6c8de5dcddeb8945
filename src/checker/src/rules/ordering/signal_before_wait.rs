use rustc_hash::FxHashSet;

use crate::analysis::events::Event;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::ordering::must_be_waited_for;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an `mbarrier.arrive` after a `tcgen05.st` without a `wait::st` in between, or after a
    /// `tcgen05.ld` without a `wait::ld` in between whose registers are read only later. If another warp is
    /// known to write the loaded columns then, or to access the stored ones, `handed-over-before-wait`
    /// reports it instead.
    ///
    /// ## Why is this bad?
    /// A thread must wait for its operations before it signals another thread that may access the same
    /// Tensor Memory. Some shipped kernels do not wait, so the finding is an info.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// mbarrier.arrive.shared::cta.b64 _, [mbar];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// tcgen05.wait::st.sync.aligned;
    /// mbarrier.arrive.shared::cta.b64 _, [mbar];
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.4.4
    SignalBeforeWait Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        let block = |event: Event| flow.cfg().block_of(event.instruction);
        // If the next thread is known, another rule reports it; then other receivers of the signal do not matter.
        let known = flow.handovers().iter().filter(|it| it.then.is_some());
        let known: FxHashSet<_> = known.map(|it| (it.transfer, block(it.pair.first))).collect();
        for handover in flow.handovers() {
            if known.contains(&(handover.transfer, block(handover.pair.first))) {
                continue;
            }
            let name = flow.operation(handover.pair.first).map_or("", Operation::name);
            let wait = handover.transfer.wait();
            findings.push(
                Diagnostic::new(
                    Code::SignalBeforeWait,
                    flow.span(handover.pair.then),
                    format!("an mbarrier is signalled before the `tcgen05.{name}` is waited for"),
                    "signals another thread",
                )
                .label(flow.span(handover.pair.first), "may still be under way")
                .note(must_be_waited_for(name))
                .help(format!("put `tcgen05.{wait}.sync.aligned;` before the `mbarrier.arrive`")),
            );
        }
    }
}
