use rustc_hash::FxHashSet;

use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::instruction::gates::{Refusal, portable_scale_vector};
use crate::isa::targets::{Target, Unavailable};
use crate::resolve::environment::Declared;
use crate::rules::generic::Lacking;
use crate::rules::targets::{names, unavailable};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds instructions, qualifiers, kinds and operands that the module's target does not have, although
    /// it has tcgen05.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. Blackwell parts differ: integer kinds, `shift`, `ld.red` and
    /// `.scale_vec` depend on the target.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100f
    /// .entry k() {
    ///     .reg .b32 taddr;
    ///     tcgen05.shift.cta_group::1.down [taddr];
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .entry k() {
    ///     .reg .b32 taddr;
    ///     tcgen05.shift.cta_group::1.down [taddr];
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, *Target ISA Notes* of sections 9.7.16.7 to 9.7.16.12
    FeatureUnsupportedOnTarget Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    if checker.looks_at_text() {
        outside_tensor(checker, findings);
    }
    for (decoded, availability) in unavailable(checker) {
        let refusals: Vec<_> =
            availability.refusals.iter().filter(|it| it.reason == Unavailable::Target).collect();
        for (index, refusal) in refusals.iter().enumerate() {
            let is_same = |it: &&&Refusal| it.span == refusal.span && it.feature == refusal.feature;
            if refusals[..index].iter().any(|it| is_same(&it)) {
                continue;
            }
            let mut finding = Diagnostic::new(
                Code::FeatureUnsupportedOnTarget,
                refusal.span,
                format!("{} is not available on {}", refusal.feature, names(&availability.targets)),
                "this target does not have it",
            );
            if let Some(span) = availability.targets.first().and_then(|target| target.span) {
                finding = finding.label(span, "the module's target");
            }
            // Several gates may be about one qualifier: it needs what all of them have.
            let having: Vec<Target> = refusal
                .gate
                .targets
                .iter()
                .copied()
                .filter(|target| refusals.iter().filter(is_same).all(|it| it.gate.targets.contains(target)))
                .collect();
            let has = list_words(having.iter().map(Target::to_string), "and");
            let mut help = format!("targets that have it: {has}");
            let fix = match other_spelling(checker, decoded, refusal.span) {
                Some((size, portable)) => {
                    help = format!("write `.{portable}`, which this target has; {help}");
                    Some(Fix::word(size, &portable))
                }
                None => retarget(&availability.targets, &having),
            };
            findings.push(finding.help(help).fix(fix));
        }
    }
}

/// Another spelling that the target has.
fn other_spelling(checker: &Checker<'_>, decoded: &Decoded<'_>, refused: Span) -> Option<(Span, String)> {
    let (size, portable) = portable_scale_vector(checker.environment, decoded)?;
    (size.span == refused).then(|| (size.span, portable.to_string()))
}

/// The architecture-specific target of the same GPU, where that has the feature.
fn retarget(targets: &[Declared<Target>], having: &[Target]) -> Option<Fix> {
    let [Declared { value, span: Some(span) }] = targets else { return None };
    let specific = Target::a(value.sm);
    having.contains(&specific).then(|| Fix::guess(format!("Target {specific}"), *span, specific.to_string()))
}

/// Modifiers of instructions outside tcgen05: one finding for all with the same spelling.
fn outside_tensor(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut seen = FxHashSet::default();
    for lacking in Lacking::each(checker) {
        if lacking.targets.is_empty()
            || lacking.words.is_empty()
            || !seen.insert((lacking.generic.text, lacking.targets.as_ptr()))
        {
            continue;
        }
        let message = format!("{} is not available on {}", lacking.feature(), names(lacking.targets));
        let mut finding = Diagnostic::new(
            Code::FeatureUnsupportedOnTarget,
            lacking.span(),
            message,
            "this target does not have it",
        )
        .help(format!("it exists on {}", lacking.having()));
        if let Some(span) = lacking.targets.first().and_then(|target| target.span) {
            finding = finding.label(span, "the module's target");
        }
        findings.push(finding);
    }
}
