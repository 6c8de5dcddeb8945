//! What a macro is given, and where that stands.

use std::cell::Cell;

use super::parts::Part;
use crate::cpp::tokens::{Token, Tokens};
use ptx_text::source::Span;

/// What the parameters of a macro stand for.
#[derive(Debug, Default)]
pub(in crate::cpp) struct Scope<'s> {
    parameters: Vec<&'s str>,
    given: Vec<Argument>,
    /// The part of the text that says what differs between uses, where that is not all that is given: where a macro
    /// is used in the body of another one, the use of that.
    differs: Option<Span>,
}

#[derive(Debug)]
pub(super) struct Argument {
    /// As it is written, which `#` and `##` ask for.
    pub(super) written: Vec<Part>,
    /// With what the macros in it stand for.
    pub(super) expanded: Vec<Part>,
}

impl<'s> Scope<'s> {
    /// The parameters, each with what it is given.
    pub(super) fn new(parameters: Vec<&'s str>, given: Vec<Argument>) -> Self {
        Self { parameters, given, differs: None }
    }

    /// The same where only a part of the text says what differs between uses.
    pub(super) fn within(self, differs: Option<Span>) -> Self {
        Self { differs, ..self }
    }

    /// The body of a macro that is not used: its parameters may be anything.
    pub(super) fn unknown(parameters: &[&'s str], place: Span) -> Self {
        let parameters: Vec<&str> =
            parameters.iter().map(|&name| name_of_rest(name).unwrap_or(name)).collect();
        let unknown = || vec![Part::Unknown(place)];
        let given = parameters.iter().map(|_| Argument { written: unknown(), expanded: unknown() }).collect();
        Self { parameters, given, differs: None }
    }

    /// Whether it is that of a macro without parameters.
    pub(super) fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }

    fn named(&self, name: &str) -> Option<&Argument> {
        let at = self.parameters.iter().position(|it| *it == name)?;
        self.given.get(at)
    }

    pub(super) fn get(&self, text: &str, part: &Part) -> Option<&Argument> {
        match part {
            Part::Name(name) => self.named(&text[name.range()]),
            _ => None,
        }
    }

    /// Where the argument stands that a name stands for; none if that is not known, or put together from
    /// several places.
    pub(super) fn written(&self, text: &'s str, part: &Part) -> Option<Span> {
        let written = &self.get(text, part)?.written;
        let (Some(first), Some(last)) = (written.first(), written.last()) else {
            return Some(Span::at(0));
        };
        let start = first.written()?.start;
        let whole = Span::new(start, last.written()?.end.max(start));
        let mut tokens = Tokens::new(&text[..whole.end as usize]);
        tokens.go_to(whole.start as usize);
        let is_as_written = written.iter().all(|part| {
            let read = match tokens.next() {
                Some(Token::Word(span) | Token::Other(_, span)) => Some(span),
                Some(Token::Literal(literal)) => Some(literal.span),
                Some(Token::Directive(_)) | None => None,
            };
            read.is_some() && read == part.written()
        });
        is_as_written.then_some(whole)
    }

    /// The name that the name of a parameter stands for.
    pub(in crate::cpp) fn name(&self, text: &str, parameter: Span) -> Option<Span> {
        match self.named(&text[parameter.range()])?.written[..] {
            [Part::Name(name)] => Some(name),
            _ => None,
        }
    }

    /// What an expression is that may be the name of a parameter; none if that is not known.
    pub(in crate::cpp) fn value<'t>(&self, text: &'t str, expression: &'t str) -> Option<&'t str> {
        match self.named(expression.trim_matches(['(', ')', ' '])) {
            None => Some(expression),
            Some(argument) => match argument.expanded[..] {
                [Part::Name(span) | Part::Sign(_, span)] => Some(&text[span.range()]),
                _ => None,
            },
        }
    }

    /// Whether a name is that of a parameter that stands for something else in other uses.
    pub(in crate::cpp) fn differs(&self, name: &str) -> bool {
        let is_of_use = |argument: &Argument, used: Span| {
            argument
                .written
                .iter()
                .any(|part| used.start <= part.place().start && part.place().end <= used.end)
        };
        self.named(name).is_some_and(|argument| self.differs.is_none_or(|used| is_of_use(argument, used)))
    }

    /// Whether it is the name of a parameter.
    pub(in crate::cpp) fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }
}

/// How the body of a macro calls a parameter that stands for all that is left.
fn name_of_rest(parameter: &str) -> Option<&str> {
    let name = parameter.strip_suffix("...")?;
    Some(if name.is_empty() { "__VA_ARGS__" } else { name.trim_end() })
}

/// What the body of a macro calls its parameters, and what each is given; none if it does not take these
/// arguments.
pub(super) fn by_parameter<'s>(
    parameters: &[&'s str],
    mut given: Vec<Vec<Part>>,
) -> Option<(Vec<&'s str>, Vec<Vec<Part>>)> {
    let mut names = parameters.to_vec();
    let mut rest = None;
    if let Some(last) = names.last_mut()
        && let Some(name) = name_of_rest(last)
    {
        *last = name;
        let others = names.len() - 1;
        // All that there is, with the commas.
        rest = Some(given.split_off(given.len().min(others)).concat());
    }
    for argument in &mut given {
        argument.pop_if(|it| matches!(it, Part::Sign(b',', _)));
    }
    given.extend(rest);
    (given.len() == names.len()).then_some((names, given))
}

/// The arguments of a call whose parenthesis stands here, each with the comma behind it, and where it ends.
pub(super) fn arguments_among(parts: &[Part], open: usize) -> Option<(Vec<Vec<Part>>, usize)> {
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

/// The arguments between a parenthesis before `open` and the one that closes it, with as many tokens at most. What is
/// made a text of may have semicolons.
pub(in crate::cpp) fn arguments_from(
    text: &str,
    open: u32,
    has_text: bool,
    left: &Cell<usize>,
) -> Option<Span> {
    let mut tokens = Tokens::new(text);
    tokens.go_to(open as usize);
    let mut depth = 0;
    loop {
        match tokens.next()? {
            Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
            Token::Other(b')', span) if depth == 0 => return Some(Span::new(open, span.start)),
            Token::Other(b')' | b']' | b'}', _) => depth -= 1,
            Token::Other(b';', _) if !has_text => return None,
            Token::Directive(_) => return None,
            Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
        }
        if has_text {
            left.set(left.get().checked_sub(1)?);
        }
    }
}
