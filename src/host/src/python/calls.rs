//! Calls of what takes assembly.

use super::names::{Names, Scope};
use super::strings::{self, Strings, elements};
use super::tokens::{Token, Tokens};
use crate::template::{self, Placeholders};
use crate::{Constraint, Language, Machine, Operand, Piece, Statement, constraints};
use ptx_text::source::{Source, Span};
use ptx_text::types::Type;

/// Of a call in which conditions decide, so many readings are looked at.
const MOST_READINGS: usize = 8;

/// What takes assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    /// MLIR's `inline_asm(result, operands, template, constraints, ...)`, llvmlite's `InlineAsm(type,
    /// template, constraints, ...)`, and Gluon's `inline_asm(template, constraints, ...)`.
    Llvm,
    /// Triton's `inline_asm_elementwise(template, constraints, arguments, type, is_pure, pack)`.
    Elementwise,
    /// `CuTe` DSL's `inline_ptx(template, ...)`.
    Ptx,
    /// Mojo's `inlined_assembly[template, type, constraints=..., has_side_effect=...](...)`.
    Mojo,
    /// A function of the file that hands its parameters on.
    Wrapper,
    /// One of another file that is called like such a function: `asm_i32([a], template, constraints)`.
    Imported,
}

/// A function that hands its parameters on to a call of assembly.
#[derive(Clone, Debug)]
pub(super) struct Wrapper {
    template: Given,
    constraints: Given,
    effects: Option<Given>,
    /// Whether it is Triton's call on elements.
    is_elementwise: bool,
}

/// A parameter of a wrapper, or what it gives itself.
#[derive(Clone, Debug)]
enum Given {
    Parameter { name: String, place: usize },
    Itself(Span, Scope),
}

impl Callee {
    pub(super) fn of(word: &str, language: Language) -> Option<Self> {
        match word {
            _ if language == Language::Mojo => (word == super::MOJO).then_some(Self::Mojo),
            "inline_asm_elementwise" => Some(Self::Elementwise),
            "InlineAsm" => Some(Self::Llvm),
            // Imported under other names.
            _ if word.ends_with("inline_asm") => Some(Self::Llvm),
            _ if word.ends_with("inline_ptx") || word.ends_with("inline_ptx_hl") => Some(Self::Ptx),
            _ if word.split('_').any(|part| matches!(part, "asm" | "ptx")) => Some(Self::Imported),
            _ => None,
        }
    }

    /// What stands in front of its arguments.
    pub(super) fn bracket(self) -> u8 {
        match self {
            Self::Llvm | Self::Elementwise | Self::Ptx | Self::Wrapper | Self::Imported => b'(',
            // The others, which are known when it is run, follow.
            Self::Mojo => b'[',
        }
    }
}

