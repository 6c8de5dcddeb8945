//! Text to tokens.
//!
//! Two choices shape the rest of the front end:
//!
//! - A word that starts with a letter keeps its dots: `tcgen05.mma.cta_group::1.kind::f16` and
//!   `%tid.x` are one token each. A word that starts with a dot ends before the next one, so that
//!   `.reg.b32` is two tokens. Suffixes as tokens of their own would collide: `.32x32b` starts
//!   with a digit, `.x8` looks like a vector component, `.shared` is both a qualifier and a
//!   directive. `instruction::decode` splits words where that matters.
//! - Tokens are `Copy` and carry no text. Whoever wants it slices the source.

use std::iter::Peekable;

use logos::{FilterResult, Logos};

use crate::ast::{BinaryOperator, Linkage, StateSpace};

/// One token. `*Open` and `*Close` variants beyond plain braces and [`Token::DirectiveEnd`] are
/// made by the `structure` pass, which knows what a brace stands for and where a statement ends.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip(r"[ \t\r\n]+"))]
#[logos(error(LexError, |lexer| LexError::of(lexer.slice())))]
#[allow(missing_docs, reason = "most are named as they are written")]
pub enum Token {
    #[token("//", line_comment)]
    #[token("/*", block_comment)]
    #[token("#", line_marker)]
    /// A name without dots: register, label, variable, mnemonic.
    #[regex(r"[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+|\$")]
    Identifier,
    /// A name with dots: an opcode, a register's component, a special register. A colon belongs to it
    /// only behind a dot: one before may be that of a label, as in `L:mov.b32`, and to find out it
    /// would take a look at all that follows.
    #[regex(
        r"([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)\.[A-Za-z0-9_$]+(\.[A-Za-z0-9_$]+|::?[A-Za-z0-9_$]+)*"
    )]
    Dotted,
    /// A word behind a dot that is none of the directives below. A single colon belongs to it, as in
    /// `.sp::2:4` and in the mistake `.collector::a:fill`.
    #[regex(r"\.[A-Za-z0-9_$]+(::?[A-Za-z0-9_$]+)*")]
    DotWord,

    #[token(".version")]
    Version,
    #[token(".target")]
    Target,
    #[token(".address_size")]
    AddressSize,
    #[token(".file")]
    File,
    #[token(".loc")]
    Loc,
    #[token(".section")]
    Section,
    #[token(".pragma")]
    Pragma,
    #[token(".alias")]
    Alias,
    #[token(".branchtargets")]
    BranchTargets,
    #[token(".calltargets")]
    CallTargets,
    #[token(".callprototype")]
    CallPrototype,
    #[token(".entry")]
    Entry,
    #[token(".func")]
    Func,
    #[token(".align")]
    Align,
    #[token(".attribute")]
    Attribute,
    #[token(".reg", |_| StateSpace::Reg)]
    #[token(".sreg", |_| StateSpace::Sreg)]
    #[token(".const", |_| StateSpace::Const)]
    #[token(".global", |_| StateSpace::Global)]
    #[token(".local", |_| StateSpace::Local)]
    #[token(".param", |_| StateSpace::Param)]
    #[token(".shared", |_| StateSpace::Shared)]
    #[token(".tex", |_| StateSpace::Tex)]
    Space(StateSpace),
    #[token(".extern", |_| Linkage::Extern)]
    #[token(".visible", |_| Linkage::Visible)]
    #[token(".weak", |_| Linkage::Weak)]
    #[token(".common", |_| Linkage::Common)]
    Linkage(Linkage),

    /// Decimal, octal, hexadecimal or binary, with an optional `U`.
    #[regex(r"0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|[0-9]+U?")]
    Integer,
    /// `1.5`, `1e3`, `0f3F800000`, `0d3FF0000000000000`.
    #[regex(
        r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+",
        priority = 10
    )]
    #[regex(r"0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}", priority = 10)]
    Float,
    #[regex(r#""[^"\n]*""#)]
    String,

    #[token("_")]
    Sink,
    #[token("@")]
    At,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token("{")]
    BraceOpen,
    #[token("}")]
    BraceClose,
    #[token("=")]
    Equals,
    #[token("!")]
    Not,
    #[token("~")]
    Tilde,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("?")]
    Question,
    #[token("|", |_| BinaryOperator::Or)]
    #[token("*", |_| BinaryOperator::Multiply)]
    #[token("/", |_| BinaryOperator::Divide)]
    #[token("%", |_| BinaryOperator::Remainder)]
    #[token("<<", |_| BinaryOperator::ShiftLeft)]
    #[token(">>", |_| BinaryOperator::ShiftRight)]
    #[token("<=", |_| BinaryOperator::LessOrEqual)]
    #[token(">=", |_| BinaryOperator::GreaterOrEqual)]
    #[token("==", |_| BinaryOperator::Equal)]
    #[token("!=", |_| BinaryOperator::NotEqual)]
    #[token("&", |_| BinaryOperator::And)]
    #[token("^", |_| BinaryOperator::Xor)]
    #[token("&&", |_| BinaryOperator::LogicalAnd)]
    #[token("||", |_| BinaryOperator::LogicalOr)]
    Operator(BinaryOperator),

    /// `{` that opens the body of a function.
    BodyOpen,
    /// `{` that opens a scope between statements.
    BlockOpen,
    /// `{` that opens the data of a `.section`.
    SectionOpen,
    /// `}` that closes the body of a function.
    BodyClose,
    /// `}` that closes a scope.
    BlockClose,
    /// `}` that closes a section.
    SectionClose,
    /// No text: a directive without `;`, such as `.loc 1 2 3`, or a header ends before the next word.
    DirectiveEnd,
    /// Before plain statements, which are not built by the parser.
    RunStart,
    /// Plain statements that are built.
    Run,
    /// The first numbers of a list, with the commas between them, that are built.
    Numbers,
    /// Text that is no token. The grammar has no rule for it.
    Error,
}

