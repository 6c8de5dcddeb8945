//! The syntax tree: a flat list of statements over side arenas.
//!
//! A PTX module is long and shallow, so the tree is stored the way that it is read: statements in
//! source order in one vector, with markers where functions and scopes open and close. Operands,
//! declarations, functions and instructions live in arenas of their own and are named by ranges
//! and indices. Nothing here owns text: a name is the [`Span`] it was written at.

use std::fmt;
use std::ops::{Index, Range};

use serde::Serialize;
use strum::IntoStaticStr;

pub use ptx_text::types::{StateSpace, Type};

use crate::names::Shape;
use crate::source::{Span, Spanned};

/// A contiguous piece of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Slice {
    /// Index of the first element.
    pub start: u32,
    /// Number of elements.
    pub len: u32,
}

impl Slice {
    /// As a range to index the arena with.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// A whole PTX module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// All statements of the module in source order.
    pub statements: Vec<Statement>,
    /// Payload of [`StatementKind::Instruction`].
    pub instructions: Vec<RawInstruction>,
    /// Each distinct opcode, as it is written, where it stands first.
    pub opcodes: Vec<Span>,
    /// Payload of [`StatementKind::Declaration`] and the parameters of functions.
    pub declarations: Vec<Declaration>,
    /// What the declarations declare.
    pub declarators: Vec<Declarator>,
    /// Payload of [`StatementKind::FunctionOpen`] and [`StatementKind::Prototype`].
    pub functions: Vec<Function>,
    /// Operands and the operands within them.
    pub operands: Vec<Operand>,
    /// Performance directives and attributes of functions.
    pub directives: Vec<Directive>,
    /// Names and texts of [`StatementKind::Alias`] and its like, in [`Module::operands`].
    pub lists: Vec<Slice>,
    /// Payload of [`StatementKind::Loc`].
    pub locations: Vec<Location>,
    /// What [`Location::inlined`] stands for.
    pub inlined: Vec<Inlined>,
    /// Payload of [`StatementKind::File`].
    pub files: Vec<File>,
    /// Payload of [`StatementKind::Section`].
    pub sections: Vec<Section>,
    /// The `.version` directives, in order.
    pub versions: Vec<Header>,
    /// The `.target` directives, in order.
    pub targets: Vec<Header>,
    /// The `.address_size` directives, in order.
    pub address_sizes: Vec<Header>,
}

/// How many there are of what indices name.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) statements: u32,
    pub(crate) instructions: u32,
    pub(crate) declarations: u32,
    pub(crate) declarators: u32,
    pub(crate) functions: u32,
    pub(crate) operands: u32,
    pub(crate) directives: u32,
    pub(crate) lists: u32,
    pub(crate) locations: u32,
    pub(crate) inlined: u32,
    pub(crate) files: u32,
    pub(crate) sections: u32,
}

impl Counts {
    pub(crate) fn of(module: &Module) -> Self {
        Self {
            statements: module.statements.len() as u32,
            instructions: module.instructions.len() as u32,
            declarations: module.declarations.len() as u32,
            declarators: module.declarators.len() as u32,
            functions: module.functions.len() as u32,
            operands: module.operands.len() as u32,
            directives: module.directives.len() as u32,
            lists: module.lists.len() as u32,
            locations: module.locations.len() as u32,
            inlined: module.inlined.len() as u32,
            files: module.files.len() as u32,
            sections: module.sections.len() as u32,
        }
    }
}

/// A `.version`, `.target` or `.address_size` directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The keyword.
    pub keyword: Span,
    /// The operands: the number, or the names of `.target`.
    pub operands: Slice,
    /// Which statement it is.
    pub statement: u32,
}

/// One statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// All of it, from the first token to the last.
    pub span: Span,
    /// Which kind in the lowest bits, the index above.
    packed: u32,
}

impl Statement {
    const KIND_BITS: u32 = 5;
    /// Larger indices do not fit; a module would have to be gigabytes long.
    pub(crate) const MAX_INDEX: u32 = u32::MAX >> Self::KIND_BITS;

