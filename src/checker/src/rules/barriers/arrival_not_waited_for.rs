use rustc_hash::FxHashSet;

use crate::analysis::flow::Flow;
use crate::analysis::mbarriers::{Use, Used};
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an arrival at an mbarrier that nothing in the whole kernel waits on, if it is known which
    /// mbarriers the kernel waits on. `commit-not-waited-for` reports a `tcgen05.commit`, and
    /// `copy-never-waited-for` a bulk copy.
    ///
    /// ## Why is this bad?
    /// An arrival says that something is done: that a buffer has been read or written. If nobody waits for
    /// it, the buffer may be overwritten or read at any time.
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
    ///     mbarrier.arrive.shared::cta.b64 _, [full];
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
    ///     mbarrier.arrive.shared::cta.b64 _, [empty];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    /// WAIT_EMPTY:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [empty], 0;
    ///     @!done bra WAIT_EMPTY;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2.1.1; *mbarrier.arrive*
    ArrivalNotWaitedFor Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let used = flow.mbarriers();
        if !used.iter().any(|it| it.how == Use::Arrives) {
            continue;
        }
        // Where nothing waits at all, another rule says it.
        let Some(waited) = flow.all_mbarriers(Use::Waits).filter(|all| !all.is_empty()) else { continue };
        // Where something is waited for at which nothing arrives, another rule says that one of the two is wrong.
        let signals = |it: &&Used| matches!(it.how, Use::Arrives | Use::Commits);
        let own: Option<Vec<_>> = used.iter().filter(signals).map(|it| it.mbarrier).collect();
        if let Some((own, of_callees)) = own.zip(flow.mbarriers_of_callees(Use::arrives)) {
            let signalled = flow.several(own.into_iter().chain(of_callees).map(|it| (it, ())));
            let is_signalled =
                |wait: &Used| wait.mbarrier.is_none_or(|it| flow.may_be_one_of(&it, &signalled));
            if !used.iter().filter(|it| it.how == Use::Waits).all(is_signalled) {
                continue;
            }
        }
        // What else signals it is more than an arrival.
        let besides = used.iter().filter(|it| matches!(it.how, Use::Commits | Use::Completes));
        let besides = flow.several(besides.filter_map(|it| Some((it.mbarrier?, ()))));
        let mut reported = FxHashSet::default();
        for arrival in used.iter().filter(|it| it.how == Use::Arrives) {
            let Some(mbarrier) = arrival.mbarrier else { continue };
            if flow.may_be_one_of(&mbarrier, waited) || !reported.insert(mbarrier) {
                continue;
            }
            if flow.may_be_one_of(&mbarrier, &besides) {
                continue;
            }
            findings.push(
                Diagnostic::new(
                    Code::ArrivalNotWaitedFor,
                    arrival.span,
                    "nothing in the kernel waits on the mbarrier that is arrived at here",
                    "no `mbarrier.try_wait` or `mbarrier.test_wait` names this one",
                )
                .help("wait on it before the next use of what this arrival hands over, or arrive at the one that is waited on"),
            );
        }
    }
}
