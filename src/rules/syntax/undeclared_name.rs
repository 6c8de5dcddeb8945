use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::form::Problem;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds registers, variables and guards of tcgen05 instructions that no declaration in an
    /// enclosing scope declares before their use.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. `.reg .b32 %r<10>;` declares `%r0` to `%r9`, and a name
    /// ends with the `}` of its scope.
    ///
    /// ## Example
    /// ```ptx
    /// { .reg .b32 tmp; }
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {tmp}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reg .b32 tmp;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {tmp}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 5 (State Spaces, Types, and Variables)
    UndeclaredName Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.instructions {
        for problem in &decoded.problems {
            let Problem::Undeclared { span, guard } = problem else { continue };
            let name = checker.unit.source.slice(*span);
            let (what, declaration) = if *guard { ("guard", "pred") } else { ("operand", "b32") };
            findings.push(
                Diagnostic::new(
                    Code::UndeclaredName,
                    *span,
                    format!("undeclared name `{name}`"),
                    format!("this {what} is declared in no scope around it"),
                )
                .help(format!("declare it before its use, as in `.reg .{declaration} {name};`")),
            );
        }
    }
}
