//! What the preprocessor's macros of the file itself say about templates.

use std::cell::Cell;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::tokens::{Token, Tokens};
use super::{Literal, is_keyword, qualifier};
use crate::host::Piece;
use crate::host::template::{Backslash, Escapes};
use crate::source::Span;

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
        let mut parameters = None;
        if text.as_bytes().get(tokens.at()) == Some(&b'(') {
            let open = tokens.at() + 1;
            let rest = &text.as_bytes()[open..];
            let len = memchr::memchr2(b')', b'\n', rest).filter(|len| rest[*len] == b')')?;
            parameters = Some(text[open..open + len].split(',').map(str::trim).collect());
            tokens.go_to(open + len + 1);
        }
        let start = tokens.at();
        let mut end = Tokens::new(text);
        end.go_to(start);
        end.skip_line();
        let line = &text[start..end.at()];
        let start = start + (line.len() - line.trim_start().len());
        let body = Span::new(start as u32, (start + line.trim().len()) as u32);
        let scope = parameters.as_deref().map(|it| Scope::unknown(it, name));
        let mentions = memchr::memmem::find(text[body.range()].as_bytes(), b"asm").is_some();
        let has_assembly =
            parameters.is_some() && (mentions || self.has_keyword && self.uses_keyword(text, body));
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

    /// Whether the body of a macro has a name that stands for the keyword.
    fn uses_keyword(&self, text: &'s str, body: Span) -> bool {
        let mut tokens = Tokens::new(&text[..body.end as usize]);
        tokens.go_to(body.start as usize);
        std::iter::from_fn(|| tokens.next()).any(|token| match token {
            Token::Word(word) => self.keyword(&text[word.range()]).is_some(),
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
                    let end = arguments_from(text, open.end).filter(|it| it.end < body.end)?;
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
                        Some(Token::Other(b'(', open)) => Some(arguments_from(text, open.end)?),
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
        let depends = parts.iter().any(|part| scope.get(text, part).is_some());
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

    /// Where the body of a macro stands that has assembly, and what its parameters stand for where it is
    /// used with the arguments between parentheses. The use may be in the body of another macro.
    pub(super) fn assembly(
        &self,
        text: &'s str,
        name: Span,
        arguments: Span,
        around: Option<&Scope<'s>>,
    ) -> Option<(Span, Scope<'s>)> {
        let it = self.get(&text[name.range()]).filter(|it| it.has_assembly)?;
        let parameters = it.parameters.as_ref()?;
        self.uses.set(self.uses.get().checked_sub(it.body.len() as usize + 16)?);
        let mut parts = self.parts(text, Span::new(arguments.start - 1, arguments.end + 1))?;
        if let Some(around) = around {
            parts = self.substitute(text, &parts, around)?;
        }
        let (given, behind) = arguments_among(&parts, 0)?;
        let scope = self.scope(text, parameters, given, 0).filter(|_| behind == parts.len())?;
        Some((it.body, scope))
    }

    /// The names, literals and signs of a text.
    fn parts(&self, text: &'s str, span: Span) -> Option<Vec<Part>> {
        let mut tokens = Tokens::new(&text[..span.end as usize]);
        tokens.go_to(span.start as usize);
        let mut parts = Vec::new();
        while let Some(token) = tokens.next() {
            parts.push(match token {
                Token::Word(word) => Part::Name(word),
                Token::Literal(literal) => Part::Literal(literal),
                Token::Other(byte, span) => Part::Sign(byte, span),
                Token::Directive(_) => return None,
            });
        }
        self.charge(&parts)?;
        Some(parts)
    }

    /// None once there is no more to be made.
    fn charge(&self, parts: &[Part]) -> Option<()> {
        self.left.set(self.left.get().checked_sub(parts.len() * 4 + 4)?);
        (parts.len() <= PIECES).then_some(())
    }

    /// What stands for the parameters of a macro; none if it does not take these arguments.
    fn scope(
        &self,
        text: &'s str,
        parameters: &[&'s str],
        mut given: Vec<Vec<Part>>,
        depth: usize,
    ) -> Option<Scope<'s>> {
        let mut parameters = parameters.to_vec();
        if let Some(last) = parameters.last_mut()
            && let Some(name) = last.strip_suffix("...")
        {
            *last = if name.is_empty() { "__VA_ARGS__" } else { name.trim_end() };
            // All that there is, with the commas.
            let others = parameters.len() - 1;
            if given.len() < others {
                return None;
            }
            let rest = given.split_off(others);
            given.push(rest.concat());
        } else {
            for argument in &mut given {
                // The comma behind it.
                argument.pop_if(|it| matches!(it, Part::Sign(b',', _)));
            }
        }
        let others = given.len().saturating_sub(1);
        for argument in &mut given[..others] {
            argument.pop_if(|it| matches!(it, Part::Sign(b',', _)));
        }
        if given.len() != parameters.len() {
            return None;
        }
        let argument = |written: Vec<Part>| {
            let mut expanded = self.expanded(text, written.clone(), depth + 1)?;
            for part in &mut expanded {
                if let Part::Name(name) = *part
                    && self.is_of_another_file(&text[name.range()])
                {
                    *part = Part::Unknown(name);
                }
            }
            Some(Argument { written, expanded })
        };
        let given = given.into_iter().map(argument).collect::<Option<_>>()?;
        Some(Scope { parameters, given })
    }

    /// Whether a name that no line here defines is likely to be a macro: they are written in capitals.
    fn is_of_another_file(&self, name: &str) -> bool {
        !self.known.contains_key(name) && name.bytes().any(|byte| byte.is_ascii_uppercase())
    }

    /// The body of a macro with its arguments.
    fn substitute(&self, text: &'s str, body: &[Part], scope: &Scope<'s>) -> Option<Vec<Part>> {
        let is_hash = |at: usize| matches!(body.get(at), Some(Part::Sign(b'#', _)));
        let is_paste = |at: usize| is_hash(at) && is_hash(at + 1);
        let mut made: Vec<Part> = Vec::new();
        let mut at = 0;
        // Where the operand of `##` to its left starts.
        let mut left = 0;
        let mut pastes = false;
        while let Some(part) = body.get(at) {
            if is_paste(at) {
                pastes = true;
                at += 2;
                continue;
            }
            at += 1;
            let operand = match (part, scope.get(text, part)) {
                (Part::Sign(b'#', hash), _) if !scope.parameters.is_empty() => {
                    let next = body.get(at);
                    at += 1;
                    match next.and_then(|it| scope.get(text, it)) {
                        Some(argument) => vec![Part::Quoted(spelling(text, &argument.written))],
                        None => vec![Part::Unknown(*hash)],
                    }
                }
                (_, Some(argument)) if pastes || is_paste(at) => argument.written.clone(),
                (_, Some(argument)) => argument.expanded.clone(),
                (part, None) => vec![part.clone()],
            };
            let start = made.len();
            let mut operand = operand.into_iter();
            if std::mem::take(&mut pastes) && made.len() > left {
                // `, ## __VA_ARGS__`: without arguments, there is no comma.
                let is_comma = matches!(made.last(), Some(Part::Sign(b',', _)));
                match operand.next() {
                    None if is_comma => made.truncate(made.len() - 1),
                    None => {}
                    Some(first) if is_comma => made.push(first),
                    Some(first) => {
                        let last = made.pop()?;
                        made.push(joined(last, first));
                    }
                }
                // What is pasted may be pasted again.
                left = left.min(made.len().saturating_sub(1));
            } else {
                left = start;
            }
            made.extend(operand);
            self.charge(&made[start.min(made.len())..])?;
        }
        (made.len() <= PIECES).then_some(made)
    }

    /// What is left once every macro has been replaced by what it stands for.
    fn expanded(&self, text: &'s str, parts: Vec<Part>, depth: usize) -> Option<Vec<Part>> {
        let is_name = |part: &Part| matches!(part, Part::Name(_) | Part::Joined(_));
        if !parts.iter().any(is_name) {
            return Some(parts);
        }
        self.charge(&parts)?;
        let mut made = Vec::new();
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            at += 1;
            let (known, span) = match part {
                Part::Name(name) => (self.known.get(&text[name.range()]), *name),
                Part::Joined(spans) => {
                    let name: String = spans.iter().map(|span| &text[span.range()]).collect();
                    (self.known.get(name.as_str()), spans[0])
                }
                Part::Literal(_) | Part::Sign(..) | Part::Quoted(_) | Part::Unknown(_) => (None, Span::at(0)),
            };
            let Some(known) = known else {
                made.push(part.clone());
                continue;
            };
            let is_call = known.as_ref().is_none_or(|it| it.parameters.is_some());
            let given = if is_call { arguments_among(&parts, at) } else { None };
            if let Some((_, behind)) = given {
                at = behind;
            }
            let scope = match (known, given) {
                (Some(Macro { parameters: None, .. }), _) => Some(Scope::default()),
                (Some(Macro { parameters: Some(parameters), .. }), Some((given, _))) => {
                    self.scope(text, parameters, given, depth + 1)
                }
                // A name only.
                (Some(Macro { parameters: Some(_), .. }), None) => {
                    made.push(part.clone());
                    continue;
                }
                // Two meanings are none.
                (None, _) => None,
            };
            match (known, scope) {
                (Some(known), Some(scope)) if depth < DEPTH => {
                    let body = self.parts(text, known.body)?;
                    let body = self.substitute(text, &body, &scope)?;
                    made.extend(self.expanded(text, body, depth + 1)?);
                }
                _ => made.push(Part::Unknown(span)),
            }
            if made.len() > PIECES {
                return None;
            }
        }
        Some(made)
    }
}

/// A part of what a macro stands for.
#[derive(Clone, Debug)]
enum Part {
    /// A literal as it is written.
    Literal(Literal),
    /// A name, which may stand for more.
    Name(Span),
    /// What `##` has made one of.
    Joined(Vec<Span>),
    /// A number or a sign.
    Sign(u8, Span),
    /// What `#` makes of an argument.
    Quoted(Vec<Piece>),
    /// What may be anything.
    Unknown(Span),
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

/// What the parameters of a macro stand for.
#[derive(Debug, Default)]
pub(super) struct Scope<'s> {
    parameters: Vec<&'s str>,
    given: Vec<Argument>,
}

#[derive(Debug)]
struct Argument {
    /// As it is written, which `#` and `##` ask for.
    written: Vec<Part>,
    /// With what the macros in it stand for.
    expanded: Vec<Part>,
}

impl<'s> Scope<'s> {
    /// The body of a macro that is not used: its parameters may be anything.
    fn unknown(parameters: &[&'s str], place: Span) -> Self {
        let parameters: Vec<&str> = parameters
            .iter()
            .map(|name| match name.strip_suffix("...") {
                Some("") => "__VA_ARGS__",
                Some(name) => name.trim_end(),
                None => name,
            })
            .collect();
        let unknown = || vec![Part::Unknown(place)];
        let given = parameters.iter().map(|_| Argument { written: unknown(), expanded: unknown() }).collect();
        Self { parameters, given }
    }

    fn named(&self, name: &str) -> Option<&Argument> {
        let at = self.parameters.iter().position(|it| *it == name)?;
        self.given.get(at)
    }

    fn get(&self, text: &str, part: &Part) -> Option<&Argument> {
        match part {
            Part::Name(name) => self.named(&text[name.range()]),
            _ => None,
        }
    }

    /// Where the argument stands that a name stands for; none if that is not known, or put together from
    /// several places.
    fn written(&self, text: &'s str, part: &Part) -> Option<Span> {
        let written = &self.get(text, part)?.written;
        let place = |part: &Part| match part {
            Part::Name(span) | Part::Sign(_, span) => Some(*span),
            Part::Literal(literal) => Some(literal.span),
            Part::Joined(_) | Part::Quoted(_) | Part::Unknown(_) => None,
        };
        let (Some(first), Some(last)) = (written.first(), written.last()) else {
            return Some(Span::at(0));
        };
        let start = place(first)?.start;
        let whole = Span::new(start, place(last)?.end.max(start));
        let mut tokens = Tokens::new(&text[..whole.end as usize]);
        tokens.go_to(whole.start as usize);
        let is_as_written = written.iter().all(|part| {
            let read = match tokens.next() {
                Some(Token::Word(span) | Token::Other(_, span)) => Some(span),
                Some(Token::Literal(literal)) => Some(literal.span),
                Some(Token::Directive(_)) | None => None,
            };
            read.is_some() && read == place(part)
        });
        is_as_written.then_some(whole)
    }

    /// What an expression is that may be the name of a parameter; none if that is not known.
    pub(super) fn value<'t>(&self, text: &'t str, expression: &'t str) -> Option<&'t str> {
        match self.named(expression.trim_matches(['(', ')', ' '])) {
            None => Some(expression),
            Some(argument) => match argument.expanded[..] {
                [Part::Name(span) | Part::Sign(_, span)] => Some(&text[span.range()]),
                _ => None,
            },
        }
    }

    /// Whether it is the name of a parameter.
    pub(super) fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }
}

/// The pieces of a template.
fn pieces_of(parts: &[Part]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    for part in parts {
        let hole = match part {
            Part::Literal(literal) => {
                pieces.push(literal.piece());
                continue;
            }
            Part::Quoted(quoted) => {
                pieces.extend_from_slice(quoted);
                continue;
            }
            Part::Name(span) | Part::Sign(_, span) | Part::Unknown(span) => *span,
            Part::Joined(spans) => spans[0],
        };
        if !matches!(pieces.last(), Some(Piece::Hole(_))) {
            pieces.push(Piece::Hole(hole));
        }
    }
    pieces
}

/// The colons outside of brackets, each with the number of parts before it.
fn colons(parts: &[Part]) -> impl Iterator<Item = (usize, Span)> {
    let mut depth = 0_usize;
    parts.iter().enumerate().filter_map(move |(at, part)| {
        match part {
            Part::Sign(b'(' | b'[' | b'{', _) => depth += 1,
            Part::Sign(b')' | b']' | b'}', _) => depth = depth.saturating_sub(1),
            Part::Sign(b':', span) if depth == 0 => return Some((at, *span)),
            _ => {}
        }
        None
    })
}

/// Leaves the template of what has operands, too; how many colons they had.
fn cut_operands(parts: &mut Vec<Part>) -> usize {
    let all: Vec<usize> = colons(parts).map(|(at, _)| at).collect();
    parts.truncate(all.first().copied().unwrap_or(parts.len()));
    all.len()
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

/// What `#` makes of an argument.
fn spelling(text: &str, parts: &[Part]) -> Vec<Piece> {
    let escapes = Escapes::of(Backslash::Plain);
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    for part in parts {
        let spans = match part {
            Part::Name(span) | Part::Sign(_, span) => std::slice::from_ref(span),
            Part::Literal(literal) => std::slice::from_ref(&literal.span),
            Part::Joined(spans) => spans,
            Part::Quoted(_) => {
                pieces.push(Piece::Hole(Span::at(0)));
                continue;
            }
            Part::Unknown(span) => {
                pieces.push(Piece::Hole(*span));
                continue;
            }
        };
        for &next in spans {
            // With the blanks between them.
            match pieces.last_mut() {
                Some(Piece::Text { span, .. })
                    if span.end <= next.start
                        && text[span.end as usize..next.start as usize].trim().is_empty() =>
                {
                    span.end = next.end;
                }
                _ => pieces.push(Piece::Text { span: next, escapes }),
            }
        }
    }
    pieces
}

/// What `##` makes of two parts.
fn joined(left: Part, right: Part) -> Part {
    let place = |part: &Part| match part {
        Part::Name(span) | Part::Sign(_, span) | Part::Unknown(span) => *span,
        Part::Literal(literal) => literal.span,
        Part::Joined(spans) => spans[0],
        Part::Quoted(_) => Span::at(0),
    };
    let unknown = Part::Unknown(place(&left));
    let mut all = Vec::new();
    for part in [left, right] {
        match part {
            Part::Name(span) | Part::Sign(_, span) => all.push(span),
            Part::Joined(spans) => all.extend(spans),
            Part::Literal(_) | Part::Quoted(_) | Part::Unknown(_) => return unknown,
        }
    }
    Part::Joined(all)
}

/// The arguments of a call whose parenthesis stands here, each with the comma behind it, and where it ends.
fn arguments_among(parts: &[Part], open: usize) -> Option<(Vec<Vec<Part>>, usize)> {
    let Some(Part::Sign(b'(', _)) = parts.get(open) else { return None };
    let mut given = Vec::new();
    let mut start = open + 1;
    let mut depth = 0;
    for (at, part) in parts.iter().enumerate().skip(start) {
        match part {
            Part::Sign(b'(', _) => depth += 1,
            Part::Sign(b')', _) if depth == 0 => {
                given.push(parts[start..at].to_vec());
                return Some((given, at + 1));
            }
            Part::Sign(b')', _) => depth -= 1,
            Part::Sign(b',', _) if depth == 0 => {
                given.push(parts[start..=at].to_vec());
                start = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The arguments between a parenthesis before `open` and the one that closes it.
pub(super) fn arguments_from(text: &str, open: u32) -> Option<Span> {
    let mut tokens = Tokens::new(text);
    tokens.go_to(open as usize);
    let mut depth = 0;
    loop {
        match tokens.next()? {
            Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
            Token::Other(b')', span) if depth == 0 => return Some(Span::new(open, span.start)),
            Token::Other(b')' | b']' | b'}', _) => depth -= 1,
            Token::Other(b';', _) | Token::Directive(_) => return None,
            Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
        }
    }
}
