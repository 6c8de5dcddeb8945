use rustc_hash::FxHashSet;

use crate::analysis::events::Event;
use crate::analysis::flow::Flow;
use crate::analysis::footprint::{self, AllColumns, Columns};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, Predicate};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds multiplies that add to an accumulator which nothing has initialized: `enable-input-d` is true
    /// whenever they execute, and nothing else in the kernel can write the accumulator. Every multiply into
    /// these columns adds to them, and every store, copy and shift is certainly to other columns. Only
    /// kernels that allocate their Tensor Memory are checked.
    ///
    /// ## Why is this bad?
    /// An allocation contains what an earlier kernel left there. The result is that content plus the
    /// product.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .b32 tid, taddr;
    ///     .reg .b64 adesc, bdesc;
    ///     .reg .pred first, elected;
    ///     .shared .align 4 .b32 slot;
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 first, tid, 32;
    ///     @first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    ///     bar.sync 0;
    ///     ld.shared.b32 taddr, [slot];
    ///     elect.sync _|elected, -1;
    ///     and.pred elected, elected, first;
    ///     @elected tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, 1;
    ///     bar.sync 0;
    ///     @first tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .b32 tid, taddr;
    ///     .reg .b64 adesc, bdesc;
    ///     .reg .pred first, elected;
    ///     .shared .align 4 .b32 slot;
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 first, tid, 32;
    ///     @first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    ///     bar.sync 0;
    ///     ld.shared.b32 taddr, [slot];
    ///     elect.sync _|elected, -1;
    ///     and.pred elected, elected, first;
    ///     @elected tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, 0;
    ///     bar.sync 0;
    ///     @first tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7.1 and 9.7.16.10.9
    AccumulatesFromStart Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let adding: Vec<Event> = flow.events().iter().copied().filter(|event| adds(&flow, *event)).collect();
        let allocates = |event: &Event| flow.operation(*event) == Some(Operation::Alloc);
        if adding.is_empty() || !summary.events.iter().any(allocates) {
            continue;
        }
        let writers = summary.events.iter().copied().filter(|event| writes(&flow, *event));
        let others: Vec<Event> = writers.filter(|event| !adds(&flow, *event)).collect();
        // Where functions that are called write, and how often, is not looked at.
        if !others.iter().all(|event| flow.is_own(*event)) {
            continue;
        }
        let others: Option<Vec<Columns>> =
            others.iter().map(|event| footprint::columns(&flow, *event)).collect();
        let Some(others) = others else { continue };
        let others = if others.is_empty() { None } else { Some(AllColumns::of(&others)) };
        let mut judged: FxHashSet<Option<Columns>> = FxHashSet::default();
        for multiply in adding {
            let accumulator = footprint::columns(&flow, multiply);
            if !judged.insert(accumulator) {
                continue;
            }
            let is_apart = |others: &Option<AllColumns>| {
                others.as_ref().zip(accumulator).is_some_and(|(others, own)| others.are_apart_from(&own))
            };
            let Some(Instruction::Mma(mma)) = flow.instruction(multiply) else { continue };
            if !others.as_ref().is_none_or(is_apart) {
                continue;
            }
            findings.push(
                Diagnostic::new(
                    Code::AccumulatesFromStart,
                    flow.span(multiply),
                    "this multiply adds to an accumulator that nothing in the kernel sets",
                    "what the allocation holds at first is added to the product",
                )
                .label(mma.enable_input_d.value.span(), "true, whenever this is executed")
                .note("`enable-input-d` false computes `D = A*B`, true `D = A*B + D` (PTX ISA, 9.7.16.10.9)")
                .help("let `enable-input-d` be false at the first multiply into the accumulator"),
            );
        }
    }
}

/// Whether an event may change what an accumulator holds.
fn writes(flow: &Flow<'_>, event: Event) -> bool {
    matches!(
        flow.operation(event),
        Some(Operation::Mma | Operation::MmaWs | Operation::St | Operation::Cp | Operation::Shift)
    )
}

/// Whether an event is a multiply of this function that adds to its accumulator whenever it is executed.
fn adds(flow: &Flow<'_>, event: Event) -> bool {
    let (Some(decoded), Some(Instruction::Mma(mma))) = (flow.decoded(event), flow.instruction(event)) else {
        return false;
    };
    let Predicate { negated, value, .. } = mma.enable_input_d;
    let known = flow.facts.value(flow.unit, decoded, &value).constant(1);
    flow.is_own(event) && known.is_some_and(|known| (known != 0) != negated)
}
