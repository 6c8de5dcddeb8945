//! The words behind the dots of an opcode.
//!
//! A word means what its row lets it mean: `.lo` is half of a product in `mul` and a comparison in
//! `setp`. So each meaning is a value of its own, and a row says which values it takes.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use strum::{EnumIter, EnumMessage, IntoEnumIterator, IntoStaticStr};

use ptx_text::types;

/// Declares the kinds of words, and with them [`Modifier`].
macro_rules! words {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident { $( $word:ident = $spelling:literal, )+ }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, IntoStaticStr)]
            #[allow(missing_docs, reason = "each is its own spelling")]
            pub enum $kind {
                $( #[strum(serialize = $spelling)] $word, )+
            }
        )+

        /// A word of an opcode, and what it means there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumMessage)]
        pub enum Modifier {
            $( $(#[doc = $doc])+ $kind($kind), )+
            /// The shape of a matrix multiplication, such as `.m16n8k16`.
            Shape(Shape),
        }

        impl Modifier {
            /// How it is written, without the dot; nothing for a shape, which is made of numbers.
            pub fn fixed_spelling(self) -> Option<&'static str> {
                match self {
                    $( Self::$kind(word) => Some(word.into()), )+
                    Self::Shape(_) => None,
                }
            }

            /// Every word but the shapes.
            pub fn all() -> impl Iterator<Item = Self> {
                std::iter::empty()$( .chain($kind::iter().map(Self::$kind)) )+
            }
        }
    };
}

