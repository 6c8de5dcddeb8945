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

const STATE: OperandSlot = dst("state", B64).form(Form::Register);

rows! { "Parallel Synchronization and Communication Instructions";
    BarrierSync "barrier.sync" "barrier.cta.sync" "bar.sync" "bar.cta.sync" [{Flag: Aligned}]
        (a(B32), b(B32).optional()) {title: Some("bar, barrier"), synchronization: Synchronization::BarrierSync}
    BarrierArrive "barrier.arrive" "barrier.cta.arrive" "bar.arrive" "bar.cta.arrive" [{Flag: Aligned}]
        (a(B32), b(B32)) {title: Some("bar, barrier"), synchronization: Synchronization::BarrierArrive}
    BarrierPopc "barrier.red" "barrier.cta.red" "bar.red" "bar.cta.red"
        [(ReductionOperator: Popc) {Flag: Aligned} (Type: U32)]
        (d(T1), a(B32), b(B32).optional(), predicate("c"))
        {title: Some("bar, barrier"), synchronization: Synchronization::BarrierSync, lanes: Lanes::Same}
    BarrierPredicate "barrier.red" "barrier.cta.red" "bar.red" "bar.cta.red"
        [(BooleanOperator: And Or) {Flag: Aligned} (Type: Pred)]
        (dst("p", T1), a(B32), b(B32).optional(), predicate("c"))
        {title: Some("bar, barrier"), synchronization: Synchronization::BarrierSync, lanes: Lanes::Same}
    BarWarpSync "bar.warp.sync" [] (src("membermask", B32))
        {synchronization: Synchronization::WarpBarrier}
    BarrierClusterArrive "barrier.cluster.arrive" [{Semantics: Release Relaxed} {Flag: Aligned}] ()
        {title: Some("barrier.cluster"), synchronization: Synchronization::ClusterArrive}
    BarrierClusterWait "barrier.cluster.wait" [{Semantics: Acquire} {Flag: Aligned}] ()
        {title: Some("barrier.cluster"), synchronization: Synchronization::ClusterWait}
    Membar "membar" [(Scope: Cta Gl Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::Fence}
    MembarProxy "membar.proxy" [(ProxyKind: Alias Async)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence}
    Fence "fence" [{Semantics: Sc AcqRel Acquire Release} (Scope: Cta Cluster Gpu Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::Fence}
    FenceRestricted "fence"
        [(Semantics: Acquire Release) (Restriction: SharedCta SharedCluster) (Scope: Cluster)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::Fence}
    FenceMbarrierInit "fence.mbarrier_init" [(Semantics: Release) (Scope: Cluster)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::MbarrierInitFence}
    FenceAliasRead "fence.alias" [(Restriction: Read) (Semantics: Release) (Scope: Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence}
    FenceProxy "fence.proxy" [(ProxyKind: Alias Async) {Space: Global SharedCta SharedCluster}] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence}
    FenceProxyAlias "fence.proxy"
        [{ProxyKind: FabricFabric FabricGeneric GenericFabric} (ProxyKind: Alias) (Semantics: Acquire Release)
            (Scope: Sys)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence}
    FenceProxyTensormap "fence.proxy"
        [(ProxyKind: TensormapGeneric) (Semantics: Acquire Release AcqRel) (Scope: Cta Cluster Gpu Sys)]
        (address("addr", Access::None).when(ACQUIRE), immediate("size", B32).when(ACQUIRE))
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence}
    FenceProxyAsyncGeneric "fence.proxy"
        [(ProxyKind: AsyncGeneric) (Semantics: Acquire Release)
            (Restriction: SharedCta SharedCluster SharedClusterRead) (Scope: Cta Cluster)] ()
        {title: Some("membar, fence"), synchronization: Synchronization::ProxyFence}
    Atom "atom" [
            {Semantics: Relaxed Acquire Release AcqRel} {Scope: Cta Cluster Gpu Sys}
            {Space: Global Shared SharedCta SharedCluster}
            (ReductionOperator: And Or Xor Cas Exch Add Inc Dec Min Max) {Flag: Noftz} {Flag: CacheHint}
            {Vector: V2 V4 V8}
            (Type: B16 B32 B64 B128 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64)
        ]
        (d(T1).form(Form::Vector), address("a", Access::ReadWrite), b(T1).form(Form::Vector), c(T1).when(CAS),
         cache_policy())
        {lanes: Lanes::Differ}
    Red "red" [
            {Semantics: Relaxed Release} {Scope: Cta Cluster Gpu Sys}
            {Space: Global Shared SharedCta SharedCluster}
            (ReductionOperator: And Or Xor Add Inc Dec Min Max) {Flag: Noftz} {Flag: CacheHint}
            {Vector: V2 V4 V8} (Type: B32 B64 U32 U64 S32 S64 F16 F16x2 Bf16 Bf16x2 F32 F64)
        ]
        (address("a", Access::ReadWrite), b(T1).form(Form::Vector), cache_policy()) {}
    RedAsync "red.async" [
            (Semantics: Relaxed) (Scope: Cluster) {Space: SharedCluster} (Completion: MbarrierBytes)
            (ReductionOperator: Inc Dec Min Max And Or Xor Add) (Type: B32 U32 S32 U64)
        ]
        (address("a", Access::ReadWrite), b(T1), address("mbar", Access::ReadWrite))
        {synchronization: Synchronization::AsyncStore}
    RedAsyncRelease "red.async" [
            {Flag: Mmio} (Semantics: Release) (Scope: Gpu Sys) {Space: Global}
            (ReductionOperator: Inc Dec Min Max And Or Xor Add) (Type: B32 U32 U64 S32 S64)
        ]
        (address("a", Access::ReadWrite), b(T1)) {synchronization: Synchronization::AsyncStore}
    Vote "vote" [(VoteMode: All Any Uni) (Type: Pred)] (d(T1), predicate("a"))
        {lanes: Lanes::Same}
    VoteBallot "vote" [(VoteMode: Ballot) (Type: B32)] (d(ANY32), predicate("a")) {lanes: Lanes::Same}
    VoteSync "vote" [(Flag: Sync) (VoteMode: All Any Uni) (Type: Pred)]
        (d(T1), predicate("a"), src("membermask", B32))
        {title: Some("vote.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    VoteSyncBallot "vote" [(Flag: Sync) (VoteMode: Ballot) (Type: B32)]
        (d(ANY32), predicate("a"), src("membermask", B32))
        {title: Some("vote.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    MatchAnySync "match" [(VoteMode: Any) (Flag: Sync) (Type: B32 B64)] (d(B32), a(T1), src("membermask", B32))
        {title: Some("match.sync"), lanes: Lanes::Differ, synchronization: Synchronization::WarpCollective}
    MatchAllSync "match" [(VoteMode: All) (Flag: Sync) (Type: B32 B64)]
        (d(B32).pair(Pair::Optional), a(T1), src("membermask", B32))
        {title: Some("match.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    Activemask "activemask" [(Type: B32)] (d(T1)) {lanes: Lanes::Differ}
    ReduxSync "redux" [
            (Flag: Sync) (ReductionOperator: Add Min Max And Or Xor) {Flag: Abs} {Flag: Nan} (Type: U32 S32 B32 F32)
        ]
        (dst("dst", T1), src("src", T1), src("membermask", B32))
        {title: Some("redux.sync"), lanes: Lanes::Same, synchronization: Synchronization::WarpCollective}
    Griddepcontrol "griddepcontrol" [(DependentAction: LaunchDependents Wait)] ()
        {synchronization: Synchronization::DependentGrids}
    ElectSync "elect.sync" [] (dst("d", B32).pair(Pair::Required), src("membermask", B32))
        {computes: Computation::Elect, lanes: Lanes::Elected,
         synchronization: Synchronization::WarpCollective}
    MbarrierInit "mbarrier.init" [{MbarrierLayout: V0 V1} {Space: Shared SharedCta} (Type: B64)]
        (address("addr", Access::Write), src("count", B32)) {synchronization: Synchronization::MbarrierInit}
    MbarrierInval "mbarrier.inval" [{Space: Shared SharedCta} (Type: B64)]
        (address("addr", Access::Write)) {synchronization: Synchronization::MbarrierInvalidate}
    MbarrierExpectTx "mbarrier.expect_tx" [
            {Semantics: Relaxed} {Scope: Cta Cluster} {Space: Shared SharedCta SharedCluster}
            {Multicast: Mask32} (Type: B64)
        ]
        (mbarrier(), src("txCount", B32), src("ctaMask", B32).when(MASKED))
        {synchronization: Synchronization::MbarrierExpectTransactions}
    MbarrierCompleteTx "mbarrier.complete_tx" [
            {Semantics: Relaxed} {Scope: Cta Cluster} {Space: Shared SharedCta SharedCluster}
            {Multicast: Mask32} (Type: B64)
        ]
        (mbarrier(), src("txCount", B32), src("ctaMask", B32).when(MASKED))
        {synchronization: Synchronization::MbarrierCompleteTransactions}
    MbarrierArrive "mbarrier.arrive" [
            {Flag: ExpectTx} {Flag: NoComplete} {Semantics: Release Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta SharedCluster} {Multicast: Mask32} (Type: B64)
        ]
        (STATE, mbarrier(), src("txCount", B32).when(EXPECTS),
         src("count", B32).optional(), src("ctaMask", B32).when(MASKED))
        {synchronization: Synchronization::MbarrierArrive, lanes: Lanes::Differ}
    MbarrierArriveDrop "mbarrier.arrive_drop" [
            {Flag: ExpectTx} {Flag: NoComplete} {Semantics: Release Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta SharedCluster} {Multicast: Mask32} (Type: B64)
        ]
        (STATE, mbarrier(), src("txCount", B32).when(EXPECTS),
         src("count", B32).optional(), src("ctaMask", B32).when(MASKED))
        {synchronization: Synchronization::MbarrierArrive, lanes: Lanes::Differ}
    MbarrierTestWait "mbarrier.test_wait" [
            {Flag: Parity} {PhaseType: Primary Conditional} {Semantics: Acquire Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta} (Type: B64)
        ]
        (dst("waitComplete", PRED).pair(Pair::Optional), dst("reportValue", B32).optional(), mbarrier(),
         src("phaseParity", B32).when(PARITY), src("state", B64).unless(PARITY))
        {synchronization: Synchronization::MbarrierWait, lanes: Lanes::Differ}
    MbarrierTryWait "mbarrier.try_wait" [
            {Flag: Parity} {PhaseType: Primary Conditional} {Semantics: Acquire Relaxed} {Scope: Cta Cluster}
            {Space: Shared SharedCta} (Type: B64)
        ]
        (dst("waitComplete", PRED).pair(Pair::Optional), dst("reportValue", B32).optional(), mbarrier(),
         src("phaseParity", B32).when(PARITY), src("state", B64).unless(PARITY),
         src("suspendTimeHint", B32).optional())
        {synchronization: Synchronization::MbarrierWait, lanes: Lanes::Differ}
    MbarrierPendingCount "mbarrier.pending_count" [(Type: B64)] (dst("count", B32), src("state", B64))
        {synchronization: Synchronization::MbarrierQuery}
    MbarrierCheckLayout "mbarrier.check_layout" [(MbarrierLayout: V0 V1) {Space: Shared SharedCta} (Type: B64)]
        (dst("p", PRED), address("addr", Access::Read))
        {synchronization: Synchronization::MbarrierQuery, lanes: Lanes::Memory}
    ClusterlaunchcontrolTryCancel "clusterlaunchcontrol.try_cancel" [
            (Flag: Async) {Space: SharedCta} (Completion: MbarrierBytes) {Multicast: All} (Type: B128)
        ]
        (address("addr", Access::Write), address("mbar", Access::ReadWrite))
        {synchronization: Synchronization::ClusterLaunch}
    ClusterlaunchcontrolIsCanceled "clusterlaunchcontrol.query_cancel"
        [(Flag: IsCanceled) (Type: Pred) (Type: B128)]
        (dst("pred", PRED), src("try_cancel_response", B128)) {}
    ClusterlaunchcontrolFirstCtaid "clusterlaunchcontrol.query_cancel"
        [(FirstCtaid: All X Y Z) {Vector: V4} (Type: B32) (Type: B128)]
        (dst("xdim", ANY32).form(Form::Elements(4)).when(FIRST_CTAID), dst("dim", ANY32).unless(FIRST_CTAID),
         src("try_cancel_response", B128)) {}
}
