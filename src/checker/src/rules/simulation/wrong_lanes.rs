use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `tcgen05.ld` and `tcgen05.st` of lanes that belong to another warp of the warpgroup.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel. In shipped kernels all warps name the first
    /// 32 lanes, or count lanes over all warpgroups, and each warp accesses its own lanes. That is a
    /// finding under `--strict` only.
    ///
    /// ## Why is this bad?
    /// A warp can access only the 32 lanes that its number modulo 4 selects. The result of other accesses
    /// is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// shl.b32 r0, warp, 22;
    /// add.u32 r0, r0, taddr;
    /// @!p tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], {tid};
    /// @!p tcgen05.wait::st.sync.aligned;
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
    /// @!p tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], {tid};
    /// @!p tcgen05.wait::st.sync.aligned;
    /// bar.sync 0;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.8.1
    WrongLanes Run super::only_in_a_run
}
