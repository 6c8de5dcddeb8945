//! The preprocessor's macros that a file defines, and what they say about templates.

use std::cell::Cell;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::tokens::{Token, Tokens};
use super::{is_keyword, qualifier};
use crate::Piece;
use ptx_text::source::Span;

mod arguments;
mod expansion;
mod parts;

pub(super) use arguments::Scope;
use arguments::{arguments_among, arguments_from};
use parts::{Part, colons, cut_operands, pieces_of};

/// The macros that a file has defined so far.
#[derive(Debug, Default)]
pub(super) struct Macros<'s> {
    known: FxHashMap<&'s str, Option<Macro<'s>>>,
    /// How much text may still come out of macros: a short name can stand for much.
    left: Cell<usize>,
    /// How much of their bodies may still be read with the arguments of a use.
    uses: Cell<usize>,
    /// Whether a macro with parameters has assembly.
    has_assembly: bool,
    /// Whether a macro stands for the keyword.
    has_keyword: bool,
    /// The bodies of each macro that is defined more than once, and alike.
    alike: Vec<Vec<Span>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Macro<'s> {
    /// None for a macro without parentheses.
    parameters: Option<Vec<&'s str>>,
    body: Span,
    text: &'s str,
    has_assembly: bool,
    /// Of a macro that stands for the keyword, `#define ASM asm volatile`: whether it says `volatile`.
    keyword: Option<bool>,
    /// Of one that is defined more than once: which of those that are.
    alike: Option<usize>,
}

/// How deep macros are looked into, and how many pieces they may make.
const DEPTH: usize = 8;
const PIECES: usize = 4096;

/// How much text comes out of the macros of a file, for each byte that it has. What is more is not
/// known.
const GROWTH: usize = 8;

impl<'s> Macros<'s> {
    pub(super) fn new(text: &str) -> Self {
        let most = (text.len() + PIECES) * GROWTH;
        Self { left: Cell::new(most), uses: Cell::new(most), ..Self::default() }
    }

    /// Reads a definition, from behind `#define` to its body, which is left to be read: where it ends, and
    /// what is known in it of the parameters, if it has any.
    pub(super) fn define(&mut self, tokens: &mut Tokens<'s>) -> Option<(u32, Option<Scope<'s>>)> {
        let text = tokens.text();
        let name = tokens.word_on_line()?;
        let mut end = Tokens::new(text);
        end.go_to(tokens.at());
        end.skip_line();
        let mut parameters = None;
        if text.as_bytes().get(tokens.at()) == Some(&b'(') {
            let (listed, behind) = parameters_from(&text[..end.at()], tokens.at() + 1)?;
            parameters = Some(listed);
            tokens.go_to(behind);
        }
        let start = tokens.at();
        let line = &text[start..end.at()];
        let start = start + (line.len() - line.trim_start().len());
        let body = Span::new(start as u32, (start + line.trim().len()) as u32);
        let scope = parameters.as_deref().map(|it| Scope::unknown(it, name));
        let mentions = memchr::memmem::find(text[body.range()].as_bytes(), b"asm").is_some();
        let has_assembly =
            parameters.is_some() && (mentions || self.knows_assembly() && self.uses_assembly(text, body));
        self.has_assembly |= has_assembly;
        let keyword = if mentions && parameters.is_none() { keyword(text, body) } else { None };
        self.has_keyword |= keyword.is_some();
        let text_of_body = &text[body.range()];
        let defined = Macro { parameters, body, text: text_of_body, has_assembly, keyword, alike: None };
        self.add(&text[name.range()], defined);
        Some((end.at() as u32, scope))
    }