    /// Packs a statement; `None` when the index does not fit.
    #[inline]
    pub(crate) const fn new(kind: StatementKind, span: Span) -> Option<Self> {
        let (tag, index) = match kind {
            StatementKind::Instruction(index) => (0, index),
            StatementKind::Label => (1, 0),
            StatementKind::Declaration(index) => (2, index),
            StatementKind::FunctionOpen(index) => (3, index),
            StatementKind::UnknownFunctionOpen => (4, 0),
            StatementKind::FunctionClose => (5, 0),
            StatementKind::Prototype(index) => (6, index),
            StatementKind::BlockOpen => (7, 0),
            StatementKind::BlockClose => (8, 0),
            StatementKind::Version => (9, 0),
            StatementKind::Target => (10, 0),
            StatementKind::AddressSize => (11, 0),
            StatementKind::File(index) => (12, index),
            StatementKind::Loc(index) => (13, index),
            StatementKind::Section(index) => (14, index),
            StatementKind::Pragma(index) => (15, index),
            StatementKind::Alias(index) => (16, index),
            StatementKind::BranchTargets(index) => (17, index),
            StatementKind::CallTargets(index) => (18, index),
            StatementKind::CallPrototype(index) => (19, index),
            StatementKind::Broken => (20, 0),
        };
        if index > Self::MAX_INDEX {
            return None;
        }
        Some(Self { span, packed: tag | index << Self::KIND_BITS })
    }

    pub(crate) const fn broken(span: Span) -> Self {
        Self { span, packed: 20 }
    }

    /// The statement of a piece of a text in the tree of the whole, `before` being there already; `None`
    /// when the index does not fit.
    #[inline]
    pub(crate) fn behind(self, before: &Counts) -> Option<Self> {
        let by = match self.kind() {
            StatementKind::Instruction(_) => before.instructions,
            StatementKind::Declaration(_) => before.declarations,
            StatementKind::FunctionOpen(_)
            | StatementKind::Prototype(_)
            | StatementKind::CallPrototype(_) => before.functions,
            StatementKind::File(_) => before.files,
            StatementKind::Loc(_) => before.locations,
            StatementKind::Section(_) => before.sections,
            StatementKind::Pragma(_)
            | StatementKind::Alias(_)
            | StatementKind::BranchTargets(_)
            | StatementKind::CallTargets(_) => before.lists,
            StatementKind::Label
            | StatementKind::UnknownFunctionOpen
            | StatementKind::FunctionClose
            | StatementKind::BlockOpen
            | StatementKind::BlockClose
            | StatementKind::Version
            | StatementKind::Target
            | StatementKind::AddressSize
            | StatementKind::Broken => 0,
        };
        let packed = self.packed.checked_add(by.checked_mul(1 << Self::KIND_BITS)?)?;
        Some(Self { packed, ..self })
    }

    /// What it is.
    #[inline]
    pub const fn kind(&self) -> StatementKind {
        let index = self.packed >> Self::KIND_BITS;
        match self.packed & ((1 << Self::KIND_BITS) - 1) {
            0 => StatementKind::Instruction(index),
            1 => StatementKind::Label,
            2 => StatementKind::Declaration(index),
            3 => StatementKind::FunctionOpen(index),
            4 => StatementKind::UnknownFunctionOpen,
            5 => StatementKind::FunctionClose,
            6 => StatementKind::Prototype(index),
            7 => StatementKind::BlockOpen,
            8 => StatementKind::BlockClose,
            9 => StatementKind::Version,
            10 => StatementKind::Target,
            11 => StatementKind::AddressSize,
            12 => StatementKind::File(index),
            13 => StatementKind::Loc(index),
            14 => StatementKind::Section(index),
            15 => StatementKind::Pragma(index),
            16 => StatementKind::Alias(index),
            17 => StatementKind::BranchTargets(index),
            18 => StatementKind::CallTargets(index),
            19 => StatementKind::CallPrototype(index),
            _ => StatementKind::Broken,
        }
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.kind(), self.span)
    }
}

