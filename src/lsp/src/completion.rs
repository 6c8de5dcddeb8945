//! What can be written next.

use std::cmp::Reverse;

use ptx_check::instruction::form::Qualifiers;
use ptx_check::instruction::gates;
use ptx_check::isa::generic::{self, Class, Control, Modifier, Row, Wanted};
use ptx_check::isa::special_registers::Special;
use ptx_check::isa::targets::{TARGETS, TENSOR_TARGETS, VERSIONS};
use ptx_check::isa::tensor::{InstructionForm, OperandClass, OperandSlot, Shape};
use ptx_check::isa::vocabulary::{Operation, Qualifier};
use ptx_check::resolve::environment::Environment;
use ptx_check::resolve::operations;
use ptx_check::source::Span;
use ptx_check::syntax::ast::{StateSpace, Type};
use ptx_check::syntax::lexer::Token;
use rustc_hash::FxHashSet;
use strum::IntoEnumIterator;

use crate::context::{self, Context, Opcode, OperandPlace};
use crate::described::{Described, Necessity, Operand, Part, Word, known};
use crate::hover;
use crate::scope::{self, Kind as NameKind, Name};
use crate::snapshot::Snapshot;
use crate::text::Text;

pub(crate) mod candidates;

/// Something that can be written.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) label: String,
    pub(crate) kind: Kind,
    pub(crate) detail: String,
    /// Markdown.
    pub(crate) documentation: String,
    /// What is replaced.
    pub(crate) replace: Span,
    /// By what; it may have places to jump to.
    pub(crate) insert: Vec<Part>,
}

