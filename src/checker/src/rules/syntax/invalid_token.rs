use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::rules::{Checker, Code, rule};
use crate::syntax::lexer::LexError;
use crate::syntax::parser::SyntaxError;

rule! {
    /// ## What it does
    /// Finds characters, numbers and strings that are not PTX tokens, and unterminated comments.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 r0, `1;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 r0, 1;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 4.1 (Source Format)
    InvalidToken Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for error in &checker.unit.syntax_errors {
        let SyntaxError::InvalidToken { span, error } = error else { continue };
        let (message, label, help) = match error {
            LexError::UnterminatedComment => {
                ("unterminated comment", "`/*` without `*/`".to_owned(), Some("end the comment with `*/`"))
            }
            LexError::UnterminatedString => (
                "unterminated string",
                "no closing `\"` on this line".to_owned(),
                Some("end the string with `\"`"),
            ),
            LexError::ByteOrderMark => (
                "byte order mark",
                "PTX is plain ASCII; the assembler refuses this".to_owned(),
                Some("save the file without a byte order mark"),
            ),
            LexError::Character(character) if character.is_ascii_control() => (
                "invalid token",
                format!("control character or invalid byte (U+{:04X})", u32::from(*character)),
                None,
            ),
            LexError::Character(character) => {
                ("invalid token", format!("`{character}` means nothing in PTX"), None)
            }
            LexError::NoToken => ("invalid token", "this is not a PTX token".to_owned(), None),
        };
        let mut finding = Diagnostic::new(Code::InvalidToken, *span, message, label);
        finding.help = help.map(str::to_owned);
        if *error == LexError::ByteOrderMark {
            finding.fix = Some(Fix::safe("Remove the byte order mark", *span, ""));
        }
        findings.push(finding);
    }
}
