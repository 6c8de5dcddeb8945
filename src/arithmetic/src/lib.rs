//! What instructions compute that read and write nothing but registers.
//!
//! An opcode is decoded once into an [`Arithmetic`], which then computes all lanes of a warp at a
//! time. Everything is bits: a register of 16 bits is the low part of a `u64`, a predicate is 0 or 1,
//! a value of 128 bits is two registers, the low half first. Bits above the width of a source's type
//! are ignored, and are zero in what is written.
//!
//! The operands stand in the instruction's order, vectors flattened to their elements, destinations
//! apart from sources; `d|p` is two destinations. The caller negates a predicate that has a
//! `!`, passes an immediate as a register that is the same in all lanes, and gives a destination that
//! is not wanted (`_`) a place of its own. Two operands are not in the text: `addc`, `subc` and `madc` read the
//! carry flag as a last source, and whatever has `.cc` writes it as a last destination. A borrow is
//! a carry that is 1.
//!
//! Instructions that exchange values between the lanes of a warp ([`Arithmetic::is_exchange`]) take
//! the active lanes as those that take part. The caller ensures that the other lanes of a member mask
//! are there, too.
//!
//! Results are those of the hardware, bit by bit, as fixtures/hardware has recorded them, but for
//! the approximations (`.approx`, `.full`), which are within what the ISA allows.

#![allow(clippy::cast_possible_wrap, reason = "bits are taken for numbers with a sign")]
#![allow(clippy::many_single_char_names, reason = "operands are called what the ISA calls them")]

use std::fmt;

use ptx_isa::generic::{BooleanOperator, Comparison, Flag, Modifier, Operation, Type};

mod approximate;
mod bits;
mod comparison;
mod convert;
pub mod domain;
mod doubles;
mod exact;
mod extended;
mod floating;
mod format;
mod integer;
pub mod known_bits;
mod lanes;
mod logic;
mod movement;
mod narrow;
mod pack;
mod permute;
mod policy;
mod special;
mod video;
mod warp;

pub use special::Special;

/// One register of a warp.
pub type Lanes = [u64; 32];

/// An operation with its qualifiers.
#[derive(Clone, Copy, Debug)]
pub struct Opcode<'a> {
    /// The operation.
    pub operation: Operation,
    /// Its qualifiers, in their order.
    pub qualifiers: &'a [Modifier],
    /// Those that are types, in their order.
    pub types: &'a [Type],
    /// Whether all of its qualifiers are known, and none is missing.
    pub is_known: bool,
}

/// What an operand of a video instruction is of its register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection<'a> {
    /// The part: `b0`, `h1`, or the elements of `vadd2` and `vadd4`: `h10`, `b3210`. All of it if this is empty.
    pub part: &'a str,
    /// Whether it is negated: `-a`.
    pub is_negated: bool,
}

impl Opcode<'_> {
    fn has(&self, modifier: Modifier) -> bool {
        self.qualifiers.contains(&modifier)
    }

    fn has_flag(&self, flag: Flag) -> bool {
        self.has(Modifier::Flag(flag))
    }

    /// Its first qualifier that `pick` takes.
    fn modifier<T>(&self, pick: impl FnMut(Modifier) -> Option<T>) -> Option<T> {
        self.qualifiers.iter().copied().find_map(pick)
    }

    fn comparison(&self) -> Option<Comparison> {
        self.modifier(|modifier| match modifier {
            Modifier::Comparison(comparison) => Some(comparison),
            _ => None,
        })
    }

    fn boolean_operator(&self) -> Option<BooleanOperator> {
        self.modifier(|modifier| match modifier {
            Modifier::BooleanOperator(operator) => Some(operator),
            _ => None,
        })
    }
}

/// An instruction that computes registers from registers.
#[derive(Clone, Copy, Debug)]
pub struct Arithmetic(Kind);

/// Why something cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What it is.
    pub operation: Operation,
    /// What of it is not known here.
    pub reason: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: &str = self.operation.into();
        write!(formatter, "{name}: {}", self.reason)
    }
}

impl std::error::Error for Unsupported {}