words! {
    /// The type of an instruction or of one of its operands.
    Type {
        Pred = "pred",
        B1 = "b1", B2 = "b2", B4 = "b4", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64",
        B128 = "b128", B1024 = "b1024",
        U4 = "u4", U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S4 = "s4", S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        U2 = "u2", S2 = "s2",
        U16x2 = "u16x2", S16x2 = "s16x2", U8x4 = "u8x4", S8x4 = "s8x4",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        F32 = "f32", F32x2 = "f32x2", F64 = "f64", Tf32 = "tf32",
        E4m3 = "e4m3", E5m2 = "e5m2", E2m3 = "e2m3", E3m2 = "e3m2", E2m1 = "e2m1",
        E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2", E2m3x2 = "e2m3x2", E3m2x2 = "e3m2x2", E2m1x2 = "e2m1x2",
        E4m3x4 = "e4m3x4", E5m2x4 = "e5m2x4", E2m3x4 = "e2m3x4", E3m2x4 = "e3m2x4", E2m1x4 = "e2m1x4",
        E2m1p4x4 = "e2m1p4x4",
        Ue8m0 = "ue8m0", Ue4m3 = "ue4m3", Ue5m3 = "ue5m3",
        Ue8m0x2 = "ue8m0x2", Ue5m3x2 = "ue5m3x2", S2f6x2 = "s2f6x2",
        B8x16 = "b8x16", B6x16P32 = "b6x16_p32", B4x16P64 = "b4x16_p64",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref",
    }
    /// Where an address points to.
    Space {
        Const = "const", Global = "global", Local = "local",
        Param = "param", ParamEntry = "param::entry", ParamFunc = "param::func",
        Shared = "shared", SharedCta = "shared::cta", SharedCluster = "shared::cluster",
    }
    /// The number of elements of a vector.
    Vector { V2 = "v2", V4 = "v4", V8 = "v8", }
    /// How a result is rounded; those that end in `i` round to an integer.
    Rounding {
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rs = "rs",
        Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
    }
    /// A comparison; the last eight are those of floating point.
    Comparison {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        Lo = "lo", Ls = "ls", Hi = "hi", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        Num = "num", Nan = "nan",
    }
    /// What combines the result of a comparison with a predicate.
    BooleanOperator { And = "and", Or = "or", Xor = "xor", }
    /// What an atomic operation or a reduction does.
    ReductionOperator {
        And = "and", Or = "or", Xor = "xor", Cas = "cas", Exch = "exch", Add = "add",
        Inc = "inc", Dec = "dec", Min = "min", Max = "max", Popc = "popc",
    }
    /// Which part of a product is the result.
    Part { Lo = "lo", Hi = "hi", Wide = "wide", }
    /// What becomes of a shift by too much, or of a position that is too large.
    Overflow { Clamp = "clamp", Wrap = "wrap", }
    /// Which way a funnel shift goes.
    Direction { Left = "l", Right = "r", }
    /// From which lane a shuffle takes its value.
    ShuffleMode { Up = "up", Down = "down", Bfly = "bfly", Idx = "idx", }
    /// Which bytes a permutation takes.
    PermuteMode { F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16", }
    /// What a vote finds out.
    VoteMode { All = "all", Any = "any", Uni = "uni", Ballot = "ballot", }
    /// The class of numbers that is tested for.
    NumberClass {
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber",
        Normal = "normal", Subnormal = "subnormal",
    }
    /// How exact an approximation is.
    Precision { Approx = "approx", Full = "full", }
    /// How an access is cached.
    CacheOperator {
        Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt",
    }
    /// A level of the cache.
    CacheLevel { L1 = "L1", L2 = "L2", }
    /// What happens to a line of the first-level cache.
    L1Eviction {
        EvictNormal = "L1::evict_normal", EvictUnchanged = "L1::evict_unchanged",
        EvictFirst = "L1::evict_first", EvictLast = "L1::evict_last", NoAllocate = "L1::no_allocate",
    }
    /// What happens to a line of the second-level cache.
    L2Eviction {
        EvictNormal = "L2::evict_normal", EvictUnchanged = "L2::evict_unchanged",
        EvictFirst = "L2::evict_first", EvictLast = "L2::evict_last",
    }
    /// How much is fetched besides.
    PrefetchSize { L1x32 = "L1::32B", L2x64 = "L2::64B", L2x128 = "L2::128B", L2x256 = "L2::256B", }
    /// The semantics of an access in the memory model.
    Semantics {
        Weak = "weak", Volatile = "volatile", Relaxed = "relaxed",
        Acquire = "acquire", Release = "release", AcqRel = "acq_rel", Sc = "sc",
    }
    /// The threads that an access or a fence is to be seen by.
    Scope { Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys", Gl = "gl", }
    /// Which proxies a fence is between.
    ProxyKind {
        Alias = "alias", Async = "async", AsyncGeneric = "async::generic",
        TensormapGeneric = "tensormap::generic",
        FabricFabric = "fabric::fabric", FabricGeneric = "fabric::generic",
        GenericFabric = "generic::fabric",
    }
    /// Which accesses a fence or a wait is restricted to.
    Restriction {
        SharedCta = "sync_restrict::shared::cta",
        SharedCluster = "sync_restrict::shared::cluster",
        SharedClusterRead = "sync_restrict::shared::cluster::read",
        Read = "sync_restrict::read", Reads = "sync_restrict::reads",
        ProxyAsync = "sync_restrict::proxy::async",
        Fetching = "op_restrict::fetching",
    }
    /// How the end of an asynchronous operation is made known.
    Completion {
        MbarrierBytes = "mbarrier::complete_tx::bytes", Mbarrier16Bytes = "mbarrier::complete_tx::16B",
        BulkGroup = "bulk_group",
    }
    /// What an asynchronous copy reports about its data.
    Report {
        Disabled = "mbarrier::report::disabled", Fabric = "mbarrier::report::fabric",
        Per16Bytes80000000 = "mbarrier::report::validity::per_16bytes::80000000",
        Per16Bytes8000 = "mbarrier::report::validity::per_16bytes::8000",
        Per16Bytes80 = "mbarrier::report::validity::per_16bytes::80",
        Per16Bytes8 = "mbarrier::report::validity::per_16bytes::8",
        PerElementFf = "mbarrier::report::validity::per_element::ff",
    }
    /// To which CTAs of the cluster something goes.
    Multicast {
        Cluster = "multicast::cluster", All = "multicast::cluster::all",
        Mask16 = "multicast::cluster::16b", Mask32 = "multicast::cluster::32b",
    }
    /// Whether a copy concerns the CTA or the CTA pair.
    CtaGroup { One = "cta_group::1", Two = "cta_group::2", }
    /// How a tensor in global memory is walked.
    LoadMode {
        Tile = "tile", TileGather4 = "tile::gather4", TileScatter4 = "tile::scatter4",
        Im2col = "im2col", Im2colW = "im2col::w", Im2colW128 = "im2col::w::128",
        Im2colNoOffs = "im2col_no_offs", Im2colNoOffsW = "im2col_no_offs::w",
    }
    /// What of a tensor map is given with the coordinates instead.
    Override {
        GlobalAddress = "override::global_address", GlobalDim = "override::global_dim",
        GlobalDimStride = "override::global_dim_stride",
    }
    /// The dimensions of a tensor, texture or surface.
    Geometry {
        D1 = "1d", D2 = "2d", D3 = "3d", D4 = "4d", D5 = "5d", A1d = "a1d", A2d = "a2d",
        Cube = "cube", Acube = "acube", D2ms = "2dms", A2dms = "a2dms",
    }
    /// The field of a tensor map.
    TensormapField {
        GlobalAddress = "global_address", Rank = "rank", BoxDim = "box_dim", GlobalDim = "global_dim",
        GlobalStride = "global_stride", ElementStride = "element_stride", Elemtype = "elemtype",
        InterleaveLayout = "interleave_layout", SwizzleMode = "swizzle_mode",
        SwizzleAtomicity = "swizzle_atomicity", FillMode = "fill_mode",
    }
    /// How large what the address of a tensor map points into was allocated.
    AllocationClass { Large = "alloc_large", Small = "alloc_small", Same = "alloc_same", }
    /// What a texture, sampler or surface is asked for.
    Query {
        Width = "width", Height = "height", Depth = "depth",
        ChannelDataType = "channel_data_type", ChannelOrder = "channel_order",
        NormalizedCoords = "normalized_coords", ArraySize = "array_size",
        NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples",
        ForceUnnormalizedCoords = "force_unnormalized_coords", FilterMode = "filter_mode",
        AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
        MemoryLayout = "memory_layout",
    }
    /// The component that four texels are taken of.
    Component { R = "r", G = "g", B = "b", A = "a", }
    /// What becomes of an access beyond a surface.
    SurfaceOverflow { Trap = "trap", Clamp = "clamp", Zero = "zero", }
    /// Which level of a texture is read.
    Mipmap { Base = "base", Level = "level", Grad = "grad", }
    /// How a surface is accessed.
    SurfaceFormat { Bytes = "b", Samples = "p", }
    /// How a matrix lies in memory.
    Layout { Row = "row", Col = "col", }
    /// What an mbarrier holds besides its counts.
    MbarrierLayout { V0 = "layout::v0", V1 = "layout::v1", }
    /// Which phase of an mbarrier is waited for.
    PhaseType { Primary = "phase_type::primary", Conditional = "phase_type::conditional", }
    /// A shape with two dimensions.
    TileShape { M8n8 = "m8n8", M8n16 = "m8n16", M16n8 = "m16n8", M16n16 = "m16n16", }
    /// How many of something.
    Count { X1 = "x1", X2 = "x2", X4 = "x4", X8 = "x8", X16 = "x16", X32 = "x32", X64 = "x64", X128 = "x128", }
    /// The kind of a multiplication with narrow floats.
    MmaKind {
        F8f6f4 = "kind::f8f6f4", Mxf8f6f4 = "kind::mxf8f6f4", Mxf4 = "kind::mxf4",
        Mxf4nvf4 = "kind::mxf4nvf4",
    }
    /// How many scale factors a row of a block-scaled matrix has.
    ScaleVector { X1 = "scale_vec::1X", X2 = "scale_vec::2X", X4 = "scale_vec::4X", Block16 = "block16", Block32 = "block32", }
    /// How the scale of a conversion is given.
    Scaled { N1 = "scaled::n1::ue8m0", N2 = "scaled::n2::ue8m0", }
    /// How many elements of how many are not zero.
    SparsityFactor {
        S1of2 = "sp::1:2", S1of4 = "sp::1:4", S1of8 = "sp::1:8", S1of16 = "sp::1:16",
        S2of4 = "sp::2:4", S2of8 = "sp::2:8", S2of16 = "sp::2:16", S4of8 = "sp::4:8", S4of16 = "sp::4:16",
    }
    /// How many bits sums are kept in.
    Accumulator { F16 = "acc::f16", F32 = "acc::f32", }
    /// What else a video instruction does with its result.
    SecondOperation { Add = "add", Min = "min", Max = "max", }
    /// By how much a video instruction scales down.
    VideoScale { Shr7 = "shr7", Shr15 = "shr15", }
    /// What happens to the number of registers.
    RegisterChange { Inc = "inc", Dec = "dec", }
    /// What the grids of a programmatic launch do.
    DependentAction { LaunchDependents = "launch_dependents", Wait = "wait", }
    /// Which coordinate of a CTA is asked for.
    FirstCtaid {
        All = "get_first_ctaid", X = "get_first_ctaid::x", Y = "get_first_ctaid::y",
        Z = "get_first_ctaid::z",
    }
    /// A word that stands for itself alone.
    Flag {
        Sat = "sat", Satfinite = "satfinite", Ftz = "ftz", Noftz = "noftz", Cc = "cc", Relu = "relu",
        Nan = "NaN", Xorsign = "xorsign", Abs = "abs", Oob = "oob", Pzo = "pzo", Po = "po",
        Sync = "sync", Aligned = "aligned", Uni = "uni", To = "to", Nc = "nc", Mmio = "mmio",
        Unified = "unified", CacheHint = "L2::cache_hint", Tensormap = "tensormap",
        Shiftamt = "shiftamt", Async = "async", Multimem = "multimem",
        IgnoreOob = "ignore_oob", CpMask = "cp_mask", CountedBytes = "counted::bytes",
        ExpectTx = "expect_tx", NoComplete = "noComplete", Noinc = "noinc", Parity = "parity",
        Read = "read", Mask = "mask", Trans = "trans", BlockScale = "block_scale",
        Sparse = "sp", SparseOrdered = "sp::ordered_metadata", Tile = "tile", IsCanceled = "is_canceled",
        ValidAddr = "valid_addr", ProxyReadonly = "proxy::readonly", TwoPi = "2pi",
    }
}

/// The shape of a matrix multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Rows of the result.
    pub m: u16,
    /// Columns of the result.
    pub n: u16,
    /// Products that are summed up.
    pub k: u16,
}

impl Shape {
    /// Reads `m16n8k16`.
    fn parse(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        // `+8` is no number of a shape, and `08` neither.
        let number = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
            text.parse().ok().filter(|_| plain)
        };
        Some(Self { m: number(m)?, n: number(n)?, k: number(k)? })
    }
}

