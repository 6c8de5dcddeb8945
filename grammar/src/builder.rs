//! What the grammar's actions call. Each action is one call; the logic is here.
//!
//! Operands are collected on a stack while a statement is parsed, because the parts of a vector
//! or an address come before the whole. A finished list moves from the stack into the arena in
//! one piece, so that every list is contiguous there.

use lalrpop_util::ErrorRecovery;

use crate::ast::{
    BinaryOperator, CastType, Declaration, Declarator, Directive, File, Function, Guard, Header, Inlined,
    Linkage, Location, Module, Operand, OperandKind, Pointer, RawInstruction, Section, Slice, StateSpace,
    Statement, StatementKind, Type, UnaryOperator,
};
use crate::lexer::Token;
use crate::literal;
use crate::names::Shape;
use crate::opcodes::Opcodes;
use crate::parser::SyntaxError;
use crate::source::Span;

/// Operators in one expression without parentheses.
const MAX_OPERATORS: u32 = 256;

pub(crate) type Recovery = ErrorRecovery<u32, Token, std::convert::Infallible>;

/// File, line and column of a `.loc`.
pub(crate) type Place = [Span; 3];

pub(crate) struct Builder<'s> {
    text: &'s str,
    pub(crate) module: Module,
    pub(crate) errors: Vec<SyntaxError>,
    is_broken: bool,
    opcodes: Opcodes<'s>,
    stack: Vec<Operand>,
    /// How many numbers of a list were built by themselves last.
    numbers: u32,
    operators: Vec<BinaryOperator>,
    /// The tail of the `.loc` under way.
    inlined: Inlined,
    /// The declaration under way.
    specifier: Specifier,
    /// Functions and scopes that are open: the statement that opened each.
    scopes: Vec<u32>,
    /// The header under way.
    returns: Slice,
    parameters: Slice,
}

/// How much of the tree there was before a statement.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    operands: usize,
    declarators: usize,
    inlined: usize,
}

#[derive(Clone, Copy)]
struct Specifier {
    linkage: Option<Linkage>,
    space: StateSpace,
    ty: Option<Type>,
    vector: u8,
    align: Option<u32>,
    pointer: Option<Pointer>,
    first: u32,
}

/// How much room a tree needs, from samples of the text, so that the arenas of a large one need not
/// be moved. Room that is not used is not touched either, so that it costs nothing.
struct Estimate {
    statements: usize,
    instructions: usize,
    operands: usize,
}

impl Estimate {
    const SAMPLE: usize = 512;
    const SAMPLES: usize = 256;

    /// By byte: by how much it adds to the lines, the ends of statements and the operands, `BITS` for each.
    const COUNTS: [u64; 256] = {
        let mut counts = [0; 256];
        counts[b'\n' as usize] = 1;
        counts[b';' as usize] = 1 << Self::BITS;
        let one = 1 << (2 * Self::BITS);
        counts[b',' as usize] = one;
        counts[b'[' as usize] = one;
        counts[b'{' as usize] = one;
        counts[b'(' as usize] = one;
        counts[b'@' as usize] = one;
        counts[b'+' as usize] = 2 * one;
        counts
    };
    /// A sample has less than so many of each.
    const BITS: u32 = 16;
    const COUNT: u64 = (1 << Self::BITS) - 1;

    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let step = (bytes.len() / Self::SAMPLES).max(Self::SAMPLE);
        let (mut seen, mut lines, mut ends, mut operands) = (0, 0, 0, 0);
        for sample in bytes.chunks(step) {
            let sample = &sample[..sample.len().min(Self::SAMPLE)];
            seen += sample.len();
            let counts: u64 = sample.iter().map(|byte| Self::COUNTS[usize::from(*byte)]).sum();
            lines += (counts & Self::COUNT) as usize;
            ends += (counts >> Self::BITS & Self::COUNT) as usize;
            operands += (counts >> (2 * Self::BITS)) as usize;
        }
        // What is not sampled differs somewhat from what is.
        let scale =
            |count: usize| (count as u64 * bytes.len() as u64 / seen.max(1) as u64 * 9 / 8) as usize + 16;
        // Labels, scopes and directives have a line without `;`; some lines are empty.
        Self {
            statements: scale(ends.max(lines.min(ends * 3 / 2))),
            instructions: scale(ends),
            operands: scale(operands + ends),
        }
    }
}

