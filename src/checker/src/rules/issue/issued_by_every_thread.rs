use std::collections::BTreeSet;

use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule, through_calls};

rule! {
    /// ## What it does
    /// Finds `mma`, `cp`, `shift` and `commit` of a kernel that no condition restricts to one thread: no
    /// condition is on the path, or only conditions that are the same for a whole warp.
    ///
    /// In a function that the kernel calls, the conditions of the call count as well.
    ///
    /// ## Why is this bad?
    /// Each thread that executes one of these starts the whole operation: 32 multiplies instead of one, and
    /// 32 arrivals at the mbarrier.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
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
    IssuedByEveryThread Kernel check
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
        if issued.is_empty() || flow.block_size().is_some_and(|size| size == [1, 1, 1]) {
            continue;
        }
        let mut reported = BTreeSet::new();
        let mut judged = BTreeSet::new();
        for reached in issued {
            // Adjacent instructions have the same cause.
            if !judged.insert(reached.conditions()) || reached.may_be_selected() {
                continue;
            }
            let event = reached.event;
            let raw = &checker.unit.module.instructions[event.instruction as usize];
            let is_guarded = checker.unit.module.guard(raw).is_some();
            if !reported.insert((reached.block(), is_guarded)) {
                continue;
            }
            let name = flow.operation(event).map_or("", Operation::name);
            let finding = Diagnostic::new(
                Code::IssuedByEveryThread,
                flow.span(event),
                format!("every thread of a warp issues this `tcgen05.{name}`"),
                "no condition on the way selects one thread",
            );
            findings.push(
                through_calls(finding, &reached)
                    .note(
                        "an issue from a single thread initiates the operation (PTX ISA, 9.7.16.5, Table 46)",
                    )
                    .help("elect a thread with `elect.sync _|p, -1;` and issue it under `@p`"),
            );
        }
    }
}
