//! The short way for plain statements.
//!
//! Nearly all statements are of the plainest shapes: labels, scopes, `.loc`, declarations of registers, and
//! instructions whose operands are names, numbers, and lists of them in brackets. For them the parser's
//! tables find out what a glance tells. They are read and built here instead, a run of them at a time, and
//! the parser sees two tokens for all: [`Token::RunStart`], which makes it complete what stands before, and
//! [`Token::Run`]. Everything else goes the long way: what turns out not to be plain is taken back. Both
//! ways make the same tree with the same [`Builder`].
//!
//! What it is for: without it a check of 10 MB of compiled kernels takes 1.43 times as many instructions (2 640 million
//! instead of 1 850 million, counted by callgrind) and 1.3 times the processor time. Parsing alone takes 3.6 times as
//! many: each token goes through the structure pass, the lexer, the tables of the parser and its stack of symbols.
//! That is more than a second way would have to save to be worth its lines; should the grammar's way come within a
//! sixth of it, this file goes.
//!
//! From the opening brace of a function to the first mistake in it, and in the statement behind that, a
//! statement starts for the parser where one does for the structure pass. Then the rest of the function
//! goes the long way.

use std::cell::RefCell;

use crate::ast::{BinaryOperator, Guard, Operand, OperandKind, StateSpace, UnaryOperator};
use crate::builder::Builder;
use crate::eight::Eight;
use crate::lexer::{self, Token};
use crate::names::{self, Shape, is_word};
use crate::source::Span;
use crate::structure::{Positioned, Structure};

/// The tokens of a text for the parser, which builds with the same builder.
pub(crate) struct Tokens<'a, 's> {
    structure: &'a mut Structure<'s>,
    builder: &'a RefCell<Builder<'s>>,
    /// Where a run starts that the parser was told of.
    run: Option<u32>,
    /// Whether a run has just ended: what it ended at is not plain.
    ended: bool,
    /// Whether the last token opened a body: for the parser, the first statement there starts at its first
    /// token, and any other one where the one before it ends.
    opened: bool,
    /// Whether the last token opened a list of operands.
    lists: bool,
}

impl<'a, 's> Tokens<'a, 's> {
    pub(crate) fn new(structure: &'a mut Structure<'s>, builder: &'a RefCell<Builder<'s>>) -> Self {
        Self { structure, builder, run: None, ended: false, opened: false, lists: false }
    }

    /// Where the next statement starts, if it looks as if it were plain.
    fn start(&mut self) -> Option<u32> {
        let at = self.structure.statement_start()?;
        let mut cursor = Cursor { text: self.structure.text(), at };
        cursor.blank()?;
        let is_plain = match cursor.byte() {
            b'.' => cursor.is_next(LOC) || cursor.is_next(REG),
            b'}' => self.structure.is_in_scope(),
            b'@' | b'{' | b';' => true,
            byte => has(byte, NAME),
        };
        (is_plain && !self.builder.borrow().is_broken()).then_some(cursor.at as u32)
    }

    /// Builds plain statements as long as there are some; returns where the last one ends. The parser
    /// takes what it cannot read at the first of them to start at `before`.
    fn build(&mut self, before: u32) -> Option<u32> {
        let builder = &mut *self.builder.borrow_mut();
        // Now the parser has said whether the last statement was.
        if builder.is_broken() {
            return None;
        }
        let mut cursor = Cursor { text: self.structure.text(), at: self.structure.statement_start()? };
        let mut end = None;
        while cursor.blank().is_some() {
            let at = cursor.at as u32;
            let brace = Span::new(at, at + 1);
            match cursor.byte() {
                b'{' if self.structure.enter(brace) => {
                    builder.block_open(brace);
                    cursor.at += 1;
                }
                b'}' if self.structure.leave() => {
                    builder.close(brace);
                    cursor.at += 1;
                }
                b'{' | b'}' => break,
                b';' => {
                    let before = end.map_or(before, |end| end as u32);
                    builder.empty(Span::new(at, at + 1), before);
                    cursor.at += 1;
                }
                _ => {
                    let mark = builder.mark();
                    if cursor.statement(builder).is_none() {
                        builder.take_back(mark);
                        break;
                    }
                }
            }
            end = Some(cursor.at);
        }
        self.opened &= end.is_none();
        self.structure.pass_over(end?);
        end.map(|end| end as u32)
    }

