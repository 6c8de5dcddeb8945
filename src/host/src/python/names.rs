//! What the names of a file are bound to, as far as that can be said without running it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::tokens::Token;
use ptx_text::source::Span;

/// The number of a scope: of the module, or of a function or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scope(u32);

/// The names that a file binds.
#[derive(Debug)]
pub(super) struct Names<'s> {
    text: &'s str,
    scopes: Vec<Around>,
    bound: FxHashMap<(Scope, &'s str), Bound>,
    /// The scopes that are open, each with how far its head is indented.
    open: Vec<(Scope, u32)>,
    /// The conditions of `if`, each with those of its branches that follow.
    chains: Vec<Span>,
    /// The branches that are open, in each other.
    branches: Vec<Branch>,
    /// The branch that this line ends.
    ended: Option<Branch>,
    /// The blocks that are open, each with its number and how far its lines are indented.
    blocks: Vec<(u32, u32)>,
    /// How many blocks there were.
    block_count: u32,
    line: Line,
}

/// What is around a scope, and what it is.
#[derive(Clone, Copy, Debug)]
struct Around {
    scope: Scope,
    is_class: bool,
    /// The name of the function or class.
    name: Span,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    /// It has these values: one, or one in each of several branches of the same `if`.
    Values(Vec<Value>),
    /// It is the parameter of a function at this place.
    Parameter(u32),
    /// It has several, or one that is not written anywhere.
    Unknown,
}

/// A value that is written somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// What is written there, and behind that what `+=` adds.
    pub(super) parts: SmallVec<[Span; 1]>,
    /// The branches that it stands in.
    path: SmallVec<[Arm; 4]>,
    /// The block of statements that it stands in, which are executed one behind the other; none where it is
    /// the only one of its line's.
    block: Option<u32>,
}

/// A branch of an `if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arm {
    chain: u32,
    arm: u32,
}

/// A branch that is read, and how far its head is indented.
#[derive(Clone, Copy, Debug)]
struct Branch {
    arm: Arm,
    indent: u32,
}

/// The values that a name has in branches of one `if`: its condition, and of each value which branch.
pub(super) struct Branches<'n> {
    pub(super) condition: Span,
    pub(super) values: &'n [Value],
    pub(super) arms: SmallVec<[u32; 8]>,
}

/// No name has more values that are worth looking at.
const MOST_VALUES: usize = 8;

/// No value is put together of more parts that are worth looking at.
const MOST_PARTS: usize = 64;

impl Value {
    /// Whether all of it is there at a place of the text: what is added later is not.
    pub(super) fn is_whole_at(&self, at: u32) -> bool {
        self.parts[1..].last().is_none_or(|last| last.end <= at)
    }

