use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::{rows, rows_starting_with};
use crate::resolve::operations::Opcode;
use crate::resolve::words::words;
use crate::rules::generic::{Generic, Meant};
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
    let mut all_meant = Meant::default();
    for generic in Generic::unknown(checker).filter(|generic| generic.opcode.row.is_none()) {
        let words: Vec<(&str, Span)> = words(generic.text).take(2).collect();
        let [(first, span), others @ ..] = &words[..] else { continue };
        // Several words are one name: `cp.async`, of which the first means nothing alone.
        let named = others.first().filter(|_| !rows_starting_with(first).is_empty());
        let span = named.map_or(*span, |(_, second)| span.to(*second));
        let name = generic.text.get(span.range()).unwrap_or_default();
        let rest = generic.text.get(span.range().end..).unwrap_or_default();
        let meant = all_meant.by(&generic, || match named {
            Some(_) => meant(name, rest, rows_starting_with(first).iter().map(|(name, _)| two_words(name))),
            None => meant(name, rest, rows().flat_map(|row| row.names).map(|name| first_word(name))),
        });
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
        if let [only] = meant {
            finding.fix = Some(Fix::guess(format!("Write `{only}`"), generic.place(span), *only));
        }
        findings.push(finding);
    }
}

/// Of some names those that look like `name`; only those with which the opcode is known, if there are any.
fn meant(name: &str, rest: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let (known, others): (Vec<&str>, Vec<&str>) =
        similar(name, names).into_iter().partition(|it| Opcode::new(&format!("{it}{rest}")).is_known());
    if known.is_empty() { others } else { known }
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
