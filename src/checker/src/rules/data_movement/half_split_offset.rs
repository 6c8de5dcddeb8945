use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::instruction::form::Problem;
use crate::isa::tensor::Restriction;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Checks `immHalfSplitoff`: only the shape `.16x32bx2` has it, and it is an immediate.
    ///
    /// ## Why is this bad?
    /// `.16x32bx2` makes two accesses; the second one is `immHalfSplitoff` columns further. The assembler
    /// refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {r0}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {r0}, [taddr], 16;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.8.3 and 9.7.16.8.4
    HalfSplitOffset Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            let finding = match problem {
                Problem::Absent { span, slot } if slot.restriction == Some(Restriction::HalfSplitOffset) => {
                    missing(*span)
                }
                Problem::Unexpected { span, slot }
                    if slot.restriction == Some(Restriction::HalfSplitOffset) =>
                {
                    let before = Span::new(previous_end(decoded, *span), span.end);
                    Diagnostic::new(
                        Code::HalfSplitOffset,
                        *span,
                        "`immHalfSplitoff` without the shape `.16x32bx2`",
                        "this shape makes one access",
                    )
                    .help("remove the operand, or use the shape `.16x32bx2`")
                    .fix(Some(Fix::guess("Remove the operand", before, "")))
                }
                Problem::Kind { span, slot, found, .. }
                    if slot.restriction == Some(Restriction::HalfSplitOffset) =>
                {
                    Diagnostic::new(
                        Code::HalfSplitOffset,
                        *span,
                        "`immHalfSplitoff` must be an immediate",
                        format!("found {found}"),
                    )
                    .help("write a number of columns")
                }
                _ => continue,
            };
            findings.push(finding);
        }
    }
}

fn missing(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::HalfSplitOffset,
        span,
        "the shape `.16x32bx2` needs `immHalfSplitoff`",
        "the offset of the second half is expected here",
    )
    .help("add the offset in columns: behind the address, as in `[taddr], 16`")
}

/// Where the operand before the comma ends.
fn previous_end(decoded: &Decoded<'_>, span: Span) -> u32 {
    let ends = decoded.operands.iter().map(|bound| bound.span.end);
    ends.filter(|&end| end <= span.start).max().unwrap_or(span.start)
}
