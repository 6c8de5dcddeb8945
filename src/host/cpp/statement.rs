//! What one `asm` statement of C++ is made of.

use super::constants::Constants;
use super::macros::{Macros, Scope, Template};
use super::qualifier;
use super::tokens::{Directive, Token, Tokens};
use crate::host::template::Placeholders;
use crate::host::{Constraint, Language, Machine, Operand, Piece, Statement, constraints};
use crate::source::Span;

/// Reads one statement.
pub(super) struct Reader<'r, 's> {
    pub(super) text: &'s str,
    pub(super) tokens: &'r mut Tokens<'s>,
    pub(super) macros: &'r Macros<'s>,
    pub(super) constants: &'r mut Constants<'s>,
    pub(super) keyword: Span,
    /// Which branch is taken wherever the preprocessor decides.
    pub(super) reading: usize,
    /// How many readings there are.
    pub(super) readings: usize,
    /// How often the preprocessor has decided.
    pub(super) decisions: usize,
    /// The parameters of the macro in whose body the statement stands.
    pub(super) scope: Option<&'r Scope<'s>>,
    /// Where the statement stands; none in the body of a macro that may be used anywhere.
    pub(super) place: Option<u32>,
    /// Whether what the statement says depends on them.
    pub(super) depends: bool,
    /// What is read of an argument that has operands, before the body goes on: from where to where.
    pub(super) argument: Option<Span>,
}

/// No statement has more.
const MOST_DECISIONS: usize = 64;
const MOST_OPERANDS: usize = 1024;

/// What stands in front of the value of an operand.
#[derive(Debug)]
struct Written {
    span: Span,
    literals: String,
    /// Whether there are names in it of which nothing is known.
    has_names: bool,
    /// Whether it stands in an argument of a macro.
    is_given: bool,
}

impl Written {
    fn new(span: Span, is_given: bool) -> Self {
        Self { span, literals: String::new(), has_names: false, is_given }
    }

    /// Whether it is the name of a macro, which may stand for any number of operands.
    fn is_macro(&self) -> bool {
        self.has_names && self.literals.is_empty()
    }
}

/// Whether a constraint says that its operand is read and written, or in the place of another.
fn is_tied(constraint: &str) -> bool {
    constraint.contains(|c: char| c == '+' || c.is_ascii_digit())
}

/// Whether no compiler of CUDA knows a constraint: it has one letter for each kind of register.
fn is_of_another_machine(constraint: &str) -> bool {
    let letters = constraint.trim_matches(|c: char| "=+&% ".contains(c) || c.is_ascii_whitespace());
    !matches!(letters, "" | "h" | "r" | "l" | "q" | "f" | "d" | "n" | "C" | "i" | "b" | "c" | "X")
        && !letters.bytes().all(|byte| byte.is_ascii_digit())
}

/// The parts of a statement between colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Template,
    Outputs,
    Inputs,
    Clobbers,
    Labels,
}

impl Section {
    fn next(self) -> Self {
        match self {
            Self::Template => Self::Outputs,
            Self::Outputs => Self::Inputs,
            Self::Inputs => Self::Clobbers,
            Self::Clobbers | Self::Labels => Self::Labels,
        }
    }

    /// The part behind so many colons.
    fn behind(self, colons: usize) -> Self {
        (0..colons.min(4)).fold(self, |section, _| section.next())
    }
}

