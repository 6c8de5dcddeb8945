//! `asm` statements of C and C++.
//!
//! A scanner of tokens, not a parser: it knows comments, literals, line continuations and the
//! preprocessor's lines, and of the language only what an `asm` statement is made of. It never fails:
//! what does not look like a statement is none.

use rustc_hash::{FxHashMap, FxHashSet};

use super::modules::{self, Part};
use super::template::{Backslash, Escapes};
use super::{Found, Machine, Piece, Statement};
use ptx_text::source::{Source, Span};

mod constants;
mod expressions;
mod functions;
mod guards;
mod macros;
mod statement;
mod tokens;

use constants::Constants;
use functions::{Functions, Processor};
use guards::Guards;
use macros::{Macros, Scope};
use statement::Reader;
use tokens::{Directive, Token, Tokens};

/// Of a statement in which the preprocessor decides, so many readings are looked at.
const MOST_READINGS: usize = 8;

pub(super) fn find(source: &Source) -> Found {
    let text = source.text();
    let mut found = find_in(source, Span::new(0, text.len() as u32));
    if modules::may_be_in(text.as_bytes()) {
        let mut tokens = Tokens::new(text);
        let parts = std::iter::from_fn(|| Some(part(text, tokens.next()?)));
        modules::find(source, parts, &mut found);
        found.steps += tokens.steps();
    }
    if memchr::memmem::find(text.as_bytes(), b"R\"").is_some() {
        let mut tokens = Tokens::new(text);
        let strings = std::iter::from_fn(|| tokens.next()).filter_map(|token| match token {
            // Nobody knows where one ends that is not closed.
            Token::Literal(literal) => {
                (literal.is_raw && literal.inside.end < literal.span.end).then_some(literal.inside)
            }
            Token::Word(_) | Token::Directive(_) | Token::Other(..) => None,
        });
        programs(source, strings, &mut found);
        found.steps += tokens.steps();
    }
    found
}

/// What a program for a GPU has.
const PROGRAM: [&str; 2] = ["__global__", "__device__"];

/// Whether a text may have a string with such a program and assembly in it.
pub(super) fn may_be_in(text: &[u8]) -> bool {
    let has = |word: &str| memchr::memmem::find(text, word.as_bytes()).is_some();
    PROGRAM.into_iter().any(has) && has("asm")
}

/// Adds what is found in strings, of which the insides are given, that are programs for a compiler at run time.
/// What is written in a raw string stands there as that compiler sees it.
pub(super) fn programs(source: &Source, strings: impl Iterator<Item = Span>, found: &mut Found) {
    for inside in strings {
        if !may_be_in(source.slice(inside).as_bytes()) {
            continue;
        }
        let Found { statements, comments, alike, steps, .. } = find_in(source, inside);
        // Something may be put in before it is compiled.
        let is_as_written = |statement: &Statement| {
            statement.is_in_code
                && statement.template.iter().all(|piece| match piece {
                    Piece::Text { span, .. } => {
                        let text = source.slice(*span);
                        !modules::has_marks(text) && !modules::has_fields(text)
                    }
                    Piece::Line(_) | Piece::Hole(_) => true,
                })
        };
        found.statements.extend(statements.into_iter().filter(is_as_written));
        found.comments.extend(comments);
        found.alike.extend(alike);
        found.steps += steps;
    }
    found.statements.sort_by_key(|statement| statement.span.start);
    found.comments.sort_unstable();
    found.comments.dedup();
}

/// What a token is where modules are looked for.
fn part(text: &str, token: Token) -> Part {
    match token {
        Token::Literal(literal) => Part::Literal(literal.span, literal.inside, literal.piece()),
        // Another one may be a macro.
        Token::Word(word) => Part::Word(word, !matches!(&text[word.range()], "return" | "co_return")),
        // The last is something that is written to a stream.
        Token::Other(b'+' | b'%' | b'<', _) => Part::Changes,
        Token::Other(..) | Token::Directive(_) => Part::Other,
    }
}

