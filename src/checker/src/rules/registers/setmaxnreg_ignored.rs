use crate::analysis::cfg::Cfg;
use crate::analysis::flow::Flow;
use crate::analysis::occupancy::{Ignored, Occupancy};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Operation;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds `setmaxnreg` that the assembler ignores, because it cannot determine with how many registers
    /// the threads of the kernel start.
    ///
    /// It can determine this in a kernel with
    ///
    /// - `.maxnreg`;
    /// - `.maxntid` or `.reqntid`, and a `.minnctapersm` that fits on a multiprocessor;
    /// - `.maxntid` or `.reqntid`, if two CTAs do not fit: more than half of the threads of a
    ///   multiprocessor (more than 768 on `sm_110` and `sm_120`, more than 512 on `sm_107`), more than half
    ///   of its shared memory in variables (more than 113 KB each on `sm_90`, `sm_100` and `sm_103`, 49 KB
    ///   on `sm_120`; shared memory that the launch adds does not count), or an instruction that needs more
    ///   registers than the threads of two CTAs can have (`tcgen05.ld` or `tcgen05.st` of 64 registers from
    ///   384 threads on, of 128 from 224 on, `wgmma` with large tiles).
    ///
    /// In a kernel that calls through a pointer, or that calls a recursive function, the assembler ignores
    /// every `setmaxnreg`, whatever the directives are.
    ///
    /// ## Why is this bad?
    /// The assembler reports it in a remark only. The warps that compute get no more registers than the
    /// others, and spill. `--maxrregcount` helps in a kernel without `.maxntid` and `.reqntid`; if you
    /// assemble with it, you can turn off the rule.
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
    /// PTX ISA, *Miscellaneous Instructions: setmaxnreg*, and the remarks C7504, C7506 and C7508 of ptxas
    SetmaxnregIgnored Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    let targets = checker.environment.targets.iter().flatten().map(|target| target.value);
    let mut occupancy = Occupancy::new(unit, checker.calls, checker.component, targets);
    for flow in checker.flows().filter(Flow::is_entry) {
        let function = &unit.module.functions[flow.function() as usize];
        let mut changes = Cfg::instruction_range(&unit.module, function.body)
            .filter(|&index| unit.operations.of(index).operation() == Some(Operation::Setmaxnreg));
        let Some(first) = changes.next() else { continue };
        let Some(ignored) = occupancy.ignored(flow.function()) else { continue };
        let Span { start, .. } = unit.module.instructions[first as usize].opcode;
        let span = Span::new(start, start + "setmaxnreg".len() as u32);
        let kernel = unit.readable(function.name);
        let others = match changes.count() {
            0 => String::new(),
            1 => ", and so is the other one".to_owned(),
            others => format!(", and so are the {others} others"),
        };
        let label = format!("the assembler ignores this{others}");
        let name = |function: u32| &unit.module.functions[function as usize].name;
        let finding = |message: String| Diagnostic::new(Code::SetmaxnregIgnored, span, message, label);
        let says_nothing =
            || format!("kernel `{kernel}` does not say with how many registers its threads start");
        let unknown_start = "the assembler ignores `setmaxnreg` where it cannot tell how many registers there are at \
                             entry (C7508)";
        findings.push(match ignored {
            Ignored::NothingSaid => finding(says_nothing())
                .label(function.name, "neither `.maxnreg` nor `.minnctapersm` with the number of threads")
                .note(unknown_start)
                .help("write `.maxnreg`, or in CUDA `__launch_bounds__` with the minimum number of CTAs, too"),
            Ignored::TooManyCtas { span, ctas, threads } => finding(says_nothing())
                .label(
                    span,
                    format!("{ctas} CTAs of {threads} threads do not fit on a multiprocessor: this counts for nothing"),
                )
                .note(unknown_start)
                .help("ask for fewer CTAs, or write `.maxnreg`"),
            Ignored::Pointer { function } => {
                finding(format!("`setmaxnreg` has no effect in kernel `{kernel}`, which may call what has no name"))
                    .label(*name(function), "a function's address is taken, or called, in here")
                    .note("the assembler ignores `setmaxnreg` then: what is called may need any registers (C7504, C7506)")
                    .help("call functions by their names only")
            }
            Ignored::Recursion { function } => {
                finding(format!("`setmaxnreg` has no effect in kernel `{kernel}`, which calls a recursive function"))
                    .label(*name(function), "this can call itself")
                    .note("the assembler ignores `setmaxnreg` then (C7506)")
                    .help("write the recursion as a loop")
            }
        });
    }
}
