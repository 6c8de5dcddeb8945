//! What the names of a file are bound to, as far as that can be said without running it.

use rustc_hash::FxHashMap;

use super::tokens::Token;
use crate::source::Span;

/// The number of a scope: of the module, or of a function or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope(u32);

/// The names that a file binds.
#[derive(Debug)]
pub(super) struct Names<'s> {
    text: &'s str,
    /// The scope around each, and whether it is a class.
    scopes: Vec<(Scope, bool)>,
    bound: FxHashMap<(Scope, &'s str), Bound>,
    /// The scopes that are open, each with how far its head is indented.
    open: Vec<(Scope, u32)>,
    line: Line,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// It has one value, which is written here.
    Once(Span),
    /// It has several, or one that is not written anywhere.
    Unknown,
}

/// Where in a statement the reader is.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    indent: u32,
    state: State,
    /// How many brackets are open.
    depth: u32,
    previous: Option<Token>,
    /// Whether names are read that a loop, comprehension or `lambda` binds, in whatever depth.
    in_for: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Nothing of it was read.
    #[default]
    Start,
    /// A name, and nothing else.
    Name(Span),
    /// `name: annotation`.
    Annotation(Span),
    /// The value of a name, from here on.
    Value(Span, u32),
    /// Names with commas: the first of them.
    Tuple,
    /// `import`: all its names.
    Import,
    /// `def`: its name is next.
    Definition,
    /// `class`: its name is next.
    Class,
    /// The parameters of a function are read.
    Parameters,
    /// A statement with a colon, behind which another may stand.
    Compound,
    /// Nothing more to see.
    Rest,
}

/// No file has scopes in more scopes.
const MOST_OPEN: usize = 64;

