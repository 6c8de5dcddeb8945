use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds the swizzling modes 3, 5 and 7, which do not exist.
    ///
    /// ## Why is this bad?
    /// The copy or multiply is an illegal instruction.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b64 adesc, 0x6000404000010040;
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
    /// PTX ISA, Table 40
    SmemDescSwizzle Statement |checker, findings| report(checker, Check::Swizzle, findings)
}
