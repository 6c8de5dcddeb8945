use crate::diagnostic::{Diagnostic, Findings, Ptxas};
use crate::instruction::Instruction;
use crate::instruction::decode::Decoded;
use crate::instruction::form::Problem;
use crate::instruction::index::OperationSet;
use crate::isa::vocabulary::{DataType, Qualifier};
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds qualifiers of tcgen05 on an instruction that does not take them.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction, or ignores a qualifier that was meant to have an effect.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.wait::ld.cta_group::1.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7 to 9.7.16.12
    QualifierNotAllowed Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            if let Problem::NotAllowed { qualifier, misfit: None } = problem {
                findings.push(finding(decoded, *qualifier));
            }
        }
    }
    for (_, instruction) in checker.typed(OperationSet::REDUCING) {
        reduction_flags(instruction, findings);
    }
}

fn finding(decoded: &Decoded<'_>, qualifier: Spanned<Qualifier>) -> Diagnostic {
    let Some(form) = decoded.form else { unreachable!("a qualifier is judged against a form") };
    let operation = form.operation;
    let word = qualifier.value.spelling();
    let finding = Diagnostic::new(
        Code::QualifierNotAllowed,
        qualifier.span,
        format!("`.{word}` is not allowed on `tcgen05.{operation}`"),
        format!(
            "`tcgen05.{operation}` does not take {}",
            describe(form.slot(qualifier.value.slot()).is_some(), qualifier.value)
        ),
    );
    let help = match form.slot(qualifier.value.slot()) {
        Some(slot) => {
            let choices = slot.choices().into_iter().map(|choice| format!("`.{}`", choice.spelling()));
            format!("it takes {}", list_words(choices, "or"))
        }
        None => format!("remove it; the syntax is `{}`", form.syntax()),
    };
    let ignored = form.ignores(qualifier.value.slot());
    finding.help(help).ptxas(if ignored { Ptxas::Silent } else { Ptxas::Rejects })
}

fn describe(slot_exists: bool, qualifier: Qualifier) -> String {
    if slot_exists { "this one".to_owned() } else { qualifier.slot().title().to_owned() }
}

/// `.abs` and `.NaN` of `ld.red` mean something for floating point only (errata E2).
fn reduction_flags(instruction: &Instruction<'_>, findings: &mut Findings<'_>) {
    let Instruction::Ld(ld) = instruction else { return };
    let Some(reduction) = &ld.reduction else { return };
    if reduction.ty.value == DataType::F32 {
        return;
    }
    let flags = [reduction.abs.map(|it| (it.span, "abs")), reduction.nan.map(|it| (it.span, "NaN"))];
    let mut flags = flags.into_iter().flatten();
    let Some((span, word)) = flags.next() else { return };
    let second = flags.next();
    // Both are one mistake.
    let (words, verb) = match second {
        Some((_, other)) => (format!("`.{word}` and `.{other}`"), "are"),
        None => (format!("`.{word}`"), "is"),
    };
    let mut finding = Diagnostic::new(
        Code::QualifierNotAllowed,
        span,
        format!("{words} {verb} not allowed with `.{}`", reduction.ty.value),
        "for floating point only",
    )
    .label(reduction.ty.span, "the type of the reduction")
    .help(format!("remove {words}, or reduce as `.f32`"));
    if let Some((other, _)) = second {
        finding = finding.label(other, "for floating point only, too");
    }
    findings.push(finding);
}
