//! The text of open documents and the places in it as the protocol names them.
//!
//! The protocol counts lines from 0 and columns in UTF-16 code units, or in bytes when the client
//! can do that. Both are converted here and nowhere else.

use std::sync::{Arc, OnceLock};

use ptx_check::diagnostic::Edit;
use ptx_check::source::{Source, Span};

/// What a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    Utf16,
}

/// A place as the protocol names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// From 0.
    pub(crate) line: u32,
    /// From 0, in units of the encoding.
    pub(crate) character: u32,
}

/// A part of a text that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// What was replaced, in the text before it.
    pub(crate) span: Span,
    /// How long the new part is.
    pub(crate) inserted: u32,
}

impl Change {
    /// Where `offset` was before these changes; what is new was where it was inserted.
    pub(crate) fn before(changes: &[Self], offset: u32) -> u32 {
        changes.iter().rev().fold(offset, |offset, change| {
            let end = change.span.start + change.inserted;
            match offset {
                behind if behind >= end => behind - end + change.span.end,
                within => within.min(change.span.start),
            }
        })
    }
}

/// A text with the starts of its lines. Cheap to clone once it is shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    content: Content,
    lines: Arc<Lines>,
    /// Made when someone asks for a place far into a line.
    wide: Arc<OnceLock<Wide>>,
}

/// The characters of a text. Several edits in a row copy it once.
#[derive(Clone, Debug)]
enum Content {
    /// It is being edited.
    Own(String),
    /// Others look at it, too.
    Shared(Source),
}

impl Default for Content {
    fn default() -> Self {
        Self::Own(String::new())
    }
}

/// Where lines start: behind `\n`, `\r\n` and `\r`, as the protocol has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lines(Vec<u32>);

impl Default for Lines {
    fn default() -> Self {
        Self(vec![0])
    }
}

impl Text {
    pub(crate) fn new(content: String) -> Self {
        let lines = Arc::new(Lines::new(&content));
        Self { content: Content::Own(content), lines, wide: Arc::default() }
    }

    pub(crate) fn as_str(&self) -> &str {
        match &self.content {
            Content::Own(content) => content,
            Content::Shared(source) => source.text(),
        }
    }

    /// The text as a source, which has no copy of it; `None` when it is longer than spans can say.
    pub(crate) fn share(&mut self, name: &str) -> Option<Source> {
        if let Content::Own(content) = &mut self.content {
            u32::try_from(content.len()).ok()?;
            self.content = Content::Shared(Source::new(name, std::mem::take(content)).ok()?);
        }
        match &self.content {
            Content::Shared(source) => Some(source.clone()),
            Content::Own(_) => None,
        }
    }

    /// Number of lines; an empty text has one.
    pub(crate) fn line_count(&self) -> u32 {
        self.lines.0.len() as u32
    }

    /// The line with this number, without its end.
    pub(crate) fn line(&self, line: u32) -> Span {
        let end_of_text = self.as_str().len() as u32;
        let Some(&start) = self.lines.0.get(line as usize) else { return Span::at(end_of_text) };
        let next = self.lines.0.get(line as usize + 1).copied().unwrap_or(end_of_text);
        let line = &self.as_str()[start as usize..next as usize];
        let content = line.trim_end_matches(['\n', '\r']);
        Span::new(start, start + content.len() as u32)
    }

    /// The number of the line that holds `offset`.
    pub(crate) fn line_of(&self, offset: u32) -> u32 {
        self.lines.0.partition_point(|&start| start <= offset).saturating_sub(1) as u32
    }

    /// The byte offset of a place. A place outside the text is moved to the nearest one inside.
    pub(crate) fn offset(&self, place: Place, encoding: Encoding) -> u32 {
        let line = self.line(place.line);
        let text = &self.as_str()[line.range()];
        let within = match encoding {
            Encoding::Utf8 => floor(text, place.character as usize),
            Encoding::Utf16 if text.is_ascii() => text.len().min(place.character as usize),
            Encoding::Utf16 => {
                let mut units = 0;
                text.char_indices()
                    .find(|(_, character)| {
                        units += character.len_utf16() as u32;
                        units > place.character
                    })
                    .map_or(text.len(), |(at, _)| at)
            }
        };
        line.start + within as u32
    }

