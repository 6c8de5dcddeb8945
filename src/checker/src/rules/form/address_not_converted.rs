use super::{each_outside_own_cta, each_wrong_generic};
use crate::analysis::shared::Generic;
use crate::analysis::windows::Outside;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an `alloc` or `commit` without a state space that is given an address within shared memory: one of a
    /// variable there, or one that `cvta.to.shared` made. It also finds the reverse: a generic address, which
    /// `cvta.shared` made, in an `alloc` or `commit` that names a state space.
    ///
    /// ## Why is this bad?
    /// Without a state space the address is generic, with one it is not, and where another one leads is undefined. The assembler makes
    /// the same of both: it hands on the lower half of the address, which is what lies within shared memory. So it
    /// works, and shipped kernels have it; it is an info. Nothing promises that the next assembler does so, and
    /// that of other instructions, such as `mbarrier.arrive`, does not.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 r0, mbar;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [r0];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 r0, mbar;
    /// tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [r0];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7.1 and 9.7.16.12.1
    AddressNotConverted Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    each_wrong_generic(checker, &mut |span, wrong| {
        let Generic::NotConverted { made } = wrong else { return };
        findings.push(
            Diagnostic::new(
                Code::AddressNotConverted,
                span,
                "without a state space, an address is generic, and this one is not",
                "no generic address",
            )
            .label(
                checker.unit.module.instructions[made as usize].opcode,
                "an address within its state space, which nothing converts",
            )
            .help("name the state space in the instruction, or convert the address with `cvta.shared`"),
        );
    });
    each_outside_own_cta(checker, &mut |span, outside| {
        let Outside::Generic(made) = outside else { return };
        findings.push(
            Diagnostic::new(
                Code::AddressNotConverted,
                span,
                "with a state space, an address counts from its start, and this one is generic",
                "a generic address",
            )
            .label(
                checker.unit.module.instructions[made as usize].opcode,
                "made generic here, and nothing converts it back",
            )
            .help("give the address from before `cvta.shared`, or leave the state space out"),
        );
    });
}
