use rustc_hash::FxHashSet;

use crate::diagnostic::{Diagnostic, Findings};
use crate::host::{Fragment, is_unknown};
use crate::instruction::form::Problem;
use crate::isa::generic::{Computation, Role, Type, TypeRule};
use crate::resolve::symbols::Resolution;
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::{OperandKind, StatementKind};

rule! {
    /// ## What it does
    /// Finds registers, variables, guards, labels and functions that no declaration in an enclosing scope
    /// declares; registers and variables before their use.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. `.reg .b32 %r<10>;` declares `%r0` to `%r9`, and a name
    /// ends with the `}` of its scope.
    ///
    /// ## Example
    /// ```ptx
    /// { .reg .b32 tmp; }
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {tmp}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reg .b32 tmp;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {tmp}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 5 (State Spaces, Types, and Variables)
    UndeclaredName Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    if unit.is_module {
        for decoded in checker.with_problems() {
            for problem in &decoded.problems {
                let Problem::Undeclared { span, guard } = problem else { continue };
                // It starts a statement: what is wrong is said of the one before it.
                if unit.missing_end(span.start).is_some() {
                    continue;
                }
                findings.push(finding(
                    unit,
                    *span,
                    if *guard { Place::Guard } else { Place::Operand("b32") },
                ));
            }
        }
        if checker.component.functions.is_empty() {
            in_others(unit, findings);
        }
    } else if checker.component.functions.is_empty() {
        // All instructions of fragments are looked at, once.
        in_fragments(unit, findings);
    }
}

/// Where a name stands.
#[derive(Clone, Copy)]
enum Place {
    /// Before an instruction.
    Guard,
    /// Among its operands; what a register is declared as that may stand there.
    Operand(&'static str),
    /// In brackets.
    Address,
    /// Where a label stands.
    Label,
    /// Where a function stands.
    Callee,
}

fn finding(unit: &Unit, span: Span, place: Place) -> Diagnostic {
    let name = unit.source.slice(span);
    let operand = "this operand is declared in no scope around it";
    let register = |ty: &str| Some(format!("declare it before its use, as in `.reg .{ty} {name};`"));
    let (label, help) = match place {
        Place::Guard => ("this guard is declared in no scope around it", register("pred")),
        Place::Operand(ty) => (operand, register(ty)),
        Place::Address => {
            (operand, Some("declare a register or a variable of this name before its use".into()))
        }
        Place::Label => ("no scope around it has such a label", None),
        Place::Callee => ("no function of this name is declared", None),
    };
    let mut finding = Diagnostic::new(Code::UndeclaredName, span, format!("undeclared name `{name}`"), label);
    if let Some(help) = help {
        finding = finding.help(help);
    }
    finding
}

/// The names of instructions outside tcgen05, which has findings of its own. Where something does not parse, that
/// may be the declaration.
fn in_others(unit: &Unit, findings: &mut Findings<'_>) {
    let undeclared = unit.symbols.undeclared();
    let statements = &unit.module.statements;
    if undeclared.is_empty() || statements.iter().any(|it| it.kind() == StatementKind::Broken) {
        return;
    }
    for span in undeclared {
        let behind = statements.partition_point(|statement| statement.span.start <= span.start);
        let Some(statement) = behind.checked_sub(1).map(|at| statements[at]) else { continue };
        let StatementKind::Instruction(index) = statement.kind() else { continue };
        if statement.span.end < span.end
            || unit.operations.is_tensor(index)
            || is_unknown(unit.source.slice(*span))
            || unit.missing_end(span.start).is_some()
        {
            continue;
        }
        let place = place(unit, index, *span);
        if !matches!(place, Place::Callee) || !is_known_to_optix(unit.source.slice(*span)) {
            findings.push(finding(unit, *span, place));
        }
    }
}

/// Whether a function is one of the compiler for ray tracing, which nobody declares: its programs are PTX, too, but not
/// for the assembler.
fn is_known_to_optix(name: &str) -> bool {
    name.starts_with("_optix_") || name.starts_with("_rt_")
}

/// Where in an instruction a name stands.
fn place(unit: &Unit, index: u32, name: Span) -> Place {
    let raw = &unit.module.instructions[index as usize];
    if name.start < raw.opcode.start {
        return Place::Guard;
    }
    let operands = unit.module.operands(raw.operands);
    let at = operands.partition_point(|operand| operand.span().end < name.end);
    let slots = unit.operations.of(index).assign(&unit.module, raw.operands).unwrap_or_default();
    let Some(slot) = slots.get(at) else { return Place::Operand("b32") };
    match slot.role {
        Role::Label | Role::Prototype => Place::Label,
        Role::Callee => Place::Callee,
        Role::Address(..) => Place::Address,
        Role::Destination | Role::Accumulator | Role::Source | Role::Results | Role::Arguments => {
            Place::Operand(if slot.ty == TypeRule::Fixed(Type::Pred) { "pred" } else { "b32" })
        }
    }
}

/// What a fragment does not declare, another one of the same function may. So only those are judged
/// that declare registers of their own, and only names that none declares for others to use.
fn in_fragments(unit: &Unit, findings: &mut Findings<'_>) {
    let shared: FxHashSet<&str> = unit
        .fragments
        .iter()
        .flat_map(|fragment| declared(unit, fragment))
        .filter(|it| it.1)
        .map(|it| it.0)
        .collect();
    for fragment in &unit.fragments {
        let is_closed = fragment.is_complete
            && fragment.stray_braces.is_empty()
            && declared(unit, fragment).next().is_some();
        if !is_closed {
            continue;
        }
        for statement in unit.statements_in(fragment.body) {
            let StatementKind::Instruction(index) = statement.kind() else { continue };
            let raw = &unit.module.instructions[index as usize];
            if let Some(guard) = unit.module.guard(raw)
                && unit.symbols.guard(index) == Resolution::Undeclared
                && !shared.contains(unit.source.slice(guard.name))
            {
                findings.push(finding(unit, guard.name, Place::Guard));
            }
            for place in registers(unit, index) {
                let span = unit.module.operands[place as usize].span();
                let name = unit.source.slice(span);
                let is_undeclared = unit.symbols.operand(place) == Resolution::Undeclared;
                if is_undeclared && !is_unknown(name) && !shared.contains(name) {
                    findings.push(finding(unit, span, Place::Operand("b32")));
                }
            }
        }
    }
}

/// The names that a fragment declares, and whether they can be seen outside of it.
fn declared<'u>(unit: &'u Unit, fragment: &Fragment) -> impl Iterator<Item = (&'u str, bool)> {
    let mut depth = 0;
    unit.statements_in(fragment.body).iter().flat_map(move |statement| {
        let mut declarators = 0..0;
        match statement.kind() {
            StatementKind::BlockOpen => depth += 1,
            StatementKind::BlockClose => depth -= 1,
            StatementKind::Declaration(index) => {
                declarators = unit.module.declarations[index as usize].declarators.range();
            }
            _ => {}
        }
        let is_outside = depth <= 0;
        unit.module.declarators[declarators].iter().map(move |it| (unit.source.slice(it.name), is_outside))
    })
}

