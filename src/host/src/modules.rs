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

use rustc_hash::FxHashSet;

use super::template::{cook, uncommented};
use super::{Found, MARK, Piece};
use ptx_text::source::{Source, Span};

/// A text that is a module.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// The literal, with its quotes, or several from the first to the last.
    pub(super) span: Span,
    pub(super) pieces: Vec<Piece>,
}

/// What a text with a kernel has.
pub(super) const WORD: &str = ".entry";

/// Whether a text may have a module in it: what no other text is likely to say.
pub(super) fn may_be_in(text: &[u8]) -> bool {
    const TARGET: &[u8] = b".target";
    memchr::memmem::find_iter(text, TARGET)
        .any(|at| text[at + TARGET.len()..].trim_ascii_start().starts_with(b"sm_"))
}

impl Module {
    /// The module that pieces say, if it is a whole one and nothing else.
    pub(super) fn of(source: &Source, span: Span, mut pieces: Vec<Piece>) -> Option<Self> {
        // The character that the driver knows its end by.
        if let Some(Piece::Text { span, .. }) = pieces.last_mut()
            && source.slice(*span).ends_with("\\0")
        {
            span.end -= 2;
        }
        let said = cook(source, &pieces, |_, _| 0);
        (!said.has_holes() && is_whole(said.text.text())).then_some(Self { span, pieces })
    }
}

/// What stands in a text of a language whose strings are written one behind the other, or alone.
pub(super) enum Part {
    /// A string, what is in it, and what that says.
    Literal(Span, Span, Piece),
    /// What makes something else of a string beside it: an operator, the name of a macro, a method.
    Changes,
    /// A word; whether it does, too.
    Word(Span, bool),
    /// Anything else.
    Other,
}

/// Adds the modules that stand in the strings of a text.
pub(super) fn find(source: &Source, parts: impl Iterator<Item = Part>, found: &mut Found) {
    let text = source.text();
    let mut filled = Filled::default();
    let mut run: Vec<(Span, Span, Piece)> = Vec::new();
    let mut runs = Vec::new();
    let mut is_changed = false;
    for part in parts.chain([Part::Other]) {
        let changes = match part {
            Part::Literal(span, inside, piece) => {
                run.push((span, inside, piece));
                continue;
            }
            Part::Word(word, changes) => {
                filled.word(text, word);
                changes
            }
            Part::Changes => true,
            Part::Other => false,
        };
        let run = std::mem::take(&mut run);
        let has_kernel = run.iter().any(|(_, inside, _)| source.slice(*inside).contains(WORD));
        if has_kernel && !is_changed && !changes {
            runs.push(run);
        }
        is_changed = changes;
    }
    for run in runs {
        let (first, last) = (run[0].0, run[run.len() - 1].0);
        if filled.has_declared(&text[..first.start as usize]) {
            continue;
        }
        let pieces = run.iter().map(|(.., piece)| *piece).collect();
        if let Some(module) = Module::of(source, first.to(last), pieces) {
            for (_, inside, _) in &run {
                found.comments.extend(comments(source.slice(*inside), inside.start));
            }
            found.modules.push(module);
        }
    }
    found.comments.sort_unstable();
    found.comments.dedup();
}

/// The names of a file into whose strings something is put somewhere.
#[derive(Debug, Default)]
pub(super) struct Filled<'s> {
    names: FxHashSet<&'s str>,
}

impl<'s> Filled<'s> {
    /// Looks at a word of the code. What comments and strings say puts nothing anywhere.
    pub(super) fn word(&mut self, text: &'s str, word: Span) {
        const FILLS: [&str; 6] = [".format", ".replace", ".substitute(", ".safe_substitute(", " %", " +"];
        let (before, behind) = (&text[..word.start as usize], &text[word.end as usize..]);
        if before.ends_with("Template(") || FILLS.iter().any(|fills| behind.starts_with(fills)) {
            self.names.insert(&text[word.range()]);
        }
    }

    /// Whether one of them is declared directly in front of a place: it is one of the words between that and the
    /// statement before.
    pub(super) fn has_declared(&self, before: &str) -> bool {
        let Some(declared) = before.trim_end_matches(is_blank).strip_suffix('=') else { return false };
        let start = declared.rfind(['\n', ';', '{', '}']).map_or(0, |at| at + 1);
        let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
        let mut names = declared[start..].split(|character| !is_of_name(character));
        names.any(|name| self.names.contains(name))
    }
}

