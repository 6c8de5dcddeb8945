//! What each word behind a dot means, and what the groups of them are called.

use std::borrow::Cow;

use strum::EnumMessage;

use crate::generic::{
    Accumulator, AllocationClass, BooleanOperator, CacheLevel, CacheOperator, Comparison, Completion,
    Component, CtaGroup, DependentAction, Direction, FirstCtaid, Flag, Geometry, Interpretation, L1Eviction,
    L2Eviction, Layout, LoadMode, MbarrierLayout, Mipmap, MmaKind, Modifier, Multicast, NumberClass,
    Overflow, Override, Part, PermuteMode, PhaseType, Precision, PrefetchSize, ProxyKind, Query,
    ReductionOperator, RegisterChange, Report, Restriction, Rounding, ScaleVector, Scaled, Scope,
    SecondOperation, Semantics, Shape, ShuffleMode, Space, SparsityFactor, SurfaceFormat, SurfaceOverflow,
    TensormapField, Type, Vector, VideoScale, VoteMode,
};

impl Modifier {
    /// What it means.
    pub fn explanation(self) -> Cow<'static, str> {
        let fixed = match self {
            Self::Type(it) => return Cow::Owned(it.explanation()),
            Self::Shape(Shape { m, n, k }) => {
                return Cow::Owned(format!("A is {m} x {k}, B {k} x {n}, the result {m} x {n}."));
            }
            Self::Count(_) => {
                let spelling = self.fixed_spelling().unwrap_or_default();
                return Cow::Owned(format!("{} of them.", spelling.trim_start_matches('x')));
            }
            Self::TileShape(_) => {
                let spelling = self.fixed_spelling().unwrap_or_default();
                return Cow::Owned(match spelling.trim_start_matches('m').split_once('n') {
                    Some((rows, columns)) => format!("Matrices of {rows} rows and {columns} columns."),
                    None => String::new(),
                });
            }
            Self::SparsityFactor(it) => return Cow::Owned(it.explanation()),
            Self::Space(it) => it.explanation(),
            Self::Vector(it) => it.explanation(),
            Self::Rounding(it) => it.explanation(),
            Self::Comparison(it) => it.explanation(),
            Self::BooleanOperator(it) => it.explanation(),
            Self::ReductionOperator(it) => it.explanation(),
            Self::Part(it) => it.explanation(),
            Self::Overflow(it) => it.explanation(),
            Self::Direction(it) => it.explanation(),
            Self::ShuffleMode(it) => it.explanation(),
            Self::PermuteMode(it) => it.explanation(),
            Self::VoteMode(it) => it.explanation(),
            Self::NumberClass(it) => it.explanation(),
            Self::Precision(it) => it.explanation(),
            Self::CacheOperator(it) => it.explanation(),
            Self::CacheLevel(it) => it.explanation(),
            Self::L1Eviction(it) => it.explanation(),
            Self::L2Eviction(it) => it.explanation(),
            Self::PrefetchSize(it) => it.explanation(),
            Self::Semantics(it) => it.explanation(),
            Self::Scope(it) => it.explanation(),
            Self::ProxyKind(it) => it.explanation(),
            Self::Restriction(it) => it.explanation(),
            Self::Completion(it) => it.explanation(),
            Self::Report(it) => it.explanation(),
            Self::Multicast(it) => it.explanation(),
            Self::CtaGroup(it) => it.explanation(),
            Self::LoadMode(it) => it.explanation(),
            Self::Override(it) => it.explanation(),
            Self::Geometry(it) => it.explanation(),
            Self::TensormapField(it) => it.explanation(),
            Self::AllocationClass(it) => it.explanation(),
            Self::Query(it) => it.explanation(),
            Self::Component(it) => it.explanation(),
            Self::SurfaceOverflow(it) => it.explanation(),
            Self::Mipmap(it) => it.explanation(),
            Self::SurfaceFormat(it) => it.explanation(),
            Self::Layout(it) => it.explanation(),
            Self::MbarrierLayout(it) => it.explanation(),
            Self::PhaseType(it) => it.explanation(),
            Self::MmaKind(it) => it.explanation(),
            Self::ScaleVector(it) => it.explanation(),
            Self::Scaled(it) => it.explanation(),
            Self::Accumulator(it) => it.explanation(),
            Self::SecondOperation(it) => it.explanation(),
            Self::VideoScale(it) => it.explanation(),
            Self::RegisterChange(it) => it.explanation(),
            Self::DependentAction(it) => it.explanation(),
            Self::FirstCtaid(it) => it.explanation(),
            Self::Flag(it) => it.explanation(),
        };
        Cow::Borrowed(fixed)
    }

    /// What its kind of words is for, in a sentence.
    pub fn purpose(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }

    /// What its kind of words is called in a sentence, and what stands for one of them in a syntax.
    pub const fn kind_names(self) -> (&'static str, &'static str) {
        match self {
            Self::Type(_) => ("the type", "type"),
            Self::Space(_) => ("the state space", "space"),
            Self::Vector(_) => ("the vector length", "vec"),
            Self::Rounding(_) => ("the rounding", "rnd"),
            Self::Comparison(_) => ("the comparison", "CmpOp"),
            Self::BooleanOperator(_) => ("the Boolean operator", "BoolOp"),
            Self::ReductionOperator(_) => ("the operation", "op"),
            Self::Part(_) => ("the part of the product", "part"),
            Self::Overflow(_) => ("what a shift by too much does", "mode"),
            Self::Direction(_) => ("the direction", "dir"),
            Self::ShuffleMode(_) | Self::PermuteMode(_) | Self::VoteMode(_) => ("the mode", "mode"),
            Self::NumberClass(_) => ("the class of numbers", "op"),
            Self::Precision(_) => ("the precision", "approx"),
            Self::CacheOperator(_) => ("the cache operator", "cop"),
            Self::CacheLevel(_) => ("the cache level", "level"),
            Self::L1Eviction(_) => ("the eviction priority in L1", "level1::eviction_priority"),
            Self::L2Eviction(_) => ("the eviction priority in L2", "level2::eviction_priority"),
            Self::PrefetchSize(_) => ("the prefetch size", "level::prefetch_size"),
            Self::Semantics(_) => ("the memory semantics", "sem"),
            Self::Scope(_) => ("the scope", "scope"),
            Self::ProxyKind(_) => ("the proxies", "proxykind"),
            Self::Restriction(_) => ("the restriction", "restrict"),
            Self::Completion(_) => ("the completion mechanism", "completion_mechanism"),
            Self::Report(_) => ("the report", "report"),
            Self::Multicast(_) => ("the multicast", "multicast"),
            Self::CtaGroup(_) => ("`.cta_group`", "cta_group"),
            Self::LoadMode(_) => ("the load mode", "load_mode"),
            Self::Override(_) => ("the override", "override"),
            Self::Geometry(_) => ("the number of dimensions", "dim"),
            Self::TensormapField(_) => ("the field", "field"),
            Self::AllocationClass(_) => ("the class of the allocation", "alloc_class"),
            Self::Query(_) => ("the property", "query"),
            Self::Component(_) => ("the component", "comp"),
            Self::SurfaceOverflow(_) => ("what an access out of bounds does", "clamp"),
            Self::Mipmap(_) => ("the mipmap mode", "mipmap"),
            Self::SurfaceFormat(_) => ("the format", "format"),
            Self::Layout(_) => ("the layout", "layout"),
            Self::MbarrierLayout(_) => ("the layout of the mbarrier", "layout"),
            Self::PhaseType(_) => ("the phase type", "phase_type"),
            Self::TileShape(_) | Self::Shape(_) => ("the shape", "shape"),
            Self::Count(_) => ("the number of matrices or registers", "num"),
            Self::MmaKind(_) => ("the kind", "kind"),
            Self::ScaleVector(_) => ("the scale vector size", "scale_vec_size"),
            Self::Scaled(_) => ("the scaling", "scaled"),
            Self::SparsityFactor(_) => ("the sparsity", "sparsity"),
            Self::Accumulator(_) => ("the precision of the sum", "acc_prec"),
            Self::SecondOperation(_) => ("the second operation", "op2"),
            Self::VideoScale(_) => ("the scale", "scale"),
            Self::RegisterChange(_) | Self::DependentAction(_) => ("the action", "action"),
            Self::FirstCtaid(_) => ("the coordinate", "get_first_ctaid"),
            Self::Flag(_) => ("a flag", "flag"),
        }
    }
}

