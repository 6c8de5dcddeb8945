use rustc_hash::FxHashSet;

use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::Demand;
use crate::isa::targets::{PtxVersion, Unavailable};
use crate::resolve::environment::Declared;
use crate::rules::generic::Lacking;
use crate::rules::targets::unavailable;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds instructions and qualifiers of a later PTX version than the module's.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module, even if the assembler itself supports the later version.
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
    if checker.looks_at_text() {
        outside_tensor(checker, version, findings);
    }
    for (_, availability) in unavailable(checker) {
        let mut reported = Vec::new();
        for refusal in &availability.refusals {
            let Unavailable::Version(since) = refusal.reason else { continue };
            // A kind and its scale vector size often came together; one finding is enough.
            if reported.contains(&since) {
                continue;
            }
            reported.push(since);
            findings.push(finding(&refusal.feature, refusal.span, since, version));
        }
    }
}

/// Instructions outside tcgen05: one finding for all that are written alike.
fn outside_tensor(checker: &Checker<'_>, version: &Declared<PtxVersion>, findings: &mut Findings<'_>) {
    let mut seen = FxHashSet::default();
    for lacking in Lacking::each(checker) {
        if let Demand::Since(since) = lacking.gate.then
            && seen.insert((lacking.generic.text, since))
        {
            findings.push(finding(&lacking.feature(), lacking.span(), since, version));
        }
    }
}

fn finding(feature: &str, span: Span, since: PtxVersion, version: &Declared<PtxVersion>) -> Diagnostic {
    let mut finding = Diagnostic::new(
        Code::VersionTooOld,
        span,
        format!("{feature} needs PTX ISA {since}"),
        format!("not in PTX ISA {}", version.value),
    )
    .help(format!("write `.version {since}` or later"));
    if let Some(span) = version.span {
        let fix = Fix::guess(format!("Use version {since}"), span, since.to_string());
        finding = finding.label(span, "the module's version").fix(Some(fix));
    }
    finding
}
