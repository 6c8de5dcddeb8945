use crate::diagnostic::{Applicability, Diagnostic, Edit, Findings, Fix, Ptxas};
use crate::instruction::form::Problem;
use crate::rules::{Checker, Code, rule};
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds qualifiers that no tcgen05 instruction has: misspellings, wrong case, `:` instead of `::`.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. It silently ignores a few qualifiers of other instructions.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::fp16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16
    UnknownQualifier Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            match problem {
                Problem::UnknownQualifier { span, similar, ignored_by_ptxas } => {
                    let word = checker.unit.source.slice(*span);
                    let mut finding = Diagnostic::new(
                        Code::UnknownQualifier,
                        *span,
                        format!("unknown qualifier `{word}`"),
                        "no tcgen05 instruction has this",
                    );
                    if !similar.is_empty() {
                        let words = similar.iter().map(|choice| format!("`.{}`", choice.spelling()));
                        finding = finding.help(format!("did you mean {}?", list_words(words, "or")));
                    }
                    if let [only] = similar.as_slice() {
                        let replacement = format!(".{}", only.spelling());
                        finding = finding.fix(Some(Fix::safe(
                            format!("Write `{replacement}`"),
                            *span,
                            replacement,
                        )));
                    }
                    if *ignored_by_ptxas {
                        finding = finding.ptxas(Ptxas::Silent);
                        finding.fix = Some(Fix::safe(format!("Remove `{word}`"), *span, ""));
                        finding.help = Some("the assembler ignores it: remove it".to_owned());
                    }
                    findings.push(finding);
                }
                Problem::Misplaced { span, operation } => {
                    let word = checker.unit.source.slice(*span);
                    findings.push(
                        Diagnostic::new(
                            Code::UnknownQualifier,
                            *span,
                            format!("misplaced `{word}`"),
                            "this is part of the operation's name, not a qualifier",
                        )
                        .help(format!("write `tcgen05.{operation}` and then the qualifiers"))
                        .fix(Some(Fix {
                            applicability: Applicability::Safe,
                            title: format!("Write `tcgen05.{operation}`"),
                            edits: vec![
                                Edit { span: decoded.name, text: format!("tcgen05.{operation}") },
                                Edit { span: *span, text: String::new() },
                            ],
                        })),
                    );
                }
                _ => {}
            }
        }
    }
}
