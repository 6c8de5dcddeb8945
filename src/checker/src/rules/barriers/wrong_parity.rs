use crate::analysis::flow::Flow;
use crate::analysis::parities::{Why, WrongParity};
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds waits for an mbarrier with a parity that cannot be the parity of the intended phase.
    ///
    /// - A constant parity in a loop in which each iteration completes a phase.
    /// - Parity 1, if the only phase has not been waited for yet, or if its multiplies produce the result
    ///   that is loaded after the wait.
    /// - Parity 0, if the first phase has been waited for before, and something has arrived for the second
    ///   phase since.
    /// - A first wait with parity 0 that no thread can pass, because everything that arrives at the
    ///   mbarrier comes after this wait, or after another wait that cannot complete earlier. There may be
    ///   one such wait for each stage, or one for the remaining iterations of an unrolled loop.
    ///
    /// All waits on the mbarrier must have the same parity, and everything that arrives at it must be
    /// known. A loop may select one of a ring of mbarriers in each iteration, and it may be unrolled: then
    /// an iteration has as many arrivals as waits, with one arrival between two waits if the same threads
    /// execute both.
    ///
    /// A parity such as `(k / 3) & 1` is found where `k` counts the iterations and each of them completes a phase of the
    /// one mbarrier that it waits for. It is right for a ring of three mbarriers, of which each third iteration uses the
    /// same one.
    ///
    /// ## Why is this bad?
    /// The phases of an mbarrier have the parities 0, 1, 0, 1 ... from its initialization on. A wait for
    /// the parity of the previous phase ends at once: the data that is read after it may not be there yet.
    ///
    /// A wait with parity 1 on a new mbarrier ends at once. The first wait for an *empty* buffer needs
    /// that, and the first wait for a *full* buffer must not have it. If the wait for an empty buffer has
    /// parity 0, producer and consumer wait for each other.
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
    ///     @elected mbarrier.init.shared::cta.b64 [full], 1;
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 1;
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
    ///     @elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [full], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2.1.1; *Phase of the mbarrier object*
    WrongParity Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        for WrongParity { wait, arrival, parity, why } in flow.wrong_parities() {
            let parity = u8::from(parity);
            let (message, found, other, help) = match why {
                Why::NeverTurns => (
                    "each iteration waits for the same parity, and the mbarrier completes a phase in each",
                    format!("the parity is always {parity}: every other phase is not waited for"),
                    "completes a phase in each iteration",
                    "turn the parity behind each wait, as in `xor.b32 parity, parity, 1;`",
                ),
                Why::BeforeFirst => (
                    "this waits for the phase before the first one, which is over at once",
                    format!("the parity is {parity}, that of the phase before the initialisation"),
                    "completes the first phase, whose parity is 0",
                    "wait for parity 0",
                ),
                Why::Again => (
                    "this waits for a phase that has been waited for before, and is over at once",
                    format!("the parity is {parity}, that of the first phase"),
                    "arrives in the phase behind it",
                    "wait for parity 1 here: phases have the parities 0, 1, 0, 1 ...",
                ),
                Why::TurnsSlowly { every } => (
                    "the parity turns more slowly than the phases of the mbarrier",
                    format!("the parity turns after every {every} waits only"),
                    "completes a phase for each wait",
                    "count phases of this mbarrier: a single one needs `k & 1`, and `(k / n) & 1` goes with a ring of n",
                ),
                Why::Circle { .. } => (
                    "this waits for the first phase, which nothing completes before the wait is over",
                    "the parity is 0 when a thread gets here for the first time".to_owned(),
                    "completes the first phase, but comes behind another wait",
                    "begin with parity 1 where the buffer is empty at first: the phase before the first is over",
                ),
            };
            let finding = Diagnostic::new(Code::WrongParity, wait.span, message, found)
                .label(checker.unit.module.instructions[arrival.instruction as usize].opcode, other);
            let finding = match why {
                Why::Circle { before } if before != wait.span => {
                    finding.label(before, "waits for what comes behind the first wait")
                }
                Why::Circle { .. }
                | Why::NeverTurns
                | Why::BeforeFirst
                | Why::Again
                | Why::TurnsSlowly { .. } => finding,
            };
            findings.push(
                finding
                    .note(
                        "the phases of an mbarrier have the parities 0, 1, 0, 1 ... from its initialisation on \
                         (PTX ISA, *mbarrier.test_wait, mbarrier.try_wait*)",
                    )
                    .help(help),
            );
        }
    }
}
