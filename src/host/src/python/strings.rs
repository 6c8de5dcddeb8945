//! The strings that expressions make, piece by piece.

use smallvec::SmallVec;

use super::names::{Names, Scope, Value};
use super::tokens::{Fields, Literal, Part, Token, Tokens, conversions};
use crate::template::{Backslash, Escapes};
use crate::{Language, Piece};
use ptx_text::source::Span;

/// What is known of a string.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) pieces: Vec<Piece>,
    /// Whether there is a literal in it.
    pub(super) has_text: bool,
}

/// Evaluates expressions.
pub(super) struct Strings<'n, 's> {
    pub(super) text: &'s str,
    pub(super) language: Language,
    pub(super) names: &'n Names<'s>,
    /// How many bytes of values of names may still be read, all expressions together.
    pub(super) budget: usize,
    /// What is taken where a condition decides.
    pub(super) choices: Vec<Choice<'s>>,
}

/// The branch that is taken wherever a condition decides.
#[derive(Debug)]
pub(super) struct Choice<'s> {
    condition: &'s str,
    /// The branches that there are.
    arms: SmallVec<[u32; 8]>,
    /// Which of them is taken.
    taken: usize,
}

/// How deep names and brackets are looked into.
const DEPTH: usize = 12;

/// How literals are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    /// `.format(...)` follows.
    Format,
    /// `% ...` follows.
    Percent,
}

/// The part of an expression that stands between operators.
struct Term {
    span: Span,
    kind: TermKind,
}

enum TermKind {
    /// Literals beside each other.
    Literals(Vec<Literal>),
    Name(Span),
    /// In parentheses: the inside.
    Group(Span),
    /// What is written behind each other, in Mojo: `String(a, b)`.
    Parts(Vec<Span>),
    Unknown,
}

impl<'n, 's> Strings<'n, 's> {
    /// Whether conditions can be decided in a way in which they were not decided yet.
    pub(super) fn decide_anew(&mut self) -> bool {
        while let Some(choice) = self.choices.last_mut() {
            if choice.taken + 1 < choice.arms.len() {
                choice.taken += 1;
                return true;
            }
            self.choices.pop();
        }
        false
    }

    /// The branch that is taken of those of a condition; none if that is not among them.
    fn choose(&mut self, condition: Span, arms: &[u32]) -> Option<usize> {
        let mut condition = self.text[condition.range()].trim();
        let mut arms: SmallVec<[u32; 8]> = arms.into();
        // Behind the first branch, another condition is in doubt; `a if c else b` has none.
        let has_two = arms.iter().all(|arm| *arm < 2);
        let (positive, is_negated) = positive(condition);
        if has_two || !is_negated {
            condition = positive;
        }
        if has_two && is_negated {
            arms.iter_mut().for_each(|arm| *arm = 1 - *arm);
        }
        if let Some(choice) = self.choices.iter().find(|it| it.condition == condition) {
            let taken = choice.arms[choice.taken];
            let otherwise = || arms.iter().position(|arm| has_two && !is_negated && *arm == 1 && taken > 1);
            return arms.iter().position(|arm| *arm == taken).or_else(otherwise);
        }
        self.choices.push(Choice { condition, arms, taken: 0 });
        Some(0)
    }

    /// The value of a name at a place, where it has one that is written.
    fn value(&mut self, name: &'s str, at: u32, scope: Scope) -> Option<(&'n Value, Scope)> {
        let names = self.names;
        let (values, scope) = names.values(name, scope)?;
        let value = if let [value] = values {
            value
        } else {
            let branches = names.branches(values)?;
            &branches.values[self.choose(branches.condition, &branches.arms)?]
        };
        value.is_whole_at(at).then_some((value, scope))
    }

    /// What an expression makes, if that is a string.
    pub(super) fn evaluate(&mut self, expression: Span, scope: Scope) -> Text {
        let mut out = Text::default();
        self.sum(expression, scope, Mode::Plain, 0, &mut out);
        out
    }

