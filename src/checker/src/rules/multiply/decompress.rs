use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::isa::vocabulary::Kind;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Checks `.decompress::lut::b`: the kind must be f8f6f4 or mxf8f6f4, without `.sp` and without
    /// `.ashift`.
    ///
    /// ## Why is this bad?
    /// Only the 8-bit paths can decompress B through a lookup table. The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.4
    /// .target sm_107a
    /// .entry k() {
    ///     .reg .b32 taddr, meta, idesc;
    ///     .reg .b64 adesc, bdesc;
    ///     tcgen05.mma.cta_group::1.kind::f16.decompress::lut::b [taddr], adesc, bdesc, [meta], idesc, 1;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.4
    /// .target sm_107a
    /// .entry k() {
    ///     .reg .b32 taddr, meta, idesc;
    ///     .reg .b64 adesc, bdesc;
    ///     tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b [taddr], adesc, bdesc, [meta], idesc, 1;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA 9.4, section 9.7.18.10.9.1
    Decompress Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::MULTIPLIES) {
        let Instruction::Mma(mma) = instruction else { continue };
        let Some(decompress) = mma.decompress else { continue };
        let finding = |message: String| {
            Diagnostic::new(Code::Decompress, decompress.span, message, "decompresses B through a table")
        };
        if !matches!(mma.kind.value, Kind::F8f6f4 | Kind::Mxf8f6f4) {
            findings.push(
                finding(format!("`.{}` does not go with `.{}`", mma.kind.value, decompress.value))
                    .label(mma.kind.span, "the kind")
                    .help("use `.kind::f8f6f4` or `.kind::mxf8f6f4`, or remove the decompression and its operand"),
            );
        }
        let others = [mma.sparse.map(|it| (it.span, "sp")), mma.ashift.map(|it| (it.span, "ashift"))];
        for (span, word) in others.into_iter().flatten() {
            findings.push(
                finding(format!("`.{word}` does not go with `.{}`", decompress.value))
                    .label(span, "not with decompression")
                    .help("remove one of the two"),
            );
        }
    }
}
