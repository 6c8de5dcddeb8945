//! What a module's targets and version have, asked before anything is written.

use crate::isa::targets::{self, GATES, Gate, PtxVersion, TENSOR_TARGETS, Use};
use crate::isa::vocabulary::{Operation, Qualifier};
use crate::resolve::environment::Environment;

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
pub(super) fn open(environment: &Environment, operation: Operation, qualifiers: &[Qualifier]) -> bool {
    let version = environment.version.map_or(PtxVersion::LATEST, |version| version.value);
    environment.targets.iter().all(|set| {
        set.iter().any(|target| {
            TENSOR_TARGETS.contains(&target.value)
                && gates(operation, qualifiers)
                    .all(|gate| targets::available(gate.targets, gate.since, target.value, version).is_ok())
        })
    })
}

/// The gates that concern an operation whatever its qualifiers are.
pub(super) fn of_operation(operation: Operation) -> impl Iterator<Item = &'static Gate> {
    gates(operation, &[])
}

/// The gates that a qualifier has a part in.
pub(super) fn of_qualifier(qualifier: Qualifier) -> impl Iterator<Item = &'static Gate> {
    GATES.iter().filter(move |gate| {
        gate.uses.iter().any(|part| matches!(part, Use::Qualifier(any) if any.contains(&qualifier)))
    })
}

/// A gate in a line of Markdown; without one, tcgen05's own.
pub(super) fn describe(gate: Option<&Gate>) -> String {
    let (feature, since, targets) = match gate {
        Some(gate) => (gate.feature, gate.since, gate.targets),
        None => ("tcgen05", PtxVersion::new(8, 6), TENSOR_TARGETS),
    };
    let targets: Vec<String> = targets.iter().map(|target| format!("`{target}`")).collect();
    format!("{feature}: PTX ISA {since} or later on {}", targets.join(", "))
}