    /// What an expression makes beside those that were evaluated; none if a condition decides that did
    /// not decide about them: nobody knows then which of its branches belongs to which of theirs.
    pub(super) fn evaluate_beside(&mut self, expression: Span, scope: Scope) -> Option<Text> {
        let decided = self.choices.len();
        let found = self.evaluate(expression, scope);
        if self.choices.len() > decided {
            self.choices.truncate(decided);
            return None;
        }
        Some(found)
    }

    /// `a + b + ...`
    fn sum(&mut self, expression: Span, scope: Scope, mode: Mode, depth: usize, out: &mut Text) {
        let (pieces, had_text) = (out.pieces.len(), out.has_text);
        let mut tokens = Tokens::of(self.text, expression);
        let mut is_known = depth <= DEPTH;
        while is_known && self.term(&mut tokens, scope, mode, depth, out) {
            match tokens.next_within() {
                None => return,
                Some(Token::Other(b'+', _)) => {}
                // `this if condition else that`
                Some(Token::Word(word)) if &self.text[word.range()] == "if" => {
                    let Some(other) = word_from(self.text, &mut tokens, "else") else { break };
                    out.pieces.truncate(pieces);
                    out.has_text = had_text;
                    let condition = Span::new(word.end, other.start);
                    let part = match self.choose(condition, &[0, 1]) {
                        Some(0) => Span::new(expression.start, word.start),
                        _ => Span::new(other.end, expression.end),
                    };
                    if self.pay(&[part]) {
                        return self.sum(part, scope, mode, depth + 1, out);
                    }
                    break;
                }
                Some(_) => is_known = false,
            }
        }
        // Whatever else it is.
        out.pieces.truncate(pieces);
        out.pieces.push(Piece::Hole(expression));
        out.has_text = had_text;
    }

    /// What stands between two `+`; whether it can be read.
    fn term(
        &mut self,
        tokens: &mut Tokens<'_>,
        scope: Scope,
        mode: Mode,
        depth: usize,
        out: &mut Text,
    ) -> bool {
        let Some(Term { span, kind }) = primary(self.text, self.language, tokens) else { return false };
        let mut mode = mode;
        let mut is_known = true;
        let mut joined = None;
        let mut end = span.end;
        // What is done with it.
        loop {
            let before = tokens.at();
            match tokens.next_within() {
                Some(Token::Other(b'.', _)) => {
                    let Some(Token::Word(method)) = tokens.next_within() else { return false };
                    let Some(Token::Other(b'(', open)) = tokens.next_within() else {
                        is_known = false;
                        tokens.go_to(method.end as usize);
                        continue;
                    };
                    let Some(close) = skip(tokens, b'(') else { return false };
                    end = close.end;
                    match &self.text[method.range()] {
                        "format" => mode = Mode::Format,
                        "strip" | "lstrip" | "rstrip" => {}
                        "join" => joined = Some(Span::new(open.end, close.start)),
                        _ => is_known = false,
                    }
                }
                Some(Token::Other(b'%', _)) => {
                    mode = Mode::Percent;
                    end = skip_operand(self.text, tokens, before);
                    break;
                }
                Some(Token::Other(open @ (b'(' | b'['), _)) => {
                    let Some(close) = skip(tokens, open) else { return false };
                    end = close.end;
                    is_known = false;
                }
                Some(Token::Other(b'*' | b'/', _)) => {
                    is_known = false;
                    end = skip_operand(self.text, tokens, before);
                    break;
                }
                _ => {
                    tokens.go_to(before);
                    break;
                }
            }
        }
        let whole = Span::new(span.start, end);
        match (kind, joined) {
            _ if !is_known => out.pieces.push(Piece::Hole(whole)),
            (TermKind::Literals(literals), Some(arguments)) => {
                if !self.join(&literals, arguments, scope, depth, out) {
                    out.pieces.push(Piece::Hole(whole));
                }
            }
            (TermKind::Literals(literals), None) => {
                for literal in literals {
                    self.literal(literal, scope, mode, depth, out);
                }
            }
            (TermKind::Group(inside), None) => self.sum(inside, scope, mode, depth + 1, out),
            (TermKind::Parts(parts), None) => {
                for part in parts {
                    self.sum(part, scope, Mode::Plain, depth + 1, out);
                }
            }
            (TermKind::Name(name), None) => self.name(name, scope, mode, depth, out),
            (TermKind::Unknown | TermKind::Group(_) | TermKind::Parts(_) | TermKind::Name(_), _) => {
                out.pieces.push(Piece::Hole(whole));
            }
        }
        true
    }

