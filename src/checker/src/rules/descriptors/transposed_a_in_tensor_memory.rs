use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, MatrixA};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds multiplies with A in Tensor Memory whose instruction descriptor transposes A.
    ///
    /// ## Why is this bad?
    /// A matrix in Tensor Memory is row-major; only shared memory has transposed layouts.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 idesc, 0x08208490;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], [taddr2], bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 idesc, 0x08200490;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], [taddr2], bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Table 51
    TransposedAInTensorMemory Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        let MatrixA::TensorMemory(address) = &mma.a else { continue };
        if multiply.facts.transpose_a != Some(true) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::TransposedAInTensorMemory,
                mma.idesc.span(),
                "A is in Tensor Memory and cannot be transposed",
                "the transpose-A bit (bit 15) is set",
            )
            .label(address.span, "A")
            .origins(&checker.origins(decoded, &mma.idesc))
            .help("clear bit 15, or keep A in shared memory"),
        );
    }
}
