use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::form::Problem;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds opcodes that start with `tcgen05.` but name no operation.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. The name of an operation such as `mma.ws`, `ld.red` or
    /// `wait::ld` follows directly after `tcgen05.`. Other qualifiers follow in any order.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.wait_ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16
    UnknownInstruction Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            if let Problem::SplitName { span, operation } = problem {
                let name = format!("tcgen05.{operation}");
                findings.push(
                    Diagnostic::new(
                        Code::UnknownInstruction,
                        *span,
                        format!("white space within the name `{name}`"),
                        "this has to be one word",
                    )
                    .help("white space may stand only before the qualifiers")
                    .fix(Some(Fix::safe(format!("Write `{name}`"), *span, name))),
                );
            }
            let Problem::UnknownInstruction { span, similar } = problem else { continue };
            let word = checker.unit.source.slice(*span).trim_start_matches('.');
            if let Some((whole, name)) = with_dot(checker.unit.source.text(), *span, word, similar) {
                let written = checker.unit.source.slice(whole).trim_start_matches('.');
                findings.push(
                    Diagnostic::new(
                        Code::UnknownInstruction,
                        whole,
                        format!("unknown instruction `tcgen05.{written}`"),
                        "two colons belong between the words, not a dot",
                    )
                    .help(format!("write `tcgen05.{name}`"))
                    .fix(Some(Fix::safe(
                        format!("Write `tcgen05.{name}`"),
                        whole,
                        format!(".{name}"),
                    ))),
                );
                continue;
            }
            let message = if word == "tcgen05" {
                "`tcgen05` without an operation".to_owned()
            } else {
                format!("unknown instruction `tcgen05.{word}`")
            };
            let mut finding =
                Diagnostic::new(Code::UnknownInstruction, *span, message, "tcgen05 has no such operation");
            if !similar.is_empty() {
                let names = similar.iter().map(|operation| format!("`tcgen05.{operation}`"));
                finding = finding.help(format!("did you mean {}?", list_words(names, "or")));
            }
            if let [only] = similar.as_slice() {
                finding.fix = Some(Fix::guess(format!("Write `tcgen05.{only}`"), *span, format!(".{only}")));
            }
            findings.push(finding);
        }
    }
}

/// If the name of an operation has a dot instead of two colons: the whole name, and the operation.
fn with_dot(text: &str, span: Span, word: &str, similar: &[Operation]) -> Option<(Span, &'static str)> {
    let behind = text.get(span.end as usize..)?.strip_prefix('.')?;
    let len = behind.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let second = &behind[..len];
    let name =
        similar.iter().map(|it| it.name()).find(|name| name.split_once("::") == Some((word, second)))?;
    Some((Span::new(span.start, span.end + 1 + len as u32), name))
}
