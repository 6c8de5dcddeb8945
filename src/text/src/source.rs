//! Where text lives and how places in it are named.
//!
//! A [`Source`] is a named text. Everything downstream speaks of it in [`Span`]s: two byte
//! offsets, eight bytes, `Copy`. Lines and columns exist only at the edges, where [`Lines`] finds them.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use crate::threads;

/// A half-open range of byte offsets in one [`Source`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The empty span before the byte at `offset`.
    pub const fn at(offset: u32) -> Self {
        Self::new(offset, offset)
    }

    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the span covers no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest span that covers `self` and `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// The span as a range of `usize`, to slice text with.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.start, self.end].serialize(serializer)
    }
}

/// A value and the place it was written at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Ties `value` to `span`.
    pub const fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// A text that cannot become a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// Offsets are 32 bits wide, so that a text ends at 4 GiB.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The bytes are no text: an object file, an archive, an image.
    Binary {
        /// Offset of the first NUL byte.
        offset: usize,
        /// What the first bytes say that it is, if they say anything.
        looks_like: Option<&'static str>,
    },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "the text is {bytes} bytes long; at most 4 GiB can be read")
            }
            Self::Binary { offset, looks_like: Some(kind) } => {
                write!(f, "this is {kind}, not PTX text (NUL byte at offset {offset})")
            }
            Self::Binary { offset, looks_like: None } => {
                write!(f, "this is a binary file, not PTX text (NUL byte at offset {offset})")
            }
        }
    }
}

impl std::error::Error for SourceError {}

/// A named text to check; a copy shares the text.
#[derive(Clone, Debug)]
pub struct Source {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    text: String,
    lines: OnceLock<LineIndex>,
}

impl Source {
    /// A source from text that is already known to be UTF-8 and shorter than 4 GiB.
    ///
    /// # Errors
    /// [`SourceError::TooLong`] when an offset would not fit 32 bits.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Self, SourceError> {
        let text = text.into();
        if u32::try_from(text.len()).is_err() {
            return Err(SourceError::TooLong { bytes: text.len() });
        }
        Ok(Self { inner: Arc::new(Inner { name: name.into(), text, lines: OnceLock::new() }) })
    }

    /// A source from the bytes of a file.
    ///
    /// The assembler does not care about encodings, so neither does this: each byte that is no
    /// UTF-8 is replaced by one `SUB` control character. Offsets stay those of the file, and such
    /// a byte is an error only where a token is due, not in a comment.
    ///
    /// # Errors
    /// [`SourceError::Binary`] when the bytes contain NUL, [`SourceError::TooLong`] over 4 GiB.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, SourceError> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(SourceError::TooLong { bytes: bytes.len() });
        }
        let piece = (bytes.len() / threads::count()).next_multiple_of(BLOCK).max(WORTH);
        let mut lines = LineIndex::default();
        for (index, part) in
            threads::map(bytes.chunks(piece).collect(), LineIndex::of_text).into_iter().enumerate()
        {
            match part {
                Ok(part) => lines.append(&part),
                Err(at) => {
                    return Err(SourceError::Binary {
                        offset: index * piece + at,
                        looks_like: magic(&bytes),
                    });
                }
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let source = Self::new(name, text)?;
                // It has no other yet.
                let _ = source.inner.lines.set(lines);
                Ok(source)
            }
            Err(error) => Self::new(name, replace_invalid(&error.into_bytes())),
        }
    }

    /// The name: a path, or what stands for one.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The text that `span` covers; empty when it lies outside or splits a character.
    pub fn slice(&self, span: Span) -> &str {
        self.inner.text.get(span.range()).unwrap_or_default()
    }

    /// Its lines; the index of them is made at the first call.
    pub fn lines(&self) -> Lines<'_> {
        let text = self.text();
        Lines { text, index: self.inner.lines.get_or_init(|| LineIndex::new(text)) }
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        self.lines().position(offset)
    }
}

/// Stands for a byte that is no UTF-8.
pub(crate) const INVALID_BYTE: char = '\u{1a}';

fn replace_invalid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n(INVALID_BYTE, chunk.invalid().len()));
    }
    text
}

fn magic(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x7fELF", "an ELF object (a cubin or a host object)"),
        (b"\x50\xed\x55\xba", "a CUDA fat binary"),
        (b"BC\xc0\xde", "LLVM bitcode"),
        (b"PK", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip file"),
    ];
    KINDS.iter().find(|(prefix, _)| bytes.starts_with(prefix)).map(|&(_, kind)| kind)
}

/// A place as people name it; both numbers start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number.
    pub line: u32,
    /// Column number in Unicode scalar values.
    pub column: u32,
}

/// What stands before each block of a text. A place is found in its block; so most of the text is only
/// counted, many bytes at a time.
#[derive(Debug)]
struct LineIndex {
    /// By block, with one for the end.
    before: Vec<Before>,
}

/// What stands before a place.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// Line feeds.
    feeds: u32,
    /// Scalar values.
    characters: u32,
}

/// Bytes of a block.
const BLOCK: usize = 1024;
/// Bytes that are worth a thread.
const WORTH: usize = 1 << 20;

/// How many scalar values start in `bytes`: one at every byte that is no continuation byte.
fn characters(bytes: &[u8]) -> u32 {
    /// So many fit a byte, which is what makes it fast.
    const FEW: usize = 128;
    if bytes.is_ascii() {
        return bytes.len() as u32;
    }
    let starts = |byte: &u8| u8::from(byte & 0xC0 != 0x80);
    let of = |few: &[u8]| few.iter().fold(0_u8, |sum, byte| sum.wrapping_add(starts(byte)));
    bytes.chunks(FEW).map(|few| u32::from(of(few))).sum()
}

impl Before {
    fn plus(self, bytes: &[u8]) -> Self {
        Self {
            feeds: self.feeds + memchr::memchr_iter(b'\n', bytes).count() as u32,
            characters: self.characters + characters(bytes),
        }
    }
}

impl Default for LineIndex {
    /// Of an empty text.
    fn default() -> Self {
        Self { before: vec![Before::default()] }
    }
}

impl LineIndex {
    fn new(text: &str) -> Self {
        let mut index = Self::default();
        text.as_bytes().chunks(BLOCK).for_each(|block| index.push(block));
        index
    }

    /// The same of bytes that may be no text: then, where the first NUL is. A long text does not fit the caches next
    /// to a processor, so that both are asked of a block while it is there.
    fn of_text(bytes: &[u8]) -> Result<Self, usize> {
        let mut index = Self::default();
        for (number, block) in bytes.chunks(BLOCK).enumerate() {
            if let Some(at) = memchr::memchr(0, block) {
                return Err(number * BLOCK + at);
            }
            index.push(block);
        }
        Ok(index)
    }

    /// What stands before the end.
    fn all(&self) -> Before {
        self.before.last().copied().unwrap_or_default()
    }

    /// Adds the next block; only the last of a text is shorter than the others.
    fn push(&mut self, block: &[u8]) {
        self.before.push(self.all().plus(block));
    }

    /// Adds the blocks of the text behind.
    fn append(&mut self, behind: &Self) {
        let Before { feeds, characters } = self.all();
        let blocks = behind.before.iter().skip(1);
        self.before.extend(
            blocks.map(|it| Before { feeds: feeds + it.feeds, characters: characters + it.characters }),
        );
    }
}

/// The lines of a text. A line ends behind `\n`; a `\r` before it belongs to the line.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    index: &'a LineIndex,
}

impl Lines<'_> {
    /// What stands before an offset; behind the end, that is all.
    fn before(self, offset: u32) -> Before {
        let bytes = self.text.as_bytes();
        let offset = bytes.len().min(offset as usize);
        let block = offset / BLOCK;
        self.index.before[block].plus(&bytes[block * BLOCK..offset])
    }

    /// Number of lines; a text without `\n` has one.
    pub fn count(self) -> usize {
        self.index.all().feeds as usize + 1
    }

    /// Offset at which the line with this index (from 0) starts.
    pub fn start(self, line: usize) -> Option<u32> {
        if line == 0 {
            return Some(0);
        }
        // The block with the line feed before it.
        let block = self.index.before.partition_point(|it| (it.feeds as usize) < line) - 1;
        let more = line - self.index.before[block].feeds as usize;
        let from = block * BLOCK;
        let feed = memchr::memchr_iter(b'\n', self.text.as_bytes().get(from..)?).nth(more - 1)?;
        Some((from + feed + 1) as u32)
    }

    /// Index, from 0, of the line that holds `offset`.
    pub fn line(self, offset: u32) -> usize {
        self.before(offset).feeds as usize
    }

    /// Line and column of `offset`.
    pub fn position(self, offset: u32) -> Position {
        let before = self.before(offset);
        let start = self.start(before.feeds as usize).unwrap_or_default();
        let column = before.characters - self.before(start).characters + 1;
        Position { line: before.feeds + 1, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_start_behind_line_feeds() {
        // What differs from `\n` in one bit, next to it, and words of any length.
        let pieces = ["\n", "\u{b}", "\u{8}", "\n\n", "ab", "\r\n", "12345678", "\u{8a}\n", "\n\u{1}", ""];
        let mut text = String::new();
        for step in 0..2000_usize {
            text.push_str(pieces[step * step % 7 + step % 4]);
            let source = Source::new("t", text.as_str()).unwrap();
            let lines = source.lines();
            let starts: Vec<u32> = (0..lines.count()).filter_map(|line| lines.start(line)).collect();
            let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            let expected: Vec<u32> = [0].into_iter().chain(feeds.map(|(at, _)| at as u32 + 1)).collect();
            assert_eq!(starts, expected, "{text:?}");
            assert_eq!(lines.start(starts.len()), None);
            for (line, start) in starts.into_iter().enumerate() {
                assert_eq!(lines.line(start), line, "{text:?}");
                assert_eq!(lines.line(start.saturating_sub(1)), line.saturating_sub(1), "{text:?}");
            }
        }
    }

    #[test]
    fn the_bytes_of_a_long_file_are_read_in_pieces() {
        let text = "mov.b32 a, b; // \u{e9}\n".repeat(3 * WORTH / 22);
        let read = Source::from_bytes("t", text.clone().into_bytes()).unwrap();
        let source = Source::new("t", text.as_str()).unwrap();
        assert_eq!(read.lines().count(), source.lines().count());
        for offset in (0..text.len() as u32).step_by(997) {
            assert_eq!(read.position(offset), source.position(offset));
        }
        for offset in [0, BLOCK, WORTH, WORTH + BLOCK + 1, text.len() - 1] {
            let mut bytes = text.clone().into_bytes();
            bytes[offset] = 0;
            let error = Source::from_bytes("t", bytes).unwrap_err();
            assert_eq!(error, SourceError::Binary { offset, looks_like: None });
        }
    }

    #[test]
    fn columns_of_long_lines() {
        let long = "\u{e9}".repeat(3 * BLOCK);
        let source = Source::new("t", format!("a\n{long}b\nc")).unwrap();
        let at = |offset: usize| source.position(offset as u32);
        assert_eq!(at(2 + long.len()), Position { line: 2, column: 3 * BLOCK as u32 + 1 });
        assert_eq!(at(2 + long.len() / 2), Position { line: 2, column: 3 * BLOCK as u32 / 2 + 1 });
        assert_eq!(at(2 + long.len() + 2), Position { line: 3, column: 1 });
        assert_eq!(at(0), Position { line: 1, column: 1 });
    }
}
