//! Typed tcgen05 instructions.
//!
//! [`decode`] makes them from raw ones with the help of the instruction table. A field that is an
//! enum holds the ISA's own words; an operand keeps the span it was written at. An instruction
//! whose form is broken has no typed value: its problems are in [`decode::Decoded::problems`].
//!
//! ```
//! use ptx_isa::vocabulary::{LdShape, Num};
//! use ptx_resolve::instruction::Instruction;
//! use ptx_resolve::instruction::decode::decode_all;
//! use ptx_resolve::unit::Unit;
//! use ptx_syntax::source::Source;
//!
//! let source = Source::new("kernel.ptx", ".version 9.0\n.target sm_100a\n.entry k() {\n\
//!     .reg .b32 r<4>, taddr;\n\
//!     tcgen05.ld.sync.aligned.16x128b.x2.b32 {r0, r1, r2, r3}, [taddr+8];\n}\n")?;
//! let unit = Unit::new(&source);
//! let decoded = decode_all(&unit);
//!
//! let Some(Instruction::Ld(ld)) = &decoded[0].instruction else { panic!("no load") };
//! assert_eq!((ld.shape.value, ld.num.value), (LdShape::S16x128b, Num::X2));
//! assert_eq!(ld.r.elements.len(), 4);
//! assert_eq!(source.slice(ld.shape.span), ".16x128b");
//! # Ok::<(), ptx_syntax::source::SourceError>(())
//! ```

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::isa::vocabulary::{
    Abs, AddressSpace, Ashift, BlockScale, CollectorA, CollectorB, CollectorWs, CpShape, CtaGroup, DataType,
    Decompress, DstFormat, Exclusive, Kind, LdShape, Multicast, Nan, Num, Operation, Pack, RedOp,
    ScaleVectorSize, Sparse, SrcFormat, SyncRestrict, Unpack, WarpMulticast,
};
use crate::source::{Source, Span, Spanned};
use crate::symbols::{RegisterId, SymbolId};
use crate::syntax::ast::{StateSpace, Type};

pub mod decode;
// For the task that asks NVIDIA's assembler about every form.
#[doc(hidden)]
pub mod form;
// For the editor's completion and hover.
#[doc(hidden)]
pub mod gates;
#[doc(hidden)]
pub mod index;
#[allow(unreachable_pub, reason = "`pub` is what a module offers its siblings")]
pub mod types;

