use crate::analysis::flow::Flow;
use crate::analysis::mbarriers::{Mbarrier, Use};
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds kernels that wait for an mbarrier in their shared memory, or commit to one, while neither they
    /// nor a function that they call executes any `mbarrier.init`. Also waits for an mbarrier at which
    /// threads arrive, if it is certainly none of those that the kernel initializes.
    /// `commit-not-waited-for` reports a `tcgen05.commit` to such an mbarrier.
    ///
    /// ## Why is this bad?
    /// Shared memory is not initialized when a kernel starts, and only the threads of the kernel can
    /// initialize an mbarrier there. The effect of a wait on other bytes is undefined: it ends at once, or
    /// never.
    ///
    /// ## Example
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
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred done, elected;
    ///     .shared .align 8 .b64 full;
    ///     elect.sync _|elected, -1;
    ///     @elected mbarrier.init.shared::cta.b64 [full], 1;
    ///     bar.sync 0;
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2.1.1; *mbarrier.init*
    MbarrierNotInitialised Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let used = flow.mbarriers();
        let of_its_own = |how: Use| {
            used.iter().find(|it| it.how == how && it.mbarrier.is_some_and(|mbarrier| mbarrier.is_variable()))
        };
        let Some(first) = of_its_own(Use::Waits).or_else(|| of_its_own(Use::Commits)) else { continue };
        if summary.uses.has(Use::Initialises) {
            some_are_not(&flow, findings);
            continue;
        }
        let kernel = checker.unit.readable(checker.unit.module.functions[flow.function() as usize].name);
        let found = match first.how {
            Use::Waits => "what is waited for here is no mbarrier",
            Use::Commits | Use::Arrives | Use::Completes | Use::Initialises => {
                "what is signalled here is no mbarrier"
            }
        };
        findings.push(
            Diagnostic::new(
                Code::MbarrierNotInitialised,
                first.span,
                format!("nothing in kernel `{kernel}` initialises an mbarrier"),
                found,
            )
            .note("an mbarrier must be initialised before it is used (PTX ISA, *mbarrier.init*)")
            .help(
                "let one thread execute `mbarrier.init.shared::cta.b64` with the number of arrivals, and put a \
                 barrier behind it",
            ),
        );
    }
}

/// The first wait for each mbarrier that something arrives at and the kernel does not initialise, while it does others.
fn some_are_not(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    /// More are not told one by one.
    const MOST: usize = 16;
    let Some(initialised) = flow.all_mbarriers(Use::Initialises).filter(|all| !all.is_empty()) else {
        return;
    };
    let used = flow.mbarriers();
    let is_not = |mbarrier: &Mbarrier| !flow.may_be_one_of(mbarrier, initialised);
    // Of those to which something is committed, another rule says it, and of those at which nothing arrives.
    let not_made = |wanted: &dyn Fn(Use) -> bool| {
        let all = used.iter().filter(|it| wanted(it.how)).filter_map(|it| it.mbarrier);
        flow.several(all.filter(is_not).map(|it| (it, ())))
    };
    let commits = not_made(&|how| how == Use::Commits);
    let arrivals = not_made(&|how| matches!(how, Use::Arrives | Use::Completes));
    let mut reported: Vec<Mbarrier> = Vec::new();
    for wait in used.iter().filter(|it| it.how == Use::Waits) {
        if arrivals.is_empty() || reported.len() == MOST {
            break;
        }
        let Some(mbarrier) = wait.mbarrier.filter(is_not) else { continue };
        if flow.may_be_one_of(&mbarrier, &commits)
            || !flow.may_be_one_of(&mbarrier, &arrivals)
            || reported.iter().any(|known| flow.may_be_same(known, &mbarrier))
        {
            continue;
        }
        reported.push(mbarrier);
        findings.push(
            Diagnostic::new(
                Code::MbarrierNotInitialised,
                wait.span,
                "nothing in the kernel initialises the mbarrier that is waited for here",
                "no `mbarrier.init` names this one",
            )
            .note("an mbarrier must be initialised before it is used (PTX ISA, *mbarrier.init*)")
            .help("initialise it where the others are initialised"),
        );
    }
}
