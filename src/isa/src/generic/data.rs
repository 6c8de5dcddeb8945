//! Data movement and conversion, but for what is copied asynchronously.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const SCALE_1: OperandSlot = src("scale-factor", B8).when(&[Modifier::Scaled(Scaled::N1)]);
const SCALE_2: OperandSlot = src("scale-factor", B16).when(&[Modifier::Scaled(Scaled::N2)]);

rows! { "Data Movement and Conversion Instructions";
    Mov "mov" [(Type: Pred B16 B32 B64 B128 U16 U32 U64 S16 S32 S64 F32 F64)]
        (d(T1).form(Form::Packed), a(T1).form(Form::Packed).specials().names()) {computes: Computation::Move,
         constraints: constraints![
            (Type: B128) since(8, 3);
        ]}
    MovVector "mov" [(Vector: V2 V4) (Type: B16 B32 B64 U16 U32 U64 S16 S32 S64 F32 F64)]
        (d(T1).form(Form::Vector), a(T1).form(Form::Packed).specials())
        {title: Some("mov"), constraints: constraints![
            (Vector: V4) excludes(Type: B64 U64 S64 F64);
        ]}
    Shfl "shfl" [(ShuffleMode: Up Down Bfly Idx) (Type: B32)]
        (d(T1).pair(Pair::Optional), a(T1), b(ANY32), c(ANY32))
        {computes: Computation::Shuffle, lanes: Lanes::Exchanged, constraints: constraints![
            gone(6, 4, 70);
        ]}
    ShflSync "shfl" [(Flag: Sync) (ShuffleMode: Up Down Bfly Idx) (Type: B32)]
        (d(T1).pair(Pair::Optional), a(T1), b(ANY32), c(ANY32), src("membermask", B32))
        {title: Some("shfl.sync"), computes: Computation::Shuffle, lanes: Lanes::Exchanged,
         synchronization: Synchronization::WarpCollective}
    Prmt "prmt" [(Type: B32)] (d(T1), a(T1), b(T1), c(T1)) {computes: Computation::Bits(Bits::Permute)}
    PrmtMode "prmt" [(Type: B32) (PermuteMode: F4e B4e Rc8 Ecl Ecr Rc16)] (d(T1), a(T1), b(T1), c(T1)) {}
    Ld "ld" [
            {Semantics: Weak Volatile Relaxed Acquire} {Flag: Mmio} {Scope: Cta Cluster Gpu Sys}
            {Space: Const Global Local Param ParamEntry ParamFunc Shared SharedCta SharedCluster}
            {CacheOperator: Ca Cg Cs Lu Cv}
            {L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate}
            {L2Eviction: EvictNormal EvictFirst EvictLast} {Flag: CacheHint}
            {PrefetchSize: L2x64 L2x128 L2x256} {Vector: V2 V4 V8}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (d(T1).form(Form::Vector).wider(), address("a", Access::Read), cache_policy())
        {computes: Computation::Load, lanes: Lanes::Memory,
         constraints: constraints![
            (Space: Const Local Param ParamEntry ParamFunc Shared SharedCta SharedCluster) (Vector: V8) excludes(Type: B32 U32 S32 F32);
            (Semantics: Relaxed Acquire) needs(Scope: Cta Cluster Gpu Sys);
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed Acquire);
            (Flag: Mmio) needs(Scope: Sys);
            (Flag: Mmio) excludes(Space: Const Local Param ParamEntry ParamFunc Shared SharedCta SharedCluster);
            (Semantics: Relaxed Acquire) excludes(Space: Const Local Param ParamEntry ParamFunc);
            (Semantics: Volatile) excludes(Space: Const Param ParamEntry ParamFunc);
            (Semantics: Volatile) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate | Flag: CacheHint);
            (Semantics: Volatile Relaxed Acquire) excludes(CacheOperator: Ca Cg Cs Lu Cv);
            (CacheOperator: Ca Cg Cs Lu Cv) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate);
            (Space: Const Local Param ParamEntry ParamFunc Shared SharedCta SharedCluster) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate | L2Eviction: EvictNormal EvictFirst EvictLast | PrefetchSize: L2x64 L2x128 L2x256 | Flag: CacheHint);
            (Space: Const Local Param ParamEntry ParamFunc Shared SharedCta SharedCluster) (Vector: V4) excludes(Type: B64 U64 S64 F64);
            (Vector: V8) needs(Type: B32 U32 S32 F32);
            (Vector: V2 V4) excludes(Type: B128);
            (L2Eviction: EvictNormal EvictFirst EvictLast) one_of([(Vector: V8) (Type: B32 U32 S32 F32)] [(Vector: V4) (Type: B64 U64 S64 F64)]);
            (Flag: Mmio) since(8, 2);
            (Scope: Cluster) since(7, 8);
            (Scope: Cluster) from(90);
            (Space: SharedCta SharedCluster) since(7, 8);
            (Space: SharedCluster) from(90);
            (Space: ParamEntry ParamFunc) since(8, 3);
            (L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate) since(7, 4);
            (L2Eviction: EvictNormal EvictFirst EvictLast) since(8, 8);
            (L2Eviction: EvictNormal EvictFirst EvictLast) from(100);
            (Flag: CacheHint) since(7, 4);
            (Flag: CacheHint) from(80);
            (Vector: V8) since(8, 8);
            (Vector: V8) from(100);
            (Vector: V4) (Type: B64 U64 S64 F64) since(8, 8);
            (Vector: V4) (Type: B64 U64 S64 F64) from(100);
            (Type: B128) since(8, 3);
            (PrefetchSize: L2x64 L2x128 L2x256) since(7, 4);
            (PrefetchSize: L2x256) from(80);
        ]}
    LdGlobalNc "ld" [
            (Space: Global) {CacheOperator: Ca Cg Cs} (Flag: Nc)
            {L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate}
            {L2Eviction: EvictNormal EvictFirst EvictLast} {Flag: CacheHint}
            {PrefetchSize: L2x64 L2x128 L2x256} {Vector: V2 V4 V8}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (d(T1).form(Form::Vector).wider(), address("a", Access::Read), cache_policy())
        {title: Some("ld.global.nc"), computes: Computation::Load, lanes: Lanes::Memory,
         constraints: constraints![
            (CacheOperator: Ca Cg Cs) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate);
            (Vector: V8) needs(Type: B32 U32 S32 F32);
            (Vector: V2 V4) excludes(Type: B128);
            (L2Eviction: EvictNormal EvictFirst EvictLast) one_of([(Vector: V8) (Type: B32 U32 S32 F32)] [(Vector: V4) (Type: B64 U64 S64 F64)]);
            (L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate) since(7, 4);
            (L2Eviction: EvictNormal EvictFirst EvictLast) since(8, 8);
            (L2Eviction: EvictNormal EvictFirst EvictLast) from(100);
            (Flag: CacheHint) since(7, 4);
            (Flag: CacheHint) from(80);
            (Vector: V8) since(8, 8);
            (Vector: V8) from(100);
            (Vector: V4) (Type: B64 U64 S64 F64) since(8, 8);
            (Vector: V4) (Type: B64 U64 S64 F64) from(100);
            (Type: B128) since(8, 3);
            (PrefetchSize: L2x64 L2x128 L2x256) since(7, 4);
            (PrefetchSize: L2x256) from(80);
        ]}
    LdReadonly "ld" [
            {Space: Global} {Flag: Nc} (Flag: ProxyReadonly) {Vector: V2 V4 V8}
            (Type: B8 B16 B32 B64 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (d(T1).form(Form::Vector).wider(), address("a", Access::Read))
        {title: Some("ld.proxy::readonly"), computes: Computation::Load, lanes: Lanes::Memory,
         constraints: constraints![
            (Flag: Nc) needs(Space: Global);
            (Vector: V8) needs(Type: B32 U32 S32 F32);
            since(9, 4);
            from(90);
            (Vector: V8) from(100);
            (Vector: V4) (Type: B64 U64 S64 F64) from(100);
        ]}
    Ldu "ldu" [
            {Space: Global} {Vector: V2 V4}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (d(T1).form(Form::Vector).wider(), address("a", Access::Read))
        {computes: Computation::Load, lanes: Lanes::Memory,
         constraints: constraints![
            (Type: B128) since(8, 3);
        ]}
    St "st" [
            {Semantics: Weak Volatile Relaxed Release} {Flag: Mmio} {Scope: Cta Cluster Gpu Sys}
            {Space: Global Local Param ParamFunc Shared SharedCta SharedCluster} {CacheOperator: Wb Cg Cs Wt}
            {L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate}
            {L2Eviction: EvictNormal EvictFirst EvictLast} {Flag: CacheHint} {Vector: V2 V4 V8}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1).form(Form::Vector).wider().sinks(), cache_policy()) {constraints: constraints![
            (Space: Local Param ParamFunc Shared SharedCta SharedCluster) (Vector: V8) excludes(Type: B32 U32 S32 F32);
            (Semantics: Relaxed Release) needs(Scope: Cta Cluster Gpu Sys);
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed Release);
            (Flag: Mmio) needs(Scope: Sys);
            (Flag: Mmio) excludes(Space: Local Param ParamFunc Shared SharedCta SharedCluster);
            (Semantics: Relaxed Release) excludes(Space: Local Param ParamFunc);
            (Semantics: Volatile) excludes(Space: Param ParamFunc);
            (Semantics: Volatile) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate | Flag: CacheHint);
            (Semantics: Volatile Relaxed Release) excludes(CacheOperator: Wb Cg Cs Wt);
            (CacheOperator: Wb Cg Cs Wt) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate);
            (Space: Local Param ParamFunc Shared SharedCta SharedCluster) excludes(L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate | L2Eviction: EvictNormal EvictFirst EvictLast | Flag: CacheHint);
            (Space: Local Param ParamFunc Shared SharedCta SharedCluster) (Vector: V4) excludes(Type: B64 U64 S64 F64);
            (Vector: V8) excludes(Type: B64 B128 U64 S64 F64);
            (Vector: V2 V4) excludes(Type: B128);
            (L2Eviction: EvictNormal EvictFirst EvictLast) one_of([(Vector: V8) (Type: B32 U32 S32 F32)] [(Vector: V4) (Type: B64 U64 S64 F64)]);
            (Flag: Mmio) since(8, 2);
            (Scope: Cluster) since(7, 8);
            (Scope: Cluster) from(90);
            (Space: SharedCta SharedCluster) since(7, 8);
            (Space: SharedCluster) from(90);
            (Space: ParamFunc) since(8, 3);
            (L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate) since(7, 4);
            (L2Eviction: EvictNormal EvictFirst EvictLast) since(8, 8);
            (L2Eviction: EvictNormal EvictFirst EvictLast) from(100);
            (Flag: CacheHint) since(7, 4);
            (Flag: CacheHint) from(80);
            (Vector: V8) (Type: B32 U32 S32 F32) since(8, 8);
            (Vector: V8) (Type: B32 U32 S32 F32) from(100);
            (Vector: V4) (Type: B64 U64 S64 F64) since(8, 8);
            (Vector: V4) (Type: B64 U64 S64 F64) from(100);
            (Type: B128) since(8, 3);
        ]}
    StAsync "st.async" [
            {Semantics: Weak} {Scope: Cluster} {Space: SharedCluster} (Completion: MbarrierBytes) {Vector: V2 V4}
            (Type: B32 B64 B128 U32 U64 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1).form(Form::Vector), address("mbar", Access::ReadWrite))
        {synchronization: Synchronization::AsyncStore,
         constraints: constraints![
            (Semantics: Weak) excludes(Scope: Cluster);
            since(8, 1);
            (Type: B128) since(9, 2);
            from(90);
        ]}
    StAsyncRelease "st.async" [
            {Flag: Mmio} (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (Type: B8 B16 B32 B64 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1)) {synchronization: Synchronization::AsyncStore,
         constraints: constraints![
            (Flag: Mmio) excludes(Scope: Gpu);
            since(8, 7);
            from(100);
        ]}
    StBulk "st.bulk" [{Semantics: Weak} {Space: SharedCta}]
        // The assembler takes a size of 32 bits as well as one of 64.
        (address("a", Access::Write).space(SpaceRule::Fixed(Space::Shared)), src("size", TypeRule::Any).multiples(8, 0, i64::MAX),
         immediate("initval", B64).these(&[0])) {constraints: constraints![
            since(8, 6);
            from(100);
        ]}
    MultimemLdReduce "multimem.ld_reduce" [
            {Semantics: Weak Relaxed Acquire} {Scope: Cta Cluster Gpu Sys} {Space: Global}
            (ReductionOperator: Min Max Add And Or Xor) {Accumulator: F16 F32} {Vector: V2 V4 V8}
            (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64
                E5m2 E5m2x2 E5m2x4 E4m3 E4m3x2 E4m3x4)
        ]
        (d(T1).form(Form::Vector), address("a", Access::Read)) {lanes: Lanes::Memory,
         constraints: constraints![
            (Accumulator: F16 F32) excludes(ReductionOperator: Min Max And Or Xor);
            (ReductionOperator: And Or Xor) excludes(Type: U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64 E5m2x2 E5m2x4 E4m3x2 E4m3x4);
            (Vector: V8) excludes(Type: B32 B64 U32 U64 S32 S64 F16x2 Bf16x2 F32 F64 E5m2x4 E4m3x4);
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed Acquire);
            (Semantics: Relaxed Acquire) needs(Scope: Cta Cluster Gpu Sys);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            (Accumulator: F16) excludes(Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64);
            (ReductionOperator: Min Max) excludes(Type: B32 B64 F32 F64);
            (Accumulator: F32) excludes(Type: B32 B64 U32 U64 S32 S64 F32 F64 E5m2x2 E5m2x4 E4m3x2 E4m3x4);
            (Type: F16 Bf16 E5m2x2 E4m3x2) needs(Vector: V2 V4 V8);
            (Type: F64) excludes(Vector: V2 V4 V8);
            since(8, 1);
            (Accumulator: F16) since(8, 6);
            (Accumulator: F32) since(8, 2);
            (Type: E5m2x2 E5m2x4 E4m3x2 E4m3x4) since(8, 6);
            from(90);
            (Accumulator: F16) on(BLACKWELL_BUT_CONSUMER_FAMILIES);
            (Type: E5m2x2 E5m2x4 E4m3x2 E4m3x4) on(BLACKWELL_BUT_CONSUMER_FAMILIES);
            (Type: E5m2 E4m3) since(8, 6);
            (Type: E5m2 E4m3) on(BLACKWELL_BUT_CONSUMER_FAMILIES);
        ]}
    MultimemSt "multimem.st" [
            {Semantics: Weak Relaxed Release} {Scope: Cta Cluster Gpu Sys} {Space: Global} {Vector: V2 V4 V8}
            (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64
                E5m2 E5m2x2 E5m2x4 E4m3 E4m3x2 E4m3x4)
        ]
        (address("a", Access::Write), b(T1).form(Form::Vector)) {constraints: constraints![
            (Semantics: Weak) excludes(Scope: Cta Cluster Gpu Sys);
            (Vector: V8) excludes(Type: B32 B64 U32 U64 S32 S64 F16x2 Bf16x2 F32 F64 E5m2x4 E4m3x4);
            (Semantics: Relaxed Release) needs(Scope: Cta Cluster Gpu Sys);
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed Release);
            (Type: F64) excludes(Vector: V2 V4 V8);
            (Type: F16 Bf16 E5m2x2 E4m3x2) needs(Vector: V2 V4 V8);
            since(8, 1);
            (Type: E5m2x2 E5m2x4 E4m3x2 E4m3x4) since(8, 6);
            from(90);
            (Type: E5m2x2 E5m2x4 E4m3x2 E4m3x4) on(BLACKWELL_BUT_CONSUMER_FAMILIES);
        ]}
    MultimemRed "multimem.red" [
            {Semantics: Relaxed Release} {Scope: Cta Cluster Gpu Sys} {Space: Global}
            (ReductionOperator: Min Max Add And Or Xor) {Vector: V2 V4 V8}
            (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64)
        ]
        (address("a", Access::ReadWrite), b(T1).form(Form::Vector)) {constraints: constraints![
            (Scope: Cta Cluster Gpu Sys) needs(Semantics: Relaxed Release);
            (Semantics: Relaxed Release) needs(Scope: Cta Cluster Gpu Sys);
            (Type: F16 Bf16) needs(Vector: V2 V4 V8);
            (ReductionOperator: And Or Xor) needs(Type: B32 B64);
            (ReductionOperator: Min Max) excludes(Type: B32 B64 F32 F64);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            (Vector: V2 V4 V8) excludes(Type: B32 B64 U32 U64 S32 S64 F64);
            (Vector: V8) excludes(Type: F16x2 Bf16x2 F32);
            since(8, 1);
            from(90);
        ]}
    MultimemStAsync "multimem.st.async" [
            (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (Type: B8 B16 B32 B64 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1).wider()) {synchronization: Synchronization::AsyncStore,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    MultimemRedAsync "multimem.red.async" [
            (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (ReductionOperator: Add) (Type: U32 S32 U64)
        ]
        (address("a", Access::ReadWrite), b(T1)) {synchronization: Synchronization::AsyncStore,
         constraints: constraints![
            since(9, 3);
            from(100);
        ]}
    Prefetch "prefetch" [{Space: Global Local} (CacheLevel: L1 L2)] (address("a", Access::None)) {}
    PrefetchEviction "prefetch" [(Space: Global) (L2Eviction: EvictLast EvictNormal)]
        (address("a", Access::None)) {constraints: constraints![
            since(7, 4);
            from(80);
        ]}
    PrefetchValid "prefetch" [(Space: Global) (PrefetchSize: L1x32) (Flag: ValidAddr)] (address("a", Access::None))
        {constraints: constraints![
            since(9, 4);
            from(90);
        ]}
    PrefetchTensormap "prefetch" [{Space: Const Param} (Flag: Tensormap)] (address("a", Access::None)) {constraints: constraints![
            since(8, 0);
            from(90);
        ]}
    Prefetchu "prefetchu" [(CacheLevel: L1)] (address("a", Access::None)) {}
    Applypriority "applypriority" [{Space: Global} (L2Eviction: EvictNormal)]
        (address("a", Access::None), immediate("size", B32).these(&[128])) {constraints: constraints![
            since(7, 4);
            from(80);
        ]}
    Discard "discard" [{Space: Global} (CacheLevel: L2)]
        (address("a", Access::Write), immediate("size", B32).these(&[128])) {constraints: constraints![
            since(7, 4);
            from(80);
        ]}
    CreatepolicyRange "createpolicy.range" [
            {Space: Global} (L2Eviction: EvictLast EvictNormal EvictFirst EvictUnchanged)
            {L2Eviction: EvictFirst EvictUnchanged} (Type: B64)
        ]
        (dst("cache-policy", B64), address("a", Access::None), src("primary-size", B32), src("total-size", B32))
        {constraints: constraints![
            since(7, 4);
            from(80);
        ]}
    CreatepolicyFractional "createpolicy.fractional" [
            (L2Eviction: EvictLast EvictNormal EvictFirst EvictUnchanged)
            {L2Eviction: EvictFirst EvictUnchanged} (Type: B64)
        ]
        (dst("cache-policy", B64), src("fraction", TypeRule::Fixed(Type::F32)).optional()) {constraints: constraints![
            since(7, 4);
            from(80);
        ]}
    CreatepolicyCvt "createpolicy.cvt" [(CacheLevel: L2) (Type: B64)]
        (dst("cache-policy", B64), src("access-property", B64)) {constraints: constraints![
            since(7, 4);
            from(80);
        ]}
    Isspacep "isspacep" [(Space: Const Global Local Shared SharedCta SharedCluster Param ParamEntry)]
        (dst("p", PRED), a(TypeRule::Pointer)) {constraints: constraints![
            (Space: SharedCta SharedCluster) since(7, 8);
            (Space: Param) since(7, 7);
            (Space: ParamEntry) since(8, 3);
            (Space: SharedCluster) from(90);
        ]}
    Cvta "cvta" [
            {Flag: To} (Space: Const Global Local Shared SharedCta SharedCluster Param ParamEntry)
            (Type: U32 U64)
        ]
        (dst("p", T1), a(T1).names()) {computes: Computation::ConvertAddress,
         constraints: constraints![
            leads(Flag: To);
            (Space: SharedCta SharedCluster) since(7, 8);
            (Space: Param) since(7, 7);
            (Space: ParamEntry) since(8, 3);
            (Space: SharedCluster) from(90);
        ]}
    Cvt "cvt" [
            {Rounding: Rn Rz Rm Rp Rna Rni Rzi Rmi Rpi} {Flag: Ftz} {Flag: Sat}
            {Flag: Relu} {Flag: Satfinite} {Flag: Pzo}
            (Type: U8 U16 U32 U64 S8 S16 S32 S64 F16 Bf16 F32 F64 Tf32)
            (Type: U8 U16 U32 U64 S8 S16 S32 S64 F16 Bf16 F32 F64)
        ]
        (d(T1).wider(), a(T2).wider().specials()) {computes: Computation::Convert,
         constraints: constraints![
            one_of([(Type[0]: U8 U16 U32 U64 S8 S16 S32 S64) (Type[1]: U8 U16 U32 U64 S8 S16 S32 S64) (no Rounding: Rn Rz Rm Rp Rna Rni Rzi Rmi Rpi)] [(Type[0]: U8 U16 U32 U64 S8 S16 S32 S64) (Type[1]: F16 Bf16 F32 F64) (Rounding: Rni Rzi Rmi Rpi)] [(Type[0]: F16 Bf16 F32 F64) (Type[1]: U8 U16 U32 U64 S8 S16 S32 S64) (Rounding: Rn Rz Rm Rp)] [(Type[0]: F32) (Type[1]: F16) (no Rounding: Rn Rz Rm Rp Rna Rni Rzi Rmi Rpi)] [(Type[0]: F64) (Type[1]: F16 F32) (no Rounding: Rn Rz Rm Rp Rna Rni Rzi Rmi Rpi)] [(Type[0]: F16) (Type[1]: F16) (no Rounding: Rn Rz Rm Rp)] [(Type[0]: Bf16) (Type[1]: Bf16) (no Rounding: Rn Rz Rm Rp)] [(Type[0]: F32) (Type[1]: F32) (no Rounding: Rn Rz Rm Rp)] [(Type[0]: F64) (Type[1]: F64) (no Rounding: Rn Rz Rm Rp)] [(Type[0]: Bf16) (Type[1]: F16) (no Rounding: Rni Rzi Rmi Rpi)] [(Type[0]: F16 F32 F64) (Type[1]: Bf16) (no Rounding: Rni Rzi Rmi Rpi)] [(Type[0]: F16 Bf16) (Type[1]: F32 F64) (Rounding: Rn Rz Rm Rp)] [(Type[0]: F32) (Type[1]: F64) (Rounding: Rn Rz Rm Rp)] [(Type[0]: Tf32) (Type[1]: F32) (Rounding: Rn Rz Rna)]);
            (Rounding: Rna) needs(Type[0]: Tf32);
            (Flag: Relu Satfinite Pzo) needs(Type[0]: F16 Bf16 Tf32);
            (Flag: Relu Satfinite Pzo) needs(Type[1]: F32);
            (Flag: Relu) needs(Rounding: Rn Rz);
            (Flag: Satfinite) needs(Rounding: Rn Rz Rna);
            (Flag: Sat) excludes(Type: Bf16 Tf32);
            (Flag: Ftz) (Type[0]: U8 U16 U32 U64 S8 S16 S32 S64) needs(Type[1]: F32);
            (Flag: Ftz) (Type[0]: F16 Bf16) needs(Type[1]: F32);
            (Flag: Ftz) (Type[0]: F64) needs(Type[1]: F32);
            (Flag: Ftz) excludes(Type[0]: Tf32);
            (Type: Bf16) since(7, 0);
            (Type: Bf16) from(80);
            (Type: Tf32) since(7, 0);
            (Type: Tf32) from(80);
            (Flag: Relu) since(7, 0);
            (Flag: Relu) from(80);
            (Flag: Satfinite) since(8, 1);
            (Flag: Pzo) since(9, 4);
            (Flag: Pzo) on(RUBIN);
            (Type[0]: Bf16) (Type[1]: U8 U16 U32 U64 S8 S16 S32 S64 F16 F64 Bf16) since(7, 8);
            (Type[0]: Bf16) (Type[1]: U8 U16 U32 U64 S8 S16 S32 S64 F16 F64 Bf16) from(90);
            (Type[0]: U8 U16 U32 U64 S8 S16 S32 S64 F16 F64) (Type[1]: Bf16) since(7, 8);
            (Type[0]: U8 U16 U32 U64 S8 S16 S32 S64 F16 F64) (Type[1]: Bf16) from(90);
            (Type[0]: F32) (Type[1]: Bf16) since(7, 1);
            (Flag: Ftz) (Type[1]: Bf16) since(7, 8);
            (Flag: Ftz) (Type[1]: Bf16) from(90);
            (Type: Tf32) (Rounding: Rn Rz) since(7, 8);
            (Type: Tf32) (Rounding: Rn Rz) from(90);
            (Type: Tf32) (Rounding: Rn Rz) (Flag: Satfinite) since(8, 6);
            (Type: Tf32) (Rounding: Rn Rz) (Flag: Satfinite) from(100);
        ]}
    CvtPair "cvt" [
            (Rounding: Rn Rz Rp) {Flag: Relu} {Flag: Satfinite} {Flag: Pzo} {Scaled: N1 N2}
            (Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2) (Type: F32)
        ]
        (d(T1).wider(), a(T2).wider(), b(T2).wider(), SCALE_1, SCALE_2) {title: Some("cvt"),
         constraints: constraints![
            (Scaled: N2) excludes(Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2);
            (Rounding: Rp) excludes(Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 S2f6x2);
            (Flag: Pzo) excludes(Type: Ue8m0x2 Ue5m3x2 S2f6x2);
            (Scaled: N1) excludes(Type: F16x2 Bf16x2 Ue8m0x2 S2f6x2);
            (Flag: Relu) excludes(Type: Ue8m0x2 Ue5m3x2);
            (Type: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 S2f6x2) needs(Flag: Satfinite);
            (Rounding: Rn) excludes(Type: Ue8m0x2);
            (Scaled: N1) excludes(Rounding: Rp);
            since(7, 0);
            (Rounding: Rp) since(8, 6);
            (Flag: Satfinite) since(7, 8);
            (Flag: Pzo) since(9, 4);
            (Scaled: N1) since(9, 4);
            (Scaled: N2) since(9, 1);
            (Type: Ue5m3x2) since(9, 4);
            (Type: E4m3x2 E5m2x2) since(7, 8);
            (Type: E2m1x2 E2m3x2 E3m2x2 Ue8m0x2) since(8, 6);
            (Type: S2f6x2) since(9, 1);
            (Rounding: Rz) (Flag: Satfinite) since(8, 1);
            (Rounding: Rz) (Scaled: N2) since(9, 4);
            (Rounding: Rz) (Type: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 S2f6x2) since(9, 4);
            (Flag: Satfinite) (Type: F16x2 Bf16x2) since(8, 1);
            (Flag: Relu) from(80);
            (Type: F16x2 Bf16x2) from(80);
            (Type: E4m3x2 E5m2x2) from(89);
            (Rounding: Rp) on(BLACKWELL);
            (Flag: Pzo) on(RUBIN);
            (Scaled: N2) on(ARCHITECTURES);
            (Type: E2m1x2 E2m3x2 E3m2x2 Ue8m0x2) on(BLACKWELL);
            (Type: Ue5m3x2) on(RUBIN);
            (Type: S2f6x2) on(ARCHITECTURES);
            (Rounding: Rz) (Scaled: N1) on(RUBIN);
            (Rounding: Rz) (Scaled: N2) on(A_107);
            (Rounding: Rz) (Type: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2) on(RUBIN);
            (Rounding: Rz) (Type: S2f6x2) on(A_107);
            (Scaled: N1) (Type: E4m3x2 E2m1x2 E2m3x2 E3m2x2) on(RUBIN);
        ]}
    CvtPacked "cvt" [
            (Rounding: Rn Rz Rp) {Flag: Relu} {Flag: Satfinite} {Flag: Pzo} {Scaled: N1 N2}
            (Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2)
            (Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2)
        ]
        (d(T1), a(T2), SCALE_1, SCALE_2) {title: Some("cvt"),
         constraints: constraints![
            (Flag: Pzo) excludes(Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2);
            (Rounding: Rp) excludes(Type[0]: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 S2f6x2);
            (Rounding: Rz) excludes(Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2);
            (Scaled: N2) excludes(Type[0]: F16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2);
            (Scaled: N1) excludes(Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2);
            (Flag: Pzo) excludes(Type[0]: F16x2 Bf16x2 Ue8m0x2 Ue5m3x2 S2f6x2);
            (Flag: Relu) excludes(Type[0]: Ue8m0x2 Ue5m3x2);
            (Type[0]: Ue8m0x2 S2f6x2) excludes(Type[1]: F16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2);
            (Flag: Pzo) needs(Flag: Satfinite);
            (Type[1]: F16x2) excludes(Type[0]: F16x2 Bf16x2 Ue8m0x2 S2f6x2);
            (Type[1]: Bf16x2) excludes(Type[0]: F16x2 Bf16x2);
            (Flag: Relu) excludes(Type[1]: Ue8m0x2 Ue5m3x2);
            (Type[0]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue5m3x2) excludes(Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2);
            (Type[0]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 S2f6x2) needs(Flag: Satfinite);
            (Flag: Satfinite) excludes(Type[0]: F16x2);
            (Scaled: N1) excludes(Type[0]: F16x2 Bf16x2 Ue8m0x2 S2f6x2);
            (Scaled: N1) excludes(Rounding: Rp);
            (Type[0]: F16x2) excludes(Type[1]: F16x2 Bf16x2 Ue8m0x2 S2f6x2);
            (Flag: Satfinite) excludes(Type[1]: Ue8m0x2);
            (Rounding: Rn) excludes(Type[0]: Ue8m0x2);
            (Scaled: N2) excludes(Type[1]: F16x2 Ue8m0x2);
            since(7, 8);
            (Rounding: Rz Rp) since(8, 6);
            (Flag: Pzo) since(9, 4);
            (Scaled: N2) since(9, 1);
            (Scaled: N1) since(9, 4);
            (Type[0]: Bf16x2 Ue8m0x2) since(8, 6);
            (Type[0]: Ue5m3x2) since(9, 4);
            (Type[0]: E2m1x2 E2m3x2 E3m2x2 S2f6x2) since(9, 1);
            (Type[1]: Bf16x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2) since(8, 6);
            (Type[1]: Ue5m3x2) since(9, 4);
            (Type[1]: S2f6x2) since(9, 1);
            (Rounding: Rz) (Flag: Relu) since(9, 4);
            (Rounding: Rz) (Scaled: N2) since(9, 4);
            (Rounding: Rz) (Type[0]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 S2f6x2) since(9, 4);
            (Rounding: Rn) (Type[1]: Bf16x2) since(9, 1);
            (Rounding: Rz) (Type[1]: F16x2) since(9, 4);
            (Flag: Relu) (Type[0]: Bf16x2) since(9, 1);
            (Flag: Relu) (Type[1]: Bf16x2) since(9, 1);
            (Flag: Satfinite) (Type[0]: Bf16x2) since(9, 1);
            (Flag: Satfinite) (Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2) since(9, 2);
            (Scaled: N2) (Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2) since(9, 2);
            (Type[0]: Bf16x2) (Type[1]: E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2) since(9, 2);
            (Type[0]: E4m3x2) (Type[1]: Bf16x2) since(9, 1);
            (Type[0]: E5m2x2) (Type[1]: Bf16x2) since(9, 1);
            (Flag: Relu) from(80);
            (Scaled: N2) from(80);
            (Type[0]: Bf16x2 E4m3x2 E5m2x2 Ue8m0x2 S2f6x2) from(80);
            (Type[1]: E4m3x2 E5m2x2) from(89);
            (Type[1]: Bf16x2 Ue8m0x2 S2f6x2) from(80);
            (Type[0]: E4m3x2) (Type[1]: F16x2) from(89);
            (Type[0]: E5m2x2) (Type[1]: F16x2) from(89);
            (Rounding: Rz) on(BLACKWELL);
            (Rounding: Rp) on(BLACKWELL);
            (Flag: Pzo) on(RUBIN);
            (Type[0]: Bf16x2 Ue8m0x2) on(BLACKWELL);
            (Type[0]: Ue5m3x2) on(RUBIN);
            (Type[0]: S2f6x2) on(ARCHITECTURES);
            (Type[1]: Bf16x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2) on(BLACKWELL);
            (Type[1]: S2f6x2) on(ARCHITECTURES);
            (Rounding: Rz) (Flag: Relu) on(RUBIN);
            (Rounding: Rz) (Scaled: N1) on(RUBIN);
            (Rounding: Rz) (Type[0]: E4m3x2 E5m2x2) on(RUBIN);
            (Rounding: Rz) (Type[0]: S2f6x2) on(A_107);
            (Rounding: Rz) (Type[1]: F16x2) on(RUBIN);
            (Scaled: N1) (Type[0]: E4m3x2) on(RUBIN);
            (Scaled: N1) (Type[1]: Bf16x2) on(RUBIN);
            (Type[0]: E2m1x2 E2m3x2 E3m2x2) on(BLACKWELL);
        ]}
    CvtStochastic "cvt" [
            (Rounding: Rs) {Flag: Relu} {Flag: Satfinite} (Type: F16x2 Bf16x2) (Type: F32)
        ]
        (d(T1).wider(), a(T2).wider(), b(T2).wider(), src("rbits", B32).form(Form::Register)) {title: Some("cvt"),
         constraints: constraints![
            since(8, 7);
            on(A_100_103_107);
        ]}
    CvtStochastic4 "cvt" [
            (Rounding: Rs) {Flag: Relu} (Flag: Satfinite) (Type: E4m3x4 E5m2x4 E2m3x4 E3m2x4 E2m1x4) (Type: F32)
        ]
        (d(T1), a(T2).form(Form::Elements(4)), src("rbits", B32).form(Form::Register)) {title: Some("cvt"),
         constraints: constraints![
            since(8, 7);
            on(A_100_103_107);
        ]}
    CvtPack "cvt.pack" [(Flag: Sat) (Type: U16 S16) (Type: S32)] (d(U32).wider(), a(T2).wider(), b(T2).wider()) {constraints: constraints![
            since(6, 5);
        ]}
    CvtPackMerge "cvt.pack" [(Flag: Sat) (Type: U8 S8 U4 S4 U2 S2) (Type: S32) (Type: B32)]
        (d(U32).wider(), a(T2).wider(), b(T2).wider(), c(T3).wider()) {constraints: constraints![
            since(6, 5);
        ]}
    Mapa "mapa" [{Space: SharedCluster} (Type: U32 U64)] (d(T1), a(T1).names(), b(B32)) {constraints: constraints![
            since(7, 8);
            from(90);
        ]}
    Getctarank "getctarank" [{Space: SharedCluster} (Type: U32 U64)] (d(B32), a(T1).names()) {constraints: constraints![
            since(7, 8);
            from(90);
        ]}
    Spcompress "spcompress" [
            (Type: B8 B16) (Type: B2 B4) (SparsityFactor: S2of4) (Count: X1 X2 X4 X8 X16 X32 X64)
        ]
        (dst("mdata", TypeRule::Fragment).form(Form::Fragment),
         dst("cdata", TypeRule::Fragment).form(Form::Fragment),
         src("data", TypeRule::Fragment).form(Form::Fragment), src("spdesc", TypeRule::Fragment)) {constraints: constraints![
            since(9, 4);
            on(A_107);
        ]}
    Spdecompress "spdecompress" [
            (Type: B8 B16) (Type: B2 B4)
            (SparsityFactor: S1of2 S1of4 S1of8 S1of16 S2of4 S2of8 S2of16 S4of8 S4of16)
            (Count: X1 X2 X4 X8 X16 X32 X64)
        ]
        (dst("data", TypeRule::Fragment).form(Form::Fragment),
         src("mdata", TypeRule::Fragment).form(Form::Fragment),
         src("cdata", TypeRule::Fragment).form(Form::Fragment)) {constraints: constraints![
            since(9, 4);
            on(A_107);
        ]}
}
