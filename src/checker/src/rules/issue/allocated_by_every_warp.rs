use std::collections::BTreeSet;

use crate::analysis::flow::Flow;
use crate::analysis::footprint;
use crate::analysis::places::{Root, SlotRoot};
use crate::analysis::reached::Reached;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Base, Instruction};
use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule, through_calls};
use crate::source::Spanned;

rule! {
    /// ## What it does
    /// Finds an allocation that several warps of a CTA execute and write to the same location, and a
    /// deallocation of one address by several warps, in a kernel whose `.reqntid` gives the number of
    /// warps. If only `.maxntid` gives it, the finding requires that a single warp executes the other of
    /// the two instructions.
    ///
    /// ## Why is this bad?
    /// One warp of a CTA allocates for all warps. If several do, each gets its own columns, but the slot
    /// holds only the last address: the other columns are never freed. If several warps free the columns,
    /// they are freed several times.
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
        let bounds = checker.launch_bounds(flow.function());
        let exact = bounds.threads();
        let Some(Spanned { value: threads, span: directive }) = exact.or_else(|| bounds.most_in_a_row())
        else {
            continue;
        };
        if threads <= THREADS_OF_WARP.into() {
            continue;
        }
        let all = usize::try_from(threads.div_ceil(THREADS_OF_WARP.into())).unwrap_or_default();
        let wanted = |event| matches!(flow.operation(event), Some(Operation::Alloc | Operation::Dealloc));
        // In one function once, from wherever it is called.
        let mut named = BTreeSet::new();
        let reached_all = flow.reached(wanted);
        // That there may be one warp only, the kernel does not take for granted where one is chosen.
        let by_one_warp = |operation: Operation| {
            let is_one = |reached: &Reached<'_>| {
                reached.executes(None).is_some_and(|it| it.by_warps().possible().is_power_of_two())
            };
            let mut executed = reached_all.iter().filter(|it| flow.operation(it.event) == Some(operation));
            executed.clone().all(is_one).then(|| executed.next()).flatten()
        };
        let (allocates, frees) = match exact {
            Some(_) => (None, None),
            None => (by_one_warp(Operation::Alloc), by_one_warp(Operation::Dealloc)),
        };
        for reached in &reached_all {
            let event = reached.event;
            let other = if flow.operation(event) == Some(Operation::Alloc) { frees } else { allocates };
            if exact.is_none() && other.is_none() {
                continue;
            }
            // The address that all of them name, and what it is.
            let (span, place, what, label) = match flow.instruction(event) {
                Some(Instruction::Alloc(alloc)) => {
                    let place = match alloc.dst.base {
                        Base::Register(_) => footprint::slot(&flow, event, &alloc.dst),
                        Base::Variable(_) => footprint::slot(&reached.flow(), reached.own(), &alloc.dst),
                    };
                    let place = place.map(|slot| slot.root);
                    let is_one = place
                        .is_some_and(|root| !matches!(root, SlotRoot::Register(_) | SlotRoot::Parameter(_)));
                    (alloc.dst.span, is_one, "alloc", "all of them write here")
                }
                Some(Instruction::Dealloc(dealloc)) => {
                    let place = flow.scalar_place(event, &dealloc.taddr).map(|place| place.root);
                    let is_one = place.is_some_and(|root| matches!(root, Root::Slot(_) | Root::Literal));
                    (dealloc.taddr.span(), is_one, "dealloc", "all of them deallocate this")
                }
                _ => continue,
            };
            let warps = match reached.executes(None) {
                Some(executes) if place => executes.certain_warps().take_while(|warp| *warp < all).count(),
                _ => continue,
            };
            if warps < 2 || !named.insert(event.instruction) {
                continue;
            }
            let (message, why) = if warps == all {
                (
                    format!("every warp of the block executes this `tcgen05.{what}`"),
                    "no condition on the way selects a warp",
                )
            } else {
                (
                    format!("{warps} warps of the block execute this `tcgen05.{what}`"),
                    "the conditions on the way select several warps",
                )
            };
            let finding = Diagnostic::new(Code::AllocatedByEveryWarp, flow.span(event), message, why);
            let finding = through_calls(finding, reached).label(span, label);
            let finding = match other {
                Some(other) => finding
                    .label(flow.span(other.event), "one warp executes this")
                    .label(directive, format!("at most {threads} threads are {all} warps")),
                None => finding.label(directive, format!("{threads} threads are {all} warps")),
            };
            findings.push(
                finding
                    .note(format!(
                        "Tensor Memory must be {what}ated by a single warp of a CTA (PTX ISA, 9.7.16.1.2)"
                    ))
                    .help(if what == "alloc" {
                        "let one warp allocate, and the others load the address behind a barrier"
                    } else {
                        "let one warp deallocate, behind a barrier that all of them wait at"
                    }),
            );
        }
    }
}
