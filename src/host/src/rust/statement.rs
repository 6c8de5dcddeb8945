//! What one `asm!` or `ptx_asm!` of Rust is made of.

use super::macros::Made;
use super::tokens::Token;
use super::{is_cuda, is_keyword, piece};
use crate::constraints::cuda_register;
use crate::template::{Backslash, Escapes, Placeholders};
use crate::{Constraint, Language, Machine, Operand, Piece, Statement};
use ptx_text::source::Span;
use ptx_text::types::Type;

/// Reads one statement.
pub(super) struct Reader<'r, I> {
    text: &'r str,
    tokens: &'r mut I,
    keyword: Span,
    is_cuda: bool,
    /// Whether what it says depends on what the parameters of a macro stand for.
    pub(super) depends: bool,
    /// How many operands there are in front of those that such a parameter stands for.
    listed: Option<usize>,
}

/// One argument: its tokens, and of each whether a macro was given it.
struct Argument {
    tokens: Vec<Token>,
    given: Vec<bool>,
    span: Span,
}

impl<'r, I: Iterator<Item = Made>> Reader<'r, I> {
    /// One that has read the keyword.
    pub(super) fn new(text: &'r str, tokens: &'r mut I, keyword: Span) -> Self {
        let is_cuda = is_cuda(&text[keyword.range()]);
        Self { text, tokens, keyword, is_cuda, depends: false, listed: None }
    }

    pub(super) fn statement(&mut self) -> Option<Statement> {
        let Token::Other(b'!', _) = self.next()? else { return None };
        let Token::Other(b'(' | b'[' | b'{', _) = self.next()? else { return None };
        let mut statement = Statement {
            span: self.keyword,
            keyword: self.keyword,
            language: Language::Rust,
            placeholders: if self.is_cuda { Placeholders::DoubledPercent } else { Placeholders::Braces },
            template: Vec::new(),
            operands: Vec::new(),
            // It has effects unless it is said that it has none.
            is_volatile: true,
            clobbers_memory: !self.is_cuda,
            is_convergent: None,
            volatile_keyword: None,
            memory_clobber: None,
            machine: if self.is_cuda { Machine::Ptx } else { Machine::Any },
            is_in_code: true,
        };
        let mut in_template = true;
        loop {
            let (argument, close) = self.argument()?;
            if let Some(argument) = argument {
                in_template &= !self.is_operand(&argument);
                if Self::is_unknown(&argument.tokens) {
                    self.listed = self.listed.or(Some(statement.operands.len()));
                }
                if in_template {
                    self.depends |= argument.given.contains(&true);
                    self.template(&argument, &mut statement.template);
                } else {
                    self.depends |= self.depends_on_given(&argument);
                    self.operand(&argument, &mut statement)?;
                }
            }
            if let Some(close) = close {
                statement.span = self.keyword.to(close);
                break;
            }
        }
        if let Some(listed) = self.listed {
            self.replace_operands(&mut statement, listed);
        }
        // Named ones follow those with numbers, whatever the order that they are written in.
        statement.operands.sort_by_key(|operand| operand.name.is_some());
        Some(statement)
    }

    fn next(&mut self) -> Option<Token> {
        Some(self.made()?.token)
    }

    fn made(&mut self) -> Option<Made> {
        let made = self.tokens.next()?;
        // A statement in a statement: the first one is none.
        let is_statement = matches!(made.token, Token::Word(word) if is_keyword(&self.text[word.range()]));
        (!is_statement).then_some(made)
    }

    /// The next argument, and the bracket that closes them if it is the last.
    fn argument(&mut self) -> Option<(Option<Argument>, Option<Span>)> {
        let mut tokens = Vec::new();
        let mut given = Vec::new();
        let mut depth = 0_usize;
        let close = loop {
            let Made { token, is_given } = self.made()?;
            match token {
                Token::Other(b'(' | b'[' | b'{', _) => depth += 1,
                Token::Other(b')' | b']' | b'}', span) if depth == 0 => break Some(span),
                Token::Other(b')' | b']' | b'}', _) => depth -= 1,
                Token::Other(b',', _) if depth == 0 => break None,
                // No expression goes beyond its statement, but for the bodies in it.
                Token::Other(b';', _) if depth == 0 => return None,
                Token::Word(_) | Token::Literal(_) | Token::Other(..) => {}
            }
            tokens.push(token);
            given.push(is_given);
        };
        let span = self.covering(&tokens);
        Some((span.map(|span| Argument { tokens, given, span }), close))
    }

    /// Where tokens stand: the first of them, with those that are written directly behind it.
    fn covering(&self, tokens: &[Token]) -> Option<Span> {
        let mut covered = tokens.first()?.span();
        for token in &tokens[1..] {
            let next = token.span();
            let between = self.text.get(covered.end as usize..next.start as usize);
            let between = between.map(str::trim_ascii);
            if !between.is_some_and(|it| it.is_empty() || it.starts_with('/')) {
                break;
            }
            covered.end = next.end;
        }
        Some(covered)
    }