/// What a statement is; numbers are indices into the module's arenas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// Into [`Module::instructions`].
    Instruction(u32),
    /// `name:`; the span is the name's.
    Label,
    /// Into [`Module::declarations`].
    Declaration(u32),
    /// Header and opening brace of a function; into [`Module::functions`].
    FunctionOpen(u32),
    /// A body whose header was broken.
    UnknownFunctionOpen,
    /// The closing brace of a function.
    FunctionClose,
    /// A function without a body; into [`Module::functions`].
    Prototype(u32),
    /// `{` between statements.
    BlockOpen,
    /// The matching `}`.
    BlockClose,
    /// `.version`
    Version,
    /// `.target`
    Target,
    /// `.address_size`
    AddressSize,
    /// `.file`; into [`Module::files`].
    File(u32),
    /// `.loc`; into [`Module::locations`].
    Loc(u32),
    /// `.section` with its data; into [`Module::sections`].
    Section(u32),
    /// `.pragma`; its strings, into [`Module::lists`].
    Pragma(u32),
    /// `.alias`; the two names, into [`Module::lists`].
    Alias(u32),
    /// `.branchtargets`; the labels, into [`Module::lists`].
    BranchTargets(u32),
    /// `.calltargets`; the functions, into [`Module::lists`].
    CallTargets(u32),
    /// `.callprototype`; into [`Module::functions`].
    CallPrototype(u32),
    /// A statement that did not parse.
    Broken,
}

/// An instruction as written: nothing about it is understood yet. [`Module::guard`] has its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawInstruction {
    /// The opcode with its qualifiers; may contain white space and comments.
    pub opcode: Span,
    /// The number of what is written there, in [`Module::opcodes`].
    pub number: u32,
    /// Its operands, in [`Module::operands`].
    pub operands: Slice,
}

/// The predicate that an instruction depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// `@!p`
    pub negated: bool,
    /// The predicate's name.
    pub name: Span,
}

/// One operand, or a part of one.
///
/// Most of a tree is operands, so that each is packed into twelve bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    start: u32,
    /// From the lowest bit: which kind (6 bits), whether it is long (1 bit), and what is said of
    /// [`LIST_BITS`] and [`LENGTH_BITS`].
    packed: u32,
    /// Index of the first part; of a short decimal number, its value plus one; of a name, its [`Shape`].
    first: u32,
}

const TAG_BITS: u32 = 6;
/// The length of what has a fixed number of parts or none. A longer one counts as this long.
const LENGTH_BITS: u32 = u32::BITS - TAG_BITS - 1;
/// The number of parts of a list; the length stands above it. A list that is long has all bits for
/// the number of its parts, and only its bracket for a span.
const LIST_BITS: u32 = 9;
const LONG: u32 = 1 << TAG_BITS;

const INTEGER: u32 = 1;
const CAST: u32 = 10;
const UNARY: u32 = 16;
const BINARY: u32 = UNARY + UNARIES.len() as u32;
const PAIR: u32 = BINARY + BinaryOperator::Or as u32;
const GUARD: u32 = BINARY + BINARIES.len() as u32;
const NEGATED_GUARD: u32 = GUARD + 1;

const CASTS: [CastType; 3] = [CastType::U64, CastType::S64, CastType::Unknown];

const UNARIES: [UnaryOperator; 4] =
    [UnaryOperator::Negate, UnaryOperator::Not, UnaryOperator::Complement, UnaryOperator::Plus];

const BINARIES: [BinaryOperator; 20] = [
    BinaryOperator::Add,
    BinaryOperator::Subtract,
    BinaryOperator::Multiply,
    BinaryOperator::Divide,
    BinaryOperator::Remainder,
    BinaryOperator::ShiftLeft,
    BinaryOperator::ShiftRight,
    BinaryOperator::Less,
    BinaryOperator::LessOrEqual,
    BinaryOperator::Greater,
    BinaryOperator::GreaterOrEqual,
    BinaryOperator::Equal,
    BinaryOperator::NotEqual,
    BinaryOperator::And,
    BinaryOperator::Xor,
    BinaryOperator::Or,
    BinaryOperator::LogicalAnd,
    BinaryOperator::LogicalOr,
    BinaryOperator::Question,
    BinaryOperator::Colon,
];

impl Operand {
    /// The most parts that a list can have.
    pub(crate) const MAX_PARTS: u32 = (1 << LENGTH_BITS) - 1;

    #[inline]
    const fn leaf(tag: u32, span: Span) -> Self {
        Self::fixed(tag, 0, span)
    }

