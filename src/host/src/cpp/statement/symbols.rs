//! Symbols of declarations, which look like statements.

use crate::Piece;

/// Whether a template says how the linker calls what is declared in front of a place:
/// `float f(float) asm("llvm.sqrt.f32");`
pub(super) fn is_of_declaration(text: &str, place: u32, template: &[Piece]) -> bool {
    /// No list of parameters in front of one is longer.
    const FAR: usize = 4096;
    let is_symbol = |piece: &Piece| match piece {
        Piece::Text { span, .. } => {
            text[span.range()].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$@?".contains(&byte))
        }
        Piece::Line(_) | Piece::Hole(_) => false,
    };
    if !template.iter().all(is_symbol) {
        return false;
    }
    let mut before = without_comments(&text[..place as usize]);
    if before.ends_with(')') {
        let mut depth = 0_usize;
        let open = before.bytes().enumerate().rev().take(FAR).find(|(_, byte)| {
            match byte {
                b')' => depth += 1,
                b'(' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some((open, _)) = open else { return false };
        before = without_comments(&before[..open]);
    }
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = &before[before.trim_end_matches(is_of_name).len()..];
    !matches!(name, "" | "if" | "while" | "for" | "switch" | "constexpr" | "else" | "do")
}

/// What stands in front of the comments and directives at the end of a text; after `#else`, in front of its `#if`.
fn without_comments(text: &str) -> &str {
    /// No comments in front of a symbol are longer.
    const FAR: usize = 4096;
    let mut from = text.len().saturating_sub(FAR);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mut near = text[from..].trim_end();
    loop {
        let line = near.rfind('\n').map_or(0, |at| at + 1);
        let comment = match near.strip_suffix("*/") {
            Some(inside) => inside.rfind("/*"),
            None if near[line..].trim_start().starts_with('#') => Some(before_directive(near, line)),
            None => near[line..].find("//").map(|at| line + at),
        };
        let Some(comment) = comment else { break };
        near = near[..comment].trim_end();
    }
    text[..from + near.len()].trim_end()
}

/// Where a directive begins whose line is the last of a text; of `#else` and `#elif`, where its `#if` does.
fn before_directive(text: &str, line: usize) -> usize {
    let word = |line: &str| {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        rest.map_or("", |rest| &rest[..rest.bytes().take_while(u8::is_ascii_alphabetic).count()]).to_owned()
    };
    if !word(&text[line..]).starts_with("el") {
        return line;
    }
    let (mut start, mut open) = (line, 0_usize);
    for before in text[..line].split_inclusive('\n').rev() {
        start -= before.len();
        match word(before).as_str() {
            "endif" => open += 1,
            "if" | "ifdef" | "ifndef" if open == 0 => return start,
            "if" | "ifdef" | "ifndef" => open -= 1,
            _ => {}
        }
    }
    line
}
