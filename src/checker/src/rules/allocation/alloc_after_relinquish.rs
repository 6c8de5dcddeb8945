use crate::analysis::flow::Role;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an `alloc` that can execute after `relinquish_alloc_permit`.
    ///
    /// ## Why is this bad?
    /// After a thread has given up the permit, the CTA must not allocate. The kernel hangs or faults.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    AllocAfterRelinquish Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        let pairs = flow.pairs(
            |event| match flow.operation(event) {
                Some(Operation::RelinquishAllocPermit) => Role::Gen,
                Some(Operation::Alloc) => Role::Query,
                _ => Role::None,
            },
            |_| true,
        );
        for pair in pairs {
            findings.push(
                Diagnostic::new(
                    Code::AllocAfterRelinquish,
                    flow.span(pair.then),
                    "`tcgen05.alloc` can execute after `tcgen05.relinquish_alloc_permit`",
                    "allocates",
                )
                .label(flow.span(pair.first), "the right to allocate was given up here")
                .note(
                    "it is illegal for a CTA to allocate after any of its threads executed \
                     `relinquish_alloc_permit` (PTX ISA, 9.7.16.7.1)",
                )
                .help("move `relinquish_alloc_permit` behind the last allocation"),
            );
        }
    }
}
