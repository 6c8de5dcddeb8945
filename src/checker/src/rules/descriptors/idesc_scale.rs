use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds a scale type or a scale factor id that does not fit the kind and the scale vector size.
    ///
    /// ## Why is this bad?
    /// With `4X` the id must be 0, with `2X` it is 0 or 2. A wrong id selects bytes that are not scale
    /// factors.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x08200490;
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
    /// PTX ISA, Tables 43, 44 and 55
    IdescScale Statement |checker, findings| report(checker, Check::Scale, findings)
}
