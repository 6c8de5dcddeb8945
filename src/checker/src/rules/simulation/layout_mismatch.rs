use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds matrices that are read in another swizzling mode than the one in which a tensor copy wrote
    /// them. Also elements of 4 bits that are written packed and read as one byte each, or the reverse.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel whose tensor maps are known.
    ///
    /// ## Why is this bad?
    /// The multiply reads its elements from the wrong locations. The result is wrong, and nothing else
    /// shows it.
    ///
    /// ## Example
    /// ```ptx
    /// @q tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 2;
    /// @q cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [rd0, {0, 0}], [bar];
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, 0x08040010, enable;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// @q tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 3;
    /// @q cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [rd0, {0, 0}], [bar];
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, 0x08040010, enable;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.4.1
    LayoutMismatch Run super::only_in_a_run
}