impl<'s> Reader<'_, 's> {
    pub(super) fn statement(&mut self) -> Option<Statement> {
        let mut is_volatile = self.macros.keyword(&self.text[self.keyword.range()]) == Some(true);
        let first = loop {
            match self.next()? {
                Token::Word(word) => is_volatile |= self.qualifier(&self.text[word.range()])?,
                Token::Other(b'(', open) => break open,
                Token::Literal(_) | Token::Other(..) | Token::Directive(_) => return None,
            }
        };
        let scoped = match self.scope {
            Some(scope) => Some(self.template_of_macro(first, scope)?),
            None => None,
        };
        let is_open = scoped.as_ref().is_some_and(|it| it.is_open);
        let colons = scoped.as_ref().map_or(0, |it| it.colons);
        let mut statement = Statement {
            span: self.keyword.to(first),
            keyword: self.keyword,
            language: Language::Cpp,
            placeholders: Placeholders::Percent,
            template: scoped.map(|it| it.pieces).unwrap_or_default(),
            operands: Vec::new(),
            is_volatile,
            // What a macro has behind its operands may be that.
            clobbers_memory: Section::Template.behind(colons) >= Section::Clobbers,
            is_convergent: None,
            volatile_keyword: Some("volatile"),
            memory_clobber: None,
            machine: Machine::Any,
        };
        let mut section = Section::Template.behind(colons);
        let mut constraint: Option<Written> = None;
        // How many operands there are in front of those that a macro of another file has.
        let mut listed: Option<usize> = (colons > 0).then_some(0);
        let mut name = None;
        // Whether an operand has ended, and no comma has followed.
        let mut comma_is_due = false;
        let mut has_clobbers = false;
        // Whether operands come from arguments of the macro.
        let mut is_given = self.argument.is_some() || colons > 0;
        let end = loop {
            let token = self.next()?;
            let is_in_argument = self.argument.is_some();
            match (section, token) {
                (Section::Outputs | Section::Inputs | Section::Clobbers, Token::Word(word))
                    if constraint.is_none() && self.enter_argument(word) =>
                {
                    is_given = true;
                }
                // `, ##__VA_ARGS__`
                (Section::Outputs | Section::Inputs, Token::Other(b'#', _))
                    if constraint.is_none() && self.enter_pasted_argument() =>
                {
                    is_given = true;
                }
                (_, Token::Other(b')', span)) => {
                    if constraint.is_some_and(|it| it.is_macro()) {
                        listed = listed.or(Some(statement.operands.len()));
                    }
                    break span;
                }
                (_, Token::Other(b':', _)) => {
                    if constraint.take().is_some_and(|it| it.is_macro()) {
                        listed = listed.or(Some(statement.operands.len()));
                    }
                    section = section.next();
                    comma_is_due = false;
                }
                (Section::Template, Token::Literal(literal)) => statement.template.push(literal.piece()),
                (Section::Template, Token::Word(word)) => {
                    let colons = self.named_piece(word, &mut statement.template)?;
                    if colons > 0 {
                        section = section.behind(colons);
                        statement.clobbers_memory |= section >= Section::Clobbers;
                        listed = Some(0);
                        is_given = true;
                    }
                }
                (Section::Template, Token::Other(open @ (b'(' | b'[' | b'{'), span)) => {
                    let end = self.skip(open)?;
                    statement.template.push(Piece::Hole(span.to(end)));
                }
                (Section::Template, Token::Other(_, span)) => statement.template.push(Piece::Hole(span)),
                (Section::Outputs | Section::Inputs, Token::Other(b',', _)) => {
                    if constraint.take().is_some_and(|it| it.is_macro()) {
                        listed = listed.or(Some(statement.operands.len()));
                    }
                    comma_is_due = false;
                }
                (Section::Outputs | Section::Inputs, Token::Other(b'[', open)) => {
                    let end = self.skip(b'[')?;
                    name =
                        self.text.get(open.end as usize..end.start as usize).map(|it| it.trim().to_owned());
                }
                (Section::Outputs | Section::Inputs, Token::Literal(literal)) => {
                    let text = &self.text[literal.inside.range()];
                    let written =
                        constraint.get_or_insert_with(|| Written::new(literal.span, is_in_argument));
                    written.span = written.span.to(literal.span);
                    written.literals.push_str(text);
                }
                (Section::Outputs | Section::Inputs, Token::Word(word)) => {
                    let is_first = constraint.is_none();
                    is_given |= self.scope.is_some_and(|scope| scope.has(&self.text[word.range()]));
                    let written = constraint.get_or_insert_with(|| Written::new(word, is_in_argument));
                    written.span = written.span.to(word);
                    if let Some(text) = self.macros.literal(&self.text[word.range()]) {
                        written.literals.push_str(text);
                    } else if is_first && let Some(operands) = self.operands_of_macro(word, section) {
                        constraint = None;
                        if let Some(first) = operands.first() {
                            let lacks_comma = std::mem::replace(&mut comma_is_due, true);
                            statement.operands.push(Operand { lacks_comma, ..first.clone() });
                        }
                        statement.operands.extend(operands.into_iter().skip(1));
                    } else {
                        written.has_names = true;
                    }
                }
                // `"=" LETTER_##TYPE(value)`
                (Section::Outputs | Section::Inputs, Token::Other(b'#', sign)) => {
                    let written = constraint.get_or_insert_with(|| Written::new(sign, is_in_argument));
                    written.span = written.span.to(sign);
                    written.has_names = true;
                }
                (Section::Outputs | Section::Inputs, Token::Other(b'(', open)) => {
                    let close = self.skip(b'(')?;
                    let written = constraint.take().unwrap_or_else(|| Written::new(open, is_in_argument));
                    if written.is_macro() {
                        // It may stand for one operand or for several.
                        listed = listed.or(Some(statement.operands.len()));
                    }
                    let lacks_comma = std::mem::replace(&mut comma_is_due, true);
                    let inside = self.text.get(open.end as usize..close.start as usize).unwrap_or_default();
                    let value = inside.trim();
                    let at = open.end + (inside.len() - inside.trim_start().len()) as u32;
                    let is_number = value.starts_with(|c: char| c.is_ascii_digit());
                    let place = (Span::new(at, at + value.len() as u32), is_number);
                    let text = Some(written.literals.as_str()).filter(|_| !written.has_names);
                    if text.is_some_and(is_of_another_machine) {
                        statement.machine = Machine::Other;
                    }
                    let constraint = match text {
                        // What stands in an argument means what it does where the macro is used.
                        Some(text) if is_in_argument => self.constraint(text, value, &statement.operands),
                        Some(text) => self.constraint(text, self.value(value), &statement.operands),
                        None => Constraint::Other,
                    };
                    self.depends |= matches!(constraint, Constraint::Immediate(_))
                        && self.scope.is_some_and(|scope| scope.has(value));
                    let is_output = section == Section::Outputs;
                    // `#define READ(constraint, value) asm("..." :: constraint(value))`
                    let is_together = written.is_given == is_in_argument;
                    let span = if is_together { written.span } else { open }.to(close);
                    statement.operands.push(Operand {
                        span,
                        constraint,
                        value: place,
                        is_output,
                        is_tied: text.is_some_and(is_tied),
                        lacks_comma,
                        name: name.take(),
                    });
                }
                (Section::Clobbers, Token::Literal(literal)) => {
                    has_clobbers = true;
                    if &self.text[literal.inside.range()] == "memory" {
                        statement.clobbers_memory = true;
                    } else {
                        // The registers of PTX have no names that a compiler knows.
                        statement.machine = Machine::Other;
                    }
                }
                (Section::Clobbers, Token::Word(_)) => {
                    // A macro: it may be the one.
                    has_clobbers = true;
                    statement.clobbers_memory = true;
                }
                (Section::Labels, Token::Word(_))
                | (Section::Clobbers | Section::Labels, Token::Other(b',', _)) => {}
                // It does not look like a statement.
                _ => return None,
            }
        };
        statement.span = self.keyword.to(end);
        if section == Section::Template && !is_volatile && self.is_symbol_of_declaration(&statement.template)
        {
            return None;
        }
        // What is not known at the end may have operands.
        if section == Section::Template && matches!(statement.template.last(), Some(Piece::Hole(_))) {
            listed = Some(0);
        }
        if let Some(listed) = listed {
            statement.operands.truncate(listed);
            let operand = Operand::new(self.keyword, Constraint::Other, false);
            // Nobody knows what they are there for.
            let operand = Operand { is_tied: true, ..operand };
            let named = self.operands_named(&statement.template).min(MOST_OPERANDS);
            statement.operands.resize(named.max(listed), operand);
        }
        // Where operands are given with each use, nothing can be added behind them for all; nor behind what is
        // not known, which may have colons of its own.
        is_given |= is_open && section == Section::Template || listed.is_some();
        if !statement.clobbers_memory && !is_given {
            let text = match (section, has_clobbers) {
                (Section::Template, _) => " ::: \"memory\"",
                (Section::Outputs, _) => " :: \"memory\"",
                (Section::Inputs, _) => " : \"memory\"",
                (Section::Clobbers, false) => " \"memory\"",
                (Section::Clobbers, true) => ", \"memory\"",
                (Section::Labels, _) => "",
            };
            statement.memory_clobber = Some((end.start, text)).filter(|_| !text.is_empty());
        }
        Some(statement)
    }

    /// Whether it says how the linker calls what is declared in front of it:
    /// `float f(float) asm("llvm.sqrt.f32");`
    fn is_symbol_of_declaration(&self, template: &[Piece]) -> bool {
        /// No list of parameters in front of one is longer.
        const FAR: usize = 4096;
        let is_symbol = |piece: &Piece| match piece {
            Piece::Text { span, .. } => self.text[span.range()]
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.$@?".contains(&byte)),
            Piece::Line(_) | Piece::Hole(_) => false,
        };
        let Some(place) = self.place.filter(|_| template.iter().all(is_symbol)) else { return false };
        let mut before = without_comments(&self.text[..place as usize]);
        if before.ends_with(')') {
            let mut depth = 0_usize;
            let open = before.bytes().enumerate().rev().take(FAR).find(|(_, byte)| {
                match byte {
                    b')' => depth += 1,
                    b'(' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let Some((open, _)) = open else { return false };
            before = without_comments(&before[..open]);
        }
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        !matches!(name, "" | "if" | "while" | "for" | "switch" | "constexpr" | "else" | "do")
    }

    /// Goes on with the argument that a name stands for, if it is the name of a parameter and known.
    fn enter_argument(&mut self, word: Span) -> bool {
        let Some(scope) = self.scope.filter(|_| self.argument.is_none()) else { return false };
        let Some(argument) = self.macros.argument(self.text, word, scope) else { return false };
        self.argument = Some(argument);
        self.depends = true;
        true
    }

    /// The same behind the first sign of a `##`.
    fn enter_pasted_argument(&mut self) -> bool {
        let behind = self.tokens.at();
        if self.argument.is_none()
            && let Some(Token::Other(b'#', _)) = self.tokens.next()
            && let Some(Token::Word(word)) = self.tokens.next()
            && self.enter_argument(word)
        {
            return true;
        }
        self.tokens.go_to(behind);
        false
    }

    /// Where the next token is read: in the text, and in an argument.
    fn place(&self) -> (usize, Option<Span>) {
        (self.tokens.at(), self.argument)
    }

    fn go_to(&mut self, (at, argument): (usize, Option<Span>)) {
        self.tokens.go_to(at);
        self.argument = argument;
    }

    /// The next token in the branch that is read.
    fn next(&mut self) -> Option<Token> {
        if let Some(argument) = &mut self.argument {
            let mut tokens = Tokens::new(&self.text[..argument.end as usize]);
            tokens.go_to(argument.start as usize);
            match tokens.next() {
                Some(Token::Directive(_)) => return None,
                Some(Token::Word(word)) if self.macros.is_keyword(&self.text[word.range()]) => return None,
                Some(token) => {
                    argument.start = tokens.at() as u32;
                    return Some(token);
                }
                None => self.argument = None,
            }
        }
        loop {
            let directive = match self.tokens.next()? {
                Token::Directive(directive) => directive,
                // A statement in a statement: the first one is none.
                Token::Word(word) if self.macros.is_keyword(&self.text[word.range()]) => return None,
                token => return Some(token),
            };
            match directive {
                Directive::If => {
                    self.decisions += 1;
                    if self.decisions > MOST_DECISIONS {
                        return None;
                    }
                    let mut left = self.reading;
                    let mut branches = 1;
                    let start = self.tokens.at();
                    self.tokens.skip_line();
                    while left > 0 {
                        match self.skip_branch()? {
                            Directive::EndIf => break,
                            _ => left -= 1,
                        }
                    }
                    let entered = self.tokens.at();
                    if self.reading == 0 {
                        // How many there are is counted once.
                        let mut has_else = false;
                        self.tokens.go_to(start);
                        self.tokens.skip_line();
                        loop {
                            match self.skip_branch()? {
                                Directive::EndIf => break,
                                it => {
                                    has_else |= it == Directive::Else;
                                    branches += 1;
                                }
                            }
                        }
                        self.readings = self.readings.max(branches + usize::from(!has_else));
                        self.tokens.go_to(entered);
                    }
                }
                // The branch that is read ends here.
                Directive::ElseIf | Directive::Else => while self.skip_branch()? != Directive::EndIf {},
                Directive::EndIf | Directive::Define | Directive::Undefine | Directive::Other => {
                    self.tokens.skip_line();
                }
            }
        }
    }

    /// Skips the rest of a branch, up to the line of the directive that ends it.
    fn skip_branch(&mut self) -> Option<Directive> {
        let mut depth = 0;
        loop {
            match self.tokens.next_directive()? {
                Directive::If => depth += 1,
                Directive::EndIf if depth > 0 => depth -= 1,
                it @ (Directive::EndIf | Directive::ElseIf | Directive::Else) if depth == 0 => {
                    self.tokens.skip_line();
                    return Some(it);
                }
                _ => {}
            }
            self.tokens.skip_line();
        }
    }

    /// Skips to what closes a bracket; what is in between may be any expression.
    fn skip(&mut self, open: u8) -> Option<Span> {
        let mut closing = vec![closing(open)];
        loop {
            match self.next()? {
                Token::Other(byte @ (b'(' | b'[' | b'{'), _) => closing.push(self::closing(byte)),
                Token::Other(byte @ (b')' | b']' | b'}'), span) => {
                    if closing.pop() != Some(byte) {
                        return None;
                    }
                    if closing.is_empty() {
                        return Some(span);
                    }
                }
                // No expression goes beyond its statement, but for the bodies in it.
                Token::Other(b';', _) if !closing.contains(&b'}') => return None,
                Token::Word(_) | Token::Literal(_) | Token::Other(..) | Token::Directive(_) => {}
            }
        }
    }

    /// The template of a statement in the body of a macro.
    fn template_of_macro(&mut self, open: Span, scope: &Scope<'s>) -> Option<Template> {
        let start = open.end;
        let end = loop {
            let behind = self.tokens.at();
            match self.next()? {
                Token::Other(b':' | b')', _) => break behind,
                Token::Other(open @ (b'(' | b'[' | b'{'), _) => {
                    self.skip(open)?;
                }
                Token::Word(_) | Token::Literal(_) | Token::Other(..) | Token::Directive(_) => {}
            }
        };
        self.tokens.go_to(end);
        let template = Span::new(start, end as u32);
        let known = self.macros.template(self.text, template, scope);
        let known = known.unwrap_or_else(|| Template::unknown(template));
        self.depends |= known.depends;
        self.argument = known.rest;
        Some(known)
    }

    /// Of a word in front of the template: whether it says `volatile`; none if it does not belong there.
    fn qualifier(&self, word: &str) -> Option<bool> {
        match self.macros.value(word) {
            Some("") => Some(false),
            Some(value) => qualifier(value),
            None => qualifier(word),
        }
    }

    /// A name among the literals of a template; how many colons it has behind what belongs to that.
    fn named_piece(&mut self, word: Span, pieces: &mut Vec<Piece>) -> Option<usize> {
        let behind = self.place();
        // With its arguments, if it has any.
        let arguments = if let Token::Other(b'(', open) = self.next()? {
            let end = self.skip(b'(')?;
            Some(Span::new(open.end, end.start))
        } else {
            self.go_to(behind);
            None
        };
        let span = arguments.map_or(word, |it| word.to(Span::at(it.end + 1)));
        let colons = self.macros.expand(self.text, word, arguments, pieces);
        if colons.is_none() {
            pieces.push(Piece::Hole(span));
        }
        Some(colons.unwrap_or_default())
    }

    /// The operands that a macro of this file stands for.
    fn operands_of_macro(&mut self, word: Span, section: Section) -> Option<Vec<Operand>> {
        let behind = self.place();
        let mut span = word;
        let has_arguments = match self.next()? {
            Token::Other(b'(', _) => {
                span = span.to(self.skip(b'(')?);
                true
            }
            Token::Word(_) | Token::Literal(_) | Token::Other(..) | Token::Directive(_) => {
                self.go_to(behind);
                false
            }
        };
        let constraints = self.macros.operands(self.text, word, has_arguments);
        if constraints.is_none() {
            self.go_to(behind);
        }
        let operands = constraints?.into_iter().map(|text| {
            let constraint = text.as_deref().map_or(Constraint::Other, |text| self.constraint(text, "", &[]));
            let is_tied = text.as_deref().is_none_or(is_tied);
            Operand { is_tied, ..Operand::new(span, constraint, section == Section::Outputs) }
        });
        Some(operands.collect())
    }

    /// How many operands a template is written for: one more than the highest number that it has. Where a
    /// sign is escaped, there are some.
    fn operands_named(&self, template: &[Piece]) -> usize {
        let mut count = 0;
        for piece in template {
            let Piece::Text { span, .. } = piece else { continue };
            let mut rest = &self.text[span.range()];
            while let Some((_, behind)) = rest.split_once('%') {
                let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
                let number = behind[..digits].parse::<usize>();
                let is_escaped = behind.starts_with('%');
                let least = number.map_or(usize::from(is_escaped), |number| number.saturating_add(1));
                count = count.max(least);
                rest = &behind[usize::from(is_escaped)..];
            }
        }
        count
    }

    /// What an operand is: for the parameter of a macro, what that stands for.
    fn value<'t>(&self, expression: &'t str) -> &'t str
    where
        's: 't,
    {
        self.scope.map_or(Some(expression), |scope| scope.value(self.text, expression)).unwrap_or_default()
    }

    /// What a constraint says about its operand.
    fn constraint(&mut self, text: &str, value: &str, operands: &[Operand]) -> Constraint {
        let letters = text.trim_matches(|c: char| "=+&% ".contains(c) || c.is_ascii_whitespace());
        match letters {
            "n" | "i" => Constraint::Immediate(self.constants.value(value, self.macros)),
            // nvcc declares them all without a class: `.b32` for a `float`, too.
            _ => match constraints::cuda_register(letters) {
                Some(ty) => Constraint::Register(ty),
                // The same place as another operand.
                None => match letters.parse::<usize>().ok().and_then(|index| operands.get(index)) {
                    Some(operand) => operand.constraint.clone(),
                    None => Constraint::Other,
                },
            },
        }
    }
}

/// What stands in front of the comments at the end of a text.
fn without_comments(text: &str) -> &str {
    /// No comments in front of a symbol are longer.
    const FAR: usize = 4096;
    let mut from = text.len().saturating_sub(FAR);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let mut near = text[from..].trim_end();
    loop {
        let line = near.rfind('\n').map_or(0, |at| at + 1);
        let comment = match near.strip_suffix("*/") {
            Some(inside) => inside.rfind("/*"),
            None => near[line..].find("//").map(|at| line + at),
        };
        let Some(comment) = comment else { break };
        near = near[..comment].trim_end();
    }
    text[..from + near.len()].trim_end()
}

fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}
