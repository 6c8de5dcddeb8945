//! `asm` statements of C and C++.
//!
//! A scanner of tokens, not a parser: it knows comments, literals, line continuations and the
//! preprocessor's lines, and of the language only what an `asm` statement is made of. It never fails:
//! what does not look like a statement is none.

use super::template::{Backslash, Escapes, Placeholders};
use super::{Constraint, Found, Language, Operand, Piece, Statement};
use crate::source::{Source, Span};

mod macros;
mod tokens;

use macros::{Constants, Macros};
use tokens::{Directive, Token, Tokens};

/// Of a statement in which the preprocessor decides, so many readings are looked at.
const MOST_READINGS: usize = 8;

pub(super) fn find(source: &Source) -> Found {
    find_in(source, Span::new(0, source.text().len() as u32))
}

/// What is found in a part of a text of another language.
pub(super) fn find_in(source: &Source, part: Span) -> Found {
    let text = source.text().get(..part.end as usize).unwrap_or_default();
    let mut tokens = Tokens::from(text, part.start as usize);
    let mut found = Found::default();
    let own = text.get(part.start as usize..).unwrap_or_default();
    let mut macros = Macros::new(own);
    let mut constants = Constants::new(own);
    while let Some(token) = tokens.next_of_interest() {
        match token {
            Token::Word(word) if is_keyword(&text[word.range()]) => {
                let behind = tokens.at();
                let mut end = None;
                let mut reading = 0;
                let mut readings = 1;
                while reading < readings {
                    tokens.go_to(behind);
                    let mut reader = Reader {
                        text,
                        tokens: &mut tokens,
                        macros: &macros,
                        constants: &mut constants,
                        keyword: word,
                        reading,
                        readings: 1,
                        decisions: 0,
                    };
                    let statement = reader.statement();
                    readings = readings.max(reader.readings.min(MOST_READINGS));
                    if let Some(statement) = statement {
                        end = end.max(Some(statement.span.end));
                        found.statements.push(statement);
                    }
                    reading += 1;
                }
                // What is not a statement is looked at again: it may have one in it.
                tokens.go_to(end.map_or(behind, |end| end as usize));
            }
            Token::Directive(Directive::Define) => macros.define(&mut tokens),
            Token::Directive(Directive::Undefine) => macros.forget(&mut tokens),
            Token::Directive(_) => tokens.skip_line(),
            Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
        }
    }
    found.steps = tokens.steps();
    found.comments = tokens.comments();
    found
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "asm" | "__asm__" | "__asm")
}

/// The inside of a literal.
#[derive(Clone, Copy, Debug)]
struct Literal {
    /// With its quotes.
    span: Span,
    inside: Span,
    is_raw: bool,
}

impl Literal {
    fn piece(self) -> Piece {
        let backslash = if self.is_raw { Backslash::Plain } else { Backslash::C };
        Piece::Text { span: self.inside, escapes: Escapes::of(backslash) }
    }
}

/// Reads one statement.
struct Reader<'r, 's> {
    text: &'s str,
    tokens: &'r mut Tokens<'s>,
    macros: &'r Macros<'s>,
    constants: &'r mut Constants<'s>,
    keyword: Span,
    /// Which branch is taken wherever the preprocessor decides.
    reading: usize,
    /// How many readings there are.
    readings: usize,
    /// How often the preprocessor has decided.
    decisions: usize,
}

/// No statement has more.
const MOST_DECISIONS: usize = 64;

/// The parts of a statement between colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Template,
    Outputs,
    Inputs,
    Clobbers,
    Labels,
}

impl Section {
    fn next(self) -> Self {
        match self {
            Self::Template => Self::Outputs,
            Self::Outputs => Self::Inputs,
            Self::Inputs => Self::Clobbers,
            Self::Clobbers | Self::Labels => Self::Labels,
        }
    }
}

