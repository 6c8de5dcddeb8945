use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds bytes of shared memory that a thread writes, and that a bulk copy or the tensor core reads
    /// later, in order but without a `fence.proxy.async` after the write.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// Threads write through the generic proxy. Copies and multiplies read through the async proxy. Without
    /// a proxy fence in between, they may read the old bytes. `fence.proxy.async.global` does not order shared
    /// memory, and `fence.proxy.async::generic.acquire` does not order what its own thread wrote.
    ///
    /// ## Example
    /// ```ptx
    /// setp.ne.u32 p, tid, 0;
    /// @p bra done;
    /// mbarrier.init.shared::cta.b64 [bar], 1;
    /// st.shared.v4.b32 [tile], {tid, tid, tid, tid};
    /// mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
    /// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile+1024], [tile], 16, [bar];
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
    /// st.shared.v4.b32 [tile], {tid, tid, tid, tid};
    /// fence.proxy.async.shared::cta;
    /// mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;
    /// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile+1024], [tile], 16, [bar];
    /// wait:
    /// mbarrier.try_wait.parity.shared::cta.b64 q, [bar], 0;
    /// @!q bra wait;
    /// done:
    /// ```
    ///
    /// ## References
    /// PTX ISA, Memory Consistency Model: Proxies
    ProxyFenceMissing Run super::only_in_a_run
}
