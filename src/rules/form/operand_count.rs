use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::form::Problem;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds tcgen05 instructions with too few or too many operands for their form.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7 to 9.7.16.12
    OperandCount Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.instructions {
        let Some(form) = decoded.form else { continue };
        for problem in &decoded.problems {
            match problem {
                Problem::Count { span, found, least, most } => {
                    let takes = match (least, most) {
                        (0, 0) => "no operands".to_owned(),
                        (1, 1) => "1 operand".to_owned(),
                        (least, most) if least == most => format!("{least} operands"),
                        (least, most) => format!("{least} to {most} operands"),
                    };
                    findings.push(
                        Diagnostic::new(
                            Code::OperandCount,
                            *span,
                            format!("this form of `tcgen05.{}` takes {takes}", form.operation),
                            format!("found {found}"),
                        )
                        .help(syntax_help(form, decoded)),
                    );
                }
                Problem::Absent { span, slot } if slot.restriction.is_none() => findings.push(
                    Diagnostic::new(
                        Code::OperandCount,
                        *span,
                        format!("missing operand `{}`", slot.name),
                        format!("{} is due here", slot.class.facts().noun),
                    )
                    .help(syntax_help(form, decoded)),
                ),
                Problem::Unexpected { span, slot } if slot.restriction.is_none() => findings.push(
                    Diagnostic::new(
                        Code::OperandCount,
                        *span,
                        format!("unexpected operand `{}`", slot.name),
                        "this form has no such operand",
                    )
                    .help(syntax_help(form, decoded)),
                ),
                _ => {}
            }
        }
    }
}

fn syntax_help(
    form: &'static crate::isa::tensor::InstructionForm,
    decoded: &crate::instruction::decode::Decoded<'_>,
) -> String {
    let operands: Vec<String> = form
        .present(&decoded.qualifiers)
        .map(|slot| {
            let bare =
                crate::isa::tensor::OperandSlot { when: crate::isa::tensor::Condition::Always, ..*slot };
            bare.syntax()
        })
        .collect();
    if operands.is_empty() {
        return "remove the operands".to_owned();
    }
    format!("with these qualifiers its operands are `{}`", operands.join(", "))
}
