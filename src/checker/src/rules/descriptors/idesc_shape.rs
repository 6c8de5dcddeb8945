use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds M and N in the instruction descriptor that Table 39 does not have for this kind, `.cta_group`,
    /// sparsity and `.ws`.
    ///
    /// ## Why is this bad?
    /// The multiply is an illegal instruction. The assembler does not look into descriptors.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x06200490;
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
    /// PTX ISA, Table 39
    IdescShape Statement |checker, findings| report(checker, Check::Shape, findings)
}
