use rustc_hash::FxHashSet;

use crate::analysis::executing::Executes;
use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::Resolution;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `tcgen05.st` in a kernel whose every `wait::st` is executed by other warps than the store.
    ///
    /// ## Why is this bad?
    /// `wait::st` waits for the stores of the thread that executes it. Nothing waits for this store: its
    /// result may be read too early.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, %tid.x;
    /// setp.lt.u32 p, r1, 32;
    /// @p tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// @!p tcgen05.wait::st.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, %tid.x;
    /// setp.lt.u32 p, r1, 32;
    /// @p tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// @p tcgen05.wait::st.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.8.5
    WaitedByAnotherWarp Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let waits = |event: &_| flow.operation(*event) == Some(Operation::WaitSt);
        // In a called function, the caller is unknown.
        if !summary.events.iter().any(waits) || summary.events.iter().any(|it| waits(it) && !flow.is_own(*it))
        {
            continue;
        }
        let executing = flow.executing(None);
        let waiting: Vec<_> = flow
            .events()
            .iter()
            .filter(|event| waits(event))
            .map(|event| (*event, executing.of(event.instruction)))
            .collect();
        let mut judged = FxHashSet::default();
        for event in flow.events().iter().filter(|event| flow.operation(**event) == Some(Operation::St)) {
            // Adjacent instructions have the same cause.
            let guard = match flow.unit.symbols.guard(event.instruction) {
                Resolution::Register(register) => Some(register),
                _ => None,
            };
            if !judged.insert((flow.cfg().block_of(event.instruction), guard)) {
                continue;
            }
            let Some(stores) = executing.of(event.instruction).filter(Executes::is_somebody) else {
                continue;
            };
            let is_other = |it: &Option<Executes>| {
                it.is_some_and(|it| it.is_somebody() && stores.is_of_other_warps(&it))
            };
            let Some((wait, _)) = waiting.first().filter(|_| waiting.iter().all(|(_, it)| is_other(it)))
            else {
                continue;
            };
            findings.push(
                Diagnostic::new(
                    Code::WaitedByAnotherWarp,
                    flow.span(*event),
                    "no warp that executes this `tcgen05.st` waits for it",
                    "nobody waits for this store",
                )
                .label(flow.span(*wait), "other warps wait, for stores of their own")
                .note("`wait::st` waits for what the executing threads have stored (PTX ISA, 9.7.16.8.5)")
                .help("execute `tcgen05.wait::st.sync.aligned;` in the warp that stores"),
            );
        }
    }
}
