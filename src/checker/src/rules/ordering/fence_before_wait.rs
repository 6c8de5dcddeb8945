use std::cell::LazyCell;

use rustc_hash::FxHashSet;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role};
use crate::analysis::loads::Concern;
use crate::analysis::pending::{Pending, Threads, Transfer, pending_loads, pending_stores, stores_unordered};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::ordering::must_be_waited_for;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `tcgen05.fence::before_thread_sync` after a `ld` or `st` without a `wait` in between.
    ///
    /// These cases are not reported:
    ///
    /// - A load is complete when one of its registers has been used, or a register of a later load of the
    ///   same columns.
    /// - A load under a condition of its own is not reported if nothing uses its result.
    /// - If it is known which thread gets the incomplete result, or if the same thread continues with it,
    ///   another rule reports it.
    /// - A `wait::ld` between the fence and the signal is as good as one before the fence: a load writes
    ///   nothing that another thread must see.
    ///
    /// ## Why is this bad?
    /// The fence orders operations, but does not wait for them. The thread that is signaled next may
    /// overwrite what is still read, or read what is not written yet.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// tcgen05.fence::before_thread_sync;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// tcgen05.wait::st.sync.aligned;
    /// tcgen05.fence::before_thread_sync;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.4.4
    FenceBeforeWait Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        for transfer in [Transfer::Load, Transfer::Store] {
            let (access, loads) = (transfer.pending(), transfer == Transfer::Load);
            let role = |event: Event| match (event.action, flow.operation(event)) {
                (Action::Unknown, _) => Role::Kill,
                (_, Some(Operation::FenceBefore)) => Role::Query,
                (_, Some(operation)) => access.role(operation),
                _ => Role::None,
            };
            let pairs = if loads {
                pending_loads(
                    &flow,
                    role,
                    |reach, loads| flow.kill_where_read_again(reach, loads),
                    |pair| {
                        if flow.accompanies(pair.first, pair.then) {
                            Concern::Yes
                        } else if flow.mutually_exclusive(pair.first, pair.then) {
                            Concern::No
                        } else {
                            Concern::IfLive
                        }
                    },
                )
            } else {
                pending_stores(&flow, Threads::Same, role)
            };
            let (name, wait) = (transfer.name(), transfer.wait());
            let said = LazyCell::new(|| said_otherwise(&flow, transfer));
            for pair in pairs {
                if said.contains(&pair.first.instruction) {
                    continue;
                }
                if loads && is_waited_for_before_signal(&flow, pair.then, access) {
                    continue;
                }
                findings.push(
                    Diagnostic::new(
                        Code::FenceBeforeWait,
                        flow.span(pair.then),
                        format!(
                            "`tcgen05.fence::before_thread_sync` before the `tcgen05.{name}` is waited for"
                        ),
                        "the fence does not wait",
                    )
                    .label(flow.span(pair.first), "may still be under way")
                    .note(must_be_waited_for(name))
                    .help(format!("put `tcgen05.{wait}.sync.aligned;` before the fence")),
                );
            }
        }
    }
}

/// The loads or stores that another rule reports, because it is known which thread needed the wait.
fn said_otherwise(flow: &Flow<'_>, transfer: Transfer) -> FxHashSet<u32> {
    let handed_over = flow.handovers().iter().filter(|it| it.transfer == transfer && it.then.is_some());
    let mut said: FxHashSet<u32> = handed_over.map(|it| it.pair.first.instruction).collect();
    if transfer == Transfer::Store {
        said.extend(stores_unordered(flow));
    }
    said
}

/// Whether the wait follows the fence in the same block, and comes before anything that another
/// thread can notice: the operations are complete when the threads synchronize.
fn is_waited_for_before_signal(flow: &Flow<'_>, fence: Event, access: Pending) -> bool {
    let Some(block) = flow.cfg().block_of(fence.instruction) else { return false };
    let rest = fence.instruction + 1..flow.cfg().block(block).instructions.end;
    let first =
        flow.events().iter().filter(|event| rest.contains(&event.instruction)).find_map(|event| {
            match (event.action, flow.operation(*event)) {
                (_, Some(operation)) if access.role(operation) == Role::Kill => {
                    let raw = &flow.unit.module.instructions[event.instruction as usize];
                    Some(flow.unit.module.guard(raw).is_none())
                }
                (_, Some(Operation::Commit)) => Some(false),
                (Action::Tensor { .. } | Action::ProxyFence | Action::BulkLoad | Action::AsyncCopy, _) => {
                    None
                }
                (
                    Action::MbarrierWait
                    | Action::MbarrierArrive
                    | Action::BarrierArrive
                    | Action::Barrier
                    | Action::WarpBarrier
                    | Action::SharedStore
                    | Action::SharedUpdate
                    | Action::Acquire
                    | Action::Call(_)
                    | Action::Unknown,
                    _,
                ) => Some(false),
            }
        });
    first == Some(true)
}
