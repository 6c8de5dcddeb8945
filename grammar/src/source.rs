//! Where text lives and how places in it are named.
//!
//! A [`Source`] is a named text. Everything downstream speaks of it in [`Span`]s: two byte
//! offsets, eight bytes, `Copy`. Lines and columns exist only at the edges, computed from a
//! [`LineIndex`].

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

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
        if let Some(offset) = memchr::memchr(0, &bytes) {
            return Err(SourceError::Binary { offset, looks_like: magic(&bytes) });
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => replace_invalid(&error.into_bytes()),
        };
        Self::new(name, text)
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

    /// The line index, computed at the first call.
    pub fn lines(&self) -> &LineIndex {
        self.inner.lines.get_or_init(|| LineIndex::new(&self.inner.text))
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        self.lines().position(self.text(), offset)
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

/// Where each line starts.
#[derive(Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    /// Places in long lines, in order: offset, and characters of the line before it. A column is
    /// counted from the last of them.
    checkpoints: Vec<(u32, u32)>,
}

/// Bytes from one checkpoint of a line to the next.
const CHECKPOINT: usize = 4096;

/// How many scalar values start in `bytes`: one at every byte that is no continuation byte.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32
}

/// Where each line starts. Eight bytes at a time: lines are short, so that a search for the end of each
/// costs more.
fn line_starts(bytes: &[u8]) -> Vec<u32> {
    const EACH: u64 = u64::MAX / 0xFF;
    /// A line feed in each byte.
    const FEEDS: u64 = EACH * 0x0A;
    /// How long a line is at least, on average.
    const SHORT: usize = 32;
    let mut starts = Vec::with_capacity(bytes.len() / SHORT + 1);
    starts.push(0);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut behind = 1;
    for word in words {
        let others = u64::from_le_bytes(*word) ^ FEEDS;
        // The highest bit of each byte that was one.
        let mut found = !(((others & (EACH * 0x7F)) + EACH * 0x7F) | others) & (EACH * 0x80);
        while found != 0 {
            starts.push(behind + found.trailing_zeros() / 8);
            found &= found - 1;
        }
        behind += 8;
    }
    starts.extend((behind..).zip(rest).filter(|(_, byte)| **byte == b'\n').map(|(start, _)| start));
    starts
}

impl LineIndex {
    /// Indexes `text`. A line ends behind `\n`; a `\r` before it belongs to the line.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let starts = line_starts(bytes);
        let mut checkpoints = Vec::new();
        for (line, &start) in starts.iter().enumerate() {
            let start = start as usize;
            let end = starts.get(line + 1).map_or(bytes.len(), |next| *next as usize - 1);
            if end - start > CHECKPOINT {
                let mut column = 0;
                for (index, piece) in bytes[start..end].chunks(CHECKPOINT).enumerate() {
                    checkpoints.push(((start + index * CHECKPOINT) as u32, column));
                    column += characters(piece);
                }
            }
        }
        Self { starts, checkpoints }
    }

    /// Number of lines; a text without `\n` has one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Offset at which the line with this index (from 0) starts.
    pub fn start(&self, line: usize) -> Option<u32> {
        self.starts.get(line).copied()
    }

    /// Index, from 0, of the line that holds `offset`.
    pub fn line(&self, offset: u32) -> usize {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// Line and column of `offset` in the `text` that was indexed.
    pub fn position(&self, text: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let near = self.checkpoints.partition_point(|&(at, _)| at <= offset).checked_sub(1);
        let near = near.and_then(|near| self.checkpoints.get(near)).filter(|&&(at, _)| at >= start);
        let (from, column) = near.copied().unwrap_or((start, 0));
        let between = text.as_bytes().get(from as usize..offset as usize).unwrap_or_default();
        Position { line: line as u32 + 1, column: column + characters(between) + 1 }
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
            let index = LineIndex::new(&text);
            let starts: Vec<u32> = (0..index.count()).filter_map(|line| index.start(line)).collect();
            let feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            let expected: Vec<u32> = [0].into_iter().chain(feeds.map(|(at, _)| at as u32 + 1)).collect();
            assert_eq!(starts, expected, "{text:?}");
        }
    }

    #[test]
    fn columns_of_long_lines() {
        let long = "\u{e9}".repeat(3 * CHECKPOINT);
        let source = Source::new("t", format!("a\n{long}b\nc")).unwrap();
        let at = |offset: usize| source.position(offset as u32);
        assert_eq!(at(2 + long.len()), Position { line: 2, column: 3 * CHECKPOINT as u32 + 1 });
        assert_eq!(at(2 + long.len() / 2), Position { line: 2, column: 3 * CHECKPOINT as u32 / 2 + 1 });
        assert_eq!(at(2 + long.len() + 2), Position { line: 3, column: 1 });
        assert_eq!(at(0), Position { line: 1, column: 1 });
    }
}
