use std::cell::LazyCell;

use crate::analysis::pending::{Transfer, stores_unordered};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::ordering::must_be_waited_for;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a signal after a `tcgen05.ld` without a `wait::ld` in between, if another warp waits for the
    /// signal and then writes the loaded columns. Also a signal after a `tcgen05.st` without a `wait::st`
    /// in between, if the other warp then accesses the stored columns.
    ///
    /// Signals are `mbarrier.arrive`, `tcgen05.commit`, `bar.sync`, `bar.arrive` and
    /// `barrier.cluster.arrive`. A load is complete when an instruction has read one of its registers.
    /// `signal-before-wait` reports an `mbarrier.arrive` if it is unknown which warp it signals.
    ///
    /// ## Why is this bad?
    /// The other warp may be faster: the load then reads what is written later, or the stored values are
    /// missing.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred p, done;
    ///     .reg .b32 taddr, tid, r0;
    ///     .reg .b64 out;
    ///     .shared .align 8 .b64 free;
    ///     mov.b32 taddr, 0;
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 p, tid, 32;
    ///     @p bra WAIT;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    ///     mbarrier.arrive.shared::cta.b64 _, [free];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     st.global.b32 [out], r0;
    ///     ret;
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [free], 0;
    ///     @!done bra WAIT;
    ///     tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {tid};
    ///     tcgen05.wait::st.sync.aligned;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred p, done;
    ///     .reg .b32 taddr, tid, r0;
    ///     .reg .b64 out;
    ///     .shared .align 8 .b64 free;
    ///     mov.b32 taddr, 0;
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 p, tid, 32;
    ///     @p bra WAIT;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     mbarrier.arrive.shared::cta.b64 _, [free];
    ///     st.global.b32 [out], r0;
    ///     ret;
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [free], 0;
    ///     @!done bra WAIT;
    ///     tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {tid};
    ///     tcgen05.wait::st.sync.aligned;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.4.4
    HandedOverBeforeWait Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        let unordered = LazyCell::new(|| stores_unordered(&flow));
        for handover in flow.handovers() {
            let Some(then) = handover.then else { continue };
            // What the same thread needs the wait for is an error of its own.
            if handover.transfer == Transfer::Store && unordered.contains(&handover.pair.first.instruction) {
                continue;
            }
            let name = flow.operation(handover.pair.first).map_or("", Operation::name);
            let wait = handover.transfer.wait();
            let does = match handover.transfer {
                Transfer::Load => "writes",
                Transfer::Store => "reads or writes",
            };
            let opcode = flow.unit.module.instructions[handover.pair.then.instruction as usize].opcode;
            let signal = flow.unit.source.slice(opcode);
            findings.push(
                Diagnostic::new(
                    Code::HandedOverBeforeWait,
                    flow.span(handover.pair.then),
                    format!(
                        "columns are handed over to another warp before the `tcgen05.{name}` is waited for"
                    ),
                    "hands them over",
                )
                .label(flow.span(handover.pair.first), "may still be under way")
                .label(flow.span(then), format!("{does} there, behind a wait for this signal"))
                .note(must_be_waited_for(name))
                .help(format!("put `tcgen05.{wait}.sync.aligned;` before the `{signal}`")),
            );
        }
    }
}
