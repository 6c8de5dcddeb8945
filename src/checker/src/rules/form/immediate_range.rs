use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::index::OperationSet;
use crate::instruction::{Immediate, Instruction};
use crate::isa::vocabulary::Multicast;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds immediates outside the range of their operand: `scale-input-d` is 0 to 15, `ctaMask` has 16
    /// bits (32 with `.multicast::cluster::32b`).
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p, 16;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p, 15;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.10.9.1 and 9.7.16.12.1
    ImmediateRange Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (_, instruction) in
        checker.typed(OperationSet::MULTIPLIES.and(OperationSet::of(&[Operation::Commit])))
    {
        match instruction {
            Instruction::Mma(mma) => {
                if let Some(scale) = mma.scale_input_d.and_then(|scale| scale.immediate()) {
                    // The assembler cuts it to 32 bits first.
                    let cut = Immediate::new(scale.value() & 0xFFFF_FFFF, scale.span);
                    range("scale-input-d", scale, cut.value(), 15, findings);
                }
            }
            Instruction::Commit(commit) => {
                let wide = commit.multicast.is_some_and(|it| it.value == Multicast::Cluster32b);
                if let Some(mask) = commit.cta_mask.and_then(|mask| mask.immediate()) {
                    range("ctaMask", mask, mask.value(), if wide { 0xFFFF_FFFF } else { 0xFFFF }, findings);
                }
            }
            _ => {}
        }
    }
}

fn range(name: &str, immediate: Immediate, value: i128, most: i128, findings: &mut Findings<'_>) {
    if (0..=most).contains(&value) {
        return;
    }
    findings.push(
        Diagnostic::new(
            Code::ImmediateRange,
            immediate.span,
            format!("`{name}` must be in [0, {most}]"),
            format!("this is {}", immediate.value()),
        )
        .help(format!("write a number from 0 to {most}")),
    );
}
