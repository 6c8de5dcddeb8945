use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds operands of an `asm` statement without a comma between them. Off by default: nvcc accepts
    /// them, and shipped headers contain them.
    ///
    /// ## Why is this bad?
    /// Other CUDA compilers refuse the statement.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(a) "r"(b));
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    /// ```
    ///
    /// ## References
    /// The grammar of extended `asm` statements in GNU C
    MissingComma Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in &checker.unit.fragments {
        for operand in fragment.operands.iter().filter(|operand| operand.lacks_comma) {
            findings.push(
                Diagnostic::new(
                    Code::MissingComma,
                    operand.span,
                    "a comma is missing between operands",
                    "no comma stands before this",
                )
                .fix(Some(Fix::safe("Add the comma", Span::at(operand.span.start), ", "))),
            );
        }
    }
}
