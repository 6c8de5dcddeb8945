use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role};
use crate::analysis::freed::Freed;
use crate::analysis::pending::{
    Pending, Threads, Transfer, is_complete_at, overwritten_loads, pending_stores, stores_and_then,
};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::isa::special_registers::Extent;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule, through_calls};

rule! {
    /// ## What it does
    /// Finds a `dealloc` that can execute while an access to Tensor Memory is in flight.
    ///
    /// - After `ld` or `st` without a `wait`, a barrier or a wait on an mbarrier in between.
    /// - After `mma`, `cp` or `shift` without a barrier or a wait on an mbarrier in between.
    ///
    /// If another warp makes the access, the warp that executes the `dealloc` must learn from a barrier or
    /// an mbarrier that the access is complete. A barrier that both warps pass before the access, or at
    /// which the other warp does not arrive, does not order them.
    ///
    /// ## Why is this bad?
    /// The columns can be given to another CTA while they are still read or written. If other warps access
    /// the columns, a barrier is needed too.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// WAIT:
    /// mbarrier.try_wait.parity.shared::cta.b64 p, [mbar], 0;
    /// @!p bra WAIT;
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.6 and 9.7.16.7.1
    DeallocRacesAccess Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut all_reported: BTreeSet<u32> = BTreeSet::new();
    for flow in checker.flows() {
        let mut reported: BTreeSet<u32> = BTreeSet::new();
        let frees = |event: &&Event| match event.action {
            Action::Call(_) => true,
            _ => flow.operation(**event) == Some(Operation::Dealloc),
        };
        let frees: Vec<u32> = flow.events().iter().filter(frees).map(|event| event.instruction).collect();
        if is_complete_at(&flow, &frees) {
            continue;
        }
        for access in [Pending::Load, Pending::Store, Pending::Operation] {
            let role = |event: Event| match (event.action, flow.operation(event)) {
                (Action::Barrier | Action::WarpBarrier | Action::MbarrierWait | Action::Unknown, _) => {
                    Role::Kill
                }
                (_, Some(Operation::Dealloc)) => Role::Query,
                (_, Some(operation)) => access.role(operation),
                _ => Role::None,
            };
            let pairs = match access {
                Pending::Store => pending_stores(&flow, Threads::Any, role),
                Pending::Load | Pending::Operation => flow.pairs(role, |_| true),
            };
            if pairs.is_empty() {
                continue;
            }
            // Where it is certain, a rule of its own says so.
            let certain = match access {
                Pending::Load => overwritten_loads(&flow),
                Pending::Store => stores_and_then(&flow),
                Pending::Operation => Vec::new(),
            };
            let certain: BTreeSet<u32> = certain.iter().map(|pair| pair.then.instruction).collect();
            reported.extend(&certain);
            for pair in pairs {
                if certain.contains(&pair.then.instruction) {
                    continue;
                }
                let Some(Instruction::Dealloc(_)) = flow.instruction(pair.then) else { continue };
                reported.insert(pair.then.instruction);
                let name = flow.operation(pair.first).map_or("", Operation::name);
                let missing = match access {
                    Pending::Load => "no `tcgen05.wait::ld`, barrier or wait on an mbarrier",
                    Pending::Store => "no `tcgen05.wait::st`, barrier or wait on an mbarrier",
                    Pending::Operation => "no barrier or wait on an mbarrier",
                };
                findings.push(
                    Diagnostic::new(
                        Code::DeallocRacesAccess,
                        flow.span(pair.then),
                        format!("Tensor Memory can be deallocated while `tcgen05.{name}` still accesses it"),
                        format!("{missing} before this"),
                    )
                    .label(flow.span(pair.first), "still accesses Tensor Memory")
                    .note(
                        "accesses of Tensor Memory must be synchronised with `dealloc` \
                         (PTX ISA, 9.7.16.6.2 and 9.7.16.7.1)",
                    )
                    .help(match access {
                        Pending::Load => "put `tcgen05.wait::ld` and a barrier before the `dealloc`",
                        Pending::Store => "put `tcgen05.wait::st` and a barrier before the `dealloc`",
                        Pending::Operation => {
                            "wait on the mbarrier that `tcgen05.commit` signals before the `dealloc`"
                        }
                    }),
                );
            }
        }
        if flow.is_entry() {
            reported.extend(moved_by_other_warps(&flow, &reported, findings));
        }
        all_reported.extend(reported);
    }
    for flow in checker.flows().filter(Flow::is_entry) {
        for found in flow.freed_meanwhile(|dealloc| !all_reported.contains(&dealloc)) {
            if all_reported.insert(found.frees.event.instruction) {
                findings.push(freed_meanwhile(&flow, &found));
            }
        }
    }
}

