use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `.aligned` instructions that only a part of a warp reaches, or that only a part executes
    /// because of a guard. `bar.sync` is such an instruction, as it means `barrier.sync.aligned`. So are
    /// loads, stores, waits and allocations of Tensor Memory, `ldmatrix` and `setmaxnreg`.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// `.aligned` promises that all threads of the warp execute the instruction together. Otherwise the
    /// behavior is undefined: the kernel hangs, or a barrier lets threads pass too early.
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
