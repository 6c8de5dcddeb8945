//! The data of a `.section`: what a compiler wrote of DWARF.
//!
//! Such data can be most of a file and few readers want it, so that the tree keeps only where it
//! is. Here it is read, by those who do.
//!
//! ```
//! use ptx_syntax::{Source, parser, section};
//!
//! let source = Source::new("kernel.ptx", ".section .debug_str {\n\
//!     first: .b8 107, 0\n second: .b8 97\n .b8 98, 0\n }")?;
//! let module = parser::parse(&source).module;
//! let label = section::find(&source, &module, "second").expect("it is a label");
//! assert_eq!(label.string(&source, 0).as_deref(), Some("ab"));
//! assert_eq!(label.string(&source, 1).as_deref(), Some("b"));
//! # Ok::<(), ptx_syntax::source::SourceError>(())
//! ```

use crate::ast::{Module, Section, Type};
use crate::lexer::{self, Token};
use crate::literal;
use crate::source::{Source, Span};

/// One thing in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// `name:`
    Label(Span),
    /// One of the values of a `.b8`, `.b16`, `.b32` or `.b64`.
    Value {
        /// How wide.
        ty: Type,
        /// Which.
        value: Value,
    },
}

/// A value in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, negative ones in two's complement.
    Number(u64),
    /// The address of a label or a section, and what is added to it.
    Address(Span, i64),
    /// The distance of two labels, the second from the first.
    Distance(Span, Span),
}

/// A place in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From there to the end of the section's data.
    data: Span,
}

impl Place {
    /// What stands there and behind it.
    pub fn items(self, source: &Source) -> Items<'_> {
        Items { text: source.slice(self.data), base: self.data.start, at: 0, ty: None }
    }

    /// The text of bytes up to a zero that starts `offset` bytes behind the place. `None` when it does
    /// not end, is no UTF-8, or is made of something else than numbers.
    pub fn string(self, source: &Source, offset: u32) -> Option<String> {
        let mut bytes = Vec::new();
        let mut at = 0;
        for item in self.items(source) {
            let Item::Value { ty, value } = item else { continue };
            let width = ty.bits()? / 8;
            for byte in 0..width {
                if at >= offset {
                    let Value::Number(number) = value else { return None };
                    match (number >> (8 * byte)) as u8 {
                        0 => return String::from_utf8(bytes).ok(),
                        byte => bytes.push(byte),
                    }
                }
                at += 1;
            }
        }
        None
    }
}

impl Section {
    /// Where its data begins.
    pub const fn place(&self) -> Place {
        Place { data: self.data }
    }
}

/// The place of a label in any section of a module.
pub fn find(source: &Source, module: &Module, label: &str) -> Option<Place> {
    module.sections.iter().find_map(|section| {
        let mut items = section.place().items(source);
        items.find(|item| matches!(item, Item::Label(span) if source.slice(*span) == label))?;
        let start = section.data.start + items.at;
        Some(Place { data: Span::new(start, section.data.end) })
    })
}

/// The items of a section.
#[derive(Clone, Debug)]
pub struct Items<'s> {
    text: &'s str,
    base: u32,
    at: u32,
    /// The type of the values under way.
    ty: Option<Type>,
}

impl Items<'_> {
    /// The next token, its text's place, and where it ends.
    fn peek(&self) -> Option<(Token, Span, u32)> {
        let rest = self.text.get(self.at as usize..)?;
        let (token, range) = lexer::lex(rest).next()?;
        let (start, end) = (self.at + range.start as u32, self.at + range.end as u32);
        Some((token.unwrap_or(Token::Error), Span::new(self.base + start, self.base + end), end))
    }

    fn take(&mut self) -> Option<(Token, Span)> {
        let (token, span, end) = self.peek()?;
        self.at = end;
        Some((token, span))
    }

    fn slice(&self, span: Span) -> &str {
        let range = (span.start - self.base) as usize..(span.end - self.base) as usize;
        self.text.get(range).unwrap_or_default()
    }

    fn value(&mut self, token: Token, span: Span) -> Option<Value> {
        Some(match token {
            Token::Integer => Value::Number(literal::integer(self.slice(span))?),
            Token::Float => Value::Number(literal::float(self.slice(span))?.bits()),
            Token::Minus => {
                let (_, span) = self.take()?;
                Value::Number(literal::integer(self.slice(span))?.wrapping_neg())
            }
            _ => match self.peek()?.0 {
                operator @ (Token::Plus | Token::Minus) => {
                    self.take();
                    let (token, other) = self.take()?;
                    match (token, operator) {
                        (Token::Integer, Token::Plus) => {
                            Value::Address(span, literal::integer(self.slice(other))?.cast_signed())
                        }
                        (Token::Integer, _) => {
                            let offset = literal::integer(self.slice(other))?.cast_signed();
                            Value::Address(span, offset.wrapping_neg())
                        }
                        _ => Value::Distance(span, other),
                    }
                }
                _ => Value::Address(span, 0),
            },
        })
    }
}

impl Iterator for Items<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let (token, span) = self.take()?;
            match token {
                Token::Identifier if self.peek().is_some_and(|(next, ..)| next == Token::Colon) => {
                    self.take();
                    return Some(Item::Label(span));
                }
                Token::Comma => {}
                Token::DotWord => {
                    // A type, or the name of a section among values.
                    if let Some(ty) = self.slice(span).strip_prefix('.').and_then(|word| word.parse().ok()) {
                        self.ty = Some(ty);
                    } else {
                        let (ty, value) = (self.ty?, self.value(token, span)?);
                        return Some(Item::Value { ty, value });
                    }
                }
                _ => {
                    let (ty, value) = (self.ty?, self.value(token, span)?);
                    return Some(Item::Value { ty, value });
                }
            }
        }
    }
}
