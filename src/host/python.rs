//! Assembly in Python: calls that take PTX, and strings that are programs of C++.
//!
//! ```text
//! llvm.inline_asm(T.i32(), [a, b], "add.s32 $0, $1, $2;", "=r,r,r", has_side_effects=False, ...)
//! tl.inline_asm_elementwise("...", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
//! cute.arch.inline_ptx("mov.b64 {$w0}, {$r0};", write_only_types=[Int64], read_only_args=[x])
//! cupy.RawKernel(r'''... asm volatile("..."); ...''', "kernel")
//! ```
//!
//! A string that is a whole module of PTX is one. Nothing is run. A template is what can be read: literals, their concatenation, the names that have
//! one value in the file. Where an `if` decides between values, each of them makes a reading, as for
//! the preprocessor of C++. What else stands between literals is a hole. One pass finds the calls and
//! what names are bound to, so that broken files take no longer than sound ones; a second one, where a
//! function of the file hands its parameters on to such a call, the calls of that function.

use rustc_hash::FxHashMap;

use super::constraints;
use super::template::{self, Backslash, Escapes, Placeholders};
use super::{Constraint, Found, Language, Machine, Operand, Piece, Statement, cpp, modules};
use crate::source::{Source, Span};
use crate::syntax::ast::Type;

mod names;
mod strings;
mod tokens;

use names::{Names, Scope};
use strings::{Strings, elements};
use tokens::{Fields, Follower, Literal, Part, Token, Tokens};

/// Words that no text without calls of assembly has.
pub(super) const WORDS: [&str; 4] = ["asm", "inline_ptx", "InlineAsm", modules::WORD];

/// How long a token is, to count those that are read again.
const BYTES_OF_TOKEN: u64 = 4;

/// Calls in calls of assembly, so many deep, are looked at.
const MOST_NESTED: u32 = 4;

/// Of a call in which conditions decide, so many readings are looked at.
const MOST_READINGS: usize = 8;

pub(super) fn find(source: &Source) -> Found {
    let text = source.text();
    let mut reader = Reader::new(text);
    while let Some(token) = reader.tokens.next() {
        reader.token(token);
    }
    reader.names.end();
    let Reader { tokens, names, calls, programs, modules, .. } = reader;
    let mut found = Found { steps: tokens.steps(), comments: tokens.comments(), ..Found::default() };
    let budget = text.len() + (1 << 20);
    let mut strings = Strings { text, names: &names, budget, choices: Vec::new() };
    let mut wrappers = FxHashMap::default();
    for call in &calls {
        found.steps += u64::from(call.inside.len()) / BYTES_OF_TOKEN;
        match call.wrapper(text, &names) {
            Some((name, wrapper)) => {
                // A name of two functions says nothing.
                wrappers.entry(name).and_modify(|known| *known = None).or_insert(Some(wrapper));
            }
            None => call.statements(source, &mut strings, None, &mut found.statements),
        }
    }
    if !wrappers.is_empty() {
        let mut reader = Reader { wrappers, ..Reader::new(text) };
        while let Some(token) = reader.tokens.next() {
            reader.token(token);
        }
        found.steps += reader.tokens.steps();
        for call in reader.calls.iter().filter(|call| call.callee == Callee::Wrapper) {
            let wrapper = reader.wrappers.get(&text[call.keyword.range()]);
            found.steps += u64::from(call.inside.len()) / BYTES_OF_TOKEN;
            if let Some(Some(wrapper)) = wrapper {
                call.statements(source, &mut strings, Some(wrapper), &mut found.statements);
            }
        }
    }
    found.steps += (budget - strings.budget) as u64 / BYTES_OF_TOKEN;
    for literal in programs {
        let Found { statements, comments, steps, .. } = program(source, literal);
        found.statements.extend(statements);
        found.comments.extend(comments);
        found.steps += steps;
    }
    for literal in modules {
        let inside = &text[literal.inside.range()];
        found.steps += inside.len() as u64 / BYTES_OF_TOKEN;
        if let Some(module) = module(text, literal) {
            found.comments.extend(modules::comments(inside, literal.inside.start));
            found.modules.push(module);
        }
    }
    found.comments.sort_unstable();
    found.statements.sort_by_key(|statement| statement.span.start);
    found
}

