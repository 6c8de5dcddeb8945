//! What the preprocessor and constants of the file itself say about templates.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::tokens::{Token, Tokens};
use crate::host::Piece;
use crate::host::template::{Backslash, Escapes};
use crate::source::Span;

/// The macros that a file has defined so far.
#[derive(Debug, Default)]
pub(super) struct Macros<'s> {
    known: FxHashMap<&'s str, Option<Macro<'s>>>,
    /// How much text may still come out of macros: a short name can stand for much.
    left: Cell<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Macro<'s> {
    /// None for a macro without parentheses.
    parameters: Option<Vec<&'s str>>,
    body: Span,
    text: &'s str,
}

/// How deep macros are looked into, and how many pieces they may make.
const DEPTH: usize = 8;
const PIECES: usize = 4096;

/// How much text comes out of the macros of a file, for each byte that it has. What is more is not
/// known.
const GROWTH: usize = 8;

impl<'s> Macros<'s> {
    pub(super) fn new(text: &str) -> Self {
        Self { left: Cell::new((text.len() + PIECES) * GROWTH), ..Self::default() }
    }

    /// Reads a definition, from behind `#define` to its body, which is left to be read.
    pub(super) fn define(&mut self, tokens: &mut Tokens<'s>) {
        let text = tokens.text();
        let Some(name) = tokens.word_on_line() else { return };
        let mut parameters = None;
        if text.as_bytes().get(tokens.at()) == Some(&b'(') {
            let open = tokens.at() + 1;
            let rest = &text.as_bytes()[open..];
            let Some(len) = memchr::memchr2(b')', b'\n', rest).filter(|len| rest[*len] == b')') else {
                return;
            };
            parameters = Some(text[open..open + len].split(',').map(str::trim).collect());
            tokens.go_to(open + len + 1);
        }
        let start = tokens.at();
        let mut end = Tokens::new(text);
        end.go_to(start);
        end.skip_line();
        let body = Span::new(start as u32, end.at() as u32);
        let defined = Macro { parameters, body, text: text[body.range()].trim() };
        let known = self.known.entry(&text[name.range()]);
        // Two meanings are none: which holds depends on what is not known.
        known
            .and_modify(|known| {
                let is_same = known
                    .as_ref()
                    .is_some_and(|it| it.parameters == defined.parameters && it.text == defined.text);
                if !is_same {
                    *known = None;
                }
            })
            .or_insert(Some(defined));
    }

    /// Forgets a definition, from behind `#undef`.
    pub(super) fn forget(&mut self, tokens: &mut Tokens<'s>) {
        let text = tokens.text();
        if let Some(name) = tokens.word_on_line() {
            self.known.remove(&text[name.range()]);
        }
    }