impl Modifier {
    /// How it is written, without the dot.
    pub fn spelling(self) -> String {
        match self {
            Self::Shape(Shape { m, n, k }) => format!("m{m}n{n}k{k}"),
            word => word.fixed_spelling().unwrap_or_default().to_owned(),
        }
    }

    /// What `word` may mean, in one row or another.
    pub fn meanings(word: &str) -> SmallVec<[Self; 4]> {
        static MEANINGS: LazyLock<FxHashMap<&'static str, SmallVec<[Modifier; 4]>>> = LazyLock::new(|| {
            let mut meanings: FxHashMap<&'static str, SmallVec<[Modifier; 4]>> = FxHashMap::default();
            for modifier in Modifier::all() {
                if let Some(spelling) = modifier.fixed_spelling() {
                    meanings.entry(spelling).or_default().push(modifier);
                }
            }
            meanings
        });
        if let Some(known) = MEANINGS.get(word) {
            return known.clone();
        }
        Shape::parse(word).map(Self::Shape).into_iter().collect()
    }
}

/// What the bits of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// A truth value.
    Predicate,
    /// Bits without a meaning.
    Bits,
    /// A number without a sign.
    Unsigned,
    /// A number in two's complement.
    Signed,
    /// A floating-point number, or several.
    Float,
    /// A texture, sampler or surface.
    Opaque,
}

