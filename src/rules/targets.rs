//! TC2: what exists on which target and since which version.
//!
//! [`unavailable`] asks the one question for an instruction and everything it uses; the rules
//! only say which kind of answer they report.

use strum::IntoEnumIterator;

use crate::instruction::decode::Decoded;
use crate::isa::targets::{self, GATES, Gate, PtxVersion, TENSOR_TARGETS, Target, Unavailable, Use};
use crate::isa::tensor::InstructionForm;
use crate::isa::vocabulary::Operation;
use crate::resolve::environment::Setting;
use crate::rules::Checker;
use crate::source::Span;
use crate::words::list_words;

pub(super) mod feature_unsupported_on_target;
pub(super) mod instruction_unsupported_on_target;
pub(super) mod target_needs_newer_version;
pub(super) mod unknown_target;
pub(super) mod version_too_old;

/// What a set of targets, of which one has to do, lacks for an instruction.
struct Availability {
    targets: Vec<Setting<Target>>,
    /// None of them has tcgen05; nothing else is asked then.
    no_tensor_memory: bool,
    refusals: Vec<Refusal>,
}

/// A closed gate.
struct Refusal {
    gate: &'static Gate,
    /// What the instruction uses, as it is written.
    feature: String,
    /// What uses the feature.
    span: Span,
    reason: Unavailable,
}

/// A target and the gates that are closed on it under the module's version.
struct Closed {
    no_tensor_memory: bool,
    /// By operation: what it may use that the target lacks.
    gates: Vec<Vec<(&'static Gate, Unavailable)>>,
}

/// What is not available of each instruction, for each set of targets.
fn unavailable<'c>(
    checker: &'c Checker<'_>,
) -> impl Iterator<Item = (&'c Decoded<'c>, Availability)> + use<'c> {
    let version = checker.environment.version.map_or(PtxVersion::LATEST, |version| version.value);
    let sets: Vec<(&[Setting<Target>], Vec<Closed>)> = checker
        .environment
        .targets
        .iter()
        .map(|targets| (&targets[..], targets.iter().map(|target| closed(target.value, version)).collect()))
        .collect();
    checker.instructions.iter().flat_map(move |decoded| {
        let found = sets.iter().filter_map(|(targets, closed)| of_set(decoded, targets, closed));
        found.map(|availability| (decoded, availability)).collect::<Vec<_>>()
    })
}

fn closed(target: Target, version: PtxVersion) -> Closed {
    let closed = |gate: &'static Gate| {
        Some((gate, targets::available(gate.targets, gate.since, target, version).err()?))
    };
    Closed {
        no_tensor_memory: !TENSOR_TARGETS.contains(&target),
        gates: Operation::iter()
            .map(|operation| {
                let form = InstructionForm::of(operation);
                GATES.iter().filter(|gate| may_use(form, gate)).filter_map(closed).collect()
            })
            .collect(),
    }
}

/// Whether an instruction of this form can use the feature of a gate at all.
fn may_use(form: &InstructionForm, gate: &Gate) -> bool {
    gate.uses.iter().all(|part| match part {
        Use::Operation(operations) => operations.contains(&form.operation),
        Use::Qualifier(qualifiers) => qualifiers.iter().any(|value| form.takes(*value)),
        Use::Operand(name) => form.operands.iter().any(|slot| slot.name == *name),
    })
}

/// What the best of a set of targets lacks for an instruction.
fn of_set(decoded: &Decoded<'_>, targets: &[Setting<Target>], closed: &[Closed]) -> Option<Availability> {
    let refusals = |closed: &Closed| -> Vec<Refusal> {
        if closed.no_tensor_memory {
            return Vec::new();
        }
        let refusal = |(gate, reason): &(&'static Gate, Unavailable)| {
            let (span, feature) = uses(decoded, gate)?;
            Some(Refusal { gate, feature, span, reason: *reason })
        };
        let gates = decoded.form.map_or(&[][..], |form| &closed.gates[form.operation as usize]);
        gates.iter().filter_map(refusal).collect()
    };
    let (no_tensor_memory, refusals) = closed
        .iter()
        .map(|closed| (closed.no_tensor_memory, refusals(closed)))
        .min_by_key(|(no_tensor_memory, refusals)| (*no_tensor_memory, refusals.len()))?;
    let lacks = no_tensor_memory || !refusals.is_empty();
    lacks.then(|| Availability { targets: targets.to_vec(), no_tensor_memory, refusals })
}

/// Where the instruction uses the feature of a gate, if it does, and how it calls it.
fn uses(decoded: &Decoded<'_>, gate: &Gate) -> Option<(Span, String)> {
    let form = decoded.form?;
    let mut place = None;
    for part in gate.uses {
        place = Some(match part {
            Use::Operation(operations) => {
                (operations.contains(&form.operation).then_some(decoded.name)?, gate.feature.to_owned())
            }
            Use::Qualifier(qualifiers) => {
                let used = |value| qualifiers.contains(&value) && form.takes(value);
                let qualifier = decoded.qualifiers.iter().find(|written| used(written.value))?;
                (qualifier.span, format!("`.{}`", qualifier.value.spelling()))
            }
            Use::Operand(name) => {
                let bound = decoded.operands.iter().find(|bound| bound.slot.name == *name)?;
                (bound.slot.when.holds(&decoded.qualifiers).then_some(bound.span)?, gate.feature.to_owned())
            }
        });
    }
    // A combination is called by its own name.
    place.map(|(span, feature)| (span, if gate.uses.len() > 1 { gate.feature.to_owned() } else { feature }))
}

fn names(targets: &[Setting<Target>]) -> String {
    list_words(targets.iter().map(|target| target.value.to_string()), "and")
}
