use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds CTAs that end while asynchronous operations on their memory may be in flight: bulk copies,
    /// multiplies and copies of the tensor core, and responses of `clusterlaunchcontrol.try_cancel` that no
    /// thread has waited for.
    ///
    /// Also CTAs that end while a thread of another CTA of the cluster may access their shared memory, or
    /// arrive at an mbarrier there. Copies that only read the shared memory count under `--strict` only,
    /// because shipped kernels do not wait for the last of them.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The memory of a CTA that has ended belongs to the next one. The remaining copies and multiplies read
    /// or write it from time to time.
    ///
    /// ## Example
    /// ```ptx
    /// setp.ne.u32 p, tid, 0;
    /// @p bra done;
    /// mbarrier.init.shared::cta.b64 [bar], 1;
    /// mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    /// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile], [tile+1024], 128, [bar];
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
    /// PTX ISA, Data Movement and Conversion Instructions: cp.async.bulk
    WorkOutstandingAtExit Run super::only_in_a_run
}
