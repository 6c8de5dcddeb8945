use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::parser::SyntaxError;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds statements and directives that do not parse.
    ///
    /// ## Why is this bad?
    /// The assembler stops at the first one, so that it says nothing about the rest of the file.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 r0, r1
    /// ret;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 r0, r1;
    /// ret;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 4 (Syntax)
    SyntaxError Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for error in &unit.syntax_errors {
        match missing_end(unit, error) {
            Some(end) => {
                findings.push(without_end(end));
                findings.extend(unit.missing_ends_passed_over(error.span().start).map(without_end));
            }
            None => findings.extend(diagnostic(error)),
        }
    }
}

/// Where a `;` is missing, if that is the error.
fn missing_end(unit: &Unit, error: &SyntaxError) -> Option<u32> {
    let SyntaxError::Unexpected { span, expected } = error else { return None };
    if !expected.iter().any(|it| it.contains(';')) {
        return None;
    }
    unit.missing_end(span.start).or_else(|| unit.missing_end(unit.first_word(span.start)?))
}

fn without_end(end: u32) -> Diagnostic {
    let message = "syntax error: a `;` is missing";
    let finding =
        Diagnostic::new(Code::SyntaxError, Span::at(end), message, "the statement is not ended here");
    finding.fix(Some(Fix::safe("Insert `;`", Span::at(end), ";")))
}

fn diagnostic(error: &SyntaxError) -> Option<Diagnostic> {
    let finding = |span, message: &str, label: &str| Diagnostic::new(Code::SyntaxError, span, message, label);
    Some(match error {
        // A rule of its own.
        SyntaxError::InvalidToken { .. } => return None,
        SyntaxError::Unexpected { span, expected } => {
            let label = if expected.is_empty() {
                "this cannot stand here".to_owned()
            } else {
                format!("expected {} before this", list_words(expected.iter().copied(), "or"))
            };
            finding(*span, "syntax error", &label)
        }
        SyntaxError::UnexpectedEnd { at, expected } => {
            let label = if expected.is_empty() {
                "something is missing here".to_owned()
            } else {
                format!("expected {} here", list_words(expected.iter().copied(), "or"))
            };
            finding(Span::at(*at), "syntax error: the statement is not finished", &label)
        }
        SyntaxError::StrayBrace { span } => {
            finding(*span, "syntax error: unmatched `}`", "no `{` is open here")
                .help("remove it, or look for an extra `}` above")
                .fix(Some(Fix::guess("Remove the brace", *span, "")))
        }
        SyntaxError::UnclosedBrace { brace, at, before_function } => {
            let (label, help) = if *before_function {
                (
                    "a `}` is missing before this function",
                    "functions do not nest: close the body above with `}`",
                )
            } else {
                ("the file ends here", "add the missing `}`")
            };
            finding(Span::at(*at), "syntax error: unclosed `{`", label)
                .label(*brace, "opened here")
                .help(help)
        }
        SyntaxError::TooDeep { span, limit } => {
            finding(*span, "syntax error: nesting too deep", &format!("more than {limit} levels"))
                .help("the rest of the file was not read")
        }
        SyntaxError::TooMany { span } => {
            finding(*span, "syntax error: too many statements", "the first that is not read")
                .help("split the module")
        }
    })
}
