//! What a word means.

use super::snapshot::Snapshot;
use super::{descriptors, links, values};
use crate::analysis::description::digits;
use crate::instruction::Instruction;
use crate::instruction::decode::{Bound, Decoded, Value};
use crate::instruction::gates;
use crate::isa::generic;
use crate::isa::special_registers::{Extent, Facts, Lasting, Special, Values};
use crate::isa::targets::{Gate, PtxVersion, TENSOR_TARGETS, Target};
use crate::isa::tensor::{InstructionForm, QualifierSlot};
use crate::isa::vocabulary::{LdShape, Num, Qualifier};
use crate::resolve::symbols::{Resolution, Symbol, SymbolKind};
use crate::source::{Span, Spanned};
use crate::syntax::ast::{OperandKind, StatementKind, Type};

/// An explanation of a place, in Markdown.
#[derive(Debug)]
pub(super) struct Hover {
    pub(super) span: Span,
    pub(super) markdown: String,
}

/// What stands at `offset`.
pub(super) fn hover(snapshot: &Snapshot, offset: u32) -> Option<Hover> {
    let (index, statement) = snapshot.statement(offset)?;
    match statement.kind() {
        StatementKind::Instruction(_) => {
            let decoded = snapshot.decode(index);
            decoded
                .as_ref()
                .and_then(|decoded| {
                    opcode(snapshot, decoded, offset).or_else(|| operand(snapshot, decoded, offset))
                })
                .or_else(|| name(snapshot, offset))
        }
        StatementKind::Target => header(snapshot, offset, target),
        StatementKind::Version => header(snapshot, offset, version),
        _ => name(snapshot, offset),
    }
}

fn touches(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}

// ---- the opcode ----

fn opcode(snapshot: &Snapshot, decoded: &Decoded<'_>, offset: u32) -> Option<Hover> {
    let form = decoded.form?;
    if offset < decoded.opcode.start || offset > decoded.opcode.end {
        return None;
    }
    // Where two words touch, the one that starts there is meant: its dot is under the cursor.
    let qualifiers: Vec<Spanned<Qualifier>> = decoded.qualifiers.iter().collect();
    let found = qualifiers.iter().rev().find(|it| touches(it.span, offset));
    if let Some(qualifier) = found {
        return Some(Hover { span: qualifier.span, markdown: self::qualifier(form, qualifier.value) });
    }
    touches(decoded.name, offset)
        .then(|| Hover { span: decoded.name, markdown: operation(snapshot, form, decoded) })
}

fn operation(snapshot: &Snapshot, form: &InstructionForm, decoded: &Decoded<'_>) -> String {
    let mut text = format!(
        "```ptx\n{}\n```\n\n**`tcgen05.{}`** {}\n",
        form.syntax(),
        form.operation,
        form.operation.explanation()
    );
    if let Some(moved) = decoded.instruction.as_ref().and_then(moved) {
        text.push_str(&format!("\n{moved}\n"));
    }
    if let Some(Instruction::Mma(mma)) = &decoded.instruction
        && let Some(multiply) = snapshot.describe(decoded).and_then(|it| descriptors::explain(mma, &it))
    {
        text.push_str(&format!("\n{multiply}"));
    }
    text.push_str("\nAvailable:\n\n");
    text.push_str(&format!("- {}\n", describe_gate(None)));
    for gate in gates::of_operation(form.operation) {
        text.push_str(&format!("- {}\n", describe_gate(Some(gate))));
    }
    text.push_str(&section(form));
    text
}

/// The explanation of a qualifier in an instruction; completion shows it, too.
pub(super) fn qualifier(form: &InstructionForm, qualifier: Qualifier) -> String {
    let slot = qualifier.slot();
    let mut text = format!("**`.{}`** {}\n\n", qualifier.spelling(), qualifier.explanation());
    let place = form.slot(slot);
    let necessity = match place {
        Some(place) if place.required => "required",
        Some(_) => "optional",
        None => "not allowed",
    };
    text.push_str(&format!(
        "{}: {} In `tcgen05.{}` it is {necessity}.\n",
        recase(slot.title(), char::to_ascii_uppercase),
        recase(slot.explanation().trim(), char::to_ascii_lowercase),
        form.operation
    ));
    let choices = place.map(QualifierSlot::choices).unwrap_or_default();
    if choices.len() > 1 {
        text.push_str("\nAllowed here:\n\n");
        for choice in choices {
            text.push_str(&format!("- `.{}` {}\n", choice.spelling(), choice.explanation()));
        }
    }
    let mut gates = gates::of_qualifier(qualifier).peekable();
    if gates.peek().is_some() {
        text.push_str("\nAvailable:\n\n");
        for gate in gates {
            text.push_str(&format!("- {}\n", describe_gate(Some(gate))));
        }
    }
    text.push_str(&section(form));
    text
}

