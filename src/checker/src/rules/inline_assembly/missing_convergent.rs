use super::{Member, instructions};
use crate::diagnostic::{Diagnostic, Findings};
use crate::host::Language;
use crate::isa::generic::{Flag, Lanes, Synchronization};
use crate::isa::tensor::InstructionForm;
use crate::isa::vocabulary::Slot;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds calls of inline assembly in LLVM IR that are not `convergent`, and those of cuda-oxide with
    /// `may_diverge`, if the threads of a warp or CTA execute their PTX together: barriers, elections,
    /// shuffles, `.aligned` instructions.
    ///
    /// ## Why is this bad?
    /// LLVM may make the call depend on more conditions than before, so that only some of the threads reach
    /// it.
    ///
    /// ## Example
    /// ```llvm
    /// call void asm sideeffect "bar.sync 0;", "~{memory}"()
    /// ```
    ///
    /// ## Use instead
    /// ```llvm
    /// call void asm sideeffect "bar.sync 0;", "~{memory}"() #0
    /// attributes #0 = { convergent }
    /// ```
    ///
    /// ## References
    /// LLVM Language Reference, *Function Attributes*; LLVM, *Convergent Operation Semantics*
    MissingConvergent Fragment check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for fragment in checker.unit.fragments.iter().filter(|it| it.is_convergent == Some(false)) {
        let Some(member) = instructions(checker.unit, fragment).find(is_executed_together) else { continue };
        findings.push(
            Diagnostic::new(
                Code::MissingConvergent,
                fragment.keyword,
                "LLVM may split the threads that execute this assembly",
                "the call is not `convergent`",
            )
            .label(member.raw.opcode, "threads execute this together")
            .help(match fragment.language {
                Language::Rust => "leave out `may_diverge`",
                _ => "give the call the attribute `convergent`",
            }),
        );
    }
}

fn is_executed_together(member: &Member<'_>) -> bool {
    let opcode = member.opcode;
    let is_synchronizing = matches!(
        opcode.synchronization(),
        Synchronization::BarrierSync
            | Synchronization::BarrierArrive
            | Synchronization::ClusterArrive
            | Synchronization::ClusterWait
            | Synchronization::WarpBarrier
            | Synchronization::WarpCollective
    );
    let is_aligned = opcode.has_flag(Flag::Aligned)
        || opcode.tensor.is_some_and(|operation| {
            let mut slots = InstructionForm::of(operation).qualifiers.iter();
            slots.any(|slot| slot.slot == Slot::Aligned && slot.required)
        });
    is_synchronizing || matches!(opcode.lanes(), Lanes::Elected | Lanes::Exchanged) || is_aligned
}
