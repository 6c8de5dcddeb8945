use crate::analysis::events::Action;
use crate::analysis::flow::Flow;
use crate::analysis::sent::Overwritten;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a store or a copy into shared memory exactly where a bulk copy to global memory starts to read that the
    /// same thread issued before, with no `cp.async.bulk.wait_group` on the path between them, around a loop or not.
    /// In a variable of which nothing else is copied or multiplied, it also finds the store that fills it, where a loop
    /// repeats both and their addresses stay the same. Any `cp.async.bulk.wait_group` counts, whichever groups it leaves pending.
    ///
    /// ## Why is this bad?
    /// The bulk copy is asynchronous, and a barrier does not wait for it. It may still read its source, so that global
    /// memory gets what is written later.
    ///
    /// ## Example
    /// ```ptx
    /// st.shared.b32 [slot], r0;
    /// fence.proxy.async.shared::cta;
    /// cp.async.bulk.global.shared::cta.bulk_group [adesc], [slot], 16;
    /// cp.async.bulk.commit_group;
    /// st.shared.b32 [slot], r1;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// st.shared.b32 [slot], r0;
    /// fence.proxy.async.shared::cta;
    /// cp.async.bulk.global.shared::cta.bulk_group [adesc], [slot], 16;
    /// cp.async.bulk.commit_group;
    /// cp.async.bulk.wait_group.read 0;
    /// st.shared.b32 [slot], r1;
    /// ```
    ///
    /// ## References
    /// PTX ISA, *cp.async.bulk.wait_group*; *cp.async.bulk*
    BulkSourceOverwritten Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        report(&flow, findings);
    }
}

fn report(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    for Overwritten { copy, write } in flow.overwritten_while_sent() {
        let written = match write.action {
            Action::BulkLoad => "loads into its source",
            Action::AsyncCopy => "copies into its source",
            _ => "stores into its source",
        };
        findings.push(
            Diagnostic::new(
                Code::BulkSourceOverwritten,
                flow.span(write),
                "shared memory is overwritten while a bulk copy to global memory may still read it",
                written,
            )
            .label(flow.unit.module.instructions[copy as usize].opcode, "may still be under way")
            .note(
                "only `cp.async.bulk.wait_group` waits until the sources have been read, in the thread that issued the \
                 copies; a barrier does not (PTX ISA, *cp.async.bulk.wait_group*)",
            )
            .help(
                "put `cp.async.bulk.wait_group.read 0;` in the thread that issues the copy, before the barrier after \
                 which others write",
            ),
        );
    }
}
