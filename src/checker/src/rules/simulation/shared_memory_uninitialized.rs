use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds multiplies and copies of the tensor core that read bytes of shared memory which nothing has
    /// written, and elements of a result that are computed from such bytes.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel. Of results, it looks at the buffers that the
    /// launch writes to files (`out`), and in each at the first element that is not known.
    ///
    /// ## Why is this bad?
    /// They read what the previous kernel left there. A stride or a start address is wrong, or a copy
    /// writes less than is read.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// setp.eq.u32 q, tid, 0;
    /// @q mbarrier.init.shared::cta.b64 [bar], 1;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// mov.u32 r1, tile;
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// setp.ne.u32 enable, tid, tid;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, 0x08040010, enable;
    /// @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// bar.sync 0;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// setp.eq.u32 q, tid, 0;
    /// @q mbarrier.init.shared::cta.b64 [bar], 1;
    /// mov.u32 r1, tile;
    /// @q st.bulk.weak.shared::cta [r1], 16384, 0;
    /// fence.proxy.async.shared::cta;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// setp.ne.u32 enable, tid, tid;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, 0x08040010, enable;
    /// @q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// bar.sync 0;
    /// @p tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.4.1
    SharedMemoryUninitialized Run super::only_in_a_run
}