    fn literal(&mut self, literal: Literal, scope: Scope, mode: Mode, depth: usize, out: &mut Text) {
        out.has_text = true;
        let mut escapes = Escapes::of(literal.backslash());
        let mut fields = match (literal.is_formatted, mode) {
            // What comes from a field can have more of them.
            (true, Mode::Format | Mode::Percent) => {
                out.pieces.push(Piece::Hole(literal.span));
                return;
            }
            (true, Mode::Plain) => Fields::of_literal(self.text, literal),
            (false, Mode::Format) => Fields::of_format(self.text, literal.inside),
            (false, Mode::Percent) => {
                conversions(self.text, literal.inside, escapes, &mut out.pieces);
                return;
            }
            (false, Mode::Plain) => {
                out.pieces.push(Piece::Text { span: literal.inside, escapes });
                return;
            }
        };
        escapes.doubled_braces = true;
        while let Some(part) = fields.next() {
            match part {
                Part::Text(span) => out.pieces.push(Piece::Text { span, escapes }),
                Part::Field(field, code) => {
                    let is_plain = literal.is_formatted && code.end + 1 == field.end;
                    if !(is_plain && self.field(code, scope, depth, out)) {
                        out.pieces.push(Piece::Hole(field));
                    }
                }
            }
        }
    }

    /// What a field without a format makes, if its code is the name of a known value.
    fn field(&mut self, code: Span, scope: Scope, depth: usize, out: &mut Text) -> bool {
        let name = self.text[code.range()].trim();
        let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let (parts, scope) = if is_name {
            let Some((value, scope)) = self.value(name, code.start, scope) else { return false };
            (&value.parts[..], scope)
        } else {
            (&[code][..], scope)
        };
        if !self.pay(parts) || depth > DEPTH {
            return false;
        }
        let value = parts[0];
        let written = if parts.len() == 1 { &self.text[value.range()] } else { "+" };
        if written.bytes().all(|byte| byte.is_ascii_digit()) && (written == "0" || !written.starts_with('0'))
        {
            out.pieces.push(Piece::Text { span: value, escapes: Escapes::of(Backslash::Plain) });
            return true;
        }
        let before = out.pieces.len();
        let had_text = out.has_text;
        for part in parts {
            self.sum(*part, scope, Mode::Plain, depth + 1, out);
        }
        if !out.pieces[before..].iter().any(|piece| matches!(piece, Piece::Text { .. })) {
            out.pieces.truncate(before);
            out.has_text = had_text;
            return false;
        }
        true
    }

    /// The value of a name.
    fn name(&mut self, name: Span, scope: Scope, mode: Mode, depth: usize, out: &mut Text) {
        let text = self.text;
        let value = self.value(&text[name.range()], name.start, scope);
        let Some((value, scope)) = value.filter(|(value, _)| self.pay(&value.parts)) else {
            out.pieces.push(Piece::Hole(name));
            return;
        };
        let before = out.pieces.len();
        for part in &value.parts {
            self.sum(*part, scope, mode, depth + 1, out);
        }
        if !out.pieces[before..].iter().any(|piece| matches!(piece, Piece::Text { .. })) {
            out.pieces.truncate(before);
            out.pieces.push(Piece::Hole(name));
        }
    }

    /// Whether the parts of a value may still be read.
    fn pay(&mut self, parts: &[Span]) -> bool {
        let cost: usize = parts.iter().map(|part| part.len() as usize + 1).sum();
        match self.budget.checked_sub(cost) {
            Some(left) => {
                self.budget = left;
                true
            }
            None => false,
        }
    }

