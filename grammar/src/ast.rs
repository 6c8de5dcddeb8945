//! The syntax tree: a flat list of statements over side arenas.
//!
//! A PTX module is long and shallow, so the tree is stored the way that it is read: statements in
//! source order in one vector, with markers where functions and scopes open and close. Operands,
//! declarations, functions and instructions live in arenas of their own and are named by ranges
//! and indices. Nothing here owns text: a name is the [`Span`] it was written at.

use std::ops::{Index, Range};

use serde::Serialize;
use strum::{EnumString, IntoStaticStr};

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
#[derive(Debug, Default)]
pub struct Module {
    /// All statements of the module in source order.
    pub statements: Vec<Statement>,
    /// Payload of [`StatementKind::Instruction`].
    pub instructions: Vec<RawInstruction>,
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
    /// The `.version` directives, in order.
    pub versions: Vec<Header>,
    /// The `.target` directives, in order.
    pub targets: Vec<Header>,
    /// The `.address_size` directives, in order.
    pub address_sizes: Vec<Header>,
}

/// A `.version`, `.target` or `.address_size` directive.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The keyword.
    pub keyword: Span,
    /// The operands: the number, or the names of `.target`.
    pub operands: Slice,
    /// Which statement it is.
    pub statement: u32,
}

/// One statement.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// All of it, from the first token to the last.
    pub span: Span,
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
    /// `.file`
    File,
    /// `.loc`
    Loc,
    /// `.section` with its data.
    Section,
    /// `.pragma`
    Pragma,
    /// `.alias`; the operands are the two names.
    Alias(Slice),
    /// `.branchtargets`; the operands are the labels.
    BranchTargets(Slice),
    /// `.calltargets`; the operands are the functions.
    CallTargets(Slice),
    /// `.callprototype`; into [`Module::functions`].
    CallPrototype(u32),
    /// A statement that did not parse.
    Broken,
}

/// An instruction as written: nothing about it is understood yet.
#[derive(Clone, Copy, Debug)]
pub struct RawInstruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The opcode with its qualifiers; may contain white space and comments.
    pub opcode: Span,
    /// Its operands, in [`Module::operands`].
    pub operands: Slice,
}

/// The predicate that an instruction depends on.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// `@!p`
    pub negated: bool,
    /// The predicate's name.
    pub name: Span,
}

/// One operand, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Where.
    pub span: Span,
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
    Cast(Slice),
    /// `generic(a)`, `0xFF(a)`: the function or mask, then the argument.
    Apply(Slice),
    /// `a[2]`
    Element(Slice),
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

/// Where a declared name lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr, strum::Display, Serialize)]
#[allow(missing_docs, reason = "the ISA's names")]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum StateSpace {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
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

/// A fundamental type of PTX, or one that only declarations know.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    EnumString,
    IntoStaticStr,
    strum::Display,
    strum::EnumIter,
    Serialize,
)]
#[allow(missing_docs, reason = "the ISA's names")]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    Tf32,
    Texref,
    Samplerref,
    Surfref,
}

impl Type {
    /// Width in bits; `None` for predicates and opaque types.
    pub const fn bits(self) -> Option<u32> {
        Some(match self {
            Self::B8 | Self::U8 | Self::S8 | Self::E4m3 | Self::E5m2 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 | Self::E4m3x2 | Self::E5m2x2 => 16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 | Self::Tf32 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 64,
            Self::B128 => 128,
            Self::Pred | Self::Texref | Self::Samplerref | Self::Surfref => return None,
        })
    }
}

/// Names declared together: `.reg .b32 %r<10>, x;`
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// Where the names live.
    pub space: StateSpace,
    /// The type; `None` when none is given or it is unknown.
    pub ty: Option<Type>,
    /// Number of elements of `.v2`, `.v4`, `.v8`; 1 otherwise.
    pub vector: u8,
    /// `.align`, if it is a literal.
    pub align: Option<u32>,
    /// The names, in [`Module::declarators`].
    pub declarators: Slice,
}

/// One declared name.
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug)]
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

/// `.maxntid 128, 1, 1` and its kind.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// The word with its dot.
    pub name: Span,
    /// Its values, in [`Module::operands`].
    pub operands: Slice,
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
    pub fn parts(&self, operand: &Operand) -> &[Operand] {
        match operand.kind {
            OperandKind::Name
            | OperandKind::Integer
            | OperandKind::Float
            | OperandKind::String
            | OperandKind::Sink => &[],
            OperandKind::Vector(slice)
            | OperandKind::Address(slice)
            | OperandKind::List(slice)
            | OperandKind::Unary(_, slice)
            | OperandKind::Binary(_, slice)
            | OperandKind::Conditional(slice)
            | OperandKind::Cast(slice)
            | OperandKind::Apply(slice)
            | OperandKind::Element(slice) => self.operands(slice),
        }
    }

    /// The functions that have a body, with the index of each.
    pub fn bodies(&self) -> impl Iterator<Item = (u32, &Function)> {
        self.statements.iter().filter_map(|statement| match statement.kind {
            StatementKind::FunctionOpen(index) => Some((index, &self.functions[index as usize])),
            _ => None,
        })
    }
}

/// A name with its place, as decoding hands it on.
pub type Word<'a> = Spanned<&'a str>;