    /// Builds the numbers that a list begins with; returns where they stand. What else may stand in a list is
    /// read as always. Tables have thousands of them.
    fn numbers(&mut self) -> Option<Span> {
        let mut cursor = Cursor { text: self.structure.text(), at: self.structure.next_start()? };
        let builder = &mut *self.builder.borrow_mut();
        if builder.is_broken() {
            return None;
        }
        let mut all: Option<Span> = None;
        let mut count = 0;
        while cursor.blank().is_some()
            && let Some(number) = cursor.number()
            && cursor.blank().is_some()
            && matches!(cursor.byte(), b',' | b'}')
        {
            builder.push(number);
            all = Some(all.map_or(number.span(), |all| all.to(number.span())));
            count += 1;
            if !cursor.take(b',') {
                break;
            }
        }
        builder.read_numbers(count);
        self.structure.pass_over_operands(all?.end as usize);
        all
    }
}

impl Iterator for Tokens<'_, '_> {
    type Item = Positioned;

    #[inline]
    fn next(&mut self) -> Option<Positioned> {
        if let Some(start) = self.run.take() {
            let before = if self.opened { start } else { self.structure.last_end() };
            let end = self.build(before).unwrap_or(before);
            self.ended = true;
            return Some(Ok((start, Token::Run, end)));
        }
        self.run = if std::mem::take(&mut self.ended) { None } else { self.start() };
        if let Some(start) = self.run {
            return Some(Ok((start, Token::RunStart, start)));
        }
        if std::mem::take(&mut self.lists)
            && let Some(numbers) = self.numbers()
        {
            return Some(Ok((numbers.start, Token::Numbers, numbers.end)));
        }
        let next = self.structure.next();
        self.opened = matches!(next, Some(Ok((_, Token::BodyOpen, _))));
        self.lists = matches!(next, Some(Ok((_, Token::BraceOpen, _))));
        next
    }
}

/// Of this length opcodes are looked for by their end: none that compilers write is longer.
const LONGEST_OPCODE: usize = 128;
/// Comments up to this length are read by themselves.
const SHORT_COMMENT: usize = 64;

const LOC: &[u8] = b".loc";
const REG: &[u8] = b".reg";
/// How many words a plain declaration has before its names.
const MAX_WORDS: usize = 4;

/// What a byte can be: part of a word, the start of a name, a digit, a hexadecimal digit, a blank.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let it = byte as u8;
        if is_word(it) {
            classes[byte] |= WORD;
        }
        if it.is_ascii_alphabetic() || it == b'_' || it == b'$' || it == b'%' {
            classes[byte] |= NAME;
        }
        if it.is_ascii_digit() {
            classes[byte] |= DIGIT;
        }
        if it.is_ascii_hexdigit() {
            classes[byte] |= HEXADECIMAL;
        }
        if it == b' ' || it == b'\t' || it == b'\r' || it == b'\n' {
            classes[byte] |= BLANK;
        }
        byte += 1;
    }
    classes
};
const WORD: u8 = 1;
const NAME: u8 = 2;
const DIGIT: u8 = 4;
const HEXADECIMAL: u8 = 8;
const BLANK: u8 = 16;

#[inline]
fn has(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

/// A place in the text. It reads tokens as the lexer would, and nothing where it is not sure that it does.
#[derive(Clone, Copy)]
struct Cursor<'s> {
    text: &'s str,
    at: usize,
}

