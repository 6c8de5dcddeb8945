use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds two accesses to the same bytes of shared memory, one of them a write, that nothing orders: no
    /// barrier, no phase of an mbarrier, no wait for a copy. The finding shows both accesses and the warps
    /// that made them. Writes of equal values are not a race.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The program reads an old or half-written value, perhaps once in a thousand runs. A correct result of
    /// one run proves nothing: the rule reports accesses that could have happened in the other order.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p st.shared.b32 [slot], 7;
    /// ld.shared.b32 r0, [slot];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p st.shared.b32 [slot], 7;
    /// bar.sync 0;
    /// ld.shared.b32 r0, [slot];
    /// ```
    ///
    /// ## References
    /// PTX ISA, Memory Consistency Model
    SharedMemoryRace Run super::only_in_a_run
}
