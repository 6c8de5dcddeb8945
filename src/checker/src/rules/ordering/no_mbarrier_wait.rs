use crate::analysis::events::Action;
use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds kernels that issue `mma`, `cp` or `commit`, while nothing in them or in the functions that
    /// they call waits on an mbarrier. A `try_wait` or `test_wait` whose result nothing reads is not a
    /// wait: it may return before the phase is complete.
    ///
    /// ## Why is this bad?
    /// No thread learns when the operations are complete. Their result is read too early, or the kernel
    /// exits while they execute.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];
    /// WAIT:
    /// mbarrier.try_wait.parity.shared::cta.b64 p, [mbar], 0;
    /// @!p bra WAIT;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2.1.1
    NoMbarrierWait Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        if summary.events.iter().any(|event| event.action == Action::MbarrierWait) {
            continue;
        }
        let of = |operations: &[Operation]| {
            summary.events.iter().rfind(|event| {
                flow.operation(**event).is_some_and(|operation| operations.contains(&operation))
            })
        };
        let issued = [Operation::Mma, Operation::MmaWs, Operation::Cp, Operation::Commit];
        let Some(event) = of(&[Operation::Commit]).or_else(|| of(&issued)) else { continue };
        let name = flow.operation(*event).map_or("", Operation::name);
        let kernel = checker.unit.module.functions[flow.function() as usize].name;
        findings.push(
            Diagnostic::new(
                Code::NoMbarrierWait,
                flow.span(*event),
                format!("nothing in kernel `{}` waits on an mbarrier", checker.unit.readable(kernel)),
                format!("nothing can tell when `tcgen05.{name}` is complete"),
            )
            .label(kernel, "no `mbarrier.try_wait` or `mbarrier.test_wait`")
            .note(
                "completion of `mma`, `cp` and `shift` is observed through the mbarrier that `commit` \
                 signals (PTX ISA, 9.7.16.6.2.1.1)",
            )
            .help("wait with `mbarrier.try_wait` on the mbarrier that `tcgen05.commit` signals"),
        );
    }
}
