//! What can be written next.

use super::context::{self, Context, Opcode, OperandPlace};
use super::hover;
use super::scope::{self, Kind as NameKind, Name};
use super::snapshot::Snapshot;
use super::text::Text;
use crate::instruction::form::Qualifiers;
use crate::instruction::gates;
use crate::isa::generic::Control;
use crate::isa::special_registers::Special;
use crate::isa::targets::{TARGETS, TENSOR_TARGETS, VERSIONS};
use crate::isa::tensor::{InstructionForm, OperandClass, OperandSlot, Shape};
use crate::isa::vocabulary::{LdShape, Num, Operation, Qualifier};
use crate::resolve::operations;
use crate::source::{Span, Spanned};
use crate::syntax::ast::{StateSpace, Type};
use crate::syntax::lexer::Token;
use strum::IntoEnumIterator;

pub(super) mod candidates;

/// Something that can be written.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) detail: String,
    /// Markdown.
    pub(super) documentation: String,
    /// What is replaced.
    pub(super) replace: Span,
    pub(super) insert: String,
    /// Whether `insert` has places to jump to, `${1:name}`.
    pub(super) snippet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Operation,
    Qualifier,
    Skeleton,
    Register,
    Variable,
    Label,
    Function,
    Directive,
    Value,
}

/// A place in a text, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) text: &'a Text,
    pub(super) offset: u32,
    /// The names come from here. It may be of an earlier text, when a large one has just changed.
    pub(super) snapshot: &'a Snapshot,
    /// Where the place was in that text.
    pub(super) place: u32,
}

/// What fits at a place; in the order in which it should be shown.
pub(super) fn complete(view: View<'_>) -> Vec<Item> {
    let View { offset, .. } = view;
    let Some(context) = Context::new(view.text, offset) else { return Vec::new() };
    let word = context.word();
    let directive = context.tokens().first().map(|(token, _)| *token);
    match directive {
        Some(Token::Target) if word.start > context.tokens()[0].1.start => return targets(word),
        Some(Token::Version) if word.start > context.tokens()[0].1.start => return versions(word),
        _ => {}
    }
    if let [(Token::At, _), .., (_, last)] | [(Token::At, last)] = context.tokens()
        && context.tokens().len() <= 3
        && last.end >= offset
    {
        return names(view, &context, |name| name.is_register(&[Type::Pred]));
    }
    match (context.opcode(), context.operand()) {
        (Some((text, opcode)), None) => at_opcode(view, &context, text, opcode),
        (Some((text, _)), Some(place)) => at_operand(view, &context, text, place),
        // Nothing, or a word that starts with a dot.
        (None, _) if context.tokens().len() <= 1 => statement(view, word),
        (None, _) => Vec::new(),
    }
}

fn item(label: impl Into<String>, kind: Kind, replace: Span) -> Item {
    let label = label.into();
    Item {
        insert: label.clone(),
        label,
        kind,
        detail: String::new(),
        documentation: String::new(),
        replace,
        snippet: false,
    }
}

// ---- the start of a statement ----

fn statement(view: View<'_>, word: Span) -> Vec<Item> {
    let inside = scope::in_function(view.snapshot, view.place - (view.offset - word.start).min(view.place));
    let directives: &[(&str, &str)] = if inside {
        &[
            (".reg", "declares registers"),
            (".shared", "declares a variable in shared memory"),
            (".local", "declares a variable in local memory"),
            (".param", "declares a parameter of a call"),
            (".loc", "says which line of the source follows"),
            (".pragma", "advises the assembler"),
            (".branchtargets", "lists the labels of an indirect branch"),
            (".calltargets", "lists the functions of an indirect call"),
            (".callprototype", "says what an indirect call takes and returns"),
        ]
    } else {
        &[
            (".version", "the PTX ISA version; the first statement of a module"),
            (".target", "the architecture"),
            (".address_size", "the width of addresses: 32 or 64"),
            (".visible", "makes what follows visible to other modules"),
            (".extern", "what follows is defined in another module"),
            (".weak", "what follows yields to another definition"),
            (".entry", "a kernel"),
            (".func", "a function"),
            (".global", "declares a variable in global memory"),
            (".const", "declares a variable in constant memory"),
            (".shared", "declares a variable in shared memory"),
            (".alias", "gives a function another name"),
            (".file", "names a source file"),
            (".section", "debug information"),
            (".pragma", "advises the assembler"),
        ]
    };
    let written = view.text.as_str().get(word.range()).unwrap_or_default();
    let mut items = Vec::new();
    if inside && !written.starts_with('.') {
        items.extend(operations(view.snapshot, word, "tcgen05."));
    }
    items.extend(
        directives
            .iter()
            .map(|&(name, detail)| Item { detail: detail.to_owned(), ..item(name, Kind::Directive, word) }),
    );
    items
}

