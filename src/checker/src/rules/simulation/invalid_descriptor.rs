use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds multiplies and copies that are executed with descriptors that mean nothing: M, N or types that
    /// the kind does not have, fixed bits of another value, swizzling modes that do not exist.
    ///
    /// `ptx-tc simulate` finds it, in a run of the kernel: also where a function makes the word, or a loop. It
    /// is what TC601 to TC615 find in words that follow from the text, and the finding says which of them it
    /// is. A word that is made of numbers that nobody said is not judged.
    ///
    /// ## Why is this bad?
    /// The instruction is illegal, or takes the bits for something else. The assembler does not look into
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
