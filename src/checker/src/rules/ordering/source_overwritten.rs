use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Role;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a store or a copy to shared memory at exactly the start of a matrix that an earlier `mma` or
    /// `cp` of the same thread reads, with no wait on an mbarrier and no barrier on any path in between.
    ///
    /// ## Why is this bad?
    /// The operation is asynchronous and may still read the matrix. Its sources must not be modified before
    /// it is complete.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, slot;
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// st.shared.b32 [slot], r0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, slot;
    /// shr.u32 r1, r1, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// WAIT:
    /// mbarrier.try_wait.parity.shared::cta.b64 p, [mbar], 0;
    /// @!p bra WAIT;
    /// st.shared.b32 [slot], r0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10
    SourceOverwritten Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        let role = |event: Event| match (event.action, flow.operation(event)) {
            (Action::MbarrierWait | Action::Barrier | Action::Acquire | Action::Unknown, _) => {
                Role::Discharge
            }
            (Action::SharedStore | Action::SharedUpdate | Action::AsyncCopy | Action::BulkLoad, _) => {
                Role::Query.only_if(flow.is_own(event))
            }
            (_, Some(Operation::Mma | Operation::MmaWs | Operation::Cp)) => {
                Role::Gen.only_if(flow.is_own(event))
            }
            _ => Role::None,
        };
        for pair in flow.first_pairs(role, |pair| flow.overwrites(pair.then, pair.first)) {
            let name = flow.operation(pair.first).map_or("", Operation::name);
            findings.push(
                Diagnostic::new(
                    Code::SourceOverwritten,
                    flow.span(pair.then),
                    format!("shared memory is overwritten while `tcgen05.{name}` may still read it"),
                    "writes where one of its matrices starts",
                )
                .label(flow.span(pair.first), "may still be under way")
                .note(
                    "the sources of the operation must not be modified before it is complete (PTX ISA, \
                     9.7.16.10)",
                )
                .help("wait on the mbarrier of a `tcgen05.commit` before the store"),
            );
        }
    }
}
