//! An instruction as it is shown: what hover, completion and signatures say comes from here, whichever of the two
//! tables has it.

use std::borrow::Cow;

use ptx_check::instruction::form::Qualifiers;
use ptx_check::instruction::gates;
use ptx_check::isa::generic::{
    self, Constraint, Demand, Form, Geometry, Modifier, Pair, Role, Row, SpaceRule, Targets, Term, Wanted,
    Words,
};
use ptx_check::isa::targets::{Gate, PtxVersion, TENSOR_TARGETS, Target};
use ptx_check::isa::tensor::{self, InstructionForm, OperandClass, QualifierSlot, Shape};
use ptx_check::isa::vocabulary::{LdShape, Num, Qualifier};
use ptx_check::source::{Span, Spanned};
use ptx_check::words::list_words;

use crate::links;

/// An instruction, and what is known of its opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Described<'a> {
    /// One of tcgen05, with its qualifiers.
    Tensor(&'static InstructionForm, &'a Qualifiers),
    /// Another one: its row, the name that it goes by, and its modifiers.
    Generic(&'static Row, &'static str, &'a [Modifier]),
}

/// A word of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Qualifier(Qualifier),
    /// A modifier in a group of its row.
    Modifier(usize, Modifier),
}

/// Whether a word has to stand in an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Necessity {
    Required,
    Optional,
    NotAllowed,
}

/// A position for one of several words.
#[derive(Debug)]
pub(crate) struct Group {
    /// What it is called in a sentence.
    pub(crate) title: String,
    /// What its words are for; empty where they say it themselves.
    pub(crate) purpose: &'static str,
    pub(crate) necessity: Necessity,
    pub(crate) words: Vec<Word>,
}

/// A position for an operand.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) name: &'static str,
    /// How it is written.
    pub(crate) syntax: String,
    /// What it is for, and what may stand there.
    pub(crate) explanation: String,
    pub(crate) is_optional: bool,
    /// What is written where it is filled in.
    pub(crate) parts: Vec<Part>,
    /// How many bits it has, if that is known.
    pub(crate) bits: Option<u32>,
}

/// A part of a text that is to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It stands as it is.
    Text(Cow<'static, str>),
    /// It is replaced.
    Place(String),
    /// It is one of these.
    Choice(Vec<String>),
}

impl Part {
    pub(crate) fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }
}

