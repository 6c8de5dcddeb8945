//! The tokens of Python, as far as calls with assembly need them.

use crate::template::{Backslash, Escapes};
use crate::{MARK, Piece};
use ptx_text::source::Span;

/// A token. White space and comments stand between tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// The start of a line that has tokens: how far it is indented.
    Line(u32),
    /// An identifier or keyword.
    Word(Span),
    /// A string.
    Literal(Literal),
    /// A number.
    Number(Span),
    /// A character of anything else.
    Other(u8, Span),
}

/// A string.
#[allow(clippy::struct_excessive_bools, reason = "a prefix has any of its letters")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// With its prefix and quotes.
    pub(super) span: Span,
    pub(super) inside: Span,
    /// Whether backslashes are what they are.
    pub(super) is_raw: bool,
    /// Whether it has fields in braces.
    pub(super) is_formatted: bool,
    /// Whether it may go over lines.
    pub(super) is_long: bool,
    /// Whether its quotes are closed.
    pub(super) is_closed: bool,
}

impl Literal {
    pub(super) fn backslash(self) -> Backslash {
        match (self.is_raw, self.is_long) {
            (false, _) => Backslash::Python,
            (true, true) => Backslash::Plain,
            (true, false) => Backslash::PlainLine,
        }
    }

    /// What is done with it.
    pub(super) fn follower(self, text: &str) -> Follower {
        let behind = text.get(self.span.end as usize..).unwrap_or_default();
        let behind = behind.trim_start_matches([' ', '\t', '\n', '\r', ')']);
        if behind.starts_with(".format") {
            Follower::Format
        } else if behind.starts_with('%') {
            Follower::Percent
        } else {
            Follower::Other
        }
    }
}

/// What follows a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follower {
    /// `.format(...)`.
    Format,
    /// `% ...`.
    Percent,
    Other,
}

/// Reads tokens.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'s> {
    text: &'s str,
    at: usize,
    /// Whether a line has started, and nothing of it was read.
    line: Option<usize>,
    comments: Vec<Span>,
    /// How many tokens were read.
    steps: u64,
}

impl<'s> Tokens<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, at: 0, line: Some(0), comments: Vec::new(), steps: 0 }
    }

    /// The tokens of a part of a text.
    pub(super) fn of(text: &'s str, part: Span) -> Self {
        let text = text.get(..part.end as usize).unwrap_or_default();
        Self { text, at: part.start as usize, line: None, comments: Vec::new(), steps: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at;
        self.line = None;
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The comments that may be meant for this tool.
    pub(super) fn comments(self) -> Vec<Span> {
        self.comments
    }

    /// The next token that is no start of a line.
    pub(super) fn next_within(&mut self) -> Option<Token> {
        loop {
            match self.next()? {
                Token::Line(_) => {}
                token => return Some(token),
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.steps += 1;
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let &byte = bytes.get(start)?;
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line = Some(self.at);
                    continue;
                }
                b' ' | b'\t' | b'\r' | 0x0c => {
                    self.at += 1;
                    continue;
                }
                // The line goes on.
                b'\\' if bytes[start..].starts_with(b"\\\n") => {
                    self.at += 2;
                    continue;
                }
                b'\\' if bytes[start..].starts_with(b"\\\r\n") => {
                    self.at += 3;
                    continue;
                }
                b'#' => {
                    let len = memchr::memchr(b'\n', &bytes[start..]).unwrap_or(bytes.len() - start);
                    self.at += len;
                    if memchr::memmem::find(&bytes[start..self.at], MARK.as_bytes()).is_some() {
                        let comment = self.text[start..self.at].trim_end();
                        self.comments.push(Span::new(start as u32, (start + comment.len()) as u32));
                    }
                    continue;
                }
                _ => {}
            }
            if let Some(line) = self.line.take() {
                return Some(Token::Line((start - line) as u32));
            }
            let len = word_len(&bytes[start..]);
            if byte.is_ascii_digit() {
                self.at += number_len(&bytes[start..]);
                return Some(Token::Number(Span::new(start as u32, self.at as u32)));
            }
            let open = start + len;
            if len <= 2
                && matches!(bytes.get(open), Some(b'"' | b'\''))
                && bytes[start..open]
                    .iter()
                    .all(|byte| matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'f' | b'u' | b't'))
            {
                return Some(Token::Literal(self.string(start, open)));
            }
            if len > 0 {
                self.at = open;
                return Some(Token::Word(Span::new(start as u32, open as u32)));
            }
            self.at += 1;
            return Some(Token::Other(byte, Span::new(start as u32, self.at as u32)));
        }
    }

    /// A string whose quote stands at `open`; its prefix starts at `start`.
    fn string(&mut self, start: usize, open: usize) -> Literal {
        let bytes = self.text.as_bytes();
        let prefix = &bytes[start..open];
        let has = |letter: u8| prefix.iter().any(|byte| byte.eq_ignore_ascii_case(&letter));
        let quote = Quote::of(&bytes[open..]);
        let from = open + quote.len();
        let is_formatted = has(b'f') || has(b't');
        let (end, is_closed) = if is_formatted {
            let mut fields = Fields::new(bytes, from, Some(quote));
            while fields.next().is_some() {}
            (fields.at, fields.is_closed)
        } else {
            end_of_string(bytes, from, quote)
        };
        self.at = if is_closed { end + quote.len() } else { end };
        Literal {
            span: Span::new(start as u32, self.at as u32),
            inside: Span::new(from as u32, end as u32),
            is_raw: has(b'r'),
            is_formatted,
            is_long: quote.is_long,
            is_closed,
        }
    }
}

