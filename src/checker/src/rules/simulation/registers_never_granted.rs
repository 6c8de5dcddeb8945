use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `setmaxnreg.inc` that asks for more registers than the other warps of the CTA release, and
    /// therefore waits forever. Also `setmaxnreg` that only some warps of a warpgroup execute.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The registers of a multiprocessor are a pool of 65536. Before one warpgroup can get more, another
    /// must release some with `setmaxnreg.dec`. All warps of a warpgroup must execute the same
    /// `setmaxnreg`; otherwise the behavior is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// setmaxnreg.inc.sync.aligned.u32 232;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// setp.lt.u32 p, warp, 8;
    /// @p bra producer;
    /// setmaxnreg.inc.sync.aligned.u32 232;
    /// bra done;
    /// producer:
    /// setmaxnreg.dec.sync.aligned.u32 24;
    /// done:
    /// ```
    ///
    /// ## References
    /// PTX ISA, Miscellaneous Instructions: setmaxnreg
    RegistersNeverGranted Run super::only_in_a_run
}
