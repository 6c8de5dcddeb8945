use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds instructions and asynchronous operations that use an mbarrier before its initialization, or
    /// after its invalidation.
    ///
    /// Also uses that are not ordered after the initialization. A barrier of the CTA or of the cluster
    /// orders them.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The bytes of an uninitialized mbarrier can have any value.
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
