//! How much of the arguments of a macro a parameter stands for.

use super::Made;
use super::bindings::Mismatch;
use super::elements::tree;
use crate::rust::tokens::Token;

/// How many of the tokens that are given a parameter of a kind takes; `next` stands behind it in the pattern.
pub(super) fn len(text: &str, kind: &str, given: &[Made], next: Option<Made>) -> Result<usize, Mismatch> {
    let Some(first) = given.first() else {
        return Err(if kind == "vis" { Mismatch::Unknown } else { Mismatch::Other });
    };
    let word = |made: &Made| match made.token {
        Token::Word(word) => &text[word.range()],
        Token::Literal(_) | Token::Other(..) => "",
    };
    let only = |holds: bool, len: usize| if holds { Ok(len) } else { Err(Mismatch::Other) };
    match kind {
        "ident" => only(!matches!(word(first), "" | "_"), 1),
        "lifetime" => only(is_lifetime(given), 2),
        "literal" => match first.token {
            Token::Literal(_) => Ok(1),
            Token::Other(b'-', _) => {
                only(matches!(given.get(1), Some(Made { token: Token::Other(b'0'..=b'9', _), .. })), 2)
            }
            Token::Other(byte, _) => only(byte.is_ascii_digit() || byte == b'\'' && !is_lifetime(given), 1),
            Token::Word(_) => only(matches!(word(first), "true" | "false"), 1),
        },
        "tt" if is_lifetime(given) => Ok(2),
        // Signs of several characters are one.
        "tt" => Ok(if is_joined(given) { 2 } else { tree(given) }),
        "block" => only(first.is(b'{'), tree(given)),
        "expr" | "expr_2021" | "ty" | "path" | "pat" | "pat_param" | "stmt" | "meta" => {
            expression_len(text, given, next)
        }
        _ => Err(Mismatch::Unknown),
    }
}

/// `'a`; a character has its second quote in the same token.
fn is_lifetime(given: &[Made]) -> bool {
    matches!(given, [quote, Made { token: Token::Word(_), .. }, ..] if quote.is(b'\'') && quote.token.span().len() == 1)
}

/// Whether two signs are one: `::`, `=>`.
fn is_joined(given: &[Made]) -> bool {
    let [Made { token: Token::Other(left, first), .. }, Made { token: Token::Other(right, second), .. }, ..] =
        given
    else {
        return false;
    };
    first.end == second.start
        && matches!(
            (left, right),
            (b':', b':') | (b'=', b'>' | b'=') | (b'-', b'>') | (b'.', b'.') | (b'&', b'&') | (b'|', b'|')
        )
}

/// An expression, a type or a pattern ends before a comma, a semicolon, `=>`, and what stands behind it in the
/// pattern.
fn expression_len(text: &str, given: &[Made], next: Option<Made>) -> Result<usize, Mismatch> {
    let is_next = |made: &Made| {
        next.is_some_and(|next| text[next.token.span().range()] == text[made.token.span().range()])
    };
    let mut len = 0;
    // Commas may be a part of it behind these: `a::<b, c>`, `|a, b| c`.
    let mut is_doubtful = false;
    while let Some(made) = given.get(len) {
        if made.is(b',') && is_doubtful {
            return Err(Mismatch::Unknown);
        }
        let is_arrow = made.is(b'=') && given.get(len + 1).is_some_and(|it| it.is(b'>'));
        if made.is(b',') || made.is(b';') || is_arrow || is_next(made) {
            break;
        }
        is_doubtful |= made.is(b'<') || made.is(b'|');
        len += tree(&given[len..]);
    }
    if len == 0 { Err(Mismatch::Other) } else { Ok(len) }
}