/// Which part of this module computes it.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Integer(integer::Instruction),
    Extended(extended::Instruction),
    Bits(bits::Instruction),
    Logic(logic::Instruction),
    Permute(permute::Instruction),
    Comparison(comparison::Instruction),
    Movement(movement::Instruction),
    Warp(warp::Instruction),
    Floating(floating::Instruction),
    Approximate(approximate::Instruction),
    Convert(convert::Instruction),
    Narrow(narrow::Instruction),
    Pack(pack::Instruction),
    Video(video::Instruction),
    Policy(policy::Instruction),
}

/// What the parts say of an opcode.
type Decoded<T> = Result<T, &'static str>;

/// That an opcode has no type.
const UNTYPED: &str = "its type is missing";
/// That an opcode has another type than the instruction works with.
const FOREIGN_TYPE: &str = "its type is none of the instruction's";
/// That a part is asked for an instruction of another one.
const NOT_HERE: &str = "it is computed elsewhere";
/// That an opcode lacks a word.
const INCOMPLETE: &str = "a word is missing or not known";

impl Arithmetic {
    /// What an opcode computes; nothing if it does something else than computing registers from
    /// registers.
    pub fn of(opcode: &Opcode<'_>) -> Option<Result<Self, Unsupported>> {
        let operation = opcode.operation;
        let kind = Kind::of(operation, opcode)?;
        let kind = if opcode.is_known { kind } else { Err(INCOMPLETE) };
        Some(kind.map(Self).map_err(|reason| Unsupported { operation, reason }))
    }

    /// Whether what it writes in one lane depends on the others.
    pub const fn is_exchange(&self) -> bool {
        matches!(self.0, Kind::Warp(_))
    }

    /// Whether lanes wait for each other there, and what they did before is done when they go on.
    pub const fn synchronises(&self) -> bool {
        matches!(&self.0, Kind::Warp(instruction) if instruction.synchronises())
    }

    /// The same for a destination that is a register of so many bits. It matters to `cvt`, which
    /// extends a signed result over a register that is wider than its type.
    #[must_use]
    pub const fn widened(self, bits: u32) -> Self {
        match self.0 {
            Kind::Convert(instruction) => Self(Kind::Convert(instruction.widened(bits))),
            _ => self,
        }
    }

    /// Whether its operands may be parts of registers.
    pub fn takes_parts(&self) -> bool {
        matches!(self.0, Kind::Video(_))
    }

    /// The same for operands that are parts of registers, or negated, which only video instructions have: the
    /// result, and the sources. Nothing if the instruction takes no such parts.
    #[must_use]
    pub fn selecting(self, selections: &[Selection<'_>]) -> Option<Self> {
        match self.0 {
            Kind::Video(instruction) => instruction.selecting(selections).map(|it| Self(Kind::Video(it))),
            _ => selections.iter().all(|it| *it == Selection::default()).then_some(self),
        }
    }

    /// Computes the active lanes. Nothing happens if there are fewer operands than it has.
    pub fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        match &self.0 {
            Kind::Integer(instruction) => instruction.execute(active, sources, destinations),
            Kind::Extended(instruction) => instruction.execute(active, sources, destinations),
            Kind::Bits(instruction) => instruction.execute(active, sources, destinations),
            Kind::Logic(instruction) => instruction.execute(active, sources, destinations),
            Kind::Permute(instruction) => instruction.execute(active, sources, destinations),
            Kind::Comparison(instruction) => instruction.execute(active, sources, destinations),
            Kind::Movement(instruction) => instruction.execute(active, sources, destinations),
            Kind::Warp(instruction) => instruction.execute(active, sources, destinations),
            Kind::Floating(instruction) => instruction.execute(active, sources, destinations),
            Kind::Approximate(instruction) => instruction.execute(active, sources, destinations),
            Kind::Convert(instruction) => instruction.execute(active, sources, destinations),
            Kind::Narrow(instruction) => instruction.execute(active, sources, destinations),
            Kind::Pack(instruction) => instruction.execute(active, sources, destinations),
            Kind::Video(instruction) => instruction.execute(active, sources, destinations),
            Kind::Policy(instruction) => instruction.execute(active, sources, destinations),
        }
    }
}

