use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds Tensor Memory that is still allocated when its CTA ends.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The next CTA on the multiprocessor waits for columns that are never freed.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// bar.sync 0;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    TensorMemoryNotFreed Run super::only_in_a_run
}
