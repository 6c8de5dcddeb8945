//! The tokens of C++, as far as `asm` statements need them.

use super::{Literal, is_keyword};
use crate::MARK;
use ptx_text::source::Span;

/// A token. White space and comments stand between tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// An identifier or keyword.
    Word(Span),
    /// A string.
    Literal(Literal),
    /// A `#` at the start of a line, with the word behind it.
    Directive(Directive),
    /// A character of anything else: the first byte of a number or character, or a sign.
    Other(u8, Span),
}

/// What a line of the preprocessor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    If,
    ElseIf,
    Else,
    EndIf,
    Define,
    Undefine,
    Other,
}

/// Reads tokens.
#[derive(Debug)]
pub(super) struct Tokens<'s> {
    text: &'s str,
    at: usize,
    /// Whether nothing but white space stands between here and the start of the line.
    starts_line: bool,
    /// Where the text was read to, so that no comment is collected twice.
    seen: usize,
    comments: Vec<Span>,
    /// How many tokens were read, however often.
    steps: u64,
}

const BLANK: u8 = 1;
const WORD: u8 = 2;
const DIGIT: u8 = 4;

/// What a byte can be part of.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => WORD,
            b'0'..=b'9' => DIGIT,
            _ => 0,
        };
        byte += 1;
    }
    class
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