impl Described<'_> {
    /// `tcgen05.ld`, `mbarrier.arrive`
    pub(crate) fn name(self) -> String {
        match self {
            Self::Tensor(form, _) => format!("tcgen05.{}", form.operation),
            Self::Generic(_, name, _) => name.to_owned(),
        }
    }

    /// The syntax as the ISA writes it.
    pub(crate) fn syntax(self) -> String {
        match self {
            Self::Tensor(form, _) => form.syntax(),
            Self::Generic(row, name, _) => row.syntax(name),
        }
    }

    /// The first line of it.
    pub(crate) fn line(self) -> String {
        match self {
            Self::Tensor(form, _) => form.syntax(),
            Self::Generic(row, name, _) => row.line(name),
        }
    }

    /// What it does.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::Tensor(form, _) => form.operation.explanation(),
            Self::Generic(row, ..) => row.operation.explanation(),
        }
    }

    /// What else has to be known of it.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Tensor(..) => None,
            Self::Generic(row, ..) => row.synchronization.explanation(),
        }
    }

    /// The other forms of the same name, each as a line of syntax.
    pub(crate) fn other_forms(self) -> Vec<String> {
        let Self::Generic(row, name, _) = self else { return Vec::new() };
        let first = name.split('.').next().unwrap_or(name);
        let same = generic::rows_starting_with(first).iter().filter(|(it, _)| *it == name);
        same.filter(|(_, other)| other.operation != row.operation).map(|(name, row)| row.line(name)).collect()
    }

    /// Which versions and targets have it, each in a line of Markdown.
    pub(crate) fn available(self) -> Vec<String> {
        match self {
            Self::Tensor(form, _) => {
                let own = gates::of_operation(form.operation).map(|gate| describe_gate(Some(gate)));
                std::iter::once(describe_gate(None)).chain(own).collect()
            }
            Self::Generic(row, _, modifiers) => {
                // What follows is not known, but nothing does: the instruction is complete.
                self.describe_gates(&row.gates(modifiers, |_| false))
            }
        }
    }

    /// Gates in lines of Markdown: those of the same words in one.
    fn describe_gates(self, gates: &[&'static Constraint]) -> Vec<String> {
        let mut features: Vec<&[Term]> = Vec::new();
        for gate in gates {
            if !features.contains(&gate.when) {
                features.push(gate.when);
            }
        }
        let line = |when: &[Term]| {
            let same = || gates.iter().filter(|gate| gate.when == when);
            let since = same().find_map(|gate| match gate.then {
                Demand::Since(version) => Some(version),
                _ => None,
            });
            let targets = same().find_map(|gate| match gate.then {
                Demand::On(Targets::From(sm)) => Some(format!("`{}` or later", Target::plain(sm))),
                Demand::On(Targets::These(targets)) => Some(names(targets)),
                Demand::Gone(_, sm) => Some(format!("targets before `{}`", Target::plain(sm))),
                _ => None,
            });
            let feature = if when.is_empty() { format!("`{}`", self.name()) } else { feature(when) };
            availability(&feature, since, targets.as_deref())
        };
        features.into_iter().map(line).collect()
    }

    /// With which other words one goes together, each in a line of Markdown.
    pub(crate) fn combinations(self, word: Word) -> Vec<String> {
        let (Self::Generic(row, ..), Word::Modifier(_, word)) = (self, word) else { return Vec::new() };
        let has = |term: &Term| !term.absent && term.words.contains(&word);
        let combination = |constraint: &Constraint| {
            let others: Vec<Term> = constraint.when.iter().filter(|term| !has(term)).copied().collect();
            let is_about = others.len() < constraint.when.len();
            let with = if others.is_empty() { String::new() } else { format!("{}: ", terms(&others)) };
            match constraint.then {
                Demand::Needs(term) if is_about => Some(format!("{with}requires {}", choice(term.words))),
                Demand::Excludes(term) if is_about => Some(format!("{with}not with {}", choice(term.words))),
                Demand::Excludes(term) if has(&term) && !constraint.when.is_empty() => {
                    Some(format!("not {}", terms(constraint.when)))
                }
                _ => None,
            }
        };
        row.constraints.iter().filter_map(combination).collect()
    }

    /// The section of the ISA, as a link.
    pub(crate) fn section(self) -> String {
        match self {
            Self::Tensor(form, _) => format!("[PTX ISA {}]({})", form.section, links::url(form.anchor)),
            Self::Generic(row, ..) => format!("[PTX ISA, {}]({})", row.section(), links::url(&row.anchor())),
        }
    }

    // ---- words ----

    /// The operands that it has with some words.
    pub(crate) fn operands_with(self, words: &[Word]) -> Vec<Operand> {
        match self {
            Self::Tensor(form, _) => {
                let qualifiers = words.iter().filter_map(|word| match word {
                    Word::Qualifier(qualifier) => Some(*qualifier),
                    Word::Modifier(..) => None,
                });
                Described::Tensor(form, &known(qualifiers)).operands()
            }
            Self::Generic(row, name, _) => {
                let modifiers = words.iter().filter_map(|word| match word {
                    Word::Modifier(_, modifier) => Some(*modifier),
                    Word::Qualifier(_) => None,
                });
                Described::Generic(row, name, &modifiers.collect::<Vec<_>>()).operands()
            }
        }
    }

    /// The positions for words, in the ISA's order.
    pub(crate) fn groups(self) -> Vec<Group> {
        match self {
            Self::Tensor(form, _) => form.qualifiers.iter().map(group_of_slot).collect(),
            Self::Generic(row, ..) => {
                (0..row.modifiers.len()).filter_map(|at| group_of_row(row, at)).collect()
            }
        }
    }

    /// The position that a word stands in; one where it is not allowed, if the instruction has none for it.
    pub(crate) fn group(self, word: Word) -> Option<Group> {
        match (self, word) {
            (Self::Tensor(form, _), Word::Qualifier(qualifier)) => {
                let slot = qualifier.slot();
                Some(form.slot(slot).map_or_else(
                    || Group {
                        title: slot.title().to_owned(),
                        purpose: slot.explanation(),
                        necessity: Necessity::NotAllowed,
                        words: Vec::new(),
                    },
                    group_of_slot,
                ))
            }
            (Self::Generic(row, ..), Word::Modifier(index, _)) => group_of_row(row, index),
            (Self::Tensor(..), Word::Modifier(..)) | (Self::Generic(..), Word::Qualifier(_)) => None,
        }
    }

    /// Which versions and targets have a word, each in a line of Markdown.
    pub(crate) fn word_available(self, word: Word) -> Vec<String> {
        match (self, word) {
            (Self::Tensor(..), Word::Qualifier(qualifier)) => {
                gates::of_qualifier(qualifier).map(|gate| describe_gate(Some(gate))).collect()
            }
            (Self::Generic(row, ..), Word::Modifier(_, word)) => {
                let has = |term: &Term| !term.absent && term.words.contains(&word);
                let gates = row.constraints.iter().filter(|it| it.is_gate() && it.when.iter().any(has));
                self.describe_gates(&gates.collect::<Vec<_>>())
            }
            (Self::Generic(..), Word::Qualifier(_)) | (Self::Tensor(..), Word::Modifier(..)) => Vec::new(),
        }
    }

    // ---- operands ----

    /// The operands that the opcode has.
    pub(crate) fn operands(self) -> Vec<Operand> {
        match self {
            Self::Tensor(form, known) => form
                .present(known.words())
                .map(|slot| Operand {
                    name: slot.name,
                    syntax: slot.bare_syntax(),
                    explanation: slot.class.facts().noun.to_owned(),
                    is_optional: slot.optional,
                    parts: parts_of_slot(slot, known),
                    bits: None,
                })
                .collect(),
            Self::Generic(row, _, modifiers) => {
                let present = row.operands.iter().filter(|slot| slot.may_stand(|it| modifiers.contains(&it)));
                present.filter_map(|slot| self.operand(slot)).collect()
            }
        }
    }

    /// One of them, by its position in the row.
    pub(crate) fn operand(self, slot: &generic::OperandSlot) -> Option<Operand> {
        let Self::Generic(row, name, modifiers) = self else { return None };
        let wanted = Wanted::new(slot, &Words { operation: row.operation, name, modifiers });
        Some(Operand {
            name: slot.name,
            syntax: row.operand_syntax(slot),
            explanation: format!("{}; {}", row.operand_purpose(slot), row.operand_noun(slot, &wanted)),
            is_optional: slot.is_optional(),
            parts: parts_of_row(slot, &wanted, modifiers),
            bits: wanted.ty.and_then(generic::Type::bits),
        })
    }

    /// All operands that some opcode of the instruction has, each with when it is there.
    pub(crate) fn all_operands(self) -> Vec<(Operand, Option<String>)> {
        match self {
            Self::Tensor(..) => self.operands().into_iter().map(|it| (it, None)).collect(),
            Self::Generic(row, ..) => {
                let slots = row.operands.iter();
                slots.filter_map(|slot| Some((self.operand(slot)?, slot.presence_in_words()))).collect()
            }
        }
    }
}

