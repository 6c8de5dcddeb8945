//! What patterns and bodies of macros are made of.

use super::Made;
use crate::rust::tokens::Token;

/// A part of a pattern or of a body.
pub(super) enum Element<'t, 's> {
    /// `$( inner ) separator *`
    Repeated { inner: &'t [Made], separator: &'t [Made], sign: u8 },
    /// `$name`, and behind the colon what it may be, in a pattern.
    Parameter { name: &'s str, kind: &'s str },
    /// What stands in brackets: the first, what is inside, and the last.
    Group(Made, &'t [Made], Made),
    /// Anything else.
    Token(Made),
}

/// The part that tokens, of which there is one, start with, and its length.
pub(super) fn element<'t, 's>(
    text: &'s str,
    tokens: &'t [Made],
    in_pattern: bool,
) -> (Element<'t, 's>, usize) {
    let first = tokens[0];
    if first.is(b'$') {
        match &tokens[1..] {
            [Made { token: Token::Word(name), .. }, colon, Made { token: Token::Word(kind), .. }, ..]
                if in_pattern && colon.is(b':') =>
            {
                return (Element::Parameter { name: &text[name.range()], kind: &text[kind.range()] }, 4);
            }
            [Made { token: Token::Word(name), .. }, ..] if !in_pattern => {
                return (Element::Parameter { name: &text[name.range()], kind: "" }, 2);
            }
            behind if behind.first().is_some_and(|it| it.is(b'(')) => {
                if let Some(repeated) = repeated(behind) {
                    return repeated;
                }
            }
            _ => {}
        }
    }
    match group(tokens) {
        Some(inner) => (Element::Group(first, inner, tokens[inner.len() + 1]), inner.len() + 2),
        None => (Element::Token(first), 1),
    }
}

/// What is repeated, from the parenthesis behind `$` on.
fn repeated<'s>(tokens: &[Made]) -> Option<(Element<'_, 's>, usize)> {
    /// No separator has more tokens than `..=`.
    const MOST: usize = 3;
    let inner = group(tokens)?;
    let behind = &tokens[inner.len() + 2..];
    // The first may be the separator of the second: `$(...)+*`.
    let is_sign = |made: &Made| made.is(b'*') || made.is(b'+') || made.is(b'?');
    let len = behind.iter().take(MOST + 1).position(is_sign)?;
    let Token::Other(sign, _) = behind[len].token else { return None };
    Some((Element::Repeated { inner, separator: &behind[..len], sign }, 1 + inner.len() + 2 + len + 1))
}

/// What stands in the brackets that tokens start with.
pub(super) fn group(tokens: &[Made]) -> Option<&[Made]> {
    match tree(tokens) {
        len @ 2.. if matches!(tokens[0].token, Token::Other(b'(' | b'[' | b'{', _)) => tokens.get(1..len - 1),
        _ => None,
    }
}

/// How many tokens there are up to the end of the bracket that the first one opens; one if it opens none.
pub(super) fn tree(tokens: &[Made]) -> usize {
    let mut depth = 0_usize;
    for (at, made) in tokens.iter().enumerate() {
        match made.token {
            Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
            Token::Other(b')' | b']' | b'}', _) => depth = depth.saturating_sub(1),
            Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

pub(super) fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}
