use crate::analysis::events::{Action, Event};
use crate::analysis::executing::Executing;
use crate::analysis::flow::{Condition, Flow};
use crate::diagnostic::{Diagnostic, Findings, Label};
use crate::isa::vocabulary::{CtaGroup, Operation};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `alloc`, `dealloc` and `relinquish_alloc_permit` with `.cta_group::2` that only one CTA of a
    /// pair executes: all of them are after a condition on `%cluster_ctarank` that is false in the other
    /// CTA.
    ///
    /// ## Why is this bad?
    /// One warp of each CTA of the pair must execute them. A single CTA waits for its peer forever, or the
    /// behavior is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, %cluster_ctarank;
    /// setp.eq.u32 p, r1, 0;
    /// @p tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.5 and 9.7.16.7.1
    PairInOneCta Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let of_pair = |event: &Event| flow.cta_group(*event) == Some(CtaGroup::Two);
        if !summary.events.iter().any(of_pair) {
            continue;
        }
        let ranks = [0, 1].map(|rank| flow.executing(Some(rank)));
        // Instructions under one condition are one mistake.
        let mut found: Vec<(Condition, u32, Diagnostic)> = Vec::new();
        for wanted in [Operation::Alloc, Operation::Dealloc, Operation::RelinquishAllocPermit] {
            let is_wanted = |event: &Event| flow.operation(*event) == Some(wanted) && of_pair(event);
            let events: Vec<Event> = flow
                .events()
                .iter()
                .copied()
                .filter(|event| match event.action {
                    Action::Call(callee) => {
                        flow.all.summary(callee).is_some_and(|inner| inner.events.iter().any(is_wanted))
                    }
                    _ => is_wanted(event),
                })
                .collect();
            let executes = |executing: &Executing<'_>| {
                let somebody = |event: &&Event| {
                    executing.of(event.instruction).is_none_or(|executes| executes.is_somebody())
                };
                events.iter().find(somebody)
            };
            let [first, second] = [&ranks[0], &ranks[1]].map(executes);
            let (event, with, without) = match (first, second) {
                (Some(event), None) => (event, 0, 1),
                (None, Some(event)) => (event, 1, 0),
                (Some(_), Some(_)) | (None, None) => continue,
            };
            let name = wanted.name();
            let condition = flow.condition(*event);
            let known = found.iter_mut().find(|(known, rank, _)| (*known, *rank) == (condition, with));
            if let Some((.., known)) = known {
                known.labels.push(Label::new(flow.span(*event), format!("nor to this `tcgen05.{name}`")));
                continue;
            }
            let finding = Diagnostic::new(
                Code::PairInOneCta,
                flow.span(*event),
                format!("only one CTA of the pair executes `tcgen05.{name}.cta_group::2`"),
                format!("the CTA of rank {with} gets here, that of rank {without} does not"),
            )
            .note(
                "with `.cta_group::2` one warp of each of the two CTAs executes it (PTX ISA, 9.7.16.5, Table \
                 46)",
            )
            .help("let both CTAs execute it: the condition on the rank is for `mma`, `cp` and `commit`");
            found.push((condition, with, finding));
        }
        findings.extend(found.into_iter().map(|(.., finding)| finding));
    }
}
