use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds a state in which every remaining thread waits for something that nobody will do. For each role
    /// of the kernel the finding says what it waits for, what is missing, and who has arrived so far.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// A hang leaves no trace on the GPU: no message, no address, no line. The usual causes are a parity
    /// that is off by one, an arrival count that does not match the number of arriving threads, a commit to
    /// the wrong mbarrier, or a stage of a ring that is never released.
    ///
    /// ## Example
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 2;
    /// bar.sync 0;
    /// @p mbarrier.arrive.shared::cta.b64 _, [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.eq.u32 p, tid, 0;
    /// @p mbarrier.init.shared::cta.b64 [bar], 1;
    /// bar.sync 0;
    /// @p mbarrier.arrive.shared::cta.b64 _, [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier
    Deadlock Run super::only_in_a_run
}