    #[inline]
    const fn fixed(tag: u32, first: u32, span: Span) -> Self {
        let length = span.end - span.start;
        let length = if length > Self::MAX_PARTS { Self::MAX_PARTS } else { length };
        Self { start: span.start, packed: tag | length << (TAG_BITS + 1), first }
    }

    const fn list(tag: u32, parts: Slice, span: Span) -> Self {
        let length = span.end - span.start;
        let is_short = parts.len < 1 << LIST_BITS && length < 1 << (LENGTH_BITS - LIST_BITS);
        let packed = if is_short {
            tag | (parts.len | length << LIST_BITS) << (TAG_BITS + 1)
        } else {
            tag | LONG | parts.len << (TAG_BITS + 1)
        };
        Self { start: span.start, packed, first: parts.start }
    }

    /// Packs an operand; of the parts of a kind with a fixed number only the first is kept.
    #[inline]
    pub(crate) const fn new(kind: OperandKind, span: Span) -> Self {
        match kind {
            OperandKind::Name => Self::name(Shape::OTHER, span),
            OperandKind::Integer => Self::integer(None, span),
            OperandKind::Float => Self::leaf(2, span),
            OperandKind::String => Self::leaf(3, span),
            OperandKind::Sink => Self::leaf(4, span),
            OperandKind::Vector(parts) => Self::list(5, parts, span),
            OperandKind::Address(parts) => Self::list(6, parts, span),
            OperandKind::List(parts) => Self::list(7, parts, span),
            OperandKind::Apply(parts) => Self::fixed(8, parts.start, span),
            OperandKind::Element(parts) => Self::fixed(9, parts.start, span),
            OperandKind::Cast(ty, part) => Self::fixed(CAST + ty as u32, part.start, span),
            OperandKind::Conditional(parts) => Self::fixed(13, parts.start, span),
            OperandKind::Unary(operator, part) => Self::fixed(UNARY + operator as u32, part.start, span),
            OperandKind::Binary(operator, parts) => Self::fixed(BINARY + operator as u32, parts.start, span),
        }
    }

    /// A name.
    #[inline]
    pub(crate) const fn name(shape: Shape, span: Span) -> Self {
        Self::fixed(0, shape.bits(), span)
    }

    /// An integer, with its value if that is known and not as large as `u32::MAX`.
    #[inline]
    pub(crate) const fn integer(value: Option<u32>, span: Span) -> Self {
        let kept = match value {
            Some(value) => value.wrapping_add(1),
            None => 0,
        };
        Self::fixed(INTEGER, kept, span)
    }

    /// The value of a short decimal number, which need not be read again.
    #[inline]
    pub(crate) const fn small_integer(&self) -> Option<u32> {
        if self.tag() == INTEGER { self.first.checked_sub(1) } else { None }
    }

    /// The predicate of an instruction, which stands before the instruction's operands.
    pub(crate) const fn guard(guard: Guard) -> Self {
        Self::leaf(if guard.negated { NEGATED_GUARD } else { GUARD }, guard.name)
    }

    /// The operand with its parts `by` elements further back.
    pub(crate) const fn behind(self, by: u32) -> Self {
        match self.tag() {
            0..5 | GUARD.. => self,
            _ => Self { first: self.first + by, ..self },
        }
    }

    #[inline]
    const fn tag(&self) -> u32 {
        self.packed & (LONG - 1)
    }

    const fn is_list(&self) -> bool {
        matches!(self.tag(), 5..=7)
    }

    /// Whether it is a name: what most operands are, and told sooner than the kind.
    #[inline]
    pub const fn is_name(&self) -> bool {
        matches!(self.tag(), 0 | GUARD | NEGATED_GUARD)
    }

    /// Whether it is a name that starts with `%` and has no dots: what registers are called, and told without
    /// a look at the text.
    #[inline]
    pub const fn is_plain_name(&self) -> bool {
        self.tag() == 0 && Shape::of_bits(self.first).is_plain()
    }

    /// Of a short plain name with digits at its end: how many bytes stand before these, and the number that
    /// they write.
    #[inline]
    pub const fn numbered(&self) -> Option<(u32, u32)> {
        if self.tag() == 0 { Shape::of_bits(self.first).number() } else { None }
    }

