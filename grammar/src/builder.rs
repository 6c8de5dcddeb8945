//! What the grammar's actions call. Each action is one call; the logic is here.
//!
//! Operands are collected on a stack while a statement is parsed, because the parts of a vector
//! or an address come before the whole. A finished list moves from the stack into the arena in
//! one piece, so that every list is contiguous there.

use lalrpop_util::ErrorRecovery;

use crate::ast::{
    BinaryOperator, Declaration, Declarator, Directive, Function, Guard, Header, Linkage, Module, Operand,
    OperandKind, RawInstruction, Slice, StateSpace, Statement, StatementKind, Type, UnaryOperator,
};
use crate::lexer::Token;
use crate::literal;
use crate::parser::SyntaxError;
use crate::source::Span;

/// Operators in one expression without parentheses.
const MAX_OPERATORS: u32 = 256;

pub(crate) type Recovery = ErrorRecovery<u32, Token, std::convert::Infallible>;

pub(crate) struct Builder<'s> {
    text: &'s str,
    pub(crate) module: Module,
    pub(crate) errors: Vec<SyntaxError>,
    stack: Vec<Operand>,
    operators: Vec<BinaryOperator>,
    /// The declaration under way.
    specifier: Specifier,
    /// Functions and scopes that are open: the statement that opened each.
    scopes: Vec<u32>,
    /// The header under way.
    returns: Slice,
    parameters: Slice,
}

#[derive(Clone, Copy)]
struct Specifier {
    linkage: Option<Linkage>,
    space: StateSpace,
    ty: Option<Type>,
    vector: u8,
    align: Option<u32>,
    first: u32,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        // Sized for what compilers emit, so that large files do not pay for regrowth.
        let statements = text.len() / 40;
        let module = Module {
            statements: Vec::with_capacity(statements),
            instructions: Vec::with_capacity(statements * 3 / 4),
            operands: Vec::with_capacity(statements * 4),
            ..Module::default()
        };
        Self {
            text,
            module,
            errors: Vec::new(),
            stack: Vec::new(),
            operators: Vec::new(),
            specifier: Specifier {
                linkage: None,
                space: StateSpace::Reg,
                ty: None,
                vector: 1,
                align: None,
                first: 0,
            },
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
        self.module.statements.push(Statement { kind, span });
    }

    // ---- operands ----

    #[inline]
    pub(crate) fn leaf(&mut self, kind: OperandKind, span: Span) {
        self.stack.push(Operand { kind, span });
    }

    /// Moves the last `count` operands from the stack into the arena.
    #[inline]
    fn settle(&mut self, count: u32) -> Slice {
        let from = self.stack.len() - count as usize;
        let start = self.module.operands.len() as u32;
        self.module.operands.extend_from_slice(&self.stack[from..]);
        self.stack.truncate(from);
        Slice { start, len: count }
    }

    /// Replaces the last `count` operands by one that holds them.
    #[inline]
    pub(crate) fn group(&mut self, kind: fn(Slice) -> OperandKind, count: u32, span: Span) {
        let slice = self.settle(count);
        self.leaf(kind(slice), span);
    }

    pub(crate) fn unary(&mut self, operator: UnaryOperator, span: Span) {
        let slice = self.settle(1);
        self.leaf(OperandKind::Unary(operator, slice), span);
    }

    #[inline]
    pub(crate) fn operator(&mut self, operator: BinaryOperator) {
        self.operators.push(operator);
    }

    /// Makes a tree of the last `count` operators and the `count + 1` operands between them.
    pub(crate) fn fold(&mut self, count: u32) {
        let operators = self.operators.split_off(self.operators.len() - count as usize);
        if count > MAX_OPERATORS {
            // A tree this deep would overflow the stack of whoever walks it.
            let operands = self.stack.split_off(self.stack.len() - count as usize - 1);
            let span = operands.iter().fold(operands[0].span, |span, operand| span.to(operand.span));
            self.errors.push(SyntaxError::TooDeep { span, limit: MAX_OPERATORS });
            return self.leaf(OperandKind::Sink, span);
        }
        if let [operator] = operators[..] {
            return self.combine(operator);
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
        let span = left.span.to(right.span);
        // `a ? b : c` arrives as `(a ? b) : c`.
        if let (BinaryOperator::Colon, OperandKind::Binary(BinaryOperator::Question, inner)) =
            (operator, left.kind)
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

    #[inline]
    pub(crate) fn instruction(&mut self, guard: Option<Guard>, opcode: Span, count: u32, span: Span) {
        let operands = self.settle(count);
        let index = self.module.instructions.len() as u32;
        self.module.instructions.push(RawInstruction { guard, opcode, operands });
        self.statement(StatementKind::Instruction(index), span);
    }

    pub(crate) fn label(&mut self, span: Span) {
        self.statement(StatementKind::Label, span);
    }

    pub(crate) fn plain(&mut self, kind: StatementKind, span: Span) {
        self.statement(kind, span);
    }

    pub(crate) fn names(&mut self, kind: fn(Slice) -> StatementKind, count: u32, span: Span) {
        let slice = self.settle(count);
        self.statement(kind(slice), span);
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
        self.scopes.push(self.module.statements.len() as u32);
        self.statement(StatementKind::UnknownFunctionOpen, span);
    }

    pub(crate) fn close(&mut self, span: Span) {
        let opened = self.scopes.pop().unwrap_or_default();
        let kind = match self.module.statements.get(opened as usize).map(|statement| statement.kind) {
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
        self.stack.clear();
        self.operators.clear();
        self.returns = Slice::default();
        self.parameters = Slice::default();
        self.statement(StatementKind::Broken, span);
    }

    // ---- declarations ----

    pub(crate) fn specify(&mut self, linkage: Option<Linkage>, space: StateSpace) {
        self.specifier = Specifier {
            linkage,
            space,
            ty: None,
            vector: 1,
            align: None,
            first: self.module.declarators.len() as u32,
        };
    }

    pub(crate) fn align(&mut self, value: Span) {
        self.specifier.align =
            literal::integer(self.slice(value)).and_then(|value| u32::try_from(value).ok());
    }

    /// A word of a declaration: its type, its vector length, or an attribute such as `.ptr`.
    pub(crate) fn attribute(&mut self, word: Span) {
        let word = &self.slice(word)[1..];
        match word {
            "v2" => self.specifier.vector = 2,
            "v4" => self.specifier.vector = 4,
            "v8" => self.specifier.vector = 8,
            _ => {
                if let Ok(ty) = word.parse() {
                    self.specifier.ty = Some(ty);
                }
            }
        }
    }

    pub(crate) fn declarator(&mut self, name: Span, count: Option<Span>, dimensions: u32, initialized: bool) {
        let initializer = initialized.then(|| self.settle(1).start);
        let dimensions = self.settle(dimensions);
        let count = count.map(|span| {
            literal::integer(self.slice(span)).and_then(|count| u32::try_from(count).ok()).unwrap_or(u32::MAX)
        });
        self.module.declarators.push(Declarator { name, count, dimensions, initializer });
    }

    fn declaration(&mut self) -> u32 {
        let Specifier { linkage, space, ty, vector, align, first } = self.specifier;
        let declarators = Slice { start: first, len: self.module.declarators.len() as u32 - first };
        self.module.declarations.push(Declaration { linkage, space, ty, vector, align, declarators });
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
        self.scopes.push(self.module.statements.len() as u32);
        self.statement(StatementKind::FunctionOpen(self.last_function()), span);
    }

    pub(crate) fn prototype(&mut self, kind: fn(u32) -> StatementKind, span: Span) {
        self.statement(kind(self.last_function()), span);
    }
}