/// Why a piece of text is no token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LexError {
    /// A `/*` without its `*/`.
    UnterminatedComment,
    /// A `"` without another one on the line.
    UnterminatedString,
    /// U+FEFF at the start of the file.
    ByteOrderMark,
    /// A character that no token starts with.
    Character(char),
    /// Anything else.
    #[default]
    NoToken,
}

impl LexError {
    /// Says what is wrong with `text`, which the lexer could make no token of.
    #[cold]
    fn of(text: &str) -> Self {
        match text.chars().next() {
            Some('\u{feff}') => Self::ByteOrderMark,
            Some('"') => Self::UnterminatedString,
            Some(character) => Self::Character(character),
            None => Self::NoToken,
        }
    }
}

fn line_comment(lexer: &mut logos::Lexer<'_, Token>) -> FilterResult<(), LexError> {
    lexer.bump(rest_of_line(lexer.remainder()).len());
    skip_more(lexer)
}

pub(crate) fn rest_of_line(text: &str) -> &str {
    memchr::memchr2(b'\n', b'\r', text.as_bytes()).map_or(text, |end| &text[..end])
}

fn line_marker(lexer: &mut logos::Lexer<'_, Token>) -> FilterResult<(), LexError> {
    let Some(len) = marker_len(lexer.remainder()) else {
        return FilterResult::Error(LexError::Character('#'));
    };
    lexer.bump(len);
    skip_more(lexer)
}

/// How long a line marker is whose `#` stands before `rest`.
fn marker_len(rest: &str) -> Option<usize> {
    is_line_marker(rest.chars()).then(|| rest_of_line(rest).len())
}

/// Whether a `#` starts one of `# 5 "kernel.cu"` and `#line 5 "kernel.cu"`, which a preprocessor
/// leaves behind. Reads no further than it takes: a line may have very many `#`.
fn is_line_marker(rest: impl Iterator<Item = char>) -> bool {
    fn space(rest: &mut Peekable<impl Iterator<Item = char>>) {
        while rest.next_if(|c| c.is_whitespace() && !matches!(c, '\n' | '\r')).is_some() {}
    }
    let mut rest = rest.peekable();
    space(&mut rest);
    if rest.peek() == Some(&'l') {
        if "line".chars().any(|letter| rest.next_if_eq(&letter).is_none()) {
            return false;
        }
        space(&mut rest);
    }
    let mut digits = 0_u32;
    while rest.next_if(char::is_ascii_digit).is_some() {
        digits += 1;
    }
    space(&mut rest);
    digits > 0 && rest.next() == Some('"')
}