/// What is found in a part of a text of another language.
pub(super) fn find_in(source: &Source, part: Span) -> Found {
    let text = source.text().get(..part.end as usize).unwrap_or_default();
    let mut tokens = Tokens::from(text, part.start as usize);
    let mut found = Found::default();
    let own = text.get(part.start as usize..).unwrap_or_default();
    let mut macros = Macros::new(own);
    let mut constants = Constants::new(own);
    let mut guards = Guards::default();
    let mut functions = Functions::default();
    // The statements of macros that are used in functions of a GPU.
    let mut on_gpu: FxHashSet<u32> = FxHashSet::default();
    // The body of a macro that is being read: where it ends, and its parameters.
    let mut body: Option<(u32, Option<Scope<'_>>)> = None;
    while let Some(token) = tokens.next() {
        if body.as_ref().is_some_and(|(end, _)| tokens.at() > *end as usize) {
            body = None;
            functions.leave_macro();
        }
        let scope = body.as_ref().and_then(|(_, scope)| scope.as_ref());
        match token {
            Token::Word(word) if macros.is_keyword(&text[word.range()]) => {
                let behind = tokens.at();
                let mut end = None;
                let mut reading = 0;
                let mut readings = 1;
                while reading < readings {
                    tokens.go_to(behind);
                    let mut reader = Reader {
                        reading,
                        scope,
                        place: body.is_none().then_some(word.start),
                        ..Reader::new(text, &mut tokens, word, &macros, &mut constants)
                    };
                    let statement = reader.statement();
                    readings = readings.max(reader.readings.min(MOST_READINGS));
                    if let Some(mut statement) = statement {
                        if statement.machine == Machine::Any {
                            statement.machine = machine(&guards, &functions);
                        }
                        statement.is_in_code = body.is_some() || functions.is_in_function();
                        end = end.max(Some(statement.span.end));
                        found.statements.push(statement);
                    }
                    reading += 1;
                }
                // What is not a statement is looked at again: it may have one in it.
                tokens.go_to(end.map_or(behind, |end| end as usize));
            }
            Token::Word(word) if macros.has_assembly() && macros.takes_arguments(&text[word.range()]) => {
                let behind = tokens.at();
                if let Some(Token::Other(b'(', open)) = tokens.next()
                    && let Some(arguments) = macros.arguments(text, open)
                {
                    let mut uses = Uses {
                        text,
                        macros: &macros,
                        constants: &mut constants,
                        span: word.to(Span::at(arguments.end + 1)),
                        is_in_macro: body.is_some(),
                        machine: machine(&guards, &functions),
                        is_in_code: body.is_some() || functions.is_in_function(),
                        statements: &mut found.statements,
                        alike: Vec::new(),
                    };
                    let around = scope.map(|scope| (scope, Some(uses.span)));
                    uses.look_at(word, arguments, around, 0);
                    if uses.machine == Machine::Gpu {
                        on_gpu.extend(uses.alike);
                    }
                }
                // The arguments may have statements in them.
                tokens.go_to(behind);
            }
            Token::Directive(Directive::Define) => {
                let start = tokens.at();
                body = macros.define(&mut tokens);
                if let Some((end, _)) = body {
                    functions.define(text, Span::new(start as u32, end));
                    functions.enter_macro();
                }
            }
            Token::Directive(Directive::Undefine) => macros.forget(&mut tokens),
            Token::Directive(directive) => {
                let behind = tokens.at();
                tokens.skip_line();
                let end = tokens.at();
                if directive == Directive::If && guards::is_never(&text[behind..end]) {
                    tokens.skip_branch();
                }
                // What the end of `#ifndef` says is a part of the condition.
                let word = ["ndef", "def"].into_iter().find(|end| text[..behind].ends_with(end));
                guards.read(directive, &text[behind - word.map_or(0, str::len)..end]);
                functions.directive(directive);
            }
            Token::Word(word) => functions.word(&text[word.range()]),
            Token::Other(sign, _) => functions.sign(sign),
            Token::Literal(_) => {}
        }
    }
    for statement in &mut found.statements {
        if statement.machine == Machine::Any && on_gpu.contains(&statement.keyword.start) {
            statement.machine = Machine::Gpu;
        }
    }
    note_names(text, &mut found.statements);
    agree_on_clobbers(&mut found.statements);
    found.alike = macros.alike();
    found.steps = tokens.steps();
    found.comments = tokens.comments();
    found
}

/// The machine that is asked for where a statement stands.
fn machine(guards: &Guards, functions: &Functions<'_>) -> Machine {
    if guards.ask_for_another_machine() {
        return Machine::Guarded;
    }
    match functions.processor() {
        Processor::Gpu => Machine::Gpu,
        Processor::Both | Processor::Unknown if guards.ask_for_host() => Machine::Guarded,
        Processor::Both | Processor::Unknown if guards.ask_for_gpu() => Machine::Gpu,
        Processor::Both | Processor::Unknown => Machine::Any,
    }
}

/// Notes which operands one reading of a statement names and another one does not.
fn note_names(text: &str, statements: &mut [Statement]) {
    let mut names: FxHashMap<u32, FxHashSet<&str>> = FxHashMap::default();
    for statement in statements.iter() {
        let pieces = statement.template.iter().filter_map(|piece| match piece {
            Piece::Text { span, .. } => Some(&text[span.range()]),
            Piece::Line(_) | Piece::Hole(_) => None,
        });
        names.entry(statement.keyword.start).or_default().extend(pieces.flat_map(named_in));
    }
    for statement in statements {
        let Some(names) = names.get(&statement.keyword.start) else { continue };
        for (index, operand) in statement.operands.iter_mut().enumerate() {
            let name = operand.name.as_deref();
            operand.is_named_otherwise =
                names.contains(index.to_string().as_str()) || name.is_some_and(|name| names.contains(name));
        }
    }
}

/// The operands that a part of a template names, as `%1`, `%h1` and `%[name]`.
fn named_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('%').skip(1).map(|rest| {
        if let Some(rest) = rest.strip_prefix('[') {
            return rest.split(']').next().unwrap_or_default();
        }
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]
    })
}

