use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `tcgen05.alloc` that waits for columns that nobody frees, asks for a number of columns
    /// that cannot be allocated or for more than an allocation of the CTA before it, or comes after a
    /// `tcgen05.relinquish_alloc_permit` of the CTA, or may.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The warp waits for good. A CTA that has given up the right to allocate must not allocate any more, and the number
    /// of columns must not increase from one allocation to the next.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot2], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 512;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 512;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    AllocationNeverSatisfied Run super::only_in_a_run
}
