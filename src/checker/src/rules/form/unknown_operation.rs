use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::{rows, rows_starting_with};
use crate::resolve::opcode_words::words;
use crate::resolve::operations::Opcode;
use crate::rules::generic::{Generic, Meant};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::{list_words, similar};

rule! {
    /// ## What it does
    /// Finds instructions that PTX does not have, outside tcgen05.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. Most instructions of a Blackwell kernel are outside tcgen05: waits
    /// at mbarriers, bulk copies, fences and arithmetic.
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
        let words: Vec<(&str, Span)> = words(generic.text).collect();
        let Some((first, span)) = words.first() else { continue };
        // Several parts are one name: in `barrier.cluster.arrive` the first ones have no meaning alone.
        let names = rows_starting_with(first);
        let alike =
            |name: &str| name.split('.').zip(&words).take_while(|(part, (word, _))| part == word).count();
        let count = names.iter().map(|(name, _)| alike(name)).max().map_or(1, |known| known + 1);
        let last = words.get(count - 1).or(words.last()).map_or(*span, |(_, last)| *last);
        let span = span.to(last);
        let name = generic.text.get(span.range()).unwrap_or_default();
        if checker.unit.holes.has_unknown(generic.place(span)) {
            continue;
        }
        let rest = generic.text.get(span.range().end..).unwrap_or_default();
        let meant = all_meant.by(&generic, || {
            if names.is_empty() {
                meant(name, rest, rows().flat_map(|row| row.names).map(|name| first_words(name, 1)))
            } else {
                meant(name, rest, names.iter().map(|(name, _)| first_words(name, count)))
            }
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

/// The first parts of a name.
fn first_words(name: &str, count: usize) -> &str {
    let end = name.match_indices('.').nth(count - 1);
    &name[..end.map_or(name.len(), |(at, _)| at)]
}
