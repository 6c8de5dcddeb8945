use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds two accesses to the same lanes and columns of Tensor Memory, one of them a write or a
    /// `dealloc`, that nothing orders.
    ///
    /// A `tcgen05.ld` is complete after its wait, or at the first use of a register that it loads (with
    /// `--strict`, only after its wait). A `tcgen05.st` is complete after its wait. A multiply is complete
    /// after a wait for the mbarrier phase that its commit ends.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// A multiply overwrites the accumulator while a warp still reads it, or a warp reads it before the
    /// multiply is complete. The numbers are wrong from time to time.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// shl.b32 r0, warp, 21;
    /// add.u32 r0, r0, taddr;
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], {tid};
    /// tcgen05.wait::st.sync.aligned;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// shl.b32 r0, warp, 21;
    /// add.u32 r0, r0, taddr;
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], {tid};
    /// tcgen05.wait::st.sync.aligned;
    /// bar.sync 0;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6
    TensorMemoryRace Run super::only_in_a_run
}
