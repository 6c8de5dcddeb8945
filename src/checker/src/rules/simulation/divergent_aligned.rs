use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `.aligned` instructions that only a part of a warp comes to, or executes because of their guard.
    /// `bar.sync` is one: it means `barrier.sync.aligned`. So are the loads and stores of Tensor Memory and
    /// the waits for them, its allocation, `ldmatrix`, and `setmaxnreg`.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// `.aligned` promises that all threads of the warp execute the instruction together. What happens
    /// otherwise is not defined: a hang, or a barrier that lets threads pass too early.
    ///
    /// ## Example
    /// ```ptx
    /// and.b32 r0, tid, 1;
    /// setp.eq.u32 p, r0, 0;
    /// @p bar.sync 0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// bar.sync 0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: bar, barrier; sections 9.7.16.7 and
    /// 9.7.16.8
    DivergentAligned Run super::only_in_a_run
}
