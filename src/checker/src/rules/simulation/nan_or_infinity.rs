use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds instructions that make NaN of operands of which none is NaN, and infinity of finite ones: in arithmetic,
    /// conversions and multiplies of the tensor core. Instructions that pass NaN or infinity on are not reported.
    ///
    /// `ptx-tc simulate --severity SIM508=warning` reports this in a run of the kernel.
    ///
    /// ## Why is this bad?
    /// One NaN spreads through a reduction to a whole row. Where it comes from is far from where it shows. Some
    /// kernels make infinities on purpose, and so the rule is off by default.
    ///
    /// ## Example
    /// Half precision has no number above 65504.
    ///
    /// ```ptx
    /// mov.f32 sum, 0f48000000;
    /// cvt.rn.f16.f32 half, sum;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.f32 sum, 0f48000000;
    /// cvt.rn.satfinite.f16.f32 half, sum;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Floating-Point Instructions; Data Movement and Conversion Instructions: cvt
    NanOrInfinity Run super::only_in_a_run
}
