use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds runs of a kernel in which nothing can move any more: every thread that is left waits for
    /// something that nobody will do. For each role it says what it waits for, what is missing there,
    /// and who has arrived so far.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// A hang has no trace on the card: no message, no address, no line. The usual causes are a
    /// parity that is wrong by one, an arrival count that no number of threads meets, a commit to
    /// another barrier, or slots of a ring that are never given back.
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
