use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds `.ashift` with an M other than 128 or 256.
    ///
    /// ## Why is this bad?
    /// The rows of A can be shifted only if they fill the datapath.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x04200490;
    /// tcgen05.mma.cta_group::1.kind::f16.ashift [taddr], [taddr2], bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 idesc, 0x08200490;
    /// tcgen05.mma.cta_group::1.kind::f16.ashift [taddr], [taddr2], bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10.9.1
    IdescAshiftM Statement |checker, findings| report(checker, Check::AshiftM, findings)
}
