use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::form::Problem;
use crate::isa::tensor::Restriction;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds what the weight-stationary form `tcgen05.mma.ws` does not have: `.cta_group::2`, block-scaled
    /// kinds, `disable-output-lane`, `.ashift`, `scale-input-d`.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.ws.cta_group::2.kind::f16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.ws.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.10.9.3 and 9.7.16.10.9.4
    WeightStationary Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            match problem {
                Problem::NotAllowed { qualifier, misfit: Some(misfit) }
                    if misfit.restriction == Restriction::WeightStationary =>
                {
                    let word = qualifier.value.spelling();
                    let finding = Diagnostic::new(
                        Code::WeightStationary,
                        qualifier.span,
                        format!("`tcgen05.mma.ws` does not take `.{word}`"),
                        "not in the weight-stationary form",
                    );
                    findings.push(
                        finding.help(misfit.reason).label(decoded.name, "`.ws` makes it weight-stationary"),
                    );
                    // A block-scaled kind brings `.block_scale` and more with it: one mistake.
                    break;
                }
                Problem::Unexpected { span, slot }
                    if slot.restriction == Some(Restriction::WeightStationary) =>
                {
                    findings.push(
                        Diagnostic::new(
                            Code::WeightStationary,
                            *span,
                            format!("`tcgen05.mma.ws` does not take `{}`", slot.name),
                            "not in the weight-stationary form",
                        )
                        .label(decoded.name, "`.ws` makes it weight-stationary")
                        .help(
                            "remove it; columns can be masked with a zero-column mask behind enable-input-d",
                        ),
                    );
                }
                _ => {}
            }
        }
    }
}
