use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds named barriers whose users give different numbers of threads, numbers that are not a multiple
    /// of 32, and barriers that do not exist.
    ///
    /// Also warps that arrive at a barrier again although they may not have passed its previous use.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The behavior is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p bar.sync 1, 64;
    /// @!p bar.sync 1, 32;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, warp, 0;
    /// @p bar.sync 1, 64;
    /// @!p bar.sync 1, 64;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: bar, barrier
    NamedBarrierMisuse Run super::only_in_a_run
}
