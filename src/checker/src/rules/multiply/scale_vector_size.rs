use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::isa::scale_vectors;
use crate::rules::{Checker, Code, rule};
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Checks the scale vector size against the kind, Tables 54 and 55: `1X` and `block32` for mxf8f6f4,
    /// `2X` and `block32` for mxf4, `2X`, `4X`, `block16` and `block32` for mxf4nvf4, for which the size is
    /// required.
    ///
    /// ## Why is this bad?
    /// The assembler refuses other combinations.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Tables 54 and 55
    ScaleVectorSize Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in checker.typed(OperationSet::MULTIPLIES) {
        let Instruction::Mma(mma) = instruction else { continue };
        let kind = mma.kind;
        let allowed = scale_vectors::allowed(kind.value);
        let choices = || list_words(allowed.iter().map(|size| format!("`.{size}`")), "or");
        let finding = match mma.scale_vector_size {
            None if scale_vectors::must_be_stated(kind.value) => Diagnostic::new(
                Code::ScaleVectorSize,
                kind.span,
                format!("`.{}` must state its scale vector size", kind.value),
                "it has no default",
            )
            .help(format!("add {}", choices())),
            Some(size) if !allowed.contains(&size.value) => {
                let finding = Diagnostic::new(
                    Code::ScaleVectorSize,
                    size.span,
                    format!("`.{}` does not go with `.{}`", size.value, kind.value),
                    "wrong scale vector size",
                )
                .label(kind.span, "the kind");
                if allowed.is_empty() {
                    finding.help("remove it: this kind does not scale its inputs")
                } else {
                    finding.help(format!("use {}", choices()))
                }
            }
            // That `.block_scale` is missing is said of the kind.
            None | Some(_) => continue,
        };
        findings.push(finding);
    }
}
