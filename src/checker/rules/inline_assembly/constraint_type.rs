use super::{Member, instructions};
use crate::diagnostic::{Diagnostic, Findings};
use crate::host::integer_letters;
use crate::instruction::types::{self, Mistyped};
use crate::isa::generic::{self, Form, Role, TypeRule};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{Resolution, SymbolKind};
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::OperandKind;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds operands whose constraint makes a register of another width than their place in the PTX takes:
    /// `"h"` is 16 bits wide, `"r"` and `"f"` 32, `"l"` and `"d"` 64, `"q"` 128. nvcc does not tell a `float` from
    /// an integer of the same width.
    ///
    /// ## Why is this bad?
    /// The assembler refuses what nvcc makes of the statement, with a line of a temporary file.
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
        for fragment in &unit.fragments {
            instructions(unit, fragment).for_each(|member| generic(unit, &member, findings));
        }
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

/// An instruction outside tcgen05.
fn generic(unit: &Unit, member: &Member<'_>, findings: &mut Findings<'_>) {
    let Member { raw, opcode } = member;
    if unit.is_open(raw.opcode.start) || !opcode.is_known() {
        return;
    }
    let Ok(slots) = opcode.assign(&unit.module, raw.operands) else { return };
    // Only these convert what they read or write.
    let may_be_wider = opcode.operation().is_some_and(generic::Operation::takes_wider_registers);
    for (operand, slot) in raw.operands.range().zip(slots) {
        // No register is narrower than 16 bits.
        let Some(due) = bits(opcode, slot).filter(|due| *due >= 16) else { continue };
        let node = &unit.module.operands[operand];
        let elements = match (node.kind(), slot.form) {
            (OperandKind::Name, _) => operand..operand + 1,
            (OperandKind::Vector(parts), Form::Vector) => parts.range(),
            _ => continue,
        };
        for index in elements {
            let Resolution::Register(id) = unit.symbols.operand(index as u32) else { continue };
            let symbol = unit.symbols.register(id);
            let SymbolKind::Register { ty: Some(ty), .. } = symbol.kind else { continue };
            let Some(found) = ty.bits().filter(|_| unit.binding(symbol.span).is_some()) else { continue };
            if found < due || found > due && !may_be_wider {
                let name = opcode.row.map_or("", generic::Row::name);
                let message = format!("`{}` of `{name}` must be {due} bits wide", slot.name);
                let place = unit.module.operands[index].span();
                findings.push(finding(message, place, (found, &[due]), symbol.span));
            }
        }
    }
}

/// How wide the register in a position has to be, where that is known.
fn bits(opcode: &Opcode, slot: &generic::OperandSlot) -> Option<u32> {
    match slot.role {
        Role::Destination | Role::Source | Role::Accumulator => {}
        Role::Address(..)
        | Role::Label
        | Role::Callee
        | Role::Results
        | Role::Arguments
        | Role::Prototype => {
            return None;
        }
    }
    let of = |ty: generic::Type| ty.bits();
    match slot.ty {
        TypeRule::Nth(nth) => of(*opcode.types.get(usize::from(nth))?),
        TypeRule::Product => {
            let bits = of(*opcode.types.first()?)?;
            Some(if opcode.has(generic::Modifier::Part(generic::Part::Wide)) { 2 * bits } else { bits })
        }
        TypeRule::Fixed(ty) => of(ty),
        TypeRule::Pointer | TypeRule::Fragment | TypeRule::Any => None,
    }
}
