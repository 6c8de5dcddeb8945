//! Strings of Python that are whole modules of PTX.

use super::tokens::{Fields, Literal, Part};
use crate::Piece;
use crate::modules::{Filled, Module};
use crate::template::Escapes;
use ptx_text::source::Source;

/// The module that a string is, if it is all of one and nothing is done with it that changes it.
pub(super) fn of(source: &Source, literal: Literal, filled: &Filled<'_>) -> Option<Module> {
    /// What is done with a string that leaves what it says.
    const HARMLESS: [&str; 4] = [".encode(", ".strip(", ".lstrip(", ".rstrip("];
    let text = source.text();
    let blank = |character: char| character.is_ascii_whitespace() || matches!(character, '(' | ')' | '\\');
    let (before, behind) = (&text[..literal.span.start as usize], &text[literal.span.end as usize..]);
    let mut behind = behind.trim_start_matches(blank);
    while behind.starts_with('#') {
        behind = behind.split_once('\n').map_or("", |(_, rest)| rest.trim_start_matches(blank));
    }
    let is_changed = behind.starts_with(['%', '+', '.']) && !HARMLESS.iter().any(|it| behind.starts_with(it));
    let before = before.trim_end_matches(blank);
    let is_part = before.ends_with(['+', '"', '\'']) || behind.starts_with(['"', '\'']);
    if is_changed || is_part || before.ends_with("Template") {
        return None;
    }
    if filled.has_declared(before) {
        return None;
    }
    let doubled_braces = literal.is_formatted;
    let escapes = Escapes { backslash: literal.backslash(), doubled_braces };
    if !doubled_braces {
        return Module::of(source, literal.span, vec![Piece::Text { span: literal.inside, escapes }]);
    }
    // Without fields, it is a string with braces that are written twice.
    let mut pieces = Vec::new();
    let mut end = literal.inside.start;
    let mut fields = Fields::of_format(text, literal.inside);
    while let Some(part) = fields.next() {
        let Part::Text(span) = part else { return None };
        pieces.push(Piece::Text { span, escapes });
        end = span.end;
    }
    if end != literal.inside.end {
        return None;
    }
    Module::of(source, literal.span, pieces)
}
