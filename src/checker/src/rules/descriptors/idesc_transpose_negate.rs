use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds a transpose or negate bit that the kind does not have, and an N that a transposed B of 8-bit
    /// elements cannot have.
    ///
    /// ## Why is this bad?
    /// `i8` cannot negate, the mxf4 kinds cannot transpose, and a transposed B of 8-bit elements needs N in
    /// steps of 16 for each CTA.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x082024a0;
    /// tcgen05.mma.cta_group::1.kind::i8 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 idesc, 0x082004a0;
    /// tcgen05.mma.cta_group::1.kind::i8 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Tables 49 and 50
    IdescTransposeNegate Statement |checker, findings| report(checker, Check::TransposeNegate, findings)
}
