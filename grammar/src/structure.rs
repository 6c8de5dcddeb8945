//! Tokens to tokens: says what each brace stands for and keeps them balanced.
//!
//! `{` opens a function body, a scope, a section's data or a vector, and a grammar that has to
//! find out from context cannot recover from errors: a vector's `}` in a broken instruction would
//! close the function. Where a statement starts is known from a few tokens, though, and with it
//! what a brace means. This pass decides that, so that behind it
//!
//! - the braces that structure the module are tokens of their own and always balanced,
//! - a missing or a stray one is reported once, here, and costs nothing else,
//! - nesting is bounded, so that no later stage can be driven into deep recursion.

use crate::lexer::{self, LexError, Token};
use crate::parser::SyntaxError;
use crate::source::Span;

/// Scopes within scopes; the deepest in known compiler output is 7.
const MAX_SCOPES: usize = 256;
/// Brackets within brackets in one statement.
const MAX_NESTING: u32 = 64;
/// Tokens in a row that wait for an operand: signs, casts, brackets.
const MAX_PREFIX: u32 = 256;

/// What the grammar's lexer interface wants.
pub type Positioned = Result<(u32, Token, u32), std::convert::Infallible>;

/// Where in a statement the next token stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first token of a statement.
    Start,
    /// Behind a first word: `:` would make it a label.
    Word,
    /// Within a statement that ends with `;`.
    Statement,
    /// Within a directive that ends where it ends: `.loc 1 2 3`. Keeps whether an identifier may
    /// still belong to it.
    Loose { wants_name: bool },
    /// Within the header of a function.
    Header,
    /// Within a `.pragma` of a header; its `;` does not end the header.
    HeaderPragma,
    /// Between `.section` and its brace.
    SectionHeader,
    /// Within the data of a section.
    SectionData,
}

/// The tokens of a text, with braces told apart and balanced.
pub struct Structure<'s> {
    text: &'s str,
    tokens: logos::SpannedIter<'s, Token>,
    state: State,
    /// The braces that are open, outermost first.
    open: Vec<Span>,
    /// Brackets of all sorts that are open in this statement, and vector braces among them.
    nesting: u32,
    vectors: u32,
    /// Tokens since the last operand or comma.
    prefix: u32,
    /// A token that was read but not yet handed on, last first.
    queue: Vec<(Span, Token)>,
    /// A token of the lexer that was read too early.
    ahead: Option<(Span, Token)>,
    /// Whether the innermost scope lies in a function.
    in_body: bool,
    /// Whether a statement may not start here for the parser, although it does for this pass: a `;`
    /// may have ended a `.pragma` of a `.callprototype` only, and a `{` behind `.visible` is a mistake.
    is_doubtful: bool,
    /// Whether the statement is an instruction, whose `;` ends all doubt.
    is_instruction: bool,
    /// Where the last token of the text ended.
    last_end: u32,
    /// Whether the text ended where an item outside functions could follow, once it has ended.
    ended_between_items: Option<bool>,
    /// `.visible` and the like, held back until it is known whether a function follows.
    linkage: Vec<(Span, Token)>,
    /// What was wrong with the braces, so far.
    pub errors: Vec<SyntaxError>,
}

impl<'s> Structure<'s> {
    /// Starts at the first token.
    pub fn new(text: &'s str) -> Self {
        Self::from(text, 0)
    }