    fn get(&self, name: &str) -> Option<&Macro<'s>> {
        self.known.get(name)?.as_ref()
    }

    /// The text of a macro without parameters.
    fn value(&self, name: &str) -> Option<&'s str> {
        self.get(name).filter(|it| it.parameters.is_none()).map(|it| it.text)
    }

    /// The one literal that a macro stands for.
    pub(super) fn literal(&self, name: &str) -> Option<&'s str> {
        let inside = self.value(name)?.strip_prefix('"')?.strip_suffix('"')?;
        (!inside.contains(['"', '\\'])).then_some(inside)
    }

    /// The constraints of the operands that a name stands for, where they are written; none if it is not
    /// known which operands these are.
    pub(super) fn operands(
        &self,
        text: &'s str,
        name: Span,
        has_arguments: bool,
    ) -> Option<Vec<Option<String>>> {
        let mut found = Vec::new();
        self.operands_within(text, &text[name.range()], has_arguments, &mut found, 0)?;
        Some(found)
    }

    fn operands_within(
        &self,
        text: &'s str,
        name: &str,
        has_arguments: bool,
        found: &mut Vec<Option<String>>,
        depth: usize,
    ) -> Option<()> {
        let Macro { parameters, body, .. } = self.get(name)?;
        if depth > DEPTH || parameters.is_some() != has_arguments || self.left.get() == 0 {
            return None;
        }
        self.left.set(self.left.get().saturating_sub(body.len() as usize + 16));
        let mut tokens = Tokens::new(&text[..body.end as usize]);
        tokens.go_to(body.start as usize);
        let mut constraint: Option<Option<String>> = None;
        while let Some(token) = tokens.next() {
            if found.len() > PIECES {
                return None;
            }
            match token {
                Token::Literal(literal) => {
                    if let Some(known) = constraint.get_or_insert_with(|| Some(String::new())) {
                        known.push_str(&text[literal.inside.range()]);
                    }
                }
                Token::Other(b'(', open) => {
                    let end = arguments_from(text, open.end).filter(|it| it.end < body.end)?;
                    tokens.go_to(end.end as usize + 1);
                    found.push(constraint.take()?);
                }
                Token::Other(b'[', open) => {
                    let rest = text.as_bytes().get(open.end as usize..body.end as usize)?;
                    tokens.go_to(open.end as usize + memchr::memchr(b']', rest)? + 1);
                }
                Token::Other(b',', _) if constraint.is_none() => {}
                Token::Word(word) if constraint.is_none() => {
                    let behind = tokens.at();
                    let arguments = match tokens.next() {
                        Some(Token::Other(b'(', open)) => Some(arguments_from(text, open.end)?),
                        _ => None,
                    };
                    tokens.go_to(arguments.map_or(behind, |it| it.end as usize + 1));
                    self.operands_within(text, &text[word.range()], arguments.is_some(), found, depth + 1)?;
                }
                // A letter from elsewhere.
                Token::Word(_) => constraint = Some(None),
                Token::Other(_, _) | Token::Directive(_) => return None,
            }
        }
        constraint.is_none().then_some(())
    }

    /// Appends the pieces that a name among literals stands for; whether it is known.
    pub(super) fn expand(
        &self,
        text: &'s str,
        name: Span,
        arguments: Option<Span>,
        pieces: &mut Vec<Piece>,
    ) -> bool {
        let before = pieces.len();
        let is_known = self.left.get() > 0 && self.expand_within(text, name, arguments, pieces, 0).is_some();
        let len = |piece: &Piece| match piece {
            Piece::Text { span, .. } | Piece::Hole(span) => span.len() as usize + 16,
            Piece::Line(_) => 16,
        };
        let made: usize = pieces[before..].iter().map(len).sum();
        self.left.set(self.left.get().saturating_sub(made + 16));
        if !is_known {
            pieces.truncate(before);
        }
        is_known
    }

    fn expand_within(
        &self,
        text: &'s str,
        name: Span,
        arguments: Option<Span>,
        pieces: &mut Vec<Piece>,
        depth: usize,
    ) -> Option<()> {
        let Macro { parameters, body, .. } = self.get(&text[name.range()])?;
        let given = match (parameters, arguments) {
            (None, None) => Vec::new(),
            (Some(_), Some(arguments)) => split(text, arguments),
            _ => return None,
        };
        let mut tokens = Tokens::new(&text[..body.end as usize]);
        tokens.go_to(body.start as usize);
        let argument = |word: Span| {
            let at = parameters.iter().flatten().position(|it| *it == &text[word.range()])?;
            given.get(at).copied()
        };
        while let Some(token) = tokens.next() {
            if depth > DEPTH || pieces.len() > PIECES {
                return None;
            }
            match token {
                Token::Literal(literal) => pieces.push(literal.piece()),
                // `#name`: the argument as it is written.
                Token::Other(b'#', hash) => {
                    let Some(Token::Word(word)) = tokens.next() else { return None };
                    match argument(word) {
                        Some(span) => {
                            pieces.push(Piece::Text { span, escapes: Escapes::of(Backslash::Plain) });
                        }
                        None => pieces.push(Piece::Hole(hash.to(word))),
                    }
                }
                Token::Word(word) => {
                    if let Some(span) = argument(word) {
                        self.argument(text, span, pieces, depth)?;
                    } else {
                        let behind = tokens.at();
                        let arguments = match tokens.next() {
                            Some(Token::Other(b'(', open)) => Some(arguments_from(text, open.end)?),
                            _ => None,
                        };
                        tokens.go_to(arguments.map_or(behind, |it| it.end as usize + 1));
                        if self.expand_within(text, word, arguments, pieces, depth + 1).is_none() {
                            pieces.push(Piece::Hole(word));
                        }
                    }
                }
                Token::Other(_, _) | Token::Directive(_) => return None,
            }
        }
        Some(())
    }

    /// The pieces of an argument.
    fn argument(&self, text: &'s str, span: Span, pieces: &mut Vec<Piece>, depth: usize) -> Option<()> {
        let mut tokens = Tokens::new(&text[..span.end as usize]);
        tokens.go_to(span.start as usize);
        while let Some(token) = tokens.next() {
            match token {
                Token::Literal(literal) => pieces.push(literal.piece()),
                Token::Word(word) => {
                    if depth > DEPTH
                        || pieces.len() > PIECES
                        || self.expand_within(text, word, None, pieces, depth + 1).is_none()
                    {
                        pieces.push(Piece::Hole(word));
                    }
                }
                Token::Other(_, span) => pieces.push(Piece::Hole(span)),
                Token::Directive(_) => return None,
            }
        }
        Some(())
    }
}

