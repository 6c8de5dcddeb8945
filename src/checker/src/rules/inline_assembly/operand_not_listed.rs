use crate::diagnostic::{Diagnostic, Findings};
use crate::host::PlaceholderError;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `%N` in a template whose `asm` statement lists fewer operands.
    ///
    /// ## Why is this bad?
    /// nvcc refuses the statement. Operands are counted from 0, outputs first, then inputs.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(a));
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.2 (Parameters)
    OperandNotListed Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in &checker.unit.fragments {
        for (span, error) in &fragment.placeholder_errors {
            let PlaceholderError::Unlisted(index) = error else { continue };
            let listed = match fragment.operands.len() {
                0 => "it lists none".to_owned(),
                1 => "it lists one, number 0".to_owned(),
                count => format!("it lists {count}, from 0 to {}", count - 1),
            };
            findings.push(
                Diagnostic::new(
                    Code::OperandNotListed,
                    *span,
                    format!("the statement has no operand {index}"),
                    listed,
                )
                .label(fragment.keyword, "this statement"),
            );
        }
    }
}
