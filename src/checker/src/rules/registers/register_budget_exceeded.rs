use crate::analysis::flow::Flow;
use crate::analysis::occupancy::registers_at_most;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::{Modifier, Operation, RegisterChange};
use crate::isa::hierarchy::{THREADS_OF_CTA, THREADS_OF_WARP, WARPS_OF_WARPGROUP};
use crate::rules::{Checker, Code, rule};
use crate::source::{Span, Spanned};
use crate::syntax::literal;

rule! {
    /// ## What it does
    /// Finds kernels whose warps request with `setmaxnreg` more registers in total than the CTA starts
    /// with. The number at the start follows from `.maxnreg` or `.minnctapersm`, and the number of warps
    /// from `.reqntid`. With `.maxntid`, the finding is about CTAs of the maximum size. For warps that
    /// change their registers several times, the smallest number counts.
    ///
    /// ## Why is this bad?
    /// `setmaxnreg.inc` takes registers that other warps of the CTA have released with `setmaxnreg.dec`,
    /// and waits until there are enough. If the numbers do not add up, it waits for registers that nobody
    /// releases: forever, or until other warps exit.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 384 .maxnreg 168
    /// {
    ///     .reg .pred produces;
    ///     .reg .b32 tid;
    ///     tcgen05.fence::after_thread_sync;
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 produces, tid, 128;
    ///     @produces bra PRODUCE;
    ///     setmaxnreg.inc.sync.aligned.u32 240;
    ///     ret;
    /// PRODUCE:
    ///     setmaxnreg.dec.sync.aligned.u32 40;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k() .reqntid 384 .maxnreg 168
    /// {
    ///     .reg .pred produces;
    ///     .reg .b32 tid;
    ///     tcgen05.fence::after_thread_sync;
    ///     mov.u32 tid, %tid.x;
    ///     setp.lt.u32 produces, tid, 128;
    ///     @produces bra PRODUCE;
    ///     setmaxnreg.inc.sync.aligned.u32 232;
    ///     ret;
    /// PRODUCE:
    ///     setmaxnreg.dec.sync.aligned.u32 40;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *Miscellaneous Instructions: setmaxnreg*
    RegisterBudgetExceeded Kernel check
}

/// A `setmaxnreg`: the warps that certainly execute it and those that may, one bit each, and the number.
struct Change {
    instruction: u32,
    certain: u32,
    possible: u32,
    registers: u64,
    takes: bool,
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    let Some(target) = checker.environment.targets.iter().flatten().map(|target| target.value).next() else {
        return;
    };
    for flow in checker.flows().filter(Flow::is_entry) {
        if flow.summary().is_none_or(|summary| summary.unknown) {
            continue;
        }
        let bounds = checker.launch_bounds(flow.function());
        let Some(Spanned { value: threads, .. }) = bounds.threads().or_else(|| bounds.most_in_a_row()) else {
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
        let warps = threads.div_ceil(THREADS_OF_WARP.into());
        let Some(Spanned { value: at_first, span }) = registers_at_most(target, bounds) else { continue };
        let executing = flow.executing(None);
        let known = |instruction: u32| {
            let (certain, possible) = executing.of(instruction)?.warp_sets();
            let operands = unit.module.operands(unit.module.instructions[instruction as usize].operands);
            let registers = literal::evaluate(&unit.source, &unit.module, operands.first()?)?;
            let takes = unit.operations.of(instruction).has(Modifier::RegisterChange(RegisterChange::Inc));
            let registers = u64::try_from(registers).ok()?;
            Some(Change { instruction, certain, possible, registers, takes })
        };
        let Some(changes) = changes.into_iter().map(known).collect::<Option<Vec<Change>>>() else { continue };
        // What each warp has in the end, at least.
        let left = |warp: u32| {
            let of_warp = changes.iter().filter(|it| it.possible >> warp & 1 == 1);
            let least = of_warp.clone().map(|it| it.registers).min();
            let is_certain = of_warp.clone().any(|it| it.certain >> warp & 1 == 1);
            match least {
                Some(least) if is_certain => least,
                Some(least) => least.min(at_first),
                None => at_first,
            }
        };
        let all = |warps: std::ops::Range<u32>| -> u64 { warps.map(left).sum::<u64>() };
        let warps = u32::try_from(warps).unwrap_or_default();
        let (asked, there) = (all(0..warps), at_first * u64::from(warps));
        let Some(first) =
            changes.iter().filter(|it| it.takes && it.certain != 0).max_by_key(|it| it.registers)
        else {
            continue;
        };
        if asked <= there {
            continue;
        }
        let each = u64::from(THREADS_OF_WARP);
        let groups: Vec<String> = (0..warps)
            .step_by(WARPS_OF_WARPGROUP as usize)
            .map(|start| {
                let group = start..(start + WARPS_OF_WARPGROUP).min(warps);
                let all = all(group.clone());
                let count = u64::from(group.end - group.start);
                format!("{}", all / count)
            })
            .collect();
        let Span { start, .. } = unit.module.instructions[first.instruction as usize].opcode;
        findings.push(
            Diagnostic::new(
                Code::RegisterBudgetExceeded,
                Span::new(start, start + "setmaxnreg.inc".len() as u32),
                format!(
                    "the warps ask for {} registers with `setmaxnreg`, and the CTA has {}",
                    asked * each,
                    there * each
                ),
                "waits for registers that no warp gives back",
            )
            .label(span, format!("a thread starts with {at_first} registers"))
            .note(format!(
                "the warpgroups have {} registers in each thread then, and {} at first",
                groups.join(", "),
                vec![at_first.to_string(); groups.len()].join(", ")
            ))
            .help(format!(
                "the numbers of all warpgroups may add up to {} at most",
                at_first * groups.len() as u64
            )),
        );
    }
}
