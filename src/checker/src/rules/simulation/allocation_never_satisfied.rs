use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `tcgen05.alloc` that waits for columns that no CTA frees, asks for an invalid number of
    /// columns, or for more columns than the previous allocation of the CTA. Also one that comes after a
    /// `tcgen05.relinquish_alloc_permit` of the CTA, or may come after it.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The warp waits forever. A CTA that has given up the permit must not allocate any more, and the
    /// number of columns must not increase from one allocation to the next.
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
