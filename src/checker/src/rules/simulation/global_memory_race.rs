use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds two accesses to the same bytes of global memory, one of them a write, that nothing orders: in one
    /// cluster, or in two clusters of the grid.
    ///
    /// Within a CTA a barrier orders them. Between CTAs, a thread has to write a flag or a counter with release
    /// semantics (or behind a fence), and another one has to read it with acquire semantics (or before a fence),
    /// in a scope that has both.
    ///
    /// Buffers are looked at only with a launch file, which says where they are; variables of the module always.
    /// Accesses by atomic and other strong
    /// operations of threads are flags and counters, and no race; those of `cp.reduce.async.bulk` are data. Two writes of which it is not known what they write may be
    /// the same. A bulk copy to global memory is over when the thread that started it has waited
    /// (`cp.async.bulk.wait_group`), and one from there when its mbarrier has completed. That a wait with `.read`
    /// waits for less is not looked at.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The reader may get the old bytes, or some of them. The numbers are wrong from time to time.
    ///
    /// ## Example
    /// ```ptx
    /// @first st.global.b32 [part], r1;
    /// @first red.relaxed.gpu.global.add.u32 [count], 1;
    /// @last ld.global.b32 r2, [part];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// @first st.global.b32 [part], r1;
    /// @first red.release.gpu.global.add.u32 [count], 1;
    /// wait:
    /// @last ld.acquire.gpu.global.b32 r3, [count];
    /// @last setp.eq.u32 p, r3, 0;
    /// @p bra wait;
    /// @last ld.global.b32 r2, [part];
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 8 (Memory Consistency Model)
    GlobalMemoryRace Run super::only_in_a_run
}
