//! What a word means.

use ptx_check::analysis::description::digits;
use ptx_check::instruction::Instruction;
use ptx_check::instruction::decode::{Bound, Decoded, Value};
use ptx_check::isa::generic::{self, Modifier, OperandSlot, Pair, Row};
use ptx_check::isa::special_registers::{Extent, Facts, Lasting, Special, Values};
use ptx_check::isa::targets::{PtxVersion, TENSOR_TARGETS, Target};
use ptx_check::isa::vocabulary::{LdShape, Num, Qualifier};
use ptx_check::resolve::operations::Opcode;
use ptx_check::resolve::symbols::{Resolution, Symbol, SymbolKind};
use ptx_check::source::{Span, Spanned};
use ptx_check::syntax::ast::{BinaryOperator, Operand, OperandKind, Slice, StatementKind, Type};
use ptx_check::syntax::literal;

use crate::described::{Described, Necessity, Word};
use crate::snapshot::Snapshot;
use crate::{descriptors, pictures, values};

/// An explanation of a place, in Markdown.
#[derive(Debug)]
pub(crate) struct Hover {
    pub(crate) span: Span,
    pub(crate) markdown: String,
}

/// What stands at `offset`; with pictures, where the client shows them.
pub(crate) fn hover(snapshot: &Snapshot, offset: u32, pictures: bool) -> Option<Hover> {
    let (index, statement) = snapshot.statement(offset)?;
    match statement.kind() {
        StatementKind::Instruction(instruction) => {
            let decoded = snapshot.decode(index);
            decoded
                .as_ref()
                .and_then(|decoded| {
                    let hover = opcode(snapshot, decoded, offset, pictures);
                    hover.or_else(|| operand(snapshot, decoded, offset, pictures))
                })
                .or_else(|| generic(snapshot, instruction, offset))
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

fn opcode(snapshot: &Snapshot, decoded: &Decoded<'_>, offset: u32, pictures: bool) -> Option<Hover> {
    let described = Described::Tensor(decoded.form?, &decoded.qualifiers);
    if offset < decoded.opcode.start || offset > decoded.opcode.end {
        return None;
    }
    // Where two words touch, the one that starts there is meant: its dot is under the cursor.
    let qualifiers: Vec<Spanned<Qualifier>> = decoded.qualifiers.iter().collect();
    let found = qualifiers.iter().rev().find(|it| touches(it.span, offset));
    if let Some(qualifier) = found {
        let markdown = word(described, Word::Qualifier(qualifier.value));
        return Some(Hover { span: qualifier.span, markdown });
    }
    let remarks = || {
        let moved = decoded.instruction.as_ref().and_then(moved).map(|moved| format!("{moved}\n"));
        let drawn = decoded.instruction.as_ref().filter(|_| pictures);
        let drawn = drawn.and_then(|it| pictures::of_instruction(it, || snapshot.describe(decoded)));
        moved.into_iter().chain(drawn).chain(multiply(snapshot, decoded)).collect()
    };
    touches(decoded.name, offset)
        .then(|| Hover { span: decoded.name, markdown: instruction(described, remarks()) })
}

/// What a multiply multiplies.
fn multiply(snapshot: &Snapshot, decoded: &Decoded<'_>) -> Option<String> {
    let Some(Instruction::Mma(mma)) = &decoded.instruction else { return None };
    descriptors::explain(mma, &snapshot.describe(decoded)?)
}

/// The explanation of an instruction, with remarks on this one.
fn instruction(described: Described<'_>, remarks: Vec<String>) -> String {
    let mut text = format!("```ptx\n{}\n```\n\n", described.syntax());
    text.push_str(&format!("**`{}`** {}\n", described.name(), described.explanation()));
    for remark in described.note().map(|note| format!("{note}\n")).into_iter().chain(remarks) {
        text.push_str(&format!("\n{remark}"));
    }
    let operands = described.all_operands().into_iter().map(|(operand, presence)| {
        let presence = presence.map(|presence| format!(" ({presence})")).unwrap_or_default();
        format!("`{}`: {}{presence}", operand.syntax, operand.explanation)
    });
    section(&mut text, "Operands", operands);
    let others = described.other_forms().into_iter();
    section(&mut text, "Other forms", others.map(|line| format!("`{line}`")));
    section(&mut text, "Available", described.available());
    text.push_str(&format!("\n{}\n", described.section()));
    text
}

/// The explanation of a word in an instruction; completion shows it, too.
pub(crate) fn word(described: Described<'_>, word: Word) -> String {
    let mut text = format!("**`.{}`** {}\n\n", word.spelling(), word.explanation());
    if let Some(group) = described.group(word) {
        let necessity = match group.necessity {
            Necessity::Required => "required",
            Necessity::Optional => "optional",
            Necessity::NotAllowed => "not allowed",
        };
        if !group.purpose.is_empty() {
            text.push_str(&format!(
                "{}: {} ",
                recase(&group.title, char::to_ascii_uppercase),
                recase(group.purpose.trim(), char::to_ascii_lowercase)
            ));
        }
        text.push_str(&format!("In `{}` it is {necessity}.\n", described.name()));
        if let [.., last] = group.words.as_slice()
            && group.words.len() > MOST
        {
            let spelled = |word: &Word| format!("`.{}`", word.spelling());
            let first: Vec<String> = group.words.iter().take(MOST / 4).map(spelled).collect();
            text.push_str(&format!("\nAllowed here: {}, ..., {}\n", first.join(", "), spelled(last)));
        } else if group.words.len() > 1 {
            let words = group.words.iter();
            section(
                &mut text,
                "Allowed here",
                words.map(|word| format!("`.{}` {}", word.spelling(), word.explanation())),
            );
        }
    }
    section(&mut text, "With other words", described.combinations(word));
    section(&mut text, "Available", described.word_available(word));
    text.push_str(&format!("\n{}\n", described.section()));
    text
}

/// Of more words than these, each is not explained.
const MOST: usize = 32;

/// A list with a title, unless it is empty.
fn section(text: &mut String, title: &str, items: impl IntoIterator<Item = String>) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_some() {
        text.push_str(&format!("\n{title}:\n\n"));
    }
    for item in items {
        text.push_str(&format!("- {item}\n"));
    }
}

/// The text with another case of its first letter, as it needs in the middle or at the start.
fn recase(text: &str, case: fn(&char) -> char) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| case(&first));
    first.into_iter().chain(characters).collect()
}