impl Kind {
    fn of(operation: Operation, opcode: &Opcode<'_>) -> Option<Decoded<Self>> {
        Some(match operation {
            Operation::Add
            | Operation::Sub
            | Operation::Mul
            | Operation::Mad
            | Operation::Mul24
            | Operation::Mad24
            | Operation::Sad
            | Operation::Div
            | Operation::Rem
            | Operation::Abs
            | Operation::Neg
            | Operation::Min
            | Operation::Max
            | Operation::Clmad
            | Operation::Dp4a
            | Operation::Dp2a => integer::Instruction::of(operation, opcode).map(Self::Integer),
            Operation::AddCarryOut
            | Operation::AddCarryIn
            | Operation::SubBorrowOut
            | Operation::SubBorrowIn
            | Operation::MadCarryOut
            | Operation::MadCarryIn => extended::Instruction::of(operation, opcode).map(Self::Extended),
            Operation::Popc
            | Operation::Clz
            | Operation::Bfind
            | Operation::Fns
            | Operation::Brev
            | Operation::Bfe
            | Operation::Bfi
            | Operation::Szext
            | Operation::Bmsk => bits::Instruction::of(operation, opcode).map(Self::Bits),
            Operation::And
            | Operation::Or
            | Operation::Xor
            | Operation::Not
            | Operation::Cnot
            | Operation::Lop3
            | Operation::Lop3Predicate
            | Operation::Shf
            | Operation::Shl
            | Operation::Shr => logic::Instruction::of(operation, opcode).map(Self::Logic),
            Operation::Prmt | Operation::PrmtMode => permute::Instruction::of(opcode).map(Self::Permute),
            Operation::Set | Operation::Setp | Operation::Selp | Operation::Slct => {
                comparison::Instruction::of(operation, opcode).map(Self::Comparison)
            }
            Operation::Mov | Operation::MovVector => {
                movement::Instruction::of(operation, opcode).map(Self::Movement)
            }
            Operation::Shfl
            | Operation::ShflSync
            | Operation::Vote
            | Operation::VoteBallot
            | Operation::VoteSync
            | Operation::VoteSyncBallot
            | Operation::MatchAnySync
            | Operation::MatchAllSync
            | Operation::Activemask
            | Operation::ReduxSync
            | Operation::ElectSync
            | Operation::Movmatrix => warp::Instruction::of(operation, opcode).map(Self::Warp),
            Operation::Testp
            | Operation::Copysign
            | Operation::AddFloat
            | Operation::SubFloat
            | Operation::MulFloat
            | Operation::Fma
            | Operation::MadFloat
            | Operation::AbsFloat
            | Operation::NegFloat
            | Operation::MinFloat
            | Operation::MaxFloat
            | Operation::AddHalf
            | Operation::SubHalf
            | Operation::MulHalf
            | Operation::FmaHalf
            | Operation::NegHalf
            | Operation::AbsHalf
            | Operation::MinHalf
            | Operation::MaxHalf
            | Operation::AddMixed
            | Operation::SubMixed
            | Operation::FmaMixed
            | Operation::AddPacked
            | Operation::SubPacked
            | Operation::FmaPacked
            | Operation::MulNarrow
            | Operation::FmaNarrow => floating::Instruction::of(operation, opcode).map(Self::Floating),
            Operation::DivFloat | Operation::Rcp | Operation::Sqrt
                if floating::rounding(opcode).is_some() =>
            {
                floating::Instruction::of(operation, opcode).map(Self::Floating)
            }
            Operation::Sin | Operation::Cos if opcode.has_flag(Flag::TwoPi) => Err("it is not computed yet"),
            Operation::DivFloat
            | Operation::Rcp
            | Operation::Sqrt
            | Operation::Rsqrt
            | Operation::Sin
            | Operation::Cos
            | Operation::Lg2
            | Operation::Ex2
            | Operation::Tanh
            | Operation::TanhHalf
            | Operation::Ex2Half => approximate::Instruction::of(operation, opcode).map(Self::Approximate),
            Operation::Cvt => convert::Instruction::of(opcode).map(Self::Convert),
            Operation::CvtPair
            | Operation::CvtPacked
            | Operation::CvtStochastic
            | Operation::CvtStochastic4 => narrow::Instruction::of(operation, opcode).map(Self::Narrow),
            Operation::CvtPack | Operation::CvtPackMerge => {
                pack::Instruction::of(operation, opcode).map(Self::Pack)
            }
            Operation::Vadd
            | Operation::Vsub
            | Operation::Vabsdiff
            | Operation::Vmin
            | Operation::Vmax
            | Operation::Vshl
            | Operation::Vshr
            | Operation::Vmad
            | Operation::Vset => video::Instruction::of(operation, opcode).map(Self::Video),
            Operation::CreatepolicyFractional => policy::Instruction::of(opcode).map(Self::Policy),
            Operation::Vadd2
            | Operation::Vsub2
            | Operation::Vavrg2
            | Operation::Vabsdiff2
            | Operation::Vmin2
            | Operation::Vmax2
            | Operation::Vset2 => video::Instruction::packed(operation, 2, opcode).map(Self::Video),
            Operation::Vadd4
            | Operation::Vsub4
            | Operation::Vavrg4
            | Operation::Vabsdiff4
            | Operation::Vmin4
            | Operation::Vmax4
            | Operation::Vset4 => video::Instruction::packed(operation, 4, opcode).map(Self::Video),
            Operation::Spcompress
            | Operation::Spdecompress
            | Operation::AddDown
            | Operation::SubDown
            | Operation::MulDown
            | Operation::MulHalves
            | Operation::SetPacked => Err("it is not computed yet"),
            // Memory, control, synchronisation, and what asks the machine.
            Operation::Ld
            | Operation::LdGlobalNc
            | Operation::LdReadonly
            | Operation::Ldu
            | Operation::St
            | Operation::StAsync
            | Operation::StAsyncRelease
            | Operation::StBulk
            | Operation::MultimemLdReduce
            | Operation::MultimemSt
            | Operation::MultimemRed
            | Operation::MultimemStAsync
            | Operation::MultimemRedAsync
            | Operation::Prefetch
            | Operation::PrefetchEviction
            | Operation::PrefetchValid
            | Operation::PrefetchTensormap
            | Operation::Prefetchu
            | Operation::Applypriority
            | Operation::Discard
            | Operation::CreatepolicyRange
            | Operation::CreatepolicyCvt
            | Operation::Isspacep
            | Operation::Cvta
            | Operation::Mapa
            | Operation::Getctarank
            | Operation::CpAsync
            | Operation::CpAsyncCommitGroup
            | Operation::CpAsyncWaitGroup
            | Operation::CpAsyncWaitAll
            | Operation::CpAsyncMbarrierArrive
            | Operation::CpAsyncBulkLoad
            | Operation::CpAsyncBulkCluster
            | Operation::CpAsyncBulkStore
            | Operation::CpReduceAsyncBulkCluster
            | Operation::CpReduceAsyncBulkStore
            | Operation::CpAsyncBulkPrefetch
            | Operation::MultimemCpAsyncBulk
            | Operation::MultimemCpReduceAsyncBulk
            | Operation::CpAsyncBulkCommitGroup
            | Operation::CpAsyncBulkWaitGroup
            | Operation::CpAsyncBulkTensorLoad
            | Operation::CpAsyncBulkTensorStore
            | Operation::CpReduceAsyncBulkTensor
            | Operation::CpAsyncBulkPrefetchTensor
            | Operation::ApplypriorityAsyncBulk
            | Operation::ApplypriorityAsyncBulkTensor
            | Operation::TensormapReplace
            | Operation::TensormapQueryAllocClassLarge
            | Operation::TensormapCpFenceproxy
            | Operation::FabricTryGet
            | Operation::FabricTryPut
            | Operation::FabricTryRed
            | Operation::FabricTryPullred
            | Operation::FabricTryAtom
            | Operation::FabricTryGetTensor
            | Operation::FabricTryPutTensor
            | Operation::FabricTryRedTensor
            | Operation::FabricSubmit
            | Operation::FabricSubmitCommitGroup
            | Operation::FabricWait
            | Operation::Tex
            | Operation::Tld4
            | Operation::Txq
            | Operation::Istypep
            | Operation::Suld
            | Operation::Sust
            | Operation::Sured
            | Operation::Suq
            | Operation::Bra
            | Operation::BrxIdx
            | Operation::Call
            | Operation::Ret
            | Operation::Exit
            | Operation::BarrierSync
            | Operation::BarrierArrive
            | Operation::BarrierPopc
            | Operation::BarrierPredicate
            | Operation::BarWarpSync
            | Operation::BarrierClusterArrive
            | Operation::BarrierClusterWait
            | Operation::Membar
            | Operation::MembarProxy
            | Operation::Fence
            | Operation::FenceRestricted
            | Operation::FenceMbarrierInit
            | Operation::FenceAliasRead
            | Operation::FenceProxy
            | Operation::FenceProxyAlias
            | Operation::FenceProxyTensormap
            | Operation::FenceProxyAsyncGeneric
            | Operation::Atom
            | Operation::Red
            | Operation::RedAsync
            | Operation::RedAsyncRelease
            | Operation::Griddepcontrol
            | Operation::MbarrierInit
            | Operation::MbarrierInval
            | Operation::MbarrierExpectTx
            | Operation::MbarrierCompleteTx
            | Operation::MbarrierArrive
            | Operation::MbarrierArriveDrop
            | Operation::MbarrierTestWait
            | Operation::MbarrierTryWait
            | Operation::MbarrierPendingCount
            | Operation::MbarrierCheckLayout
            | Operation::ClusterlaunchcontrolTryCancel
            | Operation::ClusterlaunchcontrolIsCanceled
            | Operation::ClusterlaunchcontrolFirstCtaid
            | Operation::WmmaLoad
            | Operation::WmmaStore
            | Operation::WmmaMma
            | Operation::Mma
            | Operation::MmaSp
            | Operation::Ldmatrix
            | Operation::LdmatrixUnpack
            | Operation::LdmatrixSigned
            | Operation::Stmatrix
            | Operation::WgmmaMmaAsync
            | Operation::WgmmaMmaAsyncSp
            | Operation::WgmmaFence
            | Operation::WgmmaCommitGroup
            | Operation::WgmmaWaitGroup
            | Operation::Stacksave
            | Operation::Stackrestore
            | Operation::Alloca
            | Operation::Brkpt
            | Operation::Nanosleep
            | Operation::Pmevent
            | Operation::Trap
            | Operation::Setmaxnreg
            | Operation::Tensor => return None,
        })
    }
}

