use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::Instruction;
use crate::instruction::decode::is_scale;
use crate::instruction::form::Problem;
use crate::instruction::index::OperationSet;
use crate::isa::tensor::Restriction;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Checks that `.block_scale`, the block-scaled kinds (`.kind::mxf8f6f4`, `.kind::mxf4`,
    /// `.kind::mxf4nvf4`) and the two scale operands are used together.
    ///
    /// ## Why is this bad?
    /// These kinds multiply A and B by scale matrices, and no other kind does. The assembler refuses the
    /// instruction; older examples of the ISA leave out `.block_scale`.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::mxf8f6f4 [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.10.7 and 9.7.16.10.9.1
    BlockScale Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            let finding = match problem {
                Problem::Absent { span, slot }
                    if slot.restriction == Some(Restriction::BlockScale) && is_scale(slot) =>
                {
                    Diagnostic::new(
                        Code::BlockScale,
                        *span,
                        format!("block scaling needs `{}`", slot.name),
                        "the address of the scale matrix is expected here",
                    )
                    .help("add `[scale-A-tmem], [scale-B-tmem]` before enable-input-d")
                }
                Problem::Unexpected { span, slot }
                    if slot.restriction == Some(Restriction::BlockScale) && is_scale(slot) =>
                {
                    Diagnostic::new(
                        Code::BlockScale,
                        *span,
                        format!("`{}` without block scaling", slot.name),
                        "this kind has no scale matrices",
                    )
                    .help("remove the scale operands, or use a kind that scales, such as `.kind::mxf8f6f4`")
                }
                Problem::Unexpected { span, slot } if slot.restriction == Some(Restriction::BlockScale) => {
                    Diagnostic::new(
                        Code::BlockScale,
                        *span,
                        "block scaling does not go with `disable-output-lane`",
                        "the block-scaled form has no such operand",
                    )
                    .help("remove it")
                }
                _ => continue,
            };
            findings.push(finding);
            // Both scale operands are one mistake.
            break;
        }
    }
    for (_, instruction) in checker.typed(OperationSet::MULTIPLIES) {
        let Instruction::Mma(mma) = instruction else { continue };
        let kind = mma.kind;
        match mma.block_scale {
            None if kind.value.is_block_scaled() => findings.push(
                Diagnostic::new(
                    Code::BlockScale,
                    kind.span,
                    format!("`.{}` requires `.block_scale`", kind.value),
                    "this kind scales its inputs",
                )
                .help("write `.block_scale` behind the kind")
                .fix(Some(Fix::safe("Insert `.block_scale`", Span::at(kind.span.end), ".block_scale"))),
            ),
            Some(block_scale) if !kind.value.is_block_scaled() => findings.push(
                Diagnostic::new(
                    Code::BlockScale,
                    block_scale.span,
                    format!("`.{}` does not take `.block_scale`", kind.value),
                    "this kind has no scale matrices",
                )
                .label(kind.span, "the kind")
                .help("remove `.block_scale` and the scale operands, or use `.kind::mxf8f6f4`, `.kind::mxf4` or `.kind::mxf4nvf4`"),
            ),
            None | Some(_) => {}
        }
    }
}