// ---- other instructions ----

/// What stands at `offset` of an instruction outside tcgen05.
fn generic(snapshot: &Snapshot, index: u32, offset: u32) -> Option<Hover> {
    let unit = &snapshot.document.unit;
    let instruction = unit.module.instructions.get(index as usize)?;
    let opcode = unit.operations.of(index);
    let modifiers: Vec<Modifier> = opcode.modifiers.iter().map(|placed| placed.modifier).collect();
    let row = opcode.row.filter(|_| !opcode.is_tensor())?;
    let described = Described::Generic(row, name_of(row, snapshot.slice(instruction.opcode)), &modifiers);
    let start = instruction.opcode.start;
    if start <= offset && offset <= instruction.opcode.end {
        return generic_opcode(described, opcode, instruction.opcode, offset);
    }
    let (slot, operand) = operand_at(snapshot, opcode, instruction.operands, offset)?;
    let is_second = match operand.kind() {
        OperandKind::Binary(BinaryOperator::Or, _) if slot.pair != Pair::None => {
            let second = unit.module.parts(operand).last();
            second.is_some_and(|second| touches(second.span(), offset))
        }
        _ => false,
    };
    let told = described.operand(slot)?;
    let mut text = if is_second {
        format!("`{}`: {}\n", slot.second_name(), row.second_purpose())
    } else {
        format!("`{}`: {}\n", told.name, told.explanation)
    };
    let (_, part) = snapshot.operand(instruction.operands, offset)?;
    let value = [operand, part].into_iter().filter(|it| it.kind() != OperandKind::Name);
    let value = value.into_iter().find_map(|it| literal::evaluate(&unit.source, &unit.module, it));
    if let Some(value) = value {
        // As many digits as the type has; a negative number is its two's complement.
        let bits = told.bits.unwrap_or(64).clamp(1, 64);
        let digits = value as u64 & (u64::MAX >> (64 - bits));
        text.push_str(&format!("\n{value} = {digits:#x}\n"));
    }
    Some(beside_name(snapshot, offset, operand.span(), &text))
}

