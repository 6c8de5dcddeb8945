use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds accesses outside of shared memory, of the buffers that the launch file names, of local memory
    /// and of the parameters.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The kernel stops with an error, or silently reads and writes memory that belongs to others.
    ///
    /// ## Example
    /// ```ptx
    /// ld.shared.b32 r0, [tile+32768];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// ld.shared.b32 r0, [tile];
    /// ```
    ///
    /// ## References
    /// PTX ISA, State Spaces, Types, and Variables
    OutOfBounds Run super::only_in_a_run
}