fn targets(word: Span) -> Vec<Item> {
    let tensor = |target| TENSOR_TARGETS.contains(target);
    let mut known: Vec<_> = TARGETS.iter().collect();
    // Those with tcgen05 first.
    known.sort_by_key(|(target, _)| !tensor(target));
    known
        .into_iter()
        .map(|(target, since)| {
            let tcgen05 = if tensor(target) { "tcgen05, " } else { "" };
            Item {
                detail: format!("{tcgen05}PTX ISA {since}"),
                ..item(target.to_string(), Kind::Value, word)
            }
        })
        .collect()
}

fn versions(word: Span) -> Vec<Item> {
    VERSIONS.iter().rev().map(|version| item(version.to_string(), Kind::Value, word)).collect()
}

// ---- the opcode ----

fn at_opcode(view: View<'_>, context: &Context<'_>, text: &str, opcode: Span) -> Vec<Item> {
    let words: Vec<&str> = text.split('.').collect();
    let [first, behind @ .., last] = words.as_slice() else { return statement(view, opcode) };
    if *first != "tcgen05" {
        return Vec::new();
    }
    let partial = Span::new(opcode.end - last.len() as u32, opcode.end);
    let Some(mut opcode) = context::read(behind) else {
        let replace = Span::new(opcode.start + "tcgen05.".len() as u32, opcode.end);
        return if behind.is_empty() { operations(view.snapshot, replace, "") } else { Vec::new() };
    };
    opcode.qualifiers.extend(context.behind().filter_map(Qualifier::parse));
    let mut items = qualifiers(view.snapshot, &opcode, partial);
    // `ld` may become `ld.red`.
    let written = format!("{}.", behind.join("."));
    let environment = view.snapshot.environment();
    for operation in Operation::iter() {
        if let Some(rest) = operation.name().strip_prefix(&written)
            && gates::is_open(&environment, operation, &[])
        {
            let form = InstructionForm::of(operation);
            items.push(Item {
                detail: form.syntax(),
                documentation: operation.explanation().to_owned(),
                ..item(rest, Kind::Operation, partial)
            });
        }
    }
    items
}

/// The operations that the target has, by themselves and with everything that they require.
fn operations(snapshot: &Snapshot, replace: Span, prefix: &str) -> Vec<Item> {
    let environment = snapshot.environment();
    let mut items = Vec::new();
    for operation in Operation::iter().filter(|it| gates::is_open(&environment, *it, &[])) {
        let form = InstructionForm::of(operation);
        let documentation = format!("{}\n\n```ptx\n{}\n```\n", operation.explanation(), form.syntax());
        let name = format!("{prefix}{operation}");
        items.push(Item {
            detail: operation.explanation().to_owned(),
            documentation: documentation.clone(),
            ..item(&name, Kind::Operation, replace)
        });
        if let Some((label, insert)) = skeleton(form) {
            items.push(Item {
                detail: "with what it requires".to_owned(),
                documentation,
                insert: format!("{prefix}{insert}"),
                snippet: true,
                ..item(format!("{prefix}{label}"), Kind::Skeleton, replace)
            });
        }
    }
    items
}

/// The whole instruction with its required qualifiers and operands; none if it has no choices.
fn skeleton(form: &'static InstructionForm) -> Option<(String, String)> {
    let name = form.operation.name();
    let (mut label, mut insert) = (name.to_owned(), name.to_owned());
    let mut stop = 0;
    let mut known = Qualifiers::default();
    for slot in form.qualifiers.iter().filter(|slot| slot.required) {
        let choices = slot.choices();
        let (&first, rest) = choices.split_first()?;
        known.push(Spanned::new(first, Span::default()));
        label.extend([".", first.spelling()]);
        insert.push('.');
        if rest.is_empty() {
            insert.push_str(first.spelling());
        } else {
            stop += 1;
            let words: Vec<&str> = choices.iter().map(|choice| choice.spelling()).collect();
            insert.push_str(&format!("${{{stop}|{}|}}", words.join(",")));
        }
    }
    let operands = operand_skeleton(form, &known, &mut stop);
    if stop == 0 && label == name {
        return None;
    }
    if !operands.is_empty() {
        insert.push(' ');
    }
    insert.push_str(&operands);
    insert.push(';');
    Some((label, insert))
}

