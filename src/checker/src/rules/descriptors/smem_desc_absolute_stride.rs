use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds the absolute leading-dimension mode where it is not possible: with another swizzle than 128B,
    /// a transposed matrix, a base offset, or on a target without the mode.
    ///
    /// ## Why is this bad?
    /// The mode exists for K = 96 only, whose 48 bytes do not divide 128.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b64 adesc, 0x4010404000010040;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b64 adesc, 0x4000404000010040;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.3.1.2.1
    SmemDescAbsoluteStride Statement |checker, findings| report(checker, Check::AbsoluteStride, findings)
}
