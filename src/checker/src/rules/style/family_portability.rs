use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::gates::portable_scale_vector;
use crate::instruction::index::OperationSet;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `.scale_vec::1X`, `::2X` and `::4X` where `.block32` or `.block16` can be written instead.
    ///
    /// ## Why is this bad?
    /// The two spellings mean the same, but only `.block16` and `.block32` exist on family-specific targets
    /// such as `sm_100f`.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X
    ///     [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16
    ///     [taddr], adesc, bdesc, idesc, [sa], [sb], p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Tables 54 and 55 and the *Target ISA Notes* of section 9.7.16.10.9.1
    FamilyPortability Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, _) in checker.typed(OperationSet::MULTIPLIES) {
        let Some((size, portable)) = portable_scale_vector(checker.environment, decoded) else { continue };
        findings.push(
            Diagnostic::new(
                Code::FamilyPortability,
                size.span,
                format!("`.{}` exists only on architecture-specific targets", size.value),
                "the portable name differs",
            )
            .help(format!("write `.{portable}`"))
            .fix(Some(Fix::word(size.span, &portable.to_string()))),
        );
    }
}