/// One tcgen05 instruction, understood.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "instruction", rename_all = "snake_case")]
pub enum Instruction<'s> {
    /// `tcgen05.alloc`
    Alloc(Alloc<'s>),
    /// `tcgen05.dealloc`
    Dealloc(Dealloc<'s>),
    /// `tcgen05.relinquish_alloc_permit`
    RelinquishAllocPermit(RelinquishAllocPermit),
    /// `tcgen05.ld`, `ld.red`, `ld.spcompress`
    Ld(Ld<'s>),
    /// `tcgen05.st`
    St(St<'s>),
    /// `tcgen05.wait::ld` and `wait::st`
    Wait(Wait),
    /// `tcgen05.cp`
    Cp(Cp<'s>),
    /// `tcgen05.shift`
    Shift(Shift<'s>),
    /// `tcgen05.mma` in all its forms
    Mma(Box<Mma<'s>>),
    /// `tcgen05.commit`
    Commit(Commit<'s>),
    /// `tcgen05.fence::*`
    Fence(Fence),
}

/// Allocates Tensor Memory (9.7.16.7.1).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Alloc<'s> {
    /// The CTAs that allocate together.
    pub cta_group: Spanned<CtaGroup>,
    /// `.exclusive`
    pub exclusive: Option<Spanned<Exclusive>>,
    /// The state space of the destination; generic if there is none.
    pub space: Option<Spanned<AddressSpace>>,
    /// Where in shared memory the address of the allocation is written.
    pub dst: Address<'s>,
    /// The number of columns.
    pub n_cols: Scalar<'s>,
}

/// Frees Tensor Memory (9.7.16.7.1).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Dealloc<'s> {
    /// The CTAs that deallocate together.
    pub cta_group: Spanned<CtaGroup>,
    /// `.exclusive`
    pub exclusive: Option<Spanned<Exclusive>>,
    /// The address of the allocation.
    pub taddr: Scalar<'s>,
    /// The number of columns.
    pub n_cols: Scalar<'s>,
}

/// Gives up the right to allocate (9.7.16.7.1).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RelinquishAllocPermit {
    /// The CTAs concerned.
    pub cta_group: Spanned<CtaGroup>,
}

/// Loads Tensor Memory into registers (9.7.16.8.3).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Ld<'s> {
    /// Lanes and bits of one repetition.
    pub shape: Spanned<LdShape>,
    /// Number of repetitions.
    pub num: Spanned<Num>,
    /// `.pack::16b`
    pub pack: Option<Spanned<Pack>>,
    /// The reduction of `ld.red`.
    pub reduction: Option<Box<Reduction<'s>>>,
    /// The metadata of `ld.spcompress`.
    pub metadata: Option<Vector<'s>>,
    /// The destination registers.
    pub r: Vector<'s>,
    /// The address that is loaded from.
    pub taddr: Address<'s>,
    /// The second half's offset for `.16x32bx2`.
    pub half_split_offset: Option<Scalar<'s>>,
}

/// What `ld.red` computes beside what it loads.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Reduction<'s> {
    /// `.min` or `.max`
    pub op: Spanned<RedOp>,
    /// `.abs`
    pub abs: Option<Spanned<Abs>>,
    /// `.NaN`
    pub nan: Option<Spanned<Nan>>,
    /// The type as which the data is compared.
    pub ty: Spanned<DataType>,
    /// The register that receives the result; none for `ld.spcompress`, which only selects by it.
    pub result: Option<Scalar<'s>>,
}

/// Stores registers to Tensor Memory (9.7.16.8.4).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct St<'s> {
    /// Lanes and bits of one repetition.
    pub shape: Spanned<LdShape>,
    /// Number of repetitions.
    pub num: Spanned<Num>,
    /// `.unpack::16b`
    pub unpack: Option<Spanned<Unpack>>,
    /// The address that is stored to.
    pub taddr: Address<'s>,
    /// The second half's offset for `.16x32bx2`.
    pub half_split_offset: Option<Scalar<'s>>,
    /// The source registers.
    pub r: Vector<'s>,
}

/// Waits for loads or stores (9.7.16.8.5).
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Wait {
    /// What is waited for: [`Operation::WaitLd`] or [`Operation::WaitSt`].
    pub operation: Operation,
}

/// Copies shared memory to Tensor Memory (9.7.16.9.2).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Cp<'s> {
    /// The CTAs whose Tensor Memory is written.
    pub cta_group: Spanned<CtaGroup>,
    /// Rows and bits per row.
    pub shape: Spanned<CpShape>,
    /// Which warps' lanes receive the same data.
    pub multicast: Option<Spanned<WarpMulticast>>,
    /// The format after decompression.
    pub dst_format: Option<Spanned<DstFormat>>,
    /// The format before decompression.
    pub src_format: Option<Spanned<SrcFormat>>,
    /// The address that is written.
    pub taddr: Address<'s>,
    /// The shared-memory descriptor of the source.
    pub s_desc: Scalar<'s>,
}

/// Shifts rows of Tensor Memory (9.7.16.9.3).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Shift<'s> {
    /// The CTAs whose Tensor Memory is shifted.
    pub cta_group: Spanned<CtaGroup>,
    /// The matrix.
    pub taddr: Address<'s>,
}

