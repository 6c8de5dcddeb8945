//! The words of an opcode: which operation they name, and which qualifiers.

use strum::IntoEnumIterator;

use super::Decoded;
use crate::instruction::form::Problem;
use crate::isa::tensor::{InstructionForm, QualifierSlot};
use crate::isa::vocabulary::{Operation, Qualifier, Slot};
use crate::opcode_words;
use crate::source::{Source, Span, Spanned};
use crate::words::{distance, similar};

/// The words of an opcode, each with the span from its dot on.
pub(super) fn split_opcode(source: &Source, opcode: Span) -> Vec<Spanned<&str>> {
    let at = |span: Span| Span::new(opcode.start + span.start, opcode.start + span.end);
    opcode_words::words(source.slice(opcode)).map(|(word, span)| Spanned::new(word, at(span))).collect()
}

/// The operation that the words start with, and how many of them name it.
pub(super) fn operation(words: &[Spanned<&str>]) -> Option<(Operation, usize)> {
    opcode_words::tensor_operation(words.iter().map(|word| (word.value, word.span)))
}

pub(super) fn similar_operations(word: &str) -> Vec<Operation> {
    let head = word.split("::").next().unwrap_or_default();
    let mut similar: Vec<(usize, Operation)> = Operation::iter()
        .filter_map(|operation| {
            let name = operation.name();
            if !head.is_empty() && name.starts_with(head) {
                return Some((0, operation));
            }
            Some((distance(name, word, 1 + name.len() / 4)?, operation))
        })
        .collect();
    similar.sort();
    similar.into_iter().map(|(_, operation)| operation).take(2).collect()
}

/// Sorts the qualifiers into the slots of the form.
pub(super) fn qualifiers(decoded: &mut Decoded<'_>, form: &'static InstructionForm, words: &[Spanned<&str>]) {
    let mut ignored = Vec::new();
    for word in words {
        let Some(value) = Qualifier::parse(word.value) else {
            let problem = unknown_word(form, word, &mut ignored);
            decoded.problems.push(problem);
            continue;
        };
        let qualifier = Spanned::new(value, word.span);
        if form.ignores(value.slot()) {
            // Not pushed: it has no meaning here.
            decoded.problems.push(Problem::NotAllowed { qualifier, misfit: None });
            continue;
        }
        if let Some(first) = decoded.qualifiers.in_slot(value.slot()) {
            decoded.problems.push(Problem::Repeated { qualifier, first });
            continue;
        }
        if !form.takes(value) {
            let misfit = form.misfits.iter().find(|misfit| misfit.matches.contains(value));
            decoded.problems.push(Problem::NotAllowed { qualifier, misfit });
            // It fills its slot all the same: that the slot is empty, too, would be said twice.
        }
        decoded.qualifiers.push(qualifier);
    }
    give_meaning(decoded, form);
    for slot in form.qualifiers {
        if slot.required && decoded.qualifiers.in_slot(slot.slot).is_none() {
            let choices = slot.choices();
            // An unknown word close to one of the choices was meant to fill the slot.
            let meant = decoded.problems.iter().any(|problem| match problem {
                Problem::UnknownQualifier { similar, .. } => {
                    similar.iter().any(|choice| choice.slot() == slot.slot)
                }
                _ => false,
            });
            if !meant {
                let insert_at = insertion_point(decoded, form, slot.slot);
                decoded.problems.push(Problem::Missing { slot: slot.slot, choices, insert_at });
            }
        }
    }
}

/// Where one word is not known and one is missing, the one stands for the other: `.up` for `.down`.
fn give_meaning(decoded: &mut Decoded<'_>, form: &'static InstructionForm) {
    /// More choices say nothing.
    const MOST: usize = 2;
    let mut missing = form
        .qualifiers
        .iter()
        .filter(|slot| slot.required && decoded.qualifiers.in_slot(slot.slot).is_none());
    let (Some(slot), None) = (missing.next(), missing.next()) else { return };
    let choices = slot.choices();
    let mut unknown = decoded.problems.iter_mut().filter_map(|problem| match problem {
        Problem::UnknownQualifier { similar, ignored_by_ptxas: false, .. } => Some(similar),
        _ => None,
    });
    if let (Some(similar), None) = (unknown.next(), unknown.next())
        && similar.is_empty()
        && choices.len() <= MOST
    {
        *similar = choices;
    }
}

