use super::instructions;
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::Synchronization;
use crate::isa::vocabulary::Operation;
use crate::resolve::operations::Opcode;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds `asm` statements without a `"memory"` clobber whose PTX orders memory: fences, waits for and
    /// arrivals at mbarriers, bulk copies, and the tcgen05 instructions that move data, commit and wait.
    /// Off by default: shipped headers leave it out if no surrounding code reads or writes memory.
    ///
    /// ## Why is this bad?
    /// `volatile` keeps statements in order relative to each other, but not relative to the loads and
    /// stores that the compiler generates. Without the clobber these may move across a fence or a wait.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("fence.proxy.async.shared::cta;");
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.3.2 (Incorrect Optimization)
    MissingMemoryClobber Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in checker.unit.fragments.iter().filter(|fragment| !fragment.clobbers_memory) {
        let Some(ordering) = instructions(checker.unit, fragment).find(|it| orders_memory(it.opcode)) else {
            continue;
        };
        let fix = fragment
            .memory_clobber
            .map(|text| Fix::guess("Add the clobber", Span::at(fragment.end.start), text));
        findings.push(
            Diagnostic::new(
                Code::MissingMemoryClobber,
                fragment.keyword,
                "memory accesses may move across this statement",
                "it has no `\"memory\"` clobber",
            )
            .label(ordering.raw.opcode, "this orders memory")
            .help("write `: \"memory\"` behind the operands")
            .fix(fix),
        );
    }
}

fn orders_memory(opcode: &Opcode) -> bool {
    match opcode.synchronization() {
        Synchronization::Fence
        | Synchronization::ProxyFence
        | Synchronization::MbarrierInitFence
        | Synchronization::MbarrierInit
        | Synchronization::MbarrierInvalidate
        | Synchronization::MbarrierExpectTransactions
        | Synchronization::MbarrierCompleteTransactions
        | Synchronization::MbarrierArrive
        | Synchronization::MbarrierWait
        | Synchronization::BarrierSync
        | Synchronization::BarrierArrive
        | Synchronization::ClusterArrive
        | Synchronization::ClusterWait
        | Synchronization::AsyncCopy
        | Synchronization::AsyncCopyWait
        | Synchronization::AsyncCopyArrive
        | Synchronization::BulkCopy
        | Synchronization::BulkWait
        | Synchronization::AsyncStore
        | Synchronization::FabricStart
        | Synchronization::FabricSubmit
        | Synchronization::FabricWait => true,
        Synchronization::Tensor => matches!(
            opcode.tensor,
            Some(
                Operation::Commit
                    | Operation::WaitLd
                    | Operation::WaitSt
                    | Operation::Ld
                    | Operation::LdRed
                    | Operation::St
                    | Operation::Cp
                    | Operation::FenceBefore
                    | Operation::FenceAfter
            )
        ),
        Synchronization::None
        | Synchronization::WarpBarrier
        | Synchronization::WarpCollective
        | Synchronization::MbarrierQuery
        | Synchronization::AsyncCopyCommit
        | Synchronization::BulkCommit
        | Synchronization::WarpgroupFence
        | Synchronization::WarpgroupMultiply
        | Synchronization::WarpgroupCommit
        | Synchronization::WarpgroupWait
        | Synchronization::RegisterChange
        | Synchronization::DependentGrids
        | Synchronization::ClusterLaunch => false,
    }
}
