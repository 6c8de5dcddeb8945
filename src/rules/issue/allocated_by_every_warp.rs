use crate::analysis::flow::Flow;
use crate::analysis::footprint;
use crate::analysis::places::SlotRoot;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::rules::{Checker, Code, is_always_executed, rule};

rule! {
    /// ## What it does
    /// Finds an allocation that every warp of a block executes, and writes to the same place, in a
    /// kernel whose `.reqntid` gives its blocks several warps.
    ///
    /// ## Why is this bad?
    /// One warp of a CTA allocates for all of them. Each warp that does gets columns of its own, and of
    /// all their addresses the slot has only the last: the others are never deallocated.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 128, 1, 1
    /// {
    ///     .reg .b32 taddr;
    ///     .shared .align 4 .b32 slot;
    ///     tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    ///     bar.sync 0;
    ///     ld.shared.b32 taddr, [slot];
    ///     tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 128, 1, 1
    /// {
    ///     .reg .b32 taddr, warp;
    ///     .reg .pred first;
    ///     .shared .align 4 .b32 slot;
    ///     mov.u32 warp, %tid.x;
    ///     setp.lt.u32 first, warp, 32;
    ///     @first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    ///     bar.sync 0;
    ///     ld.shared.b32 taddr, [slot];
    ///     bar.sync 0;
    ///     @first tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1.2 and 9.7.16.5
    AllocatedByEveryWarp Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some((threads, directive)) = checker.required_threads(flow.facts.function) else { continue };
        if threads <= 32 {
            continue;
        }
        for event in flow.events() {
            let Some(Instruction::Alloc(alloc)) = flow.instruction(*event) else { continue };
            let slot = footprint::slot(&flow, *event, &alloc.dst);
            let is_one_place = slot.is_some_and(|slot| !matches!(slot.root, SlotRoot::Register(_)));
            if !is_one_place || !is_always_executed(&flow, *event) {
                continue;
            }
            findings.push(
                Diagnostic::new(
                    Code::AllocatedByEveryWarp,
                    flow.span(*event),
                    "every warp of the block executes this `tcgen05.alloc`",
                    "no condition on the way selects a warp",
                )
                .label(alloc.dst.span, "all of them write here")
                .label(directive, format!("{threads} threads are {} warps", (threads + 31) / 32))
                .note("Tensor Memory must be allocated by a single warp of a CTA (PTX ISA, 9.7.16.1.2)")
                .help("let one warp allocate, and the others load the address behind a barrier"),
            );
        }
    }
}