/// A call of assembly.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) callee: Callee,
    /// From the first of its names to the bracket that closes it.
    pub(super) span: Span,
    pub(super) keyword: Span,
    /// What stands between the brackets.
    pub(super) inside: Span,
    pub(super) scope: Scope,
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
    pub(super) fn wrapper<'s>(
        &self,
        text: &'s str,
        names: &Names<'s>,
        strings: &mut Strings<'_, '_>,
    ) -> Option<(&'s str, Wrapper)> {
        if !matches!(self.callee, Callee::Llvm | Callee::Elementwise) {
            return None;
        }
        let is_elementwise = self.callee == Callee::Elementwise;
        let given = Arguments::of(text, self.inside);
        let mut is_text = |place: usize| {
            strings.choices.clear();
            given.at(place).is_some_and(|value| strings.evaluate(value, self.scope).has_text)
        };
        // Where the constraints are written, the template stands in front of them; and where that is written, what it
        // is given besides may be parameters.
        let places: &[usize] = match (is_text(1), is_text(3)) {
            _ if is_elementwise => &[0],
            _ if &text[self.keyword.range()] == "InlineAsm" => &[1],
            _ if is_text(2) => &[],
            (_, true) => &[2],
            (true, _) => &[0],
            (false, false) => &[2, 0],
        };
        let parameter = |span: Span| self.parameter(text, names, span);
        let (template, constraints) = match given.named(&TEMPLATE) {
            Some(template) => (template, given.named(&CONSTRAINTS)?),
            None => places.iter().find_map(|&place| {
                let template = given.at(place)?;
                parameter(template)?;
                Some((template, given.named(&CONSTRAINTS).or_else(|| given.at(place + 1))?))
            })?,
        };
        let (function, template) = parameter(template)?;
        let given_or = |span| self.parameter_or_itself(text, names, span);
        let constraints = given_or(constraints);
        let effects = given.named(&EFFECTS).map(given_or);
        Some((&text[function.range()], Wrapper { template, constraints, effects, is_elementwise }))
    }

    /// The same for a function that hands its template on to another one that does.
    pub(super) fn wrapper_of<'s>(
        &self,
        text: &'s str,
        names: &Names<'s>,
        wrapper: &Wrapper,
    ) -> Option<(&'s str, Wrapper)> {
        let arguments = Arguments::of(text, self.inside);
        let given = |given: &Given| match given {
            Given::Parameter { name, place } => {
                arguments.named(&[name.as_str()]).or_else(|| arguments.at(*place))
            }
            Given::Itself(..) => None,
        };
        let (function, template) = self.parameter(text, names, given(&wrapper.template)?)?;
        let handed_on = |it: &Given| given(it).map(|span| self.parameter_or_itself(text, names, span));
        let constraints = handed_on(&wrapper.constraints).unwrap_or_else(|| wrapper.constraints.clone());
        let effects = wrapper.effects.as_ref().map(|it| handed_on(it).unwrap_or_else(|| it.clone()));
        let is_elementwise = wrapper.is_elementwise;
        Some((&text[function.range()], Wrapper { template, constraints, effects, is_elementwise }))
    }

    /// The function around the call, and which of its parameters a value is.
    fn parameter(&self, text: &str, names: &Names<'_>, value: Span) -> Option<(Span, Given)> {
        let name = &text[value.range()];
        let is_name = name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let (function, place) = names.parameter(name, self.scope).filter(|_| is_name)?;
        // The object itself is not written in a call.
        let behind = &text[function.end as usize..];
        let is_method = ["(self,", "(cls,"].iter().any(|start| behind.starts_with(start));
        let place = (place as usize).checked_sub(usize::from(is_method))?;
        Some((function, Given::Parameter { name: name.to_owned(), place }))
    }

    fn parameter_or_itself(&self, text: &str, names: &Names<'_>, value: Span) -> Given {
        self.parameter(text, names, value).map_or(Given::Itself(value, self.scope), |(_, given)| given)
    }

    /// Appends what a call says, in each reading of it.
    pub(super) fn statements(
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
            Given::Itself(span, scope) => Some((*span, *scope)),
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
            // Whether it is pure, nobody looks up either.
            None => wrapper.is_elementwise,
        };
        let constraints =
            given(&wrapper.constraints).and_then(|(span, scope)| strings.evaluate_beside(span, scope));
        self.constrain(source, constraints, &mut statement);
        if wrapper.is_elementwise {
            in_packs(&mut statement.operands);
        }
        Some(statement)
    }

    /// A statement that says so much and no more.
    fn assembly(&self, template: Vec<Piece>) -> Statement {
        Statement {
            span: self.span,
            keyword: self.keyword,
            language: if self.callee == Callee::Mojo { Language::Mojo } else { Language::Python },
            placeholders: Placeholders::Dollar,
            template,
            operands: Vec::new(),
            is_volatile: true,
            clobbers_memory: true,
            is_convergent: None,
            volatile_keyword: None,
            memory_clobber: None,
            // Mojo is a language for processors, too.
            machine: match self.callee {
                Callee::Mojo => Machine::Any,
                Callee::Ptx => Machine::Ptx,
                Callee::Llvm | Callee::Elementwise | Callee::Wrapper => Machine::Gpu,
                Callee::Imported => Machine::Any,
            },
            is_in_code: true,
        }
    }

    /// Gives a statement its operands.
    fn constrain(&self, source: &Source, constraints: Option<strings::Text>, statement: &mut Statement) {
        let pieces = constraints.filter(|it| it.has_text).map(|it| it.pieces);
        if let Some(found) = pieces.and_then(|pieces| constraints::read(source, &pieces)) {
            statement.machine = match self.callee {
                // Triton's has operands of one machine or of another.
                Callee::Elementwise if found.is_of_ptx => Machine::Ptx,
                _ => found.machine(statement.machine),
            };
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
                Callee::Imported => return self.imported(source, strings, &given),
                Callee::Elementwise => (string(given.at(0)?), Some(1)),
                Callee::Mojo => (string(given.at(0)?), None),
                // MLIR's own has the operands in front of it.
                Callee::Ptx => {
                    let mut found = (0..4).filter_map(|place| {
                        let template = string(given.at(place)?);
                        template.has_text.then_some((template, None))
                    });
                    found.next()?
                }
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
            Callee::Wrapper | Callee::Imported => return None,
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
            Callee::Mojo => statement.is_volatile = !is(given.named(&EFFECTS), "False"),
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
            in_packs(&mut statement.operands);
        }
        Some(statement)
    }
}

/// The operands of a call on elements: these come in packs, whether all are wanted or not.
fn in_packs(operands: &mut [Operand]) {
    constraints::needs_outputs(operands);
    for operand in operands {
        operand.is_tied = true;
    }
}

impl Call {
    /// What a call of a function of another file says, if it is given a whole template, and constraints behind it.
    fn imported(
        &self,
        source: &Source,
        strings: &mut Strings<'_, '_>,
        given: &Arguments<'_>,
    ) -> Option<Statement> {
        given.by_place.windows(2).find_map(|pair| {
            let [template, constraints] = pair else { return None };
            let constraints = strings.evaluate_beside(*constraints, self.scope)?;
            let found = constraints::read(source, &constraints.pieces).filter(|it| it.is_of_ptx)?;
            let template = strings.evaluate(*template, self.scope);
            let ends = |piece: &Piece| match piece {
                Piece::Text { span, .. } => source.slice(*span).contains(';'),
                Piece::Line(_) | Piece::Hole(_) => false,
            };
            let is_whole = template.has_text && template.pieces.iter().any(ends);
            let statement = is_whole.then(|| self.assembly(template.pieces))?;
            // What the function says besides, nobody knows.
            Some(Statement { operands: found.operands, ..statement })
        })
    }
}

/// What the arguments are called.
const TEMPLATE: [&str; 6] = ["asm_string", "asm", "template", "ptx", "code", "ptx_code"];
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
