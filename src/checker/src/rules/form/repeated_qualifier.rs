use crate::diagnostic::{Diagnostic, Findings, Fix, Ptxas};
use crate::instruction::form::Problem;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds qualifiers that are written twice, or two that exclude each other.
    ///
    /// ## Why is this bad?
    /// An instruction takes at most one qualifier of a group: one `.kind`, one shape, one `.cta_group`. The
    /// assembler refuses the second, except a second `.sync` or `.NaN`, which it ignores.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.wait::st.sync.aligned.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.wait::st.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7 to 9.7.16.12
    RepeatedQualifier Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            let Problem::Repeated { qualifier, first } = problem else { continue };
            let word = qualifier.value.spelling();
            let same = qualifier.value == first.value;
            let finding = if same {
                Diagnostic::new(
                    Code::RepeatedQualifier,
                    qualifier.span,
                    format!("repeated qualifier `.{word}`"),
                    "given a second time",
                )
                .help("remove one of them")
                .fix(Some(Fix::safe(
                    format!("Remove the second `.{word}`"),
                    qualifier.span,
                    "",
                )))
            } else {
                let title = qualifier.value.slot().title();
                Diagnostic::new(
                    Code::RepeatedQualifier,
                    qualifier.span,
                    format!("two qualifiers for {title}"),
                    format!("`.{word}` excludes `.{}`", first.value.spelling()),
                )
                .help("keep one of them")
            };
            let overlooked = decoded.form.is_some_and(|form| problem.is_harmless(form));
            findings.push(finding.label(first.span, "first given here").ptxas(if overlooked {
                Ptxas::Silent
            } else {
                Ptxas::Rejects
            }));
        }
    }
}