impl Type {
    /// Width in bits, of all elements together; `None` for predicates, opaque types and formats of
    /// matrices.
    pub const fn bits(self) -> Option<u32> {
        Some(match self {
            Self::B1 => 1,
            Self::B2 | Self::U2 | Self::S2 => 2,
            Self::B4 | Self::U4 | Self::S4 | Self::E2m1 => 4,
            Self::B8
            | Self::U8
            | Self::S8
            | Self::E4m3
            | Self::E5m2
            | Self::E2m3
            | Self::E3m2
            | Self::E2m1x2
            | Self::Ue8m0
            | Self::Ue4m3
            | Self::Ue5m3 => 8,
            Self::B16
            | Self::U16
            | Self::S16
            | Self::F16
            | Self::Bf16
            | Self::E4m3x2
            | Self::E5m2x2
            | Self::E2m3x2
            | Self::E3m2x2
            | Self::E2m1x4
            | Self::Ue8m0x2
            | Self::Ue5m3x2
            | Self::S2f6x2 => 16,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F32
            | Self::Tf32
            | Self::F16x2
            | Self::Bf16x2
            | Self::U16x2
            | Self::S16x2
            | Self::U8x4
            | Self::S8x4
            | Self::E4m3x4
            | Self::E5m2x4
            | Self::E2m3x4
            | Self::E3m2x4
            | Self::E2m1p4x4 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32x2 => 64,
            Self::B128 => 128,
            Self::B1024 => 1024,
            Self::Pred
            | Self::B8x16
            | Self::B6x16P32
            | Self::B4x16P64
            | Self::Texref
            | Self::Samplerref
            | Self::Surfref => return None,
        })
    }

