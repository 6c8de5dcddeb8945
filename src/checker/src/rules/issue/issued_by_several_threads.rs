use std::collections::BTreeSet;

use crate::analysis::events::Event;
use crate::analysis::executing::Executes;
use crate::analysis::flow::Flow;
use crate::analysis::footprint::accessed;
use crate::analysis::places::Root;
use crate::analysis::reached::Conditions;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule, through_calls};

rule! {
    /// ## What it does
    /// Finds `mma`, `cp`, `shift` and `commit` after a condition that is true for several threads of a
    /// warp, such as an inverted election. Also `mma`, `cp` and `shift` of one address that one thread of
    /// each of several warps executes, in a kernel whose `.reqntid` gives it several warps.
    ///
    /// ## Why is this bad?
    /// Each thread that executes one of these starts the whole operation. The product is added to the
    /// accumulator several times, and an mbarrier gets several arrivals.
    ///
    /// ## Example
    /// ```ptx
    /// elect.sync _|elected, -1;
    /// @!elected tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// elect.sync _|elected, -1;
    /// @elected tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.5
    IssuedBySeveralThreads Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let issued = flow.reached(|event| {
            matches!(
                flow.operation(event),
                Some(
                    Operation::Mma | Operation::MmaWs | Operation::Cp | Operation::Shift | Operation::Commit
                )
            )
        });
        let mut reported = BTreeSet::new();
        // In one function once, from wherever it is called.
        let mut named = BTreeSet::new();
        // Adjacent instructions are mostly queried together.
        let mut last: Option<(Conditions, Option<Issuers>)> = None;
        for reached in issued {
            let event = reached.event;
            let Some(operation) = flow.operation(event) else { continue };
            // Adjacent instructions have the same cause.
            let conditions = reached.conditions();
            if reported.contains(&conditions) {
                continue;
            }
            let issuers = match &last {
                Some((known, issuers)) if *known == conditions => *issuers,
                _ => {
                    // Of all threads, `issued-by-every-thread` says it.
                    let selected = reached.may_be_selected().then(|| reached.executes(None)).flatten();
                    let issuers = selected.map(|it| Issuers::of(&it));
                    last = Some((conditions.clone(), issuers));
                    issuers
                }
            };
            let Some(Issuers { threads_of_warp, warps }) = issuers else { continue };
            let name = operation.name();
            let (message, label) = if let Some(threads @ 2..) = threads_of_warp {
                (
                    format!("{threads} threads of a warp issue this `tcgen05.{name}`"),
                    "the condition holds for several threads",
                )
            } else {
                if warps < 2 || operation == Operation::Commit || !is_one_place(&flow, event) {
                    continue;
                }
                (
                    format!("one thread of each of {warps} warps issues this `tcgen05.{name}`"),
                    "no condition on the way selects one warp",
                )
            };
            let innermost = conditions.last().copied();
            reported.insert(conditions);
            if !named.insert(innermost) {
                continue;
            }
            let mut finding = Diagnostic::new(Code::IssuedBySeveralThreads, flow.span(event), message, label);
            if let Some(cause) = reached.parted_by() {
                finding = finding.label(cause, "the condition");
            }
            findings.push(
                through_calls(finding, &reached)
                    .note(
                        "an issue from a single thread initiates the operation (PTX ISA, 9.7.16.5, Table 46)",
                    )
                    .help("select one warp, and elect one of its threads with `elect.sync`"),
            );
        }
    }
}

/// How many execute an instruction.
#[derive(Clone, Copy)]
struct Issuers {
    threads_of_warp: Option<u32>,
    warps: usize,
}

impl Issuers {
    fn of(executes: &Executes) -> Self {
        Self { threads_of_warp: executes.threads_of_warp(), warps: executes.warps() }
    }
}

/// Whether the address that is written is the same in all warps.
fn is_one_place(flow: &Flow<'_>, event: Event) -> bool {
    let place =
        flow.instruction(event).and_then(accessed).and_then(|(address, _)| flow.place(event, address));
    place.is_some_and(|place| {
        matches!(place.root, Root::Slot(_) | Root::Literal) && place.offset.constant(32).is_some()
    })
}
