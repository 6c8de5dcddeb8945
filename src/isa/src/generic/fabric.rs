//! Operations through the fabric that connects GPUs.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const MASKED: &[Modifier] = &[Modifier::Flag(Flag::CpMask)];
const SPACE: SpaceRule = SpaceRule::Nth(0);

const fn handle(name: &'static str, access: Access) -> OperandSlot {
    address(name, access).space(SpaceRule::Fabric)
}

rows! { "Fabric Instructions";
    FabricTryGet "fabric.try_get" [
            (Flag: Async) (Space: SharedCta) (Completion: MbarrierBytes) (Report: Fabric) {Flag: CacheHint}
            (Semantics: Relaxed) (Scope: Sys) (Type: B128)
        ]
        (address("dst", Access::Write), handle("src", Access::Read), src("size", B32),
         address("bar", Access::ReadWrite), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    FabricTryPut "fabric.try_put" [
            (Flag: Async) {Flag: Multimem} (Space: SharedCta) (Completion: Mbarrier16Bytes) (Report: Fabric)
            {Flag: CountedBytes} {Flag: CacheHint} {Flag: CpMask} (Semantics: Relaxed) (Scope: Sys) (Type: B128)
        ]
        (handle("dst", Access::Write), address("src", Access::Read).space(SPACE), src("size", B32),
         address("bar", Access::ReadWrite), src("bytemask", B16).when(MASKED), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            (Flag: CountedBytes) excludes(Flag: CpMask);
            since(9, 3);
            from(100);
        ]}
    FabricTryRed "fabric.try_red" [
            (Flag: Async) {Flag: Multimem} (Space: SharedCta) (Completion: Mbarrier16Bytes) (Report: Fabric)
            {Flag: CountedBytes} {Flag: CacheHint} (Semantics: Relaxed) (Scope: Sys)
            (ReductionOperator: And Xor Or Min Max Add) (Type: B32 B64 U32 S32 U64 S64 F16 Bf16 F32 F64)
        ]
        (handle("dst", Access::ReadWrite), address("src", Access::Read).space(SPACE), src("size", B32),
         address("bar", Access::ReadWrite), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            (ReductionOperator: And Or Xor) excludes(Type: U32 S32 U64 S64 F16 Bf16 F32 F64);
            (ReductionOperator: Min Max) excludes(Type: B32 B64 F32 F64);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            since(9, 3);
            from(100);
        ]}
    FabricTryPullred "fabric.try_pullred" [
            (Flag: Async) (Flag: Multimem) (Space: SharedCta) (Completion: MbarrierBytes) (Report: Fabric)
            {Flag: CacheHint} (Semantics: Relaxed) (Scope: Sys) (ReductionOperator: And Xor Or Min Max Add)
            {Accumulator: F16 F32} (Type: B32 B64 U32 S32 U64 S64 F16 Bf16 F32 F64 E4m3 E5m2) (Flag: Sync)
        ]
        (address("dst", Access::Write), handle("src", Access::Read), src("size", B32),
         address("bar", Access::ReadWrite), immediate("membermask", B32), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    FabricTryAtom "fabric.try_atom" [
            (Flag: Async) (Space: SharedCta) (Completion: Mbarrier16Bytes) (Report: Fabric) {Flag: CacheHint}
            (Semantics: Relaxed) (Scope: Sys) (ReductionOperator: And Xor Or Min Max Add Cas Exch)
            (Type: B32 B64 B128 U32 U64 F16x2 Bf16x2 F32 F64)
        ]
        (handle("dst", Access::ReadWrite), address("result", Access::Write), address("src", Access::Read),
         address("bar", Access::ReadWrite), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            (ReductionOperator: And Or Xor) excludes(Type: B128 U32 U64 F16x2 Bf16x2 F32 F64);
            (ReductionOperator: Min Max) excludes(Type: B32 B64 B128 F32 F64);
            (ReductionOperator: Add) excludes(Type: B32 B64 B128);
            (ReductionOperator: Cas Exch) excludes(Type: U32 U64 F16x2 Bf16x2 F32 F64);
            since(9, 4);
            from(100);
        ]}
    FabricTryGetTensor "fabric.try_get.async.tensor" [
            (Geometry: D1 D2 D3 D4 D5) (Space: SharedCta) {LoadMode: Tile} (Completion: MbarrierBytes)
            (Report: Fabric) {Flag: CacheHint} (Override: GlobalAddress) {Override: GlobalDim GlobalDimStride}
            (Semantics: Relaxed) (Scope: Sys) (Type: B128)
        ]
        (address("dstMem", Access::Write), handle("tensorMap", Access::Read),
         address("mbar", Access::ReadWrite), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    FabricTryPutTensor "fabric.try_put.async.tensor" [
            {Flag: Multimem} (Geometry: D1 D2 D3 D4 D5) (Space: SharedCta) {LoadMode: Tile}
            (Completion: Mbarrier16Bytes) (Report: Fabric) {Flag: CountedBytes} {Flag: CacheHint}
            (Override: GlobalAddress) {Override: GlobalDim GlobalDimStride} (Semantics: Relaxed) (Scope: Sys)
            (Type: B128)
        ]
        (handle("tensorMap", Access::Write), address("src", Access::Read), src("sizeBytes", B32),
         address("mbar", Access::ReadWrite), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    FabricTryRedTensor "fabric.try_red.async.tensor" [
            {Flag: Multimem} (Geometry: D1 D2 D3 D4 D5) (Space: SharedCta) {LoadMode: Tile}
            (Completion: Mbarrier16Bytes) (Report: Fabric) {Flag: CountedBytes} {Flag: CacheHint}
            (Override: GlobalAddress) {Override: GlobalDim GlobalDimStride} (Semantics: Relaxed) (Scope: Sys)
            (ReductionOperator: And Xor Or Min Max Add)
        ]
        (handle("tensorMap", Access::ReadWrite), address("src", Access::Read), src("sizeBytes", B32),
         address("mbar", Access::ReadWrite), cache_policy())
        {synchronization: Synchronization::FabricStart,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    FabricSubmit "fabric.submit" [{Restriction: Fetching}] () {synchronization: Synchronization::FabricSubmit,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    FabricSubmitCommitGroup "fabric.submit.commit_group" [] () {synchronization: Synchronization::FabricSubmit,
         constraints: constraints![
            since(9, 5);
            from(100);
        ]}
    FabricWait "fabric.wait" [{Restriction: Read Reads}] (immediate("N", B32).optional())
        {synchronization: Synchronization::FabricWait,
         constraints: constraints![
            since(9, 3);
            (Restriction: Read) since(9, 5);
            from(100);
        ]}
}
