//! Assembly in Python: calls that take PTX, and strings that are programs of C++.
//!
//! ```text
//! llvm.inline_asm(T.i32(), [a, b], "add.s32 $0, $1, $2;", "=r,r,r", has_side_effects=False, ...)
//! tl.inline_asm_elementwise("...", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
//! cute.arch.inline_ptx("mov.b64 {$w0}, {$r0};", write_only_types=[Int64], read_only_args=[x])
//! cupy.RawKernel(r'''... asm volatile("..."); ...''', "kernel")
//! ```
//!
//! and in Mojo, whose syntax is so much Python's that the same code reads it:
//!
//! ```text
//! inlined_assembly["add.s32 $0, $1, 1;", Int32, constraints="=r,r", has_side_effect=False](x)
//! ```
//!
//! A string that is a whole module of PTX is one. Nothing is run. A template is what can be read: literals,
//! their concatenation, the names that have one value in the file, to which statements beside it may add
//! (`text += "..."`). Where an `if` decides between values, each of them makes a reading, as for the
//! preprocessor of C++. What else stands between literals is a
//! hole. One pass finds the calls and what names are bound to, so that broken files take no longer than
//! sound ones; a second one, where a function of the file hands its parameters on to such a call, the
//! calls of that function.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Found, Language, modules};
use ptx_text::source::{Source, Span};

mod calls;
mod module;
mod names;
mod programs;
mod strings;
mod tokens;

use calls::{Call, Callee, Wrapper};
use names::Names;
use programs::program;
use strings::Strings;
use tokens::{Literal, Token, Tokens};

/// Words that no text without calls of assembly has.
pub(super) const WORDS: [&str; 4] = ["asm", "inline_ptx", "InlineAsm", modules::WORD];

/// What takes assembly in Mojo.
pub(super) const MOJO: &str = "inlined_assembly";

/// How long a token is, to count those that are read again.
const BYTES_OF_TOKEN: u64 = 4;

/// Functions that hand a template on are looked into so deep.
const MOST_WRAPPED: usize = 3;

/// Calls in calls of assembly, so many deep, are looked at.
const MOST_NESTED: u32 = 4;

