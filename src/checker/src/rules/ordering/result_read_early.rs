use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::between::Between;
use crate::analysis::cfg::BlockId;
use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role, first_of_each_cause};
use crate::analysis::footprint::{Columns, columns, operands_read};
use crate::analysis::loads::register_of;
use crate::analysis::pending::{Pending, barriers_behind_waits};
use crate::diagnostic::{Diagnostic, Findings, Severity};
use crate::isa::generic::Computation;
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::Resolution;
use crate::rules::{Checker, Code, labelled, rule};

rule! {
    /// ## What it does
    /// Finds loads and stores of Tensor Memory after a `mma`, `cp` or `shift` of the same thread with no
    /// wait on an mbarrier and no barrier on any path in between.
    ///
    /// - A barrier counts only if a thread can have waited on an mbarrier before it.
    /// - Accesses that are provably disjoint are not reported.
    /// - In a loop, a wait after the load does not order the operations of the next iteration. There, loads
    ///   and stores of the same columns are reported that are always reached before the first wait.
    /// - Elsewhere, accesses by a warp that executes none of the waits are reported.
    /// - A wait that only a parameter of the kernel skips is a warning.
    ///
    /// ## Why is this bad?
    /// The operation is asynchronous: `ld` reads the accumulator before the multiply is complete, `st`
    /// overwrites what it reads.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// WAIT:
    /// mbarrier.try_wait.parity.shared::cta.b64 p, [mbar], 0;
    /// @!p bra WAIT;
    /// tcgen05.fence::after_thread_sync;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.6.2.1.1 and 9.7.16.6.4.2
    ResultReadEarly Function check
}

/// Whether threads may go past a wait.
fn is_waited_for_in_part(flow: &Flow<'_>) -> bool {
    let cfg = flow.cfg();
    flow.events().iter().filter(|event| event.action == Action::MbarrierWait).any(|event| {
        cfg.block_of(event.instruction).is_some_and(|block| !cfg.post_dominates(block, BlockId(0)))
    })
}

/// Whether an operation is started in a loop.
fn happens_in_loop(flow: &Flow<'_>) -> bool {
    let starts = |event: &Event| {
        flow.operation(*event).is_some_and(|operation| Pending::Operation.started_by(operation))
    };
    let is_in_loop = |event: &Event| {
        flow.cfg().block_of(event.instruction).is_some_and(|block| flow.cfg().is_in_loop(block))
    };
    flow.events().iter().any(|event| starts(event) && is_in_loop(event))
}

/// The instructions at which something may be waited for, in the order of the text.
fn waiting(flow: &Flow<'_>, role: impl Fn(Event) -> Role) -> Vec<u32> {
    let waits = |event: &&Event| match event.action {
        Action::Call(callee) => flow.all.summary(callee).is_none_or(|summary| {
            summary.unknown || summary.events.iter().any(|inner| role(*inner) == Role::Discharge)
        }),
        _ => role(**event) == Role::Discharge,
    };
    flow.events().iter().filter(waits).map(|event| event.instruction).collect()
}

/// Whether a warp is known that reaches the end of an iteration and executes none of the waits on the path.
fn is_unordered_in_warp(flow: &Flow<'_>, between: Between, waits: &[u32]) -> bool {
    let executing = flow.executing(None);
    let cfg = flow.cfg();
    let Some(from) = cfg.block_of(between.from) else { return false };
    // The thread that issues the operation arrives at a barrier of all without having waited for it; at
    // another one, somebody else may arrive who has.
    let hands_over = |event: &&Event| {
        let raw = &flow.unit.module.instructions[event.instruction as usize];
        let is_of_all = flow.unit.module.guard(raw).is_none()
            && cfg.block_of(event.instruction).is_some_and(|block| cfg.post_dominates(block, from));
        event.action == Action::Barrier && !is_of_all
    };
    let barriers = flow.events().iter().filter(hands_over).map(|event| event.instruction);
    let mut waits: Vec<u32> = waits.iter().copied().chain(barriers).collect();
    waits.sort_unstable();
    let Some(reads) = executing.of(between.to) else { return false };
    let waiting: Option<Vec<_>> = waits.iter().map(|wait| executing.of(*wait)).collect();
    let Some(waiting) = waiting else { return false };
    let mut judged: FxHashSet<Vec<u32>> = FxHashSet::default();
    reads.certain_warps().any(|warp| {
        let of_warp = waits.iter().zip(&waiting).filter(|(_, it)| it.possible_lanes(warp) != 0);
        let waits: Vec<u32> = of_warp.map(|(wait, _)| *wait).collect();
        let is_new = judged.insert(waits.clone());
        is_new && !between.passes(flow.cfg(), &flow.facts.budget, &waits)
    })
}

