use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds a swizzling mode that a transposed matrix of this element width cannot have.
    ///
    /// ## Why is this bad?
    /// Transposed 32-bit elements need 128B swizzling with 32B atomicity, and no other matrix may have it.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b64 bdesc, 0x4000404000010040;
    /// tcgen05.mma.cta_group::1.kind::tf32 [taddr], adesc, bdesc, 0x08210910, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b64 bdesc, 0x2000402000010040;
    /// tcgen05.mma.cta_group::1.kind::tf32 [taddr], adesc, bdesc, 0x08210910, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Table 52
    SmemDescSwizzleType Statement |checker, findings| report(checker, Check::SwizzleType, findings)
}
