use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds multiplies and copies that execute with an invalid descriptor: M, N or types that the kind
    /// does not have, fixed bits with a wrong value, swizzling modes that do not exist.
    ///
    /// `ptx-tc simulate` reports this in a run of the kernel. The simulator applies the rules TC601 to
    /// TC615 to the descriptors that the kernel computes, also in functions and loops, and the finding
    /// names the rule. A descriptor that contains assumed numbers is not checked.
    ///
    /// ## Why is this bad?
    /// The instruction is illegal, or the bits get another meaning. The assembler does not look into
    /// descriptors.
    ///
    /// ## Example
    /// ```ptx
    /// .reqntid 96
    /// mov.u32 m, %ntid.x;
    /// shr.u32 m, m, 4;
    /// shl.b32 m, m, 24;
    /// or.b32 idesc, m, 0x00040010;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, idesc, enable;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reqntid 128
    /// mov.u32 m, %ntid.x;
    /// shr.u32 m, m, 4;
    /// shl.b32 m, m, 24;
    /// or.b32 idesc, m, 0x00040010;
    /// @q tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, idesc, enable;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.4
    InvalidDescriptor Run super::only_in_a_run
}