/// What a string starts and ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quote {
    byte: u8,
    is_long: bool,
}

impl Quote {
    /// The quote at the start of a text that has one there.
    fn of(bytes: &[u8]) -> Self {
        let byte = bytes[0];
        Self { byte, is_long: bytes.starts_with(&[byte; 3]) }
    }

    fn len(self) -> usize {
        if self.is_long { 3 } else { 1 }
    }

    fn is_at(self, bytes: &[u8]) -> bool {
        bytes.starts_with(&[self.byte; 3][..self.len()])
    }
}

/// Where a string without fields ends, and whether its quotes are there. What does not end on its
/// line ends with it.
fn end_of_string(bytes: &[u8], from: usize, quote: Quote) -> (usize, bool) {
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let found = if quote.is_long {
            memchr::memchr2(quote.byte, b'\\', rest)
        } else {
            memchr::memchr3(quote.byte, b'\\', b'\n', rest)
        };
        let Some(found) = found else { return (bytes.len(), false) };
        at += found;
        match bytes[at] {
            b'\\' if bytes[at..].starts_with(b"\\\r\n") => at += 3,
            b'\\' => at = (at + 2).min(bytes.len()),
            b'\n' => return (at, false),
            _ if quote.is_at(&bytes[at..]) => return (at, true),
            _ => at += 1,
        }
    }
}

/// A part of a text with fields in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(Span),
    /// A field: with its braces; and what is between them, up to a conversion or format.
    Field(Span, Span),
}

/// The parts of a text with fields: of a formatted string, or one for `format`.
pub(super) struct Fields<'s> {
    bytes: &'s [u8],
    at: usize,
    /// What ends the text, where that has to be found, and fields have code.
    quote: Option<Quote>,
    is_done: bool,
    is_closed: bool,
}

/// No field has fields in fields in fields.
const MOST_NESTED: usize = 16;

impl<'s> Fields<'s> {
    fn new(bytes: &'s [u8], at: usize, quote: Option<Quote>) -> Self {
        Self { bytes, at, quote, is_done: false, is_closed: false }
    }

    /// The parts of a formatted string.
    pub(super) fn of_literal(text: &'s str, literal: Literal) -> Self {
        let quote = literal.span.end.checked_sub(1).filter(|_| literal.is_closed);
        let byte = quote.map_or(b'"', |at| text.as_bytes()[at as usize]);
        let quote = Quote { byte, is_long: literal.is_long };
        Self::new(&text.as_bytes()[..literal.span.end as usize], literal.inside.start as usize, Some(quote))
    }

    /// The parts of a text for `format`.
    pub(super) fn of_format(text: &'s str, part: Span) -> Self {
        Self::new(&text.as_bytes()[..part.end as usize], part.start as usize, None)
    }

