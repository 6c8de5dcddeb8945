//! Data movement and conversion, but for what is copied asynchronously.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const SCALE_1: OperandSlot = src("scale-factor", B8).optional_when(&[Modifier::Scaled(Scaled::N1)]);
const SCALE_2: OperandSlot = src("scale-factor", B16).optional_when(&[Modifier::Scaled(Scaled::N2)]);

rows! { "Data Movement and Conversion Instructions";
    Mov "mov" [(Type: Pred B16 B32 B64 B128 U16 U32 U64 S16 S32 S64 F32 F64)]
        (d(T1).form(Form::Packed), a(T1).form(Form::Packed).specials().names()) {computes: Computation::Move}
    MovVector "mov" [(Vector: V2 V4) (Type: B32 U32 S32 F32)]
        (d(T1).form(Form::Vector), a(T1).form(Form::Packed).specials()) {title: Some("mov")}
    Shfl "shfl" [(ShuffleMode: Up Down Bfly Idx) (Type: B32)]
        (d(T1).pair(Pair::Optional), a(T1), b(ANY32), c(ANY32))
        {computes: Computation::Shuffle, lanes: Lanes::Exchanged}
    ShflSync "shfl" [(Flag: Sync) (ShuffleMode: Up Down Bfly Idx) (Type: B32)]
        (d(T1).pair(Pair::Optional), a(T1), b(ANY32), c(ANY32), src("membermask", B32))
        {title: Some("shfl.sync"), computes: Computation::Shuffle, lanes: Lanes::Exchanged,
         synchronization: Synchronization::WarpCollective}
    Prmt "prmt" [(Type: B32)] (d(T1), a(T1), b(T1), c(B32)) {computes: Computation::Bits(Bits::Permute)}
    PrmtMode "prmt" [(Type: B32) (PermuteMode: F4e B4e Rc8 Ecl Ecr Rc16)] (d(T1), a(T1), b(T1), c(B32)) {}
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
        {computes: Computation::Load, lanes: Lanes::Memory}
    LdGlobalNc "ld" [
            (Space: Global) {CacheOperator: Ca Cg Cs} (Flag: Nc)
            {L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate}
            {L2Eviction: EvictNormal EvictFirst EvictLast} {Flag: CacheHint}
            {PrefetchSize: L2x64 L2x128 L2x256} {Vector: V2 V4 V8}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (d(T1).form(Form::Vector).wider(), address("a", Access::Read), cache_policy())
        {title: Some("ld.global.nc"), computes: Computation::Load, lanes: Lanes::Memory}
    Ldu "ldu" [
            {Space: Global} {Vector: V2 V4}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (d(T1).form(Form::Vector).wider(), address("a", Access::Read))
        {computes: Computation::Load, lanes: Lanes::Memory}
    St "st" [
            {Semantics: Weak Volatile Relaxed Release} {Flag: Mmio} {Scope: Cta Cluster Gpu Sys}
            {Space: Global Local Param ParamFunc Shared SharedCta SharedCluster} {CacheOperator: Wb Cg Cs Wt}
            {L1Eviction: EvictNormal EvictUnchanged EvictFirst EvictLast NoAllocate}
            {L2Eviction: EvictNormal EvictFirst EvictLast} {Flag: CacheHint} {Vector: V2 V4 V8}
            (Type: B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1).form(Form::Vector).wider(), cache_policy()) {}
    StAsync "st.async" [
            {Semantics: Weak} {Scope: Cluster} {Space: SharedCluster} (Completion: MbarrierBytes) {Vector: V2 V4}
            (Type: B32 B64 B128 U32 U64 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1).form(Form::Vector), address("mbar", Access::ReadWrite))
        {synchronization: Synchronization::AsyncStore}
    StAsyncRelease "st.async" [
            {Flag: Mmio} (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (Type: B8 B16 B32 B64 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1)) {synchronization: Synchronization::AsyncStore}
    StBulk "st.bulk" [{Semantics: Weak} {Space: SharedCta}]
        // The assembler takes a size of 32 bits as well as one of 64.
        (address("a", Access::Write).space(SpaceRule::Fixed(Space::Shared)), src("size", TypeRule::Any),
         immediate("initval", B64)) {}
    MultimemLdReduce "multimem.ld_reduce" [
            {Semantics: Weak Relaxed Acquire} {Scope: Cta Cluster Gpu Sys} {Space: Global}
            (ReductionOperator: Min Max Add And Or Xor) {Accumulator: F16 F32} {Vector: V2 V4 V8}
            (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64
                E5m2 E5m2x2 E5m2x4 E4m3 E4m3x2 E4m3x4)
        ]
        (d(T1).form(Form::Vector), address("a", Access::Read)) {lanes: Lanes::Memory}
    MultimemSt "multimem.st" [
            {Semantics: Weak Relaxed Release} {Scope: Cta Cluster Gpu Sys} {Space: Global} {Vector: V2 V4 V8}
            (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64
                E5m2 E5m2x2 E5m2x4 E4m3 E4m3x2 E4m3x4)
        ]
        (address("a", Access::Write), b(T1).form(Form::Vector)) {}
    MultimemRed "multimem.red" [
            {Semantics: Relaxed Release} {Scope: Cta Cluster Gpu Sys} {Space: Global}
            (ReductionOperator: Min Max Add And Or Xor) {Vector: V2 V4 V8}
            (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64)
        ]
        (address("a", Access::ReadWrite), b(T1).form(Form::Vector)) {}
    MultimemStAsync "multimem.st.async" [
            (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (Type: B8 B16 B32 B64 U8 U16 U32 U64 S8 S16 S32 S64 F32 F64)
        ]
        (address("a", Access::Write), b(T1).wider()) {synchronization: Synchronization::AsyncStore}
    MultimemRedAsync "multimem.red.async" [
            (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (ReductionOperator: Add) (Type: U32 S32 U64)
        ]
        (address("a", Access::ReadWrite), b(T1)) {synchronization: Synchronization::AsyncStore}
    Prefetch "prefetch" [{Space: Global Local} (CacheLevel: L1 L2)] (address("a", Access::None)) {}
    PrefetchEviction "prefetch" [(Space: Global) (L2Eviction: EvictLast EvictNormal)]
        (address("a", Access::None)) {}
    PrefetchValid "prefetch" [(Space: Global) (PrefetchSize: L1x32) (Flag: ValidAddr)] (address("a", Access::None))
        {}
    PrefetchTensormap "prefetch" [{Space: Const Param} (Flag: Tensormap)] (address("a", Access::None)) {}
    Prefetchu "prefetchu" [(CacheLevel: L1)] (address("a", Access::None)) {}
    Applypriority "applypriority" [{Space: Global} (L2Eviction: EvictNormal)]
        (address("a", Access::None), immediate("size", B32)) {}
    Discard "discard" [{Space: Global} (CacheLevel: L2)]
        (address("a", Access::Write), immediate("size", B32)) {}
    CreatepolicyRange "createpolicy.range" [
            {Space: Global} (L2Eviction: EvictLast EvictNormal EvictFirst EvictUnchanged)
            {L2Eviction: EvictFirst EvictUnchanged} (Type: B64)
        ]
        (dst("cache-policy", B64), address("a", Access::None), src("primary-size", B32), src("total-size", B32))
        {}
    CreatepolicyFractional "createpolicy.fractional" [
            (L2Eviction: EvictLast EvictNormal EvictFirst EvictUnchanged)
            {L2Eviction: EvictFirst EvictUnchanged} (Type: B64)
        ]
        (dst("cache-policy", B64), src("fraction", TypeRule::Fixed(Type::F32)).optional()) {}
    CreatepolicyCvt "createpolicy.cvt" [(CacheLevel: L2) (Type: B64)]
        (dst("cache-policy", B64), src("access-property", B64)) {}
    Isspacep "isspacep" [(Space: Const Global Local Shared SharedCta SharedCluster Param ParamEntry)]
        (dst("p", PRED), a(TypeRule::Pointer)) {}
    Cvta "cvta" [
            {Flag: To} (Space: Const Global Local Shared SharedCta SharedCluster Param ParamEntry)
            (Type: U32 U64)
        ]
        (dst("p", T1), a(T1).names()) {computes: Computation::ConvertAddress}
    Cvt "cvt" [
            {Rounding: Rn Rz Rm Rp Rna Rni Rzi Rmi Rpi} {Flag: Ftz} {Flag: Sat}
            {Flag: Relu} {Flag: Satfinite} {Flag: Pzo}
            (Type: U8 U16 U32 U64 S8 S16 S32 S64 F16 Bf16 F32 F64 Tf32)
            (Type: U8 U16 U32 U64 S8 S16 S32 S64 F16 Bf16 F32 F64)
        ]
        (d(T1).wider(), a(T2).wider().specials()) {computes: Computation::Convert}
    CvtPair "cvt" [
            (Rounding: Rn Rz Rp) {Flag: Relu} {Flag: Satfinite} {Flag: Pzo} {Scaled: N1 N2}
            (Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2) (Type: F32)
        ]
        (d(T1), a(T2), b(T2), SCALE_1, SCALE_2) {title: Some("cvt")}
    CvtPacked "cvt" [
            (Rounding: Rn Rz Rp) {Flag: Relu} {Flag: Satfinite} {Flag: Pzo} {Scaled: N1 N2}
            (Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2)
            (Type: F16x2 Bf16x2 E4m3x2 E5m2x2 E2m1x2 E2m3x2 E3m2x2 Ue8m0x2 Ue5m3x2 S2f6x2)
        ]
        (d(T1), a(T2), SCALE_1, SCALE_2) {title: Some("cvt")}
    CvtStochastic "cvt" [
            (Rounding: Rs) {Flag: Relu} {Flag: Satfinite} (Type: F16x2 Bf16x2) (Type: F32)
        ]
        (d(T1), a(T2), b(T2), src("rbits", B32)) {title: Some("cvt")}
    CvtStochastic4 "cvt" [
            (Rounding: Rs) {Flag: Relu} (Flag: Satfinite) (Type: E4m3x4 E5m2x4 E2m3x4 E3m2x4 E2m1x4) (Type: F32)
        ]
        (d(T1), a(T2).form(Form::Elements(4)), src("rbits", B32)) {title: Some("cvt")}
    CvtPack "cvt.pack" [(Flag: Sat) (Type: U16 S16) (Type: S32)] (d(U32).wider(), a(T2).wider(), b(T2).wider()) {}
    CvtPackMerge "cvt.pack" [(Flag: Sat) (Type: U8 S8 U4 S4 U2 S2) (Type: S32) (Type: B32)]
        (d(U32).wider(), a(T2).wider(), b(T2).wider(), c(T3).wider()) {}
    Mapa "mapa" [{Space: SharedCluster} (Type: U32 U64)] (d(T1), a(T1), b(B32)) {}
    Getctarank "getctarank" [{Space: SharedCluster} (Type: U32 U64)] (d(B32), a(T1)) {}
    Spcompress "spcompress" [
            (Type: B8 B16) (Type: B2 B4) (SparsityFactor: S2of4) (Count: X1 X2 X4 X8 X16 X32 X64)
        ]
        (dst("mdata", TypeRule::Fragment).form(Form::Fragment),
         dst("cdata", TypeRule::Fragment).form(Form::Fragment),
         src("data", TypeRule::Fragment).form(Form::Fragment), src("spdesc", B32)) {}
    Spdecompress "spdecompress" [
            (Type: B8 B16) (Type: B2 B4)
            (SparsityFactor: S1of2 S1of4 S1of8 S1of16 S2of4 S2of8 S2of16 S4of8 S4of16)
            (Count: X1 X2 X4 X8 X16 X32 X64)
        ]
        (dst("data", TypeRule::Fragment).form(Form::Fragment),
         src("mdata", TypeRule::Fragment).form(Form::Fragment),
         src("cdata", TypeRule::Fragment).form(Form::Fragment)) {}
}
