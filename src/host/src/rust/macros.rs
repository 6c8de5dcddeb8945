//! Macros by example that have assembly in their bodies, and what their uses say.
//!
//! ```text
//! macro_rules! wait { ($kind:ident) => { asm!(concat!("tcgen05.wait::", stringify!($kind), ".sync.aligned;")) }; }
//! wait!(ld);
//! ```
//!
//! What matches a parameter is found without the grammar of Rust: an expression goes up to the comma behind it.
//! Where that may be wrong, the use is not looked at.

use std::cell::Cell;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::is_keyword;
use super::statement::Reader;
use super::tokens::{Token, Tokens};
use crate::Statement;
use ptx_text::source::Span;

mod bindings;
mod elements;
mod fragments;

use bindings::{Bindings, Mismatch};
use elements::tree;

/// A token of a macro, or of what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) token: Token,
    /// Whether the use of the macro has it.
    pub(super) is_given: bool,
}

impl Made {
    /// One that stands in the text where it is read.
    pub(super) fn written(token: Token) -> Self {
        Self { token, is_given: false }
    }

    fn is(self, wanted: u8) -> bool {
        matches!(self.token, Token::Other(byte, _) if byte == wanted)
    }
}

/// The macros that a file has defined so far.
#[derive(Debug)]
pub(super) struct Macros<'s> {
    text: &'s str,
    /// None for a name with several meanings.
    known: FxHashMap<&'s str, Option<Macro<'s>>>,
    /// How many tokens of macros may still be looked at.
    left: Cell<usize>,
    most: usize,
}

#[derive(Debug)]
struct Macro<'s> {
    text: &'s str,
    /// None where nothing has assembly.
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    pattern: Vec<Made>,
    body: Vec<Made>,
}

/// No macro has more brackets in brackets.
const DEEPEST: usize = 64;

impl<'s> Macros<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        /// For each byte that a file has, and at least.
        const GROWTH: usize = 4;
        const LEAST: usize = 1 << 14;
        let most = text.len() * GROWTH + LEAST;
        Self { text, known: FxHashMap::default(), left: Cell::new(most), most }
    }

    /// How many tokens were looked at.
    pub(super) fn steps(&self) -> u64 {
        (self.most - self.left.get()) as u64
    }

    /// None once there is no more to be looked at.
    fn charge(&self, tokens: usize) -> Option<()> {
        self.left.set(self.left.get().checked_sub(tokens)?);
        Some(())
    }

    /// Reads a definition, from behind `macro_rules` on.
    pub(super) fn define(&mut self, tokens: &mut Tokens<'s>) -> Option<()> {
        let Token::Other(b'!', _) = tokens.next()? else { return None };
        let Token::Word(name) = tokens.next()? else { return None };
        let start = tokens.at();
        let inside = self.inside(tokens, false)?;
        let text = &self.text[start..tokens.at()];
        let mut rules = rules(&inside)?;
        if !rules.iter().any(|rule| self.mentions_assembly(&rule.body)) {
            rules.clear();
        }
        match self.known.entry(&self.text[name.range()]) {
            Entry::Vacant(entry) => {
                entry.insert(Some(Macro { text, rules }));
            }
            Entry::Occupied(mut entry) => {
                if entry.get().as_ref().is_some_and(|known| known.text != text) {
                    entry.insert(None);
                }
            }
        }
        Some(())
    }

    fn mentions_assembly(&self, body: &[Made]) -> bool {
        body.windows(2).any(|pair| match pair {
            [Made { token: Token::Word(word), .. }, sign] if sign.is(b'!') => {
                let word = &self.text[word.range()];
                is_keyword(word) || self.has_assembly(word)
            }
            _ => false,
        })
    }

    fn rules(&self, name: &str) -> &[Rule] {
        self.known.get(name).and_then(Option::as_ref).map_or(&[], |known| &known.rules)
    }

    /// Whether a macro of this name has assembly.
    pub(super) fn has_assembly(&self, name: &str) -> bool {
        !self.rules(name).is_empty()
    }

    /// The arguments of a use, from behind the name of the macro on.
    pub(super) fn arguments(&self, tokens: &mut Tokens<'s>) -> Option<Vec<Made>> {
        let Token::Other(b'!', _) = tokens.next()? else { return None };
        self.inside(tokens, true)
    }

    /// The tokens between the bracket that comes next and the one that closes it.
    fn inside(&self, tokens: &mut Tokens<'s>, is_given: bool) -> Option<Vec<Made>> {
        let Token::Other(open @ (b'(' | b'[' | b'{'), _) = tokens.next()? else { return None };
        let mut closing = vec![elements::closing(open)];
        let mut inside = Vec::new();
        loop {
            let token = tokens.next()?;
            self.charge(1)?;
            match token {
                Token::Other(b'(' | b'[' | b'{', _) if closing.len() == DEEPEST => return None,
                Token::Other(open @ (b'(' | b'[' | b'{'), _) => closing.push(elements::closing(open)),
                Token::Other(close @ (b')' | b']' | b'}'), _) => {
                    if closing.pop() != Some(close) {
                        return None;
                    }
                    if closing.is_empty() {
                        return Some(inside);
                    }
                }
                Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
            }
            inside.push(Made { token, is_given });
        }
    }

    /// What a use stands for; none if it is not known which rule it is for.
    fn made(&self, name: &str, arguments: &[Made]) -> Option<Vec<Made>> {
        for rule in self.rules(name) {
            match self.bind(&rule.pattern, arguments) {
                Ok(bindings) => {
                    let mut made = Vec::new();
                    self.transcribe(&rule.body, &mut vec![&bindings], &mut made)?;
                    return Some(made);
                }
                Err(Mismatch::Other) => {}
                Err(Mismatch::Unknown) => return None,
            }
        }
        None
    }

    fn bind(&self, pattern: &[Made], given: &[Made]) -> Result<Bindings<'s>, Mismatch> {
        let mut bindings = Bindings::default();
        let len = self.matched(pattern, given, &mut bindings)?;
        if len == given.len() { Ok(bindings) } else { Err(Mismatch::Other) }
    }
}

