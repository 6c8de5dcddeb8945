use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds operands that the template never names. An operand that is only modified (`"+r"`), or that
    /// shares the register of another one, is not reported, and neither is an empty template.
    ///
    /// ## Why is this bad?
    /// Usually the numbers have shifted after an operand was added, and the template uses the wrong ones.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("st.shared.b32 [%0], %1;" :: "r"(address), "r"(value), "r"(old) : "memory");
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("st.shared.b32 [%0], %1;" :: "r"(address), "r"(value) : "memory");
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.2 (Parameters)
    OperandNotUsed Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in checker.unit.fragments.iter().filter(|fragment| fragment.is_complete) {
        for (index, operand) in fragment.operands.iter().enumerate() {
            if operand.uses == 0 && !operand.is_tied && !operand.is_named_otherwise {
                findings.push(Diagnostic::new(
                    Code::OperandNotUsed,
                    operand.span,
                    format!("operand {index} is not used"),
                    "the template does not name it",
                ));
            }
        }
    }
}