    /// `separator.join([a, b])`; false if it is not known what is joined.
    fn join(
        &mut self,
        separator: &[Literal],
        arguments: Span,
        scope: Scope,
        depth: usize,
        out: &mut Text,
    ) -> bool {
        let [separator] = separator else { return false };
        let Some(elements) = elements(self.text, arguments).filter(|_| depth <= DEPTH) else {
            return false;
        };
        // The separator stands as often as there are elements.
        let cost = separator.inside.len() as usize * elements.len();
        let Some(left) = self.budget.checked_sub(cost) else { return false };
        self.budget = left;
        for (index, element) in elements.into_iter().enumerate() {
            if index > 0 {
                self.literal(*separator, scope, Mode::Plain, depth, out);
            }
            self.sum(element, scope, Mode::Plain, depth + 1, out);
        }
        true
    }
}

/// The elements of a list or tuple that is written out; none if it is something else.
pub(super) fn elements(text: &str, expression: Span) -> Option<Vec<Span>> {
    let mut tokens = Tokens::of(text, expression);
    let Some(Token::Other(open @ (b'[' | b'('), start)) = tokens.next_within() else { return None };
    let inside = tokens.at();
    let close = skip(&mut tokens, open)?;
    let has_comma = |elements: &[Span]| open == b'[' || elements.len() > 1;
    if tokens.next_within().is_some() {
        return None;
    }
    tokens.go_to(inside);
    let found = arguments(text, Span::new(start.end, close.start))?;
    has_comma(&found).then_some(found)
}

/// The parts between commas; none if one of them stands for several.
fn arguments(text: &str, inside: Span) -> Option<Vec<Span>> {
    let mut tokens = Tokens::of(text, inside);
    let mut found = Vec::new();
    let mut part: Option<Span> = None;
    let mut is_first = true;
    while let Some(token) = tokens.next_within() {
        let span = match token {
            Token::Other(b',', _) => {
                found.extend(part.take());
                is_first = true;
                continue;
            }
            // `*several`
            Token::Other(b'*', _) if is_first => return None,
            Token::Other(open @ (b'(' | b'[' | b'{'), span) => span.to(skip(&mut tokens, open)?),
            Token::Word(word) if matches!(&text[word.range()], "for" | "lambda") => return None,
            Token::Word(span) | Token::Number(span) | Token::Other(_, span) => span,
            Token::Literal(literal) => literal.span,
            Token::Line(_) => continue,
        };
        is_first = false;
        part = Some(part.map_or(span, |part| part.to(span)));
    }
    found.extend(part);
    Some(found)
}

/// What an expression starts with, without what is done with it.
fn primary(text: &str, language: Language, tokens: &mut Tokens<'_>) -> Option<Term> {
    let (span, kind) = match tokens.next_within()? {
        Token::Literal(first) => {
            let mut literals = vec![first];
            let mut behind = tokens.at();
            while let Some(Token::Literal(next)) = tokens.next_within() {
                literals.push(next);
                behind = tokens.at();
            }
            tokens.go_to(behind);
            let span = first.span.to(literals[literals.len() - 1].span);
            if literals.iter().any(|literal| !literal.is_closed) {
                return None;
            }
            (span, TermKind::Literals(literals))
        }
        Token::Word(word) => match &text[word.range()] {
            "not" | "lambda" | "await" | "yield" => return None,
            "dedent" | "constexpr" => match group(tokens, word) {
                Some((span, inside)) => (span, TermKind::Group(inside)),
                None => (word, TermKind::Unknown),
            },
            "String" if language == Language::Mojo => match group(tokens, word) {
                Some((span, inside)) => (span, TermKind::Parts(arguments(text, inside)?)),
                None => (word, TermKind::Name(word)),
            },
            _ => match member(text, tokens, word) {
                Some((span, inside)) => (span, TermKind::Group(inside)),
                None => (word, TermKind::Name(word)),
            },
        },
        Token::Other(b'(', open) => {
            let close = skip(tokens, b'(')?;
            (open.to(close), TermKind::Group(Span::new(open.end, close.start)))
        }
        Token::Other(open @ (b'[' | b'{'), span) => (span.to(skip(tokens, open)?), TermKind::Unknown),
        Token::Number(span) => (span, TermKind::Unknown),
        Token::Other(..) | Token::Line(_) => return None,
    };
    Some(Term { span, kind })
}

