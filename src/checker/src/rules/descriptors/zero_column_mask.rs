use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds zero-column mask descriptors with reserved bits or with a column shift that is too large.
    ///
    /// ## Why is this bad?
    /// Columns are shifted by at most 16 with M = 32 and by at most 32 otherwise.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.ws.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x02200490, p, 0x1100000000000000;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.ws.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x02200490, p, 0x1000000000000000;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Table 45
    ZeroColumnMask Statement |checker, findings| report(checker, Check::ZeroColumnMask, findings)
}
