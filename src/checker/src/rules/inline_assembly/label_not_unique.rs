use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};
use crate::syntax::ast::StatementKind;

rule! {
    /// ## What it does
    /// Finds labels in a template that are neither inside braces nor contain a part that differs for each
    /// use of the template (`%=`, in LLVM `${:uid}`).
    ///
    /// ## Why is this bad?
    /// If the surrounding function is inlined twice, or unrolled, the kernel has two labels with one name,
    /// and the assembler refuses it.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("AGAIN: nanosleep.u32 32; bra AGAIN;" ::: "memory");
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("{ AGAIN: nanosleep.u32 32; bra AGAIN; }" ::: "memory");
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.3.1 (Namespace Conflicts)
    LabelNotUnique Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in checker.unit.fragments.iter().filter(|it| !it.has_unique_labels) {
        let mut depth = 0;
        for statement in checker.unit.statements_in(fragment.body) {
            match statement.kind() {
                StatementKind::BlockOpen => depth += 1,
                StatementKind::BlockClose => depth -= 1,
                StatementKind::Label if depth <= 0 => findings.push(
                    Diagnostic::new(
                        Code::LabelNotUnique,
                        statement.span,
                        format!("label `{}` is not unique", checker.unit.source.slice(statement.span)),
                        "where this is used twice in a kernel, it is defined twice",
                    )
                    .help(
                        "put the template between `{` and `}`, or add `%=` (in LLVM `${:uid}`) to the label",
                    ),
                ),
                _ => {}
            }
        }
    }
}
