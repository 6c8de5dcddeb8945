//! The short way for plain statements.
//!
//! Nine of ten statements are labels and instructions of the plainest shape, and for them the
//! parser's tables find out what a glance tells. They are built here instead, a run of them at a
//! time, and the parser sees two tokens for all: [`Token::RunStart`], which makes it complete what
//! stands before, and [`Token::Run`]. Everything else, and every broken text from its first mistake on,
//! goes the long way. Both ways make the same tree: they call the same [`Builder`] in the same order.

use std::cell::RefCell;

use crate::ast::{BinaryOperator, Guard, OperandKind, UnaryOperator};
use crate::builder::Builder;
use crate::lexer::Token;
use crate::source::Span;
use crate::structure::{Positioned, Structure};

/// The tokens of a text for the parser, which builds with the same builder.
pub(crate) struct Tokens<'a, 's> {
    structure: &'a mut Structure<'s>,
    builder: &'a RefCell<Builder<'s>>,
    /// Whether the parser was told that a run starts.
    started: bool,
    /// Whether a statement did not parse. Until then, and in the one statement behind the first that did
    /// not, a statement starts for the parser where one does for the structure pass.
    broken: bool,
}

impl<'a, 's> Tokens<'a, 's> {
    pub(crate) fn new(structure: &'a mut Structure<'s>, builder: &'a RefCell<Builder<'s>>) -> Self {
        Self { structure, builder, started: false, broken: false }
    }
}

impl Iterator for Tokens<'_, '_> {
    type Item = Positioned;

    #[inline]
    fn next(&mut self) -> Option<Positioned> {
        if !self.started {
            if !self.broken
                && let Some(statement) = self.structure.plain()
            {
                let at = statement[0].0.start;
                self.broken = self.builder.borrow().is_broken();
                if !self.broken {
                    self.started = true;
                    return Some(Ok((at, Token::RunStart, at)));
                }
            }
            return self.structure.next();
        }
        self.started = false;
        let mut builder = self.builder.borrow_mut();
        self.broken = builder.is_broken();
        let mut run: Option<Span> = None;
        while let Some(statement) = self.structure.read_ahead() {
            build(&mut builder, statement);
            let span = statement[0].0.to(statement[statement.len() - 1].0);
            run = Some(run.map_or(span, |run| run.to(span)));
            self.structure.pass_over();
            if self.broken || self.structure.plain().is_none() {
                break;
            }
        }
        let run = run.unwrap_or_default();
        Some(Ok((run.start, Token::Run, run.end)))
    }
}

/// Builds one plain statement.
fn build(builder: &mut Builder<'_>, tokens: &[(Span, Token)]) {
    let span = tokens[0].0.to(tokens[tokens.len() - 1].0);
    let mut rest = tokens.iter().copied();
    let mut next = || rest.next().unwrap_or((span, Token::Semicolon));
    let (mut opcode, first) = next();
    let mut guard = None;
    if first == Token::At {
        let (mut name, mut token) = next();
        let negated = token == Token::Not;
        if negated {
            (name, token) = next();
        }
        debug_assert!(matches!(token, Token::Identifier | Token::Dotted));
        guard = Some(Guard { negated, name });
        (opcode, _) = next();
    }
    let mut count = 0;
    // Of the vector or address under way: where it starts, and the elements so far.
    let mut start = 0;
    let mut elements = 0;
    let mut in_group = false;
    loop {
        let (at, token) = next();
        let kind = match token {
            Token::Colon => return builder.label(opcode),
            Token::Semicolon => return builder.instruction(guard, opcode, count, span),
            Token::Comma => continue,
            Token::BracketOpen | Token::BraceOpen => {
                (start, elements, in_group) = (at.start, 0, true);
                continue;
            }
            Token::BracketClose => {
                builder.group(OperandKind::Address, elements, Span::new(start, at.end));
                in_group = false;
                count += 1;
                continue;
            }
            Token::BraceClose => {
                builder.group(OperandKind::Vector, elements, Span::new(start, at.end));
                in_group = false;
                count += 1;
                continue;
            }
            Token::Plus => {
                let (offset, _) = next();
                builder.leaf(OperandKind::Integer, offset);
                builder.operator(BinaryOperator::Add);
                builder.fold(1);
                continue;
            }
            Token::Minus | Token::Not => {
                let (argument, of) = next();
                let (operator, kind) = match (token, of) {
                    (Token::Not, _) => (UnaryOperator::Not, OperandKind::Name),
                    (_, Token::Integer) => (UnaryOperator::Negate, OperandKind::Integer),
                    _ => (UnaryOperator::Negate, OperandKind::Float),
                };
                builder.leaf(kind, argument);
                builder.unary(operator, at.to(argument));
                count += 1;
                continue;
            }
            Token::Integer => OperandKind::Integer,
            Token::Float => OperandKind::Float,
            Token::Sink => OperandKind::Sink,
            _ => OperandKind::Name,
        };
        builder.leaf(kind, at);
        if in_group {
            elements += 1;
        } else {
            count += 1;
        }
    }
}
