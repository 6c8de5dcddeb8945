use crate::analysis::mbarriers::Use;
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::{Modifier, Scope, Semantics};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds an arrival at an mbarrier of another CTA of the cluster with the explicit scope `.cta`. The
    /// address is the result of `mapa` for the rank of another CTA, or an address in the first CTA of a
    /// pair. An arrival without a scope has this scope too, but is not reported: nearly all shipped kernels
    /// write none.
    ///
    /// ## Why is this bad?
    /// The scope says for which threads the earlier operations are complete. With `.cta` these are the
    /// threads of the arriving CTA, but the waiting threads are in another CTA: they may not see what was
    /// written before, and a buffer may be overwritten before it was read.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqnctapercluster 2
    /// {
    ///     .reg .b32 local, other;
    ///     .shared .align 8 .b64 full;
    ///     tcgen05.fence::after_thread_sync;
    ///     mov.u32 local, full;
    ///     mapa.shared::cluster.u32 other, local, 0;
    ///     mbarrier.arrive.release.cta.shared::cluster.b64 _, [other];
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqnctapercluster 2
    /// {
    ///     .reg .b32 local, other;
    ///     .shared .align 8 .b64 full;
    ///     tcgen05.fence::after_thread_sync;
    ///     mov.u32 local, full;
    ///     mapa.shared::cluster.u32 other, local, 0;
    ///     mbarrier.arrive.release.cluster.shared::cluster.b64 _, [other];
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *mbarrier.arrive*; *Memory Consistency Model: Scope*
    ArrivalScopeTooSmall Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for flow in checker.flows() {
        for arrival in flow.mbarriers().iter().filter(|used| used.how == Use::Arrives) {
            let opcode = unit.operations.of(arrival.instruction);
            // A relaxed arrival orders nothing by itself.
            if opcode.has(Modifier::Semantics(Semantics::Relaxed)) {
                continue;
            }
            let scope = opcode.modifiers.iter().find(|it| it.modifier == Modifier::Scope(Scope::Cta));
            let Some(scope) = scope else { continue };
            let Some(named) = flow.named_in_other_cta(arrival) else { continue };
            let whole = unit.module.instructions[arrival.instruction as usize].opcode;
            let span = Span::new(whole.start + scope.span.start, whole.start + scope.span.end);
            let finding = Diagnostic::new(
                Code::ArrivalScopeTooSmall,
                span,
                "an arrival at an mbarrier of another CTA needs the scope `.cluster`",
                "says that only threads of this CTA see what was done before",
            );
            let finding = if named == arrival.instruction {
                finding
            } else {
                finding.label(
                    unit.module.instructions[named as usize].opcode,
                    "the mbarrier is in the CTA that this names",
                )
            };
            findings.push(
                finding
                    .note(
                        "who waits is in the CTA of the mbarrier: release and acquire meet only where the scope of each \
                         has both (PTX ISA, *Memory Consistency Model*)",
                    )
                    .help("write `.cluster`, and wait with `.acquire.cluster`")
                    .fix(Some(Fix::word(span, "cluster"))),
            );
        }
    }
}
