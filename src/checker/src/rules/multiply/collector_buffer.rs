use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::form::Problem;
use crate::isa::tensor::Restriction;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds collector buffers that the form does not have: `.collector::a::*` with `.ws`,
    /// `.collector::b0::*` to `.collector::b3::*` without it.
    ///
    /// ## Why is this bad?
    /// An activation-stationary multiply keeps A, a weight-stationary multiply keeps B in one of four
    /// buffers. The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16.collector::b0::fill [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [taddr], adesc, bdesc, idesc, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.10.9.1 and 9.7.16.10.9.3
    CollectorBuffer Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        let Some(form) = decoded.form else { continue };
        for problem in &decoded.problems {
            let Problem::NotAllowed { qualifier, misfit: Some(misfit) } = problem else { continue };
            if misfit.restriction != Restriction::CollectorBuffer {
                continue;
            }
            let finding = Diagnostic::new(
                Code::CollectorBuffer,
                qualifier.span,
                format!("`tcgen05.{}` has no such collector buffer", form.operation),
                format!("`.{}` belongs to another form", qualifier.value.spelling()),
            );
            findings.push(finding.help(misfit.reason));
        }
    }
}