    /// Whether it is a number, a string or `_`: what names nothing.
    #[inline]
    pub const fn is_literal(&self) -> bool {
        matches!(self.tag(), 1..=4)
    }

    /// Whether it has parts: whether it is neither a name nor what names nothing.
    #[inline]
    pub const fn has_parts(&self) -> bool {
        self.tag() >= 5 && self.tag() < GUARD
    }

    /// Whether it is a number, with no operator before it.
    #[inline]
    pub const fn is_number(&self) -> bool {
        matches!(self.tag(), 1 | 2)
    }

    /// Whether it is `[...]`.
    #[inline]
    pub const fn is_address(&self) -> bool {
        self.tag() == 6
    }

    /// Whether it is several operands in the place of one: a vector, a list, or a pair `p|q`.
    #[inline]
    pub const fn is_group(&self) -> bool {
        matches!(self.tag(), 5 | 7 | PAIR)
    }

    /// What it is. The predicate of a guard is a name.
    #[inline]
    pub const fn kind(&self) -> OperandKind {
        let start = self.first;
        let tag = self.tag();
        match tag {
            0 | GUARD | NEGATED_GUARD => OperandKind::Name,
            INTEGER => OperandKind::Integer,
            2 => OperandKind::Float,
            3 => OperandKind::String,
            4 => OperandKind::Sink,
            5 => OperandKind::Vector(self.parts()),
            6 => OperandKind::Address(self.parts()),
            7 => OperandKind::List(self.parts()),
            8 => OperandKind::Apply(Slice { start, len: 2 }),
            9 => OperandKind::Element(Slice { start, len: 2 }),
            CAST..=12 => OperandKind::Cast(CASTS[(tag - CAST) as usize], Slice { start, len: 1 }),
            13..UNARY => OperandKind::Conditional(Slice { start, len: 3 }),
            UNARY..BINARY => OperandKind::Unary(UNARIES[(tag - UNARY) as usize], Slice { start, len: 1 }),
            _ => OperandKind::Binary(BINARIES[(tag - BINARY) as usize], Slice { start, len: 2 }),
        }
    }

    /// The parts of an operand; none for a leaf.
    #[inline]
    pub const fn parts(&self) -> Slice {
        let start = self.first;
        let len = match self.tag() {
            0..5 | GUARD.. => return Slice { start: 0, len: 0 },
            5..8 if self.is_long() => self.packed >> (TAG_BITS + 1),
            5..8 => self.packed >> (TAG_BITS + 1) & ((1 << LIST_BITS) - 1),
            CAST..=12 | UNARY..BINARY => 1,
            13..UNARY => 3,
            8..CAST | BINARY..GUARD => 2,
        };
        Slice { start, len }
    }

    /// Where it starts.
    #[inline]
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// Whether it is a list so long that its span is its bracket alone.
    #[inline]
    pub const fn is_long(&self) -> bool {
        self.packed & LONG != 0
    }

    /// Where: all of it, except that of a list of more than 500 parts or 64 KB, such as the
    /// initialiser of a table, only the opening bracket is meant.
    #[inline]
    pub const fn span(&self) -> Span {
        let length = if self.is_long() {
            1
        } else if self.is_list() {
            self.packed >> (TAG_BITS + 1 + LIST_BITS)
        } else {
            self.packed >> (TAG_BITS + 1)
        };
        Span::new(self.start, self.start + length)
    }

    #[inline]
    const fn as_guard(&self) -> Option<Guard> {
        match self.tag() {
            GUARD => Some(Guard { negated: false, name: self.span() }),
            NEGATED_GUARD => Some(Guard { negated: true, name: self.span() }),
            _ => None,
        }
    }
}

impl fmt::Debug for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.kind(), self.span())
    }
}

