use rustc_hash::FxHashSet;

use crate::analysis::arrivals::Shortage;
use crate::analysis::flow::Flow;
use crate::analysis::mbarriers::{Mbarrier, Use, Used};
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a wait for a phase of an mbarrier at which nothing in the whole kernel arrives: no arrival and
    /// no `commit`. A copy does not count, as bytes alone complete no phase. The parity of the wait is 0,
    /// starts with 0, or is flipped or counted by a loop around the wait. Kernels that arrive at an unknown
    /// mbarrier are not checked.
    ///
    /// Also finds a wait for the first phase of an mbarrier whose count is larger than the number of
    /// arrivals that are possible before the phase completes: each thread arrives once only, or must wait
    /// for the mbarrier before it arrives again.
    ///
    /// ## Why is this bad?
    /// The wait never ends.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred done;
    ///     .shared .align 8 .b64 full, empty;
    ///     tcgen05.fence::after_thread_sync;
    ///     mbarrier.arrive.shared::cta.b64 _, [empty];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
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
    ///     .reg .pred done;
    ///     .shared .align 8 .b64 full, empty;
    ///     tcgen05.fence::after_thread_sync;
    ///     mbarrier.arrive.shared::cta.b64 _, [full];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2.1.1
    MbarrierNeverSignalled Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let used = flow.mbarriers();
        if !used.iter().any(|it| it.how == Use::Waits) {
            continue;
        }
        for Shortage { wait, initialised, expected, come } in flow.missing_arrivals() {
            findings.push(
                Diagnostic::new(
                    Code::MbarrierNeverSignalled,
                    wait.span,
                    format!(
                        "the mbarrier that is waited on here expects {expected} arrivals, and no more than {come} \
                         can come"
                    ),
                    "the first phase is never over",
                )
                .label(initialised.span, format!("initialised with {expected} here"))
                .help("initialise it with the number of threads and operations that arrive in each phase"),
            );
        }
        let own: Option<Vec<_>> = used.iter().filter(|it| it.how.arrives()).map(|it| it.mbarrier).collect();
        // A called function may signal anything.
        let Some((own, of_callees)) = own.zip(flow.mbarriers_of_callees(Use::arrives)) else { continue };
        let signalled = flow.several(own.into_iter().chain(of_callees).map(|it| (it, ())));
        // A kernel that signals nothing has other findings.
        if signalled.is_empty() {
            continue;
        }
        let mut never: Vec<(&Used, Mbarrier)> = Vec::new();
        for wait in used.iter().filter(|it| it.how == Use::Waits) {
            let Some(mbarrier) = wait.mbarrier else { continue };
            // With the other parity, the wait ends at once: the phase before the first counts as complete.
            if !flow.may_be_one_of(&mbarrier, &signalled) && flow.waits_for_first(wait) {
                never.push((wait, mbarrier));
            }
        }
        // If a loop over a ring is unrolled, each of its mbarriers has a wait of its own, and the remaining
        // iterations wait on any of them: that has one cause.
        let rings: FxHashSet<Mbarrier> =
            never.iter().map(|(_, it)| *it).filter(Mbarrier::is_of_ring).collect();
        let ring_of = |mbarrier: &Mbarrier| {
            let ring = rings.iter().filter(|it| flow.facts.budget.take(1) && it.is_of_same_ring(mbarrier));
            ring.max_by_key(|it| it.size()).copied()
        };
        let mut reported = FxHashSet::default();
        for (wait, mbarrier) in never {
            if !reported.insert(ring_of(&mbarrier).unwrap_or(mbarrier)) {
                continue;
            }
            // Bytes alone complete no phase.
            let may_be =
                |it: &&Used| it.how == Use::Completes && it.mbarrier.is_some_and(|it| it.may_be(&mbarrier));
            let finding = match used.iter().find(may_be) {
                Some(copy) => Diagnostic::new(
                    Code::MbarrierNeverSignalled,
                    wait.span,
                    "nothing in the kernel arrives at the mbarrier that is waited on here",
                    "no arrival and no `tcgen05.commit` names this one",
                )
                .label(copy.span, "only bytes are counted there")
                .note("a phase is over when all arrivals have come and all bytes that are expected")
                .help("arrive where the bytes are expected: `mbarrier.arrive.expect_tx`"),
                None => Diagnostic::new(
                    Code::MbarrierNeverSignalled,
                    wait.span,
                    "nothing in the kernel signals the mbarrier that is waited on here",
                    "no arrival, `tcgen05.commit` or copy names this one",
                )
                .help("wait on the mbarrier that is signalled, or signal this one"),
            };
            findings.push(finding);
        }
    }
}
