//! Asynchronous copies, and the tensor maps that they follow.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const SHARED_FIRST: SpaceRule = SpaceRule::Nth(0);
const SOURCE: SpaceRule = SpaceRule::Nth(1);

const MASK_16: OperandSlot = src("ctaMask", B16)
    .when(&[Modifier::Multicast(Multicast::Cluster), Modifier::Multicast(Multicast::Mask16)]);
const MASK_32: OperandSlot =
    src("ctaMask", B32).from(0, 0xFFFF_FFFF).when(&[Modifier::Multicast(Multicast::Mask32)]);

/// Bytes that are copied.
const COPIED: &[(&[Modifier], Numbers)] = &[
    (&[Modifier::CacheOperator(CacheOperator::Cg)], Numbers::These(&[16])),
    (&[], Numbers::These(&[4, 8, 16])),
];

const IM2COL: &[Modifier] = &[
    Modifier::LoadMode(LoadMode::Im2col),
    Modifier::LoadMode(LoadMode::Im2colW),
    Modifier::LoadMode(LoadMode::Im2colW128),
];

const ORDINAL: &[Modifier] = &[
    Modifier::TensormapField(TensormapField::BoxDim),
    Modifier::TensormapField(TensormapField::GlobalDim),
    Modifier::TensormapField(TensormapField::GlobalStride),
    Modifier::TensormapField(TensormapField::ElementStride),
];

/// Fields that are one of a list.
const CHOSEN: &[Modifier] = &[
    Modifier::TensormapField(TensormapField::Elemtype),
    Modifier::TensormapField(TensormapField::InterleaveLayout),
    Modifier::TensormapField(TensormapField::SwizzleMode),
    Modifier::TensormapField(TensormapField::SwizzleAtomicity),
    Modifier::TensormapField(TensormapField::FillMode),
];

/// Their values.
const CHOICES: &[(&[Modifier], Numbers)] = &[
    (&[Modifier::TensormapField(TensormapField::Elemtype)], Numbers::From(0, 15)),
    (&[Modifier::TensormapField(TensormapField::InterleaveLayout)], Numbers::From(0, 2)),
    // 4 is one of sm_103a and sm_107a.
    (&[Modifier::TensormapField(TensormapField::SwizzleMode)], Numbers::From(0, 4)),
    (&[Modifier::TensormapField(TensormapField::SwizzleAtomicity)], Numbers::From(0, 3)),
    (&[Modifier::TensormapField(TensormapField::FillMode)], Numbers::From(0, 1)),
];