impl Type {
    /// What it is.
    pub fn explanation(self) -> String {
        let special = match self {
            Self::Pred => "A predicate: true or false.",
            Self::B8x16 => "16 elements of 8 bits.",
            Self::B6x16P32 => "16 elements of 6 bits and 32 bits of padding.",
            Self::B4x16P64 => "16 elements of 4 bits and 64 bits of padding.",
            Self::Texref => "A texture.",
            Self::Samplerref => "A sampler.",
            Self::Surfref => "A surface.",
            Self::Tf32 => "Floating point of 32 bits of which 19 count: 8 of exponent, 10 of mantissa.",
            Self::F16 => "IEEE half precision: 5 bits of exponent, 10 of mantissa.",
            Self::Bf16 => "bfloat16: 8 bits of exponent, 7 of mantissa.",
            Self::F32 => "IEEE single precision.",
            Self::F64 => "IEEE double precision.",
            Self::E4m3 => "Floating point of 8 bits: 4 of exponent, 3 of mantissa.",
            Self::E5m2 => "Floating point of 8 bits: 5 of exponent, 2 of mantissa.",
            Self::E2m3 => "Floating point of 6 bits: 2 of exponent, 3 of mantissa.",
            Self::E3m2 => "Floating point of 6 bits: 3 of exponent, 2 of mantissa.",
            Self::E2m1 => "Floating point of 4 bits: 2 of exponent, 1 of mantissa.",
            Self::Ue8m0 => "A scale of 8 bits of exponent and no sign.",
            Self::Ue4m3 => "A scale without a sign: 4 bits of exponent, 3 of mantissa.",
            Self::Ue5m3 => "A scale without a sign: 5 bits of exponent, 3 of mantissa.",
            Self::S2f6x2 => "Two fixed-point numbers of 8 bits: 2 before the point, 6 behind it.",
            Self::E2m1p4x4 => "Four `.e2m1`, each with 4 bits of padding, in 32 bits.",
            _ => "",
        };
        if !special.is_empty() {
            return special.to_owned();
        }
        let name: &str = self.into();
        if let (true, Some((element, count))) = (self.is_packed(), name.rsplit_once('x')) {
            return format!("{count} numbers of type `.{element}`, packed.");
        }
        let bits = self.bits().unwrap_or_default();
        match self.interpretation() {
            Interpretation::Bits => format!("{bits} bits of no particular type."),
            Interpretation::Unsigned => format!("An unsigned integer of {bits} bits."),
            Interpretation::Signed => format!("A signed integer of {bits} bits."),
            Interpretation::Float => format!("Floating point of {bits} bits."),
            Interpretation::Predicate | Interpretation::Opaque => String::new(),
        }
    }
}

