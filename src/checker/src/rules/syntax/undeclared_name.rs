use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Diagnostic, Findings, Fix};
use crate::host::Fragment;
use crate::instruction::form::Problem;
use crate::isa::generic::{Computation, Role, Type, TypeRule};
use crate::isa::special_registers::Special;
use crate::resolve::symbols::Resolution;
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::{OperandKind, StatementKind};
use crate::words::{list_words, similar};

rule! {
    /// ## What it does
    /// Finds registers, variables, guards, labels and functions without a declaration in an enclosing
    /// scope. Registers and variables must be declared before their use.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. `.reg .b32 %r<10>;` declares `%r0` to `%r9`, and a name is valid
    /// until the `}` of its scope.
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
                // It starts a statement: the previous one has the finding.
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

/// Where a name is.
#[derive(Clone, Copy)]
enum Place {
    /// Before an instruction.
    Guard,
    /// Among its operands; the declared type of a register that is allowed there.
    Operand(&'static str),
    /// In brackets.
    Address,
    /// Where a label is allowed.
    Label,
    /// Where a function is allowed.
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
    let meant = if name.starts_with('%') { special_registers(name) } else { Vec::new() };
    if !meant.is_empty() {
        let names = meant.iter().map(|name| format!("`{name}`"));
        finding = finding.help(format!("did you mean {}?", list_words(names, "or")));
        if let [only] = meant.as_slice() {
            finding.fix = Some(Fix::guess(format!("Write `{only}`"), span, only.clone()));
        }
        return finding;
    }
    if let Some(help) = help {
        finding = finding.help(help);
    }
    finding
}

/// The special registers that a name is most like.
fn special_registers(name: &str) -> Vec<String> {
    let all: Vec<String> = Special::all().map(|(name, _)| name).collect();
    similar(name, all.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
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

/// Where in an instruction a name is.
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
                // Those of the machine have a pass of their own.
                let may_be_special = name.starts_with('%') && !is_of_compiler(name);
                if is_undeclared && !unit.holes.has_unknown(span) && !shared.contains(name) && !may_be_special
                {
                    findings.push(finding(unit, span, Place::Operand("b32")));
                }
            }
        }
    }
    others_in_fragments(unit, &shared, findings);
}

/// The same for names that may be variables, labels or machine registers.
fn others_in_fragments(unit: &Unit, shared: &FxHashSet<&str>, findings: &mut Findings<'_>) {
    /// Of no more names it is looked for around the assembly.
    const MOST_ASKED: usize = 256;
    let mut asked: FxHashMap<&str, bool> = FxHashMap::default();
    let statements = &unit.module.statements;
    for span in unit.symbols.undeclared() {
        let name = unit.source.slice(*span);
        if unit.holes.has_unknown(*span) || shared.contains(name) || is_of_compiler(name) {
            continue;
        }
        let behind = statements.partition_point(|statement| statement.span.start <= span.start);
        let statement = behind.checked_sub(1).map(|at| statements[at]).filter(|it| span.end <= it.span.end);
        let Some(StatementKind::Instruction(index)) = statement.map(|it| it.kind()) else { continue };
        let Some(fragment) = unit.fragment(span.start).filter(|it| it.is_complete) else { continue };
        let place = place(unit, index, *span);
        let is_moved = unit.operations.of(index).computes() == Computation::Move;
        let is_closed = fragment.stray_braces.is_empty() && declared(unit, fragment).any(|it| !it.1);
        if name.starts_with('%') {
            // No variable is called so, and no other statement here declares such a register.
            let is_sure = is_closed || is_moved || !special_registers(name).is_empty();
            if is_sure && !matches!(place, Place::Guard) {
                findings.push(finding(unit, *span, place));
            }
            continue;
        }
        let may_be_variable = match place {
            Place::Operand(_) => is_moved,
            Place::Address => true,
            Place::Guard | Place::Label | Place::Callee => false,
        };
        if !may_be_variable || !is_closed {
            continue;
        }
        if asked.len() >= MOST_ASKED {
            return;
        }
        if !*asked.entry(name).or_insert_with(|| unit.may_be_declared_outside(name)) {
            findings.push(finding(unit, *span, place));
        }
    }
}

/// Whether a name is one of those that compilers make: registers `%r12` and `%SP`, `_Z3fooi` and `kernel_param_0`.
fn is_of_compiler(name: &str) -> bool {
    let Some(register) = name.strip_prefix('%') else {
        return name.starts_with('_') || name.contains("_param_") || name.starts_with("$L");
    };
    let letters = register.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = letters.len() < register.len() && letters.len() <= 3;
    is_numbered || register.starts_with(|c: char| !c.is_ascii_lowercase())
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
