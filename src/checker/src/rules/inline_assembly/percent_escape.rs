use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::host::PlaceholderError;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds percent signs that nvcc does not accept: `%%` in a statement without operands, where a single
    /// one is a percent sign; `%[name]`; and a letter between the sign and a number (`%r1`) in a statement
    /// with operands, where the percent sign of a register is written `%%`.
    ///
    /// ## Why is this bad?
    /// nvcc refuses the statement, or passes `%%r1` to the assembler, which refuses it.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("{ .reg .b32 %r1; mov.b32 %r1, %1; mov.b32 %0, %r1; }" : "=r"(to) : "r"(from));
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("{ .reg .b32 %%r1; mov.b32 %%r1, %1; mov.b32 %0, %%r1; }" : "=r"(to) : "r"(from));
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.2 (Parameters)
    PercentEscape Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in &checker.unit.fragments {
        for (span, error) in &fragment.placeholder_errors {
            let (message, label, help, text) = match error {
                PlaceholderError::Unlisted(_) => continue,
                PlaceholderError::Doubled => (
                    "`%%` in a statement without operands",
                    "this stays `%%`, which is not PTX",
                    "write `%`: without operands, the template is taken as it is",
                    Some("%".to_owned()),
                ),
                PlaceholderError::Named(index) => (
                    "operands have no names in CUDA",
                    "nvcc knows numbers only",
                    "write `%0` for the first operand, and so on",
                    index.map(|index| format!("%{index}")),
                ),
                PlaceholderError::Modifier(text) => (
                    "a percent sign that is neither an operand's nor escaped",
                    "nvcc takes the letter for a modifier of an operand",
                    "write `%%` for the sign of a register, `%0` for an operand",
                    Some(text.clone()),
                ),
            };
            // The sign is escaped where it has to be.
            let fix = text.map(|text| Fix::safe("Write the sign as nvcc takes it", *span, text));
            findings.push(Diagnostic::new(Code::PercentEscape, *span, message, label).help(help).fix(fix));
        }
    }
}
