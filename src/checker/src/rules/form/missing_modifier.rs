use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::{Group, Modifier, rows_starting_with};
use crate::rules::generic::Generic;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds instructions outside tcgen05 that lack a required modifier.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. PTX never lets you leave out a type, and few other modifiers are
    /// optional.
    ///
    /// ## Example
    /// ```ptx
    /// mbarrier.init.shared::cta [mbar], 1;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mbarrier.init.shared::cta.b64 [mbar], 1;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 9 (Instruction Set)
    MissingModifier Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    /// More choices say nothing.
    const MOST: usize = 6;
    for generic in Generic::unknown(checker).filter(|generic| !generic.is_open) {
        // Modifiers that it ignores do not count as required ones.
        let has_unknown = generic.opcode.refused_words(generic.text).next().is_some();
        if !generic.opcode.is_refused_as_incomplete() || has_unknown {
            continue;
        }
        let name = generic.name();
        // If rows share a name, each has its own modifiers.
        let first = name.split('.').next().unwrap_or_default();
        let is_only = rows_starting_with(first).iter().filter(|(it, _)| *it == name).count() == 1;
        let missing: Vec<(&Group, Option<u32>)> = generic.opcode.missing().collect();
        let kinds: Vec<String> = missing.iter().map(|(group, _)| what(group)).collect();
        let requires = if kinds.is_empty() { "another modifier".into() } else { list_words(kinds, "and") };
        let mut finding = Diagnostic::new(
            Code::MissingModifier,
            generic.span,
            format!("`{name}` requires {requires}"),
            "a modifier is missing here",
        );
        if is_only && let [(group, end)] = missing.as_slice() {
            let words: Vec<String> = group.words.iter().map(|word| format!(".{}", word.spelling())).collect();
            if words.len() <= MOST {
                let words = words.iter().map(|word| format!("`{word}`"));
                finding = finding.help(format!("add {}", list_words(words, "or")));
            }
            if let [only] = words.as_slice() {
                let end = end.map_or_else(|| generic.end_of_name(), |end| generic.span.start + end);
                finding = finding.fix(Some(Fix::safe(format!("Insert `{only}`"), Span::at(end), only)));
            }
        }
        findings.push(finding);
    }
}

/// What the modifiers of a group have in common.
fn what(group: &Group) -> String {
    match group.words {
        [only] => format!("`.{}`", only.spelling()),
        [Modifier::Type(_), ..] => "a type".to_owned(),
        [Modifier::Space(_), ..] => "a state space".to_owned(),
        [Modifier::Semantics(_), ..] => "memory semantics".to_owned(),
        [Modifier::Scope(_), ..] => "a scope".to_owned(),
        [Modifier::Shape(_), ..] => "a shape".to_owned(),
        [Modifier::Comparison(_), ..] => "a comparison".to_owned(),
        [Modifier::Rounding(_), ..] => "a rounding".to_owned(),
        [Modifier::Vector(_), ..] => "a number of elements".to_owned(),
        words => {
            let shown = words.iter().take(4).map(|word| format!("`.{}`", word.spelling()));
            list_words(shown.chain((words.len() > 4).then(|| "another".to_owned())), "or")
        }
    }
}