/// What another warp accesses, and nothing orders with the deallocation.
fn freed_meanwhile(flow: &Flow<'_>, found: &Freed<'_>) -> Diagnostic {
    let Freed { access, frees, barrier } = found;
    let name = flow.operation(access.event).map_or("", Operation::name);
    let finding = Diagnostic::new(
        Code::DeallocRacesAccess,
        flow.span(frees.event),
        format!("Tensor Memory can be deallocated while `tcgen05.{name}` of another warp accesses it"),
        "nothing before this waits for the other warp",
    )
    .label(
        flow.span(access.event),
        "another warp executes this, and nothing that it does afterwards is waited for",
    );
    let finding = match barrier {
        Some(barrier) => finding.label(
            flow.unit.module.instructions[*barrier as usize].opcode,
            "the last barrier before the `dealloc` comes before the access, too",
        ),
        None => finding,
    };
    let finding = through_calls(through_calls(finding, frees), access);
    finding
        .note(
            "accesses of Tensor Memory must be synchronised with `dealloc` \
             (PTX ISA, 9.7.16.6.2 and 9.7.16.7.1)",
        )
        .help("put a barrier of all these warps behind their last access and before the `dealloc`")
}

/// Loads and stores that more warps execute than the deallocation: `wait::ld` and `wait::st` wait for those of their
/// own warp only.
fn moved_by_other_warps(flow: &Flow<'_>, reported: &BTreeSet<u32>, findings: &mut Findings<'_>) -> Vec<u32> {
    let role = |event: Event| match (event.action, flow.operation(event)) {
        (Action::Barrier | Action::MbarrierWait | Action::Acquire | Action::Unknown, _) => Role::Kill,
        (_, Some(Operation::Dealloc)) => {
            Role::Query.only_if(flow.is_own(event) && !reported.contains(&event.instruction))
        }
        (_, Some(operation)) => Role::Gen.only_if(Transfer::of(operation).is_some() && flow.is_own(event)),
        _ => Role::None,
    };
    let executing = OnceCell::new();
    let pairs = flow.pairs(role, |pair| {
        let executing = executing.get_or_init(|| flow.executing(None));
        // If one thread reaches the access, so do all threads that are excluded by nothing but their own conditions.
        let loads = executing.of_those_there(pair.first.instruction, Extent::Cta);
        let frees = executing.of(pair.then.instruction);
        loads.zip(frees).is_some_and(|(loads, frees)| loads.is_of_more_warps_than(&frees))
    });
    for pair in &pairs {
        let name = flow.operation(pair.first).map_or("", Operation::name);
        let wait = flow.operation(pair.first).and_then(Transfer::of).map_or("", Transfer::wait);
        findings.push(
            Diagnostic::new(
                Code::DeallocRacesAccess,
                flow.span(pair.then),
                format!(
                    "Tensor Memory can be deallocated while `tcgen05.{name}` of another warp accesses it"
                ),
                "no barrier or wait on an mbarrier before this",
            )
            .label(flow.span(pair.first), "more warps execute this than deallocate")
            .note(
                "accesses of Tensor Memory must be synchronised with `dealloc` \
                 (PTX ISA, 9.7.16.6.2 and 9.7.16.7.1)",
            )
            .help(format!("put `tcgen05.{wait}` and a barrier of all these warps before the `dealloc`")),
        );
    }
    pairs.iter().map(|pair| pair.then.instruction).collect()
}
