use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::{Constraint, Demand, Modifier, Term};
use crate::rules::generic::{Generic, choice_of};
use crate::rules::{Checker, Code, rule};
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds instructions outside tcgen05 with modifiers that cannot be combined: one excludes another, or
    /// needs another that is missing.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. Most instructions have several forms in the ISA, and each form has
    /// its own modifiers: in `add`, only `.s32` saturates and only `.f32` flushes subnormals.
    ///
    /// ## Example
    /// ```ptx
    /// .reg .b64 a, b, d;
    /// add.rn.ftz.f64 d, a, b;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reg .b64 a, b, d;
    /// add.rn.f64 d, a, b;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 9 (Instruction Set)
    ModifiersExclude Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let violated = checker
        .unit
        .operations
        .each_with(|opcode| opcode.is_known() && opcode.row.is_some() && opcode.violated().next().is_some());
    let judged = violated.filter_map(|index| Generic::new(checker, index)).filter(|generic| !generic.is_open);
    for generic in judged {
        // One is enough: what repairs it often repairs the others.
        let Some(constraint) = generic.opcode.violated().next() else { continue };
        findings.push(finding(&generic, constraint));
    }
}

/// The message for a violated constraint.
fn finding(generic: &Generic<'_>, constraint: &Constraint) -> Diagnostic {
    let words = generic.opcode.words();
    let about: Vec<usize> =
        constraint.when.iter().filter(|term| !term.absent).filter_map(|term| term.find(&words)).collect();
    match constraint.then {
        // The violation is a modifier too many, or a missing one.
        Demand::Excludes(term) | Demand::Needs(term) => match term.find(&words) {
            Some(excluded) => conflict(generic, about, excluded),
            None => match term.rival(&words).filter(|at| !about.contains(at)) {
                // Another modifier is in the position of the needed one.
                Some(rival) => conflict(generic, about, rival),
                None => missing(generic, &about, term.words),
            },
        },
        Demand::OneOf(lists) => no_form(generic, &about, lists),
        Demand::Leads(term) => misplaced(generic, term.find(&words).unwrap_or_default()),
        Demand::Since(_) | Demand::On(_) | Demand::Gone(..) => missing(generic, &about, &[]),
    }
}

/// Modifiers that cannot be combined; `last` is the one that the constraint forbids.
fn conflict(generic: &Generic<'_>, mut about: Vec<usize>, last: usize) -> Diagnostic {
    let name = generic.name();
    let modifiers = &generic.opcode.modifiers;
    about.push(last);
    // One that may be left out is the easier to repair.
    let is_optional = |at: &usize| !generic.opcode.must_have(modifiers[*at].modifier);
    let culprit = about.iter().copied().rfind(is_optional).unwrap_or(last);
    about.retain(|at| *at != culprit);
    let spelled = |at: usize| format!("`.{}`", modifiers[at].modifier.spelling());
    let others = list_words(about.iter().map(|at| spelled(*at)), "and");
    let with = if about.is_empty() { String::new() } else { format!(" with {others}") };
    let mut finding = Diagnostic::new(
        Code::ModifiersExclude,
        generic.place(modifiers[culprit].span),
        format!("`{name}` does not take {}{with}", spelled(culprit)),
        if about.is_empty() { "not in this form".to_owned() } else { format!("not with {others}") },
    );
    for at in &about {
        finding = finding.label(generic.place(modifiers[*at].span), "this stands here");
    }
    let instead = generic.opcode.instead_of(culprit);
    if is_optional(&culprit) {
        finding = finding.help(format!("remove {}", spelled(culprit))).fix(Some(Fix::guess(
            format!("Remove {}", spelled(culprit)),
            generic.place(modifiers[culprit].span),
            "",
        )));
    } else if !instead.is_empty() {
        finding = finding.help(format!("write {} instead", choice_of(&instead)));
    }
    finding
}

/// A part of the name that is written later in the opcode.
fn misplaced(generic: &Generic<'_>, at: usize) -> Diagnostic {
    let name = generic.name();
    let word = &generic.opcode.modifiers[at];
    let spelled = format!("`.{}`", word.modifier.spelling());
    Diagnostic::new(
        Code::ModifiersExclude,
        generic.place(word.span),
        format!("{spelled} must follow the name of `{name}`"),
        "too far behind",
    )
    .help(format!("write `{name}.{}` first", word.modifier.spelling()))
}

/// A modifier that others need.
fn missing(generic: &Generic<'_>, about: &[usize], wanted: &[Modifier]) -> Diagnostic {
    let name = generic.name();
    let modifiers = &generic.opcode.modifiers;
    let wanted = choice_of(wanted);
    let subject =
        list_words(about.iter().map(|at| format!("`.{}`", modifiers[*at].modifier.spelling())), "and");
    let (span, message) = match about.first() {
        Some(first) => {
            (generic.place(modifiers[*first].span), format!("{subject} of `{name}` requires {wanted}"))
        }
        None => (generic.span, format!("`{name}` requires {wanted}")),
    };
    Diagnostic::new(Code::ModifiersExclude, span, message, "another modifier is missing")
        .help(format!("add {wanted}"))
}

/// Modifiers each of which some form of the instruction has, but none has together with the others.
fn no_form(generic: &Generic<'_>, about: &[usize], lists: &[&[Term]]) -> Diagnostic {
    let words = generic.opcode.words();
    let modifiers = &generic.opcode.modifiers;
    // The form that has most of what is written.
    let best = lists.iter().max_by_key(|list| list.iter().filter(|term| term.holds(&words)).count());
    let lacking: Vec<&Term> =
        best.iter().flat_map(|list| list.iter()).filter(|term| !term.holds(&words)).collect();
    let rival = lacking.iter().find_map(|term| term.rival(&words));
    let span = match rival.or(about.first().copied()) {
        Some(at) => generic.place(modifiers[at].span),
        None => generic.span,
    };
    let mut finding = Diagnostic::new(
        Code::ModifiersExclude,
        span,
        format!("`{}` has no form with these modifiers", generic.name()),
        if rival.is_some() { "this does not go with the others" } else { "these do not go together" },
    );
    let needed = lacking.iter().filter(|term| !term.absent).map(|term| choice_of(term.words));
    let removed = lacking.iter().filter(|term| term.absent).filter_map(|term| term.find(&words));
    let needed: Vec<String> =
        needed.chain(removed.map(|at| format!("no `.{}`", modifiers[at].modifier.spelling()))).collect();
    if !needed.is_empty() {
        finding = finding.help(format!("the closest form has {}", list_words(needed, "and")));
    }
    finding
}
