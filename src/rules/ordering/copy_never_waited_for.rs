use std::ops::Range;

use crate::analysis::cfg::Cfg;
use crate::analysis::events::Action;
use crate::analysis::flow::Flow;
use crate::analysis::reach::{Direction, Passed};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Synchronization;
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `cp.async` to shared memory behind which nothing can wait for it: no path leads from it to a
    /// `cp.async.wait_group`, a `cp.async.wait_all` or a `cp.async.mbarrier.arrive`. Of several copies the
    /// first is named. Kernels that call something unknown are left alone.
    ///
    /// ## Why is this bad?
    /// A copy is complete when its own thread has waited for it, or when the mbarrier is signalled that it
    /// told to track its copies. Barriers and fences order what is complete; `tcgen05.mma` then multiplies
    /// what was in shared memory before.
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
    /// PTX ISA, section 9.7.9.25.3
    CopyNeverWaitedFor Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let mut copies = flow.events().iter().filter(|event| event.action == Action::AsyncCopy).peekable();
        if copies.peek().is_none() || flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let Some(waited_for) = before_waits(checker, &flow) else { continue };
        let Some(copy) = copies.find(|event| !waited_for.has(flow.cfg(), event.instruction)) else {
            continue;
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
}

/// What leads to where a kernel waits for copies, or has an mbarrier track them; nothing if the budget does
/// not suffice.
fn before_waits(checker: &Checker<'_>, flow: &Flow<'_>) -> Option<Passed> {
    let Checker { unit, component, .. } = *checker;
    let own = flow.facts.function;
    let calls = flow.events().iter().filter(|event| matches!(event.action, Action::Call(_)));
    let calls: Vec<u32> = calls.map(|event| event.instruction).collect();
    let callees = component.functions.iter().copied().filter(|it| *it != own && !calls.is_empty());
    let of_callees: usize = callees.clone().map(|it| instructions(unit, it).len()).sum();
    let steps = flow.cfg().len() + flow.cfg().instructions().len() + of_callees;
    if !flow.facts.budget.take(steps as u64) {
        return None;
    }
    let waits = |instruction: &u32| {
        matches!(
            unit.operations.of(*instruction).synchronization(),
            Synchronization::AsyncCopyWait | Synchronization::AsyncCopyArrive
        )
    };
    let callees_wait = callees.flat_map(|it| instructions(unit, it)).any(|it| waits(&it));
    let calls = calls.into_iter().filter(|_| callees_wait);
    Some(Passed::new(flow.cfg(), Direction::Backward, flow.cfg().instructions().filter(waits).chain(calls)))
}

fn instructions(unit: &Unit, function: u32) -> Range<u32> {
    Cfg::instruction_range(&unit.module, unit.module.functions[function as usize].body)
}
