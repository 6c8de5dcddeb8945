use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `tcgen05.dealloc` of columns that no `alloc` has returned: another address, another number
    /// of columns, or a second time.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// What it does then is not defined. Other columns may be handed out twice.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    DeallocNotAllocated Run super::only_in_a_run
}
