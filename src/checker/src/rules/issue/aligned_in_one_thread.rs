use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::analysis::events::{Action, Event};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Computation;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `.sync.aligned` instructions that are guarded by, or can be reached only through, a condition
    /// that is true for one thread of a warp.
    ///
    /// ## Why is this bad?
    /// All threads of the warp must execute them together. A single thread waits for the others forever, or
    /// the behavior is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// elect.sync _|p, -1;
    /// @p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.5
    AlignedInOneThread Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        // A call counts as the contents of the function.
        let aligned = |event: &Event| flow.is_aligned(*event);
        let mut concerned: SmallVec<[(Event, Event); 16]> = SmallVec::new();
        for event in flow.events() {
            match event.action {
                Action::Tensor { .. } if aligned(event) => concerned.push((*event, *event)),
                Action::Call(callee) => {
                    let inner = flow
                        .all
                        .summary(callee)
                        .and_then(|summary| summary.events.iter().find(|it| aligned(it)));
                    concerned.extend(inner.map(|inner| (*event, *inner)));
                }
                _ => {}
            }
        }
        if concerned.is_empty() {
            continue;
        }
        let uniformity = flow.uniformity();
        let view = flow.facts.view(flow.unit);
        // One election with many loads after it is one mistake.
        let mut found: BTreeMap<u32, Vec<(Event, Event)>> = BTreeMap::new();
        for (event, inner) in concerned {
            if let Some(cause) = uniformity.elected_by(&view, event.instruction) {
                found.entry(cause).or_default().push((event, inner));
            }
        }
        for (cause, offences) in found {
            let Some(((event, inner), more)) = offences.split_first() else { continue };
            let name = flow.operation(*inner).map_or("", Operation::name);
            let raw = &checker.unit.module.instructions[cause as usize];
            let elects = checker.unit.operations.of(cause).computes() == Computation::Elect;
            let mut finding = Diagnostic::new(
                Code::AlignedInOneThread,
                flow.span(*event),
                format!("`tcgen05.{name}` is `.sync.aligned`, but only one thread of the warp gets here"),
                "needs all threads of the warp",
            )
            .label(
                raw.opcode,
                if elects { "this elects one thread" } else { "this is true for one thread of a warp only" },
            );
            if event != inner {
                finding = finding.label(flow.span(*inner), "the instruction, in the function that is called");
            }
            if let Some((last, _)) = more.last() {
                finding = finding.label(flow.span(*last), format!("and {} more, up to here", more.len()));
            }
            findings.push(
                finding
                    .note(
                        "`.aligned` requires all threads of the warp to execute the same instruction; a whole \
                         warp issues it (PTX ISA, 9.7.16.5, Table 46)",
                    )
                    .help(format!("execute `tcgen05.{name}` outside of the elected branch")),
            );
        }
    }
}
