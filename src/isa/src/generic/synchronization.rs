//! Parallel synchronisation and communication.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const EXPECTS: &[Modifier] = &[Modifier::Flag(Flag::ExpectTx)];
const MASKED: &[Modifier] = &[Modifier::Multicast(Multicast::Mask32)];
const CAS: &[Modifier] = &[Modifier::ReductionOperator(ReductionOperator::Cas)];
const ACQUIRE: &[Modifier] =
    &[Modifier::Semantics(Semantics::Acquire), Modifier::Semantics(Semantics::AcqRel)];
const PARITY: &[Modifier] = &[Modifier::Flag(Flag::Parity)];
const FIRST_CTAID: &[Modifier] = &[Modifier::FirstCtaid(FirstCtaid::All)];

const fn mbarrier() -> OperandSlot {
    address("addr", Access::ReadWrite)
}

/// How large a tensor map is.
const MAP_SIZE: &[(&[Modifier], Numbers)] =
    &[(&[Modifier::Semantics(Semantics::Acquire)], Numbers::These(&[128])), (&[], Numbers::All)];

/// One of the 16 barriers of a CTA.
const fn barrier() -> OperandSlot {
    a(B32).from(0, 15)
}

const NO_COMPLETE: &[Modifier] = &[Modifier::Flag(Flag::NoComplete)];
const OF_CLUSTER: &[Modifier] = &[Modifier::Space(Space::SharedCluster)];
const STATE: OperandSlot = dst("state", B64).form(Form::Register).sinks().unless(OF_CLUSTER);
/// The state of an mbarrier of another CTA is not returned.
const NO_STATE: OperandSlot = dst("_", B64).form(Form::Sink).sinks().when(OF_CLUSTER);