impl Word {
    /// How it is written, without the dot in front.
    pub(crate) fn spelling(self) -> String {
        match self {
            Self::Qualifier(qualifier) => qualifier.spelling().to_owned(),
            Self::Modifier(_, modifier) => modifier.spelling(),
        }
    }

    /// What it means.
    pub(crate) fn explanation(self) -> Cow<'static, str> {
        match self {
            Self::Qualifier(qualifier) => Cow::Borrowed(qualifier.explanation()),
            Self::Modifier(_, modifier) => modifier.explanation(),
        }
    }
}

/// The qualifiers as the table's conditions want them.
pub(crate) fn known(qualifiers: impl IntoIterator<Item = Qualifier>) -> Qualifiers {
    let mut known = Qualifiers::default();
    for qualifier in qualifiers {
        known.push(Spanned::new(qualifier, Span::default()));
    }
    known
}

fn group_of_slot(slot: &QualifierSlot) -> Group {
    Group {
        title: slot.slot.title().to_owned(),
        purpose: slot.slot.explanation(),
        necessity: if slot.required { Necessity::Required } else { Necessity::Optional },
        words: slot.choices().into_iter().map(Word::Qualifier).collect(),
    }
}

fn group_of_row(row: &Row, index: usize) -> Option<Group> {
    let group = row.modifiers.get(index)?;
    Some(Group {
        title: group.title(),
        purpose: group.purpose(),
        necessity: if group.required { Necessity::Required } else { Necessity::Optional },
        words: group.words.iter().map(|word| Word::Modifier(index, *word)).collect(),
    })
}