    /// Whether an argument is what a parameter stands for that nobody knows: a template, or operands.
    fn is_unknown(tokens: &[Token]) -> bool {
        matches!(tokens.first(), Some(Token::Other(b'$', _)))
    }

    /// Nobody knows how many operands there are behind some, and what they are.
    fn replace_operands(&self, statement: &mut Statement, listed: usize) {
        let unknown = Operand { is_tied: true, ..Operand::new(self.keyword, Constraint::Other, false) };
        let named: Vec<Operand> =
            statement.operands.extract_if(.., |operand| operand.name.is_some()).collect();
        let known = listed.min(statement.operands.len());
        statement.operands.truncate(known);
        let sign = if self.is_cuda { '%' } else { '{' };
        let count = operands_named(self.text, &statement.template, sign).max(known);
        statement.operands.resize(count, unknown);
        statement.operands.extend(named);
    }

    fn word(&self, token: Option<&Token>) -> &str {
        match token {
            Some(Token::Word(span)) => &self.text[span.range()],
            Some(Token::Literal(_) | Token::Other(..)) | None => "",
        }
    }

    /// Whether an argument is not a template.
    fn is_operand(&self, argument: &Argument) -> bool {
        let tokens = &argument.tokens;
        let is_behind = |byte: u8| matches!(tokens.get(1), Some(Token::Other(found, _)) if *found == byte);
        match self.word(tokens.first()) {
            "in" | "out" | "inout" | "lateout" | "inlateout" | "options" | "clobber_abi" | "clobber" => {
                is_behind(b'(')
            }
            "label" => is_behind(b'{'),
            "const" | "sym" => true,
            "" => false,
            _ => is_behind(b'='),
        }
    }

    /// A line of the template, with the end of the one before.
    fn template(&self, argument: &Argument, pieces: &mut Vec<Piece>) {
        if !pieces.is_empty() {
            pieces.push(Piece::Line(argument.span.start));
        }
        self.joined(&argument.tokens, pieces, 0);
    }

