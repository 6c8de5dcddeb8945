use rustc_hash::FxHashSet;

use crate::analysis::flow::Flow;
use crate::analysis::on_behalf::OnBehalf;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an arrival at an mbarrier by one elected thread of a warp after a store to shared memory that several lanes
    /// of the warp execute, with no `bar.warp.sync` and no barrier between them, where another warp waits for the
    /// arrival and then reads what they have stored. It is silent where anything else that follows the store could tell
    /// the other warp that it is done.
    ///
    /// ## Why is this bad?
    /// An arrival releases what its own thread has done, and what other threads have done before they synchronised with
    /// it. `elect.sync` does not synchronise memory. The other warp may read what was there before the store of another
    /// lane.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 64
    /// {
    ///     .reg .pred done, elected, stores;
    ///     .reg .b32 tid, at, r;
    ///     .shared .align 8 .b64 full;
    ///     .shared .align 4 .b8 values[128];
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 stores, tid, 32;
    ///     mov.u32 at, values;
    ///     @!stores bra WAIT;
    ///     mad.lo.u32 at, tid, 4, at;
    ///     st.shared.b32 [at], tid;
    ///     elect.sync _|elected, -1;
    ///     @elected mbarrier.arrive.shared::cta.b64 _, [full];
    ///     ret;
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ld.shared.b32 r, [values + 64];
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 64
    /// {
    ///     .reg .pred done, elected, stores;
    ///     .reg .b32 tid, at, r;
    ///     .shared .align 8 .b64 full;
    ///     .shared .align 4 .b8 values[128];
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 stores, tid, 32;
    ///     mov.u32 at, values;
    ///     @!stores bra WAIT;
    ///     mad.lo.u32 at, tid, 4, at;
    ///     st.shared.b32 [at], tid;
    ///     bar.warp.sync -1;
    ///     elect.sync _|elected, -1;
    ///     @elected mbarrier.arrive.shared::cta.b64 _, [full];
    ///     ret;
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ld.shared.b32 r, [values + 64];
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *mbarrier.arrive*; *bar.warp.sync*; *Memory Consistency Model*
    ArrivalForOtherLanes Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let mut reported = FxHashSet::default();
        for OnBehalf { arrival, store, wait, read } in flow.arrivals_on_behalf() {
            // What is unrolled has one cause.
            if !reported.insert(arrival.mbarrier) {
                continue;
            }
            let opcode = |at: u32| flow.unit.module.instructions[at as usize].opcode;
            findings.push(
                Diagnostic::new(
                    Code::ArrivalForOtherLanes,
                    opcode(arrival.instruction),
                    "one thread arrives for its warp, and does not wait for what the other lanes store",
                    "releases what this thread has stored, not what the other lanes have",
                )
                .label(flow.span(store), "several lanes store here")
                .label(wait.span, "another warp waits for this arrival alone")
                .label(opcode(read), "and reads here what they store")
                .note(
                    "an arrival releases what its thread has done, and what others have done before they synchronised \
                     with it; `elect.sync` does not synchronise (PTX ISA, *Memory Consistency Model*)",
                )
                .help("put `bar.warp.sync -1;` between the store and the election, or let all lanes arrive"),
            );
        }
    }
}
