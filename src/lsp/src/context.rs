//! Where in a statement a place is, from the text alone.
//!
//! A statement that is being written does not parse, and what is wrong with it may swallow the ones
//! behind it. So completion and signature help look at the tokens before the cursor.

use std::borrow::Cow;

use ptx_check::isa::tensor::InstructionForm;
use ptx_check::isa::vocabulary::{Operation, Qualifier};
use ptx_check::source::Span;
use ptx_check::syntax::lexer::{self, Token};

use crate::text::Text;

/// How far back a statement may have begun. The longest vectors have 128 registers.
const WINDOW: u32 = 8192;

/// The statement around the cursor, up to the cursor.
#[derive(Debug)]
pub(crate) struct Context<'s> {
    text: &'s str,
    pub(crate) offset: u32,
    /// The tokens of the statement before the cursor; the last may reach up to it.
    tokens: Vec<(Token, Span)>,
}

/// A place in the operands of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperandPlace {
    /// Number of commas before it, outside of brackets.
    pub(crate) index: usize,
    /// The bracket that it stands in.
    pub(crate) within: Option<Token>,
}

impl<'s> Context<'s> {
    /// `None` in a comment.
    pub(crate) fn new(text: &'s Text, offset: u32) -> Option<Self> {
        let first_line = text.line_of(offset.saturating_sub(WINDOW));
        let start = text.line(first_line).start;
        let text = text.as_str();
        let before = text.get(start as usize..offset as usize)?;
        let mut tokens: Vec<(Token, Span)> = Vec::new();
        let mut end = 0;
        for (token, range) in lexer::lex(before) {
            let span = Span::new(start + range.start as u32, start + range.end as u32);
            if let (Err(lexer::LexError::UnterminatedComment | lexer::LexError::UnterminatedString), true) =
                (token, range.end == before.len())
            {
                return None;
            }
            end = range.end;
            let newline = || before[..range.start].trim_end_matches([' ', '\t']).ends_with(['\n', '\r']);
            let directive = matches!(
                tokens.first(),
                Some((Token::Loc | Token::File | Token::Version | Token::Target | Token::AddressSize, _))
            );
            let continued = matches!(tokens.last(), Some((Token::Comma, _)));
            // A directive without `;` ends with its line.
            if directive && !continued && newline() {
                tokens.clear();
            }
            tokens.push((token.unwrap_or(Token::Error), span));
            let vector = tokens.len() > 1;
            match token {
                Ok(Token::Semicolon) => tokens.clear(),
                Ok(Token::BraceOpen) if !vector || is_header(&tokens) => tokens.clear(),
                Ok(Token::BraceClose) if !has_open_brace(&tokens) => tokens.clear(),
                Ok(Token::Colon) if matches!(tokens.as_slice(), [(Token::Identifier, _), _]) => {
                    tokens.clear();
                }
                _ => {}
            }
        }
        // What no token covers is blank or comment.
        let rest = &before[end..];
        let rest = rest.rsplit(['\n', '\r']).next().unwrap_or(rest);
        (!rest.contains("//")).then_some(Self { text, offset, tokens })
    }

    fn slice(&self, span: Span) -> &'s str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The tokens of the statement so far.
    pub(crate) fn tokens(&self) -> &[(Token, Span)] {
        &self.tokens
    }

    /// The word that ends at the cursor, as far as it is written; empty behind a blank.
    pub(crate) fn word(&self) -> Span {
        let before = &self.text[..self.offset as usize];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%.:".contains(byte);
        let length = before.bytes().rev().take_while(|byte| is_word(byte)).count();
        Span::new(self.offset - length as u32, self.offset)
    }