    /// The place of a byte offset.
    pub(crate) fn place(&self, offset: u32, encoding: Encoding) -> Place {
        let text = self.as_str();
        let offset = floor(text, offset as usize) as u32;
        let line = self.line_of(offset);
        let start = self.lines.0[line as usize];
        let before = Span::new(start, offset);
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 if before.len() <= NEAR => {
                text[before.range()].chars().map(|character| character.len_utf16() as u32).sum()
            }
            Encoding::Utf16 => self.wide.get_or_init(|| Wide::new(text)).units(before),
        };
        Place { line, character }
    }

    /// Replaces a part of the text.
    pub(crate) fn replace(&mut self, span: Span, by: &str) {
        match &mut self.content {
            Content::Own(content) => content.replace_range(span.range(), by),
            Content::Shared(source) => {
                let (before, behind) =
                    (&source.text()[..span.start as usize], &source.text()[span.end as usize..]);
                self.content = Content::Own([before, by, behind].concat());
            }
        }
        self.wide = Arc::default();
        let content = match &self.content {
            Content::Own(content) => content,
            Content::Shared(source) => source.text(),
        };
        Arc::make_mut(&mut self.lines).replace(content, span, by.len() as u32);
    }
}

/// So far into a line, its characters are counted one by one.
const NEAR: u32 = 256;

/// The characters that have not one byte and one UTF-16 code unit each.
#[derive(Debug)]
struct Wide(Vec<WideCharacter>);

#[derive(Clone, Copy, Debug)]
struct WideCharacter {
    /// Where it ends.
    end: u32,
    /// How many bytes more than code units there are up to there.
    excess: u32,
}

impl Wide {
    fn new(text: &str) -> Self {
        let mut all = Vec::new();
        let mut excess = 0;
        let mut rest = 0;
        while let Some(at) = text.as_bytes()[rest..].iter().position(|byte| !byte.is_ascii()) {
            let start = rest + at;
            let Some(character) = text[start..].chars().next() else { break };
            rest = start + character.len_utf8();
            excess += (character.len_utf8() - character.len_utf16()) as u32;
            all.push(WideCharacter { end: rest as u32, excess });
        }
        Self(all)
    }

    /// The length of a part of the text in code units.
    fn units(&self, span: Span) -> u32 {
        let excess = |offset: u32| {
            let before = self.0.partition_point(|it| it.end <= offset);
            before.checked_sub(1).map_or(0, |last| self.0[last].excess)
        };
        span.len() - (excess(span.end) - excess(span.start))
    }
}

/// One edit that turns `old` into `new`, without what both start and end with.
pub(crate) fn difference(old: &str, new: &str) -> Edit {
    let mut start = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
    while !old.is_char_boundary(start) {
        start -= 1;
    }
    let longest = old.len().min(new.len()) - start;
    let same = |(one, other): &(u8, u8)| one == other;
    let mut end = old.bytes().rev().zip(new.bytes().rev()).take(longest).take_while(same).count();
    while !old.is_char_boundary(old.len() - end) {
        end -= 1;
    }
    let span = Span::new(start as u32, (old.len() - end) as u32);
    Edit { span, text: new.get(start..new.len() - end).unwrap_or_default().to_owned() }
}

/// The end of the last character that ends at `at` or before.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
}

