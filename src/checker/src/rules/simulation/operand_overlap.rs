use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds multiplies whose matrix descriptor gives two rows or columns of A or B the same address.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// Rows that the kernel stored are not read, and others are read twice: the result is wrong. The stride
    /// or leading dimension byte offset is too small, often because it is in units of another swizzle mode.
    ///
    /// ## Example
    /// The tile has a 128-byte swizzle: eight rows take 1024 bytes. The stride is 128 bytes.
    ///
    /// ```ptx
    /// mov.u32 r1, tile;
    /// @q st.bulk.weak.shared::cta [r1], 16384, 0;
    /// fence.proxy.async.shared::cta;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000400800010000;
    /// setp.ne.u32 enable, tid, tid;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, 0x08040010, enable;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
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
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.4.1
    OperandOverlap Run super::only_in_a_run
}
