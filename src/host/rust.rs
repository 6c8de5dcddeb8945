//! `asm!` of Rust.
//!
//! ```text
//! asm!("mov.u32 {0}, %laneid;", "...", out(reg32) lane, options(pure, nomem, nostack));
//! ```

use super::modules::{self, Part};
use super::template::{Backslash, Escapes, Placeholders};
use super::{Constraint, Found, Language, Machine, Operand, Piece, Statement};
use ptx_syntax::ast::Type;
use ptx_syntax::source::{Source, Span};

mod tokens;

use tokens::{Literal, Token, Tokens};

pub(super) fn find(source: &Source) -> Found {
    let text = source.text();
    let mut tokens = Tokens::new(text);
    let mut found = Found::default();
    while let Some(token) = tokens.next() {
        let Token::Word(word) = token else { continue };
        if !is_keyword(&text[word.range()]) {
            continue;
        }
        let behind = tokens.at();
        match (Reader { text, tokens: &mut tokens, keyword: word }).statement() {
            Some(statement) => found.statements.push(statement),
            // What is not a statement is looked at again: it may have one in it.
            None => tokens.go_to(behind),
        }
    }
    found.steps = tokens.steps();
    found.comments = tokens.comments();
    if modules::may_be_in(text.as_bytes()) {
        let mut tokens = Tokens::new(text);
        let parts = std::iter::from_fn(|| {
            Some(match tokens.next()? {
                Token::Literal(literal) => Part::Literal(literal.span, literal.inside, piece(literal)),
                Token::Other(b'+', _) => Part::Changes,
                Token::Other(b'.', dot) if text[dot.end as usize..].starts_with("replace") => Part::Changes,
                Token::Word(word) => Part::Word(word, false),
                Token::Other(..) => Part::Other,
            })
        });
        modules::find(source, parts, &mut found);
        found.steps += tokens.steps();
    }
    found
}

fn is_keyword(word: &str) -> bool {
    word == "asm"
}

/// Reads one statement.
struct Reader<'r, 's> {
    text: &'s str,
    tokens: &'r mut Tokens<'s>,
    keyword: Span,
}

/// One argument: its tokens.
struct Argument {
    tokens: Vec<Token>,
    span: Span,
}

impl Reader<'_, '_> {
    fn statement(&mut self) -> Option<Statement> {
        let Token::Other(b'!', _) = self.next()? else { return None };
        let Token::Other(b'(' | b'[' | b'{', _) = self.next()? else { return None };
        let mut statement = Statement {
            span: self.keyword,
            keyword: self.keyword,
            language: Language::Rust,
            placeholders: Placeholders::Braces,
            template: Vec::new(),
            operands: Vec::new(),
            // It has effects unless it is said that it has none.
            is_volatile: true,
            clobbers_memory: true,
            is_convergent: None,
            volatile_keyword: None,
            memory_clobber: None,
            machine: Machine::Any,
        };
        let mut in_template = true;
        loop {
            let (argument, close) = self.argument()?;
            if let Some(argument) = argument {
                in_template &= !self.is_operand(&argument);
                if in_template {
                    self.template(&argument, &mut statement.template);
                } else {
                    self.operand(&argument, &mut statement)?;
                }
            }
            if let Some(close) = close {
                statement.span = self.keyword.to(close);
                break;
            }
        }
        // Named ones follow those with numbers, whatever the order that they are written in.
        statement.operands.sort_by_key(|operand| operand.name.is_some());
        Some(statement)
    }

    fn next(&mut self) -> Option<Token> {
        match self.tokens.next()? {
            // A statement in a statement: the first one is none.
            Token::Word(word) if is_keyword(&self.text[word.range()]) => None,
            token => Some(token),
        }
    }

