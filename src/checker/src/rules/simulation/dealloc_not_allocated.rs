use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `tcgen05.dealloc` of columns that no `alloc` has returned: a wrong address, a wrong number of
    /// columns, or a second `dealloc`.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The behavior is undefined. Other columns may be allocated twice.
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
