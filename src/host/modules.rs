//! Whole modules of PTX in strings of another language, as those write them who load them at run time.
//!
//! ```text
//! PTX = r"""
//! .version 9.0
//! .target sm_100a
//! .entry kernel() { ... }
//! """
//! ```
//!
//! Such a text is no statement with operands: it is a module like one in a file of its own, and is judged
//! like one. What is made into a module only where it is used - with `format`, or with marks that something
//! replaces - is left alone.

use super::{MARK, Piece};
use crate::source::Span;

/// A text that is a module.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// The literal, with its quotes.
    pub(super) span: Span,
    pub(super) pieces: Vec<Piece>,
}

/// What a text with a kernel has.
pub(super) const WORD: &str = ".entry";

/// Whether the inside of a literal is a module, from its version to the end of its last function, and as it is.
pub(super) fn is_whole(inside: &str) -> bool {
    let has = |word: &str| {
        inside.match_indices(word).any(|(at, _)| inside[at + word.len()..].starts_with(is_blank))
    };
    if !has(WORD) || !has(".target") {
        return false;
    }
    // A literal may begin with its second line, and so may what it says.
    let mut start = inside.trim_start_matches(is_blank);
    while let Some(comment) = start.strip_prefix("//") {
        start = comment.split_once('\n').map_or("", |(_, behind)| behind.trim_start_matches(is_blank));
    }
    let end = inside.trim_end().trim_end_matches("\\n").trim_end();
    // What is put together from several literals closes what another one opens.
    let count = |brace: char| inside.matches(brace).count();
    start.starts_with(".version") && end.ends_with('}') && count('{') == count('}') && !has_marks(inside)
}

fn is_blank(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\\'
}

/// Whether a text has something that PTX does not have, but templates of texts: `{{`, `${name}`, `<NAME>`,
/// `@NAME@`, `%(name)s`.
fn has_marks(text: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    ["{{", "}}", "${", "%("].iter().any(|mark| text.contains(mark))
        || text.match_indices(['<', '@']).any(|(at, _)| {
            let behind = &text.as_bytes()[at + 1..];
            let len = behind.iter().take_while(|byte| is_part(byte)).count();
            len > 0 && !behind[0].is_ascii_digit() && matches!(behind.get(len), Some(b'>' | b'@'))
        })
}

/// The comments of a text at a place of a file that may be meant for this tool.
pub(super) fn comments(inside: &str, start: u32) -> impl Iterator<Item = Span> + '_ {
    let mut at = start;
    inside.split_inclusive('\n').filter_map(move |line| {
        let place = at;
        at += line.len() as u32;
        let comment = line.find("//").filter(|from| line[*from..].contains(MARK))?;
        let text = line.trim_end();
        Some(Span::new(place + comment as u32, place + text.len() as u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_modules() {
        let module =
            "\n// A kernel.\n.version 9.0\n.target sm_100a\n.entry k() { .reg .b32 r<4>; @p bra L; L: }\n";
        assert!(is_whole(module));
        assert!(is_whole(&format!("\\{module}")));
        assert!(!is_whole(&module.replace(".version 9.0", "")));
        assert!(!is_whole(&module.replace("L: }", "L:")));
        assert!(!is_whole(&module.replace("k() {", "k()")));
        for mark in ["r<N>", "r<{n}{{>", "@COLUMNS@", "${columns}", "%(columns)d"] {
            assert!(!is_whole(&module.replace("r<4>", mark)), "{mark}");
        }
    }

    #[test]
    fn comments_for_this_tool() {
        let text = ".version 9.0 // ptx-tc: allow(TC301)\n// not meant\n  // ptx-tc: allow(TC3)  \n}";
        let found: Vec<&str> = comments(text, 0).map(|span| &text[span.range()]).collect();
        assert_eq!(found, ["// ptx-tc: allow(TC301)", "// ptx-tc: allow(TC3)"]);
    }
}
