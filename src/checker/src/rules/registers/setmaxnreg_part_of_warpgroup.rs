use crate::analysis::flow::Flow;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Operation;
use crate::isa::hierarchy::{THREADS_OF_CTA, THREADS_OF_WARP, WARPS_OF_WARPGROUP};
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;
use crate::syntax::literal;

rule! {
    /// ## What it does
    /// Finds warpgroups in which only some warps execute `setmaxnreg`, or in which warps give different
    /// numbers of registers, in a kernel whose `.reqntid` gives the number of warps. With `.maxntid`, the
    /// finding is about CTAs of the maximum size.
    ///
    /// ## Why is this bad?
    /// All warps of a warpgroup, four warps with consecutive numbers, must execute the same `setmaxnreg`.
    /// Otherwise the behavior is undefined. Some shipped kernels give the warps of one warpgroup different
    /// numbers anyway, so the finding is an info.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 256 .maxnreg 168
    /// {
    ///     .reg .pred p;
    ///     .reg .b32 r;
    ///     mov.u32 r, %tid.x;
    ///     setp.lt.u32 p, r, 32;
    ///     @p setmaxnreg.dec.sync.aligned.u32 40;
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
    ///     .reg .pred p;
    ///     .reg .b32 r;
    ///     mov.u32 r, %tid.x;
    ///     setp.lt.u32 p, r, 128;
    ///     @p setmaxnreg.dec.sync.aligned.u32 40;
    ///     tcgen05.fence::after_thread_sync;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *Miscellaneous Instructions: setmaxnreg*
    SetmaxnregPartOfWarpgroup Kernel check
}

/// A `setmaxnreg`: the warps that certainly execute it and those that may, one bit each, and the number.
struct Change {
    instruction: u32,
    certain: u32,
    possible: u32,
    registers: Option<i128>,
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for flow in checker.flows().filter(Flow::is_entry) {
        let bounds = checker.launch_bounds(flow.function());
        let Some(Spanned { value: threads, span: directive }) =
            bounds.threads().or_else(|| bounds.most_in_a_row())
        else {
            continue;
        };
        let changes: Vec<u32> = flow
            .cfg()
            .instructions()
            .filter(|index| unit.operations.of(*index).operation() == Some(Operation::Setmaxnreg))
            .collect();
        if changes.is_empty() || threads > THREADS_OF_CTA.into() {
            continue;
        }
        let executing = flow.executing(None);
        let known = |instruction: u32| {
            let (certain, possible) = executing.of(instruction)?.warp_sets();
            let operands = unit.module.operands(unit.module.instructions[instruction as usize].operands);
            let registers = operands.first().and_then(|it| literal::evaluate(&unit.source, &unit.module, it));
            Some(Change { instruction, certain, possible, registers })
        };
        let Some(changes) = changes.into_iter().map(known).collect::<Option<Vec<Change>>>() else { continue };
        let warps = u32::try_from(threads.div_ceil(THREADS_OF_WARP.into())).unwrap_or_default();
        for group in 0..warps.div_ceil(WARPS_OF_WARPGROUP) {
            let start = WARPS_OF_WARPGROUP * group;
            let end = start + WARPS_OF_WARPGROUP;
            let all = (((1 << WARPS_OF_WARPGROUP) - 1) << start)
                & 1u32.checked_shl(warps).unwrap_or(0).wrapping_sub(1);
            let of_group: Vec<&Change> = changes.iter().filter(|it| it.possible & all != 0).collect();
            let Some(first) = of_group.iter().find(|it| it.certain & all != 0) else { continue };
            let possible = of_group.iter().fold(0, |warps, it| warps | it.possible) & all;
            let is_known = of_group.iter().all(|it| it.certain & all == it.possible & all);
            let numbers = |warp: u32| {
                of_group.iter().filter(move |it| it.certain >> warp & 1 == 1).map(|it| it.registers)
            };
            let members = || (start..end).filter(|warp| all >> warp & 1 == 1);
            let found = if possible != all {
                match ((all & !possible).count_ones(), all.count_ones()) {
                    (1, warps) => format!("1 of its {warps} warps gets to no `setmaxnreg`"),
                    (missing, warps) => format!("{missing} of its {warps} warps get to no `setmaxnreg`"),
                }
            } else if is_known && members().any(|warp| !numbers(warp).eq(numbers(start))) {
                "its warps change to different numbers of registers".to_owned()
            } else {
                continue;
            };
            findings.push(
                Diagnostic::new(
                    Code::SetmaxnregPartOfWarpgroup,
                    unit.module.instructions[first.instruction as usize].opcode,
                    "all warps of a warpgroup must execute the same `setmaxnreg`",
                    format!("executed in the warpgroup of the warps {start} to {}", end - 1),
                )
                .label(directive, found)
                .help("let whole warpgroups change their registers, each with one number"),
            );
        }
    }
}
