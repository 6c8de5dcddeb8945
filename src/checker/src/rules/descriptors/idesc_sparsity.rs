use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds a sparsity bit in the instruction descriptor that differs from `.sp`.
    ///
    /// ## Why is this bad?
    /// The bit and the qualifier must agree.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x08200494;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 idesc, 0x08200490;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Tables 42, 43 and 44
    IdescSparsity Statement |checker, findings| report(checker, Check::Sparsity, findings)
}
