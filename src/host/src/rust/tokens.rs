//! The tokens of Rust, as far as `asm!` needs them.

use crate::MARK;
use ptx_text::source::Span;

/// A token. White space and comments stand between tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// An identifier or keyword.
    Word(Span),
    /// A string.
    Literal(Literal),
    /// A number, a character, a lifetime, or a sign: its first byte.
    Other(u8, Span),
}

/// A string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    /// With its prefix and quotes.
    pub(super) span: Span,
    pub(super) inside: Span,
    pub(super) is_raw: bool,
}

impl Token {
    pub(super) fn span(self) -> Span {
        match self {
            Self::Word(span) | Self::Other(_, span) => span,
            Self::Literal(literal) => literal.span,
        }
    }
}

/// Reads tokens.
#[derive(Debug)]
pub(super) struct Tokens<'s> {
    text: &'s str,
    at: usize,
    /// Where the text was read to, so that no comment is collected twice.
    seen: usize,
    comments: Vec<Span>,
    /// How many tokens were read.
    steps: u64,
}

impl<'s> Tokens<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, at: 0, seen: 0, comments: Vec::new(), steps: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes on reading elsewhere.
    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The comments that may be meant for this tool.
    pub(super) fn comments(self) -> Vec<Span> {
        self.comments
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.steps += 1;
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let &byte = bytes.get(start)?;
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if byte == b'/' && matches!(bytes.get(start + 1), Some(b'/' | b'*')) {
                self.comment();
                continue;
            }
            if byte.is_ascii_digit() {
                self.at += word_len(&bytes[start..]);
                return Some(self.other(start));
            }
            let len = word_len(&bytes[start..]);
            if len > 0 {
                self.at += len;
                let word = &bytes[start..self.at];
                return Some(match (word, bytes.get(self.at)) {
                    (b"b" | b"c", Some(b'"')) => self.string(start),
                    (b"r" | b"br" | b"cr", Some(b'"' | b'#')) => self.raw(start),
                    _ => Token::Word(Span::new(start as u32, self.at as u32)),
                });
            }
            if byte == b'"' {
                return Some(self.string(start));
            }
            self.at += if byte == b'\'' { quoted_len(&bytes[start..]) } else { 1 };
            return Some(self.other(start));
        }
    }

    fn other(&self, start: usize) -> Token {
        Token::Other(self.text.as_bytes()[start], Span::new(start as u32, self.at as u32))
    }

    /// A string whose quote stands here; its prefix starts at `start`.
    fn string(&mut self, start: usize) -> Token {
        let bytes = self.text.as_bytes();
        let from = self.at + 1;
        let mut at = from;
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            at += found;
            if bytes[at] == b'"' {
                break;
            }
            at += 2;
        }
        let inside = match bytes.get(at) {
            Some(b'"') => at,
            _ => bytes.len(),
        };
        self.at = bytes.len().min(inside + 1);
        self.literal(start, (from, inside), false)
    }

    /// A raw string, or a raw name, whose prefix starts at `start` and ends here.
    fn raw(&mut self, start: usize) -> Token {
        let bytes = self.text.as_bytes();
        let hashes = bytes[self.at..].iter().take_while(|byte| **byte == b'#').count();
        let open = self.at + hashes;
        if bytes.get(open) != Some(&b'"') {
            // `r#name`
            return Token::Word(Span::new(start as u32, self.at as u32));
        }
        let end = ["\"", &"#".repeat(hashes)].concat();
        let found = memchr::memmem::find(&bytes[open + 1..], end.as_bytes());
        let inside = found.map_or(bytes.len(), |len| open + 1 + len);
        self.at = bytes.len().min(inside + end.len());
        self.literal(start, (open + 1, inside), true)
    }

    fn literal(&self, start: usize, (from, to): (usize, usize), is_raw: bool) -> Token {
        Token::Literal(Literal {
            span: Span::new(start as u32, self.at as u32),
            inside: Span::new(from.min(to) as u32, to as u32),
            is_raw,
        })
    }

    /// A comment that starts here; those in each other end in that order.
    fn comment(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        if bytes[start + 1] == b'/' {
            let rest = &bytes[start..];
            self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        } else {
            self.at += 2;
            let mut depth = 1;
            while depth > 0 {
                let rest = &bytes[self.at..];
                let Some(found) = memchr::memchr2(b'*', b'/', rest) else {
                    self.at = bytes.len();
                    break;
                };
                let (step, change) = match &rest[found..rest.len().min(found + 2)] {
                    b"*/" => (2, -1),
                    b"/*" => (2, 1),
                    _ => (1, 0),
                };
                self.at += found + step;
                depth += change;
            }
        }
        if start >= self.seen {
            self.seen = self.at;
            let comment = self.text[start..self.at].trim_ascii_end();
            if memchr::memmem::find(comment.as_bytes(), MARK.as_bytes()).is_some() {
                self.comments.push(Span::new(start as u32, (start + comment.len()) as u32));
            }
        }
    }
}

/// The length of the word that bytes start with.
fn word_len(bytes: &[u8]) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    bytes.iter().position(|byte| !is_word(byte)).unwrap_or(bytes.len())
}

/// The length of the character, or of the quote of a lifetime, that bytes start with.
fn quoted_len(bytes: &[u8]) -> usize {
    /// `'\u{10ffff}'` is the longest.
    const LONGEST: usize = 12;
    match bytes.get(1) {
        Some(b'\\') => {
            let rest = &bytes[..bytes.len().min(LONGEST)];
            rest.iter().skip(3).position(|byte| *byte == b'\'').map_or(1, |len| len + 4)
        }
        Some(b'\'') | None => 1,
        // One character, of one byte or several.
        Some(_) => {
            let len = 1 + bytes[2..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
            if bytes.get(1 + len) == Some(&b'\'') { len + 2 } else { 1 }
        }
    }
}
