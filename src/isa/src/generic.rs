//! Every instruction of PTX outside tcgen05, in one table.
//!
//! A row is a section of the ISA or one form of it, and looks like its syntax: the words that name
//! the operation, the modifiers in parentheses (one of them must stand there) or braces (one may),
//! and the operands. Beside them stands what the instruction does: what it computes, as far as
//! something here wants to know; how control leaves it; with whom it synchronises; and how what it
//! writes differs between the threads of a warp. Which registers and which memory it reads and
//! writes follows from the roles of its operands.
//!
//! A row says which words and operands there are; its constraints say which words go together and which versions and
//! targets have them. What is not in the table, no form has.
//!
//! Who wants to know what an instruction does matches on one of the small enums ([`Computation`],
//! [`Control`], [`Synchronization`], [`Lanes`], [`Role`]), without a `_`, not on its name.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::targets::{PtxVersion, TENSOR_TARGETS};

mod classes;
mod constraint;
mod explanation;
mod meaning;
mod operation;
mod overlooked;
mod possible;
mod relation;
mod syntax;
mod wanted;
mod words;

pub use classes::{Class, Classes, Kind};
pub use constraint::{Constraint, Demand, Targets, Term};
pub use meaning::{Arithmetic, Bits, Change, Computation, Control, Lanes, Synchronization};
pub use operation::Operation;
pub use overlooked::{
    may_count_otherwise, may_lack, may_stand_twice, takes_bare_address, takes_values_in_braces,
    why_overlooked,
};
pub use relation::Relation;
pub use wanted::{Spaces, Wanted, Words};
pub use words::{
    Accumulator, AllocationClass, BooleanOperator, CacheLevel, CacheOperator, Comparison, Completion,
    Component, Count, CtaGroup, DependentAction, Direction, FirstCtaid, Flag, Geometry, Interpretation,
    L1Eviction, L2Eviction, Layout, LoadMode, MbarrierLayout, Mipmap, MmaKind, Modifier, Multicast,
    NumberClass, Overflow, Override, Part, PermuteMode, PhaseType, Precision, PrefetchSize, ProxyKind, Query,
    ReductionOperator, RegisterChange, Report, Restriction, Rounding, ScaleVector, Scaled, Scope,
    SecondOperation, Semantics, Shape, ShuffleMode, Space, SparsityFactor, SurfaceFormat, SurfaceOverflow,
    TensormapField, TileShape, Type, Vector, VideoScale, VoteMode,
};

/// One row of the table.
#[derive(Debug)]
#[non_exhaustive]
pub struct Row {
    /// Which it is.
    pub operation: Operation,
    /// What may name it: words with dots between them. Several only where they mean the same.
    pub names: &'static [&'static str],
    /// The chapter of the ISA that it stands in.
    pub chapter: &'static str,
    /// What the section is called, where that is not the name.
    pub title: Option<&'static str>,
    /// The modifiers, in the ISA's order.
    pub modifiers: &'static [Group],
    /// Which of them go together, and what has them.
    pub constraints: &'static [Constraint],
    /// The operands, in order.
    pub operands: &'static [OperandSlot],
    /// What its first destination is made of.
    pub computes: Computation,
    /// What is executed next.
    pub control: Control,
    /// With whom it synchronises.
    pub synchronization: Synchronization,
    /// How what it writes differs between the threads of a warp.
    pub lanes: Lanes,
}

/// Modifiers of which one may stand in an opcode, or must.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Whether one must.
    pub required: bool,
    /// The choices.
    pub words: &'static [Modifier],
}

/// A position for an operand.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OperandSlot {
    /// What the ISA calls it.
    pub name: &'static str,
    /// What becomes of it.
    pub role: Role,
    /// The type of it or of its elements.
    pub ty: TypeRule,
    /// What it looks like.
    pub form: Form,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether a second destination may follow behind a bar.
    pub pair: Pair,
    /// What it takes besides registers that agree with its type.
    pub takes: Takes,
    /// The integers that may be written there.
    pub numbers: Numbers,
}