    /// Starts at the first token behind `start`, outside all braces.
    pub(crate) fn from(text: &'s str, start: u32) -> Self {
        let mut tokens = lexer::lex(text);
        tokens.bump(start as usize);
        Self {
            text,
            tokens,
            state: State::Start,
            open: Vec::new(),
            nesting: 0,
            vectors: 0,
            prefix: 0,
            queue: Vec::new(),
            ahead: None,
            in_body: false,
            is_doubtful: false,
            is_instruction: false,
            last_end: start,
            ended_between_items: None,
            linkage: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn restart(&mut self) {
        self.state = State::Start;
        self.nesting = 0;
        self.vectors = 0;
        self.prefix = 0;
    }

    /// Whether the text has ended as it would if more items followed.
    pub(crate) fn ended_between_items(&self) -> bool {
        self.ended_between_items == Some(true)
    }

    /// The next token that is not classified yet.
    #[inline]
    fn take(&mut self) -> Option<(Span, Token)> {
        self.ahead.take().or_else(|| self.lex())
    }

    /// Where the last token ends that was handed on.
    pub(crate) const fn last_end(&self) -> u32 {
        self.last_end
    }

    pub(crate) fn text(&self) -> &'s str {
        self.text
    }

    /// Where the text goes on, if what stands there is a statement of a function: the next token finds this
    /// pass as the last statement left it, and nothing waits to be handed on.
    #[inline]
    pub(crate) fn statement_start(&self) -> Option<usize> {
        let is_start = self.state == State::Start && self.in_body && !self.is_doubtful;
        let is_idle = self.queue.is_empty() && self.linkage.is_empty() && self.ahead.is_none();
        (is_start && is_idle).then(|| self.tokens.span().end)
    }

    /// Goes on at `end`, behind statements that others have read. They leave the state as it was.
    pub(crate) fn pass_over(&mut self, end: usize) {
        let from = self.tokens.span().end;
        self.tokens.bump(end - from);
        self.last_end = end as u32;
    }

    /// Where the text goes on behind the last token, if that is known.
    pub(crate) fn next_start(&self) -> Option<usize> {
        (self.queue.is_empty() && self.ahead.is_none()).then(|| self.tokens.span().end)
    }

    /// Goes on at `end`, behind operands that others have read.
    pub(crate) fn pass_over_operands(&mut self, end: usize) {
        self.pass_over(end);
        self.prefix = 0;
    }

    /// Whether a scope is open within the body of a function.
    pub(crate) fn is_in_scope(&self) -> bool {
        self.open.len() > 1
    }

    /// Opens a scope that others have read, if there may be one more.
    #[inline]
    pub(crate) fn enter(&mut self, brace: Span) -> bool {
        let may_open = self.open.len() < MAX_SCOPES;
        if may_open {
            self.open.push(brace);
        }
        may_open
    }

    /// Closes a scope that others have read, unless it is the body.
    #[inline]
    pub(crate) fn leave(&mut self) -> bool {
        self.is_in_scope() && self.open.pop().is_some()
    }

    /// The next token of the lexer.
    #[inline]
    fn lex(&mut self) -> Option<(Span, Token)> {
        let (token, range) = self.tokens.next()?;
        let span = Span::new(range.start as u32, range.end as u32);
        let token = token.unwrap_or_else(|error: LexError| {
            self.errors.push(SyntaxError::InvalidToken { span, error });
            Token::Error
        });
        Some((span, token))
    }

    /// What is left to say when the text has ended: one token after the other.
    fn finish(&mut self) -> Option<(Span, Token)> {
        let is_between = self.state == State::Start && self.open.is_empty() && self.linkage.is_empty();
        self.ended_between_items.get_or_insert(is_between);
        if matches!(self.state, State::Loose { .. }) {
            self.restart();
            return Some((Span::at(self.last_end), Token::DirectiveEnd));
        }
        if self.linkage.is_empty() {
            self.close_all(self.text.len() as u32, false);
        } else {
            self.queue.extend(self.linkage.drain(..).rev());
        }
        self.queue.pop()
    }

    /// Reports the first bracket or sign over a limit; the parser recovers at the next `;`.
    #[cold]
    fn too_deep(&mut self, span: Span, depth: u32, limit: u32) -> Token {
        if depth == limit + 1 {
            self.errors.push(SyntaxError::TooDeep { span, limit });
        }
        Token::Error
    }

    /// Opens a scope; past the limit the rest of the input is given up.
    fn open(&mut self, span: Span, as_token: Token) -> Token {
        if self.open.len() >= MAX_SCOPES {
            self.errors.push(SyntaxError::TooDeep { span, limit: MAX_SCOPES as u32 });
            self.tokens = lexer::lex("");
            self.ahead = None;
            self.queue.clear();
            return Token::Semicolon;
        }
        self.in_body |= as_token == Token::BodyOpen;
        self.open.push(span);
        self.restart();
        if as_token == Token::SectionOpen {
            self.state = State::SectionData;
        }
        as_token
    }

    /// Closes the innermost scope; `None` for a brace that closes nothing.
    fn close(&mut self, span: Span) -> Option<Token> {
        let is_section = self.state == State::SectionData;
        self.restart();
        if self.open.pop().is_none() {
            self.errors.push(SyntaxError::StrayBrace { span });
            return None;
        }
        let ends_body = self.in_body && self.open.is_empty();
        self.in_body &= !ends_body;
        Some(match (is_section, ends_body) {
            (true, _) => Token::SectionClose,
            (false, true) => Token::BodyClose,
            (false, false) => Token::BlockClose,
        })
    }

    /// Queues a `}` for each scope that is still open where none may be.
    fn close_all(&mut self, at: u32, before_function: bool) {
        if let Some(&brace) = self.open.first() {
            self.errors.push(SyntaxError::UnclosedBrace { brace, at, before_function });
            // What is handed on last comes first.
            let outermost = if self.in_body { Token::BodyClose } else { Token::BlockClose };
            self.queue.push((Span::at(at), outermost));
        }
        self.queue.extend(self.open.drain(..).skip(1).map(|_| (Span::at(at), Token::BlockClose)));
        self.in_body = false;
        if self.state == State::SectionData
            && let Some((_, innermost)) = self.queue.last_mut()
        {
            *innermost = Token::SectionClose;
            self.restart();
        }
    }

    /// Whether a token is on the same line as the one before.
    fn is_on_line(&self, span: Span) -> bool {
        let between = self.last_end as usize..span.start as usize;
        self.text.get(between).is_some_and(|between| !between.contains('\n'))
    }

    /// Ends a directive or a header before `token`, which starts the next statement.
    fn end_directive(&mut self, span: Span, token: Token) -> Token {
        self.restart();
        self.ahead = Some((span, token));
        Token::DirectiveEnd
    }

    /// Classifies one token of the lexer; `None` when it is held back or dropped.
    #[inline]
    fn classify(&mut self, span: Span, token: Token) -> Option<Token> {
        loop {
            match self.state {
                State::Statement => match token {
                    Token::Semicolon => {
                        self.is_doubtful &= !self.is_instruction;
                        self.restart();
                    }
                    Token::BraceOpen | Token::ParenOpen | Token::BracketOpen => {
                        self.nesting += 1;
                        self.vectors += u32::from(token == Token::BraceOpen);
                        if self.nesting > MAX_NESTING {
                            return Some(self.too_deep(span, self.nesting, MAX_NESTING));
                        }
                    }
                    Token::Comma
                    | Token::Identifier
                    | Token::Dotted
                    | Token::Integer
                    | Token::Float
                    | Token::String => self.prefix = 0,
                    Token::ParenClose | Token::BracketClose => {
                        self.nesting = self.nesting.saturating_sub(1);
                    }
                    Token::BraceClose => {
                        if self.vectors == 0 {
                            return self.close(span);
                        }
                        self.vectors -= 1;
                        self.nesting = self.nesting.saturating_sub(1);
                    }
                    Token::Entry => {
                        self.restart();
                        continue;
                    }
                    _ => {
                        self.prefix += 1;
                        if self.prefix > MAX_PREFIX {
                            return Some(self.too_deep(span, self.prefix, MAX_PREFIX));
                        }
                    }
                },
                State::Start => match token {
                    Token::Identifier if self.linkage.is_empty() => {
                        self.is_instruction = true;
                        self.state = State::Word;
                    }
                    Token::Semicolon => {}
                    Token::BraceOpen => {
                        self.is_doubtful |= !self.linkage.is_empty();
                        return Some(self.open(span, Token::BlockOpen));
                    }
                    Token::BraceClose => return self.close(span),
                    Token::Linkage(_) => {
                        self.linkage.push((span, token));
                        return None;
                    }
                    Token::Entry | Token::Func => {
                        self.state = State::Header;
                        let start = self.linkage.first().map_or(span, |&(first, _)| first).start;
                        if !self.open.is_empty() {
                            self.queue.push((span, token));
                            self.queue.extend(self.linkage.drain(..).rev());
                            self.close_all(start, true);
                            return None;
                        }
                    }
                    Token::Section => self.state = State::SectionHeader,
                    Token::Loc | Token::File | Token::Version | Token::AddressSize => {
                        self.state = State::Loose { wants_name: false };
                    }
                    Token::Target => self.state = State::Loose { wants_name: true },
                    _ => {
                        self.is_doubtful |= token == Token::CallPrototype;
                        self.is_instruction = matches!(token, Token::Identifier | Token::Dotted | Token::At);
                        self.state = State::Statement;
                    }
                },
                State::Word => {
                    if token == Token::Colon {
                        self.state = State::Start;
                    } else {
                        self.state = State::Statement;
                        continue;
                    }
                }
                State::Loose { wants_name } => match token {
                    Token::Comma => self.state = State::Loose { wants_name: true },
                    Token::Identifier if wants_name => {}
                    Token::Integer | Token::Float | Token::String | Token::Plus | Token::Minus => {
                        self.state = State::Loose { wants_name: false };
                    }
                    // No statement starts with these. The line tells whose mistake they are.
                    Token::Error
                    | Token::Sink
                    | Token::Colon
                    | Token::ParenOpen
                    | Token::ParenClose
                    | Token::BracketOpen
                    | Token::BracketClose
                    | Token::Equals
                    | Token::Not
                    | Token::Tilde
                    | Token::Less
                    | Token::Greater
                    | Token::Question
                    | Token::Operator(_)
                        if self.is_on_line(span) => {}
                    // Neither does one outside functions start with these.
                    Token::Identifier | Token::Dotted | Token::DotWord | Token::At
                        if self.open.is_empty() && self.is_on_line(span) => {}
                    _ => return Some(self.end_directive(span, token)),
                },
                State::Header => match token {
                    Token::BraceOpen => return Some(self.open(span, Token::BodyOpen)),
                    Token::Semicolon => self.restart(),
                    Token::Pragma => self.state = State::HeaderPragma,
                    Token::Entry | Token::Func | Token::Linkage(_) | Token::BraceClose => {
                        return Some(self.end_directive(span, token));
                    }
                    _ => {}
                },
                State::HeaderPragma => {
                    if token == Token::Semicolon {
                        self.state = State::Header;
                    }
                }
                State::SectionHeader => match token {
                    Token::BraceOpen => return Some(self.open(span, Token::SectionOpen)),
                    Token::Semicolon | Token::BraceClose => {
                        self.restart();
                        continue;
                    }
                    _ => {}
                },
                State::SectionData => {
                    if token == Token::BraceClose {
                        return self.close(span);
                    }
                }
            }
            return Some(token);
        }
    }
}

impl Iterator for Structure<'_> {
    type Item = Positioned;

    #[inline]
    fn next(&mut self) -> Option<Positioned> {
        loop {
            if let Some((span, token)) = self.queue.pop() {
                return Some(Ok((span.start, token, span.end)));
            }
            let Some((span, token)) = self.take() else {
                let (span, token) = self.finish()?;
                return Some(Ok((span.start, token, span.end)));
            };
            let Some(token) = self.classify(span, token) else { continue };
            let span = if token == Token::DirectiveEnd { Span::at(self.last_end) } else { span };
            self.last_end = span.end;
            if !self.linkage.is_empty() {
                self.queue.push((span, token));
                self.queue.extend(self.linkage.drain(..).rev());
                continue;
            }
            return Some(Ok((span.start, token, span.end)));
        }
    }
}