/// What takes assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callee {
    /// MLIR's `inline_asm(result, operands, template, constraints, ...)`, llvmlite's `InlineAsm(type,
    /// template, constraints, ...)`, and Gluon's `inline_asm(template, constraints, ...)`.
    Llvm,
    /// Triton's `inline_asm_elementwise(template, constraints, arguments, type, is_pure, pack)`.
    Elementwise,
    /// `CuTe` DSL's `inline_ptx(template, ...)`.
    Ptx,
    /// A function of the file that hands its parameters on.
    Wrapper,
}

/// A function that hands its parameters on to a call of assembly.
#[derive(Clone, Debug)]
struct Wrapper {
    call: Call,
    template: Given,
    constraints: Given,
    effects: Option<Given>,
}

/// A parameter of a wrapper, or what it gives itself.
#[derive(Clone, Debug)]
enum Given {
    Parameter { name: String, place: usize },
    Itself(Span),
}

impl Callee {
    fn of(word: &str) -> Option<Self> {
        match word {
            "inline_asm_elementwise" => Some(Self::Elementwise),
            "InlineAsm" => Some(Self::Llvm),
            // Imported under other names.
            _ if word.ends_with("inline_asm") => Some(Self::Llvm),
            _ if word.ends_with("inline_ptx") || word.ends_with("inline_ptx_hl") => Some(Self::Ptx),
            _ => None,
        }
    }
}

/// A call of assembly.
#[derive(Clone, Debug)]
struct Call {
    callee: Callee,
    /// From the first of its names to the parenthesis that closes it.
    span: Span,
    keyword: Span,
    /// What stands between the parentheses.
    inside: Span,
    scope: Scope,
}

/// A call that is not closed yet.
#[derive(Clone, Copy, Debug)]
struct OpenCall {
    callee: Callee,
    keyword: Span,
    start: u32,
    open: Span,
    /// How many calls there are in its arguments, in each other.
    nested: u32,
    /// How many brackets are open in it.
    depth: usize,
}

/// Reads a file once.
struct Reader<'s> {
    text: &'s str,
    tokens: Tokens<'s>,
    names: Names<'s>,
    /// The brackets that are open.
    brackets: Vec<u8>,
    /// How many of each kind these are.
    open: [usize; 3],
    open_calls: Vec<OpenCall>,
    calls: Vec<Call>,
    /// The strings that may be programs.
    programs: Vec<Literal>,
    /// The strings that may be modules of PTX.
    modules: Vec<Literal>,
    /// The functions of which calls are calls of assembly, by their names.
    wrappers: FxHashMap<&'s str, Option<Wrapper>>,
    previous: Option<Token>,
}

impl<'s> Reader<'s> {
    fn new(text: &'s str) -> Self {
        Self {
            text,
            tokens: Tokens::new(text),
            names: Names::new(text),
            brackets: Vec::new(),
            open: [0; 3],
            open_calls: Vec::new(),
            calls: Vec::new(),
            programs: Vec::new(),
            modules: Vec::new(),
            wrappers: FxHashMap::default(),
            previous: None,
        }
    }

    fn token(&mut self, token: Token) {
        let previous = self.previous.replace(token);
        match token {
            Token::Line(indent) => {
                if self.brackets.is_empty() {
                    self.names.start(indent);
                }
                return;
            }
            // No bracket has such a line in it: one is missing.
            Token::Word(word)
                if !self.brackets.is_empty()
                    && matches!(previous, Some(Token::Line(_)))
                    && starts_statement(&self.text[word.range()]) =>
            {
                self.brackets.clear();
                self.open = [0; 3];
                self.open_calls.clear();
                if let Some(Token::Line(indent)) = previous {
                    self.names.start(indent);
                }
            }
            Token::Other(open @ (b'(' | b'[' | b'{'), span) => {
                if let (b'(', Some(Token::Word(word))) = (open, previous) {
                    self.call(word, span);
                }
                self.brackets.push(open);
                self.open[kind(open)] += 1;
            }
            Token::Other(close @ (b')' | b']' | b'}'), span) => self.close(close, span),
            Token::Literal(literal) => {
                let inside = self.text[literal.inside.range()].as_bytes();
                // A string that starts a line is documentation.
                let is_documentation =
                    self.brackets.is_empty() && matches!(previous, None | Some(Token::Line(_)));
                if literal.is_closed && !is_documentation && memchr::memmem::find(inside, b"asm").is_some() {
                    self.programs.push(literal);
                }
                if literal.is_closed
                    && !is_documentation
                    && memchr::memmem::find(inside, modules::WORD.as_bytes()).is_some()
                {
                    self.modules.push(literal);
                }
            }
            Token::Word(_) | Token::Number(_) | Token::Other(..) => {}
        }
        self.names.token(token);
    }

