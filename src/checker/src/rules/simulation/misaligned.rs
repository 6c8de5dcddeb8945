use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds addresses that are not a multiple of the size of the access, and bulk copies whose addresses
    /// or sizes are not multiples of 16 (of tensor copies: 128).
    ///
    /// Also mbarriers that are not at a multiple of 8 bytes, boxes of tensors that do not start at a
    /// multiple of 16 bytes of their row, and responses of `clusterlaunchcontrol.try_cancel` that are not
    /// at a multiple of 16 bytes.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The kernel stops with an error.
    ///
    /// ## Example
    /// ```ptx
    /// ld.shared.b64 rd0, [tile+4];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// ld.shared.b64 rd0, [tile+8];
    /// ```
    ///
    /// ## References
    /// PTX ISA, Data Movement and Conversion Instructions: ld
    Misaligned Run super::only_in_a_run
}