impl Cursor<'_> {
    /// The byte at a distance; 0, which no text has, behind the end.
    #[inline]
    fn peek(&self, distance: usize) -> u8 {
        self.text.as_bytes().get(self.at + distance).copied().unwrap_or(0)
    }

    #[inline]
    fn byte(&self) -> u8 {
        self.peek(0)
    }

    #[inline]
    fn skip(&mut self, class: u8) {
        while has(self.byte(), class) {
            self.at += 1;
        }
    }

    /// Goes on if `byte` is next.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.byte() == byte;
        self.at += usize::from(found);
        found
    }

    /// Passes over white space and comments.
    #[inline]
    fn blank(&mut self) -> Option<()> {
        loop {
            self.skip(BLANK);
            if self.byte() != b'/' {
                return Some(());
            }
            self.comment()?;
        }
    }

    /// Passes over a comment.
    #[inline(never)]
    fn comment(&mut self) -> Option<()> {
        if self.peek(1) == b'/' {
            let limit = self.at + SHORT_COMMENT;
            while self.at < limit {
                let Some(eight) = Eight::at(self.text, self.at) else { break };
                // Mostly one of the two that end a line.
                let before = eight.first_below(b'\r' + 1).before();
                self.at += before;
                if before < Eight::LEN {
                    break;
                }
            }
            if matches!(self.byte(), b'\n' | b'\r') {
                return Some(());
            }
            self.at += lexer::rest_of_line(self.text.get(self.at..)?).len();
            return Some(());
        }
        self.at += lexer::comment_len(&self.text[self.at..])?;
        Some(())
    }

    /// Whether a directive is next: this word, and no longer one.
    fn is_next(&self, word: &[u8]) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        rest.starts_with(word) && rest.get(word.len()).is_some_and(|byte| has(*byte, BLANK))
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }

    /// A word without dots.
    #[inline]
    fn identifier(&mut self) -> Option<Span> {
        let start = self.at;
        let first = self.byte();
        if !has(first, NAME) || !first.is_ascii_alphabetic() && !has(self.peek(1), WORD) {
            return None;
        }
        self.at += 1;
        self.skip(WORD);
        Some(self.span_from(start))
    }

    /// A word with its dots, if it has some.
    #[inline]
    fn name(&mut self) -> Option<Span> {
        let word = self.identifier()?;
        Some(self.dots(word))
    }

    /// A word with the dots that follow it.
    #[inline]
    fn dots(&mut self, word: Span) -> Span {
        if self.byte() == b'.' && has(self.peek(1), WORD) {
            loop {
                let colons = match (self.byte(), self.peek(1)) {
                    (b'.', _) => 1,
                    (b':', b':') => 2,
                    (b':', _) => 1,
                    _ => break,
                };
                if !has(self.peek(colons), WORD) {
                    break;
                }
                self.at += colons;
                self.skip(WORD);
            }
        }
        self.span_from(word.start as usize)
    }

    /// An opcode that was met of late, with its number, if a blank or `;` ends it.
    #[inline]
    fn recent_opcode(&mut self, builder: &Builder<'_>) -> Option<(Span, u32)> {
        let mut end = self.at;
        let limit = end + LONGEST_OPCODE;
        while end < limit {
            let eight = Eight::at(self.text, end)?;
            let before = eight.first_below(b' ' + 1).or(eight.first(b';')).before();
            end += before;
            if before < Eight::LEN {
                let opcode = Span::new(self.at as u32, end as u32);
                let number = builder.recent(opcode)?;
                self.at = end;
                return Some((opcode, number));
            }
        }
        None
    }

    /// `%` and a short word without dots behind it, as most registers are called.
    #[inline]
    fn short_name(&mut self) -> Option<Operand> {
        let (length, shape) = names::short(self.text, self.at)?;
        let start = self.at;
        self.at += length as usize;
        Some(Operand::name(shape, self.span_from(start)))
    }

    /// Passes over decimal digits, of which one is next; the number that they write, if it is a short one.
    #[inline]
    fn digits(&mut self) -> u32 {
        if let Some(eight) = Eight::at(self.text, self.at).filter(|eight| eight.is_ascii()) {
            let length = eight.all_between(b'0', b'9').run();
            if length < Eight::LEN as u32 {
                self.at += length as usize;
                return eight.decimal(length);
            }
        }
        let mut number = 0_u32;
        while has(self.byte(), DIGIT) {
            number = number.wrapping_mul(10).wrapping_add(u32::from(self.byte() - b'0'));
            self.at += 1;
        }
        number
    }

    /// A number that nothing stands directly behind that might belong to it.
    #[inline]
    fn number(&mut self) -> Option<Operand> {
        /// So many decimal digits always fit.
        const SHORT: usize = 9;
        let start = self.at;
        let first = self.byte();
        let mut value = None;
        let mut is_float = false;
        if first == b'0' && has(self.peek(1), WORD) && !has(self.peek(1), DIGIT) {
            let digits = match self.peek(1) {
                b'x' | b'X' => None,
                b'f' | b'F' => Some(8),
                b'd' | b'D' => Some(16),
                _ => return None,
            };
            self.at += 2;
            let from = self.at;
            self.skip(HEXADECIMAL);
            if self.at == from || digits.is_some_and(|digits| self.at - from != digits) {
                return None;
            }
            is_float = digits.is_some();
        } else {
            if !has(first, DIGIT) {
                return None;
            }
            let number = self.digits();
            let length = self.at - start;
            // A leading zero makes it octal.
            value = (length == 1 || length <= SHORT && first != b'0').then_some(number);
        }
        if has(self.byte(), WORD) || self.byte() == b'.' {
            return None;
        }
        let span = self.span_from(start);
        Some(if is_float { Operand::new(OperandKind::Float, span) } else { Operand::integer(value, span) })
    }

    /// A whole integer of a directive, and the blanks behind it.
    fn integer(&mut self) -> Option<Span> {
        let span = self.number_at_end()?;
        self.blank()?;
        Some(span)
    }

    /// A label, a directive or an instruction.
    #[inline]
    fn statement(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        let start = self.at;
        let mut guard = None;
        match self.byte() {
            b'.' if self.is_next(LOC) => return self.location(builder),
            b'.' if self.is_next(REG) => return self.registers(builder),
            b'@' => {
                self.at += 1;
                self.blank()?;
                let negated = self.take(b'!');
                self.blank()?;
                guard = Some(Guard { negated, name: self.name()? });
                self.blank()?;
            }
            _ => {}
        }
        let (opcode, number) = match self.recent_opcode(builder) {
            Some((opcode, number)) => (opcode, Some(number)),
            None => (self.name()?, None),
        };
        self.blank()?;
        let count = match self.byte() {
            b':' if guard.is_none() && !self.text.get(opcode.range())?.contains('.') => {
                self.at += 1;
                builder.label(opcode);
                return Some(());
            }
            b';' => 0,
            _ => self.operands(builder)?,
        };
        if !self.take(b';') {
            return None;
        }
        let span = self.span_from(start);
        match number {
            Some(number) => builder.numbered(guard, (opcode, number), count, span),
            None => builder.instruction(guard, opcode, count, span),
        }
        Some(())
    }

    /// Operands with commas between them, and the blanks behind them; returns how many.
    #[inline]
    fn operands(&mut self, builder: &mut Builder<'_>) -> Option<u32> {
        let mut count = 0;
        loop {
            self.operand(builder)?;
            count += 1;
            self.blank()?;
            if !self.take(b',') {
                return Some(count);
            }
            self.blank()?;
        }
    }

    #[inline]
    fn operand(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        let start = self.at;
        match self.byte() {
            b'[' => {
                self.at += 1;
                self.blank()?;
                self.address(start, builder)?;
            }
            b'{' => {
                let count = self.elements(b'}', builder)?;
                builder.group(OperandKind::Vector, count, self.span_from(start));
            }
            b'(' => {
                let count = self.elements(b')', builder)?;
                builder.group(OperandKind::List, count, self.span_from(start));
            }
            b'!' => {
                self.at += 1;
                self.blank()?;
                self.named(builder)?;
                builder.unary(UnaryOperator::Not, self.span_from(start));
            }
            _ => {
                // Mostly the next operand follows, or the end.
                if self.element(builder)? && !matches!(self.byte(), b',' | b';') {
                    let mut next = *self;
                    next.blank()?;
                    if next.byte() == b'|' {
                        *self = next;
                        return self.pair(builder);
                    }
                }
            }
        }
        Some(())
    }

    /// What stands behind the name in `p|q`.
    fn pair(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        self.at += 1;
        self.blank()?;
        builder.operator(BinaryOperator::Or);
        self.named(builder)?;
        builder.fold(1);
        Some(())
    }

    /// A name.
    fn named(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        let name = self.any_name()?;
        builder.push(name);
        Some(())
    }

    /// A word with its dots, if it has some.
    #[inline]
    fn any_name(&mut self) -> Option<Operand> {
        match self.short_name() {
            Some(name) => Some(name),
            None => self.long_name(),
        }
    }

    fn long_name(&mut self) -> Option<Operand> {
        let first = self.byte();
        let word = self.identifier()?;
        let name = self.dots(word);
        let shape = if first == b'%' && name == word { Shape::PLAIN } else { Shape::OTHER };
        Some(Operand::name(shape, name))
    }

    /// A name or a number, or `_`; returns whether it is a name.
    #[inline]
    fn element(&mut self, builder: &mut Builder<'_>) -> Option<bool> {
        if let Some(name) = self.short_name() {
            builder.push(name);
            return Some(true);
        }
        let byte = self.byte();
        if has(byte, DIGIT) {
            let number = self.number()?;
            builder.push(number);
            return Some(false);
        }
        if byte == b'-' {
            self.negative(builder)?;
            return Some(false);
        }
        if byte == b'_' && !has(self.peek(1), WORD) {
            self.at += 1;
            builder.leaf(OperandKind::Sink, self.span_from(self.at - 1));
            return Some(false);
        }
        let name = self.long_name()?;
        builder.push(name);
        Some(true)
    }

    fn negative(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        let start = self.at;
        self.at += 1;
        self.blank()?;
        let number = self.number()?;
        builder.push(number);
        builder.unary(UnaryOperator::Negate, self.span_from(start));
        Some(())
    }

    /// `[a]`, `[a+4]` and `[a, {x, y}]`, behind the bracket at `start`.
    #[inline]
    fn address(&mut self, start: usize, builder: &mut Builder<'_>) -> Option<()> {
        let base = self.any_name()?;
        self.blank()?;
        if !self.take(b'+') {
            if self.take(b']') {
                builder.address(base, None, self.span_from(start));
                return Some(());
            }
            builder.push(base);
            return self.parts(start, builder);
        }
        self.blank()?;
        if self.byte() == b'-' {
            builder.push(base);
            builder.operator(BinaryOperator::Add);
            self.negative(builder)?;
            builder.fold(1);
            self.blank()?;
            return self.parts(start, builder);
        }
        let offset = self.number()?;
        self.blank()?;
        if self.take(b']') {
            builder.address(base, Some(offset), self.span_from(start));
            return Some(());
        }
        builder.push(base);
        builder.operator(BinaryOperator::Add);
        builder.push(offset);
        builder.fold(1);
        self.parts(start, builder)
    }

    /// The other parts of an address, behind its first one, and its bracket.
    fn parts(&mut self, start: usize, builder: &mut Builder<'_>) -> Option<()> {
        let mut count = 1;
        while self.take(b',') {
            self.blank()?;
            if self.byte() == b'{' {
                let start = self.at;
                let elements = self.elements(b'}', builder)?;
                builder.group(OperandKind::Vector, elements, self.span_from(start));
            } else {
                self.element(builder)?;
            }
            count += 1;
            self.blank()?;
        }
        if !self.take(b']') {
            return None;
        }
        builder.group(OperandKind::Address, count, self.span_from(start));
        Some(())
    }

    /// A list of names and numbers with its brackets; returns how many.
    #[inline]
    fn elements(&mut self, close: u8, builder: &mut Builder<'_>) -> Option<u32> {
        self.at += 1;
        self.blank()?;
        if self.take(close) {
            return Some(0);
        }
        let mut count = 0;
        loop {
            self.element(builder)?;
            count += 1;
            self.blank()?;
            if !self.take(b',') {
                return self.take(close).then_some(count);
            }
            self.blank()?;
        }
    }

    /// `.loc 1 20 3, function_name $L__info_string0, inlined_at 1 20 3`
    fn location(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        let start = self.at;
        self.at += LOC.len();
        self.blank()?;
        let place = [self.integer()?, self.integer()?, self.number_at_end()?];
        let mut end = self.at;
        self.blank()?;
        let inlined = self.take(b',');
        if inlined {
            self.blank()?;
            self.identifier()?;
            self.blank()?;
            let (mut name, mut offset) = (None, None);
            if !has(self.byte(), DIGIT) {
                name = Some(self.identifier()?);
                self.blank()?;
                if self.take(b'+') {
                    self.blank()?;
                    offset = Some(self.integer()?);
                }
                if !self.take(b',') {
                    return None;
                }
                self.blank()?;
                self.identifier()?;
                self.blank()?;
            }
            let caller = [self.integer()?, self.integer()?, self.number_at_end()?];
            end = self.at;
            self.blank()?;
            builder.inlined(name, offset, caller);
        }
        // The next word ends the directive; what else stands there may be a mistake in it.
        let ends = match self.byte() {
            b'{' | b'}' | b'@' => true,
            b'.' => has(self.peek(1), WORD) && !has(self.peek(1), DIGIT),
            byte => byte.is_ascii_alphabetic() || has(byte, NAME) && has(self.peek(1), WORD),
        };
        if !ends {
            return None;
        }
        self.at = end;
        builder.location(place, inlined, self.span_from(start));
        Some(())
    }

    /// An integer without what stands behind it.
    fn number_at_end(&mut self) -> Option<Span> {
        self.number().filter(|number| number.kind() == OperandKind::Integer).map(|number| number.span())
    }

    /// `.reg .b32 %r<10>, x;`
    fn registers(&mut self, builder: &mut Builder<'_>) -> Option<()> {
        let start = self.at;
        self.at += REG.len();
        self.blank()?;
        builder.specify(None, StateSpace::Reg);
        for _ in 0..MAX_WORDS {
            if self.byte() != b'.' {
                break;
            }
            let word = self.at;
            self.at += 1;
            self.skip(WORD);
            // A colon would belong to the word.
            if self.byte() == b':' || !builder.type_word(self.span_from(word)) {
                return None;
            }
            self.blank()?;
        }
        loop {
            let name = self.identifier()?;
            if self.byte() == b'.' {
                return None;
            }
            self.blank()?;
            let mut count = None;
            if self.take(b'<') {
                self.blank()?;
                count = Some(self.integer()?);
                if !self.take(b'>') {
                    return None;
                }
                self.blank()?;
            }
            builder.declarator(name, count, 0, false);
            if !self.take(b',') {
                break;
            }
            self.blank()?;
        }
        if !self.take(b';') {
            return None;
        }
        builder.declare(self.span_from(start));
        Some(())
    }
}
