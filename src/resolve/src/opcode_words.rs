//! The words of an opcode.
//!
//! White space and comments may stand before each dot, so an opcode is not simply split at its dots.

use crate::isa::vocabulary;
use crate::source::Span;

/// The words of an opcode, each with the place from its dot on, counted from the opcode's start.
pub fn words(opcode: &str) -> impl Iterator<Item = (&str, Span)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let tail = &opcode[rest..];
            if tail.is_empty() {
                return None;
            }
            // What stands between two words of a spaced-out opcode.
            let skipped = blank(tail);
            if skipped > 0 {
                rest += skipped;
                continue;
            }
            let body = usize::from(tail.starts_with('.'));
            let ends = |byte: u8| byte == b'.' || byte == b'/' || byte.is_ascii_whitespace();
            // Words are too short for a search that sets up more than a loop.
            let len = tail.bytes().skip(body).position(ends).map_or(tail.len(), |at| at + body);
            let span = Span::new(rest as u32, (rest + len) as u32);
            rest += len;
            return Some((&tail[body..len], span));
        }
    })
}

/// Length of the white space or comment that `text` starts with.
fn blank(text: &str) -> usize {
    if !text.starts_with(|c: char| c == '/' || c.is_ascii_whitespace()) {
        return 0;
    }
    let space = text.len() - text.trim_ascii_start().len();
    if space > 0 {
        return space;
    }
    if text.starts_with("//") {
        return text.find(['\n', '\r']).map_or(text.len(), |at| at + 1);
    }
    // The `*` of `/*` ends nothing: `/*/` is not a whole comment.
    if let Some(comment) = text.strip_prefix("/*") {
        return comment.find("*/").map_or(text.len(), |at| at + 4);
    }
    1
}

/// The tcgen05 operation that words behind `tcgen05` start with, and how many of them name it.
pub fn tensor_operation<'s>(
    words: impl Iterator<Item = (&'s str, Span)>,
) -> Option<(vocabulary::Operation, usize)> {
    let mut longest = None;
    let mut name = String::with_capacity(32);
    let mut end = None;
    for (count, (word, span)) in words.enumerate().take(3) {
        if count > 0 {
            // The words of an operation stand directly behind each other.
            if end != Some(span.start) {
                break;
            }
            name.push('.');
        }
        end = Some(span.end);
        name.push_str(word);
        if let Ok(operation) = name.parse() {
            longest = Some((operation, count + 1));
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(opcode: &str) -> Vec<&str> {
        words(opcode)
            .map(|(word, span)| {
                assert!(opcode[span.start as usize..span.end as usize].ends_with(word));
                word
            })
            .collect()
    }

    #[test]
    fn dots_blanks_and_comments() {
        assert_eq!(split("ret"), ["ret"]);
        assert_eq!(split("ld.shared::cta.b32"), ["ld", "shared::cta", "b32"]);
        assert_eq!(split("ld /* a.b */ .global\n // c\n\t.b32"), ["ld", "global", "b32"]);
        assert_eq!(split("ld.global/**/.b32"), ["ld", "global", "b32"]);
        assert_eq!(split("a..b."), ["a", "", "b", ""]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("a//"), ["a"]);
        assert_eq!(split("a/*"), ["a"]);
        assert_eq!(split("a/"), ["a"]);
        assert_eq!(split("a/*/.b*/.c"), ["a", "c"]);
    }
}