/// The required operands as places to jump to.
fn operand_skeleton(form: &'static InstructionForm, known: &Qualifiers, stop: &mut u32) -> String {
    let mut place = |name: &str| {
        *stop += 1;
        format!("${{{stop}:{name}}}")
    };
    let operands: Vec<String> = candidates::required_operands(form, known)
        .map(|slot| match slot.class.facts().shape {
            Shape::Address => format!("[{}]", place(slot.name)),
            Shape::Vector => {
                let shape = known.get::<LdShape>().map(|shape| shape.value);
                let num = known.get::<Num>().map(|num| num.value);
                let data = matches!(slot.class, OperandClass::LoadVector | OperandClass::StoreVector);
                let length =
                    shape.zip(num).and_then(|(shape, num)| shape.vector_length(num)).filter(|_| data);
                let elements: Vec<String> =
                    (0..length.unwrap_or(1)).map(|index| place(&format!("{}{index}", slot.name))).collect();
                format!("\\{{{}\\}}", elements.join(", "))
            }
            Shape::ValueOrAddress => place(&format!("{}-desc", slot.name)),
            Shape::Value | Shape::ValueOrVector => place(slot.name),
        })
        .collect();
    operands.join(", ")
}

fn qualifiers(snapshot: &Snapshot, opcode: &Opcode, replace: Span) -> Vec<Item> {
    let environment = snapshot.environment();
    candidates::fitting(opcode.form, &opcode.qualifiers, &environment)
        .into_iter()
        .map(|qualifier: Qualifier| Item {
            detail: qualifier.slot().title().replace('`', ""),
            documentation: hover::qualifier(opcode.form, qualifier),
            ..item(qualifier.spelling(), Kind::Qualifier, replace)
        })
        .collect()
}

// ---- operands ----

fn at_operand(view: View<'_>, context: &Context<'_>, opcode: &str, place: OperandPlace) -> Vec<Item> {
    let words: Vec<&str> = opcode.split('.').collect();
    match words.as_slice() {
        ["tcgen05", behind @ ..] => match context::read(behind) {
            Some(opcode) => at_tcgen05_operand(view, context, &opcode, place),
            None => Vec::new(),
        },
        _ => match operations::Opcode::new(opcode).control() {
            Control::Branch => names(view, context, |name| name.kind == NameKind::Label),
            Control::Call if place.within.is_none() => {
                names(view, context, |name| name.kind == NameKind::Function)
            }
            Control::Call
            | Control::Next
            | Control::IndexedBranch
            | Control::Return
            | Control::Exit
            | Control::Trap => {
                let mut items =
                    names(view, context, |name| !matches!(name.kind, NameKind::Label | NameKind::Function));
                items.extend(special_registers(context));
                items
            }
        },
    }
}

/// The special registers, where a register has been begun.
fn special_registers(context: &Context<'_>) -> Vec<Item> {
    if !context.word_text().starts_with('%') {
        return Vec::new();
    }
    let word = context.word();
    let special = |(name, special): (String, Special)| Item {
        detail: format!(".sreg .{}", <&str>::from(special.facts().ty)),
        documentation: hover::special(special),
        ..item(name, Kind::Register, word)
    };
    Special::all().filter(|(name, _)| name.starts_with('%')).map(special).collect()
}

/// The qualifiers as the table's conditions want them.
pub(super) fn known(qualifiers: &[Qualifier]) -> Qualifiers {
    let mut known = Qualifiers::default();
    for &qualifier in qualifiers {
        known.push(Spanned::new(qualifier, Span::default()));
    }
    known
}

fn at_tcgen05_operand(
    view: View<'_>,
    context: &Context<'_>,
    opcode: &Opcode,
    place: OperandPlace,
) -> Vec<Item> {
    let known = known(&opcode.qualifiers);
    let slots: Vec<&OperandSlot> = opcode.form.present(known.words()).collect();
    let mut items = Vec::new();
    let word = context.word();
    if place == (OperandPlace { index: 0, within: None }) && word.is_empty() && !slots.is_empty() {
        let insert = operand_skeleton(opcode.form, &known, &mut 0);
        let names: Vec<&str> =
            candidates::required_operands(opcode.form, &known).map(|slot| slot.name).collect();
        items.push(Item {
            detail: "all operands".to_owned(),
            documentation: format!("```ptx\n{}\n```\n", opcode.form.syntax()),
            insert,
            snippet: true,
            ..item(names.join(", "), Kind::Skeleton, word)
        });
    }
    // Optional operands make the count ambiguous: any that may stand here counts.
    let optional = slots.iter().filter(|slot| slot.optional).count();
    let possible = slots
        .iter()
        .enumerate()
        .filter(|(index, _)| *index >= place.index && *index <= place.index + optional)
        .take(optional + 1)
        .map(|(_, slot)| slot.class);
    let classes: Vec<OperandClass> = possible.collect();
    items.extend(names(view, context, |name| classes.iter().any(|class| fits(*class, place, name))));
    items
}