/// The arguments between a parenthesis before `open` and the one that closes it.
fn arguments_from(text: &str, open: u32) -> Option<Span> {
    let mut tokens = Tokens::new(text);
    tokens.go_to(open as usize);
    let mut depth = 0;
    loop {
        match tokens.next()? {
            Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
            Token::Other(b')', span) if depth == 0 => return Some(Span::new(open, span.start)),
            Token::Other(b')' | b']' | b'}', _) => depth -= 1,
            Token::Other(b';', _) | Token::Directive(_) => return None,
            Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
        }
    }
}

/// The arguments of a macro, without the blanks around them.
fn split(text: &str, arguments: Span) -> Vec<Span> {
    let mut tokens = Tokens::new(&text[..arguments.end as usize]);
    tokens.go_to(arguments.start as usize);
    let mut depth = 0;
    let mut found = Vec::new();
    let mut start = arguments.start;
    let trimmed = |start: u32, end: u32| {
        let inside = &text[start as usize..end as usize];
        let from = start + (inside.len() - inside.trim_start().len()) as u32;
        Span::new(from, from + inside.trim().len() as u32)
    };
    while let Some(token) = tokens.next() {
        match token {
            Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
            Token::Other(b')' | b']' | b'}', _) => depth -= 1,
            Token::Other(b',', comma) if depth == 0 => {
                found.push(trimmed(start, comma.start));
                start = comma.end;
            }
            Token::Word(_) | Token::Literal(_) | Token::Other(..) | Token::Directive(_) => {}
        }
    }
    found.push(trimmed(start, arguments.end));
    found
}

/// The constants that a file defines.
#[derive(Debug)]
pub(super) struct Constants<'s> {
    text: &'s str,
    /// Read once somebody asks.
    known: Option<FxHashMap<&'s str, Option<i128>>>,
}

impl<'s> Constants<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, known: None }
    }

    /// The value of an expression, if it is a number or the name of one.
    pub(super) fn value(&mut self, expression: &str, macros: &Macros<'s>) -> Option<i128> {
        let expression = expression.trim();
        let number = |text: &str| integer(text.trim().trim_start_matches('(').trim_end_matches(')'));
        if let Some(value) = number(expression) {
            return Some(value);
        }
        let is_name = !expression.is_empty()
            && expression.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return None;
        }
        if let Some(value) = macros.value(expression).and_then(number) {
            return Some(value);
        }
        let text = self.text;
        *self.known.get_or_insert_with(|| constants(text)).get(expression)?
    }
}

/// Every `constexpr T name = number;`. A name with two values has none.
fn constants(text: &str) -> FxHashMap<&str, Option<i128>> {
    /// No declaration of a number is longer.
    const LONGEST: usize = 200;
    let mut known = FxHashMap::default();
    for at in memchr::memmem::find_iter(text.as_bytes(), b"constexpr") {
        let end = text.len().min(at + LONGEST);
        let bytes = &text.as_bytes()[at..end];
        let Some(stop) = memchr::memchr3(b';', b'{', b'(', bytes).filter(|stop| bytes[*stop] == b';') else {
            continue;
        };
        let Some((left, right)) = text.get(at..at + stop).and_then(|it| it.split_once('=')) else { continue };
        let name = left.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        let (Some(name), value) = (name.filter(|name| !name.is_empty()), integer(right.trim())) else {
            continue;
        };
        known
            .entry(name)
            .and_modify(|known| {
                if *known != value {
                    *known = None;
                }
            })
            .or_insert(value);
    }
    known
}

/// A number of C++.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits.trim_start()),
        None => (1, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = digits.replace('\'', "");
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L', 'z', 'Z']);
    let radix = |prefix: &str, radix| {
        let digits = digits.strip_prefix(prefix).or_else(|| digits.strip_prefix(&prefix.to_uppercase()))?;
        i128::from_str_radix(digits, radix).ok()
    };
    let value = radix("0x", 16).or_else(|| radix("0b", 2));
    let value = value.or_else(|| match digits.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(octal) => i128::from_str_radix(octal, 8).ok(),
        None => digits.parse().ok(),
    });
    value.map(|value| sign * value)
}
