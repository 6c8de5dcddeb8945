//! The words of tcgen05: operations and qualifiers.
//!
//! A *slot* is a position that at most one qualifier of a group fills: `.cta_group::1` and
//! `.cta_group::2` share one. Each slot is an enum; [`Qualifier`] is their sum. The doc comment of
//! a variant is its explanation wherever the word is explained to a user.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoEnumIterator, IntoStaticStr, VariantArray};

/// Declares the slots, and with them [`Slot`] and [`Qualifier`].
macro_rules! slots {
    ($(
        $(#[doc = $slot_doc:literal])+
        $slot:ident($title:literal) {
            $( $(#[doc = $doc:literal])+ $variant:ident = $spelling:literal, )+
        }
    )+) => {
        $(
            $(#[doc = $slot_doc])+
            #[derive(
                Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
                Display, EnumIter, EnumMessage, EnumString, IntoStaticStr, VariantArray,
            )]
            pub enum $slot {
                $( $(#[doc = $doc])+ #[strum(serialize = $spelling)] $variant, )+
            }

            impl Serialize for $slot {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str((*self).into())
                }
            }

            impl From<$slot> for Qualifier {
                fn from(value: $slot) -> Self {
                    Self::$slot(value)
                }
            }

            impl TryFrom<Qualifier> for $slot {
                type Error = ();

                fn try_from(qualifier: Qualifier) -> Result<Self, ()> {
                    match qualifier {
                        Qualifier::$slot(value) => Ok(value),
                        _ => Err(()),
                    }
                }
            }
        )+

        /// A position in an instruction's name that at most one qualifier fills.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EnumIter, EnumMessage)]
        pub enum Slot {
            $( $(#[doc = $slot_doc])+ $slot, )+
        }

        impl Slot {
            /// What the slot is called in a message.
            pub const fn title(self) -> &'static str {
                match self { $( Self::$slot => $title, )+ }
            }

            /// Every qualifier that fills the slot somewhere, in the ISA's order.
            pub fn qualifiers(self) -> Vec<Qualifier> {
                match self { $( Self::$slot => $slot::iter().map(Qualifier::$slot).collect(), )+ }
            }

            /// What the slot is for.
            pub fn explanation(self) -> &'static str {
                self.get_documentation().unwrap_or_default()
            }
        }

        /// One qualifier: a slot and its value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Qualifier {
            $( $(#[doc = $slot_doc])+ $slot($slot), )+
        }

        impl Qualifier {
            /// The slot that it fills.
            pub const fn slot(self) -> Slot {
                match self { $( Self::$slot(_) => Slot::$slot, )+ }
            }

            /// How it is written, without the dot in front.
            pub fn spelling(self) -> &'static str {
                match self { $( Self::$slot(value) => value.into(), )+ }
            }

            /// What it means, in a sentence or two.
            pub fn explanation(self) -> &'static str {
                match self { $( Self::$slot(value) => value.get_documentation().unwrap_or_default(), )+ }
            }
        }
    };
}

slots! {
    /// How many CTAs the operation spans. All tcgen05 instructions of a kernel agree on it.
    CtaGroup("`.cta_group`") {
        /// The operation concerns the executing CTA alone.
        One = "cta_group::1",
        /// The operation concerns the CTA pair: the executing CTA and its peer in the cluster.
        Two = "cta_group::2",
    }
    /// Makes all threads of the warp wait for each other at this instruction.
    Sync("`.sync`") {
        /// The thread waits until all threads of its warp execute this same instruction.
        Sync = "sync",
    }
    /// Promises that the warp does not diverge here.
    Aligned("`.aligned`") {
        /// All threads of the warp must execute this same instruction; a condition around it has to be uniform for the warp.
        Aligned = "aligned",
    }
    /// How an address in shared memory is meant.
    AddressSpace("the state space") {
        /// The address is an offset into the shared memory of the executing CTA.
        SharedCta = "shared::cta",
        /// The address is an offset into the shared memory of a CTA of the cluster.
        SharedCluster = "shared::cluster",
    }
    /// Who may use the columns.
    Exclusive("`.exclusive`") {
        /// The allocation is exclusive; the number of columns is a multiple of 32, not necessarily a power of two.
        Exclusive = "exclusive",
    }
    /// What the completion of the tracked operations does.
    Completion("the completion mechanism") {
        /// Performs an arrive-on with count 1 on the mbarrier, at cluster scope.
        ArriveOne = "mbarrier::arrive::one",
    }
    /// Which mbarriers a commit signals.
    Multicast("`.multicast`") {
        /// Signals the mbarrier at the same offset in each CTA whose bit is set in a 16-bit mask.
        Cluster = "multicast::cluster",
        /// Signals the mbarrier at the same offset in each CTA whose bit is set in a 16-bit mask.
        Cluster16b = "multicast::cluster::16b",
        /// Signals the mbarrier at the same offset in each CTA whose bit is set in a 32-bit mask.
        Cluster32b = "multicast::cluster::32b",
    }
    /// Limits what a commit orders.
    SyncRestrict("`.sync_restrict`") {
        /// The commit tracks only the reads of matrix A from shared memory by prior multiplies.
        SharedReadMmaA = "sync_restrict::shared::read::mma::a",
    }
    /// Lanes and bits per lane that one repetition of a load or store moves.
    LdShape("the shape") {
        /// 16 lanes, 64 bits of each.
        S16x64b = "16x64b",
        /// 16 lanes, 128 bits of each.
        S16x128b = "16x128b",
        /// 16 lanes, 256 bits of each.
        S16x256b = "16x256b",
        /// 32 lanes, 32 bits of each: one register per thread and repetition.
        S32x32b = "32x32b",
        /// Two accesses of 16 lanes and 32 bits; the second starts immHalfSplitoff columns further.
        S16x32bx2 = "16x32bx2",
    }
    /// How often the shape repeats along the columns.
    Num("the repetition `.num`") {
        /// The shape once.
        X1 = "x1",
        /// The shape twice along the columns.
        X2 = "x2",
        /// The shape 4 times along the columns.
        X4 = "x4",
        /// The shape 8 times along the columns.
        X8 = "x8",
        /// The shape 16 times along the columns.
        X16 = "x16",
        /// The shape 32 times along the columns.
        X32 = "x32",
        /// The shape 64 times along the columns.
        X64 = "x64",
        /// The shape 128 times along the columns.
        X128 = "x128",
    }
    /// Packs on the way to registers.
    Pack("`.pack`") {
        /// Packs two 16-bit elements of adjacent columns into one 32-bit register.
        B16 = "pack::16b",
    }
    /// Unpacks on the way from registers.
    Unpack("`.unpack`") {
        /// Splits each 32-bit register into two 16-bit elements of adjacent columns.
        B16 = "unpack::16b",
    }
    /// The reduction across the loaded columns of a lane.
    RedOp("the reduction") {
        /// The smallest of the loaded elements of a lane.
        Min = "min",
        /// The largest of the loaded elements of a lane.
        Max = "max",
    }
    /// Reduces absolute values.
    Abs("`.abs`") {
        /// Reduces the absolute values; for `.f32` only.
        Abs = "abs",
    }
    /// Lets NaN win the reduction.
    Nan("`.NaN`") {
        /// The result is NaN if an input is; for `.f32` only.
        Nan = "NaN",
    }
    /// The sparsity that a compressing load produces.
    Sparsity("the sparsity") {
        /// Keeps 2 of each 4 elements.
        Sp2Of4 = "sp::2:4",
    }
    /// The type of the metadata that a compressing load writes.
    MetadataType("the metadata type") {
        /// 2-bit indices, 16 to a register.
        B2 = "b2",
    }
    /// The type of the data, or the width of the object.
    DataType("the type") {
        /// 32 bits of no particular type.
        B32 = "b32",
        /// 64 bits of no particular type: the mbarrier object.
        B64 = "b64",
        /// Reduces as 32-bit floating point.
        F32 = "f32",
        /// Reduces as unsigned 32-bit integers.
        U32 = "u32",
        /// Reduces as signed 32-bit integers.
        S32 = "s32",
    }
    /// Rows and bits per row that a copy moves.
    CpShape("the shape") {
        /// 128 rows of 256 bits.
        S128x256b = "128x256b",
        /// 4 rows of 256 bits.
        S4x256b = "4x256b",
        /// 128 rows of 128 bits.
        S128x128b = "128x128b",
        /// 64 rows of 128 bits, multicast into pairs of warps.
        S64x128b = "64x128b",
        /// 32 rows of 128 bits, multicast into all four warps.
        S32x128b = "32x128b",
    }
    /// Which warps' lanes receive the same data.
    WarpMulticast("the multicast") {
        /// Warps 0 and 2 receive one half, warps 1 and 3 the other.
        Warpx2_02_13 = "warpx2::02_13",
        /// Warps 0 and 1 receive one half, warps 2 and 3 the other.
        Warpx2_01_23 = "warpx2::01_23",
        /// All four warps receive all of the data.
        Warpx4 = "warpx4",
    }
    /// The format that a copy decompresses into; stands directly before the source format.
    DstFormat("the destination format") {
        /// 16 elements of 8 bits.
        B8x16 = "b8x16",
    }
    /// The format that a copy decompresses from.
    SrcFormat("the source format") {
        /// 16 elements of 6 bits and 32 bits of padding.
        B6x16P32 = "b6x16_p32",
        /// 16 elements of 4 bits and 64 bits of padding.
        B4x16P64 = "b4x16_p64",
    }
    /// The direction of a shift.
    Direction("the direction") {
        /// Moves every row but the last down by one.
        Down = "down",
    }
    /// Makes matrix A sparse.
    Sparse("`.sp`") {
        /// Matrix A holds half of its elements; metadata in Tensor Memory says which.
        Sp = "sp",
    }
    /// The general kind of the multiplied types; the instruction descriptor names the exact ones.
    Kind("`.kind`") {
        /// f16 or bf16 inputs, f16 or f32 accumulator.
        F16 = "kind::f16",
        /// tf32 inputs, f32 accumulator.
        Tf32 = "kind::tf32",
        /// Any mixture of e4m3, e5m2, e2m3, e3m2 and e2m1 inputs, f16 or f32 accumulator.
        F8f6f4 = "kind::f8f6f4",
        /// Signed or unsigned 8-bit integer inputs, s32 accumulator.
        I8 = "kind::i8",
        /// 16-bit integer inputs, s32 accumulator.
        Ti16 = "kind::ti16",
        /// 8-, 6- and 4-bit floating point inputs with one UE8M0 scale for each block of 32.
        Mxf8f6f4 = "kind::mxf8f6f4",
        /// e2m1 inputs with one UE8M0 scale for each block of 32.
        Mxf4 = "kind::mxf4",
        /// e2m1 inputs with UE8M0 or UE4M3 scales for blocks of 16 or 32.
        Mxf4nvf4 = "kind::mxf4nvf4",
    }
    /// Scales the inputs block by block.
    BlockScale("`.block_scale`") {
        /// A and B are multiplied by the scale matrices that two further operands name.
        BlockScale = "block_scale",
    }
    /// How many elements share a scale.
    ScaleVectorSize("the scale vector size") {
        /// One scale for each row of A and column of B.
        X1 = "scale_vec::1X",
        /// Two scales for each row of A and column of B.
        X2 = "scale_vec::2X",
        /// Four scales for each row of A and column of B.
        X4 = "scale_vec::4X",
        /// One scale for each block of 16 elements along K; the portable name of `.scale_vec::4X`.
        Block16 = "block16",
        /// One scale for each block of 32 elements along K; the portable name of `.scale_vec::1X` and `::2X`.
        Block32 = "block32",
    }
    /// Shifts the rows of A.
    Ashift("`.ashift`") {
        /// Shifts the rows of A in Tensor Memory down by one, but for the last; M must be 128 or 256.
        Ashift = "ashift",
    }
    /// What happens to matrix A in the collector buffer.
    CollectorA("the collector buffer of A") {
        /// Keeps A in the collector buffer for later multiplies.
        Fill = "collector::a::fill",
        /// May read A from the collector buffer; an earlier `fill` must still be valid.
        Use = "collector::a::use",
        /// May read A from the collector buffer for the last time; an earlier `fill` must still be valid.
        LastUse = "collector::a::lastuse",
        /// Leaves nothing in the collector buffer of A; this is the default.
        Discard = "collector::a::discard",
    }
    /// What happens to matrix B in the collector buffer of an activation-stationary multiply.
    CollectorB("the collector buffer of B") {
        /// Keeps B in the collector buffer for later multiplies.
        Fill = "collector::b::fill",
        /// May read B from the collector buffer; an earlier `fill` must still be valid.
        Use = "collector::b::use",
        /// May read B from the collector buffer for the last time; an earlier `fill` must still be valid.
        LastUse = "collector::b::lastuse",
        /// Leaves nothing in the collector buffer of B.
        Discard = "collector::b::discard",
    }
    /// What happens to matrix B in one of the four collector buffers of a weight-stationary multiply.
    CollectorWs("the collector buffer of B") {
        /// Keeps B in collector buffer 0.
        B0Fill = "collector::b0::fill",
        /// May read B from collector buffer 0.
        B0Use = "collector::b0::use",
        /// May read B from collector buffer 0 for the last time.
        B0LastUse = "collector::b0::lastuse",
        /// Leaves nothing in collector buffer 0; this is the default.
        B0Discard = "collector::b0::discard",
        /// Keeps B in collector buffer 1.
        B1Fill = "collector::b1::fill",
        /// May read B from collector buffer 1.
        B1Use = "collector::b1::use",
        /// May read B from collector buffer 1 for the last time.
        B1LastUse = "collector::b1::lastuse",
        /// Leaves nothing in collector buffer 1.
        B1Discard = "collector::b1::discard",
        /// Keeps B in collector buffer 2.
        B2Fill = "collector::b2::fill",
        /// May read B from collector buffer 2.
        B2Use = "collector::b2::use",
        /// May read B from collector buffer 2 for the last time.
        B2LastUse = "collector::b2::lastuse",
        /// Leaves nothing in collector buffer 2.
        B2Discard = "collector::b2::discard",
        /// Keeps B in collector buffer 3.
        B3Fill = "collector::b3::fill",
        /// May read B from collector buffer 3.
        B3Use = "collector::b3::use",
        /// May read B from collector buffer 3 for the last time.
        B3LastUse = "collector::b3::lastuse",
        /// Leaves nothing in collector buffer 3.
        B3Discard = "collector::b3::discard",
    }
    /// Decompresses B on the way.
    Decompress("`.decompress`") {
        /// Decompresses B through a lookup table that a further operand names.
        LutB = "decompress::lut::b",
    }
}

impl Slot {
    /// Every slot, in the order of the declarations.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }
}

impl Qualifier {
    /// Every qualifier that a tcgen05 instruction has.
    pub fn all() -> impl Iterator<Item = Self> {
        Slot::iter().flat_map(Slot::qualifiers)
    }

    /// The qualifier that is written `word`, without its dot.
    pub fn parse(word: &str) -> Option<Self> {
        static BY_SPELLING: LazyLock<FxHashMap<&'static str, Qualifier>> =
            LazyLock::new(|| Qualifier::all().map(|qualifier| (qualifier.spelling(), qualifier)).collect());
        BY_SPELLING.get(word).copied()
    }
}

/// A collector buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display)]
#[strum(serialize_all = "lowercase")]
pub enum CollectorBuffer {
    /// That of A.
    A,
    /// That of B of an activation-stationary multiply.
    B,
    /// The first of B of a weight-stationary multiply.
    B0,
    /// The second.
    B1,
    /// The third.
    B2,
    /// The fourth.
    B3,
}

/// What a multiply does with a collector buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub enum CollectorAction {
    /// Keeps the matrix in it.
    Fill,
    /// May read the matrix from it.
    Use,
    /// The same, for the last time.
    LastUse,
    /// Leaves nothing in it.
    Discard,
}

impl Qualifier {
    /// The collector buffer that it names, and what is done with it.
    #[rustfmt::skip]
    pub fn collector(self) -> Option<(CollectorBuffer, CollectorAction)> {
        Some(match self {
            Self::CollectorA(CollectorA::Fill) => (CollectorBuffer::A, CollectorAction::Fill),
            Self::CollectorA(CollectorA::Use) => (CollectorBuffer::A, CollectorAction::Use),
            Self::CollectorA(CollectorA::LastUse) => (CollectorBuffer::A, CollectorAction::LastUse),
            Self::CollectorA(CollectorA::Discard) => (CollectorBuffer::A, CollectorAction::Discard),
            Self::CollectorB(CollectorB::Fill) => (CollectorBuffer::B, CollectorAction::Fill),
            Self::CollectorB(CollectorB::Use) => (CollectorBuffer::B, CollectorAction::Use),
            Self::CollectorB(CollectorB::LastUse) => (CollectorBuffer::B, CollectorAction::LastUse),
            Self::CollectorB(CollectorB::Discard) => (CollectorBuffer::B, CollectorAction::Discard),
            Self::CollectorWs(CollectorWs::B0Fill) => (CollectorBuffer::B0, CollectorAction::Fill),
            Self::CollectorWs(CollectorWs::B0Use) => (CollectorBuffer::B0, CollectorAction::Use),
            Self::CollectorWs(CollectorWs::B0LastUse) => (CollectorBuffer::B0, CollectorAction::LastUse),
            Self::CollectorWs(CollectorWs::B0Discard) => (CollectorBuffer::B0, CollectorAction::Discard),
            Self::CollectorWs(CollectorWs::B1Fill) => (CollectorBuffer::B1, CollectorAction::Fill),
            Self::CollectorWs(CollectorWs::B1Use) => (CollectorBuffer::B1, CollectorAction::Use),
            Self::CollectorWs(CollectorWs::B1LastUse) => (CollectorBuffer::B1, CollectorAction::LastUse),
            Self::CollectorWs(CollectorWs::B1Discard) => (CollectorBuffer::B1, CollectorAction::Discard),
            Self::CollectorWs(CollectorWs::B2Fill) => (CollectorBuffer::B2, CollectorAction::Fill),
            Self::CollectorWs(CollectorWs::B2Use) => (CollectorBuffer::B2, CollectorAction::Use),
            Self::CollectorWs(CollectorWs::B2LastUse) => (CollectorBuffer::B2, CollectorAction::LastUse),
            Self::CollectorWs(CollectorWs::B2Discard) => (CollectorBuffer::B2, CollectorAction::Discard),
            Self::CollectorWs(CollectorWs::B3Fill) => (CollectorBuffer::B3, CollectorAction::Fill),
            Self::CollectorWs(CollectorWs::B3Use) => (CollectorBuffer::B3, CollectorAction::Use),
            Self::CollectorWs(CollectorWs::B3LastUse) => (CollectorBuffer::B3, CollectorAction::LastUse),
            Self::CollectorWs(CollectorWs::B3Discard) => (CollectorBuffer::B3, CollectorAction::Discard),
            _ => return None,
        })
    }
}

impl Serialize for Qualifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.spelling())
    }
}

