use crate::analysis::cfg::Cfg;
use crate::analysis::flow::Flow;
use crate::analysis::occupancy::{registers_at_most, registers_needed, registers_of_one_cta};
use crate::diagnostic::{Diagnostic, Findings};
use crate::resolve::launch_bounds::known;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds instructions that need more registers than a thread of the kernel can have. `tcgen05.ld` and
    /// `tcgen05.st` name up to 128 registers, `wgmma` up to 132, and the assembler needs some more for the
    /// code around them.
    ///
    /// The number that a thread can have follows from `.maxnreg`, from `.minnctapersm` with the number of
    /// threads, and from the number of threads alone: a multiprocessor has 65536 registers, so each of 512
    /// threads has 128.
    ///
    /// ## Why is this bad?
    /// All registers of one instruction are needed at once, so none can be spilled. The assembler gives up:
    /// "Insufficient registers (128) to compile instruction at line 9 in function k. Try to compile with
    /// register target of 146 or higher."
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .u32 taddr) .reqntid 384 .minnctapersm 2
    /// {
    ///     .reg .b32 a, r<64>;
    ///     ld.param.b32 a, [taddr];
    ///     tcgen05.ld.sync.aligned.32x32b.x64.b32
    ///         {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15,
    ///          r16, r17, r18, r19, r20, r21, r22, r23, r24, r25, r26, r27, r28, r29, r30, r31,
    ///          r32, r33, r34, r35, r36, r37, r38, r39, r40, r41, r42, r43, r44, r45, r46, r47,
    ///          r48, r49, r50, r51, r52, r53, r54, r55, r56, r57, r58, r59, r60, r61, r62, r63}, [a];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k(.param .u32 taddr) .reqntid 384 .minnctapersm 2
    /// {
    ///     .reg .b32 a, r<32>;
    ///     ld.param.b32 a, [taddr];
    ///     tcgen05.ld.sync.aligned.32x32b.x32.b32
    ///         {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15,
    ///          r16, r17, r18, r19, r20, r21, r22, r23, r24, r25, r26, r27, r28, r29, r30, r31}, [a];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *Performance-Tuning Directives*; C7602 of ptxas
    TooFewRegisters Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    let Some(target) = checker.environment.targets.iter().flatten().map(|target| target.value).next() else {
        return;
    };
    for flow in checker.flows().filter(Flow::is_entry) {
        let function = &unit.module.functions[flow.function() as usize];
        let bounds = checker.launch_bounds(flow.function());
        let Some(most) = registers_at_most(target, bounds).or_else(|| registers_of_one_cta(target, bounds))
        else {
            continue;
        };
        let range = Cfg::instruction_range(&unit.module, function.body);
        let needs = unit.operations.others_within(range).iter().filter_map(|&instruction| {
            let needed = registers_needed(unit, instruction)?;
            (needed > most.value).then_some((instruction, needed))
        });
        // The assembler stops at the first; the one that needs most says by how much to change.
        let Some((instruction, needed)) =
            needs.reduce(|most, next| if next.1 > most.1 { next } else { most })
        else {
            continue;
        };
        let opcode = unit.module.instructions[instruction as usize].opcode;
        let kernel = unit.readable(function.name);
        let is_said_by = |span: Option<Span>| span == Some(most.span);
        let help = if is_said_by(known(bounds.most_registers).map(|it| it.span)) {
            format!("write `.maxnreg {}`, or split the instruction", needed.next_multiple_of(8))
        } else if is_said_by(known(bounds.least_ctas).map(|it| it.span)) {
            "split the instruction into smaller ones, or ask for fewer CTAs".to_owned()
        } else {
            "split the instruction into smaller ones, or launch fewer threads".to_owned()
        };
        findings.push(
            Diagnostic::new(
                Code::TooFewRegisters,
                opcode,
                format!("this needs {needed} registers, and a thread of `{kernel}` can have {}", most.value),
                format!("needs {needed} registers at once"),
            )
            .label(most.span, format!("leaves {} registers to each thread", most.value))
            .note("the assembler cannot spill what one instruction names (C7602)")
            .help(help),
        );
    }
}
