use super::generic::Generic;
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::rows;
use crate::resolve::operations::Opcode;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::{list_words, similar};

rule! {
    /// ## What it does
    /// Finds instructions outside tcgen05 that PTX does not have.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. A kernel for Blackwell is mostly made of these: waits at mbarriers,
    /// copies in bulk, fences and arithmetic.
    ///
    /// ## Example
    /// ```ptx
    /// mbarier.init.shared::cta.b64 [mbar], 1;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mbarrier.init.shared::cta.b64 [mbar], 1;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 9 (Instruction Set)
    UnknownOperation Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for generic in Generic::unknown(checker).filter(|generic| generic.opcode.row.is_none()) {
        let words: Vec<(&str, Span)> = crate::resolve::words::words(generic.text).collect();
        let Some(&(first, span)) = words.first() else { continue };
        // Several words are one name: `cp.async`, of which the first means nothing alone.
        let is_start = |name: &str| first_word(name) == first;
        let is_named = rows().flat_map(|row| row.names).any(|name| is_start(name));
        let named = if is_named { words.iter().take(2).count() } else { 1 };
        let span = words.get(named - 1).map_or(span, |(_, last)| span.to(*last));
        let name = generic.text.get(span.range()).unwrap_or_default();
        let rest = generic.text.get(span.range().end..).unwrap_or_default();
        let names = rows().flat_map(|row| row.names).copied();
        let names = names.filter(|it| !is_named || is_start(it));
        let first_words: fn(&str) -> &str = if is_named { two_words } else { first_word };
        let alike = similar(name, names.map(first_words));
        let (known, others): (Vec<&str>, Vec<&str>) =
            alike.into_iter().partition(|it| Opcode::new(&format!("{it}{rest}")).is_known());
        let meant = if known.is_empty() { others } else { known };
        let mut finding = Diagnostic::new(
            Code::UnknownOperation,
            generic.place(span),
            format!("unknown instruction `{name}`"),
            "PTX has no such instruction",
        );
        if !meant.is_empty() {
            let names = meant.iter().map(|name| format!("`{name}`"));
            finding = finding.help(format!("did you mean {}?", list_words(names, "or")));
        }
        if let [only] = meant.as_slice() {
            finding.fix = Some(Fix::guess(format!("Write `{only}`"), generic.place(span), *only));
        }
        findings.push(finding);
    }
}

/// The first word of a name.
fn first_word(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// The first two words of a name.
fn two_words(name: &str) -> &str {
    let second = name.find('.').and_then(|dot| name[dot + 1..].find('.').map(|next| dot + 1 + next));
    &name[..second.unwrap_or(name.len())]
}
