use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds phases of an mbarrier that may end before a thread that waits for the previous phase has seen
    /// that phase end.
    ///
    /// Also arrivals, expected bytes and arriving bytes that are not ordered after the end of the previous
    /// phase. They may count for that phase, and end it too early.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// A thread waits for a parity. After two phases the parity is the same as before, and the thread
    /// continues to wait.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// bar.sync 0;
    /// setp.eq.u32 p, warp, 1;
    /// @p bra wait;
    /// setp.eq.u32 q, tid, 0;
    /// @q mbarrier.arrive.shared::cta.b64 _, [bar];
    /// @q mbarrier.arrive.shared::cta.b64 _, [bar];
    /// bra done;
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// done:
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// bar.sync 0;
    /// setp.eq.u32 p, warp, 1;
    /// @p bra wait;
    /// setp.eq.u32 q, tid, 0;
    /// @q mbarrier.arrive.shared::cta.b64 _, [bar];
    /// bra done;
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// done:
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier
    PhaseOvertaken Run super::only_in_a_run
}