/// Makes room in an arena of the tree that is full after all. What the text up to `at` took tells what
/// the rest will take: doubling would leave half of it unused.
#[cold]
fn grow<T>(arena: &mut Vec<T>, at: u32, text: &str) {
    /// The part of the text that has to be read before it speaks for the rest.
    const PART: u64 = 8;
    let (len, at, total) = (arena.len() as u64, u64::from(at).max(1), text.len() as u64);
    let rest = len * total.saturating_sub(at) / at;
    let most = if at >= total / PART { rest } else { len };
    // A little more than expected, and never so little that growing is what takes the time.
    let expected = rest.min(most);
    let more = expected + expected / 16 + len / 8 + 16;
    arena.reserve_exact(more as usize);
}

/// Appends to an arena of the tree what the text has at `at`.
#[inline]
fn append<T>(arena: &mut Vec<T>, item: T, at: u32, text: &str) {
    if arena.len() == arena.capacity() {
        grow(arena, at, text);
    }
    arena.push(item);
}

impl<'s> Builder<'s> {
    /// A builder of what `text` says, with room for the tree of `sized_for`.
    pub(crate) fn new(text: &'s str, sized_for: &str) -> Self {
        let Estimate { statements, instructions, operands } = Estimate::of(sized_for);
        let module = Module {
            statements: Vec::with_capacity(statements),
            instructions: Vec::with_capacity(instructions),
            operands: Vec::with_capacity(operands),
            ..Module::default()
        };
        Self {
            text,
            module,
            errors: Vec::new(),
            is_broken: false,
            opcodes: Opcodes::new(text),
            stack: Vec::new(),
            numbers: 0,
            operators: Vec::new(),
            specifier: Specifier {
                linkage: None,
                space: StateSpace::Reg,
                ty: None,
                vector: 1,
                align: None,
                pointer: None,
                first: 0,
            },
            inlined: Inlined { function_name: None, offset: 0, file: 0, line: 0, column: 0 },
            scopes: Vec::new(),
            returns: Slice::default(),
            parameters: Slice::default(),
        }
    }