    /// The next argument, and the bracket that closes them if it is the last.
    fn argument(&mut self) -> Option<(Option<Argument>, Option<Span>)> {
        let mut tokens = Vec::new();
        let mut depth = 0_usize;
        let close = loop {
            let token = self.next()?;
            match token {
                Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
                Token::Other(b')' | b']' | b'}', span) if depth == 0 => break Some(span),
                Token::Other(b')' | b']' | b'}', _) => depth -= 1,
                Token::Other(b',', _) if depth == 0 => break None,
                // No expression goes beyond its statement, but for the bodies in it.
                Token::Other(b';', _) if depth == 0 => return None,
                Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
            }
            tokens.push(token);
        };
        let span = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => Some(first.span().to(last.span())),
            _ => None,
        };
        Some((span.map(|span| Argument { tokens, span }), close))
    }

    fn word(&self, token: Option<&Token>) -> &str {
        match token {
            Some(Token::Word(span)) => &self.text[span.range()],
            Some(Token::Literal(_) | Token::Other(..)) | None => "",
        }
    }

    /// Whether an argument is not a template.
    fn is_operand(&self, argument: &Argument) -> bool {
        let tokens = &argument.tokens;
        let is_behind = |byte: u8| matches!(tokens.get(1), Some(Token::Other(found, _)) if *found == byte);
        match self.word(tokens.first()) {
            "in" | "out" | "inout" | "lateout" | "inlateout" | "options" | "clobber_abi" => is_behind(b'('),
            "label" => is_behind(b'{'),
            "const" | "sym" => true,
            "" => false,
            _ => is_behind(b'='),
        }
    }

    /// A line of the template, with the end of the one before.
    fn template(&self, argument: &Argument, pieces: &mut Vec<Piece>) {
        if !pieces.is_empty() {
            pieces.push(Piece::Line(argument.span.start));
        }
        self.joined(&argument.tokens, pieces, 0);
    }

    /// What a literal says, or several that `concat!` joins.
    fn joined(&self, tokens: &[Token], pieces: &mut Vec<Piece>, depth: usize) {
        /// Nobody nests them deeper.
        const DEPTH: usize = 4;
        match tokens {
            [] => {}
            [Token::Literal(literal)] => pieces.push(piece(*literal)),
            [Token::Word(word), Token::Other(b'!', _), Token::Other(..), parts @ .., Token::Other(..)]
                if &self.text[word.range()] == "concat" && depth < DEPTH =>
            {
                let mut open = 0_usize;
                let ends = |token: &Token| {
                    match token {
                        Token::Other(b'(' | b'[' | b'{', _) => open += 1,
                        Token::Other(b')' | b']' | b'}', _) => open = open.saturating_sub(1),
                        _ => {}
                    }
                    open == 0 && matches!(token, Token::Other(b',', _))
                };
                parts.split(ends).for_each(|part| self.joined(part, pieces, depth + 1));
            }
            [first, ..] => {
                let last = tokens.last().unwrap_or(first);
                pieces.push(Piece::Hole(first.span().to(last.span())));
            }
        }
    }

    /// An operand or option. None for what no statement for NVPTX has: other machines have registers of
    /// other classes.
    fn operand(&self, argument: &Argument, statement: &mut Statement) -> Option<()> {
        let tokens = argument.tokens.as_slice();
        let (name, tokens) = match tokens {
            [Token::Word(name), Token::Other(b'=', _), rest @ ..] => {
                (Some(self.text[name.range()].to_owned()), rest)
            }
            _ => (None, tokens),
        };
        let value_from = |index: usize| {
            let value = tokens.get(index..).unwrap_or_default();
            match (value.first(), value.last()) {
                (Some(first), Some(last)) => first.span().to(last.span()),
                _ => argument.span,
            }
        };
        let class = self.word(tokens.first());
        let (constraint, value) = match class {
            "in" | "out" | "inout" | "lateout" | "inlateout" => {
                let register = match tokens.get(2) {
                    Some(Token::Literal(_)) | None => "",
                    token => self.word(token),
                };
                let ty = match register {
                    "reg16" => Type::B16,
                    "reg32" => Type::B32,
                    "reg64" => Type::B64,
                    _ => return None,
                };
                (Constraint::Register(ty), (value_from(4), false))
            }
            "const" => {
                let place = value_from(1);
                let value = integer(&self.text[place.range()]);
                (Constraint::Immediate(value), (place, value.is_some()))
            }
            "sym" => (Constraint::Other, (value_from(1), false)),
            "options" => {
                let has = |option: &str| tokens.iter().any(|token| self.word(Some(token)) == option);
                statement.is_volatile &= !has("pure");
                statement.clobbers_memory &= !has("nomem") && !has("readonly");
                if has("raw") {
                    statement.placeholders = Placeholders::None;
                }
                return (!has("att_syntax")).then_some(());
            }
            "clobber_abi" => return None,
            // Attributes, and what has no place in a template.
            _ => return Some(()),
        };
        let is_output = class.contains("out");
        let is_tied = class.starts_with("in") && is_output;
        let operand = Operand::new(argument.span, constraint, is_output);
        statement.operands.push(Operand { value, is_tied, name, ..operand });
        Some(())
    }
}

fn piece(literal: Literal) -> Piece {
    let backslash = if literal.is_raw { Backslash::Plain } else { Backslash::Rust };
    Piece::Text { span: literal.inside, escapes: Escapes::of(backslash) }
}

/// A number of Rust.
fn integer(text: &str) -> Option<i128> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let digits = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "isize"]
        .into_iter()
        .find_map(|suffix| digits.strip_suffix(suffix))
        .unwrap_or(&digits);
    match digits.get(..2) {
        Some("0x") => i128::from_str_radix(&digits[2..], 16).ok(),
        Some("0b") => i128::from_str_radix(&digits[2..], 2).ok(),
        Some("0o") => i128::from_str_radix(&digits[2..], 8).ok(),
        _ => digits.parse().ok(),
    }
}
