use crate::analysis::cfg::{BlockId, Cfg};
use crate::analysis::events::Action;
use crate::analysis::flow::Flow;
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
        let waits = Waits::new(checker, &flow);
        let Some(copy) = copies.find(|event| !waits.may_follow(&flow, event.instruction)) else { continue };
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

/// Where a kernel waits for copies, or has an mbarrier track them.
struct Waits {
    instructions: Vec<u32>,
    /// By block: whether a path of one edge or more leads from there to one of them.
    leading: Vec<bool>,
}

impl Waits {
    fn new(checker: &Checker<'_>, flow: &Flow<'_>) -> Self {
        let Checker { unit, component, .. } = *checker;
        let own = flow.facts.function;
        let waits = |instruction: u32| {
            matches!(
                unit.operations.of(instruction).synchronization(),
                Synchronization::AsyncCopyWait | Synchronization::AsyncCopyArrive
            )
        };
        let callees_wait =
            component.functions.iter().any(|it| *it != own && instructions(unit, *it).any(waits));
        let calls = flow.events().iter().filter(|event| matches!(event.action, Action::Call(_)));
        let mut instructions: Vec<u32> = instructions(unit, own).filter(|it| waits(*it)).collect();
        if callees_wait {
            instructions.extend(calls.map(|event| event.instruction));
        }
        let blocks = instructions.iter().filter_map(|it| flow.cfg().block_of(*it));
        let leading = flow.cfg().leaders(blocks);
        Self { instructions, leading }
    }

    /// Whether control can get from an instruction to one of them.
    fn may_follow(&self, flow: &Flow<'_>, instruction: u32) -> bool {
        let Some(block) = flow.cfg().block_of(instruction) else { return true };
        let leads = |BlockId(block): BlockId| self.leading[block as usize];
        let further_down = |it: &u32| *it > instruction && flow.cfg().block_of(*it) == Some(block);
        leads(block) || self.instructions.iter().any(further_down)
    }
}

fn instructions(unit: &Unit, function: u32) -> impl Iterator<Item = u32> {
    Cfg::instruction_range(&unit.module, unit.module.functions[function as usize].body)
}
