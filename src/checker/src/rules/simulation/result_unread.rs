use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds multiplies whose result nothing reads, in kernels that read the results of others.
    ///
    /// `ptx-tc simulate` reports this in a run of all clusters of the grid. Multiplies that add to the same
    /// accumulator make one result. It counts as read if a `tcgen05.ld` loads a part of it, or if another
    /// multiply takes it as its matrix A.
    ///
    /// ## Why is this bad?
    /// A part of the output is missing, or work is done for nothing. Often the address of D, or of the load,
    /// is wrong.
    ///
    /// ## Example
    /// ```ptx
    /// add.u32 second, taddr, 16;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [second], adesc, adesc, 0x08040010, enable;
    /// @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// shl.b32 x2, warp, 21;
    /// add.u32 x1, taddr, x2;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {x0}, [x1];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// add.u32 second, taddr, 16;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [second], adesc, adesc, 0x08040010, enable;
    /// @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// shl.b32 x2, warp, 21;
    /// add.u32 x1, taddr, x2;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {x0}, [x1];
    /// add.u32 x2, second, x2;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {x3}, [x2];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10
    ResultUnread Run super::only_in_a_run
}