impl Item {
    /// Whether it has places to jump to.
    pub(crate) fn is_snippet(&self) -> bool {
        self.insert.iter().any(|part| !matches!(part, Part::Text(_)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
pub(crate) struct View<'a> {
    pub(crate) text: &'a Text,
    pub(crate) offset: u32,
    /// The names come from here. It may be of an earlier text, when a large one has just changed.
    pub(crate) snapshot: &'a Snapshot,
    /// Where the place was in that text.
    pub(crate) place: u32,
}

/// What fits at a place; in the order in which it should be shown.
pub(crate) fn complete(view: View<'_>) -> Vec<Item> {
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
        (Some((text, opcode)), None) => at_opcode(view, &context, &text, opcode),
        (Some((text, _)), Some(place)) => at_operand(view, &context, &text, place),
        // Nothing, or a word that starts with a dot.
        (None, _) if context.tokens().len() <= 1 => statement(view, word),
        (None, _) => Vec::new(),
    }
}

fn item(label: impl Into<String>, kind: Kind, replace: Span) -> Item {
    let label = label.into();
    Item {
        insert: vec![Part::text(label.clone())],
        label,
        kind,
        detail: String::new(),
        documentation: String::new(),
        replace,
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
        let environment = view.snapshot.environment();
        items.extend(operations(&environment, word, ""));
        let rows = generic::rows().flat_map(|row| row.names.iter().map(move |name| (*name, row)));
        items.extend(instructions(&environment, rows, "", word));
        items.retain(|item| may_mean(written, &item.label));
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
    let [complete @ .., last] = words.as_slice() else { return Vec::new() };
    let partial = Span::new(opcode.end - last.len() as u32, opcode.end);
    let environment = view.snapshot.environment();
    match complete {
        [] => statement(view, opcode),
        ["tcgen05", behind @ ..] => tensor_opcode(&environment, context, behind, partial),
        _ => generic_opcode(&environment, context, complete, partial),
    }
}

fn tensor_opcode(
    environment: &Environment,
    context: &Context<'_>,
    behind: &[&str],
    partial: Span,
) -> Vec<Item> {
    let prefix = format!("tcgen05.{}", behind.iter().map(|word| format!("{word}.")).collect::<String>());
    let mut items = Vec::new();
    if let Some(mut opcode) = context::read(behind) {
        opcode.qualifiers.extend(context.behind().filter_map(Qualifier::parse));
        let known = known(opcode.qualifiers.iter().copied());
        let described = Described::Tensor(opcode.form, &known);
        let fitting = candidates::fitting(opcode.form, &opcode.qualifiers, environment);
        items.extend(fitting.into_iter().map(|it| word_item(described, Word::Qualifier(it), partial)));
    }
    // `ld` may become `ld.red`.
    items.extend(operations(environment, partial, &prefix));
    items
}

/// What may follow complete words: the rest of names, and modifiers for which there is a place left. Those that
/// stand behind what is written come first: that is the order of the ISA.
fn generic_opcode(
    environment: &Environment,
    context: &Context<'_>,
    complete: &[&str],
    partial: Span,
) -> Vec<Item> {
    let Some(rows) = complete.first().map(|first| generic::rows_starting_with(first)) else {
        return Vec::new();
    };
    let behind: Vec<&str> = context.behind().collect();
    let mut read: Vec<Read> = rows.iter().filter_map(|row| Read::new(*row, complete, &behind)).collect();
    // What no form has, some form may be meant by that has the rest.
    let least = read.iter().map(|it| it.unknown).min().unwrap_or(0);
    read.retain(|it| it.unknown == least && it.is_open(environment));
    let mut words: Vec<(bool, &Read, Word)> = Vec::new();
    for it in &read {
        for (index, group) in it.row.modifiers.iter().enumerate().filter(|(index, _)| it.is_next(*index)) {
            let is_back = index < it.next;
            let fitting = group.words.iter().filter(|word| it.takes(environment, index, **word));
            words.extend(fitting.map(|word| (is_back, it, Word::Modifier(index, *word))));
        }
    }
    words.sort_by_key(|(is_back, ..)| *is_back);
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let mut items: Vec<Item> = words
        .into_iter()
        .filter(|(_, _, word)| seen.insert(word.spelling()))
        .map(|(_, it, word)| word_item(Described::Generic(it.row, it.name, &it.modifiers), word, partial))
        .collect();
    let prefix = format!("{}.", complete.join("."));
    items.extend(instructions(environment, rows.iter().copied(), &prefix, partial));
    items
}

/// A row with what is written of it.
struct Read {
    row: &'static Row,
    name: &'static str,
    /// In the order of the row, each behind its group.
    placed: Vec<(usize, Modifier)>,
    modifiers: Vec<Modifier>,
    /// The groups that are filled, as bits.
    filled: u64,
    /// The group behind the last that is filled before the cursor.
    next: usize,
    /// How many words it does not have.
    unknown: usize,
}

impl Read {
    /// `None` if the words do not name the row.
    fn new((name, row): (&'static str, &'static Row), complete: &[&str], behind: &[&str]) -> Option<Self> {
        let named = name.split('.').count();
        let is_named = complete.len() >= named && name.split('.').eq(complete.iter().copied().take(named));
        if !is_named {
            return None;
        }
        let mut read =
            Self { row, name, placed: Vec::new(), modifiers: Vec::new(), filled: 0, next: 0, unknown: 0 };
        for (at, word) in complete.iter().skip(named).chain(behind).enumerate() {
            match row.place(word, read.filled) {
                Some((group, modifier)) => {
                    read.filled |= 1 << group;
                    read.placed.push((group, modifier));
                    if at < complete.len() - named {
                        read.next = read.next.max(group + 1);
                    }
                }
                None => read.unknown += 1,
            }
        }
        read.placed.sort_by_key(|(group, _)| *group);
        read.modifiers = read.placed.iter().map(|(_, modifier)| *modifier).collect();
        Some(read)
    }

    /// Whether the next word may stand in a group: not where another of its kind has to stand before it.
    fn is_next(&self, group: usize) -> bool {
        // Flags have nothing to do with each other.
        let is_flag = matches!(self.row.modifiers[group].words.first(), Some(Modifier::Flag(_)));
        let kind = |at: usize| self.row.modifiers[at].words.first().map(std::mem::discriminant);
        let is_before = |at: usize| {
            !is_flag && self.is_free(at) && self.row.modifiers[at].required && kind(at) == kind(group)
        };
        self.is_free(group) && !(0..group).any(is_before)
    }

    fn is_free(&self, group: usize) -> bool {
        self.filled >> group & 1 == 0
    }

    /// Whether the target and the version have it.
    fn is_open(&self, environment: &Environment) -> bool {
        gates::is_generic_open(environment, self.row, &self.modifiers, |group| self.is_free(group))
    }

    /// Whether a word of a group goes together with what is written, and the target and the version have it. What is
    /// wrong already leaves everything open.
    fn takes(&self, environment: &Environment, group: usize, word: Modifier) -> bool {
        let is_free = |it: usize| it != group && self.is_free(it);
        let is_sound = self.row.may_become_sound(&self.modifiers, |it| self.is_free(it));
        let mut placed: Vec<(usize, Modifier)> = self.placed.iter().copied().chain([(group, word)]).collect();
        placed.sort_by_key(|(group, _)| *group);
        let modifiers: Vec<Modifier> = placed.into_iter().map(|(_, modifier)| modifier).collect();
        (!is_sound || self.row.may_become_sound(&modifiers, is_free))
            && gates::is_generic_open(environment, self.row, &modifiers, is_free)
    }
}

fn word_item(described: Described<'_>, word: Word, replace: Span) -> Item {
    Item {
        detail: described.group(word).map(|group| group.title.replace('`', "")).unwrap_or_default(),
        documentation: hover::word(described, word),
        ..item(word.spelling(), Kind::Qualifier, replace)
    }
}

/// The operations of tcgen05 that the target has and whose names start with `prefix`.
fn operations(environment: &Environment, replace: Span, prefix: &str) -> Vec<Item> {
    let none = Qualifiers::default();
    Operation::iter()
        .filter(|operation| gates::is_open(environment, *operation, &[]))
        .map(|operation| Described::Tensor(InstructionForm::of(operation), &none))
        .filter_map(|described| Some((described, described.name().strip_prefix(prefix)?.to_owned())))
        .flat_map(|(described, rest)| {
            let named = named(described, rest, replace);
            std::iter::once(named).chain(skeleton(described, prefix, replace))
        })
        .collect()
}

/// The instructions outside tcgen05 that the target has and whose names start with `prefix`.
fn instructions(
    environment: &Environment,
    rows: impl Iterator<Item = (&'static str, &'static Row)>,
    prefix: &str,
    replace: Span,
) -> Vec<Item> {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut items = Vec::new();
    for (name, row) in rows {
        let is_tensor = row.operation == generic::Operation::Tensor;
        let Some(rest) = name.strip_prefix(prefix).filter(|rest| !rest.is_empty() && !is_tensor) else {
            continue;
        };
        if !gates::is_generic_open(environment, row, &[], |_| true) {
            continue;
        }
        let described = Described::Generic(row, name, &[]);
        if seen.insert(name) {
            items.push(named(described, rest.to_owned(), replace));
        }
        items.extend(skeleton(described, prefix, replace));
    }
    items
}

/// Whether a label has the letters that are written, in their order: editors show no others.
fn may_mean(written: &str, label: &str) -> bool {
    let mut letters = label.chars().map(|letter| letter.to_ascii_lowercase());
    written.chars().all(|wanted| letters.any(|letter| letter == wanted.to_ascii_lowercase()))
}

/// The name of an instruction.
fn named(described: Described<'_>, rest: String, replace: Span) -> Item {
    let lines: Vec<String> = std::iter::once(described.line()).chain(described.other_forms()).collect();
    let explanation = described.explanation();
    let summary = explanation.split_once(". ").map_or(explanation, |(first, _)| first);
    Item {
        detail: summary.trim_end_matches('.').to_owned(),
        documentation: format!("{explanation}\n\n```ptx\n{}\n```\n", lines.join("\n")),
        ..item(rest, Kind::Operation, replace)
    }
}

/// The whole instruction with its required words and operands; none if it has no choices.
fn skeleton(described: Described<'_>, prefix: &str, replace: Span) -> Option<Item> {
    let name = described.name();
    let rest = name.strip_prefix(prefix)?;
    let mut label = rest.to_owned();
    let mut insert = vec![Part::text(rest.to_owned())];
    let mut chosen = Vec::new();
    for group in described.groups().into_iter().filter(|group| group.necessity == Necessity::Required) {
        let first = preferred(&group.words)?;
        chosen.push(first);
        label.extend([".", &first.spelling()]);
        insert.push(Part::text("."));
        insert.push(match group.words.len() {
            1 => Part::text(first.spelling()),
            2..=MOST_CHOICES => {
                let others = group.words.iter().filter(|word| **word != first);
                Part::Choice(std::iter::once(&first).chain(others).map(|word| word.spelling()).collect())
            }
            _ => Part::Place(first.spelling()),
        });
    }
    let operands = operand_parts(&described.operands_with(&chosen));
    if !operands.is_empty() {
        insert.push(Part::text(" "));
        insert.extend(operands);
    }
    insert.push(Part::text(";"));
    let skeleton = Item {
        detail: "with what it requires".to_owned(),
        documentation: format!("{}\n\n```ptx\n{}\n```\n", described.explanation(), described.line()),
        insert,
        ..item(label, Kind::Skeleton, replace)
    };
    (skeleton.is_snippet() || skeleton.label != rest).then_some(skeleton)
}

/// Of more choices than these nobody picks from a list.
const MOST_CHOICES: usize = 32;

/// The word that is written most, where one is: the first otherwise.
fn preferred(words: &[Word]) -> Option<Word> {
    let usual = ["b32", "u32", "f32"];
    let is = |word: &Word, wanted: &str| word.spelling() == wanted;
    let found = usual.iter().find_map(|wanted| words.iter().find(|word| is(word, wanted)));
    found.or(words.first()).copied()
}

/// The required operands as places to jump to.
fn operand_parts(operands: &[Operand]) -> Vec<Part> {
    let mut parts = Vec::new();
    for operand in operands.iter().filter(|operand| !operand.is_optional) {
        if !parts.is_empty() {
            parts.push(Part::text(", "));
        }
        parts.extend(operand.parts.iter().cloned());
    }
    parts
}

// ---- operands ----

fn at_operand(view: View<'_>, context: &Context<'_>, opcode: &str, place: OperandPlace) -> Vec<Item> {
    let words: Vec<&str> = opcode.split('.').collect();
    if let ["tcgen05", behind @ ..] = words.as_slice() {
        return match context::read(behind) {
            Some(opcode) => at_tcgen05_operand(view, context, &opcode, place),
            None => Vec::new(),
        };
    }
    let text = opcode;
    let opcode = operations::Opcode::new(text);
    match opcode.control() {
        Control::Branch => names(view, context, |name| name.kind == NameKind::Label),
        Control::Call if place.within.is_none() => {
            names(view, context, |name| name.kind == NameKind::Function)
        }
        Control::Call
        | Control::Next
        | Control::IndexedBranch
        | Control::Return
        | Control::Exit
        | Control::Trap => at_generic_operand(view, context, (&opcode, text), place),
    }
}

/// The names that may stand in an operand: those of the right type first.
fn at_generic_operand(
    view: View<'_>,
    context: &Context<'_>,
    (opcode, text): (&operations::Opcode, &str),
    place: OperandPlace,
) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(row) = opcode.row {
        let modifiers: Vec<Modifier> = opcode.modifiers.iter().map(|placed| placed.modifier).collect();
        let described = Described::Generic(row, row.name(), &modifiers);
        items.extend(all_operands(described, context, place));
    }
    let possible = possible(&opcode.slots, generic::OperandSlot::is_optional, place).into_iter();
    let possible: Vec<_> = possible.map(|slot| (slot, opcode.wanted(slot, text))).collect();
    // Where nothing is known, everything may stand there.
    let fit = |name: &Name<'_>| {
        if matches!(name.kind, NameKind::Label | NameKind::Function) {
            return Fit::Never;
        }
        let best = possible.iter().map(|it| takes(it, opcode, place, name)).max();
        best.unwrap_or(Fit::Perhaps)
    };
    items.extend(names_by(view, context, fit));
    items.extend(special_registers(context));
    items
}

/// How well a name fits a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Never,
    Perhaps,
    Well,
}