impl SparsityFactor {
    fn explanation(self) -> String {
        let name: &str = self.into();
        let mut parts = name.split(':').filter(|it| !it.is_empty()).skip(1);
        match (parts.next(), parts.next()) {
            (Some(kept), Some(all)) => format!("{kept} of {all} elements are kept."),
            _ => String::new(),
        }
    }
}

/// Explains each word of a kind.
macro_rules! explain {
    ($($kind:ident { $($word:ident $text:literal)+ })+) => {$(
        impl $kind {
            const fn explanation(self) -> &'static str {
                match self { $( Self::$word => $text, )+ }
            }
        }
    )+};
}

explain! {
    Space {
        Const "Constant memory."
        Global "Global memory."
        Local "Local memory: each thread has its own."
        Param "Parameters of the kernel or of a call."
        ParamEntry "Parameters of the kernel."
        ParamFunc "Parameters of a function."
        Shared "Shared memory of the executing CTA; the same as `.shared::cta`."
        SharedCta "Shared memory of the executing CTA."
        SharedCluster "Shared memory of any CTA of the cluster. An address of `.shared::cta` is one of it, too."
    }
    Vector {
        V2 "Vectors of two elements."
        V4 "Vectors of four elements."
        V8 "Vectors of eight elements."
    }
    Rounding {
        Rn "Rounds to nearest, ties to even."
        Rz "Rounds towards zero."
        Rm "Rounds towards negative infinity."
        Rp "Rounds towards positive infinity."
        Rna "Rounds to nearest, ties away from zero."
        Rs "Rounds stochastically, by the bits of an operand."
        Rni "Rounds to the nearest integer, ties to even."
        Rzi "Rounds to an integer, towards zero."
        Rmi "Rounds to an integer, towards negative infinity."
        Rpi "Rounds to an integer, towards positive infinity."
    }
    Comparison {
        Eq "Equal."
        Ne "Not equal; false if an operand is NaN."
        Lt "Less."
        Le "Less or equal."
        Gt "Greater."
        Ge "Greater or equal."
        Lo "Lower: less, for unsigned integers."
        Ls "Lower or same: less or equal, for unsigned integers."
        Hi "Higher: greater, for unsigned integers."
        Hs "Higher or same: greater or equal, for unsigned integers."
        Equ "Equal, or an operand is NaN."
        Neu "Not equal, or an operand is NaN."
        Ltu "Less, or an operand is NaN."
        Leu "Less or equal, or an operand is NaN."
        Gtu "Greater, or an operand is NaN."
        Geu "Greater or equal, or an operand is NaN."
        Num "Both operands are numbers."
        Nan "An operand is NaN."
    }
    BooleanOperator { And "The logical and." Or "The logical or." Xor "The exclusive or." }
    ReductionOperator {
        And "The bitwise and."
        Or "The bitwise or."
        Xor "The bitwise exclusive or."
        Cas "Compares and swaps: stores `c` if `b` stands there."
        Exch "Exchanges: stores `b`."
        Add "The sum."
        Inc "Increments, and wraps to 0 behind a limit."
        Dec "Decrements, and wraps to a limit at 0."
        Min "The minimum."
        Max "The maximum."
        Popc "Counts the bits that are set, or the threads whose predicate is true."
    }
    Part {
        Lo "The low half."
        Hi "The high half."
        Wide "All of it: the result is twice as wide as the factors."
    }
    Overflow {
        Clamp "An amount that is too large counts as the width."
        Wrap "Only the amount modulo the width counts."
    }
    Direction { Left "To the left." Right "To the right." }
    ShuffleMode {
        Up "From the lane `b` below this one."
        Down "From the lane `b` above this one."
        Bfly "From the lane whose number is this one's, exclusive or `b`."
        Idx "From the lane `b`."
    }
    PermuteMode {
        F4e "Four bytes from position `c` on, forwards."
        B4e "Four bytes from position `c` on, backwards."
        Rc8 "Byte `c`, four times."
        Ecl "Clamps the positions from the left."
        Ecr "Clamps the positions from the right."
        Rc16 "Half `c`, twice."
    }
    VoteMode {
        All "True for all threads; in `match` the value of all threads."
        Any "True for any thread; in `match` the value of any other threads."
        Uni "The same for all threads."
        Ballot "The mask of the threads for which it is true."
    }
    NumberClass {
        Finite "Neither infinite nor NaN."
        Infinite "Positive or negative infinity."
        Number "Not NaN."
        NotANumber "NaN."
        Normal "Neither zero, subnormal, infinite nor NaN."
        Subnormal "Smaller than any normal number, but not zero."
    }
    Precision {
        Approx "A fast approximation."
        Full "A fast approximation over the full range."
    }
    CacheOperator {
        Ca "Caches at all levels; for loads the default."
        Cg "Caches in L2 only."
        Cs "Caches what is likely accessed once: it is evicted first."
        Lu "Last use: the line need not be written back."
        Cv "Does not cache, and fetches again."
        Wb "Writes back from all levels; for stores the default."
        Wt "Writes through the L2 cache to system memory."
    }
    CacheLevel { L1 "The L1 cache." L2 "The L2 cache." }
    L1Eviction {
        EvictNormal "Evicts with normal priority; this is the default."
        EvictUnchanged "Does not change the priority."
        EvictFirst "Evicts first: for data that is used once."
        EvictLast "Evicts last: for data that is used again."
        NoAllocate "Does not put the data into L1."
    }
    L2Eviction {
        EvictNormal "Evicts with normal priority; this is the default."
        EvictUnchanged "Does not change the priority."
        EvictFirst "Evicts first: for data that is used once."
        EvictLast "Evicts last: for data that is used again."
    }
    PrefetchSize {
        L1x32 "Fetches 32 bytes into L1."
        L2x64 "A hint to fetch 64 bytes into L2."
        L2x128 "A hint to fetch 128 bytes into L2."
        L2x256 "A hint to fetch 256 bytes into L2."
    }
    Semantics {
        Weak "An access that synchronizes with nothing: no other thread accesses the data meanwhile. The default."
        Volatile "As `.relaxed` at system scope, and neither merged nor left out."
        Relaxed "Atomic, but orders nothing else."
        Acquire "What comes after sees what was done before the release that it observes."
        Release "What was done before is seen by whoever acquires it."
        AcqRel "Acquires and releases."
        Sc "Sequentially consistent: all such fences have one order."
    }
    Scope {
        Cta "Concerns the threads of the CTA."
        Cluster "Concerns the threads of the cluster."
        Gpu "Concerns all threads of the GPU."
        Sys "Concerns all threads of all GPUs and of the host."
        Gl "Concerns all threads of the GPU; the old name of `.gpu`."
    }
    ProxyKind {
        Alias "Accesses through different virtual addresses of the same memory."
        Async "Accesses of the thread, and those of the async proxy: bulk copies, `wgmma`, `tcgen05`."
        AsyncGeneric "Accesses of the async proxy, and generic ones."
        TensormapGeneric "Uses of a tensor map, and generic accesses that change it."
        FabricFabric "Accesses through the fabric."
        FabricGeneric "Accesses through the fabric before, generic ones after."
        GenericFabric "Generic accesses before, those through the fabric after."
    }
    Restriction {
        SharedCta "Only accesses to shared memory of the CTA."
        SharedCluster "Only accesses to shared memory of the cluster."
        SharedClusterRead "Only reads of shared memory of the cluster."
        Read "Only reads."
        Reads "Only reads."
        ProxyAsync "Only accesses of the async proxy."
        Fetching "Only operations that fetch."
    }
    Completion {
        MbarrierBytes "An mbarrier counts the bytes when they have arrived."
        Mbarrier16Bytes "An mbarrier counts units of 16 bytes when they have arrived."
        BulkGroup "Belongs to the next bulk group of the thread: `cp.async.bulk.commit_group`, then `wait_group`."
    }
    Report {
        Disabled "Reports nothing about the data."
        Fabric "Reports whether the fabric could do it."
        Per16Bytes80000000 "Reports for each 16 bytes, by the bits 80000000."
        Per16Bytes8000 "Reports for each 16 bytes, by the bits 8000."
        Per16Bytes80 "Reports for each 16 bytes, by the bits 80."
        Per16Bytes8 "Reports for each 16 bytes, by the bit 8."
        PerElementFf "Reports for each element, by the bits ff."
    }
    Multicast {
        Cluster "To the same place in each CTA of the cluster whose bit is set in a 16-bit mask."
        All "To the same place in each CTA of the cluster."
        Mask16 "To the same place in each CTA of the cluster whose bit is set in a 16-bit mask."
        Mask32 "To the same place in each CTA of the cluster whose bit is set in a 32-bit mask."
    }
    CtaGroup {
        One "The mbarrier is in the CTA that the data goes to."
        Two "The mbarrier may be in either CTA of the pair."
    }
    LoadMode {
        Tile "A box of the tensor as it lies there; this is the default."
        TileGather4 "Four rows of the tensor, gathered into one box."
        TileScatter4 "A box whose four rows are scattered over the tensor."
        Im2col "Boxes as a convolution reads them, unrolled to columns."
        Im2colW "As `.im2col`, with pixels along W alone."
        Im2colW128 "As `.im2col::w`, with 128 pixels."
        Im2colNoOffs "As `.im2col`, without offsets."
        Im2colNoOffsW "As `.im2col::w`, without offsets."
    }
    Override {
        GlobalAddress "The address of the tensor is an operand, not that of the map."
        GlobalDim "The dimensions of the tensor are operands, not those of the map."
        GlobalDimStride "The dimensions and strides of the tensor are operands, not those of the map."
    }
    Geometry {
        D1 "One dimension."
        D2 "Two dimensions."
        D3 "Three dimensions."
        D4 "Four dimensions."
        D5 "Five dimensions."
        A1d "An array of one-dimensional textures or surfaces."
        A2d "An array of two-dimensional textures or surfaces."
        Cube "A cubemap."
        Acube "An array of cubemaps."
        D2ms "Two dimensions, multi-sampled."
        A2dms "An array of two dimensions, multi-sampled."
    }
    TensormapField {
        GlobalAddress "The address of the tensor."
        Rank "The number of dimensions, minus 1."
        BoxDim "The size of the box in a dimension."
        GlobalDim "The size of the tensor in a dimension."
        GlobalStride "The stride of a dimension."
        ElementStride "The element stride of a dimension."
        Elemtype "The type of the elements."
        InterleaveLayout "The interleave layout."
        SwizzleMode "The swizzle mode."
        SwizzleAtomicity "How much is swizzled together."
        FillMode "What stands for elements out of bounds."
    }
    AllocationClass {
        Large "A large allocation."
        Small "A small allocation."
        Same "An allocation of the same class as before."
    }
    Query {
        Width "The width in elements."
        Height "The height in elements."
        Depth "The depth in elements."
        ChannelDataType "The type of the channels, as in the host's API."
        ChannelOrder "The order of the channels, as in the host's API."
        NormalizedCoords "Whether coordinates are normalized."
        ArraySize "The number of elements of the array."
        NumMipmapLevels "The number of mipmap levels."
        NumSamples "The number of samples."
        ForceUnnormalizedCoords "Whether coordinates are taken as not normalized."
        FilterMode "How texels are filtered."
        AddrMode0 "What coordinates out of bounds do in the first dimension."
        AddrMode1 "What coordinates out of bounds do in the second dimension."
        AddrMode2 "What coordinates out of bounds do in the third dimension."
        MemoryLayout "Whether it is linear in memory."
    }
    Component { R "The red component." G "The green component." B "The blue component." A "The alpha component." }
    SurfaceOverflow {
        Trap "An access out of bounds traps; this is the default."
        Clamp "An access out of bounds goes to the nearest element."
        Zero "Loads out of bounds give 0, stores are dropped."
    }
    Mipmap {
        Base "Reads the base level."
        Level "Reads the level of the operand `lod`."
        Grad "Picks the level by the gradients `dPdx` and `dPdy`."
    }
    SurfaceFormat {
        Bytes "Unformatted: bytes as they are."
        Samples "Formatted: elements as the surface declares them."
    }
    Layout { Row "Row-major." Col "Column-major." }
    MbarrierLayout { V0 "The first layout; this is the default." V1 "The second layout." }
    PhaseType { Primary "The primary phase; this is the default." Conditional "The conditional phase." }
    MmaKind {
        F8f6f4 "Any mixture of 8-, 6- and 4-bit floating-point inputs."
        Mxf8f6f4 "8-, 6- and 4-bit floating-point inputs with one scale for each block of 32."
        Mxf4 "e2m1 inputs with one scale for each block of 32."
        Mxf4nvf4 "e2m1 inputs with one scale for each block of 16 or 32."
    }
    ScaleVector {
        X1 "One scale for each row of A and column of B."
        X2 "Two scales for each row of A and column of B."
        X4 "Four scales for each row of A and column of B."
        Block16 "One scale for each block of 16 elements along K."
        Block32 "One scale for each block of 32 elements along K."
    }
    Scaled {
        N1 "Scaled by one `.ue8m0` factor."
        N2 "Scaled by two `.ue8m0` factors, one for each element."
    }
    Accumulator {
        F16 "Sums in 16-bit floating point."
        F32 "Sums in 32-bit floating point."
    }
    SecondOperation {
        Add "Adds `c` to the result; in the SIMD forms sums the elements up."
        Min "The minimum of the result and `c`."
        Max "The maximum of the result and `c`."
    }
    VideoScale { Shr7 "Shifts the result right by 7." Shr15 "Shifts the result right by 15." }
    RegisterChange {
        Inc "Asks for more registers, and waits until they are free."
        Dec "Gives registers away."
    }
    DependentAction {
        LaunchDependents "Lets the dependent grids start once all CTAs have said so or ended."
        Wait "Waits until the grids before are complete, and their writes visible."
    }
    FirstCtaid {
        All "All coordinates of the first CTA."
        X "The x coordinate of the first CTA."
        Y "The y coordinate of the first CTA."
        Z "The z coordinate of the first CTA."
    }
    Flag {
        Sat "Saturates: integers stay in the range of the type, floating-point results in [0.0, 1.0]."
        Satfinite "Saturates to the largest finite number of the type."
        Ftz "Flushes subnormal inputs and results to zero."
        Noftz "Keeps subnormal numbers."
        Cc "Writes the carry to `CC.CF`."
        Relu "Negative results become 0."
        Nan "The result is NaN if an operand is."
        Xorsign "The sign of the result is the exclusive or of the operands' signs."
        Abs "Takes the absolute values."
        Oob "Results of operands that are out of bounds become 0."
        Pzo "A result of zero is positive."
        Po "Plus one: adds 1 to the sum."
        Sync "The thread waits for the other threads of the warp that take part."
        Aligned "All threads of the warp execute this same instruction: a condition around it is the same for all."
        Uni "Promises that all active threads go the same way."
        To "Converts from generic to the state space, not the other way round."
        Nc "Through the non-coherent cache: the data does not change while the kernel runs."
        Mmio "An access to memory-mapped I/O: it happens exactly once."
        Unified "Through the unified texture cache."
        CacheHint "The last operand is a cache policy, made by `createpolicy`."
        Tensormap "The address is that of a tensor map."
        Shiftamt "By how much to shift left so that the bit becomes the most significant one."
        Async "Asynchronous: the instruction only starts the operation."
        Multimem "To all addresses behind a multimem address."
        IgnoreOob "Ignores bytes at both ends that are out of bounds."
        CpMask "Copies only the bytes whose bits are set in a mask."
        CountedBytes "The receiver counts the bytes."
        ExpectTx "Raises the bytes that the phase waits for by `txCount`, before the arrival."
        NoComplete "The arrival must not complete the phase."
        Noinc "Does not raise the pending count: the arrival counts as one of those expected."
        Parity "The phase is named by its parity: 0 for the first, 1 for the second, and so on."
        Read "Waits only until the sources have been read."
        Mask "The operand is a mask of events."
        Trans "Transposes each matrix."
        BlockScale "A and B are multiplied by scales, block by block."
        Sparse "A is sparse."
        SparseOrdered "A is sparse, and the indices of its metadata are in ascending order."
        Tile "A tensor map of tiles."
        IsCanceled "Whether the request succeeded."
        ValidAddr "Promises that the address is valid."
        ProxyReadonly "Through the read-only proxy: the data does not change while the kernel runs."
        TwoPi "The angle is given in turns: in units of 2 pi."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generic::rows;

    #[test]
    fn every_word_is_explained() {
        for modifier in rows().flat_map(|row| row.modifiers).flat_map(|group| group.words) {
            let text = modifier.explanation();
            assert!(text.ends_with('.') && text.len() > 3, "{modifier:?}: {text}");
            assert!(modifier.purpose().ends_with('.'), "{modifier:?}");
        }
        let of = |modifier: Modifier| modifier.explanation().into_owned();
        assert_eq!(of(Modifier::Type(Type::F16x2)), "2 numbers of type `.f16`, packed.");
        assert_eq!(of(Modifier::Type(Type::S64)), "A signed integer of 64 bits.");
        assert_eq!(of(Modifier::SparsityFactor(SparsityFactor::S2of16)), "2 of 16 elements are kept.");
        assert_eq!(
            of(Modifier::Shape(Shape { m: 16, n: 8, k: 4 })),
            "A is 16 x 4, B 4 x 8, the result 16 x 8."
        );
    }

    #[test]
    fn every_operation_is_explained() {
        for row in rows() {
            assert!(row.operation.explanation().ends_with('.'), "{}", row.name());
        }
    }
}
