use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::is_word;
use crate::rules::generic::{Generic, Meant};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds instructions outside tcgen05 with a modifier that they do not have, or that they have only
    /// once. Modifiers of other instructions that the assembler ignores are not reported.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module.
    ///
    /// ## Example
    /// ```ptx
    /// fence.proxy.asink.shared::cta;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// fence.proxy.async.shared::cta;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 9 (Instruction Set)
    UnknownModifier Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut all_meant = Meant::default();
    for generic in Generic::unknown(checker) {
        // Next to an unknown part, a modifier may belong to another form; but not one that PTX does not have.
        let is_known = |span: Span| !checker.unit.holes.has_unknown(generic.place(span));
        let is_sure = |(span, word): &(Span, &str)| !generic.is_open || is_known(*span) && !is_word(word);
        let mut refused = generic.opcode.refused_words(generic.text).filter(is_sure);
        let Some((first, word)) = refused.next() else { continue };
        let others: Vec<Span> = refused.map(|(span, _)| span).collect();
        let name = generic.name();
        let written = |span: Span| generic.text.get(span.range()).unwrap_or_default().trim_start_matches('.');
        let is_twice = generic.opcode.modifiers.iter().any(|placed| written(placed.span) == word);
        let message = if is_twice {
            format!("`{name}` does not have `.{word}` here a second time")
        } else {
            format!("`{name}` has no modifier `.{word}`")
        };
        let mut finding = Diagnostic::new(
            Code::UnknownModifier,
            generic.place(first),
            message,
            if is_twice { "it stands there before" } else { "this instruction does not have this" },
        );
        for other in others {
            finding = finding.label(generic.place(other), "nor this");
        }
        let meant = all_meant.by(&generic, || generic.meant(first, word));
        if !meant.is_empty() {
            let words = meant.iter().map(|word| format!("`.{word}`"));
            finding = finding.help(format!("did you mean {}?", list_words(words, "or")));
        }
        if let [only] = meant {
            let text = format!(".{only}");
            finding.fix = Some(Fix::guess(format!("Write `{text}`"), generic.place(first), text));
        }
        findings.push(finding);
    }
}
