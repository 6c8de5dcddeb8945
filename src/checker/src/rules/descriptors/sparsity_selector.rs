use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds a sparsity selector that is not zero for `.kind::i8` and `.kind::f8f6f4`.
    ///
    /// ## Why is this bad?
    /// These kinds read all columns of the metadata; the selector must be 0.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [taddr], adesc, bdesc, [taddr2], 0x08200015, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [taddr], adesc, bdesc, [taddr2], 0x08200014, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10.8.4
    SparsitySelector Statement |checker, findings| report(checker, Check::SparsitySelector, findings)
}
