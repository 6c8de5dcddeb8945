//! Strings of Python that are programs of C++.

use super::tokens::{Fields, Follower, Literal, Part};
use crate::template::{Backslash, Escapes};
use crate::{Found, Piece, Statement, cpp, modules};
use ptx_text::source::{Source, Span};

/// The statements of a program of C++ in a string.
pub(super) fn program(source: &Source, literal: Literal) -> Found {
    let text = source.text();
    let inside = text[literal.inside.range()].as_bytes();
    let has_fields = match literal.follower(text) {
        // Names of registers are no conversions.
        Follower::Percent => return Found::default(),
        Follower::Format => true,
        Follower::Other => literal.is_formatted,
    };
    if !literal.is_raw && has_escaped_quotes(inside) {
        return Found::default();
    }
    let mut found = cpp::find_in(source, literal.inside);
    found.statements.retain_mut(|statement| {
        // A message may quote one, or a test. What makes programs of parts has lines of them.
        if !statement.is_in_code && !is_line(text, literal, statement.span) {
            return false;
        }
        // For Python, it is one string: no comment of its own can stand in front of a part of it.
        statement.span = literal.span;
        let pieces = std::mem::take(&mut statement.template);
        for piece in pieces {
            match piece {
                Piece::Text { span, escapes } => {
                    let within = literal.inside.start <= span.start && span.end <= literal.inside.end;
                    let is_known =
                        within && program_text(text, literal, has_fields, (span, escapes), statement);
                    if !is_known {
                        return false;
                    }
                }
                Piece::Line(_) | Piece::Hole(_) => statement.template.push(piece),
            }
        }
        true
    });
    found
}

/// Whether a statement is a line of its own in a string of several lines of C++. In a message there is prose around it,
/// and what is expected, or shown as help, is called so.
fn is_line(text: &str, literal: Literal, statement: Span) -> bool {
    let before = &text[literal.inside.start as usize..statement.start as usize];
    let behind = text[statement.end as usize..literal.inside.end as usize].trim_start();
    let Some((before, "")) = before.trim_end_matches([' ', '\t']).rsplit_once('\n') else { return false };
    let Some(behind) = behind.strip_prefix(';') else { return false };
    let (rest, behind) = behind.split_once('\n').unwrap_or((behind, ""));
    let start = text[..literal.span.start as usize].rfind('\n').map_or(0, |end| end + 1);
    let assigned = text[start..literal.span.start as usize].to_ascii_lowercase();
    let mut names = assigned.split(|letter: char| !letter.is_ascii_alphabetic());
    is_code(rest)
        && before.lines().rev().find(|line| !line.trim().is_empty()).is_none_or(is_code)
        && behind.lines().find(|line| !line.trim().is_empty()).is_none_or(is_code)
        && !names.any(|name| ["expect", "expected", "assert", "help", "usage", "doc", "docs"].contains(&name))
}

/// Whether a line may be one of C++, or nothing.
fn is_code(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.ends_with([';', '{', '}', ',', '(', ')', '\\', '>'])
        || line.starts_with(['#', ':', '"'])
        || ["//", "/*", "template", "case ", "default:"].iter().any(|start| line.starts_with(start))
        || line.ends_with("*/")
        || line == "else"
}

/// Appends a part of a template of C++ in a string of Python; false if it is not known what it says.
fn program_text(
    text: &str,
    literal: Literal,
    has_fields: bool,
    (span, Escapes { backslash, .. }): (Span, Escapes),
    statement: &mut Statement,
) -> bool {
    let backslash = match (literal.is_raw, backslash) {
        (true, backslash) => backslash,
        (false, Backslash::C) => Backslash::CInPython,
        (false, _) => Backslash::Python,
    };
    let escapes = Escapes { backslash, doubled_braces: has_fields };
    let written = &text[span.range()];
    if !has_fields {
        // It may be for `format`, or another program that makes texts.
        if modules::has_marks(written) || modules::has_fields(written) {
            return false;
        }
        statement.template.push(Piece::Text { span, escapes });
        return true;
    }
    let mut fields = Fields::of_format(text, span);
    let mut end = span.start;
    while let Some(part) = fields.next() {
        match part {
            Part::Text(span) => {
                statement.template.push(Piece::Text { span, escapes });
                end = span.end;
            }
            Part::Field(span, _) => {
                statement.template.push(Piece::Hole(span));
                end = span.end;
            }
        }
    }
    end == span.end
}

/// Whether a backslash stands before a quote: what is the end of a string, C++ and Python say
/// differently.
fn has_escaped_quotes(inside: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', inside).any(|at| matches!(inside.get(at + 1), Some(b'"' | b'\'')))
}
