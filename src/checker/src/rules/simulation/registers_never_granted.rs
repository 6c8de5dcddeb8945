use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `setmaxnreg.inc` that asks for more registers than the other warps of the CTA give away, so
    /// that it waits for good, and `setmaxnreg` that some warps of a warpgroup execute and others do not.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// The registers of a multiprocessor are a pool of 65536. What one warpgroup is to get another has
    /// to give away first, by `setmaxnreg.dec`. All warps of a warpgroup must execute a `setmaxnreg`; what
    /// happens otherwise is not defined.
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