/// What a position takes besides registers that agree with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of operand, and any of them go together")]
pub struct Takes {
    /// Wider registers.
    pub wider: bool,
    /// Special registers.
    pub specials: bool,
    /// Names of variables and functions, which stand for their addresses.
    pub names: bool,
    /// `_`, for a result that nobody wants; of what is read, for elements of 256 bits, which then are not written.
    pub sinks: bool,
    /// `-r`.
    pub negated: bool,
}

/// Integers that may be written in a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// All: they are cut to the type.
    All,
    /// Those from one to another.
    From(i64, i64),
    /// The multiples of the first among those from the second to the third.
    Multiples(i64, i64, i64),
    /// These.
    These(&'static [i64]),
    /// Those behind the first of the lists of words of which one stands in the opcode, or behind an empty one.
    ByWords(&'static [(&'static [Modifier], Numbers)]),
}

impl Numbers {
    /// Whether a number is one of them. All are read as 64 bits; `is_cut` where only 32 of these are looked at.
    pub fn has(self, number: i128, is_cut: bool) -> bool {
        self.has_exactly(number)
            || self.has_exactly((number as i64).into())
            || is_cut && self.has_exactly(number & 0xFFFF_FFFF)
    }

    fn has_exactly(self, number: i128) -> bool {
        match self {
            Self::All | Self::ByWords(_) => true,
            Self::From(first, last) => (i128::from(first)..=i128::from(last)).contains(&number),
            Self::Multiples(of, first, last) => {
                Self::From(first, last).has_exactly(number) && number.checked_rem(i128::from(of)) == Some(0)
            }
            Self::These(numbers) => numbers.iter().any(|it| i128::from(*it) == number),
        }
    }
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is written.
    Destination,
    /// It is read.
    Source,
    /// It is read and written.
    Accumulator,
    /// It is the address of something.
    Address(Access, SpaceRule),
    /// The label that is jumped to, or that stands before the list of labels.
    Label,
    /// The function that is called, by its name or its address.
    Callee,
    /// What a call returns.
    Results,
    /// What a call passes.
    Arguments,
    /// The targets or the prototype of a call through an address.
    Prototype,
}

impl Role {
    /// Whether what stands there is written.
    pub fn is_written(self) -> bool {
        match self {
            Self::Destination | Self::Accumulator | Self::Results => true,
            Self::Source
            | Self::Address(..)
            | Self::Label
            | Self::Callee
            | Self::Arguments
            | Self::Prototype => false,
        }
    }

    /// Whether what stands there is read.
    pub fn is_read(self) -> bool {
        match self {
            Self::Source
            | Self::Accumulator
            | Self::Address(..)
            | Self::Label
            | Self::Callee
            | Self::Arguments
            | Self::Prototype => true,
            Self::Destination | Self::Results => false,
        }
    }
}

/// What happens to memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing: it is only named, or fetched beforehand.
    None,
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written at once.
    ReadWrite,
}

/// In which state space an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceRule {
    /// In that of the opcode's first, second or third space, counted from 0; generic where it has
    /// none.
    Nth(u8),
    /// In this one.
    Fixed(Space),
    /// In that of a texture or surface.
    Opaque,
    /// In another GPU's memory, behind the fabric.
    Fabric,
}

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// That of the opcode's first, second, ... type, counted from 0.
    Nth(u8),
    /// That of the first type, or twice as wide with `.wide`.
    Product,
    /// This one.
    Fixed(Type),
    /// Bits of this type, or an integer of its size, but nothing that is made of several numbers or is a float.
    Integer(Type),
    /// 32 or 64 bits, as addresses are.
    Pointer,
    /// What the matrix is made of, packed into registers.
    Fragment,
    /// Any: the instruction does not say.
    Any,
}

/// What an operand looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A register.
    Register,
    /// A register, a number, or a name with an address.
    Value,
    /// A number.
    Immediate,
    /// A predicate, possibly negated.
    Predicate,
    /// A vector where the opcode has `.v2`, `.v4` or `.v8`; otherwise a value.
    Vector,
    /// A value, or a vector that is packed into or unpacked from one.
    Packed,
    /// A vector of this many.
    Elements(u8),
    /// A vector of as many as the shape asks for, or a register if that is one.
    Fragment,
    /// `[a]`, with coordinates behind the address for tensors, textures and surfaces.
    Address,
    /// `(a, b)`
    List,
    /// A name.
    Name,
    /// `_`
    Sink,
}

