use std::cell::LazyCell;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Role, first_of_each_cause};
use crate::analysis::footprint::{Columns, columns, operands_read};
use crate::analysis::pending::{Pending, barriers_behind_waits};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, labelled, rule};

rule! {
    /// ## What it does
    /// Finds loads and stores of Tensor Memory behind a `mma`, `cp` or `shift` of the same thread
    /// with no wait on an mbarrier and no barrier on any path between. A barrier counts only if a thread
    /// can have waited on an mbarrier before it. Accesses that are provably disjoint are left alone.
    ///
    /// ## Why is this bad?
    /// The operation is asynchronous: `ld` reads the accumulator before the multiply is done, `st`
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
        // Paths with a wait and paths without may follow from the same test.
        let kind = |event: Event| {
            let stores = flow.operation(event) == Some(Operation::St);
            (columns(&flow, event), operands_read(&flow, event), stores)
        };
        let pairs = flow.pairs_of_kinds(role, kind, |(result, operands, _), (access, _, stores)| {
            let Some(access) = access else { return true };
            let disjoint = |other: &Option<Columns>| other.is_some_and(|it| flow.are_disjoint(access, &it));
            !(disjoint(result) && (!stores || operands.iter().all(disjoint)))
        });
        for pair in first_of_each_cause(pairs) {
            let first = flow.operation(pair.first).map_or("", Operation::name);
            let then = flow.operation(pair.then).map_or("", Operation::name);
            let finding = Diagnostic::new(
                Code::ResultReadEarly,
                flow.span(pair.then),
                format!("`tcgen05.{then}` can execute before the `tcgen05.{first}` is complete"),
                "no wait on an mbarrier and no barrier on any path to here",
            )
            .label(flow.span(pair.first), "still under way");
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
