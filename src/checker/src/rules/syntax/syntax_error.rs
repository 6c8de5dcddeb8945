use crate::diagnostic::{Applicability, Diagnostic, Findings, Fix};
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
    /// The assembler stops at the first syntax error and reports nothing about the rest of the file.
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
            Some((end, is_certain)) => {
                findings.push(without_end(end, is_certain));
                let others = unit.missing_ends_passed_over(error.span().start);
                findings.extend(others.map(|end| without_end(end, true)));
            }
            None => findings.extend(diagnostic(error)),
        }
    }
}

/// Where a `;` is missing, if that is the error, and whether nothing else can be.
fn missing_end(unit: &Unit, error: &SyntaxError) -> Option<(u32, bool)> {
    let (SyntaxError::Unexpected { expected, .. } | SyntaxError::UnexpectedEnd { expected, .. }) = error
    else {
        return None;
    };
    if !expected.iter().any(|it| it.contains(';')) {
        return None;
    }
    if let Some(seam) = seam(unit, error.span()) {
        return Some((seam, true));
    }
    match *error {
        // A body would do as well.
        SyntaxError::UnexpectedEnd { at, .. } => {
            Some((unit.end_of_tokens(at), !expected.iter().any(|it| it.contains('{'))))
        }
        SyntaxError::Unexpected { span, .. } => unit
            .missing_end_in_line(span.start)
            .or_else(|| Some((unit.missing_end(unit.first_word(span.start)?)?, true))),
        _ => None,
    }
}

/// Where the literals of the statement meet at a place without anything between them, if a statement starts there.
fn seam(unit: &Unit, error: Span) -> Option<u32> {
    let statements = &unit.module.statements;
    let behind = statements.partition_point(|statement| statement.span.start <= error.start);
    let statement = statements[behind.checked_sub(1)?];
    unit.seam_before(statement.span.start, error.end)
}

fn without_end(end: u32, is_certain: bool) -> Diagnostic {
    let message = "syntax error: a `;` is missing";
    let finding =
        Diagnostic::new(Code::SyntaxError, Span::at(end), message, "the statement is not ended here");
    let fix = Fix::safe("Insert `;`", Span::at(end), ";");
    finding.fix(Some(if is_certain { fix } else { Fix { applicability: Applicability::Unsafe, ..fix } }))
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
