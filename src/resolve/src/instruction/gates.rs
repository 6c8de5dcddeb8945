//! What exists on which target and since which version, asked of instructions.
//!
//! The gates themselves are facts of the ISA ([`targets::GATES`]). This is the one place that puts an
//! instruction, or one that is only being written, to them.

use std::sync::LazyLock;

use strum::IntoEnumIterator;

use super::decode::Decoded;
use crate::environment::{Declared, Environment};
use crate::isa::generic::{Modifier, Row};
use crate::isa::scale_vectors;
use crate::isa::targets::{self, GATES, Gate, PtxVersion, TENSOR_TARGETS, Target, Unavailable, Use};
use crate::isa::tensor::InstructionForm;
use crate::isa::vocabulary::{Kind, Operation, Qualifier, ScaleVectorSize};
use crate::source::{Span, Spanned};

/// What a set of targets, of which one has to do, lacks for an instruction.
#[derive(Debug)]
pub struct Availability {
    /// The targets.
    pub targets: Vec<Declared<Target>>,
    /// None of them has tcgen05; nothing else is asked then.
    pub no_tensor_memory: bool,
    /// What each of them lacks.
    pub refusals: Vec<Refusal>,
}

/// A closed gate.
#[derive(Debug)]
pub struct Refusal {
    /// The gate.
    pub gate: &'static Gate,
    /// What the instruction uses, as it is written.
    pub feature: String,
    /// What uses the feature.
    pub span: Span,
    /// Why it is closed.
    pub reason: Unavailable,
}

/// A target and the gates that are closed on it under the module's version.
#[derive(Debug)]
struct Closed {
    no_tensor_memory: bool,
    /// By operation: what it may use that the target lacks.
    gates: Vec<Vec<(&'static Gate, Unavailable)>>,
}

impl Closed {
    /// What an instruction may use that the target lacks.
    fn gates_of(&self, decoded: &Decoded<'_>) -> &[(&'static Gate, Unavailable)] {
        decoded.form.map_or(&[], |form| &self.gates[form.operation as usize])
    }

    /// Whether an instruction uses nothing that the target lacks.
    fn is_open_for(&self, decoded: &Decoded<'_>) -> bool {
        self.gates_of(decoded).iter().all(|(gate, _)| place(decoded, gate).is_none())
    }
}

/// The gates that are closed under an environment, found out once.
#[derive(Debug, Default)]
pub struct Gates {
    sets: Vec<(Vec<Declared<Target>>, Vec<Closed>)>,
}

impl Gates {
    /// The gates that are closed on the targets of `environment` under its version.
    pub fn new(environment: &Environment) -> Self {
        let version = environment.version.map_or(PtxVersion::LATEST, |version| version.value);
        let close = |set: &Vec<Declared<Target>>| {
            (set.clone(), set.iter().map(|target| closed(target.value, version)).collect())
        };
        Self { sets: environment.targets.iter().map(close).collect() }
    }

    /// The sets of targets of which none has tcgen05.
    pub fn without_tensor_memory(&self) -> impl Iterator<Item = &[Declared<Target>]> {
        let lacks = |closed: &Vec<Closed>| !closed.is_empty() && closed.iter().all(|it| it.no_tensor_memory);
        self.sets.iter().filter(move |(_, closed)| lacks(closed)).map(|(targets, _)| targets.as_slice())
    }

    /// Whether each set of targets has one that has all of an instruction. So it is with most.
    pub fn are_open_for(&self, decoded: &Decoded<'_>) -> bool {
        self.sets.iter().all(|(_, closed)| {
            closed.is_empty() || closed.iter().any(|it| !it.no_tensor_memory && it.is_open_for(decoded))
        })
    }

    /// What is not available of an instruction, for each set of targets that lacks something.
    pub fn unavailable(&self, decoded: &Decoded<'_>) -> impl Iterator<Item = Availability> {
        self.sets.iter().filter_map(|(targets, closed)| of_set(decoded, targets, closed))
    }
}

/// The gates that an operation with these qualifiers has to pass.
fn gates(operation: Operation, qualifiers: &[Qualifier]) -> impl Iterator<Item = &'static Gate> {
    GATES.iter().filter(move |gate| {
        gate.uses.iter().all(|part| match part {
            Use::Operation(operations) => operations.contains(&operation),
            Use::Qualifier(any) => any.iter().any(|it| qualifiers.contains(it)),
            Use::Operand(_) => false,
        })
    })
}

