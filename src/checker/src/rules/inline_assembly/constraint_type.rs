use crate::diagnostic::{Diagnostic, Findings};
use crate::host::integer_letters;
use crate::instruction::types::{self, Mistyped};
use crate::isa::generic;
use crate::resolve::misfits::Wrong;
use crate::resolve::unit::Unit;
use crate::rules::generic::narrow_address;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds operands whose constraint creates a register of another width than the PTX expects: `"h"` is
    /// 16 bits wide, `"r"` and `"f"` 32, `"l"` and `"d"` 64, `"q"` 128. nvcc does not distinguish a `float`
    /// from an integer of the same width.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the statement that nvcc generates, and names a line of a temporary file.
    ///
    /// ## Example
    /// ```cuda
    /// asm volatile("tcgen05.shift.cta_group::1.down [%0];\n\tmov.b64 %1, %0;" :: "r"(taddr), "r"(copy));
    /// ```
    ///
    /// ## Use instead
    /// ```cuda
    /// asm volatile("tcgen05.shift.cta_group::1.down [%0];\n\tmov.b32 %1, %0;" :: "r"(taddr), "r"(copy));
    /// ```
    ///
    /// ## References
    /// *Inline PTX Assembly in CUDA*, section 1.2.1 (Constraints)
    ConstraintType Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    if unit.is_module {
        return;
    }
    for decoded in checker.with_odd_registers() {
        for Mistyped { register, slot, allowed } in types::mistyped(decoded) {
            let declaration = unit.symbols.register(register.id).span;
            if let (Some(ty), true) = (register.ty, unit.binding(declaration).is_some()) {
                let message = format!("`{}` must be {}", slot.name, types::wanted(allowed));
                let found = ty.bits().unwrap_or_default();
                let due: Vec<u32> = allowed.iter().filter_map(|ty| ty.bits()).collect();
                findings.push(finding(message, register.span, (found, &due), declaration));
            }
        }
    }
    // Of all other instructions it is known how wide their operands are. They are looked at once.
    if checker.component.functions.is_empty() {
        generic(unit, findings);
    }
}

fn finding(message: String, place: Span, (found, due): (u32, &[u32]), declaration: Span) -> Diagnostic {
    let fitting: Vec<String> = integer_letters()
        .filter(|(_, bits)| due.contains(bits))
        .map(|(letter, _)| format!("`\"{letter}\"`"))
        .collect();
    let help = match list_words(fitting.iter().map(String::as_str), "or") {
        letters if letters.is_empty() => "declare a register of that type in the template".to_owned(),
        letters => format!("use a variable for the constraint {letters}, or convert it in the template"),
    };
    Diagnostic::new(Code::ConstraintType, place, message, format!("this operand is {found} bits wide"))
        .label(declaration, "by this constraint")
        .help(help)
}

/// What does not fit outside tcgen05.
fn generic(unit: &Unit, findings: &mut Findings<'_>) {
    for misplaced in unit.misfits() {
        let Wrong::Class(place, class) = misplaced.wrong else { continue };
        let raw = &unit.module.instructions[misplaced.instruction as usize];
        let (Some(declaration), false) = (unit.binding_of(place.operand), unit.is_open(raw.opcode.start))
        else {
            continue;
        };
        let name = unit.operations.of(misplaced.instruction).row.map_or("", generic::Row::name);
        let due: Vec<u32> = place.classes().registers().filter_map(generic::Type::bits).collect();
        let found = class.bits().unwrap_or_default();
        let what = place.slot.name;
        if place.is_narrow_address(class) {
            let opcode = unit.operations.of(misplaced.instruction);
            let (message, help) = narrow_address(opcode, name, "a pointer, for the constraint `\"l\"`");
            let span = unit.module.operands[place.operand as usize].span();
            let finding =
                Diagnostic::new(Code::ConstraintType, span, message, "this operand is 32 bits wide");
            findings.push(finding.label(declaration, "by this constraint").help(help));
            continue;
        }
        let message = match (due.first(), due.last()) {
            (Some(least), Some(most)) if least == most => {
                format!("`{what}` of `{name}` must be {least} bits wide")
            }
            (Some(least), _) => format!("`{what}` of `{name}` must be at least {least} bits wide"),
            (None, _) if place.wanted.ty == Some(generic::Type::Pred) => {
                format!("`{what}` of `{name}` must be a predicate")
            }
            (None, _) => format!("`{what}` of `{name}` takes no register"),
        };
        let span = unit.module.operands[place.operand as usize].span();
        findings.push(finding(message, span, (found, &due), declaration));
    }
}