/// What an operand is. Parts precede their whole in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A register, variable, label or function, or a component of one (`%tid.x`).
    Name,
    /// An integer literal; [`literal`](crate::literal) reads it.
    Integer,
    /// A floating-point literal.
    Float,
    /// A string literal.
    String,
    /// `_`
    Sink,
    /// `{a, b}`
    Vector(Slice),
    /// `[a]`, `[a+4]`, `[a, {x, y}]`
    Address(Slice),
    /// `(a, b)`: arguments of a call, or a parenthesised expression.
    List(Slice),
    /// `-a`, `!p`
    Unary(UnaryOperator, Slice),
    /// `a+b`; `p|q` is one too.
    Binary(BinaryOperator, Slice),
    /// `a ? b : c`
    Conditional(Slice),
    /// `(.s64) a`
    Cast(CastType, Slice),
    /// `generic(a)`, `0xFF(a)`: the function or mask, then the argument.
    Apply(Slice),
    /// `a[2]`
    Element(Slice),
}

/// What a cast makes of its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum CastType {
    /// `(.u64)`
    U64,
    /// `(.s64)`
    S64,
    /// Another type; PTX has no such cast.
    Unknown,
}

/// An operator with one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize)]
pub enum UnaryOperator {
    /// `-`
    #[strum(serialize = "-")]
    Negate,
    /// `!`
    #[strum(serialize = "!")]
    Not,
    /// `~`
    #[strum(serialize = "~")]
    Complement,
    /// `+`
    #[strum(serialize = "+")]
    Plus,
}

/// An operator with two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize)]
#[allow(missing_docs, reason = "each is its own spelling")]
pub enum BinaryOperator {
    #[strum(serialize = "+")]
    Add,
    #[strum(serialize = "-")]
    Subtract,
    #[strum(serialize = "*")]
    Multiply,
    #[strum(serialize = "/")]
    Divide,
    #[strum(serialize = "%")]
    Remainder,
    #[strum(serialize = "<<")]
    ShiftLeft,
    #[strum(serialize = ">>")]
    ShiftRight,
    #[strum(serialize = "<")]
    Less,
    #[strum(serialize = "<=")]
    LessOrEqual,
    #[strum(serialize = ">")]
    Greater,
    #[strum(serialize = ">=")]
    GreaterOrEqual,
    #[strum(serialize = "==")]
    Equal,
    #[strum(serialize = "!=")]
    NotEqual,
    #[strum(serialize = "&")]
    And,
    #[strum(serialize = "^")]
    Xor,
    #[strum(serialize = "|")]
    Or,
    #[strum(serialize = "&&")]
    LogicalAnd,
    #[strum(serialize = "||")]
    LogicalOr,
    /// `?` of `a ? b : c`, while it is being parsed.
    #[strum(serialize = "?")]
    Question,
    /// `:` of `a ? b : c`, while it is being parsed.
    #[strum(serialize = ":")]
    Colon,
}

impl BinaryOperator {
    /// How tightly it binds, as in C; larger is tighter.
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            Self::Multiply | Self::Divide | Self::Remainder => 11,
            Self::Add | Self::Subtract => 10,
            Self::ShiftLeft | Self::ShiftRight => 9,
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => 8,
            Self::Equal | Self::NotEqual => 7,
            Self::And => 6,
            Self::Xor => 5,
            Self::Or => 4,
            Self::LogicalAnd => 3,
            Self::LogicalOr => 2,
            Self::Question => 1,
            Self::Colon => 0,
        }
    }
}

/// How a name is seen by other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, strum::Display, Serialize)]
#[allow(missing_docs, reason = "the ISA's names")]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Linkage {
    Extern,
    Visible,
    Weak,
    Common,
}

/// Names declared together: `.reg .b32 %r<10>, x;`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// Where the names live.
    pub space: StateSpace,
    /// The type; `None` when none is given or it is unknown.
    pub ty: Option<Type>,
    /// Number of elements of `.v2`, `.v4`, `.v8`; 1 otherwise.
    pub vector: u8,
    /// `.align` of what is declared.
    pub align: Option<u32>,
    /// `.ptr` of a kernel's parameter: what it points to.
    pub pointer: Option<Pointer>,
    /// The names, in [`Module::declarators`].
    pub declarators: Slice,
}

/// `.ptr .global .align 16`: what the address in a parameter of a kernel points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The space; generic when none is given.
    pub space: Option<StateSpace>,
    /// Alignment of the memory that it points to.
    pub align: Option<u32>,
}

