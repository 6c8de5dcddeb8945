use super::{each_outside_own_cta, each_wrong_generic};
use crate::analysis::shared::Generic;
use crate::analysis::windows::Outside;
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an `alloc` or `commit` without a state space whose operand is an address within shared memory:
    /// the address of a variable there, or the result of `cvta.to.shared`. Also finds the opposite: an
    /// `alloc` or `commit` with a state space whose operand is a generic address, the result of
    /// `cvta.shared`.
    ///
    /// ## Why is this bad?
    /// Without a state space the address is generic, with one it is not, and an address of the wrong sort is
    /// undefined. Today's assembler uses the lower half of the address in both cases, which is the address
    /// within shared memory. So the code works, shipped kernels contain it, and the finding is an info.
    /// Nothing guarantees this for the next assembler. Other instructions, such as `mbarrier.arrive`, do
    /// not work this way.
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