    fn slice(&self, span: Span) -> &'s str {
        self.text.get(span.range()).unwrap_or_default()
    }

    #[inline]
    fn statement(&mut self, kind: StatementKind, span: Span) {
        let statement = Statement::new(kind, span);
        if statement.is_none() {
            self.too_many(span);
        }
        let statement = statement.unwrap_or(Statement::broken(span));
        append(&mut self.module.statements, statement, span.end, self.text);
    }

    #[cold]
    fn too_many(&mut self, span: Span) {
        if !self.errors.iter().any(|error| matches!(error, SyntaxError::TooMany { .. })) {
            self.errors.push(SyntaxError::TooMany { span });
        }
    }

    // ---- what is read twice ----

    /// What the tree has before a statement.
    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        let Module { operands, declarators, inlined, .. } = &self.module;
        Mark { operands: operands.len(), declarators: declarators.len(), inlined: inlined.len() }
    }

    /// Forgets what was read of a statement since then.
    pub(crate) fn take_back(&mut self, mark: Mark) {
        self.stack.clear();
        self.operators.clear();
        self.module.operands.truncate(mark.operands);
        self.module.declarators.truncate(mark.declarators);
        self.module.inlined.truncate(mark.inlined);
    }

    // ---- operands ----

    pub(crate) fn leaf(&mut self, kind: OperandKind, span: Span) {
        match kind {
            OperandKind::Name => self.push(Operand::name(Shape::of(self.text, span), span)),
            _ => self.constant(kind, span),
        }
    }

    /// So many numbers of a list are built.
    pub(crate) fn read_numbers(&mut self, count: u32) {
        self.numbers = count;
    }

    /// How many numbers were built last.
    pub(crate) fn numbers(&self) -> u32 {
        self.numbers
    }

    /// A number, or another leaf that is no name.
    #[inline]
    fn constant(&mut self, kind: OperandKind, span: Span) {
        self.stack.push(match kind {
            OperandKind::Integer => Operand::integer(literal::small(self.text, span), span),
            _ => Operand::new(kind, span),
        });
    }

    /// A name or a number that is read already.
    #[inline]
    pub(crate) fn push(&mut self, operand: Operand) {
        self.stack.push(operand);
    }

    /// Moves the last `count` operands from the stack into the arena.
    #[inline]
    fn settle(&mut self, count: u32) -> Slice {
        let start = self.module.operands.len() as u32;
        if count == 0 {
            return Slice { start, len: 0 };
        }
        let from = self.stack.len() - count as usize;
        if self.module.operands.capacity() - self.module.operands.len() < count as usize
            && let Some(last) = self.stack.last()
        {
            grow(&mut self.module.operands, last.span().end, self.text);
        }
        // Mostly too few for it to pay to copy them in one piece.
        self.module.operands.extend(self.stack[from..].iter().copied());
        self.stack.truncate(from);
        Slice { start, len: count }
    }

    /// Replaces the last `count` operands by one that holds them.
    #[inline]
    pub(crate) fn group(&mut self, kind: fn(Slice) -> OperandKind, count: u32, span: Span) {
        let slice = self.settle(count);
        if count > Operand::MAX_PARTS {
            self.too_many(span);
            return self.leaf(OperandKind::Sink, span);
        }
        self.leaf(kind(slice), span);
    }

    /// `[base]` or `[base+offset]`, as most addresses are: what [`Builder::push`], [`Builder::fold`] and
    /// [`Builder::group`] would make of it.
    #[inline]
    pub(crate) fn address(&mut self, base: Operand, offset: Option<Operand>, span: Span) {
        let operands = &mut self.module.operands;
        if operands.capacity() - operands.len() < 3 {
            grow(operands, span.end, self.text);
        }
        let start = operands.len() as u32;
        operands.push(base);
        let mut whole = start;
        if let Some(offset) = offset {
            operands.push(offset);
            let sum = OperandKind::Binary(BinaryOperator::Add, Slice { start, len: 2 });
            operands.push(Operand::new(sum, base.span().to(offset.span())));
            whole += 2;
        }
        self.stack.push(Operand::new(OperandKind::Address(Slice { start: whole, len: 1 }), span));
    }

    pub(crate) fn unary(&mut self, operator: UnaryOperator, span: Span) {
        let slice = self.settle(1);
        self.leaf(OperandKind::Unary(operator, slice), span);
    }

    /// Forgets the last `count` operands.
    pub(crate) fn forget(&mut self, count: u32) {
        self.stack.truncate(self.stack.len() - count as usize);
    }

    pub(crate) fn cast(&mut self, ty: Span, span: Span) {
        let ty = match self.slice(ty) {
            ".u64" => CastType::U64,
            ".s64" => CastType::S64,
            _ => CastType::Unknown,
        };
        let slice = self.settle(1);
        self.leaf(OperandKind::Cast(ty, slice), span);
    }

    #[inline]
    pub(crate) fn operator(&mut self, operator: BinaryOperator) {
        self.operators.push(operator);
    }

    /// Makes a tree of the last `count` operators and the `count + 1` operands between them.
    pub(crate) fn fold(&mut self, count: u32) {
        if count == 1
            && let Some(operator) = self.operators.pop()
        {
            return self.combine(operator);
        }
        let operators = self.operators.split_off(self.operators.len() - count as usize);
        if count > MAX_OPERATORS {
            // A tree this deep would overflow the stack of whoever walks it.
            let operands = self.stack.split_off(self.stack.len() - count as usize - 1);
            let span = operands.iter().fold(operands[0].span(), |span, operand| span.to(operand.span()));
            self.errors.push(SyntaxError::TooDeep { span, limit: MAX_OPERATORS });
            return self.leaf(OperandKind::Sink, span);
        }
        // Precedence climbing over the flat list; `pending` holds operators that wait for
        // tighter ones on their right.
        let mut rest = self.stack.split_off(self.stack.len() - count as usize).into_iter();
        let mut pending: Vec<BinaryOperator> = Vec::new();
        for operator in operators {
            while let Some(&top) = pending.last() {
                let right_associative = operator == BinaryOperator::Question;
                if top.precedence() > operator.precedence()
                    || (top.precedence() == operator.precedence() && !right_associative)
                {
                    pending.pop();
                    self.combine(top);
                } else {
                    break;
                }
            }
            pending.push(operator);
            self.stack.extend(rest.next());
        }
        while let Some(top) = pending.pop() {
            self.combine(top);
        }
    }

    fn combine(&mut self, operator: BinaryOperator) {
        let slice = self.settle(2);
        let [left, right] = self.module.operands(slice) else { return };
        let (left, right) = (*left, *right);
        let span = left.span().to(right.span());
        // `a ? b : c` arrives as `(a ? b) : c`.
        if let (BinaryOperator::Colon, OperandKind::Binary(BinaryOperator::Question, inner)) =
            (operator, left.kind())
        {
            let parts = [
                self.module.operands[inner.start as usize],
                self.module.operands[inner.start as usize + 1],
                right,
            ];
            self.stack.extend(parts);
            self.group(OperandKind::Conditional, 3, span);
        } else {
            self.leaf(OperandKind::Binary(operator, slice), span);
        }
    }

    // ---- statements ----

    pub(crate) fn instruction(&mut self, guard: Option<Guard>, opcode: Span, count: u32, span: Span) {
        let number = self.opcodes.number(opcode, &mut self.module.opcodes);
        self.numbered(guard, (opcode, number), count, span);
    }

    /// The number of what stands at a place, if that is an opcode that was met of late.
    #[inline]
    pub(crate) fn recent(&self, opcode: Span) -> Option<u32> {
        self.opcodes.recent(opcode, &self.module.opcodes).ok()
    }

    /// An instruction with an opcode whose number is known.
    #[inline]
    pub(crate) fn numbered(&mut self, guard: Option<Guard>, opcode: (Span, u32), count: u32, span: Span) {
        let (opcode, number) = opcode;
        if let Some(guard) = guard {
            self.module.operands.push(Operand::guard(guard));
        }
        let operands = self.settle(count);
        if guard.is_some() && count == 0 {
            // So that the guard does not stand before the operands of the next instruction.
            self.module.operands.push(Operand::new(OperandKind::Sink, Span::at(span.end)));
        }
        let index = self.module.instructions.len() as u32;
        let instruction = RawInstruction { opcode, number, operands };
        append(&mut self.module.instructions, instruction, span.end, self.text);
        self.statement(StatementKind::Instruction(index), span);
    }

    pub(crate) fn label(&mut self, span: Span) {
        self.statement(StatementKind::Label, span);
    }

    pub(crate) fn list(&mut self, kind: fn(u32) -> StatementKind, count: u32, span: Span) {
        let slice = self.settle(count);
        append(&mut self.module.lists, slice, span.end, self.text);
        self.statement(kind((self.module.lists.len() - 1) as u32), span);
    }

    /// A number that is not meant to be large.
    fn value(&self, span: Span) -> u32 {
        literal::small(self.text, span).unwrap_or_else(|| {
            literal::integer(self.slice(span)).and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX)
        })
    }

    pub(crate) fn file(&mut self, index: Span, name: Span, stamp: Option<(Span, Span)>, span: Span) {
        let long = |span| literal::integer(self.slice(span)).unwrap_or(u64::MAX);
        let stamp = stamp.map(|(time, size)| (long(time), long(size)));
        self.module.files.push(File { index: self.value(index), name, stamp });
        self.statement(StatementKind::File((self.module.files.len() - 1) as u32), span);
    }

    pub(crate) fn section(&mut self, name: Span, data: Span, span: Span) {
        self.module.sections.push(Section { name, data });
        self.statement(StatementKind::Section((self.module.sections.len() - 1) as u32), span);
    }

    pub(crate) fn location(&mut self, [file, line, column]: Place, inlined: bool, span: Span) {
        let inlined = inlined.then(|| {
            self.module.inlined.push(self.inlined);
            (self.module.inlined.len() - 1) as u32
        });
        let [file, line, column] = [file, line, column].map(|span| self.value(span));
        append(&mut self.module.locations, Location { file, line, column, inlined }, span.end, self.text);
        self.statement(StatementKind::Loc((self.module.locations.len() - 1) as u32), span);
    }

    /// The tail of a `.loc`.
    pub(crate) fn inlined(&mut self, name: Option<Span>, offset: Option<Span>, [file, line, column]: Place) {
        self.inlined = Inlined {
            function_name: name,
            offset: offset.map_or(0, |span| self.value(span)),
            file: self.value(file),
            line: self.value(line),
            column: self.value(column),
        };
    }

    pub(crate) fn header(&mut self, kind: StatementKind, keyword: Span, count: u32, span: Span) {
        let operands = self.settle(count);
        let header = Header { keyword, operands, statement: self.module.statements.len() as u32 };
        match kind {
            StatementKind::Version => self.module.versions.push(header),
            StatementKind::Target => self.module.targets.push(header),
            _ => self.module.address_sizes.push(header),
        }
        self.statement(kind, span);
    }

    pub(crate) fn block_open(&mut self, span: Span) {
        self.scopes.push(self.module.statements.len() as u32);
        self.statement(StatementKind::BlockOpen, span);
    }

    pub(crate) fn unknown_function_open(&mut self, span: Span) {
        self.is_broken = false;
        self.scopes.push(self.module.statements.len() as u32);
        self.statement(StatementKind::UnknownFunctionOpen, span);
    }

    pub(crate) fn close(&mut self, span: Span) {
        let opened = self.scopes.pop().unwrap_or_default();
        let kind = match self.module.statements.get(opened as usize).map(Statement::kind) {
            Some(StatementKind::FunctionOpen(index)) => {
                let start = opened + 1;
                let len = self.module.statements.len() as u32 - start;
                self.module.functions[index as usize].body = Slice { start, len };
                StatementKind::FunctionClose
            }
            Some(StatementKind::UnknownFunctionOpen) => StatementKind::FunctionClose,
            _ => StatementKind::BlockClose,
        };
        self.statement(kind, span);
    }

    /// A statement or header that did not parse; whatever it left for its end is dropped, so that
    /// the next one does not take it for its own.
    pub(crate) fn broken(&mut self, recovery: Recovery, span: Span) {
        self.errors.extend(SyntaxError::from_recovery(recovery, self.text));
        self.is_broken = true;
        self.leave_out(span);
    }

    /// A `;` where a statement is due. It is as wrong as what else does not parse, but takes no
    /// recovery, which is slow, and there may be very many. What is left out starts at `start`,
    /// as after a recovery.
    #[cold]
    pub(crate) fn empty(&mut self, span: Span, start: u32) {
        self.errors.push(SyntaxError::Unexpected { span, expected: vec!["an instruction"] });
        self.leave_out(Span::new(start, span.end));
    }

    /// Leaves out what was read of a broken statement.
    fn leave_out(&mut self, span: Span) {
        self.stack.clear();
        self.operators.clear();
        self.returns = Slice::default();
        self.parameters = Slice::default();
        self.statement(StatementKind::Broken, span);
    }

    /// Whether anything of this function did not parse so far.
    pub(crate) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    // ---- declarations ----

    pub(crate) fn specify(&mut self, linkage: Option<Linkage>, space: StateSpace) {
        self.specifier = Specifier {
            linkage,
            space,
            ty: None,
            vector: 1,
            align: None,
            pointer: None,
            first: self.module.declarators.len() as u32,
        };
    }

    pub(crate) fn align(&mut self, value: Span) {
        let value = literal::integer(self.slice(value)).and_then(|value| u32::try_from(value).ok());
        match &mut self.specifier.pointer {
            Some(pointer) => pointer.align = value,
            None => self.specifier.align = value,
        }
    }

    /// A space behind the first one: what a pointer points into.
    pub(crate) fn pointed_space(&mut self, space: StateSpace) {
        if let Some(pointer) = &mut self.specifier.pointer {
            pointer.space = Some(space);
        }
    }

    /// A word of a declaration: its type, its vector length, or an attribute such as `.ptr`.
    pub(crate) fn attribute(&mut self, word: Span) {
        if !self.type_word(word) && self.slice(word) == ".ptr" {
            self.specifier.pointer = Some(Pointer { space: None, align: None });
        }
    }

    /// A word of a declaration, if it is its type or its vector length.
    pub(crate) fn type_word(&mut self, word: Span) -> bool {
        match &self.slice(word)[1..] {
            "v2" => self.specifier.vector = 2,
            "v4" => self.specifier.vector = 4,
            "v8" => self.specifier.vector = 8,
            word => match word.parse() {
                Ok(ty) => self.specifier.ty = Some(ty),
                Err(_) => return false,
            },
        }
        true
    }

    pub(crate) fn declarator(&mut self, name: Span, count: Option<Span>, dimensions: u32, initialized: bool) {
        let initializer = initialized.then(|| self.settle(1).start);
        let dimensions = self.settle(dimensions);
        let count = count.map(|span| self.value(span));
        let declarator = Declarator { name, count, dimensions, initializer };
        append(&mut self.module.declarators, declarator, name.end, self.text);
    }

    fn declaration(&mut self) -> u32 {
        let Specifier { linkage, space, ty, vector, align, pointer, first } = self.specifier;
        let declarators = Slice { start: first, len: self.module.declarators.len() as u32 - first };
        let at = self.module.declarators.last().map_or(0, |declarator| declarator.name.end);
        let declaration = Declaration { linkage, space, ty, vector, align, pointer, declarators };
        append(&mut self.module.declarations, declaration, at, self.text);
        self.module.declarations.len() as u32 - 1
    }

    pub(crate) fn declare(&mut self, span: Span) {
        let index = self.declaration();
        self.statement(StatementKind::Declaration(index), span);
    }

    pub(crate) fn parameter(&mut self) -> u32 {
        self.declaration()
    }

    // ---- functions ----

    pub(crate) fn returns(&mut self, parameters: Slice) {
        self.returns = parameters;
    }

    pub(crate) fn parameters(&mut self, parameters: Slice) {
        self.parameters = parameters;
    }

    /// The slice of the last `count` declarations: the parameters just parsed.
    pub(crate) fn parameter_slice(&self, count: u32) -> Slice {
        Slice { start: self.module.declarations.len() as u32 - count, len: count }
    }

    pub(crate) fn directive(&mut self, name: Span, count: u32) {
        let operands = self.settle(count);
        self.module.directives.push(Directive { name, operands });
    }

    pub(crate) fn function(&mut self, is_entry: bool, linkage: Option<Linkage>, name: Span, directives: u32) {
        let directives = Slice { start: self.module.directives.len() as u32 - directives, len: directives };
        self.module.functions.push(Function {
            is_entry,
            linkage,
            name,
            returns: std::mem::take(&mut self.returns),
            parameters: std::mem::take(&mut self.parameters),
            directives,
            body: Slice::default(),
        });
    }

    fn last_function(&self) -> u32 {
        (self.module.functions.len() - 1) as u32
    }

    pub(crate) fn function_open(&mut self, span: Span) {
        self.is_broken = false;
        let opened = self.module.statements.len() as u32;
        self.scopes.push(opened);
        let function = self.last_function();
        self.module.functions[function as usize].body = Slice { start: opened + 1, len: 0 };
        self.statement(StatementKind::FunctionOpen(function), span);
    }

    pub(crate) fn prototype(&mut self, kind: fn(u32) -> StatementKind, span: Span) {
        self.statement(kind(self.last_function()), span);
    }
}
