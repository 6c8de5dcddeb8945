use super::{syntax_help, takes};
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::instruction::form::Problem;
use crate::isa::tensor::InstructionForm;
use crate::isa::vocabulary::{Qualifier, Sparse};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

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
    for decoded in checker.with_problems() {
        let Some(form) = decoded.form else { continue };
        for problem in &decoded.problems {
            match problem {
                Problem::Count { span, .. } if checker.unit.missing_end(span.start).is_some() => {
                    let Some(end) = checker.unit.missing_end(span.start) else { continue };
                    let finding = Diagnostic::new(
                        Code::OperandCount,
                        Span::at(end),
                        "a `;` is missing",
                        format!("`tcgen05.{}` is not ended here", form.operation),
                    )
                    .label(*span, "this is read as an operand of it");
                    findings.push(finding.fix(Some(Fix::safe("Insert `;`", Span::at(end), ";"))));
                }
                Problem::Count { span, found, least, most } => {
                    let takes = takes(*least, *most);
                    findings.push(
                        Diagnostic::new(
                            Code::OperandCount,
                            *span,
                            format!("this form of `{}` takes {takes}", name(form, decoded)),
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
                        format!("{} is expected here", slot.class.facts().noun),
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

/// The instruction as the ISA calls this form.
fn name(form: &InstructionForm, decoded: &Decoded<'_>) -> String {
    let sparse = if decoded.qualifiers.has(Qualifier::Sparse(Sparse::Sp)) { ".sp" } else { "" };
    format!("tcgen05.{}{sparse}", form.operation)
}