    fn add(&mut self, name: &'s str, defined: Macro<'s>) {
        let known = match self.known.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(Some(defined));
                return;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        // Two meanings are none: which holds depends on what is not known.
        let same = known.as_mut().filter(|it| {
            let is_keyword = it.keyword.is_some() && it.keyword == defined.keyword;
            it.parameters == defined.parameters && (it.text == defined.text || is_keyword)
        });
        match same {
            Some(it) if it.text == defined.text => {
                let at = *it.alike.get_or_insert(self.alike.len());
                if at == self.alike.len() {
                    self.alike.push(vec![it.body]);
                }
                self.alike[at].push(defined.body);
            }
            Some(_) => {}
            None => *known = None,
        }
    }

    /// The bodies of each macro that is defined more than once: they have to stay alike.
    pub(super) fn alike(self) -> Vec<Vec<Span>> {
        self.alike
    }

    /// Forgets a definition, from behind `#undef`.
    pub(super) fn forget(&mut self, tokens: &mut Tokens<'s>) {
        let text = tokens.text();
        if let Some(name) = tokens.word_on_line() {
            self.known.remove(&text[name.range()]);
        }
    }

    fn get(&self, name: &str) -> Option<&Macro<'s>> {
        self.known.get(name)?.as_ref()
    }

    /// Of a name that stands for the keyword: whether it says `volatile` as well.
    pub(super) fn keyword(&self, name: &str) -> Option<bool> {
        if self.has_keyword { self.get(name)?.keyword } else { None }
    }

    /// Whether a word is the keyword, or stands for it.
    pub(super) fn is_keyword(&self, word: &str) -> bool {
        is_keyword(word) || self.keyword(word).is_some()
    }

    fn knows_assembly(&self) -> bool {
        self.has_keyword || self.has_assembly
    }

    /// Whether a text has a name that stands for the keyword, or is that of a macro with assembly.
    fn uses_assembly(&self, text: &'s str, span: Span) -> bool {
        let mut tokens = Tokens::new(&text[..span.end as usize]);
        tokens.go_to(span.start as usize);
        std::iter::from_fn(|| tokens.next()).any(|token| match token {
            Token::Word(word) => {
                let known = self.get(&text[word.range()]);
                known.is_some_and(|it| it.keyword.is_some() || it.has_assembly)
            }
            Token::Literal(_) | Token::Other(..) | Token::Directive(_) => false,
        })
    }

    /// The text of a macro without parameters.
    pub(super) fn value(&self, name: &str) -> Option<&'s str> {
        self.get(name).filter(|it| it.parameters.is_none()).map(|it| it.text)
    }

    /// The one literal that a macro stands for.
    pub(super) fn literal(&self, name: &str) -> Option<&'s str> {
        let inside = self.value(name)?.strip_prefix('"')?.strip_suffix('"')?;
        (!inside.contains(['"', '\\'])).then_some(inside)
    }

    /// The constraints of the operands that a name stands for, where they are written; none if it is not
    /// known which operands these are.
    pub(super) fn operands(
        &self,
        text: &'s str,
        name: Span,
        has_arguments: bool,
    ) -> Option<Vec<Option<String>>> {
        let mut found = Vec::new();
        self.operands_within(text, &text[name.range()], has_arguments, &mut found, 0)?;
        Some(found)
    }

    fn operands_within(
        &self,
        text: &'s str,
        name: &str,
        has_arguments: bool,
        found: &mut Vec<Option<String>>,
        depth: usize,
    ) -> Option<()> {
        let Macro { parameters, body, .. } = self.get(name)?;
        if depth > DEPTH || parameters.is_some() != has_arguments || self.left.get() == 0 {
            return None;
        }
        self.left.set(self.left.get().saturating_sub(body.len() as usize + 16));
        let mut tokens = Tokens::new(&text[..body.end as usize]);
        tokens.go_to(body.start as usize);
        let mut constraint: Option<Option<String>> = None;
        while let Some(token) = tokens.next() {
            if found.len() > PIECES {
                return None;
            }
            match token {
                Token::Literal(literal) => {
                    if let Some(known) = constraint.get_or_insert_with(|| Some(String::new())) {
                        known.push_str(&text[literal.inside.range()]);
                    }
                }
                Token::Other(b'(', open) => {
                    let end = self.values(text, open).filter(|it| it.end < body.end)?;
                    tokens.go_to(end.end as usize + 1);
                    found.push(constraint.take()?);
                }
                Token::Other(b'[', open) => {
                    let rest = text.as_bytes().get(open.end as usize..body.end as usize)?;
                    tokens.go_to(open.end as usize + memchr::memchr(b']', rest)? + 1);
                }
                Token::Other(b',', _) if constraint.is_none() => {}
                Token::Word(word) if constraint.is_none() => {
                    let behind = tokens.at();
                    let arguments = match tokens.next() {
                        Some(Token::Other(b'(', open)) => Some(self.values(text, open)?),
                        _ => None,
                    };
                    tokens.go_to(arguments.map_or(behind, |it| it.end as usize + 1));
                    self.operands_within(text, &text[word.range()], arguments.is_some(), found, depth + 1)?;
                }
                // A letter from elsewhere.
                Token::Word(_) => constraint = Some(None),
                Token::Other(_, _) | Token::Directive(_) => return None,
            }
        }
        constraint.is_none().then_some(())
    }

    /// Appends the pieces that a name among literals stands for. If that is known: how many colons follow them, with
    /// operands in between.
    pub(super) fn expand(
        &self,
        text: &'s str,
        name: Span,
        arguments: Option<Span>,
        pieces: &mut Vec<Piece>,
    ) -> Option<usize> {
        let Macro { parameters, .. } = self.get(&text[name.range()])?;
        if parameters.is_some() != arguments.is_some() {
            return None;
        }
        let written = arguments.map_or(name, |it| name.to(Span::at(it.end + 1)));
        let mut parts = self.expanded(text, self.parts(text, written)?, 0)?;
        // It was given other arguments than it takes.
        if matches!(parts[..], [Part::Unknown(_)]) {
            return None;
        }
        let colons = cut_operands(&mut parts);
        pieces.extend(pieces_of(&parts));
        Some(colons)
    }

    /// What a template in the body of a macro is with what its parameters stand for.
    pub(super) fn template(&self, text: &'s str, template: Span, scope: &Scope<'s>) -> Option<Template> {
        let parts = self.parts(text, template)?;
        let depends = parts.iter().any(|part| match part {
            Part::Name(name) => scope.differs(&text[name.range()]),
            _ => false,
        });
        let last = parts.last();
        let is_open = last.is_some_and(|part| scope.get(text, part).is_some());
        let last = last.and_then(|part| scope.written(text, part));
        let mut parts = self.substitute(text, &parts, scope)?;
        // The template may end in the last argument, with the operands behind it.
        let mut rest = None;
        let first = colons(&parts).next();
        if let (Some(last), Some((at, colon))) = (last, first)
            && last.start <= colon.start
            && colon.end <= last.end
        {
            rest = Some(Span::new(colon.start, last.end));
            parts.truncate(at);
        }
        let mut parts = self.expanded(text, parts, 0)?;
        let colons = cut_operands(&mut parts);
        Some(Template { pieces: pieces_of(&parts), depends, is_open, rest, colons })
    }

    /// Where the argument stands that a name among the operands of a statement stands for, if it is one
    /// piece of the text.
    pub(super) fn argument(&self, text: &'s str, name: Span, scope: &Scope<'s>) -> Option<Span> {
        let part = Part::Name(name);
        self.charge(&scope.get(text, &part)?.written)?;
        scope.written(text, &part)
    }

    /// The macros whose bodies have assembly and parameters: what their uses say is looked at.
    pub(super) fn has_assembly(&self) -> bool {
        self.has_assembly
    }

    /// Whether a name is that of a macro that takes arguments.
    pub(super) fn takes_arguments(&self, name: &str) -> bool {
        self.get(name).is_some_and(|it| it.parameters.is_some())
    }

    /// What stands in the parenthesis that is opened here.
    fn values(&self, text: &str, open: Span) -> Option<Span> {
        arguments_from(text, open.end, false, &self.uses)
    }

    /// The arguments of a macro that takes them, from the parenthesis that is opened here.
    pub(super) fn arguments(&self, text: &str, open: Span) -> Option<Span> {
        arguments_from(text, open.end, true, &self.uses)
    }

    /// Where the body of a macro stands that has assembly, or is given the name of one that has, and what its
    /// parameters stand for where it is used with the arguments between parentheses. The use may be in the body
    /// of another macro: what is known there, and which part of the text says what differs between its uses.
    pub(super) fn assembly(
        &self,
        text: &'s str,
        name: Span,
        arguments: Span,
        around: Option<(&Scope<'s>, Option<Span>)>,
    ) -> Option<(Span, Scope<'s>)> {
        let it = self.get(&text[name.range()])?;
        let parameters = it.parameters.as_ref()?;
        if !it.has_assembly && !self.uses_assembly(text, arguments) {
            return None;
        }
        self.uses.set(self.uses.get().checked_sub(it.body.len() as usize + 16)?);
        let mut parts = self.parts(text, Span::new(arguments.start - 1, arguments.end + 1))?;
        if let Some((around, _)) = around {
            parts = self.substitute(text, &parts, around)?;
        }
        let (given, behind) = arguments_among(&parts, 0)?;
        let scope = self.scope(text, parameters, given, 0).filter(|_| behind == parts.len())?;
        Some((it.body, scope.within(around.and_then(|(_, differs)| differs))))
    }
}

