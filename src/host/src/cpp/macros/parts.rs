//! The parts of what a macro stands for, and what `#`, `##` and templates make of them.

use crate::Piece;
use crate::cpp::Literal;
use crate::template::{Backslash, Escapes};
use ptx_text::source::Span;

/// A part of what a macro stands for.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A literal as it is written.
    Literal(Literal),
    /// A name, which may stand for more.
    Name(Span),
    /// What `##` has made one of.
    Joined(Vec<Span>),
    /// A number or a sign.
    Sign(u8, Span),
    /// What `#` makes of an argument.
    Quoted(Vec<Piece>),
    /// What may be anything.
    Unknown(Span),
}

impl Part {
    /// Where it is written, if it is one token there.
    pub(super) fn written(&self) -> Option<Span> {
        match self {
            Self::Name(span) | Self::Sign(_, span) => Some(*span),
            Self::Literal(literal) => Some(literal.span),
            Self::Joined(_) | Self::Quoted(_) | Self::Unknown(_) => None,
        }
    }

    /// A place that can be pointed at.
    pub(super) fn place(&self) -> Span {
        match self {
            Self::Name(span) | Self::Sign(_, span) | Self::Unknown(span) => *span,
            Self::Literal(literal) => literal.span,
            Self::Joined(spans) => spans[0],
            Self::Quoted(_) => Span::at(0),
        }
    }
}

/// The pieces of a template.
pub(super) fn pieces_of(parts: &[Part]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Literal(literal) => pieces.push(literal.piece()),
            Part::Quoted(quoted) => pieces.extend_from_slice(quoted),
            Part::Name(_) | Part::Joined(_) | Part::Sign(..) | Part::Unknown(_) => {
                if !matches!(pieces.last(), Some(Piece::Hole(_))) {
                    pieces.push(Piece::Hole(part.place()));
                }
            }
        }
    }
    pieces
}

/// The colons outside of brackets, each with the number of parts before it.
pub(super) fn colons(parts: &[Part]) -> impl Iterator<Item = (usize, Span)> {
    let mut depth = 0_usize;
    parts.iter().enumerate().filter_map(move |(at, part)| {
        match part {
            Part::Sign(b'(' | b'[' | b'{', _) => depth += 1,
            Part::Sign(b')' | b']' | b'}', _) => depth = depth.saturating_sub(1),
            Part::Sign(b':', span) if depth == 0 => return Some((at, *span)),
            _ => {}
        }
        None
    })
}

/// Leaves the template of what has operands, too; how many colons they had.
pub(super) fn cut_operands(parts: &mut Vec<Part>) -> usize {
    let all: Vec<usize> = colons(parts).map(|(at, _)| at).collect();
    parts.truncate(all.first().copied().unwrap_or(parts.len()));
    all.len()
}

/// What `#` makes of an argument.
pub(super) fn spelling(text: &str, parts: &[Part]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Name(span) | Part::Sign(_, span) => spell(text, *span, &mut pieces),
            Part::Literal(literal) => spell(text, literal.span, &mut pieces),
            Part::Joined(spans) => spans.iter().for_each(|span| spell(text, *span, &mut pieces)),
            Part::Quoted(_) | Part::Unknown(_) => pieces.push(Piece::Hole(part.place())),
        }
    }
    pieces
}

/// Appends a token as it is written, with the blanks before it.
fn spell(text: &str, token: Span, pieces: &mut Vec<Piece>) {
    let follows = |before: &Span| {
        before.end <= token.start && text[before.end as usize..token.start as usize].trim().is_empty()
    };
    match pieces.last_mut() {
        Some(Piece::Text { span, .. }) if follows(span) => span.end = token.end,
        _ => pieces.push(Piece::Text { span: token, escapes: Escapes::of(Backslash::Plain) }),
    }
}

/// What `##` makes of two parts.
pub(super) fn joined(left: Part, right: Part) -> Part {
    let unknown = Part::Unknown(left.place());
    let mut all = Vec::new();
    for part in [left, right] {
        match part {
            Part::Name(span) | Part::Sign(_, span) => all.push(span),
            Part::Joined(spans) => all.extend(spans),
            Part::Literal(_) | Part::Quoted(_) | Part::Unknown(_) => return unknown,
        }
    }
    Part::Joined(all)
}