/// The text with another case of its first letter, as it needs in the middle or at the start.
fn recase(text: &str, case: fn(&char) -> char) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| case(&first));
    first.into_iter().chain(characters).collect()
}

fn section(form: &InstructionForm) -> String {
    format!("\n[PTX ISA {}]({})\n", form.section, links::url(form))
}

/// What a load or store moves, in words.
pub(super) fn moved(instruction: &Instruction<'_>) -> Option<String> {
    let (shape, num, packed) = match instruction {
        Instruction::Ld(ld) => (ld.shape.value, ld.num.value, ld.pack.is_some()),
        Instruction::St(st) => (st.shape.value, st.num.value, st.unpack.is_some()),
        _ => return None,
    };
    let registers = shape.vector_length(num)?;
    Some(format!(
        "`.{shape}.{num}` moves {} and {} to or from {} per thread.",
        count(lanes(shape), "lane"),
        columns(shape, num, packed),
        count(registers, "register")
    ))
}

fn lanes(shape: LdShape) -> u32 {
    match shape {
        LdShape::S32x32b => 32,
        LdShape::S16x64b | LdShape::S16x128b | LdShape::S16x256b | LdShape::S16x32bx2 => 16,
    }
}

fn columns(shape: LdShape, num: Num, packed: bool) -> String {
    let columns = count(shape.columns(num, packed), "column");
    if shape == LdShape::S16x32bx2 { format!("twice {columns}") } else { columns }
}

/// `1 register`, `2 registers`
pub(super) fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

// ---- operands ----

fn operand(snapshot: &Snapshot, decoded: &Decoded<'_>, offset: u32) -> Option<Hover> {
    let bound = decoded.operands.iter().find(|bound| touches(bound.span, offset))?;
    let named = name(snapshot, offset);
    let span = named.as_ref().map_or(bound.span, |hover| hover.span);
    let mut text = named.map(|hover| hover.markdown + "\n---\n").unwrap_or_default();
    text.push_str(&format!("`{}`: {}\n", bound.slot.name, bound.slot.class.facts().noun));
    if let Some(constant) = constant(snapshot, decoded, bound) {
        text.push_str(&format!("\n{constant}"));
    }
    Some(Hover { span, markdown: text })
}

/// What the operand is known to hold.
fn constant(snapshot: &Snapshot, decoded: &Decoded<'_>, bound: &Bound<'_>) -> Option<String> {
    let words = snapshot.describe(decoded).map(|description| description.words).unwrap_or_default();
    if let Some(word) = words.iter().find(|word| word.span == bound.span && word.is_known()) {
        return Some(descriptors::table(word));
    }
    let Value::Scalar(scalar) = &bound.value else { return None };
    let value = scalar.immediate()?.value();
    Some(format!("{value} = {value:#x}\n"))
}

// ---- names ----

fn name(snapshot: &Snapshot, offset: u32) -> Option<Hover> {
    let (span, resolution) = snapshot.name(offset)?;
    let markdown = match resolution {
        Resolution::Register(id) => {
            let symbol = snapshot.document.unit.symbols.register(id);
            let mut text = declaration(snapshot, symbol);
            if let SymbolKind::Register { count: Some(count), .. } = symbol.kind {
                let family = snapshot.slice(symbol.span);
                let last = count.saturating_sub(1);
                text.push_str(&format!("One of the {count} registers `{family}0` to `{family}{last}`.\n"));
            }
            if let Some(known) = values::register(snapshot, span, id) {
                let SymbolKind::Register { ty, .. } = symbol.kind else { return None };
                let width = ty.and_then(Type::bits).unwrap_or(64).min(64);
                text.push_str(&match known.constant(width) {
                    Some(value) => format!("\nAlways {value} = {value:#x} here.\n"),
                    None => format!("\nIts known bits here: `{}`.\n", digits(known, width)),
                });
            }
            text
        }
        Resolution::Symbol(id) => declaration(snapshot, snapshot.document.unit.symbols.symbol(id)),
        Resolution::Special(special) => format!("`{}`: {}", snapshot.slice(span), self::special(special)),
        Resolution::Undeclared => return None,
    };
    Some(Hover { span, markdown })
}