    /// The `if` of which this value stands in another branch than the other, and the two branches.
    fn excludes(&self, other: &Self) -> Option<(u32, u32, u32)> {
        let (one, other) = self.path.iter().zip(&other.path).find(|(one, other)| one != other)?;
        (one.chain == other.chain).then_some((one.chain, one.arm, other.arm))
    }
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
    /// Whether the line begins with the head of a block: what stands behind it may be executed several times.
    is_head: bool,
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
    /// What is added to a name, from here on.
    Added(Span, u32),
    /// Names with commas: the first of them.
    Tuple,
    /// `import`: all its names.
    Import,
    /// `def`: its name is next.
    Definition,
    /// `class`: its name is next.
    Class,
    /// The parameters of a function are read, of which there were so many.
    Parameters(u32),
    /// A statement with a colon, behind which another may stand.
    Compound,
    /// The condition of an `if`, from here on.
    Condition(u32),
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
            scopes: vec![Around { scope: module, is_class: false, name: Span::at(0) }],
            bound: FxHashMap::default(),
            open: Vec::new(),
            chains: Vec::new(),
            branches: Vec::new(),
            ended: None,
            blocks: Vec::new(),
            block_count: 0,
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
        self.ended = None;
        while let Some(branch) = self.branches.pop_if(|branch| branch.indent >= indent) {
            self.ended = Some(branch).filter(|branch| branch.indent == indent);
        }
        self.line = Line { indent, ..Line::default() };
        while self.blocks.pop_if(|(_, block)| *block > indent).is_some() {}
        if self.blocks.last().is_none_or(|(_, block)| *block < indent) {
            self.blocks.push((self.block_count, indent));
            self.block_count += 1;
        }
    }

    /// The statement ends.
    pub(super) fn end(&mut self) {
        let state = self.line.state;
        if let (State::Value(name, from) | State::Added(name, from), Some(last)) = (state, self.line.previous)
        {
            let value = match last {
                Token::Word(span) | Token::Number(span) | Token::Other(_, span) => span.end,
                Token::Literal(literal) => literal.span.end,
                Token::Line(_) => from,
            };
            let value = self.text.get(from as usize..value as usize).unwrap_or_default();
            let start = from + (value.len() - value.trim_start().len()) as u32;
            let span = Span::new(start, from + value.len() as u32);
            let block = self.blocks.last().filter(|_| !self.line.is_head).map(|(block, _)| *block);
            if matches!(state, State::Added(..)) {
                self.add(name, span, block);
            } else {
                let path = self.branches.iter().map(|branch| branch.arm).collect();
                let parts = SmallVec::from_elem(span, 1);
                self.bind(name, Bound::Values(vec![Value { parts, path, block }]));
            }
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
        if let (State::Condition(_) | State::Compound, Token::Other(b':', _)) = (self.line.state, token)
            && depth == 0
        {
            self.line.is_head = true;
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
                "if" => {
                    let chain = self.chains.len() as u32;
                    self.chains.push(Span::at(word.end));
                    self.branch(Arm { chain, arm: 0 });
                    State::Condition(word.end)
                }
                "elif" | "else" => {
                    if let Some(Branch { arm: Arm { chain, arm }, .. }) = self.ended.take() {
                        self.branch(Arm { chain, arm: arm + 1 });
                    }
                    State::Compound
                }
                "try" | "except" | "finally" | "with" | "while" | "for" => State::Compound,
                _ => State::Name(word),
            },
            (State::Start, Token::Other(b'(' | b'[' | b'*', _)) => State::Tuple,
            (State::Start, _) => State::Rest,
            // `comptime name = value`, `fn name(...)`: Mojo's. No statement of Python starts so.
            (State::Name(first), Token::Word(word)) => match (&text[first.range()], &text[word.range()]) {
                ("comptime", "if" | "for") => {
                    self.line.state = State::Start;
                    return self.read(token);
                }
                ("alias" | "comptime" | "var" | "ref", _) => State::Name(word),
                ("fn", _) => self.define(word),
                ("struct" | "trait", _) => self.define_class(word),
                _ => State::Rest,
            },
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
            (State::Name(name), Token::Other(b'+', at)) if text[at.end as usize..].starts_with('=') => {
                State::Added(name, at.end + 1)
            }
            // `name -= value`: an operator that is followed by `=`.
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
            (State::Definition, Token::Word(name)) => self.define(name),
            (State::Class, Token::Word(name)) => self.define_class(name),
            (State::Parameters(count), Token::Word(word)) if depth == 1 => match self.line.previous {
                Some(Token::Other(b'(' | b',', _)) => {
                    self.bind(word, Bound::Parameter(count));
                    State::Parameters(count + 1)
                }
                // The parameters of a type, or of a function of Mojo, stand in brackets of their own.
                Some(Token::Other(b'*' | b'[', _)) => {
                    self.bind(word, Bound::Unknown);
                    State::Parameters(count)
                }
                _ => State::Parameters(count),
            },
            (State::Condition(from), Token::Other(b':', colon)) if depth == 0 => {
                if let Some(condition) = self.chains.last_mut() {
                    *condition = Span::new(from, colon.start);
                }
                State::Start
            }
            (State::Parameters(_) | State::Compound, Token::Other(b':', _)) if depth == 0 => State::Start,
            (state, _) => state,
        };
    }

    /// A function of this name starts.
    fn define(&mut self, name: Span) -> State {
        self.bind(name, Bound::Unknown);
        self.enter(false, name);
        State::Parameters(0)
    }

    /// A class of this name starts.
    fn define_class(&mut self, name: Span) -> State {
        self.bind(name, Bound::Unknown);
        self.enter(true, name);
        State::Compound
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
        let known = self.bound.entry((scope, &self.text[name.range()]));
        known.and_modify(|known| known.add(&value)).or_insert(value);
    }

    /// `name += part`. Only what stands in one block with the value is certainly executed once behind it.
    fn add(&mut self, name: Span, part: Span, block: Option<u32>) {
        let known = self.bound.get_mut(&(self.scope(), &self.text[name.range()]));
        if let Some(Bound::Values(values)) = known
            && let Some(value) = values.last_mut()
            && value.block.is_some_and(|own| Some(own) == block)
            && value.parts.len() < MOST_PARTS
        {
            value.parts.push(part);
        } else {
            self.bind(name, Bound::Unknown);
        }
    }

    /// A branch of an `if` starts.
    fn branch(&mut self, arm: Arm) {
        if self.branches.len() < MOST_OPEN {
            self.branches.push(Branch { arm, indent: self.line.indent });
        }
    }

    /// The body of a function or class starts.
    fn enter(&mut self, is_class: bool, name: Span) {
        let around = self.scope();
        let scope = Scope(self.scopes.len() as u32);
        self.scopes.push(Around { scope: around, is_class, name });
        if self.open.len() < MOST_OPEN {
            self.open.push((scope, self.line.indent));
        }
    }

    /// Whether the file has a function or class of this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.scopes[1..].iter().any(|scope| &self.text[scope.name.range()] == name)
    }

    /// The function of which a name is a parameter, and at which place.
    pub(super) fn parameter(&self, name: &str, scope: Scope) -> Option<(Span, u32)> {
        match self.bound.get(&(scope, name))? {
            Bound::Parameter(place) => Some((self.scopes[scope.0 as usize].name, *place)),
            Bound::Values(_) | Bound::Unknown => None,
        }
    }

    /// Where the values of a name are written, and in which scope.
    pub(super) fn values<'n>(&'n self, name: &'n str, scope: Scope) -> Option<(&'n [Value], Scope)> {
        let mut at = scope;
        loop {
            let Around { scope: around, is_class, .. } = self.scopes[at.0 as usize];
            // The body of a function does not see the names of the class around it.
            if at == scope || !is_class {
                match self.bound.get(&(at, name)) {
                    Some(Bound::Values(values)) => return Some((values, at)),
                    Some(Bound::Parameter(_) | Bound::Unknown) => return None,
                    None => {}
                }
            }
            if at == Scope(0) {
                return None;
            }
            at = around;
        }
    }

    /// What decides between several values.
    pub(super) fn branches<'n>(&self, values: &'n [Value]) -> Option<Branches<'n>> {
        let [first, second, ..] = values else { return None };
        let (chain, ..) = first.excludes(second)?;
        let arm = |value: &Value| value.path.iter().find(|arm| arm.chain == chain).map(|arm| arm.arm);
        let arms = values.iter().map(arm).collect::<Option<_>>()?;
        Some(Branches { condition: self.chains[chain as usize], values, arms })
    }
}

impl Bound {
    /// The name is bound once more.
    fn add(&mut self, other: &Self) {
        if let (Self::Values(known), Self::Values(new)) = (&mut *self, other)
            && let ([value], [first, rest @ ..]) = (new.as_slice(), known.as_slice())
            && known.len() < MOST_VALUES
            && let Some((chain, ..)) = value.excludes(first)
            && rest.iter().all(|it| value.excludes(it).is_some_and(|(other, ..)| other == chain))
        {
            known.push(value.clone());
        } else {
            *self = Self::Unknown;
        }
    }
}
