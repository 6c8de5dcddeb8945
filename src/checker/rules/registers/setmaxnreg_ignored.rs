use crate::analysis::cfg::Cfg;
use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Operation;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds `setmaxnreg` in a kernel that does not say with how many registers its threads start: it
    /// has neither `.maxnreg`, nor `.minnctapersm` together with `.maxntid` or `.reqntid`.
    ///
    /// ## Why is this bad?
    /// Without it `setmaxnreg` may have no effect. The assembler ignores every `setmaxnreg` of such a
    /// kernel, and says so in a remark only, unless the kernel happens to need all the registers that its
    /// number of threads leaves: the warps that compute get no more than the others, and spill. Whoever
    /// assembles with `--maxrregcount` says it there, and may turn the rule off.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 256
    /// {
    ///     setmaxnreg.inc.sync.aligned.u32 232;
    ///     tcgen05.fence::after_thread_sync;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 256 .maxnreg 168
    /// {
    ///     setmaxnreg.inc.sync.aligned.u32 232;
    ///     tcgen05.fence::after_thread_sync;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *Miscellaneous Instructions: setmaxnreg*, and the remark C7508 of ptxas
    SetmaxnregIgnored Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for flow in checker.flows().filter(Flow::is_entry) {
        let function = &unit.module.functions[flow.function() as usize];
        if unit.launch_bounds(function).says_registers() {
            continue;
        }
        let mut changes = Cfg::instruction_range(&unit.module, function.body)
            .filter(|&index| unit.operations.of(index).operation() == Some(Operation::Setmaxnreg));
        let Some(first) = changes.next() else { continue };
        let Span { start, .. } = unit.module.instructions[first as usize].opcode;
        let others = match changes.count() {
            0 => String::new(),
            1 => ", nor has the other one".to_owned(),
            others => format!(", nor have the {others} others"),
        };
        findings.push(
            Diagnostic::new(
                Code::SetmaxnregIgnored,
                Span::new(start, start + "setmaxnreg".len() as u32),
                format!(
                    "kernel `{}` does not say with how many registers its threads start",
                    unit.readable(function.name)
                ),
                format!("this may have no effect{others}"),
            )
            .label(function.name, "neither `.maxnreg` nor `.minnctapersm` with the number of threads")
            .note("`setmaxnreg` may have no effect then: the assembler ignores it where it cannot tell how many registers \
                 there are at entry (C7508)")
            .help("write `.maxnreg`, or in CUDA `__launch_bounds__` with the minimum number of CTAs, too"),
        );
    }
}