/// What is known of a special register, in Markdown.
pub(super) fn special(special: Special) -> String {
    let Facts { ty, same_in, lasting, since, target, .. } = *special.facts();
    let values = match special.values() {
        Some(Values { first, last }) if first == last => format!(", always {first}"),
        Some(Values { first, last }) if last < u64::from(u32::MAX) && ty != generic::Type::Pred => {
            format!(", from {first} to {last}")
        }
        Some(_) | None => String::new(),
    };
    let readers = match same_in {
        Extent::Thread => "Each thread reads its own.",
        Extent::Warp => "The threads of a warp that read it together read the same.",
        Extent::Cta => "All threads of a CTA read the same.",
        Extent::Cluster => "All threads of a cluster read the same.",
        Extent::Grid => "All threads read the same.",
    };
    let lasting = match lasting {
        Lasting::Always => "",
        Lasting::UntilMoved => " It changes when the thread is moved.",
        Lasting::Never => " It counts on.",
    };
    let target = target.map(|sm| format!(", `{}` or later", Target::plain(sm))).unwrap_or_default();
    format!(
        "{}\n\nA special register of type `.{}`{values}. {readers}{lasting} PTX ISA {since}{target}; chapter 10.\n",
        special.register.explanation(),
        <&str>::from(ty),
    )
}

/// The declaration of a symbol as PTX.
pub(super) fn declaration(snapshot: &Snapshot, symbol: &Symbol) -> String {
    let name = snapshot.slice(symbol.span);
    let code = match symbol.kind {
        SymbolKind::Register { ty, vector, count, .. } => {
            let vector = if vector > 1 { format!(" .v{vector}") } else { String::new() };
            let ty = ty.map(|ty| format!(" .{ty}")).unwrap_or_default();
            let count = count.map(|count| format!("<{count}>")).unwrap_or_default();
            format!(".reg{vector}{ty} {name}{count}")
        }
        // As it is written: alignment and dimensions matter.
        SymbolKind::Variable { .. } => snapshot.line_with(symbol.span),
        SymbolKind::Label { .. } => format!("{name}:"),
        SymbolKind::Function { function } => {
            let function = &snapshot.document.unit.module.functions[function as usize];
            let parameters = |slice: crate::syntax::ast::Slice| {
                let parameters =
                    snapshot.document.unit.module.declarations[slice.range()].iter().map(|parameter| {
                        let names = &snapshot.document.unit.module.declarators[parameter.declarators.range()];
                        let ty = parameter.ty.map(|ty| format!(" .{ty}")).unwrap_or_default();
                        let name = names.first().map(|it| snapshot.slice(it.name)).unwrap_or_default();
                        format!(".{}{ty} {name}", parameter.space)
                    });
                parameters.collect::<Vec<_>>().join(", ")
            };
            let returns = match parameters(function.returns) {
                none if none.is_empty() => String::new(),
                some => format!("({some}) "),
            };
            let keyword = if function.is_entry { ".entry" } else { ".func" };
            let linkage = function.linkage.map(|it| format!(".{it} ")).unwrap_or_default();
            format!("{linkage}{keyword} {returns}{name}({})", parameters(function.parameters))
        }
    };
    format!("```ptx\n{code}\n```\n")
}

// ---- the header ----

fn header(snapshot: &Snapshot, offset: u32, explain: fn(&str) -> Option<String>) -> Option<Hover> {
    let module = &snapshot.document.unit.module;
    let operands = module.targets.iter().chain(&module.versions).map(|header| header.operands);
    let (_, operand) = operands.into_iter().find_map(|slice| snapshot.operand(slice, offset))?;
    matches!(operand.kind(), OperandKind::Name | OperandKind::Float).then_some(())?;
    let markdown = explain(snapshot.slice(operand.span()))?;
    Some(Hover { span: operand.span(), markdown })
}

fn target(text: &str) -> Option<String> {
    let target: Target = text.parse().ok()?;
    let since = target.since()?;
    let tensor = if target.has_tensor_memory() {
        let missing = TENSOR_TARGETS.contains(&target);
        if missing { "It has tcgen05." } else { "It has tcgen05 only with the suffix `a` or `f`." }
    } else {
        "It has no tcgen05."
    };
    let renamed = target.renamed().map(|(name, version)| format!(" Since PTX ISA {version} it is `{name}`."));
    Some(format!("**`{target}`** since PTX ISA {since}. {tensor}{}\n", renamed.unwrap_or_default()))
}

fn version(text: &str) -> Option<String> {
    let version: PtxVersion = text.parse().ok()?;
    Some(if version.exists() {
        let tensor = if version >= PtxVersion::new(8, 6) { "has" } else { "has no" };
        format!("PTX ISA {version} {tensor} tcgen05.\n")
    } else {
        format!("There is no PTX ISA {version}.\n")
    })
}

/// A gate in a line of Markdown; without one, tcgen05's own.
fn describe_gate(gate: Option<&Gate>) -> String {
    let (feature, since, targets) = match gate {
        Some(gate) => (gate.feature, gate.since, gate.targets),
        None => ("tcgen05", PtxVersion::new(8, 6), TENSOR_TARGETS),
    };
    let targets: Vec<String> = targets.iter().map(|target| format!("`{target}`")).collect();
    format!("{feature}: PTX ISA {since} or later on {}", targets.join(", "))
}