fn generic_opcode(described: Described<'_>, opcode: &Opcode, span: Span, offset: u32) -> Option<Hover> {
    let Described::Generic(row, ..) = described else { return None };
    let moved = |it: Span| Span::new(span.start + it.start, span.start + it.end);
    let mut filled = 0;
    let mut found = None;
    for placed in &opcode.modifiers {
        let Some((group, modifier)) = row.place(&placed.modifier.spelling(), filled) else { continue };
        filled |= 1 << group;
        if touches(moved(placed.span), offset) {
            found = Some((moved(placed.span), Word::Modifier(group, modifier)));
        }
    }
    let of_name = |it: &Span| moved(*it).start > offset || moved(*it).end < offset;
    match found {
        Some((span, it)) => Some(Hover { span, markdown: word(described, it) }),
        // Not where a word stands that the instruction does not have.
        None if opcode.unknown.iter().all(of_name) => {
            let words =
                opcode.modifiers.iter().map(|placed| placed.span).chain(opcode.unknown.iter().copied());
            let end = words.map(|it| moved(it).start).filter(|start| *start > offset).min();
            let span = Span::new(span.start, end.unwrap_or(span.end));
            Some(Hover { span, markdown: instruction(described, Vec::new()) })
        }
        None => None,
    }
}

/// The name of a row that an opcode has: a row may have several.
fn name_of(row: &Row, opcode: &str) -> &'static str {
    let is_written = |name: &&&str| {
        let written = opcode.strip_prefix(**name);
        written.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_:".contains(c)))
    };
    let longest = row.names.iter().filter(is_written).max_by_key(|name| name.len());
    longest.copied().unwrap_or(row.name())
}

/// The operand at a place, and its position.
fn operand_at<'s>(
    snapshot: &'s Snapshot,
    opcode: &Opcode,
    operands: Slice,
    offset: u32,
) -> Option<(&'static OperandSlot, &'s Operand)> {
    let module = &snapshot.document.unit.module;
    let all = module.operands(operands);
    let is_meant = |it: &Operand| touches(it.span(), offset) || it.is_long() && it.start() <= offset;
    let at = all.iter().position(is_meant)?;
    let assigned = opcode.assign(module, operands).ok().and_then(|slots| slots.get(at).copied());
    // Of what does not fit, the position says which is meant.
    let slot = assigned.or_else(|| opcode.slots.get(at).copied())?;
    Some((slot, &all[at]))
}

/// What a load or store moves, in words.
pub(crate) fn moved(instruction: &Instruction<'_>) -> Option<String> {
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
pub(crate) fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

// ---- operands ----

fn operand(snapshot: &Snapshot, decoded: &Decoded<'_>, offset: u32, pictures: bool) -> Option<Hover> {
    let bound = decoded.operands.iter().find(|bound| touches(bound.span, offset))?;
    let mut text = format!("`{}`: {}\n", bound.slot.name, bound.slot.class.facts().noun);
    if let Some(constant) = constant(snapshot, decoded, bound, pictures) {
        text.push_str(&format!("\n{constant}"));
    }
    Some(beside_name(snapshot, offset, bound.span, &text))
}

/// What is said of an operand, below what is said of the name that stands there.
fn beside_name(snapshot: &Snapshot, offset: u32, span: Span, text: &str) -> Hover {
    match name(snapshot, offset) {
        Some(Hover { span, markdown }) => Hover { span, markdown: format!("{markdown}\n---\n{text}") },
        None => Hover { span, markdown: text.to_owned() },
    }
}

/// What the operand is known to hold.
fn constant(snapshot: &Snapshot, decoded: &Decoded<'_>, bound: &Bound<'_>, pictures: bool) -> Option<String> {
    let words = snapshot.describe(decoded).map(|description| description.words).unwrap_or_default();
    if let Some(word) = words.iter().find(|word| word.span == bound.span && word.is_known()) {
        let drawn = pictures.then(|| pictures::of_word(word)).flatten();
        let drawn = drawn.map(|drawn| format!("{drawn}\n")).unwrap_or_default();
        return Some(format!("{drawn}{}", descriptors::table(word)));
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
pub(crate) fn special(special: Special) -> String {
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
pub(crate) fn declaration(snapshot: &Snapshot, symbol: &Symbol) -> String {
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
            let parameters = |slice: ptx_check::syntax::ast::Slice| {
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