/// All operands at once, where none is written yet.
fn all_operands(described: Described<'_>, context: &Context<'_>, place: OperandPlace) -> Option<Item> {
    let word = context.word();
    let operands = described.operands();
    if place != (OperandPlace { index: 0, within: None }) || !word.is_empty() {
        return None;
    }
    let insert = operand_parts(&operands);
    let names: Vec<&str> = operands.iter().filter(|it| !it.is_optional).map(|it| it.name).collect();
    (!names.is_empty()).then(|| Item {
        detail: "all operands".to_owned(),
        documentation: format!("```ptx\n{}\n```\n", described.line()),
        insert,
        ..item(names.join(", "), Kind::Skeleton, word)
    })
}

/// The positions that a place may be. Optional operands make the count ambiguous: any that may stand there counts.
fn possible<'s, T>(slots: &[&'s T], is_optional: impl Fn(&T) -> bool, place: OperandPlace) -> Vec<&'s T> {
    let optional = slots.iter().filter(|slot| is_optional(slot)).count();
    slots.iter().copied().skip(place.index).take(optional + 1).collect()
}

/// The types of registers that are addresses.
const ADDRESSES: &[Type] = &[Type::B32, Type::U32, Type::S32, Type::B64, Type::U64, Type::S64];

/// How well a name fits a position, and what that takes.
fn takes(
    (slot, wanted): &(&generic::OperandSlot, Wanted),
    opcode: &operations::Opcode,
    place: OperandPlace,
    name: &Name<'_>,
) -> Fit {
    let fit = |fits: bool| if fits { Fit::Well } else { Fit::Never };
    let in_braces = place.within == Some(Token::BraceOpen);
    match (name.kind, slot.role) {
        (NameKind::Label | NameKind::Function, _) => Fit::Never,
        (NameKind::Register { .. }, generic::Role::Address(..)) if !in_braces => {
            fit(name.is_register(ADDRESSES))
        }
        (NameKind::Register { ty: Some(ty), vector: 1, .. }, _) => {
            let class = Class::of(ty);
            match (in_braces, wanted.alone.has(class), wanted.within.has(class)) {
                (false, true, _) | (true, _, true) => Fit::Well,
                // Its brace is still to come.
                (false, _, true) if wanted.is_vector => Fit::Perhaps,
                _ => Fit::Never,
            }
        }
        (NameKind::Register { .. }, _) => Fit::Perhaps,
        (NameKind::Variable(space), generic::Role::Address(_, rule)) if !in_braces => {
            let wanted = match rule {
                generic::SpaceRule::Fixed(space) => Some(space),
                generic::SpaceRule::Nth(nth) => opcode.spaces().nth(nth.into()),
                generic::SpaceRule::Opaque | generic::SpaceRule::Fabric => None,
            };
            fit(wanted.is_none_or(|wanted| wanted.declared() == space))
        }
        // Its address.
        (NameKind::Variable(_), generic::Role::Source) if !in_braces => Fit::Perhaps,
        (NameKind::Variable(_), _) => Fit::Never,
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

fn at_tcgen05_operand(
    view: View<'_>,
    context: &Context<'_>,
    opcode: &Opcode,
    place: OperandPlace,
) -> Vec<Item> {
    let known = known(opcode.qualifiers.iter().copied());
    let slots: Vec<&OperandSlot> = opcode.form.present(known.words()).collect();
    let mut items: Vec<Item> =
        all_operands(Described::Tensor(opcode.form, &known), context, place).into_iter().collect();
    let possible = possible(&slots, |slot| slot.optional, place).into_iter().map(|slot| slot.class);
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
    names_by(view, context, |name| if wanted(name) { Fit::Well } else { Fit::Never })
}

/// The visible names that may stand there, those that fit well first.
fn names_by(view: View<'_>, context: &Context<'_>, fit: impl Fn(&Name<'_>) -> Fit) -> Vec<Item> {
    /// Of a family with thousands of registers, those that match what is written are enough.
    const MOST: u32 = 256;
    let written = context.word_text();
    let word = context.word();
    let mut items = Vec::new();
    let visible = scope::visible(view.snapshot, view.place).into_iter().map(|name| (fit(&name), name));
    let mut visible: Vec<(Fit, Name<'_>)> = visible.filter(|(fit, _)| *fit != Fit::Never).collect();
    visible.sort_by_key(|(fit, _)| Reverse(*fit));
    for (_, name) in visible {
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