/// Where a qualifier of `slot` stands in the canonical order: behind the last one that precedes it.
pub fn insertion_point(decoded: &Decoded<'_>, form: &InstructionForm, slot: Slot) -> u32 {
    form.qualifiers
        .iter()
        .take_while(|it| it.slot != slot)
        .filter_map(|it| decoded.qualifiers.in_slot(it.slot))
        .map(|qualifier| qualifier.span.end)
        .max()
        .unwrap_or(decoded.name.end)
}

/// A word that is not a qualifier of any tcgen05 instruction.
fn unknown_word(form: &InstructionForm, word: &Spanned<&str>, ignored: &mut Vec<&'static str>) -> Problem {
    // `.ws` and `.red` are words of an operation; they mean nothing further back.
    let operation = Operation::iter().find(|operation| {
        let name = operation.name();
        name.strip_suffix(word.value).is_some_and(|head| head.ends_with('.'))
            && name.starts_with(form.operation.name())
    });
    if let Some(operation) = operation {
        return Problem::Misplaced { span: word.span, operation };
    }
    let ignored_by_ptxas = match foreign(form.operation, word.value) {
        Foreign::Refused => false,
        Foreign::Ignored => true,
        Foreign::IgnoredOnce(group) => {
            let first = !ignored.contains(&group);
            ignored.push(group);
            first
        }
    };
    Problem::UnknownQualifier {
        span: word.span,
        similar: similar_qualifiers(form, word.value),
        ignored_by_ptxas,
    }
}

/// What the assembler does with a word that is not a qualifier of tcgen05.
enum Foreign {
    /// It refuses it.
    Refused,
    /// It takes it, as often as it stands there, without a meaning.
    Ignored,
    /// It takes one word of this group without a meaning.
    IgnoredOnce(&'static str),
}

/// What the assembler does with a word of another instruction.
fn foreign(operation: Operation, word: &str) -> Foreign {
    Foreign::IgnoredOnce(match (operation, word) {
        (
            Operation::Ld
            | Operation::LdRed
            | Operation::LdSpcompress
            | Operation::LdRedSpcompress
            | Operation::St
            | Operation::Cp,
            "row" | "col",
        ) => return Foreign::Ignored,
        (Operation::Commit, "sync_restrict::shared::cta" | "sync_restrict::shared::cluster") => {
            "sync_restrict"
        }
        (_, "finite" | "infinite" | "normal" | "notanumber" | "number" | "subnormal") => "testp",
        (_, "acc::f32") => "acc",
        (_, "box_dim") => "box_dim",
        (_, "element_stride") => "element_stride",
        (_, "elemtype") => "elemtype",
        (_, "fill_mode") => "fill_mode",
        (_, "global_address") => "global_address",
        (_, "global_dim") => "global_dim",
        (_, "global_stride") => "global_stride",
        (_, "interleave_layout") => "interleave_layout",
        (_, "rank") => "rank",
        (_, "swizzle_atomicity") => "swizzle_atomicity",
        (_, "swizzle_mode") => "swizzle_mode",
        _ => return Foreign::Refused,
    })
}

/// The qualifiers of this form that `word` was probably meant to be: all that are equally near.
fn similar_qualifiers(form: &InstructionForm, word: &str) -> Vec<Qualifier> {
    let choices = || form.qualifiers.iter().flat_map(QualifierSlot::choices);
    // `.kind` alone stands for every kind.
    let group: Vec<Qualifier> =
        choices().filter(|choice| choice.spelling().split("::").next() == Some(word)).collect();
    if !group.is_empty() {
        return group;
    }
    // A number is not misspelt: it is one that does not exist.
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    if word.strip_prefix('x').is_some_and(is_number) {
        return choices().filter(|choice| choice.slot() == Slot::Num).collect();
    }
    // `.collector::a:fill` and `.cta_group.1` are one keystroke away; so is wrong case.
    let spellings: Vec<&str> = similar(word, choices().map(Qualifier::spelling));
    choices().filter(|choice| spellings.contains(&choice.spelling())).collect()
}
