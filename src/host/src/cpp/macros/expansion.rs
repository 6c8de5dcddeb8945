//! What is left of a text once its macros are replaced, as the preprocessor does that.

use super::arguments::{Argument, Scope, arguments_among, by_parameter};
use super::parts::{Part, joined, spelling};
use super::{DEPTH, Macro, Macros, PIECES};
use crate::cpp::tokens::{Token, Tokens};
use ptx_text::source::Span;

impl<'s> Macros<'s> {
    /// The names, literals and signs of a text.
    pub(super) fn parts(&self, text: &'s str, span: Span) -> Option<Vec<Part>> {
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
    pub(super) fn charge(&self, parts: &[Part]) -> Option<()> {
        self.left.set(self.left.get().checked_sub(parts.len() * 4 + 4)?);
        (parts.len() <= PIECES).then_some(())
    }

    /// What stands for the parameters of a macro; none if it does not take these arguments.
    pub(super) fn scope(
        &self,
        text: &'s str,
        parameters: &[&'s str],
        given: Vec<Vec<Part>>,
        depth: usize,
    ) -> Option<Scope<'s>> {
        let (parameters, given) = by_parameter(parameters, given)?;
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
        Some(Scope::new(parameters, given.into_iter().map(argument).collect::<Option<_>>()?))
    }

    /// Whether a name that no line here defines is likely to be a macro: they are written in capitals.
    fn is_of_another_file(&self, name: &str) -> bool {
        !self.known.contains_key(name) && name.bytes().any(|byte| byte.is_ascii_uppercase())
    }

    /// The body of a macro with its arguments.
    pub(super) fn substitute(&self, text: &'s str, body: &[Part], scope: &Scope<'s>) -> Option<Vec<Part>> {
        let mut made = Pasted::default();
        let mut at = 0;
        while at < body.len() {
            if is_paste(body, at) {
                made.is_due = true;
                at += 2;
                continue;
            }
            let (operand, len) = operand(text, body, at, scope, made.is_due);
            at += len;
            let start = made.parts.len();
            made.append(operand);
            self.charge(&made.parts[start.min(made.parts.len())..])?;
        }
        (made.parts.len() <= PIECES).then_some(made.parts)
    }

    /// What is left once every macro has been replaced by what it stands for.
    pub(super) fn expanded(&self, text: &'s str, parts: Vec<Part>, depth: usize) -> Option<Vec<Part>> {
        let is_name = |part: &Part| matches!(part, Part::Name(_) | Part::Joined(_));
        if !parts.iter().any(is_name) {
            return Some(parts);
        }
        self.charge(&parts)?;
        let mut made = Vec::new();
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            at += 1;
            let Some((known, place)) = self.named(text, part) else {
                made.push(part.clone());
                continue;
            };
            let is_call = known.is_none_or(|it| it.parameters.is_some());
            let given = if is_call { arguments_among(&parts, at) } else { None };
            let given = given.map(|(given, behind)| {
                at = behind;
                given
            });
            match (known, given) {
                // A name only.
                (Some(Macro { parameters: Some(_), .. }), None) => made.push(part.clone()),
                (Some(known), given) => made.extend(self.used(text, (known, place), given, depth)?),
                // Two meanings are none.
                (None, _) => made.push(Part::Unknown(place)),
            }
            if made.len() > PIECES {
                return None;
            }
        }
        Some(made)
    }

    /// The macro that a part names - none if it has two meanings - and where that stands.
    fn named(&self, text: &str, part: &Part) -> Option<(Option<&Macro<'s>>, Span)> {
        let (known, place) = match part {
            Part::Name(name) => (self.known.get(&text[name.range()]), *name),
            Part::Joined(spans) => {
                let name: String = spans.iter().map(|span| &text[span.range()]).collect();
                (self.known.get(name.as_str()), spans[0])
            }
            Part::Literal(_) | Part::Sign(..) | Part::Quoted(_) | Part::Unknown(_) => return None,
        };
        Some((known?.as_ref(), place))
    }

    /// What a use of a macro stands for.
    fn used(
        &self,
        text: &'s str,
        (known, place): (&Macro<'s>, Span),
        given: Option<Vec<Vec<Part>>>,
        depth: usize,
    ) -> Option<Vec<Part>> {
        let scope = match (&known.parameters, given) {
            (Some(parameters), Some(given)) => self.scope(text, parameters, given, depth + 1),
            (None, _) | (_, None) => Some(Scope::default()),
        };
        let Some(scope) = scope.filter(|_| depth < DEPTH) else { return Some(vec![Part::Unknown(place)]) };
        let body = self.parts(text, known.body)?;
        let body = self.substitute(text, &body, &scope)?;
        self.expanded(text, body, depth + 1)
    }
}

fn is_hash(body: &[Part], at: usize) -> bool {
    matches!(body.get(at), Some(Part::Sign(b'#', _)))
}

fn is_paste(body: &[Part], at: usize) -> bool {
    is_hash(body, at) && is_hash(body, at + 1)
}

/// What stands for the part at a place of a body, which may be pasted to the one before it; and how many parts
/// that takes.
fn operand(text: &str, body: &[Part], at: usize, scope: &Scope<'_>, pastes: bool) -> (Vec<Part>, usize) {
    match (&body[at], scope.get(text, &body[at])) {
        (Part::Sign(b'#', hash), _) if !scope.is_empty() => {
            let quoted = body.get(at + 1).and_then(|it| scope.get(text, it));
            let quoted = quoted.map(|argument| Part::Quoted(spelling(text, &argument.written)));
            (vec![quoted.unwrap_or(Part::Unknown(*hash))], 2)
        }
        (_, Some(argument)) if pastes || is_paste(body, at + 1) => (argument.written.clone(), 1),
        (_, Some(argument)) => (argument.expanded.clone(), 1),
        (part, None) => (vec![part.clone()], 1),
    }
}

/// A body while it is put together.
#[derive(Default)]
struct Pasted {
    parts: Vec<Part>,
    /// Where the operand of `##` to its left starts.
    left: usize,
    /// Whether there was a `##`.
    is_due: bool,
}

impl Pasted {
    fn append(&mut self, operand: Vec<Part>) {
        let mut operand = operand.into_iter();
        if std::mem::take(&mut self.is_due) && self.parts.len() > self.left {
            self.paste(operand.next());
            // What is pasted may be pasted again.
            self.left = self.left.min(self.parts.len().saturating_sub(1));
        } else {
            self.left = self.parts.len();
        }
        self.parts.extend(operand);
    }

    fn paste(&mut self, first: Option<Part>) {
        // `, ## __VA_ARGS__`: without arguments, there is no comma.
        match (self.parts.pop(), first) {
            (Some(Part::Sign(b',', _)), None) => {}
            (Some(comma @ Part::Sign(b',', _)), Some(first)) => self.parts.extend([comma, first]),
            (Some(last), Some(first)) => self.parts.push(joined(last, first)),
            (last, first) => self.parts.extend(last.or(first)),
        }
    }
}