/// A template in the body of a macro.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) pieces: Vec<Piece>,
    /// Whether they depend on what the parameters stand for.
    pub(super) depends: bool,
    /// Whether it ends with an argument, which may go on where other uses have operands.
    pub(super) is_open: bool,
    /// What an argument has behind the template, from its colon on.
    pub(super) rest: Option<Span>,
    /// How many colons stand behind it, with operands in between that are not known.
    pub(super) colons: usize,
}

impl Template {
    /// One of which nothing is known.
    pub(super) fn unknown(place: Span) -> Self {
        Self { pieces: vec![Piece::Hole(place)], depends: false, is_open: true, rest: None, colons: 0 }
    }
}

/// The parameters between a parenthesis before `open` and the one that closes it, and what is behind that.
fn parameters_from(text: &str, open: usize) -> Option<(Vec<&str>, usize)> {
    let mut tokens = Tokens::new(text);
    tokens.go_to(open);
    let mut parameters = Vec::new();
    let mut name: Option<Span> = None;
    loop {
        let token = tokens.next()?;
        match token {
            Token::Word(span) | Token::Other(b'.', span) => {
                name = Some(name.map_or(span, |name| name.to(span)));
            }
            Token::Other(b',' | b')', _) => {
                parameters.push(name.take().map_or("", |name| &text[name.range()]));
            }
            Token::Literal(_) | Token::Other(..) | Token::Directive(_) => return None,
        }
        if matches!(token, Token::Other(b')', _)) {
            return Some((parameters, tokens.at()));
        }
    }
}

/// Of a text that is the keyword and its qualifiers: whether `volatile` is one of them.
fn keyword(text: &str, body: Span) -> Option<bool> {
    let mut tokens = Tokens::new(&text[..body.end as usize]);
    tokens.go_to(body.start as usize);
    let Some(Token::Word(first)) = tokens.next() else { return None };
    if !is_keyword(&text[first.range()]) {
        return None;
    }
    let mut is_volatile = false;
    while let Some(token) = tokens.next() {
        let Token::Word(word) = token else { return None };
        is_volatile |= qualifier(&text[word.range()])?;
    }
    Some(is_volatile)
}
