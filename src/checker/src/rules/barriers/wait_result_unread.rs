use rustc_hash::FxHashSet;

use crate::analysis::flow::Flow;
use crate::analysis::mbarriers::{Use, Used};
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `mbarrier.try_wait` and `mbarrier.test_wait` whose result nothing reads, if nothing else in
    /// the kernel waits on the mbarrier.
    ///
    /// ## Why is this bad?
    /// `mbarrier.test_wait` never waits, and `mbarrier.try_wait` gives up after some time. Only the result
    /// says whether the phase is complete.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred done, elected;
    ///     .shared .align 8 .b64 full, ready;
    ///     elect.sync _|elected, -1;
    ///     @elected mbarrier.init.shared::cta.b64 [full], 1;
    ///     @elected mbarrier.init.shared::cta.b64 [ready], 1;
    ///     bar.sync 0;
    ///     @elected mbarrier.arrive.shared::cta.b64 _, [ready];
    /// READY:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [ready], 0;
    ///     @!done bra READY;
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
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
    ///     .reg .pred done, elected;
    ///     .shared .align 8 .b64 full, ready;
    ///     elect.sync _|elected, -1;
    ///     @elected mbarrier.init.shared::cta.b64 [full], 1;
    ///     @elected mbarrier.init.shared::cta.b64 [ready], 1;
    ///     bar.sync 0;
    ///     @elected mbarrier.arrive.shared::cta.b64 _, [ready];
    /// READY:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [ready], 0;
    ///     @!done bra READY;
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.13.15.16
    WaitResultUnread Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let used = flow.mbarriers();
        // Of what nobody looks at, nothing follows: it is no event.
        let is_read = |wait: &Used| flow.event_at(wait.instruction).is_some();
        let waits = || used.iter().filter(|it| it.how == Use::Waits);
        if flow.summary().is_none_or(|summary| summary.unknown) || waits().all(is_read) {
            continue;
        }
        // Where nothing waits at all, another rule says it.
        let read: Option<Vec<_>> = waits().filter(|it| is_read(it)).map(|it| it.mbarrier).collect();
        let of_callees = flow.mbarriers_of_callees(|how| how == Use::Waits);
        let Some((read, of_callees)) = read.zip(of_callees) else { continue };
        let read = flow.several(read.into_iter().chain(of_callees).map(|it| (it, ())));
        if read.is_empty() {
            continue;
        }
        let mut reported = FxHashSet::default();
        for wait in waits().filter(|it| !is_read(it)) {
            let Some(mbarrier) = wait.mbarrier else { continue };
            if flow.may_be_one_of(&mbarrier, &read) || !reported.insert(mbarrier) {
                continue;
            }
            let opcode = checker.unit.module.instructions[wait.instruction as usize].opcode;
            findings.push(
                Diagnostic::new(
                    Code::WaitResultUnread,
                    opcode,
                    "nothing looks whether the phase of this mbarrier is over",
                    "nothing reads the result",
                )
                .label(wait.span, "nothing else in the kernel waits on this one")
                .note(
                    "`mbarrier.try_wait` returns false where the phase is not over within a time limit, \
                     `mbarrier.test_wait` at once (PTX ISA, *mbarrier.test_wait, mbarrier.try_wait*)",
                )
                .help("try again until the result is true: `@!done bra WAIT;`"),
            );
        }
    }
}
