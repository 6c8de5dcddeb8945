use super::{each_outside_own_cta, each_wrong_generic};
use crate::analysis::shared::Generic;
use crate::analysis::windows::Outside;
use crate::diagnostic::{Diagnostic, Findings, Ptxas};
use crate::instruction::form::Problem;
use crate::instruction::index::OperationSet;
use crate::instruction::{Address, Base, Instruction};
use crate::isa::generic::{Group, Modifier};
use crate::isa::tensor::Restriction;
use crate::isa::vocabulary::AddressSpace;
use crate::isa::vocabulary::Operation;
use crate::resolve::misfits::{Place, Wrong};
use crate::resolve::symbols::Resolution;
use crate::rules::generic::Generic as Judged;
use crate::rules::{Checker, Code, rule};
use crate::source::{Span, Spanned};
use crate::syntax::ast::StateSpace;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds variables in another state space than the instruction names: a `.global` variable in
    /// `ld.shared`, a parameter in an `ld` without `.param`. `tcgen05.alloc` takes `.shared::cta` or none,
    /// `commit` takes `.shared::cluster` or none. If the instruction names none, a register must not hold
    /// the generic address of something outside of shared memory.
    /// The address that `alloc` writes to must not be that of another CTA, which `mapa` computes.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. Without a state space the address is generic, and a generic
    /// address outside of shared memory is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cluster.b32 [slot], 64;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 5.1 (State Spaces), 9.7.16.7.1 and 9.7.16.12.1
    StateSpace Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let misfits = if checker.looks_at_text() { checker.unit.misfits() } else { &[] };
    for misplaced in misfits {
        if let Wrong::Space(place, space) = misplaced.wrong
            && let Some(generic) = Judged::judged(checker, misplaced.instruction)
        {
            findings.push(elsewhere_declared(checker, &generic, place, space));
        }
    }
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            if let Problem::NotAllowed { qualifier, misfit: Some(misfit) } = problem
                && misfit.restriction == Restriction::StateSpace
                && let Some(form) = decoded.form
            {
                let word = qualifier.value.spelling();
                let finding = Diagnostic::new(
                    Code::StateSpace,
                    qualifier.span,
                    format!("`tcgen05.{}` does not take `.{word}`", form.operation),
                    "wrong state space",
                );
                findings.push(finding.help(misfit.reason));
            }
        }
    }
    each_wrong_generic(checker, &mut |span, wrong| {
        if let Generic::Elsewhere { made } = wrong {
            elsewhere(checker, span, made, findings);
        }
    });
    each_outside_own_cta(checker, &mut |span, outside| {
        if let Outside::Peer(made) = outside {
            of_peer(checker, span, made, findings);
        }
    });
    for (_, instruction) in checker.typed(OperationSet::of(&[Operation::Alloc, Operation::Commit])) {
        match instruction {
            Instruction::Alloc(alloc) => variable(checker, &alloc.dst, alloc.space, findings),
            Instruction::Commit(commit) => variable(checker, &commit.mbar, commit.space, findings),
            _ => {}
        }
    }
}

/// A variable outside tcgen05 must live where the instruction looks for it.
fn elsewhere_declared(
    checker: &Checker<'_>,
    generic: &Judged<'_>,
    place: Place,
    space: StateSpace,
) -> Diagnostic {
    let unit = checker.unit;
    let name = generic.name();
    let span = unit.module.operands[place.operand as usize].span();
    let is_named = generic.opcode.spaces().next().is_some() && !name.starts_with("mbarrier.");
    let wanted: Vec<String> = place.wanted.spaces.each().map(|space| format!("`.{space}`")).collect();
    let list = list_words(wanted.iter().map(String::as_str), "or");
    let message = if is_named {
        format!("`{name}` reaches {list} memory here, and `{}` is elsewhere", unit.readable(span))
    } else {
        format!("without a state space, `{name}` takes a variable in {list} memory")
    };
    let finding = Diagnostic::new(Code::StateSpace, span, message, format!("declared `.{space}`"));
    let finding = match unit.symbols.operand(place.operand) {
        Resolution::Symbol(id) => finding.label(unit.symbols.symbol(id).span, "declared here"),
        Resolution::Register(_) | Resolution::Special(_) | Resolution::Undeclared => finding,
    };
    let takes = |group: &Group| {
        group.words.iter().any(|word| matches!(word, Modifier::Space(it) if it.declared() == space))
    };
    finding.help(match generic.opcode.row {
        Some(row) if row.modifiers.iter().any(takes) && !name.starts_with("mbarrier.") => {
            format!("write `.{space}` as the state space, or name another variable")
        }
        _ => format!("name a variable in {list} memory"),
    })
}

/// A variable must live in shared memory. With a generic address the assembler takes `.global` and
/// `.local` ones, too; where they would lead is undefined, which it leaves to the programmer.
fn variable(
    checker: &Checker<'_>,
    address: &Address<'_>,
    space: Option<Spanned<AddressSpace>>,
    findings: &mut Findings<'_>,
) {
    let Base::Variable(variable) = address.base else { return };
    let (right, ptxas) = match (variable.space, space) {
        (StateSpace::Shared, _) => (true, true),
        (StateSpace::Global | StateSpace::Local, None) => (false, false),
        _ => (false, true),
    };
    if right {
        return;
    }
    let finding = Diagnostic::new(
        Code::StateSpace,
        variable.span,
        format!("`{}` is not a variable in shared memory", checker.unit.readable(variable.span)),
        format!("declared `.{}`", variable.space),
    )
    .label(checker.unit.symbols.symbol(variable.id).span, "declared here")
    .help("name a `.shared` variable");
    findings.push(if ptxas { finding } else { finding.ptxas(Ptxas::Silent) });
}

/// An address without a state space is a generic one, and has to be one of something in shared memory.
fn elsewhere(checker: &Checker<'_>, span: Span, made: u32, findings: &mut Findings<'_>) {
    findings.push(
        Diagnostic::new(
            Code::StateSpace,
            span,
            "without a state space, this must be the generic address of something in shared memory",
            "points to another state space",
        )
        .label(checker.unit.module.instructions[made as usize].opcode, "an address outside of shared memory")
        .help("name the address of something in shared memory")
        .ptxas(Ptxas::Silent),
    );
}

/// `alloc` writes to the shared memory of the CTA that executes it.
fn of_peer(checker: &Checker<'_>, span: Span, made: u32, findings: &mut Findings<'_>) {
    findings.push(
        Diagnostic::new(
            Code::StateSpace,
            span,
            "`tcgen05.alloc` writes its address to the shared memory of its own CTA",
            "points to another CTA of the cluster",
        )
        .label(
            checker.unit.module.instructions[made as usize].opcode,
            "this makes it the address of another CTA",
        )
        .note("the destination must lie in `.shared::cta` (PTX ISA, 9.7.16.7.1)")
        .help("give the address of the slot in the own CTA; each CTA allocates for itself")
        .ptxas(Ptxas::Silent),
    );
}