    /// What its bits are.
    pub const fn interpretation(self) -> Interpretation {
        match self {
            Self::Pred => Interpretation::Predicate,
            Self::B1
            | Self::B2
            | Self::B4
            | Self::B8
            | Self::B16
            | Self::B32
            | Self::B64
            | Self::B128
            | Self::B1024
            | Self::B8x16
            | Self::B6x16P32
            | Self::B4x16P64 => Interpretation::Bits,
            Self::U2 | Self::U4 | Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::U16x2 | Self::U8x4 => {
                Interpretation::Unsigned
            }
            Self::S2 | Self::S4 | Self::S8 | Self::S16 | Self::S32 | Self::S64 | Self::S16x2 | Self::S8x4 => {
                Interpretation::Signed
            }
            Self::F16
            | Self::F16x2
            | Self::Bf16
            | Self::Bf16x2
            | Self::F32
            | Self::F32x2
            | Self::F64
            | Self::Tf32
            | Self::E4m3
            | Self::E5m2
            | Self::E2m3
            | Self::E3m2
            | Self::E2m1
            | Self::E4m3x2
            | Self::E5m2x2
            | Self::E2m3x2
            | Self::E3m2x2
            | Self::E2m1x2
            | Self::E4m3x4
            | Self::E5m2x4
            | Self::E2m3x4
            | Self::E3m2x4
            | Self::E2m1x4
            | Self::E2m1p4x4
            | Self::Ue8m0
            | Self::Ue4m3
            | Self::Ue5m3
            | Self::Ue8m0x2
            | Self::Ue5m3x2
            | Self::S2f6x2 => Interpretation::Float,
            Self::Texref | Self::Samplerref | Self::Surfref => Interpretation::Opaque,
        }
    }

    /// Whether it is a number in two's complement.
    pub const fn is_signed(self) -> bool {
        matches!(self.interpretation(), Interpretation::Signed)
    }

    /// Whether it is a floating-point number, or several.
    pub const fn is_float(self) -> bool {
        matches!(self.interpretation(), Interpretation::Float)
    }

    /// Whether it has several elements, each of which is computed with for itself.
    pub const fn is_packed(self) -> bool {
        matches!(
            self,
            Self::U16x2
                | Self::S16x2
                | Self::U8x4
                | Self::S8x4
                | Self::F16x2
                | Self::Bf16x2
                | Self::F32x2
                | Self::E4m3x2
                | Self::E5m2x2
                | Self::E2m3x2
                | Self::E3m2x2
                | Self::E2m1x2
                | Self::E4m3x4
                | Self::E5m2x4
                | Self::E2m3x4
                | Self::E3m2x4
                | Self::E2m1x4
                | Self::E2m1p4x4
                | Self::Ue8m0x2
                | Self::Ue5m3x2
                | Self::S2f6x2
        )
    }
}

impl Space {
    /// The space of declarations that it is, or is part of.
    pub const fn declared(self) -> types::StateSpace {
        match self {
            Self::Const => types::StateSpace::Const,
            Self::Global => types::StateSpace::Global,
            Self::Local => types::StateSpace::Local,
            Self::Param | Self::ParamEntry | Self::ParamFunc => types::StateSpace::Param,
            Self::Shared | Self::SharedCta | Self::SharedCluster => types::StateSpace::Shared,
        }
    }

    /// Whether it is shared memory, of this CTA or of the cluster.
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Shared | Self::SharedCta | Self::SharedCluster)
    }
}

impl Vector {
    /// Number of elements.
    pub const fn elements(self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V4 => 4,
            Self::V8 => 8,
        }
    }
}