fn parts_of_slot(slot: &tensor::OperandSlot, known: &Qualifiers) -> Vec<Part> {
    match slot.class.facts().shape {
        Shape::Address => vec![Part::text("["), Part::Place(slot.name.to_owned()), Part::text("]")],
        Shape::Vector => {
            let shape = known.get::<LdShape>().map(|shape| shape.value);
            let num = known.get::<Num>().map(|num| num.value);
            let data = matches!(slot.class, OperandClass::LoadVector | OperandClass::StoreVector);
            let length = shape.zip(num).and_then(|(shape, num)| shape.vector_length(num)).filter(|_| data);
            vector(slot.name, length.unwrap_or(1))
        }
        Shape::ValueOrAddress => vec![Part::Place(format!("{}-desc", slot.name))],
        Shape::Value | Shape::ValueOrVector => vec![Part::Place(slot.name.to_owned())],
    }
}

fn parts_of_row(slot: &generic::OperandSlot, wanted: &Wanted, modifiers: &[Modifier]) -> Vec<Part> {
    let place = || Part::Place(slot.name.to_owned());
    let count = wanted.count.map(u32::from);
    match (slot.role, slot.form) {
        (Role::Address(_, space), _) => {
            let mut parts = vec![Part::text("["), place()];
            let count = if space == SpaceRule::Opaque { coordinates(modifiers) } else { count };
            if let Some(count) = count {
                parts.push(Part::text(", "));
                parts.extend(vector("c", count));
            }
            parts.push(Part::text("]"));
            parts
        }
        (Role::Results | Role::Arguments, _) => vec![Part::text("("), place(), Part::text(")")],
        (_, Form::Fragment) => count.map_or_else(
            || vec![Part::text("{"), place(), Part::text("}")],
            |count| vector(slot.name, count),
        ),
        (_, Form::Vector | Form::Elements(_)) => {
            count.map_or_else(|| vec![place()], |count| vector(slot.name, count))
        }
        _ if slot.pair == Pair::Required => {
            vec![place(), Part::text("|"), Part::Place(slot.second_name().to_owned())]
        }
        _ => vec![place()],
    }
}

/// How many coordinates a texture or a surface is addressed by; where they are three, a fourth is not looked at.
fn coordinates(modifiers: &[Modifier]) -> Option<u32> {
    modifiers.iter().find_map(|modifier| match modifier {
        Modifier::Geometry(Geometry::D1) => Some(1),
        Modifier::Geometry(Geometry::D2 | Geometry::A1d) => Some(2),
        Modifier::Geometry(_) => Some(4),
        _ => None,
    })
}

/// A vector in braces; its elements are numbered if there are several.
fn vector(name: &str, count: u32) -> Vec<Part> {
    let mut parts = vec![Part::text("{")];
    for index in 0..count {
        if index > 0 {
            parts.push(Part::text(", "));
        }
        parts.push(Part::Place(format!("{name}{index}")));
    }
    parts.push(Part::text("}"));
    parts
}

/// A gate in a line of Markdown; without one, tcgen05's own.
fn describe_gate(gate: Option<&Gate>) -> String {
    let (feature, since, targets) = match gate {
        Some(gate) => (gate.feature, gate.since, gate.targets),
        None => ("tcgen05", PtxVersion::new(8, 6), TENSOR_TARGETS),
    };
    availability(feature, Some(since), Some(&names(targets)))
}

fn names(targets: &[Target]) -> String {
    let targets: Vec<String> = targets.iter().map(|target| format!("`{target}`")).collect();
    targets.join(", ")
}

fn availability(feature: &str, since: Option<PtxVersion>, targets: Option<&str>) -> String {
    let since = since.map(|since| format!(" PTX ISA {since} or later")).unwrap_or_default();
    let targets = targets.map(|targets| format!(" on {targets}")).unwrap_or_default();
    format!("{feature}:{since}{targets}")
}

/// What terms are about: `` `.a` with `.b` ``.
fn feature(when: &[Term]) -> String {
    match when {
        [first] if !first.absent => choice(first.words),
        [first, others @ ..] if !first.absent => format!("{} {}", choice(first.words), terms(others)),
        all => terms(all),
    }
}

/// What terms say, as it stands behind a word: `with .a and without .b`.
fn terms(terms: &[Term]) -> String {
    let told = terms
        .iter()
        .map(|term| format!("{} {}", if term.absent { "without" } else { "with" }, choice(term.words)));
    list_words(told, "and")
}

/// One of some words.
fn choice(words: &[Modifier]) -> String {
    /// Of more, nobody reads them all.
    const MOST: usize = 12;
    let shown = words.iter().take(MOST).map(|word| format!("`.{}`", word.spelling()));
    list_words(shown.chain((words.len() > MOST).then(|| "another".to_owned())), "or")
}
