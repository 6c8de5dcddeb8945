use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds types of A, B or D in the instruction descriptor that the `.kind` does not have.
    ///
    /// ## Why is this bad?
    /// The multiply is an illegal instruction, or reads the bits as numbers of another type.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x08200110;
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
    /// PTX ISA, Tables 39, 42, 43 and 44
    IdescTypes Statement |checker, findings| report(checker, Check::Types, findings)
}