impl Reader<'_, '_> {
    fn statement(&mut self) -> Option<Statement> {
        let mut is_volatile = false;
        let first = loop {
            match self.next()? {
                Token::Word(word) => match &self.text[word.range()] {
                    "volatile" | "__volatile__" | "__volatile" => is_volatile = true,
                    "inline" | "__inline__" | "__inline" | "goto" => {}
                    // Qualifiers come from macros, too.
                    _ => return None,
                },
                Token::Other(b'(', open) => break open,
                Token::Literal(_) | Token::Other(..) | Token::Directive(_) => return None,
            }
        };
        let mut statement = Statement {
            span: self.keyword.to(first),
            keyword: self.keyword,
            language: Language::Cpp,
            placeholders: Placeholders::Percent,
            template: Vec::new(),
            operands: Vec::new(),
            is_volatile,
            clobbers_memory: false,
            is_convergent: None,
            volatile_keyword: Some("volatile"),
            memory_clobber: None,
        };
        let mut section = Section::Template;
        let mut constraint: Option<(Span, Option<String>)> = None;
        let mut name = None;
        // Whether an operand has ended, and no comma has followed.
        let mut comma_is_due = false;
        let mut has_clobbers = false;
        let end = loop {
            match (section, self.next()?) {
                (_, Token::Other(b')', span)) => break span,
                (_, Token::Other(b':', _)) => {
                    section = section.next();
                    comma_is_due = false;
                }
                (Section::Template, Token::Literal(literal)) => statement.template.push(literal.piece()),
                (Section::Template, Token::Word(word)) => self.named_piece(word, &mut statement.template)?,
                (Section::Template, Token::Other(open @ (b'(' | b'[' | b'{'), span)) => {
                    let end = self.skip(open)?;
                    statement.template.push(Piece::Hole(span.to(end)));
                }
                (Section::Template, Token::Other(_, span)) => statement.template.push(Piece::Hole(span)),
                (Section::Outputs | Section::Inputs, Token::Other(b',', _)) => comma_is_due = false,
                (Section::Outputs | Section::Inputs, Token::Other(b'[', open)) => {
                    let end = self.skip(b'[')?;
                    name =
                        self.text.get(open.end as usize..end.start as usize).map(|it| it.trim().to_owned());
                }
                (Section::Outputs | Section::Inputs, Token::Literal(literal)) => {
                    let text = &self.text[literal.inside.range()];
                    let (span, known) = constraint.get_or_insert((literal.span, Some(String::new())));
                    *span = span.to(literal.span);
                    if let Some(known) = known {
                        known.push_str(text);
                    }
                }
                (Section::Outputs | Section::Inputs, Token::Word(word)) => {
                    let (span, known) = constraint.get_or_insert((word, None));
                    *span = span.to(word);
                    *known = None;
                }
                (Section::Outputs | Section::Inputs, Token::Other(b'(', open)) => {
                    let close = self.skip(b'(')?;
                    let (start, text) = constraint.take().unwrap_or((open, None));
                    let lacks_comma = std::mem::replace(&mut comma_is_due, true);
                    let is_tied = text
                        .as_ref()
                        .is_some_and(|text| text.contains(|c: char| c == '+' || c.is_ascii_digit()));
                    let inside = self.text.get(open.end as usize..close.start as usize).unwrap_or_default();
                    let value = inside.trim();
                    let at = open.end + (inside.len() - inside.trim_start().len()) as u32;
                    let is_number = value.starts_with(|c: char| c.is_ascii_digit());
                    let place = (Span::new(at, at + value.len() as u32), is_number);
                    let constraint = match &text {
                        Some(text) => self.constraint(text, value, &statement.operands),
                        None => Constraint::Other,
                    };
                    let is_output = section == Section::Outputs;
                    let span = start.to(close);
                    statement.operands.push(Operand {
                        span,
                        constraint,
                        value: place,
                        is_output,
                        is_tied,
                        lacks_comma,
                        name: name.take(),
                    });
                }
                (Section::Clobbers, Token::Literal(literal)) => {
                    has_clobbers = true;
                    statement.clobbers_memory |= &self.text[literal.inside.range()] == "memory";
                }
                (Section::Clobbers, Token::Word(_)) => {
                    // A macro: it may be the one.
                    has_clobbers = true;
                    statement.clobbers_memory = true;
                }
                (Section::Labels, Token::Word(_))
                | (Section::Clobbers | Section::Labels, Token::Other(b',', _)) => {}
                // It does not look like a statement.
                _ => return None,
            }
        };
        statement.span = self.keyword.to(end);
        if !statement.clobbers_memory {
            let text = match (section, has_clobbers) {
                (Section::Template, _) => " ::: \"memory\"",
                (Section::Outputs, _) => " :: \"memory\"",
                (Section::Inputs, _) => " : \"memory\"",
                (Section::Clobbers, false) => " \"memory\"",
                (Section::Clobbers, true) => ", \"memory\"",
                (Section::Labels, _) => "",
            };
            statement.memory_clobber = Some((end.start, text)).filter(|_| !text.is_empty());
        }
        Some(statement)
    }

