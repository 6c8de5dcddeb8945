use super::each_wrong_generic;
use crate::analysis::shared::Generic;
use crate::diagnostic::{Diagnostic, Findings, Ptxas};
use crate::instruction::form::Problem;
use crate::instruction::index::OperationSet;
use crate::instruction::{Address, Base, Instruction};
use crate::isa::tensor::Restriction;
use crate::isa::vocabulary::AddressSpace;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};
use crate::source::{Span, Spanned};
use crate::syntax::ast::StateSpace;

rule! {
    /// ## What it does
    /// Checks the state space of the addresses in shared memory: `alloc` takes `.shared::cta` or
    /// none, `commit` takes `.shared::cluster` or none, and a variable has to live there. Where there is
    /// none, a register must not hold the generic address of something that lives elsewhere.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. Without a state space the address is generic, and where one
    /// outside of shared memory leads is undefined.
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
    /// PTX ISA, sections 9.7.16.7.1 and 9.7.16.12.1
    StateSpace Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
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
    for (_, instruction) in checker.typed(OperationSet::of(&[Operation::Alloc, Operation::Commit])) {
        match instruction {
            Instruction::Alloc(alloc) => variable(checker, &alloc.dst, alloc.space, findings),
            Instruction::Commit(commit) => variable(checker, &commit.mbar, commit.space, findings),
            _ => {}
        }
    }
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
