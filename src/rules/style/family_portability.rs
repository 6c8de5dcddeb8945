use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::isa::scale_vectors;
use crate::isa::targets::{GATES, Use};
use crate::isa::vocabulary::{Kind, Qualifier, ScaleVectorSize};
use crate::rules::{Checker, Code, rule};
use crate::source::{Span, Spanned};

rule! {
    /// ## What it does
    /// Finds `.scale_vec::1X`, `::2X` and `::4X`, for which `.block32` or `.block16` can be
    /// written.
    ///
    /// ## Why is this bad?
    /// The two spellings mean the same, but only `.block16` and `.block32` exist on family-specific
    /// targets such as `sm_100f`.
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
    for (decoded, _) in checker.typed() {
        let Some((size, portable)) = portable_name(checker, decoded) else { continue };
        findings.push(
            Diagnostic::new(
                Code::FamilyPortability,
                size.span,
                format!("`.{}` exists only on architecture-specific targets", size.value),
                "the portable name is another",
            )
            .help(format!("write `.{portable}`"))
            .fix(Some(repair(size.span, portable))),
        );
    }
}

/// The scale vector size of an instruction and its portable name, if there is one.
pub(in crate::rules) fn portable_name(
    checker: &Checker<'_>,
    decoded: &Decoded<'_>,
) -> Option<(Spanned<ScaleVectorSize>, ScaleVectorSize)> {
    let size = decoded.qualifiers.get::<ScaleVectorSize>()?;
    let kind = decoded.qualifiers.get::<Kind>()?;
    let portable = scale_vectors::portable(size.value)?;
    // Tables 54 and 55 have both names or neither.
    let allowed = scale_vectors::allowed(kind.value);
    let fits = allowed.contains(&size.value) && allowed.contains(&portable) && is_known(checker, portable);
    fits.then_some((size, portable))
}

/// Writes the portable name.
pub(in crate::rules) fn repair(span: Span, portable: ScaleVectorSize) -> Fix {
    Fix::safe(format!("Write `.{portable}`"), span, format!(".{portable}"))
}

/// Whether the module's version has the word already.
fn is_known(checker: &Checker<'_>, size: ScaleVectorSize) -> bool {
    let word = Qualifier::ScaleVectorSize(size);
    let gates = GATES.iter().filter(|gate| {
        gate.uses.iter().any(|part| matches!(part, Use::Qualifier(words) if words.contains(&word)))
    });
    let since = gates.map(|gate| gate.since).max();
    checker.environment.version.is_none_or(|version| Some(version.value) >= since)
}