impl<'s> Names<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        let module = Scope(0);
        Self {
            text,
            scopes: vec![(module, false)],
            bound: FxHashMap::default(),
            open: Vec::new(),
            line: Line::default(),
        }
    }

    /// The scope that is read.
    pub(super) fn scope(&self) -> Scope {
        self.open.last().map_or(Scope(0), |(scope, _)| *scope)
    }

    /// A statement starts, and ends the one before.
    pub(super) fn start(&mut self, indent: u32) {
        self.end();
        while self.open.last().is_some_and(|(_, head)| *head >= indent) {
            self.open.pop();
        }
        self.line = Line { indent, ..Line::default() };
    }

    /// The statement ends.
    pub(super) fn end(&mut self) {
        if let (State::Value(name, from), Some(last)) = (self.line.state, self.line.previous) {
            let value = match last {
                Token::Word(span) | Token::Number(span) | Token::Other(_, span) => span.end,
                Token::Literal(literal) => literal.span.end,
                Token::Line(_) => from,
            };
            let value = self.text.get(from as usize..value as usize).unwrap_or_default();
            let start = from + (value.len() - value.trim_start().len()) as u32;
            self.bind(name, Bound::Once(Span::new(start, from + value.len() as u32)));
        }
        self.line.state = State::Start;
    }

    /// A token of the statement.
    pub(super) fn token(&mut self, token: Token) {
        self.read(token);
        if let Token::Other(byte, _) = token {
            match byte {
                b'(' | b'[' | b'{' => self.line.depth += 1,
                b')' | b']' | b'}' => self.line.depth = self.line.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.line.previous = Some(token);
    }

    fn read(&mut self, token: Token) {
        let text = self.text;
        let depth = self.line.depth;
        if let Token::Word(word) = token {
            match &text[word.range()] {
                "for" | "lambda" => self.line.in_for = true,
                "in" => self.line.in_for = false,
                _ if self.line.in_for || self.is_behind_as() => self.bind(word, Bound::Unknown),
                _ => {}
            }
        }
        self.line.in_for &= !matches!(token, Token::Other(b':', _));
        // `name := value`
        if let (Token::Other(b':', colon), Some(Token::Word(name))) = (token, self.line.previous)
            && text.as_bytes().get(colon.end as usize) == Some(&b'=')
        {
            self.bind(name, Bound::Unknown);
        }
        self.line.state = match (self.line.state, token) {
            (_, Token::Other(b';', _)) if depth == 0 => {
                self.end();
                State::Start
            }
            (State::Start, Token::Word(word)) => match &text[word.range()] {
                "def" => State::Definition,
                "class" => State::Class,
                "async" => State::Start,
                "import" | "from" => State::Import,
                "if" | "elif" | "else" | "try" | "except" | "finally" | "with" | "while" | "for" => {
                    State::Compound
                }
                _ => State::Name(word),
            },
            (State::Start, Token::Other(b'(' | b'[' | b'*', _)) => State::Tuple,
            (State::Start, _) => State::Rest,
            (State::Name(name), Token::Other(b'=', at)) if self.is_assignment(at) => {
                State::Value(name, at.end)
            }
            (State::Name(name), Token::Other(b':', _)) => State::Annotation(name),
            (State::Name(name), Token::Other(b',', _)) => {
                // It may be one that is only read, too.
                self.bind(name, Bound::Unknown);
                State::Tuple
            }
            (State::Name(_), Token::Other(b'.' | b'(' | b'[', _)) => State::Rest,
            // `name += value`: an operator that is followed by `=`.
            (State::Name(name), Token::Other(_, at)) => {
                let behind = text.get(at.end as usize..).unwrap_or_default();
                if behind.starts_with('=') && !behind.starts_with("==")
                    || behind.get(1..2) == Some("=") && behind.as_bytes()[0] == text.as_bytes()[at.range()][0]
                {
                    self.bind(name, Bound::Unknown);
                }
                State::Rest
            }
            (State::Name(_), _) => State::Rest,
            (State::Annotation(name), Token::Other(b'=', at)) if depth == 0 && self.is_assignment(at) => {
                State::Value(name, at.end)
            }
            // `a = b = value`
            (State::Value(name, from), Token::Other(b'=', at)) if depth == 0 && self.is_assignment(at) => {
                self.bind(name, Bound::Unknown);
                let between = Span::new(from, at.start);
                self.bind_words(between);
                State::Rest
            }
            (State::Tuple, Token::Word(word)) => {
                self.bind(word, Bound::Unknown);
                State::Tuple
            }
            (State::Tuple, Token::Other(b'=', at)) if depth == 0 && self.is_assignment(at) => State::Rest,
            (State::Import, Token::Word(word)) => {
                self.bind(word, Bound::Unknown);
                State::Import
            }
            (State::Definition, Token::Word(name)) => {
                self.bind(name, Bound::Unknown);
                self.enter(false);
                State::Parameters
            }
            (State::Class, Token::Word(name)) => {
                self.bind(name, Bound::Unknown);
                self.enter(true);
                State::Compound
            }
            (State::Parameters, Token::Word(word)) if depth == 1 => {
                if matches!(self.line.previous, Some(Token::Other(b'(' | b',' | b'*', _))) {
                    self.bind(word, Bound::Unknown);
                }
                State::Parameters
            }
            (State::Parameters | State::Compound, Token::Other(b':', _)) if depth == 0 => State::Start,
            (state, _) => state,
        };
    }

    /// Whether `=` is not a part of another operator.
    fn is_assignment(&self, at: Span) -> bool {
        let bytes = self.text.as_bytes();
        let before = (at.start as usize).checked_sub(1).map_or(b' ', |index| bytes[index]);
        bytes.get(at.end as usize) != Some(&b'=') && !b"=!<>:+-*/%&|^@".contains(&before)
    }

    /// Whether `as` stands before this token.
    fn is_behind_as(&self) -> bool {
        matches!(self.line.previous, Some(Token::Word(word)) if &self.text[word.range()] == "as")
    }

    fn bind_words(&mut self, part: Span) {
        let mut tokens = super::tokens::Tokens::of(self.text, part);
        while let Some(token) = tokens.next_within() {
            if let Token::Word(word) = token {
                self.bind(word, Bound::Unknown);
            }
        }
    }

    fn bind(&mut self, name: Span, value: Bound) {
        let scope = self.scope();
        self.bound
            .entry((scope, &self.text[name.range()]))
            .and_modify(|known| *known = Bound::Unknown)
            .or_insert(value);
    }

    /// The body of a function or class starts.
    fn enter(&mut self, is_class: bool) {
        let around = self.scope();
        let scope = Scope(self.scopes.len() as u32);
        self.scopes.push((around, is_class));
        if self.open.len() < MOST_OPEN {
            self.open.push((scope, self.line.indent));
        }
    }

    /// Where the one value of a name is written, and in which scope.
    pub(super) fn value(&self, name: &str, scope: Scope) -> Option<(Span, Scope)> {
        let mut at = scope;
        loop {
            let (around, is_class) = self.scopes[at.0 as usize];
            // The body of a function does not see the names of the class around it.
            if at == scope || !is_class {
                match self.bound.get(&(at, name)) {
                    Some(Bound::Once(span)) => return Some((*span, at)),
                    Some(Bound::Unknown) => return None,
                    None => {}
                }
            }
            if at == Scope(0) {
                return None;
            }
            at = around;
        }
    }
}
