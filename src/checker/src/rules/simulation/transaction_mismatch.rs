use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds phases of an mbarrier that get another number of bytes than they expect, and counts that are
    /// too large for an mbarrier.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// With too few bytes the phase never ends. With too many, the following phases go wrong.
    ///
    /// ## Example
    /// ```ptx
    /// setp.ne.u32 p, tid, 0;
    /// @p bra done;
    /// mbarrier.init.shared::cta.b64 [bar], 1;
    /// mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
    /// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile], [tile+1024], 128, [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// done:
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.ne.u32 p, tid, 0;
    /// @p bra done;
    /// mbarrier.init.shared::cta.b64 [bar], 1;
    /// mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    /// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile], [tile+1024], 128, [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// done:
    /// ```
    ///
    /// ## References
    /// PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier
    TransactionMismatch Run super::only_in_a_run
}
