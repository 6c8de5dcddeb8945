use crate::diagnostic::{Diagnostic, Findings, Ptxas};
use crate::instruction::form::Problem;
use crate::isa::tensor::{OperandClass, Restriction};
use crate::isa::vocabulary::{Kind, Slot};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `scale-input-d` with a kind other than f16 and tf32.
    ///
    /// ## Why is this bad?
    /// Only these two kinds can scale the accumulator on input. The assembler refuses the others, except
    /// `.kind::i8`: there it accepts the operand, whose effect is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f8f6f4 [taddr], adesc, bdesc, idesc, p, 1;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f8f6f4 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10.9.1
    ScaleInputD Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            let Problem::Unexpected { span, slot } = problem else { continue };
            if slot.restriction != Some(Restriction::ScaleInputD) {
                continue;
            }
            let kind = decoded.qualifiers.get::<Kind>();
            let name = kind.map_or("this form", |kind| kind.value.into());
            let mut finding = Diagnostic::new(
                Code::ScaleInputD,
                *span,
                format!("`.{name}` does not take `scale-input-d`"),
                "only `.kind::f16` and `.kind::tf32` do",
            )
            .help("remove the operand");
            if let Some(kind) = kind {
                finding = finding.label(kind.span, "the kind");
            }
            // Errata E15: the assembler overlooks it on integers, but not on sparse ones with a
            // lane mask.
            let masked = decoded.operands.iter().any(|bound| bound.slot.class == OperandClass::LaneMask);
            let sparse = decoded.qualifiers.in_slot(Slot::Sparse).is_some();
            let overlooked = kind.is_some_and(|kind| kind.value == Kind::I8) && !(masked && sparse);
            findings.push(finding.ptxas(if overlooked { Ptxas::Silent } else { Ptxas::Rejects }));
        }
    }
}