    /// A parenthesis behind a word.
    fn call(&mut self, word: Span, open: Span) {
        /// No chain of names is longer.
        const LONGEST: usize = 256;
        let name = &self.text[word.range()];
        let wrapper = || self.wrappers.contains_key(name).then_some(Callee::Wrapper);
        let Some(callee) = Callee::of(name).or_else(wrapper) else { return };
        let before = &self.text.as_bytes()[..word.start as usize];
        // A definition is none.
        let blanks = before.iter().rev().take_while(|byte| **byte == b' ').count();
        if blanks > 0 && before[..before.len() - blanks].ends_with(b"def") {
            return;
        }
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let len = before.iter().rev().take(LONGEST).take_while(is_part).count();
        let start = word.start - len as u32;
        let depth = self.brackets.len();
        self.open_calls.push(OpenCall { callee, keyword: word, start, open, nested: 0, depth });
    }

    fn close(&mut self, close: u8, span: Span) {
        let open = match close {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        // One that closes nothing closes nothing.
        if self.open[kind(open)] == 0 {
            return;
        }
        while let Some(bracket) = self.brackets.pop() {
            self.open[kind(bracket)] -= 1;
            let depth = self.brackets.len();
            if let Some(call) = self.open_calls.pop_if(|call| call.depth == depth) {
                let OpenCall { callee, keyword, start, open, nested, .. } = call;
                if bracket == b'(' && close == b')' && nested < MOST_NESTED {
                    let inside = Span::new(open.end, span.start);
                    let span = Span::new(start, span.end);
                    let scope = self.names.scope();
                    self.calls.push(Call { callee, span, keyword, inside, scope });
                }
                if let Some(around) = self.open_calls.last_mut() {
                    around.nested = around.nested.max(nested + 1);
                }
            }
            if bracket == open {
                break;
            }
        }
    }
}

fn kind(open: u8) -> usize {
    match open {
        b'(' => 0,
        b'[' => 1,
        _ => 2,
    }
}

/// Whether a keyword at the start of a line starts a statement, whatever stands before.
fn starts_statement(word: &str) -> bool {
    matches!(
        word,
        "def"
            | "class"
            | "return"
            | "import"
            | "while"
            | "try"
            | "except"
            | "with"
            | "assert"
            | "raise"
            | "del"
    )
}

/// The arguments of a call.
#[derive(Debug, Default)]
struct Arguments<'s> {
    by_place: Vec<Span>,
    by_name: Vec<(&'s str, Span)>,
}

impl<'s> Arguments<'s> {
    fn of(text: &'s str, inside: Span) -> Self {
        let mut found = Self::default();
        let mut tokens = Tokens::of(text, inside);
        let mut start: Option<u32> = None;
        let mut end = inside.start;
        let mut name: Option<&str> = None;
        let mut word: Option<Span> = None;
        // Behind `*several`, nobody knows which place is which.
        let mut is_open = false;
        loop {
            let token = tokens.next_within();
            match token {
                None | Some(Token::Other(b',', _)) => {
                    let value = start.take().map(|start| Span::new(start, end));
                    match (name.take(), value) {
                        (Some(name), Some(value)) => found.by_name.push((name, value)),
                        (None, Some(value)) if !is_open => found.by_place.push(value),
                        _ => {}
                    }
                    word = None;
                    if token.is_none() {
                        return found;
                    }
                    continue;
                }
                Some(Token::Other(b'*', _)) if start.is_none() => is_open = true,
                Some(Token::Other(b'=', at))
                    if word.is_some_and(|word| start == Some(word.start) && end == word.end)
                        && text.as_bytes().get(at.end as usize) != Some(&b'=') =>
                {
                    name = word.map(|word| &text[word.range()]);
                    start = None;
                    continue;
                }
                Some(Token::Word(span)) if start.is_none() => word = Some(span),
                Some(_) => {}
            }
            let span = match token {
                Some(Token::Other(open @ (b'(' | b'[' | b'{'), span)) => {
                    let Some(close) = strings::skip(&mut tokens, open) else { return found };
                    span.to(close)
                }
                Some(Token::Word(span) | Token::Number(span) | Token::Other(_, span)) => span,
                Some(Token::Literal(literal)) => literal.span,
                Some(Token::Line(_)) | None => continue,
            };
            start = start.or(Some(span.start));
            end = span.end;
        }
    }

