use super::takes;
use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::isa::generic::{Form, OperandSlot, Pair};
use crate::resolve::misfits::{Place, Wrong};
use crate::resolve::operations::{Misfit, Opcode};
use crate::resolve::unit::Unit;
use crate::rules::generic::Generic;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::{BinaryOperator, Operand, OperandKind, UnaryOperator};

rule! {
    /// ## What it does
    /// Finds instructions outside tcgen05 with too few or too many operands, and with operands of the wrong
    /// kind: an address without brackets, a vector instead of a single value, an expression such as `-r` or
    /// `[r-4]`, `_` where a value is read.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module.
    ///
    /// ## Example
    /// ```ptx
    /// mbarrier.init.shared::cta.b64 [mbar];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mbarrier.init.shared::cta.b64 [mbar], 1;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 9 (Instruction Set)
    OperandsMisfit Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for misplaced in checker.unit.misfits() {
        let (misfit, slot) = match misplaced.wrong {
            Wrong::Looks(misfit, slot) => (misfit, slot),
            Wrong::Sink(place) | Wrong::Computed(place) | Wrong::NoPair(place) => {
                let generic = Generic::judged_by_operands(checker, misplaced.instruction);
                let finding = match misplaced.wrong {
                    Wrong::Sink(_) => sink,
                    Wrong::Computed(_) => computed,
                    _ => unpaired,
                };
                findings.extend(generic.map(|it| finding(checker.unit, &it, place)));
                continue;
            }
            _ => continue,
        };
        if let Some(generic) = Generic::judged_by_operands(checker, misplaced.instruction) {
            findings.extend(finding(checker.unit, &generic, misfit, slot));
        } else if let Some(generic) = Generic::new(checker, misplaced.instruction) {
            findings.extend(unended(checker.unit, &generic));
        }
    }
}

/// `_` where it is not allowed.
fn sink(unit: &Unit, generic: &Generic<'_>, place: Place) -> Diagnostic {
    let name = generic.name();
    let span = unit.module.operands[place.operand as usize].span();
    let (message, label, help) = if place.slot.role.is_written() {
        (
            "has a result that cannot be left out",
            "a register must stand here",
            "name a register that nothing reads",
        )
    } else {
        ("reads a value here", "`_` has none", "name a register, or write a number")
    };
    Diagnostic::new(Code::OperandsMisfit, span, format!("`{name}` {message}"), label).help(help)
}

/// One result where there are two.
fn unpaired(unit: &Unit, generic: &Generic<'_>, place: Place) -> Diagnostic {
    let name = generic.name();
    let span = unit.module.operands[place.operand as usize].span();
    let written = unit.source.slice(span);
    Diagnostic::new(
        Code::OperandsMisfit,
        span,
        format!("`{name}` writes a predicate, too"),
        "its place is behind a `|`",
    )
    .help(format!("write `{written}|p` with a predicate `p`"))
}

/// An operand that would have to be computed.
fn computed(unit: &Unit, generic: &Generic<'_>, place: Place) -> Diagnostic {
    let name = generic.name();
    let operand = &unit.module.operands[place.operand as usize];
    let (label, help) = match operand.kind() {
        OperandKind::Unary(UnaryOperator::Negate, _) => {
            ("this needs an instruction of its own", "negate it with `neg`")
        }
        OperandKind::Unary(..) => {
            ("this needs an instruction of its own", "compute it with an instruction before")
        }
        OperandKind::Binary(BinaryOperator::Subtract, parts)
            if unit.module.operands.get(parts.start as usize + 1).is_some_and(Operand::is_number) =>
        {
            ("a number is added to a name, and never subtracted", "write `+-` and the number")
        }
        OperandKind::Binary(BinaryOperator::Or, _) if place.slot.role.is_written() => {
            ("it has one result", "name one register")
        }
        _ => ("only a number can be added to a name", "compute it with an instruction before"),
    };
    let message = format!("`{name}` computes nothing of its operands");
    Diagnostic::new(Code::OperandsMisfit, operand.span(), message, label).help(help)
}

/// An instruction that reads the operation of the next statement as an operand.
fn unended(unit: &Unit, generic: &Generic<'_>) -> Option<Diagnostic> {
    let operands = unit.module.operands(unit.module.instructions[generic.index as usize].operands);
    let (span, end) = operands.iter().find_map(|it| Some((it.span(), unit.missing_end(it.span().start)?)))?;
    let finding = Diagnostic::new(
        Code::OperandsMisfit,
        Span::at(end),
        "a `;` is missing",
        format!("`{}` is not ended here", generic.name()),
    );
    let finding = finding.label(span, "this is read as an operand of it");
    Some(finding.fix(Some(Fix::safe("Insert `;`", Span::at(end), ";"))))
}

fn finding(
    unit: &Unit,
    generic: &Generic<'_>,
    misfit: Misfit,
    slot: Option<&OperandSlot>,
) -> Option<Diagnostic> {
    let opcode = generic.opcode;
    let operands = unit.module.operands(unit.module.instructions[generic.index as usize].operands);
    let name = generic.name();
    let finding = match misfit {
        Misfit::Count => {
            let span = match operands {
                [first, .., last] => first.span().to(last.span()),
                [only] => only.span(),
                [] => Span::at(generic.span.end),
            };
            let takes = takes(opcode.required(), opcode.slots.len());
            Diagnostic::new(
                Code::OperandsMisfit,
                span,
                format!("this form of `{name}` takes {takes}"),
                format!("found {}", operands.len()),
            )
        }
        Misfit::Form(position) => {
            let (operand, slot) = (operands.get(position)?, slot?);
            Diagnostic::new(
                Code::OperandsMisfit,
                operand.span(),
                format!("`{name}` wants {} here", wanted(slot)),
                "this is none",
            )
        }
    };
    Some(finding.help(syntax(opcode)))
}

/// What a position takes.
fn wanted(slot: &OperandSlot) -> &'static str {
    match slot.form {
        Form::Address => "an address in brackets",
        Form::List => "a list in parentheses",
        Form::Name => "a name",
        Form::Elements(_) => "a vector in braces",
        Form::Vector | Form::Packed | Form::Fragment => "a value or a vector",
        Form::Register => "a register",
        Form::Value => "a value",
        Form::Immediate => "a number",
        Form::Predicate => "a predicate",
        Form::Sink => "`_`",
    }
}

/// The operands of an opcode, as the ISA writes them.
fn syntax(opcode: &Opcode) -> String {
    let mut text = String::new();
    for slot in &opcode.slots {
        let name = slot.name;
        let shown = match slot.form {
            Form::Address => format!("[{name}]"),
            Form::List => format!("({name})"),
            Form::Elements(_) => format!("{{{name}, ...}}"),
            _ if slot.pair == Pair::Required => format!("{name}|p"),
            _ => name.to_owned(),
        };
        let comma = if text.is_empty() { "" } else { ", " };
        text += &if slot.is_optional() { format!("{{{comma}{shown}}}") } else { format!("{comma}{shown}") };
    }
    if text.is_empty() {
        return "remove the operands".to_owned();
    }
    format!("with these modifiers its operands are `{text}`")
}