    /// The text of [`Context::word`].
    pub(crate) fn word_text(&self) -> &'s str {
        self.slice(self.word())
    }

    /// The tokens from the opcode on: without a guard.
    fn unguarded(&self) -> &[(Token, Span)] {
        match self.tokens.as_slice() {
            [(Token::At, _), (Token::Not, _), _, rest @ ..] | [(Token::At, _), _, rest @ ..] => rest,
            all => all,
        }
    }

    /// The opcode as far as it is written, with where it stands; the cursor may stand in it. Blanks and comments before
    /// its dots are not in the text.
    pub(crate) fn opcode(&self) -> Option<(Cow<'s, str>, Span)> {
        let &(Token::Identifier | Token::Dotted, first) = self.unguarded().first()? else { return None };
        // `tcgen05.` is a word and an error to the lexer.
        let rest = &self.text[first.start as usize..self.offset as usize];
        let mut len = word_length(rest);
        let mut opcode = Cow::Borrowed(&rest[..len]);
        while let Some(blank) = blank_length(&rest[len..])
            && blank > 0
            && rest[len + blank..].starts_with('.')
        {
            let word = &rest[len + blank..];
            let word = &word[..word_length(word)];
            opcode.to_mut().push_str(word);
            len += blank + word.len();
        }
        Some((opcode, Span::new(first.start, first.start + len as u32)))
    }

    /// The words of the opcode that stand behind the cursor, without the rest of the one that it is in.
    pub(crate) fn behind(&self) -> impl Iterator<Item = &'s str> {
        let rest = self.text.get(self.offset as usize..).unwrap_or_default();
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%.:".contains(c);
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        rest[..end].split('.').skip(1)
    }

    /// Where among the operands the cursor stands; `None` if it still is in the opcode.
    pub(crate) fn operand(&self) -> Option<OperandPlace> {
        let (_, opcode) = self.opcode()?;
        if opcode.end >= self.offset {
            return None;
        }
        let mut index = 0;
        let mut open = Vec::new();
        for &(token, span) in self.unguarded() {
            if span.start < opcode.end || span.start >= self.offset {
                continue;
            }
            match token {
                Token::BraceOpen | Token::BracketOpen | Token::ParenOpen => open.push(token),
                Token::BraceClose | Token::BracketClose | Token::ParenClose => {
                    open.pop();
                }
                Token::Comma if open.is_empty() => index += 1,
                _ => {}
            }
        }
        Some(OperandPlace { index, within: open.last().copied() })
    }
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_$%.:".contains(byte)).count()
}

/// The length of the blanks and comments that a text starts with; none if a comment does not end.
fn blank_length(text: &str) -> Option<usize> {
    let mut rest = text.trim_ascii_start();
    loop {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = &comment[comment.find('\n')?..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = &comment[comment.find("*/")? + 2..];
        } else {
            return Some(text.len() - rest.len());
        }
        rest = rest.trim_ascii_start();
    }
}

/// Whether the tokens before the last are a function's header, so that a brace opens its body.
fn is_header(tokens: &[(Token, Span)]) -> bool {
    tokens.iter().any(|(token, _)| matches!(token, Token::Entry | Token::Func | Token::Section))
}

fn has_open_brace(tokens: &[(Token, Span)]) -> bool {
    let count = |wanted| tokens.iter().filter(|(token, _)| *token == wanted).count();
    count(Token::BraceOpen) >= count(Token::BraceClose)
}

/// An opcode as far as it is understood.
#[derive(Debug)]
pub(crate) struct Opcode {
    pub(crate) form: &'static InstructionForm,
    pub(crate) qualifiers: Vec<Qualifier>,
}

/// Reads complete words behind `tcgen05.`.
pub(crate) fn read(words: &[&str]) -> Option<Opcode> {
    let (count, operation) = (1..=words.len().min(3)).rev().find_map(|count| {
        let operation: Operation = words[..count].join(".").parse().ok()?;
        Some((count, operation))
    })?;
    let qualifiers = words[count..].iter().filter_map(|word| Qualifier::parse(word)).collect();
    Some(Opcode { form: InstructionForm::of(operation), qualifiers })
}
