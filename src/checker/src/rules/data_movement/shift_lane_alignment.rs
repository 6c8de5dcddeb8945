use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, Lane, rule};

rule! {
    /// ## What it does
    /// Finds shifts of a matrix whose known lane is not a multiple of 32.
    ///
    /// ## Why is this bad?
    /// The shift moves the rows of the 32 lanes of one warp, and its address is their start. Any other
    /// address makes the instruction illegal. The assembler does not look at values in registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 0x100000;
    /// tcgen05.shift.cta_group::1.down [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 0x200000;
    /// tcgen05.shift.cta_group::1.down [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.9.3
    ShiftLaneAlignment Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, instruction) in checker.typed(OperationSet::of(&[Operation::Shift])) {
        let Instruction::Shift(shift) = instruction else { continue };
        let Some(lane) = Lane::of(checker, decoded, &shift.taddr) else { continue };
        if lane.in_warp == 0 || !lane.is_certain(checker, decoded) {
            continue;
        }
        findings.push(
            lane.explain(Diagnostic::new(
                Code::ShiftLaneAlignment,
                shift.taddr.span,
                "the lane of `taddr` must be a multiple of 32",
                lane.found(),
            ))
            .origins(&checker.address_origins(decoded, &shift.taddr))
            .help("lanes are bits 16 to 31 of the address"),
        );
    }
}