/// Whether each set of targets has one that can do it.
pub fn is_open(environment: &Environment, operation: Operation, qualifiers: &[Qualifier]) -> bool {
    let version = environment.version.map_or(PtxVersion::LATEST, |version| version.value);
    environment.targets.iter().all(|set| {
        set.iter().any(|target| {
            TENSOR_TARGETS.contains(&target.value)
                && gates(operation, qualifiers)
                    .all(|gate| targets::available(gate.targets, gate.since, target.value, version).is_ok())
        })
    })
}

/// Whether the version has an instruction outside tcgen05 with these words, and one target of each set has it. `is_free`
/// says where more words may follow.
pub fn is_generic_open(
    environment: &Environment,
    row: &Row,
    words: &[Modifier],
    is_free: impl Fn(usize) -> bool,
) -> bool {
    let version = environment.version.map_or(PtxVersion::LATEST, |version| version.value);
    let gates = row.gates(words, is_free);
    let has = |target: Target| gates.iter().all(|gate| gate.is_on(version, target));
    gates.iter().all(|gate| gate.is_since(version))
        && environment.targets.iter().all(|set| set.iter().any(|target| has(target.value)))
}

/// The gates that concern an operation whatever its qualifiers are.
pub fn of_operation(operation: Operation) -> impl Iterator<Item = &'static Gate> {
    gates(operation, &[])
}

/// The gates that a qualifier has a part in.
pub fn of_qualifier(qualifier: Qualifier) -> impl Iterator<Item = &'static Gate> {
    GATES.iter().filter(move |gate| {
        gate.uses.iter().any(|part| matches!(part, Use::Qualifier(any) if any.contains(&qualifier)))
    })
}

/// The scale vector size of an instruction and the name for it that family targets have, too, if
/// that is another one which fits the instruction and is known to the version.
pub fn portable_scale_vector(
    environment: &Environment,
    decoded: &Decoded<'_>,
) -> Option<(Spanned<ScaleVectorSize>, ScaleVectorSize)> {
    let size = decoded.qualifiers.get::<ScaleVectorSize>()?;
    let kind = decoded.qualifiers.get::<Kind>()?;
    let portable = scale_vectors::portable(size.value)?;
    // Tables 54 and 55 have both names or neither.
    let allowed = scale_vectors::allowed(kind.value);
    let since = of_qualifier(Qualifier::ScaleVectorSize(portable)).map(|gate| gate.since).max();
    let is_known = environment.version.is_none_or(|version| Some(version.value) >= since);
    (allowed.contains(&size.value) && allowed.contains(&portable) && is_known).then_some((size, portable))
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

/// The operands that not all targets have.
pub(super) fn gated_operands() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let parts = GATES.iter().flat_map(|gate| gate.uses);
        parts.filter_map(|part| if let Use::Operand(name) = part { Some(*name) } else { None }).collect()
    });
    &NAMES
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
fn of_set(decoded: &Decoded<'_>, targets: &[Declared<Target>], closed: &[Closed]) -> Option<Availability> {
    let refusals = |closed: &Closed| -> Vec<Refusal> {
        if closed.no_tensor_memory {
            return Vec::new();
        }
        let refusal = |(gate, reason): &(&'static Gate, Unavailable)| {
            let (span, feature) = uses(decoded, gate)?;
            Some(Refusal { gate, feature, span, reason: *reason })
        };
        closed.gates_of(decoded).iter().filter_map(refusal).collect()
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
    let (span, qualifier) = place(decoded, gate)?;
    let feature = match qualifier {
        // A combination is called by its own name.
        Some(qualifier) if gate.uses.len() == 1 => format!("`.{}`", qualifier.spelling()),
        _ => gate.feature.to_owned(),
    };
    Some((span, feature))
}

/// Where the instruction uses the feature of a gate, if it does, and by which qualifier.
fn place(decoded: &Decoded<'_>, gate: &Gate) -> Option<(Span, Option<Qualifier>)> {
    let form = decoded.form?;
    let mut place = None;
    for part in gate.uses {
        place = Some(match part {
            Use::Operation(operations) => {
                (operations.contains(&form.operation).then_some(decoded.name)?, None)
            }
            Use::Qualifier(qualifiers) => {
                let used = |value| qualifiers.contains(&value) && form.takes(value);
                let qualifier = decoded.qualifiers.iter().find(|written| used(written.value))?;
                (qualifier.span, Some(qualifier.value))
            }
            Use::Operand(name) => {
                let bound = decoded.operands.iter().find(|bound| bound.slot.name == *name)?;
                (bound.slot.when.holds(&decoded.qualifiers.words()).then_some(bound.span)?, None)
            }
        });
    }
    place
}
