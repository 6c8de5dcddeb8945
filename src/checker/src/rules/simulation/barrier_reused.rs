use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds mbarriers that are initialised again or invalidated while a thread waits for them, work
    /// under way will complete them, or bytes are expected that have not come, and bytes of mbarriers that
    /// are written by something else.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// Whoever waits for the barrier never goes on, or goes on at once.
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
