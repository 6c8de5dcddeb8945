use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::form::Problem;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds tcgen05 instructions that lack a required qualifier.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. tcgen05 has few defaults: `.sync.aligned`, the `.cta_group`,
    /// the shape and the type are required.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.wait::ld.sync;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7 to 9.7.16.12
    MissingQualifier Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        let Some(form) = decoded.form else { continue };
        for problem in &decoded.problems {
            let Problem::Missing { slot, choices, insert_at } = problem else { continue };
            let words = choices.iter().map(|choice| format!("`.{}`", choice.spelling()));
            let (message, fix) = if let [only] = choices.as_slice() {
                let text = format!(".{}", only.spelling());
                let fix = Fix::safe(format!("Insert `{text}`"), Span::at(*insert_at), text.clone());
                (format!("`tcgen05.{}` requires `{text}`", form.operation), Some(fix))
            } else {
                (format!("`tcgen05.{}` requires {}", form.operation, slot.title()), None)
            };
            findings.push(
                Diagnostic::new(
                    Code::MissingQualifier,
                    decoded.name,
                    message,
                    "the qualifier is missing here",
                )
                .help(format!("add {}", list_words(words, "or")))
                .fix(fix),
            );
        }
    }
}