/// Whether an operand is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Always,
    /// It may be.
    Optional,
    /// It is with one of these modifiers, and not otherwise.
    When(&'static [Modifier]),
    /// It may be without these modifiers, and is not otherwise.
    OptionalUnless(&'static [Modifier]),
    /// It is without these modifiers, and not otherwise.
    Unless(&'static [Modifier]),
}

/// A second destination: the `p` of `d|p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// There is none.
    None,
    /// There may be a predicate.
    Optional,
    /// There is a predicate.
    Required,
}

/// What one of the types of an opcode is.
const T1: TypeRule = TypeRule::Nth(0);
const T2: TypeRule = TypeRule::Nth(1);
const T3: TypeRule = TypeRule::Nth(2);
const B8: TypeRule = TypeRule::Fixed(Type::B8);
const B16: TypeRule = TypeRule::Integer(Type::B16);
const B32: TypeRule = TypeRule::Integer(Type::B32);
const B64: TypeRule = TypeRule::Integer(Type::B64);
const U32: TypeRule = TypeRule::Fixed(Type::U32);
/// 32 bits of any type.
const ANY32: TypeRule = TypeRule::Fixed(Type::B32);
const B128: TypeRule = TypeRule::Fixed(Type::B128);
const PRED: TypeRule = TypeRule::Fixed(Type::Pred);

impl Row {
    const PLAIN: Self = Self {
        operation: Operation::Tensor,
        names: &[],
        chapter: "",
        title: None,
        modifiers: &[],
        constraints: &[],
        operands: &[],
        computes: Computation::Other,
        control: Control::Next,
        synchronization: Synchronization::None,
        lanes: Lanes::AsSources,
    };

    /// The name of the operation.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// The group that a word fills, of those that are free, and what it means there. `filled` has a bit for each
    /// group; no row has more of them.
    pub fn place(&self, word: &str, filled: u64) -> Option<(usize, Modifier)> {
        let meanings = Modifier::meanings(word);
        let free = |index: usize| filled >> index & 1 == 0;
        self.modifiers.iter().enumerate().find_map(|(index, group)| {
            let meaning = meanings.iter().find(|meaning| free(index) && group.words.contains(meaning));
            meaning.map(|modifier| (index, *modifier))
        })
    }

    /// The section of the ISA.
    pub fn section(&self) -> String {
        format!("{}: {}", self.chapter, self.title.unwrap_or(self.name()))
    }
}

impl OperandSlot {
    /// Whether an operand may stand there, by the modifiers of the opcode.
    pub fn may_stand(&self, has: impl Fn(Modifier) -> bool) -> bool {
        let has_any = |modifiers: &[Modifier]| modifiers.iter().any(|modifier| has(*modifier));
        match self.presence {
            Presence::Always | Presence::Optional => true,
            Presence::When(modifiers) => has_any(modifiers),
            Presence::Unless(modifiers) | Presence::OptionalUnless(modifiers) => !has_any(modifiers),
        }
    }

    /// Whether the operand may be left out.
    pub fn is_optional(&self) -> bool {
        match self.presence {
            Presence::Optional | Presence::OptionalUnless(_) => true,
            Presence::Always | Presence::When(_) | Presence::Unless(_) => false,
        }
    }

    const fn new(name: &'static str, role: Role, ty: TypeRule, form: Form) -> Self {
        let takes = Takes { wider: false, specials: false, names: false, sinks: false, negated: false };
        Self {
            name,
            role,
            ty,
            form,
            presence: Presence::Always,
            pair: Pair::None,
            takes,
            numbers: Numbers::All,
        }
    }

    /// Wider registers, too.
    const fn wider(self) -> Self {
        Self { takes: Takes { wider: true, ..self.takes }, ..self }
    }

    /// Special registers, too.
    const fn specials(self) -> Self {
        Self { takes: Takes { specials: true, ..self.takes }, ..self }
    }

    /// Names of variables and functions, too.
    const fn names(self) -> Self {
        Self { takes: Takes { names: true, ..self.takes }, ..self }
    }

    /// `-r`, too.
    const fn negated(self) -> Self {
        Self { takes: Takes { negated: true, ..self.takes }, ..self }
    }

    /// `_`, too.
    const fn sinks(self) -> Self {
        Self { takes: Takes { sinks: true, ..self.takes }, ..self }
    }

    /// No integers but those from one to another.
    const fn from(self, first: i64, last: i64) -> Self {
        Self { numbers: Numbers::From(first, last), ..self }
    }

    /// No integers but the multiples of one from another on.
    const fn multiples(self, of: i64, first: i64, last: i64) -> Self {
        Self { numbers: Numbers::Multiples(of, first, last), ..self }
    }

    /// No integers but some, which depend on the words of the opcode.
    const fn by_words(self, numbers: &'static [(&'static [Modifier], Numbers)]) -> Self {
        Self { numbers: Numbers::ByWords(numbers), ..self }
    }

    /// No integers but these.
    const fn these(self, numbers: &'static [i64]) -> Self {
        Self { numbers: Numbers::These(numbers), ..self }
    }

    const fn optional(self) -> Self {
        Self { presence: Presence::Optional, ..self }
    }

    const fn when(self, modifiers: &'static [Modifier]) -> Self {
        Self { presence: Presence::When(modifiers), ..self }
    }

    const fn optional_unless(self, modifiers: &'static [Modifier]) -> Self {
        Self { presence: Presence::OptionalUnless(modifiers), ..self }
    }

    const fn unless(self, modifiers: &'static [Modifier]) -> Self {
        Self { presence: Presence::Unless(modifiers), ..self }
    }

    /// With a second destination, `d|p`.
    const fn pair(self, pair: Pair) -> Self {
        Self { pair, ..self }
    }

    const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// In another space than the opcode's first.
    const fn space(self, space: SpaceRule) -> Self {
        match self.role {
            Role::Address(access, _) => Self { role: Role::Address(access, space), ..self },
            _ => self,
        }
    }
}