rows! { "Parallel Synchronization and Communication Instructions";
    BarrierSync "barrier.sync" "barrier.cta.sync" "bar.sync" "bar.cta.sync" [{Flag: Aligned}]
        (barrier(), b(B32).multiples(32, 0, i64::MAX).optional()) {title: Some("bar, barrier"), synchronization: Synchronization::BarrierSync}
    BarrierArrive "barrier.arrive" "barrier.cta.arrive" "bar.arrive" "bar.cta.arrive" [{Flag: Aligned}]
        (barrier(), b(B32).multiples(32, 32, i64::MAX))
        {title: Some("bar, barrier"), synchronization: Synchronization::BarrierArrive}
    BarrierPopc "barrier.red" "barrier.cta.red" "bar.red" "bar.cta.red"
        [(ReductionOperator: Popc) {Flag: Aligned} (Type: U32)]
        (d(T1), barrier(), b(B32).multiples(32, 0, i64::MAX).optional(), predicate("c"))
        {title: Some("bar, barrier"), synchronization: Synchronization::BarrierSync, lanes: Lanes::Same}
    BarrierPredicate "barrier.red" "barrier.cta.red" "bar.red" "bar.cta.red"
        [(BooleanOperator: And Or) {Flag: Aligned} (Type: Pred)]
        (dst("p", T1), barrier(), b(B32).multiples(32, 0, i64::MAX).optional(), predicate("c"))
        {title: Some("bar, barrier"), synchronization: Synchronization::BarrierSync, lanes: Lanes::Same}
    BarWarpSync "bar.warp.sync" [] (src("membermask", B32))
        {synchronization: Synchronization::WarpBarrier}
    BarrierClusterArrive "barrier.cluster.arrive" [{Semantics: Release Relaxed} {Flag: Aligned}] ()
        {title: Some("barrier.cluster"), synchronization: Synchronization::ClusterArrive,
         constraints: constraints![
            since(7, 8);
            (Semantics: Release Relaxed) since(8, 0);
            from(90);
        ]}
    BarrierClusterWait "barrier.cluster.wait" [{Semantics: Acquire} {Flag: Aligned}] ()
        {title: Some("barrier.cluster"), synchronization: Synchronization::ClusterWait,
         constraints: constraints![
            since(7, 8);
            (Semantics: Acquire) since(8, 0);
            from(90);
        ]}
    Membar "membar" [(Scope: Cta Gl Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::Fence}
    MembarProxy "membar.proxy" [(ProxyKind: Alias Async)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            since(7, 5);
            (ProxyKind: Async) since(8, 0);
            (ProxyKind: Async) from(90);
        ]}
    Fence "fence" [{Semantics: Sc AcqRel Acquire Release} (Scope: Cta Cluster Gpu Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::Fence,
         constraints: constraints![
            (Semantics: Acquire Release) since(8, 6);
            (Scope: Cluster) since(7, 8);
            (Semantics: Acquire Release) from(90);
            (Scope: Cluster) from(90);
        ]}
    FenceRestricted "fence"
        [(Semantics: Acquire Release) (Restriction: SharedCta SharedCluster) (Scope: Cluster)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::Fence,
         constraints: constraints![
            (Semantics: Acquire) excludes(Restriction: SharedCta);
            (Semantics: Release) excludes(Restriction: SharedCluster);
            since(8, 6);
            from(90);
        ]}
    FenceMbarrierInit "fence.mbarrier_init" [(Semantics: Release) (Scope: Cluster)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::MbarrierInitFence,
         constraints: constraints![
            since(8, 0);
            from(90);
        ]}
    FenceAliasRead "fence.alias" [(Restriction: Read) (Semantics: Release) (Scope: Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            since(9, 5);
            from(90);
        ]}
    FenceProxy "fence.proxy" [(ProxyKind: Alias Async) {Space: Global SharedCta SharedCluster}] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            (ProxyKind: Alias) excludes(Space: Global SharedCta SharedCluster);
            since(7, 5);
            (ProxyKind: Async) since(8, 0);
            (Space: Global SharedCta SharedCluster) since(8, 0);
            (ProxyKind: Async) from(90);
            (Space: Global SharedCta SharedCluster) from(90);
        ]}
    FenceProxyAlias "fence.proxy"
        [{ProxyKind: FabricFabric FabricGeneric GenericFabric} (ProxyKind: Alias) (Semantics: Acquire Release)
            (Scope: Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            since(9, 3);
            (ProxyKind: FabricFabric FabricGeneric GenericFabric) from(100);
        ]}
    FenceProxyTensormap "fence.proxy"
        [(ProxyKind: TensormapGeneric) (Semantics: Acquire Release AcqRel) (Scope: Cta Cluster Gpu Sys)]
        (OperandSlot { ty: TypeRule::Any, ..address("addr", Access::None) }.when(ACQUIRE), immediate("size", B32).by_words(MAP_SIZE).when(ACQUIRE))
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            since(8, 3);
            (Scope: Cluster) from(90);
            from(90);
        ]}
    FenceProxyAsyncGeneric "fence.proxy"
        [(ProxyKind: AsyncGeneric) (Semantics: Acquire Release)
            (Restriction: SharedCta SharedCluster SharedClusterRead) (Scope: Cta Cluster)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence,
         constraints: constraints![
            (Semantics: Acquire) excludes(Restriction: SharedCta SharedClusterRead);
            (Scope: Cta) excludes(Restriction: SharedCta SharedCluster);
            (Semantics: Release) excludes(Restriction: SharedCluster);
            since(8, 6);
            (Restriction: SharedClusterRead) since(9, 4);
            (Scope: Cta) since(9, 4);
            from(90);
        ]}
    Atom "atom" [
            {Semantics: Relaxed Acquire Release AcqRel} {Scope: Cta Cluster Gpu Sys}
            {Space: Global Shared SharedCta SharedCluster}
            (ReductionOperator: And Or Xor Cas Exch Add Inc Dec Min Max) {Flag: Noftz} {Flag: CacheHint}
            {Vector: V2 V4 V8}
            (Type: B16 B32 B64 B128 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64)
        ]
        (d(T1).sinks().form(Form::Vector), address("a", Access::ReadWrite), b(T1).form(Form::Vector), c(T1).when(CAS),
         cache_policy())
        {lanes: Lanes::Differ,
         constraints: constraints![
            (Type: F16 F16x2 Bf16 Bf16x2) needs(Flag: Noftz);
            (ReductionOperator: And Or Xor) needs(Type: B32 B64);
            (ReductionOperator: Inc Dec) needs(Type: U32);
            (ReductionOperator: Min Max) needs(Type: U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            (ReductionOperator: Min Max) (Type: F16 F16x2 Bf16 Bf16x2) needs(Vector: V2 V4 V8);
            (Vector: V2 V4) needs(Type: F16 F16x2 Bf16 Bf16x2 F32);
            (Vector: V8) needs(Type: F16 Bf16);
            (Vector: V2 V4 V8) needs(ReductionOperator: Add Min Max);
            (Vector: V2 V4 V8) excludes(Space: Shared SharedCta SharedCluster);
            (Flag: Noftz) needs(Type: F16 F16x2 Bf16 Bf16x2 F32);
            (Flag: CacheHint) excludes(Space: Shared SharedCta SharedCluster);
            (ReductionOperator: Cas) needs(Type: B16 B32 B64 B128);
            (ReductionOperator: Exch) needs(Type: B32 B64 B128);
            (ReductionOperator: Add) excludes(Type: B16 B128);
            (ReductionOperator: Cas) excludes(Flag: CacheHint);
            (Scope: Cluster) since(7, 8);
            (Scope: Cluster) from(90);
            (Space: SharedCta SharedCluster) since(7, 8);
            (Space: SharedCluster) from(90);
            (Flag: CacheHint) since(7, 4);
            (Flag: CacheHint) from(80);
            (Vector: V2 V4 V8) since(8, 1);
            (Vector: V2 V4 V8) from(90);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
            (Flag: Noftz) (Type: F32) since(9, 4);
            (Flag: Noftz) (Type: F32) from(90);
            (Type: B128) since(8, 3);
            (Type: B128) from(90);
        ]}
    Red "red" [
            {Semantics: Relaxed Release} {Scope: Cta Cluster Gpu Sys}
            {Space: Global Shared SharedCta SharedCluster}
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) {Flag: Noftz} {Flag: CacheHint}
            {Vector: V2 V4 V8} (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64)
        ]
        (address("a", Access::ReadWrite), b(T1).form(Form::Vector), cache_policy()) {constraints: constraints![
            (Type: F16 F16x2 Bf16 Bf16x2) needs(Flag: Noftz);
            (ReductionOperator: And Or Xor) needs(Type: B32 B64);
            (ReductionOperator: Inc Dec) needs(Type: U32);
            (ReductionOperator: Min Max) needs(Type: U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2);
            (ReductionOperator: Add) excludes(Type: B32 B64 S64);
            (ReductionOperator: Min Max) (Type: F16 F16x2 Bf16 Bf16x2) needs(Vector: V2 V4 V8);
            (Vector: V2 V4) needs(Type: F16 F16x2 Bf16 Bf16x2 F32);
            (Vector: V8) needs(Type: F16 Bf16);
            (Vector: V2 V4 V8) needs(ReductionOperator: Add Min Max);
            (Vector: V2 V4 V8) excludes(Space: Shared SharedCta SharedCluster);
            (Flag: Noftz) needs(Type: F16 F16x2 Bf16 Bf16x2 F32);
            (Flag: CacheHint) excludes(Space: Shared SharedCta SharedCluster);
            (Scope: Cluster) since(7, 8);
            (Scope: Cluster) from(90);
            (Space: SharedCta SharedCluster) since(7, 8);
            (Space: SharedCluster) from(90);
            (Flag: CacheHint) since(7, 4);
            (Flag: CacheHint) from(80);
            (Vector: V2 V4 V8) since(8, 1);
            (Vector: V2 V4 V8) from(90);
            (Type: Bf16 Bf16x2) since(7, 8);
            (Type: Bf16 Bf16x2) from(90);
            (Flag: Noftz) (Type: F32) since(9, 4);
            (Flag: Noftz) (Type: F32) from(90);
        ]}
    RedAsync "red.async" [
            (Semantics: Relaxed) (Scope: Cluster) {Space: SharedCluster} (Completion: MbarrierBytes)
            (ReductionOperator: Inc Dec Min Max And Or Xor Add) (Type: B32 U32 S32 U64)
        ]
        (address("a", Access::ReadWrite), b(T1), address("mbar", Access::ReadWrite))
        {synchronization: Synchronization::AsyncStore,
         constraints: constraints![
            (Type: U64) excludes(ReductionOperator: Inc Dec Min Max And Or Xor);
            (Type: B32) excludes(ReductionOperator: Inc Dec Min Max Add);
            (Type: S32) excludes(ReductionOperator: Inc Dec And Or Xor);
            (Type: U32) excludes(ReductionOperator: And Or Xor);
            since(8, 1);
            from(90);
        ]}
    RedAsyncRelease "red.async" [
            {Flag: Mmio} (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (ReductionOperator: Inc Dec Min Max And Or Xor Add) (Type: B32 U32 U64 S32 S64)
        ]
        (address("a", Access::ReadWrite), b(T1)) {synchronization: Synchronization::AsyncStore,
         constraints: constraints![
            (Flag: Mmio) excludes(Scope: Gpu);
            (Type: U64 S64) excludes(ReductionOperator: Inc Dec Min Max And Or Xor);
            (Type: B32) excludes(ReductionOperator: Inc Dec Min Max Add);
            (Type: S32) excludes(ReductionOperator: Inc Dec And Or Xor);
            (Type: U32) excludes(ReductionOperator: And Or Xor);
            since(8, 7);
            from(100);
        ]}
    Vote "vote" [(VoteMode: All Any Uni) (Type: Pred)] (d(T1), src("a", T1).form(Form::Predicate))
        {lanes: Lanes::Same, constraints: constraints![
            gone(6, 4, 70);
        ]}
    VoteBallot "vote" [(VoteMode: Ballot) (Type: B32)] (d(ANY32), predicate("a"))
        {lanes: Lanes::Same, constraints: constraints![
            gone(6, 4, 70);
        ]}
    VoteSync "vote" [(Flag: Sync) (VoteMode: All Any Uni) (Type: Pred)]
        (d(T1), src("a", T1).form(Form::Predicate), src("membermask", B32))
        {title: Some("vote.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    VoteSyncBallot "vote" [(Flag: Sync) (VoteMode: Ballot) (Type: B32)]
        (d(ANY32), predicate("a"), src("membermask", B32))
        {title: Some("vote.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    MatchAnySync "match" [(VoteMode: Any) (Flag: Sync) (Type: B32 B64)] (d(B32), a(T1), src("membermask", B32))
        {title: Some("match.sync"), lanes: Lanes::Differ, synchronization: Synchronization::WarpCollective}
    MatchAllSync "match" [(VoteMode: All) (Flag: Sync) (Type: B32 B64)]
        (d(B32).pair(Pair::Optional).sinks(), a(T1), src("membermask", B32))
        {title: Some("match.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    Activemask "activemask" [(Type: B32)] (d(T1)) {lanes: Lanes::Differ}
    ReduxSync "redux" [
            (Flag: Sync) (ReductionOperator: Add Min Max And Or Xor) {Flag: Abs} {Flag: Nan} (Type: U32 S32 B32 F32)
        ]
        (dst("dst", T1), src("src", T1), src("membermask", B32))
        {title: Some("redux.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective,
         constraints: constraints![
            (Flag: Abs) excludes(Type: U32 S32 B32);
            (Flag: Nan) excludes(Type: U32 S32 B32);
            (Type: F32) excludes(ReductionOperator: Add And Or Xor);
            (Type: B32) excludes(ReductionOperator: Add Min Max);
            (Type: U32 S32) excludes(ReductionOperator: And Or Xor);
            since(7, 0);
            from(80);
            (Type: F32) since(8, 6);
            (Type: F32) on(SERVERS);
        ]}
    Griddepcontrol "griddepcontrol" [(DependentAction: LaunchDependents Wait)] ()
        {synchronization: Synchronization::DependentGrids,
         constraints: constraints![
            since(7, 8);
            from(90);
        ]}
    ElectSync "elect.sync" [] (dst("d", B32).pair(Pair::Required).sinks(), src("membermask", B32))
        {computes: Computation::Elect, lanes: Lanes::Elected,
         synchronization: Synchronization::WarpCollective,
         constraints: constraints![
            since(8, 0);
            from(90);
        ]}
    MbarrierInit "mbarrier.init" [{MbarrierLayout: V0 V1} {Space: Shared SharedCta} (Type: B64)]
        (address("addr", Access::Write), src("count", B32).from(1, 0xF_FFFF)) {synchronization: Synchronization::MbarrierInit,
         constraints: constraints![
            since(7, 0);
            (MbarrierLayout: V0 V1) since(9, 3);
            (Space: SharedCta) since(7, 8);
            from(80);
            (MbarrierLayout: V0 V1) from(90);
        ]}
    MbarrierInval "mbarrier.inval" [{Space: Shared SharedCta} (Type: B64)]
        (address("addr", Access::Write)) {synchronization: Synchronization::MbarrierInvalidate,
         constraints: constraints![
            since(7, 0);
            (Space: SharedCta) since(7, 8);
            from(80);
        ]}
    MbarrierExpectTx "mbarrier.expect_tx" [
            {Semantics: Relaxed} {Scope: Cta Cluster} {Space: Shared SharedCta SharedCluster}
            {Multicast: Mask32} (Type: B64)
        ]
        (mbarrier(), src("txCount", B32), src("ctaMask", B32).from(0, 0xFFFF_FFFF).when(MASKED))
        {synchronization: Synchronization::MbarrierExpectTransactions,
         constraints: constraints![
            (Multicast: Mask32) excludes(Space: Shared SharedCta);
            (Semantics: Relaxed) needs(Scope: Cta Cluster);
            (Scope: Cta Cluster) needs(Semantics: Relaxed);
            since(8, 0);
            (Multicast: Mask32) since(9, 4);
            from(90);
            (Multicast: Mask32) on(RUBIN);
        ]}
    MbarrierCompleteTx "mbarrier.complete_tx" [
            {Semantics: Relaxed} {Scope: Cta Cluster} {Space: Shared SharedCta SharedCluster}
            {Multicast: Mask32} (Type: B64)
        ]
        (mbarrier(), src("txCount", B32), src("ctaMask", B32).from(0, 0xFFFF_FFFF).when(MASKED))
        {synchronization: Synchronization::MbarrierCompleteTransactions,
         constraints: constraints![
            (Multicast: Mask32) excludes(Space: Shared SharedCta);
            (Semantics: Relaxed) needs(Scope: Cta Cluster);
            (Scope: Cta Cluster) needs(Semantics: Relaxed);
            since(8, 0);
            (Multicast: Mask32) since(9, 4);
            from(90);
            (Multicast: Mask32) on(RUBIN);
        ]}
    MbarrierArrive "mbarrier.arrive" [
            {Flag: ExpectTx} {Flag: NoComplete} {Semantics: Release Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta SharedCluster} {Multicast: Mask32} (Type: B64)
        ]
        (STATE, NO_STATE, mbarrier(), src("txCount", B32).when(EXPECTS),
         src("count", B32).from(1, i64::MAX).optional_unless(NO_COMPLETE),
         src("count", B32).from(1, i64::MAX).when(NO_COMPLETE), src("ctaMask", B32).from(0, 0xFFFF_FFFF).when(MASKED))
        {synchronization: Synchronization::MbarrierArrive, lanes: Lanes::Differ,
         constraints: constraints![
            leads(Flag: ExpectTx);
            (Flag: ExpectTx) excludes(Flag: NoComplete);
            (Multicast: Mask32) excludes(Space: Shared SharedCta);
            (Multicast: Mask32) excludes(Flag: NoComplete);
            (Semantics: Release Relaxed) needs(Scope: Cta Cluster);
            (Scope: Cta Cluster) needs(Semantics: Release Relaxed);
            since(7, 0);
            (Flag: ExpectTx) since(8, 0);
            (Semantics: Release) since(8, 0);
            (Semantics: Relaxed) since(8, 6);
            (Scope: Cta Cluster) since(8, 0);
            (Space: SharedCta) since(7, 8);
            (Space: SharedCluster) since(8, 0);
            (Multicast: Mask32) since(9, 4);
            from(80);
            (Flag: ExpectTx) from(90);
            (Semantics: Relaxed) from(90);
            (Space: SharedCluster) from(90);
            (Scope: Cluster) (Space: SharedCta) from(90);
            (Scope: Cluster) (Multicast: Mask32) from(90);
            (Multicast: Mask32) on(RUBIN);
        ]}
    MbarrierArriveDrop "mbarrier.arrive_drop" [
            {Flag: ExpectTx} {Flag: NoComplete} {Semantics: Release Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta SharedCluster} {Multicast: Mask32} (Type: B64)
        ]
        (STATE, NO_STATE, mbarrier(), src("txCount", B32).when(EXPECTS),
         src("count", B32).from(1, i64::MAX).optional_unless(NO_COMPLETE),
         src("count", B32).from(1, i64::MAX).when(NO_COMPLETE), src("ctaMask", B32).from(0, 0xFFFF_FFFF).when(MASKED))
        {synchronization: Synchronization::MbarrierArrive, lanes: Lanes::Differ,
         constraints: constraints![
            leads(Flag: ExpectTx);
            (Flag: ExpectTx) excludes(Flag: NoComplete);
            (Multicast: Mask32) excludes(Flag: NoComplete);
            (Multicast: Mask32) excludes(Space: Shared SharedCta);
            (Semantics: Release Relaxed) needs(Scope: Cta Cluster);
            (Scope: Cta Cluster) needs(Semantics: Release Relaxed);
            since(7, 0);
            (Flag: ExpectTx) since(8, 0);
            (Semantics: Release) since(8, 0);
            (Semantics: Relaxed) since(8, 6);
            (Scope: Cta Cluster) since(8, 0);
            (Space: SharedCta) since(7, 8);
            (Space: SharedCluster) since(8, 0);
            (Multicast: Mask32) since(9, 4);
            from(80);
            (Flag: ExpectTx) from(90);
            (Semantics: Relaxed) from(90);
            (Scope: Cluster) from(90);
            (Space: SharedCluster) from(90);
            (Multicast: Mask32) on(RUBIN);
        ]}
    MbarrierTestWait "mbarrier.test_wait" [
            {Flag: Parity} {PhaseType: Primary Conditional} {Semantics: Acquire Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta} (Type: B64)
        ]
        (dst("waitComplete", PRED).pair(Pair::Optional), dst("reportValue", B8).optional(), mbarrier(),
         src("phaseParity", B32).from(0, 1).when(PARITY), src("state", B64).unless(PARITY))
        {synchronization: Synchronization::MbarrierWait, lanes: Lanes::Differ,
         constraints: constraints![
            (Semantics: Acquire Relaxed) needs(Scope: Cta Cluster);
            (Scope: Cta Cluster) needs(Semantics: Acquire Relaxed);
            leads(Flag: Parity);
            (PhaseType: Conditional) needs(Flag: Parity);
            since(7, 0);
            (Flag: Parity) since(7, 1);
            (PhaseType: Primary Conditional) since(9, 3);
            (Semantics: Acquire) since(8, 0);
            (Semantics: Relaxed) since(8, 6);
            (Scope: Cta Cluster) since(8, 0);
            (Space: SharedCta) since(7, 8);
            from(80);
            (PhaseType: Primary Conditional) from(90);
            (Semantics: Relaxed) from(90);
            (Scope: Cluster) from(90);
        ]}
    MbarrierTryWait "mbarrier.try_wait" [
            {Flag: Parity} {PhaseType: Primary Conditional} {Semantics: Acquire Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta} (Type: B64)
        ]
        (dst("waitComplete", PRED).pair(Pair::Optional), dst("reportValue", B8).optional(), mbarrier(),
         src("phaseParity", B32).from(0, 1).when(PARITY), src("state", B64).unless(PARITY),
         src("suspendTimeHint", B32).optional())
        {synchronization: Synchronization::MbarrierWait, lanes: Lanes::Differ,
         constraints: constraints![
            leads(Flag: Parity);
            (PhaseType: Conditional) needs(Flag: Parity);
            (Scope: Cta Cluster) needs(Semantics: Acquire Relaxed);
            (Semantics: Acquire Relaxed) needs(Scope: Cta Cluster);
            since(7, 8);
            (PhaseType: Primary Conditional) since(9, 3);
            (Semantics: Acquire) since(8, 0);
            (Semantics: Relaxed) since(8, 6);
            (Scope: Cta Cluster) since(8, 0);
            from(90);
        ]}
    MbarrierPendingCount "mbarrier.pending_count" [{MbarrierLayout: V0} (Type: B64)]
        (dst("count", B32), src("state", B64)) {synchronization: Synchronization::MbarrierQuery,
         constraints: constraints![
            since(7, 0);
            (MbarrierLayout: V0) since(9, 3);
            from(80);
            (MbarrierLayout: V0) from(90);
        ]}
    MbarrierCheckLayout "mbarrier.check_layout" [(MbarrierLayout: V0 V1) {Space: Shared SharedCta} (Type: B64)]
        (dst("p", PRED), address("addr", Access::Read))
        {synchronization: Synchronization::MbarrierQuery, lanes: Lanes::Memory,
         constraints: constraints![
            since(9, 3);
            from(90);
        ]}
    ClusterlaunchcontrolTryCancel "clusterlaunchcontrol.try_cancel" [
            (Flag: Async) {Space: SharedCta} (Completion: MbarrierBytes) {Multicast: All} (Type: B128)
        ]
        (address("addr", Access::Write), address("mbar", Access::ReadWrite))
        {synchronization: Synchronization::ClusterLaunch,
         constraints: constraints![
            since(8, 6);
            from(100);
            (Multicast: All) on(BLACKWELL);
        ]}
    ClusterlaunchcontrolIsCanceled "clusterlaunchcontrol.query_cancel"
        [(Flag: IsCanceled) (Type: Pred) (Type: B128)]
        (dst("pred", PRED), src("try_cancel_response", B128)) {constraints: constraints![
            since(8, 6);
            from(100);
        ]}
    ClusterlaunchcontrolFirstCtaid "clusterlaunchcontrol.query_cancel"
        [(FirstCtaid: All X Y Z) {Vector: V4} (Type: B32) (Type: B128)]
        (dst("xdim", ANY32).form(Form::Elements(4)).when(FIRST_CTAID), dst("dim", ANY32).unless(FIRST_CTAID),
         src("try_cancel_response", B128)) {constraints: constraints![
            (Vector: V4) excludes(FirstCtaid: X Y Z);
            since(8, 6);
            from(100);
        ]}
}
