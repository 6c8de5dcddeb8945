use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds more arrivals at an mbarrier than its phase expects.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The pending count of the mbarrier wraps around. Threads that wait for the phase wait forever.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    /// @p mbarrier.arrive.shared::cta.b64 _, [bar];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 2;
    /// @p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    /// @p mbarrier.arrive.shared::cta.b64 _, [bar];
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier
    ArrivalOverflow Run super::only_in_a_run
}