    pub(super) fn next(&mut self) -> Option<Part> {
        if self.is_done {
            return None;
        }
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                // A brace is never escaped by it.
                b'\\' if !matches!(self.bytes.get(self.at + 1), Some(b'{' | b'}')) => self.at += 2,
                b'{' | b'}' if self.bytes.get(self.at + 1) == Some(&byte) => self.at += 2,
                b'{' if self.at > start => return Some(part(start, self.at)),
                b'{' => return self.field(),
                b'\n' if self.quote.is_some_and(|quote| !quote.is_long) => break,
                _ if self.quote.is_some_and(|quote| quote.is_at(&self.bytes[self.at..])) => {
                    self.is_closed = true;
                    break;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        self.is_done = true;
        (self.at > start).then(|| part(start, self.at))
    }

    /// A field that starts here.
    fn field(&mut self) -> Option<Part> {
        let start = self.at;
        self.at += 1;
        let mut code_end = None;
        // What closes the brackets of the code in the field; none for the text of a format in it.
        let mut closing: Vec<Option<u8>> = vec![Some(b'}')];
        while let (Some(&byte), Some(top)) = (self.bytes.get(self.at), closing.last().copied()) {
            let depth = closing.len();
            let is_line = self.quote.is_some_and(|quote| !quote.is_long);
            if byte == b'\n' && is_line {
                break;
            }
            if top.is_none() {
                match byte {
                    b'{' => closing.push(Some(b'}')),
                    b'}' => {
                        closing.truncate(depth - 2);
                    }
                    _ if self.quote.is_some_and(|quote| quote.is_at(&self.bytes[self.at..])) => break,
                    _ => {}
                }
                self.at += 1;
                if depth > MOST_NESTED {
                    break;
                }
                continue;
            }
            match byte {
                // Strings in the code, of which the quotes may be those of the whole.
                b'"' | b'\'' if self.quote.is_some() => {
                    let quote = Quote::of(&self.bytes[self.at..]);
                    let from = self.at + quote.len();
                    let before = self.bytes[self.at - 1].to_ascii_lowercase();
                    let (end, is_closed) = if before == b'f' && closing.len() < MOST_NESTED {
                        nested(self.bytes, from, quote)
                    } else {
                        end_of_string(self.bytes, from, quote)
                    };
                    self.at = end + if is_closed { quote.len() } else { 0 };
                    if !is_closed {
                        break;
                    }
                    continue;
                }
                b'(' => closing.push(Some(b')')),
                b'[' => closing.push(Some(b']')),
                b'{' => closing.push(Some(b'}')),
                b')' | b']' | b'}' if top == Some(byte) => {
                    closing.pop();
                }
                b'!' if depth == 1 && self.bytes.get(self.at + 1) != Some(&b'=') => {
                    code_end = code_end.or(Some(self.at));
                }
                // The format of this field, or of one in its format.
                b':' if top == Some(b'}') && (depth == 1 || closing[depth - 2].is_none()) => {
                    code_end = code_end.or(Some(self.at));
                    closing.push(None);
                }
                _ => {}
            }
            self.at += 1;
            if closing.len() > MOST_NESTED {
                break;
            }
        }
        if !closing.is_empty() {
            self.is_done = true;
            return None;
        }
        let code = Span::new(start as u32 + 1, code_end.unwrap_or(self.at - 1) as u32);
        Some(Part::Field(Span::new(start as u32, self.at as u32), code))
    }
}

/// Where a formatted string in a field ends: quotes in its own fields are not looked at, but that
/// they are closed.
fn nested(bytes: &[u8], from: usize, quote: Quote) -> (usize, bool) {
    let mut depth = 0_usize;
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' if depth > 0 => {
                let inner = Quote::of(&bytes[at..]);
                let (end, is_closed) = end_of_string(bytes, at + inner.len(), inner);
                if !is_closed {
                    return (end, false);
                }
                at = end + inner.len();
                continue;
            }
            b'\n' if !quote.is_long => return (at, false),
            _ if quote.is_at(&bytes[at..]) => return (at, true),
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), false)
}

fn part(start: usize, end: usize) -> Part {
    Part::Text(Span::new(start as u32, end as u32))
}

/// The pieces of a text with conversions: `%d`, `%%`.
pub(super) fn conversions(text: &str, inside: Span, escapes: Escapes, pieces: &mut Vec<Piece>) {
    let bytes = &text.as_bytes()[..inside.end as usize];
    let mut start = inside.start as usize;
    let mut at = start;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'%', rest)) {
        let sign = at + found;
        pieces.push(Piece::Text { span: Span::new(start as u32, sign as u32), escapes });
        if bytes.get(sign + 1) == Some(&b'%') {
            start = sign + 1;
            at = sign + 2;
            continue;
        }
        let mut end = sign + 1;
        if bytes.get(end) == Some(&b'(') {
            end = memchr::memchr(b')', &bytes[end..]).map_or(bytes.len(), |len| end + len + 1);
        }
        let is_flag = |byte: &u8| byte.is_ascii_digit() || b"#-+ .*".contains(byte);
        end += bytes[end..].iter().take_while(|byte| is_flag(byte)).count();
        if bytes.get(end).is_some_and(u8::is_ascii_alphabetic) {
            end += 1;
        }
        pieces.push(Piece::Hole(Span::new(sign as u32, end as u32)));
        start = end;
        at = end;
    }
    pieces.push(Piece::Text { span: Span::new(start as u32, inside.end), escapes });
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The length of the word that bytes start with.
fn word_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_word(*byte)).unwrap_or(bytes.len())
}

/// The length of the number that bytes start with.
fn number_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_word(*byte) && *byte != b'.').unwrap_or(bytes.len())
}