impl Lines {
    fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(Self::within(text.as_bytes(), 1, text.len()));
        Self(starts)
    }

    /// The line starts from `from` to `to`, both included; neither is 0.
    fn within(text: &[u8], from: usize, to: usize) -> impl Iterator<Item = u32> + '_ {
        let from = from.max(1);
        let ends = text.get(from - 1..to).unwrap_or_default();
        memchr::memchr2_iter(b'\n', b'\r', ends)
            .map(move |at| at + from)
            .filter(|&start| text[start - 1] == b'\n' || text.get(start) != Some(&b'\n'))
            .map(|start| start as u32)
    }

    /// Follows an edit; `text` is the text behind it. Only the lines that the edit touches are read.
    fn replace(&mut self, text: &str, span: Span, inserted: u32) {
        // Whether a line starts somewhere depends on the bytes before and at that place.
        let first = self.0.partition_point(|&start| start < span.start.max(1));
        let last = self.0.partition_point(|&start| start <= span.end).max(first);
        let end = span.start + inserted;
        for start in &mut self.0[last..] {
            *start = *start - span.len() + inserted;
        }
        let new = Self::within(text.as_bytes(), span.start as usize, end as usize);
        self.0.splice(first..last, new);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_in_both_encodings() {
        let text = Text::new("a\u{e4}\u{1f600}b\r\nx\rlast".to_owned());
        assert_eq!(text.line_count(), 3);
        let place = |line, character| Place { line, character };
        assert_eq!(text.offset(place(0, 2), Encoding::Utf16), 3);
        assert_eq!(text.offset(place(0, 3), Encoding::Utf16), 3, "within a surrogate pair");
        assert_eq!(text.offset(place(0, 4), Encoding::Utf16), 7);
        assert_eq!(text.offset(place(0, 4), Encoding::Utf8), 3, "within a character");
        assert_eq!(text.offset(place(0, 99), Encoding::Utf16), 8, "before the line's end");
        assert_eq!(text.offset(place(99, 0), Encoding::Utf8), text.as_str().len() as u32);
        assert_eq!(text.place(7, Encoding::Utf16), place(0, 4));
        assert_eq!(text.place(7, Encoding::Utf8), place(0, 7));
        assert_eq!(text.place(12, Encoding::Utf8), place(2, 0));
    }

    #[test]
    fn places_far_into_a_line() {
        let line = "a\u{e4}\u{1f600}b\u{4e2d}".repeat(200);
        let text = Text::new(format!("\u{e4}\n{line}\n\u{e4}{line}"));
        for (at, _) in text.as_str().char_indices() {
            let start = text.as_str()[..at].rfind('\n').map_or(0, |end| end + 1);
            let units = text.as_str()[start..at].encode_utf16().count() as u32;
            assert_eq!(text.place(at as u32, Encoding::Utf16).character, units, "at {at}");
        }
    }

    #[test]
    fn an_edit_leaves_what_others_look_at() {
        let mut text = Text::new("a\nb\n".to_owned());
        let source = text.share("k.ptx").unwrap();
        let before = text.clone();
        text.replace(Span::new(1, 2), "");
        text.replace(Span::new(0, 0), "\n\n");
        assert_eq!((source.text(), before.as_str(), text.as_str()), ("a\nb\n", "a\nb\n", "\n\nab\n"));
        assert_eq!((before.line_count(), text.line_count()), (3, 4));
        assert_eq!(text.share("k.ptx").unwrap().text(), text.as_str());
    }

    #[test]
    fn places_are_followed_back() {
        let change = |start, end, inserted| Change { span: Span::new(start, end), inserted };
        // `abcdef`, `aXYdef`, `aXYde`, `!aXYde`
        let changes = [change(1, 3, 2), change(5, 6, 0), change(0, 0, 1)];
        let before: Vec<u32> = (0..7).map(|offset| Change::before(&changes, offset)).collect();
        assert_eq!(before, [0, 0, 1, 1, 3, 4, 6]);
    }

    proptest! {
        #[test]
        fn edits_one_by_one_are_the_text_from_scratch(
            start in "[a\u{e4}\u{1f600}\r\n]{0,12}",
            edits in proptest::collection::vec((0u32..6, 0u32..6, 0u32..6, 0u32..6, "[x\u{e4}\r\n]{0,4}"), 0..12),
            utf8 in any::<bool>(),
        ) {
            let encoding = if utf8 { Encoding::Utf8 } else { Encoding::Utf16 };
            let mut text = Text::new(start);
            for (line, character, end_line, end_character, by) in edits {
                let from = text.offset(Place { line, character }, encoding);
                let to = text.offset(Place { line: end_line, character: end_character }, encoding);
                let span = Span::new(from.min(to), from.max(to));
                let mut expected = text.as_str().to_owned();
                expected.replace_range(span.range(), &by);
                text.replace(span, &by);
                prop_assert_eq!(text.as_str(), &expected);
                prop_assert_eq!(&*text.lines, &Lines::new(&expected));
                for (at, _) in expected.char_indices() {
                    let place = text.place(at as u32, encoding);
                    // A place within a line's end is moved before it.
                    if !matches!(expected.as_bytes()[at], b'\n' | b'\r') {
                        prop_assert_eq!(text.offset(place, encoding), at as u32);
                    }
                }
            }
        }
    }
}
