use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `.target` that the module's `.version` does not have yet.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module.
    ///
    /// ## Example
    /// ```ptx
    /// .version 8.6
    /// .target sm_100f
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 8.8
    /// .target sm_100f
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 11.1.2 (`.target`)
    TargetNeedsNewerVersion Module check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let Some(version) = &checker.environment.version else { return };
    if !version.value.exists() {
        return;
    }
    for target in checker.environment.targets.iter().flatten() {
        let Some(since) = target.value.since() else { continue };
        if version.value >= since {
            continue;
        }
        let span = target.span.or(version.span).unwrap_or_default();
        let mut finding = Diagnostic::new(
            Code::TargetNeedsNewerVersion,
            span,
            format!("{} needs PTX ISA {since}", target.value),
            format!("PTX ISA {} does not know {}", version.value, target.value),
        )
        .help(format!("write `.version {since}` or later"));
        if let Some(version_span) = version.span {
            if version_span != span {
                finding = finding.label(version_span, "the module's version");
            }
            finding = finding.fix(Some(Fix::guess(
                format!("Use version {since}"),
                version_span,
                since.to_string(),
            )));
        }
        findings.push(finding);
    }
}