    fn named(&self, names: &[&str]) -> Option<Span> {
        self.by_name.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value)
    }

    fn at(&self, place: usize) -> Option<Span> {
        self.by_place.get(place).copied()
    }
}

impl Call {
    /// The function around the call, if it hands its template on as it is given.
    fn wrapper<'s>(&self, text: &'s str, names: &Names<'s>) -> Option<(&'s str, Wrapper)> {
        if self.callee != Callee::Llvm {
            return None;
        }
        let given = Arguments::of(text, self.inside);
        let is_name =
            |span: Span| text[span.range()].bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let parameter = |span: Span| {
            let name = &text[span.range()];
            let (function, place) = names.parameter(name, self.scope).filter(|_| is_name(span))?;
            // The object itself is not written in a call.
            let behind = &text[function.end as usize..];
            let is_method = ["(self,", "(cls,"].iter().any(|start| behind.starts_with(start));
            let place = (place as usize).checked_sub(usize::from(is_method))?;
            Some((function, Given::Parameter { name: name.to_owned(), place }))
        };
        let (template, constraints) = match given.named(&TEMPLATE) {
            Some(template) => (template, given.named(&CONSTRAINTS)?),
            None => [2, 0].into_iter().find_map(|place| {
                let template = given.at(place)?;
                parameter(template)?;
                Some((template, given.named(&CONSTRAINTS).or_else(|| given.at(place + 1))?))
            })?,
        };
        let (function, template) = parameter(template)?;
        let given_or = |span: Span| parameter(span).map_or(Given::Itself(span), |(_, given)| given);
        let constraints = given_or(constraints);
        let effects = given.named(&EFFECTS).map(given_or);
        let name = &text[function.range()];
        Some((name, Wrapper { call: self.clone(), template, constraints, effects }))
    }

    /// Appends what a call says, in each reading of it.
    fn statements(
        &self,
        source: &Source,
        strings: &mut Strings<'_, '_>,
        wrapper: Option<&Wrapper>,
        found: &mut Vec<Statement>,
    ) {
        strings.choices.clear();
        for _ in 0..MOST_READINGS {
            found.extend(match wrapper {
                Some(wrapper) => self.wrapped(source, strings, wrapper),
                None => self.statement(source, strings),
            });
            if !strings.decide_anew() {
                break;
            }
        }
    }

    /// What the call of a wrapper says.
    fn wrapped(
        &self,
        source: &Source,
        strings: &mut Strings<'_, '_>,
        wrapper: &Wrapper,
    ) -> Option<Statement> {
        let text = source.text();
        let arguments = Arguments::of(text, self.inside);
        let given = |given: &Given| match given {
            Given::Parameter { name, place } => {
                Some((arguments.named(&[name.as_str()]).or_else(|| arguments.at(*place))?, self.scope))
            }
            Given::Itself(span) => Some((*span, wrapper.call.scope)),
        };
        let (template, scope) = given(&wrapper.template)?;
        let template = strings.evaluate(template, scope);
        if !template.has_text {
            return None;
        }
        let mut statement = self.assembly(template.pieces);
        let effects = wrapper.effects.as_ref().map(|effects| given(effects).map(|(span, _)| span));
        statement.is_volatile = match effects {
            Some(Some(value)) => !matches!(&text[value.range()], "False" | "None"),
            // What it is where it is not given, nobody looks up.
            Some(None) => true,
            None => false,
        };
        let constraints =
            given(&wrapper.constraints).and_then(|(span, scope)| strings.evaluate_beside(span, scope));
        self.constrain(source, constraints, &mut statement);
        Some(statement)
    }

    /// A statement that says so much and no more.
    fn assembly(&self, template: Vec<Piece>) -> Statement {
        Statement {
            span: self.span,
            keyword: self.keyword,
            language: Language::Python,
            placeholders: Placeholders::Dollar,
            template,
            operands: Vec::new(),
            is_volatile: true,
            clobbers_memory: true,
            is_convergent: None,
            volatile_keyword: None,
            memory_clobber: None,
            machine: Machine::Gpu,
        }
    }

    /// Gives a statement its operands.
    fn constrain(&self, source: &Source, constraints: Option<strings::Text>, statement: &mut Statement) {
        let pieces = constraints.filter(|it| it.has_text).map(|it| it.pieces);
        if let Some(found) = pieces.and_then(|pieces| constraints::read(source, &pieces)) {
            statement.operands = found.operands;
            statement.clobbers_memory = found.clobbers_memory;
            statement.memory_clobber = found.memory_clobber;
        } else {
            statement.operands = constraints::unknown(source, &statement.template, self.keyword);
            // There may be more of them.
            statement.template.push(Piece::Hole(Span::at(self.span.end)));
        }
        // What is inserted in the value of a name is inserted wherever that is used.
        let is_own = |(at, _): &(u32, _)| self.span.start <= *at && *at < self.span.end;
        statement.memory_clobber = statement.memory_clobber.filter(is_own);
    }

    fn statement(&self, source: &Source, strings: &mut Strings<'_, '_>) -> Option<Statement> {
        let text = source.text();
        let given = Arguments::of(text, self.inside);
        let mut string = |span: Span| strings.evaluate(span, self.scope);
        let (template, behind) = match given.named(&TEMPLATE) {
            Some(span) => (string(span), None),
            None => match self.callee {
                Callee::Wrapper => return None,
                Callee::Elementwise | Callee::Ptx => (string(given.at(0)?), Some(1)),
                Callee::Llvm => {
                    let places = if &text[self.keyword.range()] == "InlineAsm" { [1, 1] } else { [2, 0] };
                    let mut found = places.into_iter().filter_map(|place| {
                        let template = string(given.at(place)?);
                        template.has_text.then_some((template, Some(place + 1)))
                    });
                    found.next()?
                }
            },
        };
        if !template.has_text {
            return None;
        }
        let mut statement = self.assembly(template.pieces);
        // Nobody but this program knows what is neither.
        let is = |value: Option<Span>, what: &str| value.is_some_and(|value| &text[value.range()] == what);
        match self.callee {
            Callee::Wrapper => return None,
            Callee::Ptx => {
                // It has every effect, whatever it does.
                let template = &statement.template;
                if constraints::has_access(source, template) {
                    statement.placeholders = Placeholders::Access;
                    statement.operands = accessed(text, &given, source, template, self.keyword);
                } else {
                    // Which number is which the compiler decides.
                    statement.operands = constraints::unknown(source, template, self.keyword);
                }
                return Some(statement);
            }
            Callee::Elementwise => {
                statement.is_volatile = !is(given.named(&["is_pure"]).or_else(|| given.at(4)), "True");
            }
            Callee::Llvm => {
                let pure = given.named(&["is_pure"]);
                let effects = given.named(&EFFECTS);
                let effects = effects.or_else(|| behind.and_then(|place| given.at(place + 1)));
                statement.is_volatile = match pure {
                    Some(_) => !is(pure, "True"),
                    None => effects.is_some() && !is(effects, "False") && !is(effects, "None"),
                };
            }
        }
        let constraints = given.named(&CONSTRAINTS);
        let constraints = constraints.or_else(|| behind.and_then(|place| given.at(place)));
        let constraints = constraints.and_then(|span| strings.evaluate_beside(span, self.scope));
        self.constrain(source, constraints, &mut statement);
        if self.callee == Callee::Elementwise {
            constraints::needs_outputs(&mut statement.operands);
            // Elements come in packs, whether all are wanted or not.
            statement.operands.iter_mut().for_each(|operand| operand.is_tied = true);
        }
        Some(statement)
    }
}

