use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds braces that a template does not close, and braces that it closes without having opened them.
    ///
    /// ## Why is this bad?
    /// The code after the statement is inside its scope, or outside of another one, wherever the compiler
    /// places it. An optimization can separate two statements that share a scope.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p trap;" :: "r"(failed));
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p trap; }" :: "r"(failed));
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.3.1 (Namespace Conflicts)
    ScopeNotClosed Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in checker.unit.fragments.iter().filter(|fragment| fragment.is_complete) {
        for brace in &fragment.stray_braces {
            let (message, label) = if checker.unit.source.slice(*brace) == "{" {
                ("the template does not close this scope", "a `}` is missing")
            } else {
                ("the template closes a scope that it did not open", "no `{` is open here")
            };
            findings.push(Diagnostic::new(Code::ScopeNotClosed, *brace, message, label));
        }
    }
}