/// Whether an instruction is executed whenever control reaches it again: its guard, if it has one, is
/// the same in each iteration, or an election.
fn is_repeated(flow: &Flow<'_>, instruction: u32) -> bool {
    let module = &flow.unit.module;
    if module.guard(&module.instructions[instruction as usize]).is_none() {
        return true;
    }
    let Resolution::Register(register) = flow.unit.symbols.guard(instruction) else { return false };
    let view = flow.facts.view(flow.unit);
    let Some(only) = view.only(instruction, register) else { return false };
    let made = view.definitions.get(only).instruction;
    flow.unit.operations.of(made).computes() == Computation::Elect
        || flow.cfg().block_of(made).is_some_and(|block| !flow.cfg().is_in_loop(block))
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        // Most functions have only one of both.
        let happens = |wanted: &dyn Fn(Pending) -> bool| {
            let mut events = flow.summary().into_iter().flat_map(|summary| &summary.events);
            events.any(|event| flow.operation(*event).and_then(Pending::of).is_some_and(wanted))
        };
        let is_operation = |it: Pending| it == Pending::Operation;
        if !happens(&is_operation) || !happens(&|it| !is_operation(it)) {
            continue;
        }
        let barriers = LazyCell::new(|| barriers_behind_waits(&flow));
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::MbarrierWait | Action::Unknown, _) => Role::Discharge,
            (Action::Barrier, _) => {
                Role::Discharge.only_if(!flow.is_own(event) || barriers.contains(&event.instruction))
            }
            (_, Some(operation)) => match Pending::of(operation) {
                Some(Pending::Operation) => Role::Gen,
                Some(Pending::Load | Pending::Store) => Role::Query,
                None => Role::None,
            },
            _ => Role::None,
        };
        // The operands that are read matter to stores only.
        let has_stores = happens(&|it| it == Pending::Store);
        let read = |event: Event| if has_stores { operands_read(&flow, event) } else { SmallVec::new() };
        // Paths with a wait and paths without may follow from the same test.
        let kind = |event: Event| {
            let stores = flow.operation(event) == Some(Operation::St);
            (columns(&flow, event), read(event), stores)
        };
        let pairs = flow.pairs_of_kinds(role, kind, |(result, operands, _), (access, _, stores)| {
            let Some(access) = access else { return true };
            let disjoint = |other: &Option<Columns>| other.is_some_and(|it| flow.are_disjoint(access, &it));
            !(disjoint(result) && (!stores || operands.iter().all(disjoint)))
        });
        let mut pairs = pairs;
        let mut by_warp: FxHashSet<(u32, u32)> = FxHashSet::default();
        let mut skipped: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        if happens_in_loop(&flow) || is_waited_for_in_part(&flow) {
            // Of what may be waited for and may be not: what comes first is what counts.
            let at_once = flow.pairs_of_kinds_killing(
                |event| match role(event) {
                    Role::Discharge => Role::Kill,
                    // What another thread has waited for may be told by a flag.
                    _ if event.action == Action::Acquire => Role::Kill,
                    role => role,
                },
                |reach, operations| {
                    let mut addressed = Vec::new();
                    for (fact, event) in operations {
                        let touched =
                            operands_read(&flow, *event).into_iter().chain([columns(&flow, *event)]);
                        let registers = touched.flatten().filter_map(|it| register_of(it.place().root));
                        addressed.extend(registers.map(|register| (*fact, register)));
                    }
                    flow.kill_at_writes(reach, addressed);
                },
                kind,
                |(result, operands, _), (access, _, stores)| {
                    let Some(access) = access else { return false };
                    let overlaps = |other: &Option<Columns>| other.is_some_and(|it| it.overlaps(access));
                    overlaps(result) || *stores && operands.iter().any(overlaps)
                },
            );
            let known: FxHashSet<u32> = pairs.iter().map(|pair| pair.first.instruction).collect();
            let waits = LazyCell::new(|| waiting(&flow, role));
            let by_parameter = LazyCell::new(|| flow.branches_by_parameter());
            for pair in at_once {
                let between =
                    Between { from: pair.from, to: pair.to, begins_again: is_repeated(&flow, pair.from) };
                if known.contains(&pair.first.instruction) {
                    continue;
                }
                if !between.passes(flow.cfg(), &flow.facts.budget, &waits) {
                    pairs.push(pair);
                } else if is_unordered_in_warp(&flow, between, &waits) {
                    by_warp.insert((pair.from, pair.to));
                    pairs.push(pair);
                } else if let Some(branch) = flow.skipped_by(&by_parameter, pair, &waits) {
                    skipped.insert((pair.from, pair.to), branch);
                    pairs.push(pair);
                }
            }
        }
        for pair in first_of_each_cause(pairs) {
            let first = flow.operation(pair.first).map_or("", Operation::name);
            let then = flow.operation(pair.then).map_or("", Operation::name);
            let branch = skipped.get(&(pair.from, pair.to));
            let passes = |event: &&Event| {
                let between = Between { from: pair.from, to: pair.to, begins_again: false };
                between.passes(flow.cfg(), &flow.facts.budget, &[event.instruction])
            };
            let is_by_warp = by_warp.contains(&(pair.from, pair.to));
            let mut barriers = flow.events().iter().filter(|event| event.action == Action::Barrier);
            let barrier = if is_by_warp || branch.is_some() { None } else { barriers.find(passes) };
            let finding = Diagnostic::new(
                Code::ResultReadEarly,
                flow.span(pair.then),
                format!("`tcgen05.{then}` can execute before the `tcgen05.{first}` is complete"),
                if is_by_warp {
                    "a warp gets here that waits on no mbarrier before"
                } else if branch.is_some() {
                    "one path to here waits on no mbarrier"
                } else if barrier.is_some() {
                    "no wait on an mbarrier on any path to here"
                } else {
                    "no wait on an mbarrier and no barrier on any path to here"
                },
            )
            .label(flow.span(pair.first), "still under way");
            let finding = match barrier {
                Some(barrier) => finding.label(
                    flow.unit.module.instructions[barrier.instruction as usize].opcode,
                    "no thread has waited on an mbarrier before this barrier",
                ),
                None => finding,
            };
            // For some numbers that a kernel is given there is a wait.
            let finding = match branch {
                Some(branch) => finding
                    .label(
                        flow.unit.module.instructions[*branch as usize].opcode,
                        "a parameter of the kernel decides here whether to wait",
                    )
                    .severity(Severity::Warning),
                None => finding,
            };
            // Of what the function is given, it depends on the call.
            let meeting = columns(&flow, pair.first).zip(columns(&flow, pair.then));
            let meeting = meeting.and_then(|(first, then)| flow.meeting_call(&first, &then));
            let finding = match meeting {
                Some(call) => finding.label(call, "in this call they may have columns in common"),
                None => labelled(finding, &flow, pair),
            };
            findings.push(
                finding
                    .note(format!(
                        "completion of `tcgen05.{first}` is observed by waiting on the mbarrier that \
                     `tcgen05.commit` signals (PTX ISA, 9.7.16.6.2.1.1)"
                    ))
                    .help(
                        "wait with `mbarrier.try_wait` on the mbarrier of the `tcgen05.commit`, then execute \
                     `tcgen05.fence::after_thread_sync`",
                    ),
            );
        }
    }
}