const fn dst(name: &'static str, ty: TypeRule) -> OperandSlot {
    OperandSlot::new(name, Role::Destination, ty, Form::Register)
}

const fn d(ty: TypeRule) -> OperandSlot {
    dst("d", ty)
}

const fn src(name: &'static str, ty: TypeRule) -> OperandSlot {
    OperandSlot::new(name, Role::Source, ty, Form::Value)
}

const fn a(ty: TypeRule) -> OperandSlot {
    src("a", ty)
}

const fn b(ty: TypeRule) -> OperandSlot {
    src("b", ty)
}

const fn c(ty: TypeRule) -> OperandSlot {
    src("c", ty)
}

const fn predicate(name: &'static str) -> OperandSlot {
    src(name, PRED).form(Form::Predicate)
}

const fn immediate(name: &'static str, ty: TypeRule) -> OperandSlot {
    src(name, ty).form(Form::Immediate)
}

const fn address(name: &'static str, access: Access) -> OperandSlot {
    OperandSlot::new(name, Role::Address(access, SpaceRule::Nth(0)), TypeRule::Pointer, Form::Address)
}

/// The policy of `.L2::cache_hint`.
const fn cache_policy() -> OperandSlot {
    src("cache-policy", B64).when(&[Modifier::Flag(Flag::CacheHint)])
}

/// One group of modifiers: `(Kind: A B)` where one is required, `{Kind: A B}` where none is, a name
/// for a list that several rows share.
macro_rules! group {
    (($kind:ident : $($word:ident)+)) => {
        Group { required: true, words: &[$(Modifier::$kind($kind::$word)),+] }
    };
    ({$kind:ident : $($word:ident)+}) => {
        Group { required: false, words: &[$(Modifier::$kind($kind::$word)),+] }
    };
    (($list:ident)) => { Group { required: true, words: $list } };
    ({$list:ident}) => { Group { required: false, words: $list } };
}

use constraint::{
    A_100_103, A_100_103_107, A_107, ARCHITECTURES, BLACKWELL, BLACKWELL_BUT_CONSUMER_FAMILIES, CONSUMER,
    CONSUMER_ARCHITECTURES, HOPPER, HOPPER_AND_BLACKWELL, RUBIN, RUBIN_AND_CONSUMER, SERVERS, constraints,
    demand, term,
};

