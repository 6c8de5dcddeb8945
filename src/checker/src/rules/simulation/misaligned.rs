use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds addresses that are no multiple of what is accessed there, and copies in bulk whose
    /// addresses or sizes are no multiples of 16 (of tensors: 128).
    ///
    /// Also mbarriers that are not at a multiple of 8 bytes, boxes of tensors that do not start at a
    /// multiple of 16 bytes of their row, and answers to requests for the work of other clusters that
    /// are not at a multiple of 16 bytes.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
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