/// The names of an instruction that cannot be anything but registers: places among the operands.
fn registers(unit: &Unit, index: u32) -> Vec<u32> {
    let raw = &unit.module.instructions[index as usize];
    let opcode = unit.operations.of(index);
    let Ok(slots) = opcode.assign(&unit.module, raw.operands) else { return Vec::new() };
    let mut found = Vec::new();
    for (place, slot) in raw.operands.range().zip(slots) {
        let is_register = match slot.role {
            Role::Destination | Role::Accumulator => true,
            // `mov` takes the address of a variable.
            Role::Source => opcode.computes() != Computation::Move,
            Role::Address(..)
            | Role::Label
            | Role::Callee
            | Role::Results
            | Role::Arguments
            | Role::Prototype => false,
        };
        if is_register {
            names(unit, place as u32, &mut found);
        }
    }
    found
}

/// The names in an operand.
fn names(unit: &Unit, place: u32, found: &mut Vec<u32>) {
    let operand = &unit.module.operands[place as usize];
    match operand.kind() {
        OperandKind::Name => found.push(place),
        OperandKind::Vector(parts) | OperandKind::Unary(_, parts) | OperandKind::Binary(_, parts) => {
            parts.range().for_each(|part| names(unit, part as u32, found));
        }
        OperandKind::Integer
        | OperandKind::Float
        | OperandKind::String
        | OperandKind::Sink
        | OperandKind::Address(_)
        | OperandKind::List(_)
        | OperandKind::Conditional(_)
        | OperandKind::Cast(..)
        | OperandKind::Apply(_)
        | OperandKind::Element(_) => {}
    }
}
