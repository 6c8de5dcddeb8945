//! What the parameters of a macro stand for in a use, and its body with that.

use super::elements::{Element, element};
use super::{Macros, Made, fragments};

/// What the parameters of a pattern stand for.
#[derive(Debug, Default)]
pub(super) struct Bindings<'s> {
    single: Vec<(&'s str, Vec<Made>)>,
    /// What is repeated: the parameters in it, and what they stand for each time.
    repeated: Vec<(Vec<&'s str>, Vec<Self>)>,
}

/// Why arguments are not those of a rule.
pub(super) enum Mismatch {
    /// They are others.
    Other,
    /// They may be.
    Unknown,
}

impl<'s> Macros<'s> {
    /// How many of the tokens that are given a pattern takes.
    pub(super) fn matched(
        &self,
        pattern: &[Made],
        given: &[Made],
        found: &mut Bindings<'s>,
    ) -> Result<usize, Mismatch> {
        let mut rest = pattern;
        let mut at = 0;
        while !rest.is_empty() {
            let (part, len) = element(self.text, rest, true);
            self.charge(len).ok_or(Mismatch::Unknown)?;
            rest = &rest[len..];
            let behind = &given[at..];
            at += match part {
                Element::Repeated { inner, separator, sign } => {
                    let mut rounds = Vec::new();
                    let len = self.rounds((inner, separator, sign), behind, &mut rounds)?;
                    found.repeated.push((self.parameters(inner, true), rounds));
                    len
                }
                Element::Parameter { name, kind } => {
                    let next = rest.first().copied().filter(|next| !next.is(b'$'));
                    let len = fragments::len(self.text, kind, behind, next)?;
                    self.charge(len).ok_or(Mismatch::Unknown)?;
                    found.single.push((name, behind[..len].to_vec()));
                    len
                }
                Element::Group(open, inner, _) => {
                    match behind.first().map(|_| element(self.text, behind, true)) {
                        Some((Element::Group(given, within, _), len)) if self.is_same(open, given) => {
                            match self.matched(inner, within, found)? {
                                taken if taken == within.len() => len,
                                _ => return Err(Mismatch::Other),
                            }
                        }
                        _ => return Err(Mismatch::Other),
                    }
                }
                Element::Token(token) => match behind.first() {
                    Some(given) if self.is_same(token, *given) => 1,
                    _ => return Err(Mismatch::Other),
                },
            };
        }
        Ok(at)
    }

    fn is_same(&self, one: Made, other: Made) -> bool {
        self.text[one.token.span().range()] == self.text[other.token.span().range()]
    }

    /// How many tokens what is repeated takes.
    fn rounds(
        &self,
        (inner, separator, sign): (&[Made], &[Made], u8),
        given: &[Made],
        rounds: &mut Vec<Bindings<'s>>,
    ) -> Result<usize, Mismatch> {
        let mut at = 0;
        loop {
            let mut from = at;
            if !rounds.is_empty() {
                let written = given.get(at..at + separator.len()).unwrap_or_default();
                let is_there = written.len() == separator.len()
                    && written.iter().zip(separator).all(|(one, other)| self.is_same(*one, *other));
                if !is_there {
                    break;
                }
                from += separator.len();
            }
            let mut bindings = Bindings::default();
            match self.matched(inner, &given[from..], &mut bindings) {
                Ok(len) if from + len > at => at = from + len,
                Ok(_) | Err(Mismatch::Other) => break,
                Err(Mismatch::Unknown) => return Err(Mismatch::Unknown),
            }
            rounds.push(bindings);
            if sign == b'?' {
                break;
            }
        }
        if sign == b'+' && rounds.is_empty() { Err(Mismatch::Other) } else { Ok(at) }
    }

    /// The parameters that tokens name.
    fn parameters(&self, tokens: &[Made], in_pattern: bool) -> Vec<&'s str> {
        let mut found = Vec::new();
        let mut rest = tokens;
        while !rest.is_empty() {
            let (part, len) = element(self.text, rest, in_pattern);
            match part {
                Element::Repeated { inner, .. } | Element::Group(_, inner, _) => {
                    found.extend(self.parameters(inner, in_pattern));
                }
                Element::Parameter { name, .. } => found.push(name),
                Element::Token(_) => {}
            }
            rest = &rest[len..];
        }
        found
    }

    /// Appends a body with what its parameters stand for; none if it does not say what to repeat.
    pub(super) fn transcribe<'b>(
        &self,
        body: &[Made],
        scopes: &mut Vec<&'b Bindings<'s>>,
        made: &mut Vec<Made>,
    ) -> Option<()> {
        let mut rest = body;
        while !rest.is_empty() {
            let (part, len) = element(self.text, rest, false);
            self.charge(len)?;
            match part {
                Element::Repeated { inner, separator, .. } => {
                    self.repeat(inner, separator, scopes, made)?;
                }
                Element::Parameter { name, .. } => {
                    let known = scopes.iter().rev().flat_map(|scope| &scope.single);
                    match known.into_iter().find(|(known, _)| *known == name) {
                        Some((_, tokens)) => {
                            self.charge(tokens.len())?;
                            made.extend_from_slice(tokens);
                        }
                        // `$crate`
                        None => made.extend_from_slice(&rest[..len]),
                    }
                }
                Element::Group(open, inner, close) => {
                    made.push(open);
                    self.transcribe(inner, scopes, made)?;
                    made.push(close);
                }
                Element::Token(token) => made.push(token),
            }
            rest = &rest[len..];
        }
        Some(())
    }

    fn repeat<'b>(
        &self,
        inner: &[Made],
        separator: &[Made],
        scopes: &mut Vec<&'b Bindings<'s>>,
        made: &mut Vec<Made>,
    ) -> Option<()> {
        let names = self.parameters(inner, false);
        self.charge(names.len() * scopes.len())?;
        let repeated = scopes.iter().copied().flat_map(|scope| &scope.repeated);
        let used: Vec<&'b Vec<Bindings<'s>>> = repeated
            .filter(|(known, _)| names.iter().any(|name| known.contains(name)))
            .map(|(_, rounds)| rounds)
            .collect();
        let count = used.first()?.len();
        if used.iter().any(|rounds| rounds.len() != count) {
            return None;
        }
        let around = scopes.len();
        for round in 0..count {
            if round > 0 {
                made.extend_from_slice(separator);
            }
            scopes.extend(used.iter().map(|rounds| &rounds[round]));
            let found = self.transcribe(inner, scopes, made);
            scopes.truncate(around);
            found?;
        }
        Some(())
    }
}
