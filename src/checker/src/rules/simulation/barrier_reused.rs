use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds mbarriers that are initialized again or invalidated while they are in use: while a thread
    /// waits for them, an operation in flight will arrive at them, or bytes are expected that have not
    /// arrived. Also other writes to the bytes of an mbarrier.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// Threads that wait for the mbarrier wait forever, or continue at once.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// @p st.shared.b64 [bar], 0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// @p mbarrier.inval.shared::cta.b64 [bar];
    /// @p st.shared.b64 [bar], 0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier
    BarrierReused Run super::only_in_a_run
}
