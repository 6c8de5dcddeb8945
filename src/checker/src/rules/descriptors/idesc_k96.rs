use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds K = 96 on a target that does not have it, or with sparsity.
    ///
    /// ## Why is this bad?
    /// Only `sm_103a` and `sm_107a` multiply with K = 96, and only dense matrices.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x88400480;
    /// tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 idesc, 0x08200480;
    /// tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.2.1.1
    IdescK96 Statement |checker, findings| report(checker, Check::K96, findings)
}
