use rustc_hash::FxHashSet;

use crate::analysis::events::Action;
use crate::analysis::flow::Flow;
use crate::analysis::groups::IdleWait;
use crate::analysis::mbarriers::{Use, Used};
use crate::analysis::reach::{Direction, Passed};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Synchronization;
use crate::rules::{Checker, Code, rule};
use crate::words::plural;

rule! {
    /// ## What it does
    /// Finds copies to shared memory that nothing can wait for.
    ///
    /// - A `cp.async` from which no path leads to a `cp.async.wait_group`, a `cp.async.wait_all` or a
    ///   `cp.async.mbarrier.arrive`. Of several copies the first is reported. Kernels that call an unknown
    ///   function are not checked.
    /// - A `cp.async.bulk` to shared memory whose mbarrier nothing in the whole kernel waits on, if it is
    ///   known which mbarriers the kernel waits on.
    /// - A `cp.async.wait_group N` that waits for nothing, because no more than N groups are committed on
    ///   any path to the first multiply, if nothing else writes shared memory.
    ///
    /// ## Why is this bad?
    /// A copy is complete when its own thread has waited for it, or when the mbarrier that tracks it is
    /// signaled. A bulk copy to shared memory is complete when its mbarrier is signaled. Barriers and
    /// fences order only what is complete. Without the wait, `tcgen05.mma` multiplies the old contents of
    /// shared memory.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .u64 from)
    /// {
    ///     .reg .b32 taddr, offset, to;
    ///     .reg .b64 source, adesc;
    ///     .shared .align 1024 .b8 tile[4096];
    ///     mov.u32 offset, %tid.x;
    ///     shl.b32 offset, offset, 4;
    ///     mov.u32 to, tile;
    ///     add.u32 to, to, offset;
    ///     ld.param.u64 source, [from];
    ///     cp.async.cg.shared.global [to], [source], 16;
    ///     fence.proxy.async.shared::cta;
    ///     bar.sync 0;
    ///     tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .u64 from)
    /// {
    ///     .reg .b32 taddr, offset, to;
    ///     .reg .b64 source, adesc;
    ///     .shared .align 1024 .b8 tile[4096];
    ///     mov.u32 offset, %tid.x;
    ///     shl.b32 offset, offset, 4;
    ///     mov.u32 to, tile;
    ///     add.u32 to, to, offset;
    ///     ld.param.u64 source, [from];
    ///     cp.async.cg.shared.global [to], [source], 16;
    ///     cp.async.wait_all;
    ///     fence.proxy.async.shared::cta;
    ///     bar.sync 0;
    ///     tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.9.25.3 and 9.7.9.25.4
    CopyNeverWaitedFor Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        of_groups(&flow, findings);
        in_bulk(&flow, findings);
    }
}

/// Bulk copies that signal an mbarrier which nothing waits on, for each mbarrier the first.
fn in_bulk(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let loads =
        |used: &&Used| flow.event_at(used.instruction).is_some_and(|event| event.action == Action::BulkLoad);
    let used = flow.mbarriers();
    let mut copies = used.iter().filter(loads).peekable();
    if copies.peek().is_none() || flow.summary().is_none_or(|summary| summary.unknown) {
        return;
    }
    let Some(waited) = flow.all_mbarriers(Use::Waits) else { return };
    let mut reported = FxHashSet::default();
    for copy in copies {
        let Some(mbarrier) = copy.mbarrier else { continue };
        if flow.may_be_one_of(&mbarrier, waited) || !reported.insert(mbarrier) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::CopyNeverWaitedFor,
                copy.span,
                "nothing waits for this bulk copy",
                "no `mbarrier.try_wait` or `mbarrier.test_wait` names this mbarrier",
            )
            .note("a bulk copy to shared memory is complete when its mbarrier says so (PTX ISA, 9.7.9.25.4)")
            .help("wait on this mbarrier before the data is read, or signal the one that is waited on"),
        );
    }
}

/// Copies in groups that nothing can wait for later, and waits that wait for none.
fn of_groups(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let mut copies = flow.events().iter().filter(|event| event.action == Action::AsyncCopy).peekable();
    if copies.peek().is_none() || flow.summary().is_none_or(|summary| summary.unknown) {
        return;
    }
    let Some(waited_for) = before_waits(flow) else { return };
    let Some(copy) = copies.find(|event| !waited_for.has(flow.cfg(), event.instruction)) else {
        if let Some(idle) = flow.idle_wait() {
            findings.push(waits_in_vain(flow, &idle));
        }
        return;
    };
    findings.push(
        Diagnostic::new(
            Code::CopyNeverWaitedFor,
            flow.span(*copy),
            "nothing waits for the `cp.async`",
            "may be under way until the kernel ends",
        )
        .note(
            "a copy is complete when its thread has waited for it, or when the mbarrier is signalled that \
             tracks it; barriers and fences do not wait for it (PTX ISA, 9.7.9.25.3)",
        )
        .help(
            "put `cp.async.wait_group` or `cp.async.wait_all` before the fence or barrier behind which the \
             data is read, or signal an mbarrier by `cp.async.mbarrier.arrive`",
        ),
    );
}

fn waits_in_vain(flow: &Flow<'_>, idle: &IdleWait) -> Diagnostic {
    let IdleWait { wait, left, committed, multiply } = *idle;
    let before = match committed {
        0 => "none is committed before".to_owned(),
        1 => "no more than 1 is committed before".to_owned(),
        several => format!("no more than {several} are committed before"),
    };
    let help = match committed.checked_sub(1) {
        Some(fewer) => format!("wait for one of them at least: `cp.async.wait_group {fewer};`"),
        None => "wait behind the `cp.async.commit_group`: `cp.async.wait_group 0;`".to_owned(),
    };
    Diagnostic::new(
        Code::CopyNeverWaitedFor,
        flow.unit.module.instructions[wait as usize].opcode,
        "nothing waits for the `cp.async` before the first multiply",
        format!("leaves {} alone, and {before}", plural(left as usize, "group")),
    )
    .label(flow.span(multiply), "may read what was in shared memory before the copies")
    .note(
        "`cp.async.wait_group N` waits until N or fewer of the most recent groups are pending \
         (PTX ISA, 9.7.9.25.3)",
    )
    .help(help)
}

/// What leads to where a kernel waits for copies, or has an mbarrier track them; nothing if the budget does
/// not suffice.
fn before_waits(flow: &Flow<'_>) -> Option<Passed> {
    let own = flow.function();
    let waits = |instruction: &u32| {
        matches!(
            flow.unit.operations.of(*instruction).synchronization(),
            Synchronization::AsyncCopyWait | Synchronization::AsyncCopyArrive
        )
    };
    let mut callees = flow.all.reachable([own]).into_iter().filter(|it| *it != own);
    let callees_wait = callees.any(|it| flow.instructions_of(it).any(|it| waits(&it)));
    let calls = flow.events().iter().filter(|event| callees_wait && matches!(event.action, Action::Call(_)));
    let all = flow.instructions_of(own).filter(waits).chain(calls.map(|event| event.instruction));
    let before = Passed::new(flow.cfg(), Direction::Backward, all);
    (!flow.facts.budget.is_spent()).then_some(before)
}