/// The rows of a chapter.
macro_rules! rows {
    ($chapter:literal; $(
        $operation:ident $($name:literal)+
        [$($group:tt)*]
        ($($operand:expr),*)
        {$($field:ident : $value:expr),*}
    )*) => {
        pub(super) static ROWS: &[Row] = &[$(
            Row {
                operation: Operation::$operation,
                names: &[$($name),+],
                chapter: $chapter,
                modifiers: &[$(group!($group)),*],
                operands: &[$($operand),*],
                $($field: $value,)*
                ..Row::PLAIN
            },
        )*];
    };
}

mod asynchronous;
mod comparison;
mod control;
mod data;
mod extended;
mod fabric;
mod floating;
mod half;
mod integer;
mod logic;
mod matrix;
mod miscellaneous;
mod mixed;
mod stack;
mod surface;
mod synchronization;
mod texture;
mod video;

/// The rows of all chapters.
static CHAPTERS: [&[Row]; 18] = [
    integer::ROWS,
    extended::ROWS,
    floating::ROWS,
    half::ROWS,
    mixed::ROWS,
    comparison::ROWS,
    logic::ROWS,
    data::ROWS,
    asynchronous::ROWS,
    fabric::ROWS,
    texture::ROWS,
    surface::ROWS,
    control::ROWS,
    synchronization::ROWS,
    matrix::ROWS,
    stack::ROWS,
    video::ROWS,
    miscellaneous::ROWS,
];

/// Every row, in the order of the ISA.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    CHAPTERS.iter().copied().flatten()
}

/// The rows of what may be written without a dot: `ret`.
fn bare(word: &str) -> impl Iterator<Item = &'static Row> {
    let rows = rows_starting_with(word).iter().filter(move |(name, _)| *name == word);
    let needs_none = |row: &&Row| !row.modifiers.iter().any(|group| group.required);
    rows.map(|(_, row)| *row).filter(|row| row.operation != Operation::Tensor).filter(needs_none)
}

/// Whether a word is an instruction by itself, and so may be one of another machine, too: `trap`.
pub fn stands_alone(word: &str) -> bool {
    bare(word).any(|row| row.operands.is_empty())
}

/// Whether a word is an operation with its qualifiers, and so the start of an instruction.
pub fn is_opcode(word: &str) -> bool {
    match word.split_once('.') {
        Some(("tcgen05", _)) => true,
        Some((operation, rest)) => {
            let meaning = |it: &str| !Modifier::meanings(it).is_empty();
            !rows_starting_with(operation).is_empty()
                && (rest.split('.').all(meaning)
                    || rows_starting_with(operation)
                        .iter()
                        .any(|(name, _)| word.starts_with(name) && name.contains('.')))
        }
        None => bare(word).next().is_some(),
    }
}

/// Whether a word stands in an opcode: in the name of an operation, or as a qualifier.
pub fn is_word(word: &str) -> bool {
    static PARTS: LazyLock<FxHashSet<&'static str>> =
        LazyLock::new(|| rows().flat_map(|row| row.names).flat_map(|name| name.split('.')).collect());
    !Modifier::meanings(word).is_empty() || PARTS.contains(word)
}

/// The rows whose names start with a word, the longest names first.
pub fn rows_starting_with(word: &str) -> &'static [(&'static str, &'static Row)] {
    type Rows = Vec<(&'static str, &'static Row)>;
    static BY_WORD: LazyLock<FxHashMap<&'static str, Rows>> = LazyLock::new(|| {
        let mut by_word: FxHashMap<&'static str, Rows> = FxHashMap::default();
        for row in rows() {
            for name in row.names {
                let first = name.split('.').next().unwrap_or_default();
                by_word.entry(first).or_default().push((name, row));
            }
        }
        for rows in by_word.values_mut() {
            rows.sort_by_key(|(name, _)| std::cmp::Reverse(name.matches('.').count()));
        }
        by_word
    });
    BY_WORD.get(word).map_or(&[], Vec::as_slice)
}
