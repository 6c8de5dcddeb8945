//! TC2: what exists on which target and since which version.
//!
//! [`availability`] asks the one question for an instruction and everything it uses; the rules
//! only say which kind of answer they report.

use crate::analysis::environment::Setting;
use crate::instruction::decode::Decoded;
use crate::isa::targets::{self, GATES, Gate, PtxVersion, TENSOR_TARGETS, Target, Unavailable, Use};
use crate::rules::Checker;
use crate::source::{Span, list_words};

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

/// For each set of targets, what of this instruction is not available.
fn availability(checker: &Checker<'_>, decoded: &Decoded<'_>) -> Vec<Availability> {
    let version = checker.environment.version.map_or(PtxVersion::LATEST, |version| version.value);
    checker.environment.targets.iter().map(|targets| set_availability(decoded, targets, version)).collect()
}

fn set_availability(decoded: &Decoded<'_>, targets: &[Setting<Target>], version: PtxVersion) -> Availability {
    let mut best: Option<Availability> = None;
    for target in targets {
        let no_tensor_memory = !TENSOR_TARGETS.contains(&target.value);
        let refusals = if no_tensor_memory { Vec::new() } else { refusals(decoded, target.value, version) };
        let targets = if no_tensor_memory || !refusals.is_empty() { targets.to_vec() } else { Vec::new() };
        let candidate = Availability { targets, no_tensor_memory, refusals };
        let cost = |it: &Availability| (it.no_tensor_memory, it.refusals.len());
        if best.as_ref().is_none_or(|it| cost(&candidate) < cost(it)) {
            best = Some(candidate);
        }
    }
    best.unwrap_or(Availability { targets: Vec::new(), no_tensor_memory: false, refusals: Vec::new() })
}

fn refusals(decoded: &Decoded<'_>, target: Target, version: PtxVersion) -> Vec<Refusal> {
    GATES
        .iter()
        .filter_map(|gate| {
            // Most gates are open.
            let reason = targets::available(gate.targets, gate.since, target, version).err()?;
            let (span, feature) = uses(decoded, gate)?;
            Some(Refusal { gate, feature, span, reason })
        })
        .collect()
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
