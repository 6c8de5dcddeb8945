use rustc_hash::FxHashSet;

use crate::analysis::arrivals::Surplus;
use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::rules::{Checker, Code, rule};
use crate::words::plural;

rule! {
    /// ## What it does
    /// Finds an arrival that more threads execute together than the mbarrier expects, whichever mbarrier of
    /// the kernel it is. The threads are all lanes of a warp, or several warps that no condition
    /// distinguishes, in a kernel whose `.reqntid` gives it that many warps, or that assigns roles to its
    /// warps and limits their number by `.maxntid`.
    ///
    /// ## Why is this bad?
    /// The phase completes when the first of them have arrived, while the others still read or write. The
    /// surplus arrivals count for the next phases, and a thread that waits for one of these misses it.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .pred done, first;
    ///     .reg .b32 r<2>, taddr;
    ///     .shared .align 8 .b64 empty;
    ///     mov.u32 r0, %tid.x;
    ///     setp.eq.u32 first, r0, 0;
    ///     @first mbarrier.init.shared::cta.b64 [empty], 1;
    ///     bar.sync 0;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [taddr];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     mbarrier.arrive.shared::cta.b64 _, [empty];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [empty], 0;
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
    ///     .reg .pred done, first;
    ///     .reg .b32 r<2>, taddr;
    ///     .shared .align 8 .b64 empty;
    ///     mov.u32 r0, %tid.x;
    ///     setp.eq.u32 first, r0, 0;
    ///     @first mbarrier.init.shared::cta.b64 [empty], 32;
    ///     bar.sync 0;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [taddr];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     mbarrier.arrive.shared::cta.b64 _, [empty];
    /// WAIT:
    ///     mbarrier.try_wait.parity.shared::cta.b64 done, [empty], 0;
    ///     @!done bra WAIT;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *mbarrier.init*, *mbarrier.arrive*
    MoreArrivalsThanExpected Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let mut reported = FxHashSet::default();
        for surplus in flow.surplus_arrivals() {
            let Surplus { arrival, initialised, expected, come, threads, warps } = surplus;
            if !reported.insert(initialised.instruction) {
                continue;
            }
            let (who, by) = match (warps, threads) {
                (2.., _) => (format!("{warps} warps"), "several warps execute this"),
                (_, THREADS_OF_WARP) => ("all lanes of a warp".to_owned(), "every lane executes this"),
                _ => (format!("{threads} lanes of a warp"), "several lanes execute this"),
            };
            findings.push(
                Diagnostic::new(
                    Code::MoreArrivalsThanExpected,
                    arrival.span,
                    format!(
                        "{who} arrive {come} times at an mbarrier that expects {}",
                        plural(expected as usize, "arrival")
                    ),
                    by,
                )
                .label(initialised.span, "initialised here")
                .note(
                    "a phase is over when as many arrivals have come as `mbarrier.init` says (PTX ISA, *mbarrier*)",
                )
                .help("initialise it with the number of threads that arrive in each phase, or elect one that does"),
            );
        }
    }
}
