use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds instructions and asynchronous operations that use an mbarrier before it is initialised, or
    /// after it was invalidated.
    ///
    /// Also uses that nothing orders behind the initialisation, as a barrier of the CTA or of the cluster does.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The bytes of the barrier are then whatever stood there.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.arrive.shared::cta.b64 _, [bar];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// @p mbarrier.arrive.shared::cta.b64 _, [bar];
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier
    BarrierUninitialized Run super::only_in_a_run
}