/// What is added to a statement is added in each of its readings, and in all uses of the macro that has it:
/// none is offered a clobber where one of the others does not take it.
fn agree_on_clobbers(statements: &mut [Statement]) {
    let mut agreed: FxHashMap<u32, Option<(u32, &str)>> = FxHashMap::default();
    for statement in statements.iter() {
        let taken = statement.memory_clobber;
        let known = agreed.entry(statement.keyword.start).or_insert(taken);
        *known = known.filter(|known| Some(*known) == taken);
    }
    for statement in statements {
        statement.memory_clobber = agreed.get(&statement.keyword.start).copied().flatten();
    }
}

/// Reads the assembly of a macro with the arguments of a use.
struct Uses<'r, 's> {
    text: &'s str,
    macros: &'r Macros<'s>,
    constants: &'r mut Constants<'s>,
    /// The use in the text.
    span: Span,
    /// Whether that is in the body of a macro.
    is_in_macro: bool,
    /// Which machine it is for.
    machine: Machine,
    is_in_code: bool,
    statements: &'r mut Vec<Statement>,
    /// Where those start that say the same in all uses.
    alike: Vec<u32>,
}

/// How deep the uses of macros in macros are looked into.
const DEEPEST_USE: usize = 4;

impl<'s> Uses<'_, 's> {
    /// In the body of a macro: what is known there, and which part of the text says what differs between uses.
    fn look_at(
        &mut self,
        name: Span,
        arguments: Span,
        around: Option<(&Scope<'s>, Option<Span>)>,
        depth: usize,
    ) {
        let text = self.text;
        let Some((body, scope)) = self.macros.assembly(text, name, arguments, around) else { return };
        let mut tokens = Tokens::new(&text[..body.end as usize]);
        tokens.go_to(body.start as usize);
        while let Some(token) = tokens.next_of_interest() {
            let Token::Word(word) = token else { continue };
            let behind = tokens.at();
            if self.macros.is_keyword(&text[word.range()]) {
                let mut reader = Reader {
                    scope: Some(&scope),
                    place: (!self.is_in_macro).then_some(self.span.start),
                    ..Reader::new(text, &mut tokens, word, self.macros, self.constants)
                };
                let statement = reader.statement();
                let depends = reader.depends;
                match statement {
                    // What says the same in all uses has been looked at where the macro is defined.
                    Some(mut statement) if depends => {
                        statement.span = self.span;
                        if statement.machine == Machine::Any {
                            statement.machine = self.machine;
                        }
                        statement.is_in_code = self.is_in_code;
                        self.statements.push(statement);
                    }
                    Some(_) => self.alike.push(word.start),
                    None => tokens.go_to(behind),
                }
            } else if depth < DEEPEST_USE {
                // Where the name of a macro is given, all of that differs.
                let given = scope.name(text, word);
                let is_all = given.is_some() || matches!(around, Some((_, None)));
                let word = given.unwrap_or(word);
                if self.macros.takes_arguments(&text[word.range()])
                    && let Some(Token::Other(b'(', open)) = tokens.next()
                    && let Some(arguments) =
                        self.macros.arguments(text, open).filter(|arguments| arguments.end < body.end)
                {
                    let differs = Some(self.span).filter(|_| !is_all);
                    self.look_at(word, arguments, Some((&scope, differs)), depth + 1);
                }
                tokens.go_to(behind);
            }
        }
    }
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "asm" | "__asm__" | "__asm")
}

/// Of a word that may stand between the keyword and the template: whether it is `volatile`.
fn qualifier(word: &str) -> Option<bool> {
    match word {
        "volatile" | "__volatile__" | "__volatile" => Some(true),
        "inline" | "__inline__" | "__inline" | "goto" => Some(false),
        _ => None,
    }
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