/// What an instruction does: the part of its name that the ISA gives a syntax of its own.
///
/// Only the words that must stand together at the front are part of it (errata E1); `.sp` is a
/// qualifier like others.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Display,
    EnumIter,
    EnumMessage,
    EnumString,
    IntoStaticStr,
)]
pub enum Operation {
    /// Allocates columns of Tensor Memory and writes their address to shared memory; may block.
    #[strum(serialize = "alloc")]
    Alloc,
    /// Gives allocated columns of Tensor Memory back.
    #[strum(serialize = "dealloc")]
    Dealloc,
    /// Gives up the CTA's right to allocate Tensor Memory.
    #[strum(serialize = "relinquish_alloc_permit")]
    RelinquishAllocPermit,
    /// Loads from Tensor Memory into the registers of a warp, asynchronously.
    #[strum(serialize = "ld")]
    Ld,
    /// Loads from Tensor Memory and reduces across the columns of each lane.
    #[strum(serialize = "ld.red")]
    LdRed,
    /// Loads from Tensor Memory and compresses to structured sparsity.
    #[strum(serialize = "ld.spcompress")]
    LdSpcompress,
    /// Loads from Tensor Memory, reduces across columns and compresses to structured sparsity.
    #[strum(serialize = "ld.red.spcompress")]
    LdRedSpcompress,
    /// Stores the registers of a warp to Tensor Memory, asynchronously.
    #[strum(serialize = "st")]
    St,
    /// Waits until all prior `tcgen05.ld` of the thread are done.
    #[strum(serialize = "wait::ld")]
    WaitLd,
    /// Waits until all prior `tcgen05.st` of the thread are done.
    #[strum(serialize = "wait::st")]
    WaitSt,
    /// Copies from shared memory to Tensor Memory, asynchronously.
    #[strum(serialize = "cp")]
    Cp,
    /// Shifts the rows of a matrix in Tensor Memory down by one, asynchronously.
    #[strum(serialize = "shift")]
    Shift,
    /// Multiplies two matrices and accumulates in Tensor Memory, asynchronously.
    #[strum(serialize = "mma")]
    Mma,
    /// Multiplies two matrices with B kept stationary and accumulates in Tensor Memory, asynchronously.
    #[strum(serialize = "mma.ws")]
    MmaWs,
    /// Makes an mbarrier track the completion of the thread's prior multiplies, copies and shifts.
    #[strum(serialize = "commit")]
    Commit,
    /// Orders prior asynchronous tcgen05 operations before what follows.
    #[strum(serialize = "fence::before_thread_sync")]
    FenceBefore,
    /// Orders subsequent asynchronous tcgen05 operations after what came before.
    #[strum(serialize = "fence::after_thread_sync")]
    FenceAfter,
}

impl Operation {
    /// Its words behind `tcgen05.`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What it does, in a sentence.
    pub fn explanation(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl CtaGroup {
    /// The number of CTAs.
    pub const fn ctas(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl Num {
    /// Every repetition, from the smallest.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// The factor.
    pub const fn factor(self) -> u32 {
        match self {
            Self::X1 => 1,
            Self::X2 => 2,
            Self::X4 => 4,
            Self::X8 => 8,
            Self::X16 => 16,
            Self::X32 => 32,
            Self::X64 => 64,
            Self::X128 => 128,
        }
    }
}

impl Kind {
    /// Whether the kind scales its inputs block by block.
    pub const fn is_block_scaled(self) -> bool {
        match self {
            Self::F16 | Self::Tf32 | Self::F8f6f4 | Self::I8 | Self::Ti16 => false,
            Self::Mxf8f6f4 | Self::Mxf4 | Self::Mxf4nvf4 => true,
        }
    }
}
