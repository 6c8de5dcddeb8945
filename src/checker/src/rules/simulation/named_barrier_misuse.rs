use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds barriers of the CTA whose users name different numbers of threads, numbers that are no
    /// multiple of 32, and barriers that do not exist.
    ///
    /// Also warps that come to a barrier again when nothing says that it was passed the last time.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// What happens then is not defined.
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