/// Multiplies and accumulates (9.7.16.10.9).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Mma<'s> {
    /// `.ws`: B is kept instead of A.
    pub weight_stationary: bool,
    /// `.sp`
    pub sparse: Option<Spanned<Sparse>>,
    /// The CTAs whose Tensor Memory is used.
    pub cta_group: Spanned<CtaGroup>,
    /// The general kind of the types.
    pub kind: Spanned<Kind>,
    /// `.block_scale`
    pub block_scale: Option<Spanned<BlockScale>>,
    /// `.scale_vec::NX` or `.blockN`
    pub scale_vector_size: Option<Spanned<ScaleVectorSize>>,
    /// `.ashift`
    pub ashift: Option<Spanned<Ashift>>,
    /// `.collector::a::*`
    pub collector_a: Option<Spanned<CollectorA>>,
    /// `.collector::b::*`
    pub collector_b: Option<Spanned<CollectorB>>,
    /// `.collector::b0::*` to `.collector::b3::*`
    pub collector_ws: Option<Spanned<CollectorWs>>,
    /// `.decompress::lut::b`
    pub decompress: Option<Spanned<Decompress>>,
    /// The accumulator.
    pub d: Address<'s>,
    /// Matrix A.
    pub a: MatrixA<'s>,
    /// The shared-memory descriptor of matrix B.
    pub b: Scalar<'s>,
    /// The lookup table of `.decompress::lut::b`.
    pub b_meta: Option<Address<'s>>,
    /// The sparsity metadata.
    pub sparsity_metadata: Option<Address<'s>>,
    /// The instruction descriptor.
    pub idesc: Scalar<'s>,
    /// The scale matrices of A and B.
    pub scales: Option<Box<[Address<'s>; 2]>>,
    /// Lanes of D that are left alone.
    pub disable_output_lane: Option<Vector<'s>>,
    /// Whether D is read at all.
    pub enable_input_d: Predicate<'s>,
    /// By which power of two D is divided.
    pub scale_input_d: Option<Scalar<'s>>,
    /// Columns of B that are taken as zero.
    pub zero_column_mask: Option<Scalar<'s>>,
}

/// Where matrix A is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixA<'s> {
    /// In shared memory.
    Descriptor(Scalar<'s>),
    /// In Tensor Memory.
    TensorMemory(Address<'s>),
}

/// Signals completion (9.7.16.12.1).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Commit<'s> {
    /// The operations that are tracked: those of the same group.
    pub cta_group: Spanned<CtaGroup>,
    /// `.sync_restrict::*`
    pub sync_restrict: Option<Spanned<SyncRestrict>>,
    /// The state space of the mbarrier; generic if there is none.
    pub space: Option<Spanned<AddressSpace>>,
    /// `.multicast::cluster`
    pub multicast: Option<Spanned<Multicast>>,
    /// The mbarrier.
    pub mbar: Address<'s>,
    /// The CTAs that are signalled.
    pub cta_mask: Option<Scalar<'s>>,
}

/// Orders tcgen05 operations across threads (9.7.16.11.1).
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Fence {
    /// Which side: [`Operation::FenceBefore`] or [`Operation::FenceAfter`].
    pub operation: Operation,
}

/// A register or an immediate.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scalar<'s> {
    /// A register, with a constant added where a position takes that.
    Register(Register<'s>),
    /// A constant.
    Immediate(Immediate),
    /// The address of a variable, with a constant added.
    Variable(Variable<'s>),
    /// A floating-point constant; only in vectors that are stored.
    Float(Span),
    /// A register of the machine; only in the lane mask.
    Special(Span),
}

/// The value of a predicate register or an immediate.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Predicate<'s> {
    /// `!p`
    pub negated: bool,
    /// What is tested.
    pub value: Scalar<'s>,
}

/// A name that is read when it is asked for. Most never are, and to look at the text of each takes as long as
/// all else that is done with it.
#[derive(Clone, Copy)]
pub struct Name<'s> {
    source: &'s Source,
    span: Span,
}

impl<'s> Name<'s> {
    /// What `source` has at `span`.
    pub const fn new(source: &'s Source, span: Span) -> Self {
        Self { source, span }
    }

