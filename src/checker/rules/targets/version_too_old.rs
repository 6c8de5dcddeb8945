use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::targets::Unavailable;
use crate::rules::targets::unavailable;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds instructions and qualifiers that came with a later PTX version than the module's.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module, even where it knows the later version itself.
    ///
    /// ## Example
    /// ```ptx
    /// .version 8.7
    /// .target sm_100a
    /// .entry k() {
    ///     .reg .b32 taddr, idesc, sa, sb;
    ///     .reg .b64 adesc, bdesc;
    ///     tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32
    ///         [taddr], adesc, bdesc, idesc, [sa], [sb], 1;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 8.8
    /// .target sm_100a
    /// .entry k() {
    ///     .reg .b32 taddr, idesc, sa, sb;
    ///     .reg .b64 adesc, bdesc;
    ///     tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32
    ///         [taddr], adesc, bdesc, idesc, [sa], [sb], 1;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *PTX ISA Notes* of sections 9.7.16.7 to 9.7.16.12
    VersionTooOld Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let Some(version) = &checker.environment.version else { return };
    for (_, availability) in unavailable(checker) {
        let mut reported = Vec::new();
        for refusal in &availability.refusals {
            let Unavailable::Version(since) = refusal.reason else { continue };
            // A kind and its scale vector size often came together; one finding is enough.
            if reported.contains(&since) {
                continue;
            }
            reported.push(since);
            let mut finding = Diagnostic::new(
                Code::VersionTooOld,
                refusal.span,
                format!("{} needs PTX ISA {since}", refusal.feature),
                format!("not in PTX ISA {}", version.value),
            )
            .help(format!("write `.version {since}` or later"));
            if let Some(span) = version.span {
                finding = finding.label(span, "the module's version").fix(Some(Fix::guess(
                    format!("Use version {since}"),
                    span,
                    since.to_string(),
                )));
            }
            findings.push(finding);
        }
    }
}