/// Whether a text is a module, from its version to the end of its last function, and as it is.
fn is_whole(text: &str) -> bool {
    let has =
        |word: &str| text.match_indices(word).any(|(at, _)| text[at + word.len()..].starts_with(is_blank));
    if !has(WORD) || !has(".target") {
        return false;
    }
    // A brace in a comment opens and closes nothing.
    let code = uncommented(text);
    let code = code.trim();
    // What is put together from several literals closes what another one opens.
    let count = |brace: char| code.matches(brace).count();
    code.starts_with(".version")
        && code.ends_with('}')
        && count('{') == count('}')
        && !text.contains("%%")
        && !has_marks(text)
}

fn is_blank(character: char) -> bool {
    character.is_ascii_whitespace()
}

/// Whether a text has something that PTX does not have, but templates of texts: `{{`, `${name}`, `<NAME>`,
/// `@NAME@`, `%(name)s`.
pub(super) fn has_marks(text: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    ["{{", "}}", "${", "%("].iter().any(|mark| text.contains(mark))
        || text.match_indices(['<', '@']).any(|(at, _)| {
            let behind = &text.as_bytes()[at + 1..];
            let len = behind.iter().take_while(|byte| is_part(byte)).count();
            len > 0 && !behind[0].is_ascii_digit() && matches!(behind.get(len), Some(b'>' | b'@'))
        })
}

/// Whether a template has something that is filled in where the program that it stands in is made: `{}`, `{name}`,
/// `{:d}`, which no vector of PTX is likely to be, `%d`; and `%%0`, which is an operand behind that only.
pub(super) fn has_fields(text: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_field = |behind: &str| {
        let len = behind.bytes().take_while(|byte| is_part(byte)).count();
        behind[len..].starts_with(['}', ':'])
    };
    let is_conversion = |behind: &str| match behind.as_bytes() {
        [b'%', behind, ..] => behind.is_ascii_digit(),
        [b'd' | b'i' | b's' | b'u' | b'x', behind @ ..] => {
            behind.first().is_none_or(|next| !is_part(next) && *next != b'<')
        }
        _ => false,
    };
    text.split('{').skip(1).any(is_field)
        || text.match_indices('%').any(|(at, _)| !text[..at].ends_with('%') && is_conversion(&text[at + 1..]))
}

/// The comments of a text at a place of a file that may be meant for this tool.
pub(super) fn comments(inside: &str, start: u32) -> impl Iterator<Item = Span> + '_ {
    let mut at = start;
    // A line may end where it is written as `\n`, too.
    let lines = inside.split_inclusive('\n').flat_map(|line| line.split_inclusive("\\n"));
    lines.filter_map(move |line| {
        let place = at;
        at += line.len() as u32;
        let comment = line.find("//").filter(|from| line[*from..].contains(MARK))?;
        let text = line.trim_end();
        let text = text.strip_suffix("\\n").map_or(text, str::trim_end);
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
        assert!(!is_whole(&module.replace(".version 9.0", "")));
        assert!(!is_whole(&module.replace("L: }", "L:")));
        assert!(is_whole(&module.replace("L: }", "L: } // }")));
        assert!(!is_whole(&module.replace("L: }", "L: // }")));
        assert!(!is_whole(&module.replace("k() {", "k()")));
        for mark in ["r<N>", "r<{n}{{>", "@COLUMNS@", "${columns}", "%(columns)d", "%%r"] {
            assert!(!is_whole(&module.replace("r<4>", mark)), "{mark}");
        }
    }

    #[test]
    fn fields() {
        for text in ["{}", "r, {n};", "{0}", "{:x}", "{n:x}", "x%d.b32", "%s", "[%%0]", "%%1"] {
            assert!(has_fields(text), "{text}");
        }
        for text in ["{%0, %1}", "{ a: }", "{a, b}", "%r1", "%%laneid", "%0", "%d<4>", "%rd1", "%sum", "{$0}"]
        {
            assert!(!has_fields(text), "{text}");
        }
    }

    #[test]
    fn comments_for_this_tool() {
        let text = ".version 9.0 // ptx-tc: allow(TC301)\n// not meant\n  // ptx-tc: allow(TC3)  \n}";
        let found: Vec<&str> = comments(text, 0).map(|span| &text[span.range()]).collect();
        assert_eq!(found, ["// ptx-tc: allow(TC301)", "// ptx-tc: allow(TC3)"]);
        let text = r".version 9.0 // ptx-tc: allow(TC301) \n// not meant\n// ptx-tc: allow(TC3)\n}";
        let found: Vec<&str> = comments(text, 0).map(|span| &text[span.range()]).collect();
        assert_eq!(found, ["// ptx-tc: allow(TC301)", "// ptx-tc: allow(TC3)"]);
    }
}
