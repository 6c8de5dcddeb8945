use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds reserved bits of the instruction descriptor that are set.
    ///
    /// ## Why is this bad?
    /// Reserved bits must be zero; which bits are reserved depends on the kind. A set bit usually means
    /// that a field was shifted by too little or too much.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x08200450;
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
    IdescReservedBits Statement |checker, findings| report(checker, Check::ReservedBits, findings)
}
