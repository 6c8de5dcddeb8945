use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Says that a function is too large for the analysis of the order in which its instructions execute.
    /// Rules that depend on that order may have missed something in it.
    ///
    /// ## Why is this bad?
    /// A check must end, so the work for one function is limited. The findings are correct, but there may
    /// be more: the rules about allocation, about order and about which threads issue an instruction (TC3,
    /// TC507, TC7 and TC8) have not seen every path.
    ///
    /// The limit grows with the function, up to 30 million steps. Compilers do not emit functions that need
    /// so many. The examples are for a limit of 20.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// @p bra DONE;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// DONE:
    /// bar.sync 0;
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6 (what the order of tcgen05 operations is)
    AnalysisLimit Function check
}

/// Runs after the other rules: they do the work that is limited.
fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for facts in checker.flows.iter().map(|flow| flow.facts) {
        let spent = facts.budget.is_spent();
        let calls_too_much = checker.events.is_truncated(facts.function);
        let what = match (spent, facts.budget.is_complete()) {
            (true, _) => "order",
            (false, false) => "registers",
            (false, true) if calls_too_much => "calls",
            (false, true) => continue,
        };
        let limit = if spent {
            format!("the limit is {} steps for all questions about one function", facts.budget.limit())
        } else if !facts.budget.is_complete() {
            "an address in it is computed in too many steps to be followed".to_owned()
        } else {
            "what it calls does more than is recorded for one function".to_owned()
        };
        let name = checker.unit.module.functions[facts.function as usize].name;
        findings.push(
            Diagnostic::new(
                Code::AnalysisLimit,
                name,
                format!(
                    "function `{}` is too large for the analysis of its {what}",
                    checker.unit.readable(name)
                ),
                "not every rule has seen all of it",
            )
            .note(limit)
            .help(
                "do not rely on silence about allocation, ordering and issue here (TC3, TC507, TC7 and TC8); \
                 smaller functions are checked completely",
            ),
        );
    }
}