fn fits(class: OperandClass, place: OperandPlace, name: &Name<'_>) -> bool {
    let facts = class.facts();
    match (place.within, facts.shape) {
        (Some(Token::BracketOpen), Shape::Address | Shape::ValueOrAddress) => {
            name.is_register(class.address_registers())
                || facts.variable && name.kind == NameKind::Variable(StateSpace::Shared)
        }
        (Some(Token::BraceOpen), Shape::Vector | Shape::ValueOrVector)
        | (None, Shape::Value | Shape::ValueOrAddress | Shape::ValueOrVector) => {
            name.is_register(facts.registers)
        }
        _ => false,
    }
}

/// The registers of `family<count>` whose names start with what is written, the first of each length
/// first. There can be millions: only those are made that are asked for.
fn members<'a>(family: &'a str, count: u32, written: &str) -> impl Iterator<Item = String> + 'a {
    let digits = if family.starts_with(written) { Some("") } else { written.strip_prefix(family) };
    let prefix = match digits {
        Some("") => Some(None),
        // No number starts with zero but zero itself.
        Some(digits) if digits == "0" || !digits.starts_with('0') => {
            digits.parse::<u32>().ok().map(|number| Some(u64::from(number)))
        }
        _ => None,
    };
    let ranges: Vec<(u64, u64)> = match prefix {
        None => Vec::new(),
        Some(None) => vec![(0, u64::from(count))],
        Some(Some(0)) => vec![(0, 1)],
        Some(Some(start)) => (0..10)
            .map(|power| 10u64.pow(power))
            .map(|scale| (start.saturating_mul(scale), (start + 1).saturating_mul(scale)))
            .collect(),
    };
    ranges
        .into_iter()
        .flat_map(|(start, end)| start..end)
        .take_while(move |number| *number < u64::from(count))
        .map(move |number| format!("{family}{number}"))
}

/// The visible names for which `wanted` holds, the nearest declaration first.
fn names(view: View<'_>, context: &Context<'_>, wanted: impl Fn(&Name<'_>) -> bool) -> Vec<Item> {
    /// Of a family with thousands of registers, those that match what is written are enough.
    const MOST: u32 = 256;
    let written = context.word_text();
    let word = context.word();
    let mut items = Vec::new();
    for name in scope::visible(view.snapshot, view.place).iter().filter(|name| wanted(name)) {
        let (kind, detail) = match name.kind {
            NameKind::Register { ty, .. } => {
                (Kind::Register, ty.map(|ty| format!(".reg .{ty}")).unwrap_or_default())
            }
            NameKind::Variable(space) => (Kind::Variable, format!(".{space}")),
            NameKind::Label => (Kind::Label, "label".to_owned()),
            NameKind::Function => (Kind::Function, "function".to_owned()),
        };
        match name.kind {
            NameKind::Register { count: Some(count), .. } => {
                let wanted = if count <= MOST { "" } else { written };
                items.extend(
                    members(name.text, count, wanted)
                        .take(MOST as usize)
                        .map(|register| Item { detail: detail.clone(), ..item(register, kind, word) }),
                );
            }
            _ => items.push(Item { detail, ..item(name.text, kind, word) }),
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::members;

    #[test]
    fn members_of_large_families() {
        for (count, written) in [
            (0, ""),
            (12, ""),
            (12, "%r"),
            (12, "%"),
            (12, "%r1"),
            (300, "%r2"),
            (300, "%r29"),
            (5, "%r7"),
            (9, "%r0"),
        ]
        .into_iter()
        .chain([(9, "%r00"), (9, "%x"), (9, "%r1x"), (1200, "%r1"), (7, "%r99999999999999999999")])
        {
            let mut made: Vec<String> = members("%r", count, written).collect();
            let mut due: Vec<String> =
                (0..count).map(|number| format!("%r{number}")).filter(|it| it.starts_with(written)).collect();
            made.sort();
            due.sort();
            assert_eq!(made, due, "{written} of {count}");
        }
        // Of four thousand million, what is asked for.
        assert_eq!(members("%r", u32::MAX, "%r7").take(3).collect::<Vec<_>>(), ["%r7", "%r70", "%r71"]);
        assert_eq!(members("%r", u32::MAX, "%x").next(), None);
    }
}