    /// What a literal says, or several that `concat!` joins.
    fn joined(&self, tokens: &[Token], pieces: &mut Vec<Piece>, depth: usize) {
        /// Nobody nests them deeper.
        const DEPTH: usize = 4;
        match tokens {
            [] => {}
            [Token::Literal(literal)] => pieces.push(piece(*literal)),
            [Token::Word(word), Token::Other(b'!', _), Token::Other(..), parts @ .., Token::Other(..)]
                if &self.text[word.range()] == "concat" && depth < DEPTH =>
            {
                let mut open = 0_usize;
                let ends = |token: &Token| {
                    match token {
                        Token::Other(b'(' | b'[' | b'{', _) => open += 1,
                        Token::Other(b')' | b']' | b'}', _) => open = open.saturating_sub(1),
                        _ => {}
                    }
                    open == 0 && matches!(token, Token::Other(b',', _))
                };
                parts.split(ends).for_each(|part| self.joined(part, pieces, depth + 1));
            }
            [Token::Word(word), Token::Other(b'!', _), Token::Other(..), named @ .., Token::Other(..)]
                if &self.text[word.range()] == "stringify" =>
            {
                self.spelled(named, pieces);
            }
            // Numbers may stand among what is joined.
            [Token::Other(b'0'..=b'9', number)]
                if depth > 0 && self.text[number.range()].bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                pieces.push(token_piece(*number));
            }
            _ => pieces.extend(self.covering(tokens).map(Piece::Hole)),
        }
    }

    /// What `stringify!` makes of tokens: the blanks that it puts between them are its own.
    fn spelled(&self, tokens: &[Token], pieces: &mut Vec<Piece>) {
        let Some(whole) = self.covering(tokens) else { return };
        let is_plain = |token: &Token| match token {
            Token::Word(_) => true,
            Token::Other(byte, _) => !matches!(byte, b'$' | b'\''),
            Token::Literal(_) => false,
        };
        let len: u32 = tokens.iter().map(|token| token.span().len()).sum();
        let is_as_written = len == whole.len() && tokens.iter().all(is_plain);
        pieces.push(if is_as_written { token_piece(whole) } else { Piece::Hole(whole) });
    }

    /// Whether what an operand is depends on what a macro is given: the value in a register does not matter.
    fn depends_on_given(&self, argument: &Argument) -> bool {
        let tokens = &argument.tokens;
        let name = if matches!(tokens.get(1), Some(Token::Other(b'=', _))) { 2 } else { 0 };
        let head = match self.word(tokens.get(name)) {
            // `in(reg32)`
            "in" | "out" | "inout" | "lateout" | "inlateout" => name + 4,
            _ => tokens.len(),
        };
        argument.given.iter().take(head).any(|is_given| *is_given)
    }

    /// An operand or option. None for what no statement for NVPTX has: other machines have registers of
    /// other classes.
    fn operand(&self, argument: &Argument, statement: &mut Statement) -> Option<()> {
        let tokens = argument.tokens.as_slice();
        let (name, tokens) = match tokens {
            [Token::Word(name), Token::Other(b'=', _), rest @ ..] => {
                (Some(self.text[name.range()].to_owned()), rest)
            }
            _ => (None, tokens),
        };
        let value_from = |index: usize| {
            let value = tokens.get(index..).unwrap_or_default();
            self.covering(value).unwrap_or(argument.span)
        };
        let class = self.word(tokens.first());
        let (constraint, value) = match class {
            "in" | "out" | "inout" if self.is_cuda => {
                let place = value_from(4);
                let number = integer(&self.text[place.range()]).filter(|_| tokens.len() == 5);
                (self.cuda_constraint(tokens.get(2), number), (place, number.is_some()))
            }
            "clobber" if self.is_cuda => {
                // Whatever another one says, it is none of a machine's registers.
                statement.clobbers_memory = true;
                return Some(());
            }
            "in" | "out" | "inout" | "lateout" | "inlateout" => {
                let register = match tokens.get(2) {
                    Some(Token::Literal(_)) | None => "",
                    token => self.word(token),
                };
                let constraint = match register {
                    "reg16" => Constraint::Register(Type::B16),
                    "reg32" => Constraint::Register(Type::B32),
                    "reg64" => Constraint::Register(Type::B64),
                    _ if Self::is_unknown(tokens.get(2..).unwrap_or_default()) => Constraint::Other,
                    _ => return None,
                };
                if matches!(constraint, Constraint::Register(_)) {
                    statement.machine = Machine::Ptx;
                }
                (constraint, (value_from(4), false))
            }
            "const" => {
                let place = value_from(1);
                let is_number = matches!(tokens[1..], [Token::Other(..)] | [Token::Other(b'-', _), _]);
                let value = integer(&self.text[place.range()]).filter(|_| is_number);
                (Constraint::Immediate(value), (place, value.is_some()))
            }
            "sym" => (Constraint::Other, (value_from(1), false)),
            "options" => {
                let has = |option: &str| tokens.iter().any(|token| self.word(Some(token)) == option);
                statement.is_volatile &= !has("pure") && !has("register_only");
                if self.is_cuda {
                    statement.is_convergent = Some(!has("may_diverge"));
                    return Some(());
                }
                statement.clobbers_memory &= !has("nomem") && !has("readonly");
                if has("raw") {
                    statement.placeholders = Placeholders::None;
                }
                return (!has("att_syntax")).then_some(());
            }
            "clobber_abi" | "clobber" => return None,
            // Attributes, and what has no place in a template.
            _ => return Some(()),
        };
        let is_output = class.contains("out");
        let is_tied = class.starts_with("in") && is_output;
        let is_read = class == "in" && matches!(constraint, Constraint::Register(_));
        let known = integer(self.text[value.0.range()].trim()).filter(|_| is_read);
        let operand = Operand::new(argument.span, constraint, is_output);
        statement.operands.push(Operand { value, is_tied, name, known, ..operand });
        Some(())
    }

    /// What `in("r")` and `out("=r")` say; the value of a constant is given.
    fn cuda_constraint(&self, token: Option<&Token>, value: Option<i128>) -> Constraint {
        let Some(Token::Literal(literal)) = token else { return Constraint::Other };
        let letters = self.text[literal.inside.range()].trim_start_matches(['=', '+']);
        match cuda_register(letters) {
            Some(ty) => Constraint::Register(ty),
            None if letters == "n" => Constraint::Immediate(value),
            None => Constraint::Other,
        }
    }
}

/// A token of the code that stands in a template.
fn token_piece(span: Span) -> Piece {
    Piece::Text { span, escapes: Escapes::of(Backslash::Token) }
}

/// How many operands a template is written for: those that it names by their place behind a sign, and `{}` for each
/// in turn.
fn operands_named(text: &str, template: &[Piece], sign: char) -> usize {
    /// No statement has more.
    const MOST: usize = 1024;
    let (mut count, mut implicit) = (0, 0);
    for piece in template {
        let Piece::Text { span, .. } = piece else { continue };
        let mut rest = &text[span.range()];
        while let Some((_, behind)) = rest.split_once(sign) {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            if let Ok(number) = behind[..digits].parse::<usize>() {
                count = count.max(number.saturating_add(1));
            } else if sign == '{' && behind.starts_with(['}', ':']) {
                implicit += 1;
            }
            rest = &behind[usize::from(behind.starts_with(sign))..];
        }
    }
    count.max(implicit).min(MOST)
}

/// A number of Rust.
fn integer(text: &str) -> Option<i128> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let digits = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "usize", "isize"]
        .into_iter()
        .find_map(|suffix| digits.strip_suffix(suffix))
        .unwrap_or(&digits);
    match digits.get(..2) {
        Some("0x") => i128::from_str_radix(&digits[2..], 16).ok(),
        Some("0b") => i128::from_str_radix(&digits[2..], 2).ok(),
        Some("0o") => i128::from_str_radix(&digits[2..], 8).ok(),
        _ => digits.parse().ok(),
    }
}