impl<'s> Tokens<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, at: 0, starts_line: true, seen: 0, comments: Vec::new(), steps: 0 }
    }

    /// The tokens from a place on where a line starts.
    pub(super) fn from(text: &'s str, at: usize) -> Self {
        Self { at, ..Self::new(text) }
    }

    pub(super) fn text(&self) -> &'s str {
        self.text
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes on reading elsewhere.
    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at;
        self.starts_line = false;
    }

    /// How many tokens were read, however often.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The comments that may be meant for this tool.
    pub(super) fn comments(self) -> Vec<Span> {
        self.comments
    }

    /// The next word, or start of a preprocessor's line. Everything else is skipped.
    pub(super) fn next_of_interest(&mut self) -> Option<Token> {
        loop {
            match self.next()? {
                token @ (Token::Word(_) | Token::Directive(_)) => return Some(token),
                Token::Literal(_) | Token::Other(..) => {}
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.steps += 1;
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let &byte = bytes.get(start)?;
            if is(byte, BLANK) {
                self.starts_line |= byte == b'\n';
                self.at += 1;
                continue;
            }
            match byte {
                b'/' if matches!(bytes.get(start + 1), Some(b'/' | b'*')) => {
                    self.comment();
                    continue;
                }
                // The line goes on.
                b'\\' if matches!(bytes.get(start + 1), Some(b'\n')) => {
                    self.at += 2;
                    continue;
                }
                b'\\' if bytes[start..].starts_with(b"\\\r\n") => {
                    self.at += 3;
                    continue;
                }
                b'#' if self.starts_line => {
                    self.starts_line = false;
                    self.at += 1;
                    return Some(Token::Directive(self.directive()));
                }
                _ => {}
            }
            self.starts_line = false;
            if is(byte, WORD) {
                let len = word_len(&bytes[start..]);
                self.at += len;
                let word = Span::new(start as u32, self.at as u32);
                if bytes.get(self.at) == Some(&b'"') {
                    match &bytes[start..self.at] {
                        b"R" | b"u8R" | b"uR" | b"UR" | b"LR" => return Some(self.raw(start)),
                        b"u8" | b"u" | b"U" | b"L" => return Some(self.string(start)),
                        _ => {}
                    }
                }
                return Some(Token::Word(word));
            }
            return Some(match byte {
                b'"' => self.string(start),
                b'\'' => {
                    self.at += 1 + quoted_len(&bytes[start + 1..], b'\'').1;
                    self.other(start)
                }
                b'0'..=b'9' => {
                    self.number();
                    self.other(start)
                }
                _ => {
                    self.at += 1;
                    self.other(start)
                }
            });
        }
    }

    fn other(&self, start: usize) -> Token {
        Token::Other(self.text.as_bytes()[start], Span::new(start as u32, self.at as u32))
    }

    /// A number, with letters and separators: `0x1'000u`.
    fn number(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let goes_on = is(byte, WORD | DIGIT)
                || byte == b'.'
                || byte == b'\'' && bytes.get(self.at + 1).is_some_and(|next| is(*next, WORD | DIGIT));
            if !goes_on {
                break;
            }
            self.at += 1;
        }
    }

    /// A string whose quote stands here; its prefix starts at `start`.
    fn string(&mut self, start: usize) -> Token {
        let open = self.at;
        let (inside, len) = quoted_len(&self.text.as_bytes()[open + 1..], b'"');
        self.at = open + 1 + len;
        let inside = Span::new(open as u32 + 1, (open + 1 + inside) as u32);
        Token::Literal(Literal { span: Span::new(start as u32, self.at as u32), inside, is_raw: false })
    }

    /// A raw string whose quote stands here: `R"delimiter(...)delimiter"`.
    fn raw(&mut self, start: usize) -> Token {
        let open = self.at;
        let behind = &self.text[open + 1..];
        let delimiter = behind.bytes().take(17).position(|byte| byte == b'(');
        let Some(delimiter) = delimiter.and_then(|len| behind.get(..len)) else { return self.string(start) };
        let from = open + 2 + delimiter.len();
        let end = [")", delimiter, "\""].concat();
        let len =
            self.text.get(from..).and_then(|rest| memchr::memmem::find(rest.as_bytes(), end.as_bytes()));
        let (inside, end) = match len {
            Some(len) => (from + len, from + len + end.len()),
            None => (self.text.len(), self.text.len()),
        };
        self.at = end;
        let span = Span::new(start as u32, end as u32);
        let inside = Span::new(from.min(inside) as u32, inside as u32);
        Token::Literal(Literal { span, inside, is_raw: true })
    }

    /// A comment that starts here.
    fn comment(&mut self) {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let len = if rest[1] == b'*' {
            memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |len| len + 4)
        } else {
            line_len(rest)
        };
        self.at += len;
        if start >= self.seen {
            self.seen = self.at;
            if memchr::memmem::find(&rest[..len], MARK.as_bytes()).is_some() {
                self.comments.push(Span::new(start as u32, self.at as u32));
            }
        }
    }

    /// The word behind `#`.
    fn directive(&mut self) -> Directive {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let len = word_len(&bytes[self.at..]);
        let word = &bytes[self.at..self.at + len];
        self.at += len;
        match word {
            b"if" | b"ifdef" | b"ifndef" => Directive::If,
            b"elif" | b"elifdef" | b"elifndef" => Directive::ElseIf,
            b"else" => Directive::Else,
            b"endif" => Directive::EndIf,
            b"define" => Directive::Define,
            b"undef" => Directive::Undefine,
            _ => Directive::Other,
        }
    }

    /// Skips the rest of a line with those that continue it; comments in it may go beyond.
    pub(super) fn skip_line(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match (byte, bytes.get(self.at + 1)) {
                (b'\n', _) => return,
                (b'\\', Some(b'\n')) => self.at += 2,
                (b'\\', Some(b'\r')) => self.at += 3,
                (b'/', Some(b'*' | b'/')) => self.comment(),
                // Not in messages, where an apostrophe is one.
                (b'"', _) => self.at += 1 + quoted_len(&bytes[self.at + 1..], b'"').1,
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(bytes.len());
    }

    /// The word on this line.
    pub(super) fn word_on_line(&mut self) -> Option<Span> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        self.at += word_len(&bytes[start..]);
        (self.at > start).then(|| Span::new(start as u32, self.at as u32))
    }

    /// Skips a branch that nobody compiles, up to the directive that ends it.
    pub(super) fn skip_branch(&mut self) {
        let mut depth = 0_usize;
        loop {
            let before = (self.at, self.starts_line);
            match self.next() {
                None => return,
                Some(Token::Directive(Directive::If)) => depth += 1,
                Some(Token::Directive(Directive::ElseIf | Directive::Else | Directive::EndIf))
                    if depth == 0 =>
                {
                    (self.at, self.starts_line) = before;
                    return;
                }
                Some(Token::Directive(Directive::EndIf)) => depth -= 1,
                Some(Token::Directive(_)) => self.skip_line(),
                Some(Token::Word(_) | Token::Literal(_) | Token::Other(..)) => {}
            }
        }
    }

    /// The next line of the preprocessor before another statement.
    pub(super) fn next_directive(&mut self) -> Option<Directive> {
        loop {
            match self.next()? {
                Token::Directive(directive) => return Some(directive),
                Token::Word(word) if is_keyword(&self.text[word.range()]) => return None,
                Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
            }
        }
    }
}

/// The length of the word that bytes start with.
fn word_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is(*byte, WORD | DIGIT)).unwrap_or(bytes.len())
}

/// The length of a line that may be continued, without its end.
fn line_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(len) = memchr::memchr(b'\n', &bytes[at..]) {
        at += len;
        let before = bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]);
        if !before.ends_with(b"\\") {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// Behind a quote: the length of what is quoted, and with the quote that ends it. What does not end
/// on its line ends with it.
fn quoted_len(bytes: &[u8], quote: u8) -> (usize, usize) {
    let mut at = 0;
    while let Some(found) = memchr::memchr3(quote, b'\\', b'\n', &bytes[at..]) {
        at += found;
        match bytes[at] {
            b'\\' if bytes[at..].starts_with(b"\\\r\n") => at += 3,
            b'\\' => at = (at + 2).min(bytes.len()),
            b'\n' => return (at, at),
            _ => return (at, at + 1),
        }
    }
    (bytes.len(), bytes.len())
}