/// What the arguments are called.
const TEMPLATE: [&str; 5] = ["asm_string", "asm", "template", "ptx", "code"];
const CONSTRAINTS: [&str; 2] = ["constraints", "constraint"];
const EFFECTS: [&str; 3] = ["has_side_effects", "side_effect", "has_side_effect"];

/// The operands of `inline_ptx`, by the names that the template has for them.
fn accessed(
    text: &str,
    given: &Arguments<'_>,
    source: &Source,
    template: &[Piece],
    place: Span,
) -> Vec<Operand> {
    let mut operands = Vec::new();
    let classes = [("w", "write_only_types"), ("rw", "read_write_args"), ("r", "read_only_args")];
    for (class, argument) in classes {
        let values = given.named(&[argument]).map(|list| (several(text, list), argument));
        let Some((Some(values), _)) = values else { continue };
        for (index, span) in values.into_iter().enumerate() {
            let ty = type_of(text, span, class == "w");
            let constraint = ty.map_or(Constraint::Other, Constraint::Register);
            operands.push(Operand {
                name: Some(format!("{class}{index}")),
                is_tied: class == "rw",
                ..Operand::new(span, constraint, class != "r")
            });
        }
    }
    // Those of which there is no list that can be read.
    let cooked = template::cook(source, template, |_, _| 0);
    let mut rest = cooked.text.text();
    let mut unlisted = Vec::new();
    while let Some((_, behind)) = rest.split_once("{$") {
        rest = behind;
        let Some((name, _)) = behind.split_once('}').filter(|(name, _)| name.len() < 8) else { continue };
        unlisted.push(name.to_owned());
    }
    unlisted.sort_unstable();
    unlisted.dedup();
    for name in unlisted {
        let is_operand = name.trim_start_matches(['r', 'w']).parse::<usize>().is_ok();
        if is_operand && !operands.iter().any(|operand| operand.name.as_ref() == Some(&name)) {
            let is_output = name.contains('w');
            let operand = Operand::new(place, Constraint::Other, is_output);
            operands.push(Operand { name: Some(name), is_tied: true, ..operand });
        }
    }
    operands
}