/// One declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declarator {
    /// The name; `_` in prototypes.
    pub name: Span,
    /// `%r<10>` declares `%r0` to `%r9`.
    pub count: Option<u32>,
    /// Dimensions of an array, as operands; a dimension that is left out is a [`OperandKind::Sink`].
    pub dimensions: Slice,
    /// The initialiser, an index into [`Module::operands`].
    pub initializer: Option<u32>,
}

/// Header of a function, a prototype, or a `.callprototype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// `.entry`, against `.func`.
    pub is_entry: bool,
    /// `.visible` and the like.
    pub linkage: Option<Linkage>,
    /// Its name.
    pub name: Span,
    /// Return parameters, in [`Module::declarations`].
    pub returns: Slice,
    /// Parameters, in [`Module::declarations`].
    pub parameters: Slice,
    /// Performance directives and attributes, in [`Module::directives`].
    pub directives: Slice,
    /// Statements between the braces, in [`Module::statements`]; empty for prototypes.
    pub body: Slice,
}

impl Function {
    /// Whether it has a body, which may be empty.
    pub fn has_body(&self) -> bool {
        // A brace stands before it.
        self.body.start > 0
    }
}

/// `.maxntid 128, 1, 1` and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The word with its dot.
    pub name: Span,
    /// Its values, in [`Module::operands`].
    pub operands: Slice,
}

/// `.loc 1 20 3`: the place in a source file that the instructions behind it come from. Numbers that
/// do not fit are the largest that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Index of a [`File`].
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1; 0 where it is not known.
    pub column: u32,
    /// Where it was inlined, an index into [`Module::inlined`].
    pub inlined: Option<u32>,
}

/// `function_name $L__info_string0, inlined_at 1 20 3`: the function that a location is in, and the
/// call that it was inlined for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The label, in a `.section .debug_str`, of the function's name.
    pub function_name: Option<Span>,
    /// What is added to the label.
    pub offset: u32,
    /// Index of a [`File`].
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1; 0 where it is not known.
    pub column: u32,
}

/// `.file 1 "kernel.cu", 1700000000, 4096`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The number that locations name it by.
    pub index: u32,
    /// Its name, with the quotation marks.
    pub name: Span,
    /// When it was changed, and its size in bytes.
    pub stamp: Option<(u64, u64)>,
}

/// `.section .debug_str { ... }`; [`section`](crate::section) reads its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name: `.debug_str`.
    pub name: Span,
    /// What stands between the braces.
    pub data: Span,
}

impl Index<Slice> for Vec<Operand> {
    type Output = [Operand];

    fn index(&self, slice: Slice) -> &[Operand] {
        &self[slice.range()]
    }
}

impl Module {
    /// The operands that `slice` names.
    pub fn operands(&self, slice: Slice) -> &[Operand] {
        &self.operands[slice.range()]
    }

    /// The parts of an operand; none for a leaf.
    #[inline]
    pub fn parts(&self, operand: &Operand) -> &[Operand] {
        self.operands(operand.parts())
    }

    /// The operand that an address is counted from: `a` of `[a]` and of `[a+4]`; none of what is no address.
    pub fn base_of(&self, address: u32) -> Option<u32> {
        let OperandKind::Address(parts) = self.operands.get(address as usize)?.kind() else { return None };
        let first = parts.range().next()?;
        Some(match self.operands[first].kind() {
            OperandKind::Binary(_, sum) => sum.start,
            _ => first as u32,
        })
    }

    /// The guard of an instruction of this module.
    #[inline]
    pub fn guard(&self, instruction: &RawInstruction) -> Option<Guard> {
        let before = (instruction.operands.start as usize).checked_sub(1)?;
        self.operands.get(before)?.as_guard()
    }

    /// The operands of a `.pragma`, `.alias`, `.branchtargets` or `.calltargets`, by the number in its
    /// kind.
    pub fn list(&self, index: u32) -> Slice {
        self.lists.get(index as usize).copied().unwrap_or_default()
    }

    /// The functions that have a body, with the index of each.
    pub fn bodies(&self) -> impl Iterator<Item = (u32, &Function)> {
        (0..).zip(&self.functions).filter(|(_, function)| function.has_body())
    }
}

/// A name with its place, as decoding hands it on.
pub type Word<'a> = Spanned<&'a str>;