    /// As it is written.
    pub fn as_str(self) -> &'s str {
        self.source.slice(self.span)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A register as an operand.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Register<'s> {
    /// Its name as written.
    pub name: Name<'s>,
    /// Where.
    pub span: Span,
    /// Its declared type.
    pub ty: Option<Type>,
    /// Its number in the module.
    #[serde(skip)]
    pub id: RegisterId,
    /// Whether it is one component of a vector register: `%v.x`.
    #[serde(skip)]
    pub component: bool,
    /// `%r+4` where brackets are not needed for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plus: Option<i64>,
}

/// A variable as an operand.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Variable<'s> {
    /// Its name.
    pub name: &'s str,
    /// Where the name is written.
    pub span: Span,
    /// Where it lives.
    pub space: StateSpace,
    /// Its number in the module.
    #[serde(skip)]
    pub id: SymbolId,
    /// `variable+4` where brackets are not needed for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plus: Option<i64>,
}

/// A constant integer of 64 bits, signed or unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "ImmediateFields")]
#[non_exhaustive]
pub struct Immediate {
    /// The low 64 bits of the value. Thousands of operands are kept: the whole of it would double
    /// their size.
    bits: u64,
    negative: bool,
    /// Where.
    pub span: Span,
}

impl Immediate {
    /// A constant that is written somewhere; of more than 64 bits, the rest is lost.
    pub fn new(value: i128, span: Span) -> Self {
        Self { bits: value as u64, negative: value < 0, span }
    }

    /// Its value before it is cut to the width of the operand.
    pub fn value(self) -> i128 {
        if self.negative { i128::from(self.bits.cast_signed()) } else { i128::from(self.bits) }
    }
}

/// An [`Immediate`] as it is printed.
#[derive(Serialize)]
struct ImmediateFields {
    value: i128,
    span: Span,
}

impl From<Immediate> for ImmediateFields {
    fn from(immediate: Immediate) -> Self {
        Self { value: immediate.value(), span: immediate.span }
    }
}

/// `[base+offset]`
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Address<'s> {
    /// What the offset is added to.
    pub base: Base<'s>,
    /// The constant that is added, modulo 2^64.
    pub offset: i64,
    /// All of it, with its brackets.
    pub span: Span,
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Base<'s> {
    /// A register.
    Register(Register<'s>),
    /// A variable.
    Variable(Variable<'s>),
}

/// `{a, b, ...}`
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Vector<'s> {
    /// Its elements, which the operand and the typed instruction share: they may be a hundred.
    pub elements: Arc<[Scalar<'s>]>,
    /// All of it, with its braces.
    pub span: Span,
    /// Whether its elements are registers of one type: as nearly always.
    #[serde(skip)]
    pub is_uniform: bool,
    /// Whether they are registers of which each is declared behind the one before.
    #[serde(skip)]
    pub is_ascending: bool,
}

impl Scalar<'_> {
    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            Self::Register(register) => register.span,
            Self::Immediate(immediate) => immediate.span,
            Self::Variable(variable) => variable.span,
            Self::Float(span) | Self::Special(span) => *span,
        }
    }

    /// The constant, if it is one.
    pub fn immediate(&self) -> Option<Immediate> {
        match self {
            Self::Immediate(immediate) => Some(*immediate),
            _ => None,
        }
    }
}

impl<'s> MatrixA<'s> {
    /// The address, if A is in Tensor Memory.
    pub fn address(&self) -> Option<&Address<'s>> {
        match self {
            Self::TensorMemory(address) => Some(address),
            Self::Descriptor(_) => None,
        }
    }
}

impl Instruction<'_> {
    /// The `.cta_group`, of an instruction that has one.
    pub fn cta_group(&self) -> Option<Spanned<CtaGroup>> {
        match self {
            Self::Alloc(it) => Some(it.cta_group),
            Self::Dealloc(it) => Some(it.cta_group),
            Self::RelinquishAllocPermit(it) => Some(it.cta_group),
            Self::Cp(it) => Some(it.cta_group),
            Self::Shift(it) => Some(it.cta_group),
            Self::Mma(it) => Some(it.cta_group),
            Self::Commit(it) => Some(it.cta_group),
            Self::Ld(_) | Self::St(_) | Self::Wait(_) | Self::Fence(_) => None,
        }
    }
}