rows! { "Data Movement and Conversion Instructions";
    CpAsync "cp.async" [
            (CacheOperator: Ca Cg) (Space: Shared SharedCta) (Space: Global) {Flag: CacheHint}
            {PrefetchSize: L2x64 L2x128 L2x256}
        ]
        (address("dst", Access::Write).space(SHARED_FIRST), address("src", Access::Read).space(SOURCE),
         immediate("cp-size", B32).by_words(COPIED),
         src("src-size", TypeRule::Any).from(0, 16).optional(), cache_policy())
        {synchronization: Synchronization::AsyncCopy,
         constraints: constraints![
            since(7, 0);
            (Flag: CacheHint) since(7, 4);
            (PrefetchSize: L2x64 L2x128 L2x256) since(7, 4);
            from(80);
        ]}
    CpAsyncCommitGroup "cp.async.commit_group" [] () {synchronization: Synchronization::AsyncCopyCommit,
         constraints: constraints![
            since(7, 0);
            from(80);
        ]}
    CpAsyncWaitGroup "cp.async.wait_group" [] (immediate("n", B32))
        {synchronization: Synchronization::AsyncCopyWait,
         constraints: constraints![
            since(7, 0);
            from(80);
        ]}
    CpAsyncWaitAll "cp.async.wait_all" [] () {synchronization: Synchronization::AsyncCopyWait,
         constraints: constraints![
            since(7, 0);
            from(80);
        ]}
    CpAsyncMbarrierArrive "cp.async.mbarrier.arrive" [{Flag: Noinc} {Space: Shared SharedCta} (Type: B64)]
        (address("addr", Access::ReadWrite)) {synchronization: Synchronization::AsyncCopyArrive,
         constraints: constraints![
            since(7, 0);
            (Space: SharedCta) since(7, 8);
            from(80);
        ]}
    CpAsyncBulkLoad "cp.async.bulk" [
            (Space: SharedCluster SharedCta) (Space: Global) (Completion: MbarrierBytes)
            {Multicast: Cluster Mask16 Mask32} {Flag: CacheHint} {Flag: IgnoreOob}
            {Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf}
        ]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0),
         src("ignoreBytesLeft", B32).from(0, 15).when(&[Modifier::Flag(Flag::IgnoreOob)]),
         src("ignoreBytesRight", B32).from(0, 15).when(&[Modifier::Flag(Flag::IgnoreOob)]),
         address("mbar", Access::ReadWrite), MASK_16, MASK_32, cache_policy())
        {title: Some("cp.async.bulk"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Space: SharedCta) excludes(Multicast: Cluster Mask16 Mask32);
            (Flag: IgnoreOob) excludes(Report: Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf);
            (Space: SharedCluster) excludes(Flag: IgnoreOob);
            since(8, 0);
            (Space: SharedCta) since(8, 6);
            (Multicast: Mask16 Mask32) since(9, 4);
            (Flag: IgnoreOob) since(9, 2);
            (Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf) since(9, 4);
            (Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf) on(RUBIN);
            from(90);
            (Multicast: Mask32) on(RUBIN);
        ]}
    CpAsyncBulkCluster "cp.async.bulk" [(Space: SharedCluster) (Space: SharedCta) (Completion: MbarrierBytes)]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0),
         address("mbar", Access::ReadWrite))
        {title: Some("cp.async.bulk"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            since(8, 0);
            from(90);
        ]}
    CpAsyncBulkStore "cp.async.bulk" [
            (Space: Global) (Space: SharedCta) (Completion: BulkGroup) {Flag: CacheHint} {Flag: CpMask}
        ]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0),
         cache_policy(), src("byteMask", B16).when(&[Modifier::Flag(Flag::CpMask)]))
        {title: Some("cp.async.bulk"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            since(8, 0);
            (Flag: CpMask) since(8, 6);
            from(90);
            (Flag: CpMask) from(100);
        ]}
    CpReduceAsyncBulkCluster "cp.reduce.async.bulk" [
            (Space: SharedCluster) (Space: SharedCta) (Completion: MbarrierBytes)
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) (Type: B32 U32 S32 U64)
        ]
        (address("dstMem", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0),
         address("mbar", Access::ReadWrite))
        {title: Some("cp.reduce.async.bulk"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Type: U64) excludes(ReductionOperator: And Or Xor Inc Dec Min Max);
            (Type: B32) excludes(ReductionOperator: Add Inc Dec Min Max);
            (Type: S32) excludes(ReductionOperator: And Or Xor Inc Dec);
            (Type: U32) excludes(ReductionOperator: And Or Xor);
            since(8, 0);
            from(90);
        ]}
    CpReduceAsyncBulkStore "cp.reduce.async.bulk" [
            (Space: Global) (Space: SharedCta) (Completion: BulkGroup) {Flag: CacheHint}
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) {Flag: Noftz}
            (Type: B32 B64 U32 S32 U64 S64 F16 Bf16 F32 F64)
        ]
        (address("dstMem", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0),
         cache_policy())
        {title: Some("cp.reduce.async.bulk"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Flag: Noftz) excludes(ReductionOperator: And Or Xor Inc Dec Min Max);
            (ReductionOperator: Inc Dec) excludes(Type: B32 B64 S32 U64 S64 F16 Bf16 F32 F64);
            (ReductionOperator: And Or Xor) excludes(Type: U32 S32 U64 S64 F16 Bf16 F32 F64);
            (Flag: Noftz) excludes(Type: B32 B64 U32 S32 U64 S64 F64);
            (ReductionOperator: Min Max) excludes(Type: B32 B64 F32 F64);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            (ReductionOperator: Add) (Type: F16) needs(Flag: Noftz);
            (ReductionOperator: Add) (Type: Bf16) needs(Flag: Noftz);
            since(8, 0);
            (Flag: Noftz) (Type: F32) since(9, 4);
            from(90);
        ]}
    CpAsyncBulkPrefetch "cp.async.bulk.prefetch" [
            (CacheLevel: L2) (Space: Global) {L2Eviction: EvictLast} {Flag: CacheHint}
        ]
        (address("srcMem", Access::None), src("size", B32).multiples(16, 0, 0xF_FFF0), cache_policy())
        {constraints: constraints![
            (L2Eviction: EvictLast) excludes(Flag: CacheHint);
            since(8, 0);
            from(90);
            (L2Eviction: EvictLast) since(9, 0);
            (L2Eviction: EvictLast) on(RUBIN);
        ]}
    MultimemCpAsyncBulk "multimem.cp.async.bulk" [
            {Semantics: Weak Relaxed} {Scope: Cta Cluster Gpu Sys} (Space: Global) (Space: SharedCta)
            (Completion: BulkGroup) {Flag: CpMask} {Type: B128}
        ]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0),
         src("byteMask", B16).when(&[Modifier::Flag(Flag::CpMask)]))
        {synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Semantics: Weak) excludes(Scope: Cta Cluster Gpu Sys);
            (Semantics: Relaxed) needs(Type: B128);
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed);
            (Type: B128) excludes(Semantics: Weak);
            (Semantics: Relaxed) needs(Scope: Cta Cluster Gpu Sys);
            since(9, 1);
            (Semantics: Weak Relaxed) since(9, 3);
            (Scope: Cta Cluster Gpu Sys) since(9, 3);
            from(90);
            (Flag: CpMask) from(100);
        ]}
    MultimemCpReduceAsyncBulk "multimem.cp.reduce.async.bulk" [
            {Semantics: Relaxed} {Scope: Cta Cluster Gpu Sys} (Space: Global) (Space: SharedCta) (Completion: BulkGroup)
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) {Flag: Noftz}
            (Type: B32 B64 U32 S32 U64 S64 F16 Bf16 F32 F64)
        ]
        (address("dstMem", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), src("size", B32).multiples(16, 0, 0xF_FFF0))
        {synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Flag: Noftz) excludes(ReductionOperator: And Or Xor Inc Dec Min Max);
            (Semantics: Relaxed) needs(Scope: Cta Cluster Gpu Sys);
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed);
            (ReductionOperator: Inc Dec) excludes(Type: B32 B64 S32 U64 S64 F16 Bf16 F32 F64);
            (ReductionOperator: And Or Xor) excludes(Type: U32 S32 U64 S64 F16 Bf16 F32 F64);
            (ReductionOperator: Min Max) excludes(Type: B32 B64 F32 F64);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            (Flag: Noftz) excludes(Type: B32 B64 U32 S32 U64 S64 F64);
            (ReductionOperator: Add) (Type: Bf16) needs(Flag: Noftz);
            since(9, 1);
            (Semantics: Relaxed) since(9, 3);
            (Scope: Cta Cluster Gpu Sys) since(9, 3);
            from(90);
            (ReductionOperator: Add) (Type: F16) needs(Flag: Noftz);
            (Flag: Noftz) (Type: F32) since(9, 4);
        ]}
    CpAsyncBulkCommitGroup "cp.async.bulk.commit_group" [] () {synchronization: Synchronization::BulkCommit,
         constraints: constraints![
            since(8, 0);
            from(90);
        ]}
    CpAsyncBulkWaitGroup "cp.async.bulk.wait_group" [{Flag: Read} {Restriction: ProxyAsync}]
        (immediate("N", B32)) {synchronization: Synchronization::BulkWait,
         constraints: constraints![
            (Flag: Read) excludes(Restriction: ProxyAsync);
            since(8, 0);
            (Restriction: ProxyAsync) since(9, 5);
            from(90);
            (Restriction: ProxyAsync) from(90);
        ]}
    CpAsyncBulkTensorLoad "cp.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: SharedCluster SharedCta) (Space: Global)
            {LoadMode: Tile TileGather4 Im2col Im2colW Im2colW128} (Completion: MbarrierBytes)
            {Multicast: Cluster Mask16 Mask32} {CtaGroup: One Two} {Flag: CacheHint}
            {Override: GlobalAddress} {Override: GlobalDim GlobalDimStride}
            {Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf}
        ]
        (address("dstMem", Access::Write), address("tensorMap", Access::Read).space(SOURCE),
         address("mbar", Access::ReadWrite),
         src("im2colInfo", B16).form(Form::Fragment).when(IM2COL), MASK_16, MASK_32,
         cache_policy())
        {title: Some("cp.async.bulk.tensor"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Override: GlobalDim GlobalDimStride) needs(Override: GlobalAddress);
            (Override: GlobalDim) needs(Geometry: D1);
            (Override: GlobalDimStride) excludes(Geometry: D1);
            (Override: GlobalAddress) since(9, 4);
            (Override: GlobalAddress) on(RUBIN);
            (Space: SharedCta) excludes(Multicast: Cluster Mask16 Mask32);
            (Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf) since(9, 4);
            (Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf) on(RUBIN);
            since(8, 0);
            from(90);
            (Space: SharedCta) since(8, 6);
            (Multicast: Mask32) since(9, 4);
            (Multicast: Mask32) on(RUBIN);
            (CtaGroup: One Two) since(8, 6);
            (CtaGroup: One Two) on(TENSOR_TARGETS);
            (LoadMode: TileGather4 Im2colW Im2colW128) since(8, 6);
            (LoadMode: TileGather4 Im2colW) (Space: SharedCta) from(100);
            (LoadMode: TileGather4 Im2colW) (Space: SharedCluster) on(TENSOR_TARGETS);
            (LoadMode: Im2colW128) on(TENSOR_TARGETS);
            (LoadMode: TileGather4) needs(Geometry: D2);
            (LoadMode: Im2colW Im2colW128) excludes(Geometry: D1 D2);
            (Multicast: Mask16) since(9, 4);
        ]}
    CpAsyncBulkTensorStore "cp.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: Global) (Space: SharedCta)
            {LoadMode: Tile TileScatter4 Im2colNoOffs Im2colNoOffsW} (Completion: BulkGroup) {Flag: CacheHint}
            {Override: GlobalAddress} {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::Write), address("srcMem", Access::Read).space(SOURCE), cache_policy())
        {title: Some("cp.async.bulk.tensor"), synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Override: GlobalDim GlobalDimStride) needs(Override: GlobalAddress);
            (Override: GlobalDim) needs(Geometry: D1);
            (Override: GlobalDimStride) excludes(Geometry: D1);
            (Override: GlobalAddress) since(9, 4);
            (Override: GlobalAddress) on(RUBIN);
            (LoadMode: Im2colNoOffs Im2colNoOffsW) excludes(Geometry: D1 D2);
            (LoadMode: Im2colNoOffsW) since(9, 4);
            (LoadMode: Im2colNoOffsW) on(RUBIN);
            since(8, 0);
            from(90);
            (LoadMode: TileScatter4) needs(Geometry: D2);
            (LoadMode: TileScatter4) since(8, 6);
            (LoadMode: TileScatter4) on(TENSOR_TARGETS);
        ]}
    CpReduceAsyncBulkTensor "cp.reduce.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: Global) (Space: SharedCta)
            (ReductionOperator: Add Min Max Inc Dec And Or Xor) {LoadMode: Tile Im2colNoOffs Im2colNoOffsW}
            (Completion: BulkGroup) {Flag: CacheHint} {Override: GlobalAddress}
            {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), cache_policy())
        {synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Override: GlobalDim GlobalDimStride) needs(Override: GlobalAddress);
            (Override: GlobalDim) needs(Geometry: D1);
            (Override: GlobalDimStride) excludes(Geometry: D1);
            (Override: GlobalAddress) since(9, 4);
            (Override: GlobalAddress) on(RUBIN);
            (LoadMode: Im2colNoOffs Im2colNoOffsW) excludes(Geometry: D1 D2);
            (LoadMode: Im2colNoOffsW) since(9, 4);
            (LoadMode: Im2colNoOffsW) on(RUBIN);
            since(8, 0);
            from(90);
        ]}
    CpAsyncBulkPrefetchTensor "cp.async.bulk.prefetch.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (CacheLevel: L2) (Space: Global)
            {LoadMode: Tile TileGather4 Im2col Im2colW Im2colW128}
            {L2Eviction: EvictLast} {Flag: CacheHint} {Override: GlobalAddress}
            {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::None), src("im2colInfo", B16).form(Form::Fragment).when(IM2COL),
         cache_policy())
        {constraints: constraints![
            (Override: GlobalDim GlobalDimStride) needs(Override: GlobalAddress);
            (Override: GlobalDim) needs(Geometry: D1);
            (Override: GlobalDimStride) excludes(Geometry: D1);
            (Override: GlobalAddress) since(9, 4);
            (Override: GlobalAddress) on(RUBIN);
            (L2Eviction: EvictLast) excludes(Flag: CacheHint);
            since(8, 0);
            from(90);
            (L2Eviction: EvictLast) since(9, 0);
            (LoadMode: TileGather4) needs(Geometry: D2);
            (LoadMode: Im2colW Im2colW128) excludes(Geometry: D1 D2);
            (LoadMode: TileGather4 Im2colW Im2colW128) since(8, 6);
            (LoadMode: TileGather4 Im2colW Im2colW128) on(TENSOR_TARGETS);
            (L2Eviction: EvictLast) on(RUBIN);
        ]}
    ApplypriorityAsyncBulk "applypriority.async.bulk" [
            (Space: Global) (Completion: BulkGroup) (L2Eviction: EvictNormal)
        ]
        (address("srcMem", Access::None), src("size", B32).multiples(16, 0, 0xF_FFF0)) {synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            since(9, 4);
            on(RUBIN);
        ]}
    ApplypriorityAsyncBulkTensor "applypriority.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: Global)
            {LoadMode: Tile TileGather4 Im2col Im2colW Im2colW128} (Completion: BulkGroup)
            (L2Eviction: EvictNormal) {Override: GlobalAddress} {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::None), src("im2colInfo", B16).form(Form::Fragment).when(IM2COL))
        {synchronization: Synchronization::BulkCopy,
         constraints: constraints![
            (Override: GlobalDim GlobalDimStride) needs(Override: GlobalAddress);
            (Override: GlobalDim) needs(Geometry: D1);
            (Override: GlobalDimStride) excludes(Geometry: D1);
            since(9, 4);
            on(RUBIN);
        ]}
    TensormapReplace "tensormap.replace" [
            (Flag: Tile)
            (TensormapField: GlobalAddress Rank BoxDim GlobalDim GlobalStride ElementStride Elemtype
                InterleaveLayout SwizzleMode SwizzleAtomicity FillMode)
            {AllocationClass: Large Small Same} {Space: Global SharedCta} (Type: B1024) (Type: B32 B64)
        ]
        (address("addr", Access::ReadWrite), immediate("ord", B32).from(0, 4).when(ORDINAL), src("new_val", T2).unless(CHOSEN),
         immediate("new_val", T2).by_words(CHOICES).when(CHOSEN)) {constraints: constraints![
            (Type: B64) needs(TensormapField: GlobalAddress GlobalStride);
            (Type: B32) excludes(TensormapField: GlobalAddress GlobalStride);
            (AllocationClass: Large Small Same) needs(TensormapField: GlobalAddress);
            since(8, 3);
            (AllocationClass: Large Small Same) since(9, 5);
            on(HOPPER_AND_BLACKWELL);
        ]}
    TensormapQueryAllocClassLarge "tensormap.query.alloc_class_large" [
            {Space: Const Global Param SharedCta} (Type: B1024)
        ]
        (dst("p", PRED), address("a", Access::Read)) {lanes: Lanes::Memory,
         constraints: constraints![
            since(9, 5);
            on(HOPPER_AND_BLACKWELL);
        ]}
    TensormapCpFenceproxy "tensormap.cp_fenceproxy" [
            (Space: Global) (Space: SharedCta) (ProxyKind: TensormapGeneric) (Semantics: Release)
            (Scope: Cta Cluster Gpu Sys) (Flag: Sync) (Flag: Aligned)
        ]
        (address("dst", Access::Write), address("src", Access::Read).space(SOURCE), immediate("size", B32).these(&[128]))
        {synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            since(8, 3);
            from(90);
        ]}
}