/// The type of integers, or of bits taken for such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// How many.
    pub bits: u32,
    /// Whether the highest is a sign.
    pub signed: bool,
}

impl Integer {
    /// `.u32`
    pub const U32: Self = Self { bits: 32, signed: false };

    /// The type of an element, and how many there are.
    fn elements(ty: Type) -> Option<(Self, u32)> {
        let count = match ty {
            Type::U16x2 | Type::S16x2 => 2,
            Type::U8x4 | Type::S8x4 => 4,
            Type::Pred => return Some((Self { bits: 1, signed: false }, 1)),
            _ if ty.is_float() || ty.is_packed() => return None,
            _ => 1,
        };
        let bits = ty.bits().filter(|bits| *bits <= 64)?;
        Some((Self { bits: bits / count, signed: ty.is_signed() }, count))
    }

    /// The first type of an opcode, which has one element.
    fn first(opcode: &Opcode<'_>) -> Decoded<Self> {
        let ty = *opcode.types.first().ok_or(UNTYPED)?;
        match Self::elements(ty) {
            Some((element, 1)) => Ok(element),
            Some(_) | None => Err(FOREIGN_TYPE),
        }
    }

    /// All bits of a number.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// As many bits without a sign.
    #[must_use]
    pub const fn unsigned(self) -> Self {
        Self { signed: false, ..self }
    }

    /// Twice as wide.
    #[must_use]
    pub const fn doubled(self) -> Self {
        Self { bits: self.bits * 2, ..self }
    }

    /// The number that bits are.
    pub const fn value(self, bits: u64) -> i128 {
        if self.signed { self.sign_extended(bits) as i128 } else { (bits & self.mask()) as i128 }
    }

    /// As it would be with 64 bits.
    pub const fn sign_extended(self, bits: u64) -> i64 {
        let unused = 64 - self.bits;
        ((bits << unused) as i64) >> unused
    }

    /// The low bits of a number.
    pub const fn wrapped(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    const fn smallest(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    const fn largest(self) -> i128 {
        if self.signed { (1 << (self.bits - 1)) - 1 } else { (1 << self.bits) - 1 }
    }

    /// The number that is nearest among those of this type.
    fn saturated(self, value: i128) -> u64 {
        self.wrapped(value.clamp(self.smallest(), self.largest()))
    }
}