fn block_comment(lexer: &mut logos::Lexer<'_, Token>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder();
    if let Some(len) = block_comment_len(rest) {
        lexer.bump(len);
        skip_more(lexer)
    } else {
        lexer.bump(rest.len());
        FilterResult::Error(LexError::UnterminatedComment)
    }
}

/// How long the comment is that `text` starts with; `None` when it starts with none, or a broken one.
pub(crate) fn comment_len(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(rest_of_line(text).len());
    }
    block_comment_len(text.strip_prefix("/*")?).map(|len| len + 2)
}

/// How long a comment is whose `/*` stands before `rest`.
fn block_comment_len(rest: &str) -> Option<usize> {
    memchr::memmem::find(rest.as_bytes(), b"*/").map(|at| at + 2)
}

/// Skips the comments and line markers that follow one. To skip them one by one the lexer calls
/// itself, and where the compiler makes no loop of that, a long run of them overflows the stack.
fn skip_more(lexer: &mut logos::Lexer<'_, Token>) -> FilterResult<(), LexError> {
    loop {
        let rest = lexer.remainder();
        let text = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let len = match text.strip_prefix('#') {
            Some(rest) => marker_len(rest).map(|len| len + 1),
            None => comment_len(text),
        };
        // What is left, broken comments too, is for the lexer.
        let Some(len) = len else { return FilterResult::Skip };
        lexer.bump(rest.len() - text.len() + len);
    }
}

/// The tokens of `text` with their byte ranges.
pub fn lex(text: &str) -> logos::SpannedIter<'_, Token> {
    Token::lexer(text).spanned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text, each with what was written.
    fn tokens(text: &str) -> Vec<(Result<Token, LexError>, &str)> {
        lex(text).map(|(token, range)| (token, &text[range])).collect()
    }

    fn written(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_label_ends_at_its_colon() {
        assert_eq!(written("L:mov.b32 a;"), ["L", ":", "mov.b32", "a", ";"]);
        assert_eq!(written("L:M:ret;"), ["L", ":", "M", ":", "ret", ";"]);
        assert_eq!(written("mma.sp::2:4.x %r1.x"), ["mma.sp::2:4.x", "%r1.x"]);
    }

    /// What a token is does not depend on what stands far behind it. Otherwise each token of a long
    /// text may look at the rest of it.
    #[test]
    fn tokens_do_not_look_far_ahead() {
        const PIECES: &[&str] = &["a", ":", "::", ".", "1", "%", "$", "_", "e", "0x", "+", "#", "\"x\"", "<"];
        const FAR: usize = 8;
        for first in PIECES {
            for second in PIECES {
                for third in PIECES {
                    let text = [*first, second, third].concat().repeat(20);
                    let near = tokens(&text);
                    let settled = near.partition_point(|(_, token)| {
                        token.as_ptr() as usize + token.len() + FAR <= text.as_ptr() as usize + text.len()
                    });
                    for tail in [".c", ":c.d", "1", "e5", "\"", " \"x\""] {
                        let longer = text.clone() + tail;
                        assert_eq!(tokens(&longer)[..settled], near[..settled], "{text} {tail}");
                    }
                }
            }
        }
    }

    #[test]
    fn line_markers() {
        for marker in ["# 5 \"k.cu\" 2", "#line 5 \"k.cu\"", "#5\"k\"", "#\tline5 \""] {
            assert_eq!(written(&format!("{marker}\nret")), ["ret"], "{marker}");
        }
        for other in
            ["#", "# 5", "# x", "#line", "#lin 5 \"k\"", "#\"k\"", "# 5\n\"k\"", "#line line 5 \"k\""]
        {
            assert_eq!(tokens(other)[0], (Err(LexError::Character('#')), "#"), "{other}");
        }
    }

    /// Each `#` of a line of them looks at the next character, not at the line.
    #[test]
    fn a_hash_reads_no_more_of_its_line_than_it_needs() {
        for (line, most) in [("#####", 1), ("  #5", 3), ("123 #", 5), ("line x\"", 6), ("x 5 \"k\"", 1)] {
            let mut read = 0;
            let text = line.to_owned() + &"#".repeat(1000);
            assert!(!is_line_marker(text.chars().inspect(|_| read += 1)));
            assert!(read <= most, "{line}: {read}");
        }
    }
}
