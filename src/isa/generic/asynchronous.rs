//! Asynchronous copies, and the tensor maps that they follow.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const SHARED_FIRST: SpaceRule = SpaceRule::Nth(0);
const SOURCE: SpaceRule = SpaceRule::Nth(1);

const MASK_16: OperandSlot = src("ctaMask", B16)
    .when(&[Modifier::Multicast(Multicast::Cluster), Modifier::Multicast(Multicast::Mask16)]);
const MASK_32: OperandSlot = src("ctaMask", B32).when(&[Modifier::Multicast(Multicast::Mask32)]);

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

rows! { "Data Movement and Conversion Instructions";
    CpAsync "cp.async" [
            (CacheOperator: Ca Cg) (Space: Shared SharedCta) (Space: Global) {Flag: CacheHint}
            {PrefetchSize: L2x64 L2x128 L2x256}
        ]
        (address("dst", Access::Write).space(SHARED_FIRST), address("src", Access::Read).space(SOURCE),
         immediate("cp-size", B32), src("src-size", TypeRule::Any).optional(), cache_policy())
        {synchronization: Synchronization::AsyncCopy}
    CpAsyncCommitGroup "cp.async.commit_group" [] () {synchronization: Synchronization::AsyncCopyCommit}
    CpAsyncWaitGroup "cp.async.wait_group" [] (immediate("n", B32))
        {synchronization: Synchronization::AsyncCopyWait}
    CpAsyncWaitAll "cp.async.wait_all" [] () {synchronization: Synchronization::AsyncCopyWait}
    CpAsyncMbarrierArrive "cp.async.mbarrier.arrive" [{Flag: Noinc} {Space: Shared SharedCta} (Type: B64)]
        (address("addr", Access::ReadWrite)) {synchronization: Synchronization::AsyncCopyArrive}
    CpAsyncBulkLoad "cp.async.bulk" [
            (Space: SharedCluster SharedCta) (Space: Global) (Completion: MbarrierBytes)
            {Multicast: Cluster Mask16 Mask32} {Flag: CacheHint} {Flag: IgnoreOob}
            {Report: Disabled Per16Bytes80000000 Per16Bytes8000 Per16Bytes80 Per16Bytes8 PerElementFf}
        ]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32),
         src("ignoreBytesLeft", B32).when(&[Modifier::Flag(Flag::IgnoreOob)]),
         src("ignoreBytesRight", B32).when(&[Modifier::Flag(Flag::IgnoreOob)]),
         address("mbar", Access::ReadWrite), MASK_16, MASK_32, cache_policy())
        {title: Some("cp.async.bulk"), synchronization: Synchronization::BulkCopy}
    CpAsyncBulkCluster "cp.async.bulk" [(Space: SharedCluster) (Space: SharedCta) (Completion: MbarrierBytes)]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32),
         address("mbar", Access::ReadWrite))
        {title: Some("cp.async.bulk"), synchronization: Synchronization::BulkCopy}
    CpAsyncBulkStore "cp.async.bulk" [
            (Space: Global) (Space: SharedCta) (Completion: BulkGroup) {Flag: CacheHint} {Flag: CpMask}
        ]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32),
         cache_policy(), src("byteMask", B16).when(&[Modifier::Flag(Flag::CpMask)]))
        {title: Some("cp.async.bulk"), synchronization: Synchronization::BulkCopy}
    CpReduceAsyncBulkCluster "cp.reduce.async.bulk" [
            (Space: SharedCluster) (Space: SharedCta) (Completion: MbarrierBytes)
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) (Type: B32 U32 S32 U64)
        ]
        (address("dstMem", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), src("size", B32),
         address("mbar", Access::ReadWrite))
        {title: Some("cp.reduce.async.bulk"), synchronization: Synchronization::BulkCopy}
    CpReduceAsyncBulkStore "cp.reduce.async.bulk" [
            (Space: Global) (Space: SharedCta) (Completion: BulkGroup) {Flag: CacheHint}
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) {Flag: Noftz}
            (Type: B32 B64 U32 S32 U64 S64 F16 Bf16 F32 F64)
        ]
        (address("dstMem", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), src("size", B32),
         cache_policy())
        {title: Some("cp.reduce.async.bulk"), synchronization: Synchronization::BulkCopy}
    CpAsyncBulkPrefetch "cp.async.bulk.prefetch" [
            (CacheLevel: L2) (Space: Global) {L2Eviction: EvictLast} {Flag: CacheHint}
        ]
        (address("srcMem", Access::None), src("size", B32), cache_policy())
        {}
    MultimemCpAsyncBulk "multimem.cp.async.bulk" [
            {Semantics: Weak Relaxed} {Scope: Cta Cluster Gpu Sys} (Space: Global) (Space: SharedCta)
            (Completion: BulkGroup) {Flag: CpMask} {Type: B128}
        ]
        (address("dstMem", Access::Write), address("srcMem", Access::Read).space(SOURCE), src("size", B32),
         src("byteMask", B16).when(&[Modifier::Flag(Flag::CpMask)]))
        {synchronization: Synchronization::BulkCopy}
    MultimemCpReduceAsyncBulk "multimem.cp.reduce.async.bulk" [
            {Semantics: Relaxed} {Scope: Cta Cluster Gpu Sys} (Space: Global) (Space: SharedCta) (Completion: BulkGroup)
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) {Flag: Noftz}
            (Type: B32 B64 U32 S32 U64 S64 F16 Bf16 F32 F64)
        ]
        (address("dstMem", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), src("size", B32))
        {synchronization: Synchronization::BulkCopy}
    CpAsyncBulkCommitGroup "cp.async.bulk.commit_group" [] () {synchronization: Synchronization::BulkCommit}
    CpAsyncBulkWaitGroup "cp.async.bulk.wait_group" [{Flag: Read} {Restriction: ProxyAsync}]
        (immediate("N", B32)) {synchronization: Synchronization::BulkWait}
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
        {title: Some("cp.async.bulk.tensor"), synchronization: Synchronization::BulkCopy}
    CpAsyncBulkTensorStore "cp.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: Global) (Space: SharedCta)
            {LoadMode: Tile TileScatter4 Im2colNoOffs Im2colNoOffsW} (Completion: BulkGroup) {Flag: CacheHint}
            {Override: GlobalAddress} {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::Write), address("srcMem", Access::Read).space(SOURCE), cache_policy())
        {title: Some("cp.async.bulk.tensor"), synchronization: Synchronization::BulkCopy}
    CpReduceAsyncBulkTensor "cp.reduce.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: Global) (Space: SharedCta)
            (ReductionOperator: Add Min Max Inc Dec And Or Xor) {LoadMode: Tile Im2colNoOffs Im2colNoOffsW}
            (Completion: BulkGroup) {Flag: CacheHint} {Override: GlobalAddress}
            {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::ReadWrite), address("srcMem", Access::Read).space(SOURCE), cache_policy())
        {synchronization: Synchronization::BulkCopy}
    CpAsyncBulkPrefetchTensor "cp.async.bulk.prefetch.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (CacheLevel: L2) (Space: Global)
            {LoadMode: Tile TileGather4 Im2col Im2colW Im2colW128}
            {L2Eviction: EvictLast} {Flag: CacheHint} {Override: GlobalAddress}
            {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::None), src("im2colInfo", B16).form(Form::Fragment).when(IM2COL),
         cache_policy())
        {}
    ApplypriorityAsyncBulk "applypriority.async.bulk" [
            (Space: Global) (Completion: BulkGroup) (L2Eviction: EvictNormal)
        ]
        (address("srcMem", Access::None), src("size", B32)) {synchronization: Synchronization::BulkCopy}
    ApplypriorityAsyncBulkTensor "applypriority.async.bulk.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: Global)
            {LoadMode: Tile TileGather4 Im2col Im2colW Im2colW128} (Completion: BulkGroup)
            (L2Eviction: EvictNormal) {Override: GlobalAddress} {Override: GlobalDim GlobalDimStride}
        ]
        (address("tensorMap", Access::None), src("im2colInfo", B16).form(Form::Fragment).when(IM2COL))
        {synchronization: Synchronization::BulkCopy}
    TensormapReplace "tensormap.replace" [
            (Flag: Tile)
            (TensormapField: GlobalAddress Rank BoxDim GlobalDim GlobalStride ElementStride Elemtype
                InterleaveLayout SwizzleMode SwizzleAtomicity FillMode)
            {AllocationClass: Large Small Same} {Space: Global SharedCta} (Type: B1024) (Type: B32 B64)
        ]
        (address("addr", Access::ReadWrite), immediate("ord", B32).when(ORDINAL), src("new_val", T2)) {}
    TensormapQueryAllocClassLarge "tensormap.query.alloc_class_large" [
            {Space: Const Global Param SharedCta} (Type: B1024)
        ]
        (dst("p", PRED), address("a", Access::Read)) {lanes: Lanes::Memory}
    TensormapCpFenceproxy "tensormap.cp_fenceproxy" [
            (Space: Global) (Space: SharedCta) (ProxyKind: TensormapGeneric) (Semantics: Release)
            (Scope: Cta Cluster Gpu Sys) (Flag: Sync) (Flag: Aligned)
        ]
        (address("dst", Access::Write), address("src", Access::Read).space(SOURCE), immediate("size", B32))
        {synchronization: Synchronization::ProxyFence}
}