/// The rules of a definition.
fn rules(mut rest: &[Made]) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    let inside = |rest: &mut &[Made]| {
        let (taken, behind) = rest.split_at(tree(rest));
        *rest = behind;
        matches!(taken.first()?.token, Token::Other(b'(' | b'[' | b'{', _)).then_some(())?;
        Some(taken.get(1..taken.len() - 1)?.to_vec())
    };
    while !rest.is_empty() {
        let pattern = inside(&mut rest)?;
        let [equals, greater, behind @ ..] = rest else { return None };
        (equals.is(b'=') && greater.is(b'>')).then_some(())?;
        rest = behind;
        let body = inside(&mut rest)?;
        rules.push(Rule { pattern, body });
        if let [semicolon, behind @ ..] = rest {
            semicolon.is(b';').then_some(())?;
            rest = behind;
        }
    }
    Some(rules)
}

/// Reads the assembly of a macro with the arguments of a use.
pub(super) struct Uses<'r, 's> {
    pub(super) text: &'s str,
    pub(super) macros: &'r Macros<'s>,
    /// The use in the text.
    pub(super) span: Span,
    pub(super) statements: &'r mut Vec<Statement>,
}

/// How deep the uses of macros in macros are looked into.
const DEEPEST_USE: usize = 4;

impl Uses<'_, '_> {
    pub(super) fn look_at(&mut self, name: &str, arguments: &[Made], depth: usize) {
        // In the body of a macro, it says more where that is used.
        let is_open = depth == 0 && arguments.iter().any(|made| made.is(b'$'));
        let Some(made) = (!is_open).then(|| self.macros.made(name, arguments)).flatten() else { return };
        let mut at = 0;
        while let Some(&Made { token, is_given }) = made.get(at) {
            at += 1;
            // What is given is read where it stands.
            let Token::Word(word) = token else { continue };
            let name = &self.text[word.range()];
            if is_keyword(name) && !is_given {
                let mut rest = made[at..].iter().copied();
                let mut reader = Reader::new(self.text, &mut rest, word);
                let statement = reader.statement();
                let depends = reader.depends;
                let Some(statement) = statement else { continue };
                at = made.len() - rest.len();
                // What says the same in all uses has been looked at where the macro is defined.
                if depends {
                    self.statements.push(Statement { span: self.span, ..statement });
                }
            } else if depth < DEEPEST_USE
                && self.macros.has_assembly(name)
                && let [sign, behind @ ..] = &made[at..]
                && sign.is(b'!')
                && let Some(arguments) = elements::group(behind)
            {
                self.look_at(name, arguments, depth + 1);
            }
        }
    }
}
