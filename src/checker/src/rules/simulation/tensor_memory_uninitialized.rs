use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds reads of Tensor Memory that nothing has written: by `tcgen05.ld`, by a multiply that adds to
    /// an accumulator (the first one must leave `enable-input-d` off), or by a multiply whose scale factors
    /// were never copied. A load that reads some columns that were written and some that were not is
    /// reported if a result is computed from the latter.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel. Of results, it looks at the buffers that the
    /// launch writes to files (`out`), and in each at the first element that is not known.
    ///
    /// ## Why is this bad?
    /// Tensor Memory contains what the previous kernel left there.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// shl.b32 r0, warp, 21;
    /// add.u32 r0, r0, taddr;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [r0];
    /// tcgen05.wait::ld.sync.aligned;
    /// bar.sync 0;
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
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [r0];
    /// tcgen05.wait::ld.sync.aligned;
    /// bar.sync 0;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.1
    TensorMemoryUninitialized Run super::only_in_a_run
}
