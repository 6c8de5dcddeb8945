//! Opcodes of which some qualifiers are not known: the host language decides what they are.
//!
//! Whatever makes a sound opcode of one is a reading of it. Of its operands is said what holds in all
//! readings that explain them best; where one of these finds nothing wrong, nothing is.

use strum::IntoEnumIterator;

use super::{Bound, Decoded, Decoder, Value};
use crate::instruction::form::{Problem, Qualifiers};
use crate::instruction::types;
use crate::isa::tensor::InstructionForm;
use crate::isa::vocabulary::{Operation, Qualifier, Slot};
use crate::source::{Span, Spanned};

/// Binds the operands of an opcode as all of its readings do.
pub(super) fn bind<'s>(
    decoded: &mut Decoded<'s>,
    form: &'static InstructionForm,
    may_go_on: bool,
    values: &[(Value<'s>, Span)],
) {
    let mut best: Vec<Decoded<'s>> = Vec::new();
    let mut least = (true, usize::MAX);
    for (form, qualifiers) in readings(decoded, form, may_go_on) {
        let mut reading = decoded.clone();
        reading.qualifiers = qualifiers;
        reading.problems.clear();
        Decoder::bind(&mut reading, form, &mut values.to_vec());
        let wrong = reading.problems.len() + types::mistyped(&reading).len();
        // What takes another number of operands explains none of them.
        let cost = (reading.problems.iter().any(is_count), wrong);
        if cost < least {
            least = cost;
            best.clear();
        }
        if cost == least {
            best.push(reading);
        }
    }
    let Some((first, others)) = best.split_first() else { return };
    let is_same = |left: &Bound<'_>, right: &Bound<'_>| {
        left.span == right.span && left.slot == right.slot && left.fits == right.fits
    };
    let in_all =
        |problem: &&Problem| others.iter().all(|reading| reading.problems.iter().any(|it| it == *problem));
    decoded.problems.extend(first.problems.iter().filter(in_all).cloned());
    let in_all = |bound: &&Bound<'_>| {
        others.iter().all(|reading| reading.operands.iter().any(|it| is_same(it, bound)))
    };
    decoded.operands = first.operands.iter().filter(in_all).cloned().collect();
}

/// The forms that an opcode may be of, with the qualifiers that decide which operands they have; one for
/// each set of operands. Where the operation is followed by what is not known, it may go on.
fn readings(
    decoded: &Decoded<'_>,
    form: &'static InstructionForm,
    may_go_on: bool,
) -> Vec<(&'static InstructionForm, Qualifiers)> {
    let longer = Operation::iter().filter(|operation| {
        let rest = operation.name().strip_prefix(form.operation.name());
        may_go_on && rest.is_some_and(|rest| rest.starts_with('.'))
    });
    let takes_all =
        |form: &&'static InstructionForm| decoded.qualifiers.iter().all(|written| form.takes(written.value));
    let mut found = Vec::new();
    for form in std::iter::once(form).chain(longer.map(InstructionForm::of).filter(takes_all)) {
        let mut all = vec![decoded.qualifiers.clone()];
        let mut slots: Vec<Slot> = form.operands.iter().flat_map(|it| it.when.slots()).collect();
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let Some(position) = form.slot(slot) else { continue };
            if decoded.qualifiers.in_slot(slot).is_some() {
                continue;
            }
            let mut choices: Vec<Option<Qualifier>> = position.choices().into_iter().map(Some).collect();
            choices.extend((!position.required).then_some(None));
            all = all
                .iter()
                .flat_map(|qualifiers| choices.iter().map(|choice| with(qualifiers, *choice, decoded.name)))
                .collect();
        }
        let mut known = Vec::new();
        all.retain(|qualifiers| {
            let has: Vec<bool> =
                form.operands.iter().map(|slot| slot.when.holds(&qualifiers.words())).collect();
            let is_new = !known.contains(&has);
            known.push(has);
            is_new
        });
        found.extend(all.into_iter().map(|qualifiers| (form, qualifiers)));
    }
    found
}

fn is_count(problem: &Problem) -> bool {
    matches!(problem, Problem::Count { .. })
}

fn with(qualifiers: &Qualifiers, choice: Option<Qualifier>, place: Span) -> Qualifiers {
    let mut more = qualifiers.clone();
    if let Some(choice) = choice {
        more.push(Spanned::new(choice, place));
    }
    more
}
