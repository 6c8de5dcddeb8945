use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds the saturate bit outside `.kind::i8`, and a maximum shift without `.ws`.
    ///
    /// ## Why is this bad?
    /// These fields have no meaning there and must be zero.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x08200498;
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
    /// PTX ISA, Table 42
    IdescSaturateShift Statement |checker, findings| report(checker, Check::SaturateShift, findings)
}