pub(super) fn find(source: &Source, language: Language) -> Found {
    let text = source.text();
    let mut reader = Reader::new(text, language);
    while let Some(token) = reader.tokens.next() {
        reader.token(token);
    }
    reader.names.end();
    let Reader { tokens, names, calls, programs, modules: literals, .. } = reader;
    let mut found = Found { steps: tokens.steps(), comments: tokens.comments(), ..Found::default() };
    let budget = text.len() + (1 << 20);
    let mut strings = Strings { text, language, names: &names, budget, choices: Vec::new() };
    let mut wrappers: FxHashMap<&str, Option<Wrapper>> = FxHashMap::default();
    for call in calls.iter().filter(|call| call.callee != Callee::Imported) {
        found.steps += u64::from(call.inside.len()) / BYTES_OF_TOKEN;
        match call.wrapper(text, &names, &mut strings) {
            Some((name, wrapper)) => {
                // A name of two functions says nothing.
                wrappers.entry(name).and_modify(|known| *known = None).or_insert(Some(wrapper));
            }
            None => call.statements(source, &mut strings, None, &mut found.statements),
        }
    }
    let mut known: FxHashSet<&str> = FxHashSet::default();
    for _ in 0..MOST_WRAPPED {
        wrappers.retain(|name, _| known.insert(name));
        if wrappers.is_empty() {
            break;
        }
        let mut reader = Reader { wrappers: std::mem::take(&mut wrappers), ..Reader::new(text, language) };
        while let Some(token) = reader.tokens.next() {
            reader.token(token);
        }
        found.steps += reader.tokens.steps();
        for call in reader.calls.iter().filter(|call| call.callee == Callee::Wrapper) {
            let wrapper = reader.wrappers.get(&text[call.keyword.range()]);
            found.steps += u64::from(call.inside.len()) / BYTES_OF_TOKEN;
            let Some(Some(wrapper)) = wrapper else { continue };
            match call.wrapper_of(text, &names, wrapper) {
                Some((name, wrapper)) => {
                    wrappers.entry(name).and_modify(|known| *known = None).or_insert(Some(wrapper));
                }
                None => call.statements(source, &mut strings, Some(wrapper), &mut found.statements),
            }
        }
    }
    for call in calls.iter().filter(|call| call.callee == Callee::Imported) {
        let name = &text[call.keyword.range()];
        found.steps += u64::from(call.inside.len()) / BYTES_OF_TOKEN;
        // One of this file has been looked at.
        if !names.defines(name) {
            call.statements(source, &mut strings, None, &mut found.statements);
        }
    }
    found.steps += (budget - strings.budget) as u64 / BYTES_OF_TOKEN;
    for literal in programs {
        let Found { statements, comments, steps, .. } = program(source, literal);
        found.statements.extend(statements);
        found.comments.extend(comments);
        found.steps += steps;
    }
    let mut filled = modules::Filled::default();
    if !literals.is_empty() {
        let mut tokens = Tokens::new(text);
        while let Some(token) = tokens.next() {
            if let Token::Word(word) = token {
                filled.word(text, word);
            }
        }
        found.steps += tokens.steps();
    }
    for literal in literals {
        let inside = &text[literal.inside.range()];
        found.steps += inside.len() as u64 / BYTES_OF_TOKEN;
        if let Some(module) = module::of(source, literal, &filled) {
            found.comments.extend(modules::comments(inside, literal.inside.start));
            found.modules.push(module);
        }
    }
    found.comments.sort_unstable();
    found.statements.sort_by_key(|statement| statement.span.start);
    found
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
    language: Language,
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
    fn new(text: &'s str, language: Language) -> Self {
        Self {
            text,
            language,
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
                if let Some(Token::Word(word)) = previous {
                    self.call(word, open, span);
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

    /// A bracket behind a word.
    fn call(&mut self, word: Span, bracket: u8, open: Span) {
        /// No chain of names is longer.
        const LONGEST: usize = 256;
        let name = &self.text[word.range()];
        let wrapper = || self.wrappers.contains_key(name).then_some(Callee::Wrapper);
        // What the file says of a function goes before what its name suggests.
        let callee = match Callee::of(name, self.language) {
            None | Some(Callee::Imported) => wrapper().or_else(|| Callee::of(name, self.language)),
            known => known,
        };
        let Some(callee) = callee.filter(|callee| callee.bracket() == bracket) else { return };
        let before = &self.text.as_bytes()[..word.start as usize];
        // A definition is none.
        let blanks = before.iter().rev().take_while(|byte| **byte == b' ').count();
        let before_blanks = &before[..before.len() - blanks];
        if blanks > 0 && (before_blanks.ends_with(b"def") || before_blanks.ends_with(b"fn")) {
            return;
        }
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let len = before.iter().rev().take(LONGEST).take_while(is_part).count();
        let start = word.start - len as u32;
        let depth = self.brackets.len();
        self.open_calls.push(OpenCall { callee, keyword: word, start, open, nested: 0, depth });
    }

    fn close(&mut self, close: u8, span: Span) {
        let open = open_of(close);
        // One that closes nothing closes nothing.
        if self.open[kind(open)] == 0 {
            return;
        }
        while let Some(bracket) = self.brackets.pop() {
            self.open[kind(bracket)] -= 1;
            let depth = self.brackets.len();
            if let Some(call) = self.open_calls.pop_if(|call| call.depth == depth) {
                let OpenCall { callee, keyword, start, open, nested, .. } = call;
                if bracket == open_of(close) && nested < MOST_NESTED {
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

fn open_of(close: u8) -> u8 {
    match close {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
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