/// `[a, b]`, or `[a] * 4`.
fn several(text: &str, list: Span) -> Option<Vec<Span>> {
    /// No instruction has more registers.
    const MOST: usize = 1024;
    let written = &text[list.range()];
    let Some((single, count)) = written.rsplit_once('*') else { return elements(text, list) };
    let count: usize = count.trim().parse().ok().filter(|count| *count <= MOST)?;
    let single = elements(text, Span::new(list.start, list.start + single.trim_end().len() as u32))?;
    match single.as_slice() {
        [element] => Some(vec![*element; count]),
        _ => None,
    }
}

/// The register that a value of a type of `CuTe` DSL is in: of `Int32` itself, or of `Int32(...)`.
fn type_of(text: &str, span: Span, is_type: bool) -> Option<Type> {
    let written = &text[span.range()];
    let name = if is_type {
        written
    } else {
        let (name, rest) = written.split_once('(')?;
        // `Int32(a) + b` has a type of its own.
        let mut tokens = Tokens::of(text, Span::new(span.end - rest.len() as u32, span.end));
        let close = strings::skip(&mut tokens, b'(')?;
        (close.end == span.end).then_some(name)?
    };
    Some(match name.rsplit('.').next().unwrap_or_default() {
        "Boolean" => Type::Pred,
        "Int16" | "Uint16" | "Float16" | "BFloat16" => Type::B16,
        "Int32" | "Uint32" | "Float32" => Type::B32,
        "Int64" | "Uint64" | "Float64" => Type::B64,
        _ => return None,
    })
}

/// The statements of a program of C++ in a string.
fn program(source: &Source, literal: Literal) -> Found {
    let text = source.text();
    let inside = text[literal.inside.range()].as_bytes();
    let has_fields = match literal.follower(text) {
        // Names of registers are no conversions.
        Follower::Percent => return Found::default(),
        Follower::Format => true,
        Follower::Other => literal.is_formatted,
    };
    if !literal.is_raw && has_escaped_quotes(inside) {
        return Found::default();
    }
    let mut found = cpp::find_in(source, literal.inside);
    found.statements.retain_mut(|statement| {
        // For Python, it is one string: no comment of its own can stand in front of a part of it.
        statement.span = literal.span;
        let pieces = std::mem::take(&mut statement.template);
        for piece in pieces {
            match piece {
                Piece::Text { span, escapes } => {
                    let within = literal.inside.start <= span.start && span.end <= literal.inside.end;
                    let is_known =
                        within && program_text(text, literal, has_fields, (span, escapes), statement);
                    if !is_known {
                        return false;
                    }
                }
                Piece::Line(_) | Piece::Hole(_) => statement.template.push(piece),
            }
        }
        true
    });
    found
}

