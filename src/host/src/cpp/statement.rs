//! What one `asm` statement of C++ is made of.

use super::constants::Constants;
use super::macros::{Macros, Scope, Template};
use super::qualifier;
use super::tokens::{Token, Tokens};
use crate::template::Placeholders;
use crate::{Constraint, Language, Machine, Operand, Piece, Statement, constraints};
use ptx_text::source::Span;

mod branches;
mod draft;
mod symbols;

use draft::{Draft, Section, Written};

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

impl<'r, 's> Reader<'r, 's> {
    /// One that has read the keyword, outside of any macro. The tokens may end before the text does.
    pub(super) fn new(
        text: &'s str,
        tokens: &'r mut Tokens<'s>,
        keyword: Span,
        macros: &'r Macros<'s>,
        constants: &'r mut Constants<'s>,
    ) -> Self {
        Self {
            text,
            tokens,
            macros,
            constants,
            keyword,
            reading: 0,
            readings: 1,
            decisions: 0,
            scope: None,
            place: Some(keyword.start),
            depends: false,
            argument: None,
        }
    }
}

impl<'s> Reader<'_, 's> {
    pub(super) fn statement(&mut self) -> Option<Statement> {
        let mut draft = self.start()?;
        let close = loop {
            let token = self.next()?;
            match (draft.section, token) {
                (_, Token::Other(b')', span)) => break span,
                (_, Token::Other(b':', _)) => draft.next_section(),
                (Section::Template, token) => self.template_token(token, &mut draft)?,
                (Section::Outputs | Section::Inputs, token) => self.operand_token(token, &mut draft)?,
                (Section::Clobbers, token) => self.clobber_token(token, &mut draft)?,
                (Section::Labels, Token::Word(_) | Token::Other(b',', _)) => {}
                // It does not look like a statement.
                (Section::Labels, _) => return None,
            }
        };
        draft.end_operand();
        let Statement { template, is_volatile, .. } = &draft.statement;
        let may_be_symbol = draft.section == Section::Template && !is_volatile;
        if let Some(place) = self.place.filter(|_| may_be_symbol)
            && symbols::is_of_declaration(self.text, place, template)
        {
            return None;
        }
        Some(draft.finish(self.text, close))
    }

    /// What stands between the keyword and the template, with that if the statement stands in the body of a macro.
    fn start(&mut self) -> Option<Draft> {
        let mut is_volatile = self.macros.keyword(&self.text[self.keyword.range()]) == Some(true);
        let open = loop {
            match self.next()? {
                Token::Word(word) => is_volatile |= self.qualifier(&self.text[word.range()])?,
                Token::Other(b'(', open) => break open,
                Token::Literal(_) | Token::Other(..) | Token::Directive(_) => return None,
            }
        };
        let mut draft = Draft::new(Statement {
            span: self.keyword.to(open),
            keyword: self.keyword,
            language: Language::Cpp,
            placeholders: Placeholders::Percent,
            template: Vec::new(),
            operands: Vec::new(),
            is_volatile,
            clobbers_memory: false,
            is_convergent: None,
            volatile_keyword: Some("volatile"),
            memory_clobber: None,
            machine: Machine::Any,
            is_in_code: true,
        });
        if let Some(scope) = self.scope {
            let template = self.template_of_macro(open, scope)?;
            draft.statement.template = template.pieces;
            draft.is_open = template.is_open;
            draft.is_given = template.rest.is_some();
            if template.colons > 0 {
                draft.go_behind(template.colons);
            }
        }
        Some(draft)
    }

    fn template_token(&mut self, token: Token, draft: &mut Draft) -> Option<()> {
        let piece = match token {
            Token::Literal(literal) => literal.piece(),
            Token::Word(word) => {
                let colons = self.named_piece(word, &mut draft.statement.template)?;
                if colons > 0 {
                    draft.go_behind(colons);
                }
                return Some(());
            }
            Token::Other(open @ (b'(' | b'[' | b'{'), span) => Piece::Hole(span.to(self.skip(open)?)),
            Token::Other(_, span) => Piece::Hole(span),
            Token::Directive(_) => return None,
        };
        draft.statement.template.push(piece);
        Some(())
    }

    fn operand_token(&mut self, token: Token, draft: &mut Draft) -> Option<()> {
        if self.is_comma_if_given(token) {
            draft.end_operand();
            return Some(());
        }
        if draft.constraint.is_none() && self.enter(token) {
            draft.is_given = true;
            return Some(());
        }
        let is_in_argument = self.argument.is_some();
        match token {
            Token::Other(b',', _) => draft.end_operand(),
            Token::Other(b'[', open) => {
                let close = self.skip(b'[')?;
                let name = self.text.get(open.end as usize..close.start as usize);
                draft.name = name.map(|it| it.trim().to_owned());
            }
            Token::Literal(literal) => {
                let text = &self.text[literal.inside.range()];
                draft.written(literal.span, is_in_argument).literals.push_str(text);
            }
            Token::Word(word) => self.word_of_operand(word, draft),
            // `"=" LETTER_##TYPE(value)`
            Token::Other(b'#', sign) => draft.written(sign, is_in_argument).has_names = true,
            Token::Other(b'(', open) => self.value_of_operand(open, draft)?,
            // It does not look like a statement.
            Token::Other(..) | Token::Directive(_) => return None,
        }
        Some(())
    }

    /// `__VA_OPT__(,)`: a comma if something stands behind it, where one behind which nothing stands says nothing.
    fn is_comma_if_given(&mut self, token: Token) -> bool {
        let Token::Word(word) = token else { return false };
        if self.scope.is_none() || &self.text[word.range()] != "__VA_OPT__" {
            return false;
        }
        let behind = self.place();
        let is_comma = matches!(self.next(), Some(Token::Other(b'(', _)))
            && matches!(self.next(), Some(Token::Other(b',', _)))
            && matches!(self.next(), Some(Token::Other(b')', _)));
        if !is_comma {
            self.go_to(behind);
        }
        is_comma
    }

    /// Goes on with the argument that starts with a token: the name of a parameter, or `##` and one.
    fn enter(&mut self, token: Token) -> bool {
        match token {
            Token::Word(word) => self.enter_argument(word),
            // `, ##__VA_ARGS__`
            Token::Other(b'#', _) => self.enter_pasted_argument(),
            Token::Literal(_) | Token::Other(..) | Token::Directive(_) => false,
        }
    }

    /// A name in front of the value of an operand.
    fn word_of_operand(&mut self, word: Span, draft: &mut Draft) {
        let name = &self.text[word.range()];
        draft.is_given |= self.scope.is_some_and(|scope| scope.has(name));
        let is_in_argument = self.argument.is_some();
        if let Some(text) = self.macros.literal(name) {
            draft.written(word, is_in_argument).literals.push_str(text);
        } else if draft.constraint.is_none()
            && let Some(operands) = self.operands_of_macro(word, draft.section)
        {
            draft.push_all(operands);
        } else {
            draft.written(word, is_in_argument).has_names = true;
        }
    }

    /// The value of an operand, behind its parenthesis.
    fn value_of_operand(&mut self, open: Span, draft: &mut Draft) -> Option<()> {
        let is_in_argument = self.argument.is_some();
        let close = self.skip(b'(')?;
        let written = draft.constraint.take().unwrap_or_else(|| Written::new(open, is_in_argument));
        if written.is_macro() {
            // It may stand for one operand or for several.
            draft.has_unknown_operands();
        }
        let inside = self.text.get(open.end as usize..close.start as usize).unwrap_or_default();
        let value = inside.trim();
        let at = open.end + (inside.len() - inside.trim_start().len()) as u32;
        let is_number = value.starts_with(|c: char| c.is_ascii_digit());
        let text = Some(written.literals.as_str()).filter(|_| !written.has_names);
        if text.is_some_and(is_of_another_machine) {
            draft.statement.machine = Machine::Other;
        }
        let others = &draft.statement.operands;
        let constraint = match text {
            // What stands in an argument means what it does where the macro is used.
            Some(text) if is_in_argument => self.constraint(text, value, others),
            Some(text) => self.constraint(text, self.value(value), others),
            None => Constraint::Other,
        };
        self.depends |= matches!(constraint, Constraint::Immediate(_))
            && self.scope.is_some_and(|scope| scope.differs(value));
        // `#define READ(constraint, value) asm("..." :: constraint(value))`
        let is_together = written.is_given == is_in_argument;
        let span = if is_together { written.span } else { open }.to(close);
        let is_output = draft.section == Section::Outputs;
        let is_integer = text.is_some_and(|text| matches!(text.trim(), "r" | "l" | "h"));
        // A macro may be used with several values.
        let is_read = is_integer && !is_output && !is_in_argument && self.scope.is_none();
        let known = if is_read { self.constants.computed(value, self.macros) } else { None };
        let name = draft.name.take();
        draft.push(Operand {
            known,
            value: (Span::new(at, at + value.len() as u32), is_number),
            is_tied: text.is_some_and(is_tied),
            name,
            ..Operand::new(span, constraint, is_output)
        });
        Some(())
    }

    fn clobber_token(&mut self, token: Token, draft: &mut Draft) -> Option<()> {
        if self.is_comma_if_given(token) {
            draft.end_clobber();
            return Some(());
        }
        if self.enter(token) {
            draft.is_given = true;
            return Some(());
        }
        match token {
            Token::Literal(literal) => draft.read_clobber(&self.text[literal.inside.range()]),
            Token::Other(b',', _) => draft.end_clobber(),
            Token::Word(_) => {
                // A macro: it may be the one.
                draft.clobbers += 1;
                draft.statement.clobbers_memory = true;
            }
            // `, ##__VA_ARGS__`
            Token::Other(b'#', _) => {}
            // It does not look like a statement.
            Token::Other(..) | Token::Directive(_) => return None,
        }
        Some(())
    }

    /// Goes on with the argument that a name stands for, if it is the name of a parameter and known.
    fn enter_argument(&mut self, word: Span) -> bool {
        let Some(scope) = self.scope.filter(|_| self.argument.is_none()) else { return false };
        let Some(argument) = self.macros.argument(self.text, word, scope) else { return false };
        self.argument = Some(argument);
        self.depends |= scope.differs(&self.text[word.range()]);
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

    /// The template of a statement in the body of a macro.
    fn template_of_macro(&mut self, open: Span, scope: &Scope<'s>) -> Option<Template> {
        let start = open.end;
        let end = loop {
            let behind = self.tokens.at();
            match self.next()? {
                Token::Other(b':' | b')', _) => break behind,
                Token::Other(open @ (b'(' | b'[' | b'{'), _) => {
                    // It may be that of a macro.
                    self.skip_text(open)?;
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
            let is_text = self.macros.takes_arguments(&self.text[word.range()]);
            let end = if is_text { self.skip_text(b'(')? } else { self.skip(b'(')? };
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