    /// The next token in the branch that is read.
    fn next(&mut self) -> Option<Token> {
        loop {
            let directive = match self.tokens.next()? {
                Token::Directive(directive) => directive,
                // A statement in a statement: the first one is none.
                Token::Word(word) if is_keyword(&self.text[word.range()]) => return None,
                token => return Some(token),
            };
            match directive {
                Directive::If => {
                    self.decisions += 1;
                    if self.decisions > MOST_DECISIONS {
                        return None;
                    }
                    let mut left = self.reading;
                    let mut branches = 1;
                    let start = self.tokens.at();
                    self.tokens.skip_line();
                    while left > 0 {
                        match self.skip_branch()? {
                            Directive::EndIf => break,
                            _ => left -= 1,
                        }
                    }
                    let entered = self.tokens.at();
                    if self.reading == 0 {
                        // How many there are is counted once.
                        let mut has_else = false;
                        self.tokens.go_to(start);
                        self.tokens.skip_line();
                        loop {
                            match self.skip_branch()? {
                                Directive::EndIf => break,
                                it => {
                                    has_else |= it == Directive::Else;
                                    branches += 1;
                                }
                            }
                        }
                        self.readings = self.readings.max(branches + usize::from(!has_else));
                        self.tokens.go_to(entered);
                    }
                }
                // The branch that is read ends here.
                Directive::ElseIf | Directive::Else => while self.skip_branch()? != Directive::EndIf {},
                Directive::EndIf | Directive::Define | Directive::Undefine | Directive::Other => {
                    self.tokens.skip_line();
                }
            }
        }
    }

    /// Skips the rest of a branch, up to the line of the directive that ends it.
    fn skip_branch(&mut self) -> Option<Directive> {
        let mut depth = 0;
        loop {
            match self.tokens.next_directive()? {
                Directive::If => depth += 1,
                Directive::EndIf if depth > 0 => depth -= 1,
                it @ (Directive::EndIf | Directive::ElseIf | Directive::Else) if depth == 0 => {
                    self.tokens.skip_line();
                    return Some(it);
                }
                _ => {}
            }
            self.tokens.skip_line();
        }
    }

    /// Skips to what closes a bracket; what is in between may be any expression.
    fn skip(&mut self, open: u8) -> Option<Span> {
        let mut closing = vec![closing(open)];
        loop {
            match self.next()? {
                Token::Other(byte @ (b'(' | b'[' | b'{'), _) => closing.push(self::closing(byte)),
                Token::Other(byte @ (b')' | b']' | b'}'), span) => {
                    if closing.pop() != Some(byte) {
                        return None;
                    }
                    if closing.is_empty() {
                        return Some(span);
                    }
                }
                // No expression goes beyond its statement, but for the bodies in it.
                Token::Other(b';', _) if !closing.contains(&b'}') => return None,
                Token::Word(_) | Token::Literal(_) | Token::Other(..) | Token::Directive(_) => {}
            }
        }
    }

    /// A name among the literals of a template.
    fn named_piece(&mut self, word: Span, pieces: &mut Vec<Piece>) -> Option<()> {
        let behind = self.tokens.at();
        // With its arguments, if it has any.
        let arguments = if let Token::Other(b'(', open) = self.next()? {
            let end = self.skip(b'(')?;
            Some(Span::new(open.end, end.start))
        } else {
            self.tokens.go_to(behind);
            None
        };
        let span = arguments.map_or(word, |it| word.to(Span::at(it.end + 1)));
        if !self.macros.expand(self.text, word, arguments, pieces) {
            pieces.push(Piece::Hole(span));
        }
        Some(())
    }

    /// What a constraint says about its operand.
    fn constraint(&mut self, text: &str, value: &str, operands: &[Operand]) -> Constraint {
        use crate::syntax::ast::Type;
        let letters = text.trim_matches(|c: char| "=+&% ".contains(c) || c.is_ascii_whitespace());
        // nvcc declares them all without a class: `.b32` for a `float`, too.
        let ty = match letters {
            "h" => Type::B16,
            "r" | "f" => Type::B32,
            "l" | "d" => Type::B64,
            "q" => Type::B128,
            "n" | "i" => return Constraint::Immediate(self.constants.value(value, self.macros)),
            // The same place as another operand.
            _ => match letters.parse::<usize>().ok().and_then(|index| operands.get(index)) {
                Some(operand) => return operand.constraint.clone(),
                None => return Constraint::Other,
            },
        };
        Constraint::Register(ty)
    }
}

fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}