/// The module that a string is, if it is all of one and nothing is done with it that changes it.
fn module(text: &str, literal: Literal) -> Option<modules::Module> {
    /// What is done with a string that leaves what it says.
    const HARMLESS: [&str; 4] = [".encode(", ".strip(", ".lstrip(", ".rstrip("];
    let inside = &text[literal.inside.range()];
    let blank = |character: char| character.is_ascii_whitespace() || matches!(character, '(' | ')' | '\\');
    let (before, behind) = (&text[..literal.span.start as usize], &text[literal.span.end as usize..]);
    let behind = behind.trim_start_matches(blank);
    let is_changed = behind.starts_with(['%', '+', '.']) && !HARMLESS.iter().any(|it| behind.starts_with(it));
    let before = before.trim_end_matches(blank);
    let is_part = before.ends_with(['+', '"', '\'']) || behind.starts_with(['"', '\'']);
    if is_changed || is_part || before.ends_with("Template") {
        return None;
    }
    // The name that it gets may be that of something to be filled in.
    if let Some(before) = before.strip_suffix('=') {
        let before = before.trim_end_matches(' ');
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let len = before.bytes().rev().take_while(|byte| is_of_name(byte)).count();
        let name = &before[before.len() - len..];
        let is_filled = |text: &str| {
            [".format", ".replace(", ".substitute(", ".safe_substitute(", " %", " +"]
                .iter()
                .any(|it| text.starts_with(it))
        };
        let mut uses = text.match_indices(name);
        if len > 0 && uses.any(|(at, _)| text[..at].ends_with("Template(") || is_filled(&text[at + len..])) {
            return None;
        }
    }
    if !literal.is_formatted {
        let escapes = Escapes { backslash: literal.backslash(), doubled_braces: false };
        let pieces = vec![Piece::Text { span: literal.inside, escapes }];
        return modules::is_whole(inside).then_some(modules::Module { span: literal.span, pieces });
    }
    // Without fields, it is a string with braces that are written twice.
    let escapes = Escapes { backslash: literal.backslash(), doubled_braces: true };
    let mut pieces = Vec::new();
    let mut end = literal.inside.start;
    let mut fields = Fields::of_format(text, literal.inside);
    while let Some(part) = fields.next() {
        let Part::Text(span) = part else { return None };
        pieces.push(Piece::Text { span, escapes });
        end = span.end;
    }
    let is_whole =
        end == literal.inside.end && modules::is_whole(&inside.replace("{{", "{").replace("}}", "}"));
    is_whole.then_some(modules::Module { span: literal.span, pieces })
}

/// Appends a part of a template of C++ in a string of Python; false if it is not known what it says.
fn program_text(
    text: &str,
    literal: Literal,
    has_fields: bool,
    (span, Escapes { backslash, .. }): (Span, Escapes),
    statement: &mut Statement,
) -> bool {
    let backslash = match (literal.is_raw, backslash) {
        (true, backslash) => backslash,
        (false, Backslash::C) => Backslash::CInPython,
        (false, _) => Backslash::Python,
    };
    let escapes = Escapes { backslash, doubled_braces: has_fields };
    let written = &text[span.range()];
    if !has_fields {
        // It may be for `format`, or another program that makes texts.
        if written.contains("{{") || written.contains("}}") || has_named_field(written) {
            return false;
        }
        statement.template.push(Piece::Text { span, escapes });
        return true;
    }
    let mut fields = Fields::of_format(text, span);
    let mut end = span.start;
    while let Some(part) = fields.next() {
        match part {
            Part::Text(span) => {
                statement.template.push(Piece::Text { span, escapes });
                end = span.end;
            }
            Part::Field(span, _) => {
                statement.template.push(Piece::Hole(span));
                end = span.end;
            }
        }
    }
    end == span.end
}

/// Whether a backslash stands before a quote: what is the end of a string, C++ and Python say
/// differently.
fn has_escaped_quotes(inside: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', inside).any(|at| matches!(inside.get(at + 1), Some(b'"' | b'\'')))
}

/// Whether a text has `{}` or `{name}`, which no vector of PTX in a program of C++ is likely to be.
fn has_named_field(written: &str) -> bool {
    written.split('{').skip(1).any(|behind| {
        let inside = behind.split_once('}').map(|(inside, _)| inside);
        inside.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    }) || written.contains("${")
}
