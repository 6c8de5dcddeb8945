use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::flow::{Flow, Role};
use crate::analysis::mbarriers::{Use, Used};
use crate::analysis::reach::Direction;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `commit` to an mbarrier that nothing in the whole kernel initializes, in kernels that
    /// initialize others. Also a `commit` to an mbarrier that nothing waits on, if it is known which
    /// mbarriers the kernel waits on. It is not reported if a later `commit` to an mbarrier that is waited
    /// on can follow: that one tracks the same operations.
    ///
    /// ## Why is this bad?
    /// No thread learns when the operations are complete. A last `commit` before the kernel exits is no
    /// exception: the shared memory that a multiply reads, and the mbarrier itself, must exist until then.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred done, elected;
    ///     .shared .align 8 .b64 full, empty;
    ///     elect.sync _|elected, -1;
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [empty];
    ///     @elected mbarrier.arrive.shared::cta.b64 _, [full];
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
    ///     .reg .pred done, elected;
    ///     .shared .align 8 .b64 full;
    ///     elect.sync _|elected, -1;
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2.1.1
    CommitNotWaitedFor Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let used = flow.mbarriers();
        if !used.iter().any(|it| it.how == Use::Commits) {
            continue;
        }
        let mut reported = FxHashSet::default();
        let all = |how: Use| flow.all_mbarriers(how).filter(|all| !all.is_empty());
        if let Some(initialised) = all(Use::Initialises) {
            for commit in used.iter().filter(|it| it.how == Use::Commits) {
                let Some(mbarrier) = commit.mbarrier else { continue };
                if !flow.may_be_one_of(&mbarrier, initialised) && reported.insert(mbarrier) {
                    findings.push(
                        Diagnostic::new(
                            Code::CommitNotWaitedFor,
                            commit.span,
                            "nothing in the kernel initialises the mbarrier that this `tcgen05.commit` signals",
                            "no `mbarrier.init` names this one",
                        )
                        .help("commit to one of the mbarriers that are initialised"),
                    );
                }
            }
        }
        // Where nothing waits at all, another rule says it.
        let Some(waited) = all(Use::Waits) else { continue };
        let is_waited_for = |commit: &Used| commit.mbarrier.is_none_or(|it| flow.may_be_one_of(&it, waited));
        let waited_at: FxHashMap<u32, bool> = used
            .iter()
            .filter(|it| it.how == Use::Commits)
            .map(|it| (it.instruction, is_waited_for(it)))
            .collect();
        // A commit tracks what those before it do.
        let unwatched = flow.unreached(Direction::Backward, |event| {
            if !flow.is_own(event) {
                // It may be a commit to an mbarrier that is waited on.
                return Role::Gen.only_if(flow.operation(event) == Some(Operation::Commit));
            }
            match waited_at.get(&event.instruction) {
                Some(true) => Role::Gen,
                Some(false) => Role::Query,
                None => Role::None,
            }
        });
        let unwatched: FxHashSet<u32> = unwatched.iter().map(|event| event.instruction).collect();
        for commit in used.iter().filter(|it| it.how == Use::Commits) {
            let Some(mbarrier) = commit.mbarrier else { continue };
            if !unwatched.contains(&commit.instruction) || !reported.insert(mbarrier) {
                continue;
            }
            findings.push(
                Diagnostic::new(
                    Code::CommitNotWaitedFor,
                    commit.span,
                    "nothing in the kernel waits on the mbarrier that this `tcgen05.commit` signals",
                    "no `mbarrier.try_wait` or `mbarrier.test_wait` names this one",
                )
                .help("commit to the mbarrier that is waited on, or wait on this one"),
            );
        }
    }
}