/// `(...)` behind a name; the tokens stay behind the name if there is none.
fn group(tokens: &mut Tokens<'_>, name: Span) -> Option<(Span, Span)> {
    let behind = tokens.at();
    let found = match tokens.next_within() {
        Some(Token::Other(b'(', open)) => {
            skip(tokens, b'(').map(|close| (name.to(close), Span::new(open.end, close.start)))
        }
        _ => None,
    };
    if found.is_none() {
        tokens.go_to(behind);
    }
    found
}

/// `.dedent(...)` or `.constexpr(...)`, which change nothing that PTX sees.
fn member(text: &str, tokens: &mut Tokens<'_>, name: Span) -> Option<(Span, Span)> {
    let behind = tokens.at();
    let is_either = matches!(tokens.next_within(), Some(Token::Other(b'.', _)))
        && matches!(
            tokens.next_within(),
            Some(Token::Word(word)) if matches!(&text[word.range()], "dedent" | "constexpr")
        );
    let found = is_either.then(|| group(tokens, name)).flatten();
    if found.is_none() {
        tokens.go_to(behind);
    }
    found
}

/// A condition without the signs that make it one of its opposite, and whether it is that.
fn positive(condition: &str) -> (&str, bool) {
    let mut condition = condition.trim();
    // What the DSLs write around conditions of constants.
    for call in ["cutlass.const_expr(", "const_expr(", "cute.const_expr("] {
        let inside = condition.strip_prefix(call).and_then(|rest| rest.strip_suffix(')'));
        condition = inside.filter(|inside| !inside.contains(')')).unwrap_or(condition);
    }
    if let Some(rest) = condition.strip_prefix("not ").filter(|rest| !rest.contains(' ')) {
        return (rest.trim(), true);
    }
    if condition.contains(" and ") || condition.contains(" or ") {
        return (condition, false);
    }
    match (condition.strip_suffix(" is not None"), condition.strip_suffix(" is None")) {
        // Whether something is there is what its name alone asks, too.
        (Some(name), _) => (name, false),
        (None, Some(name)) => (name, true),
        (None, None) => (condition, false),
    }
}

/// Skips to a word that stands in no bracket.
fn word_from(text: &str, tokens: &mut Tokens<'_>, wanted: &str) -> Option<Span> {
    loop {
        match tokens.next_within()? {
            Token::Word(word) if &text[word.range()] == wanted => return Some(word),
            Token::Other(open @ (b'(' | b'[' | b'{'), _) => {
                skip(tokens, open)?;
            }
            Token::Word(_) | Token::Number(_) | Token::Literal(_) | Token::Other(..) | Token::Line(_) => {}
        }
    }
}

/// Skips to what closes a bracket.
pub(super) fn skip(tokens: &mut Tokens<'_>, open: u8) -> Option<Span> {
    let closing = |open: u8| match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    };
    let mut expected = vec![closing(open)];
    loop {
        match tokens.next_within()? {
            Token::Other(byte @ (b'(' | b'[' | b'{'), _) => expected.push(closing(byte)),
            Token::Other(byte @ (b')' | b']' | b'}'), span) => {
                if expected.pop() != Some(byte) {
                    return None;
                }
                if expected.is_empty() {
                    return Some(span);
                }
            }
            Token::Word(_) | Token::Literal(_) | Token::Number(_) | Token::Other(..) | Token::Line(_) => {}
        }
    }
}

/// Skips what an operator of products is applied to; where that ends.
fn skip_operand(text: &str, tokens: &mut Tokens<'_>, from: usize) -> u32 {
    let mut end = from;
    loop {
        let before = tokens.at();
        match tokens.next_within() {
            Some(Token::Other(b'+' | b',' | b')' | b']' | b'}', _)) | None => {
                tokens.go_to(before);
                return end as u32;
            }
            Some(Token::Other(open @ (b'(' | b'[' | b'{'), _)) => {
                if skip(tokens, open).is_none() {
                    return end as u32;
                }
            }
            // A condition is not a part of it.
            Some(Token::Word(word)) if matches!(&text[word.range()], "if" | "else" | "and" | "or") => {
                tokens.go_to(before);
                return end as u32;
            }
            Some(
                Token::Word(_) | Token::Number(_) | Token::Literal(_) | Token::Other(..) | Token::Line(_),
            ) => {}
        }
        end = tokens.at();
    }
}
