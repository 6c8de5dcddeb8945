use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role};
use crate::analysis::reach::Direction;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::decode::Decoded;
use crate::instruction::form::Problem;
use crate::isa::vocabulary::{CollectorAction, CollectorBuffer, Operation, Qualifier, Slot};
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;

rule! {
    /// ## What it does
    /// Finds multiplies that `use` or `lastuse` a collector buffer which nothing has filled on any earlier
    /// path, or whose content has been discarded since: by `lastuse`, by `discard`, or by a multiply that
    /// does not mention the buffer, which discards it.
    ///
    /// ## Why is this bad?
    /// The buffer contains no matrix; its content is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16.collector::a::use [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [taddr], adesc, bdesc, 0x08200490, p;
    /// tcgen05.mma.cta_group::1.kind::f16.collector::a::use [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10.9
    CollectorUseWithoutFill Function check
}

/// A collector buffer of an instruction, and what is done with it.
fn collectors(
    flow: &Flow<'_>,
    event: Event,
) -> impl Iterator<Item = (CollectorBuffer, CollectorAction, Spanned<Qualifier>)> {
    let multiplies = matches!(flow.operation(event), Some(Operation::Mma | Operation::MmaWs));
    let decoded = flow.decoded(event).filter(|_| multiplies);
    decoded.into_iter().flat_map(|decoded| decoded.qualifiers.iter()).filter_map(|qualifier| {
        let (buffer, action) = qualifier.value.collector()?;
        Some((buffer, action, qualifier))
    })
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let mut buffers: Vec<CollectorBuffer> = flow
            .events()
            .iter()
            .flat_map(|event| collectors(&flow, *event))
            .filter(|(_, action, _)| matches!(action, CollectorAction::Use | CollectorAction::LastUse))
            .map(|(buffer, ..)| buffer)
            .collect();
        buffers.sort_unstable();
        buffers.dedup();
        for buffer in buffers {
            let does = |event: Event, actions: &[CollectorAction]| {
                collectors(&flow, event).any(|(of, action, _)| of == buffer && actions.contains(&action))
            };
            // One that is written wrong is meant to fill some buffer.
            let is_unclear = |event: Event| {
                flow.decoded(event).is_some_and(|decoded| has_wrong_collector(checker, decoded))
            };
            let role = |event: Event| match event.action {
                Action::Unknown => Role::Gen,
                _ if is_unclear(event) => Role::Gen,
                _ if does(event, &[CollectorAction::Fill]) => Role::Gen,
                // In which order a function does what it does is not asked.
                _ if !flow.is_own(event) => Role::None,
                _ if does(event, &[CollectorAction::LastUse]) => Role::QueryAndKill,
                _ if does(event, &[CollectorAction::Use]) => Role::Query,
                _ if does(event, &[CollectorAction::Discard]) || discards(&flow, event, buffer) => Role::Kill,
                _ => Role::None,
            };
            let is_filled = |event: Event| match event.action {
                Action::Unknown => Role::Gen,
                _ if is_unclear(event) => Role::Gen,
                _ if does(event, &[CollectorAction::Fill]) => Role::Gen,
                _ if does(event, &[CollectorAction::Use, CollectorAction::LastUse]) => {
                    Role::Query.only_if(flow.is_own(event))
                }
                _ => Role::None,
            };
            let unused = flow.unreached(Direction::Forward, role);
            let never_filled =
                if unused.is_empty() { Vec::new() } else { flow.unreached(Direction::Forward, is_filled) };
            for event in unused {
                let used = collectors(&flow, event).find(|(of, ..)| *of == buffer);
                let Some((_, action, qualifier)) = used else { continue };
                let (message, label) = if never_filled.contains(&event) {
                    (
                        format!("collector buffer {buffer} is used, but nothing has filled it"),
                        format!("no `.collector::{buffer}::fill` on any path to here"),
                    )
                } else {
                    (
                        format!("collector buffer {buffer} is used, but its content was given up"),
                        "on every path to here, `lastuse`, `discard` or a multiply that names no use \
                         stands behind the `fill`"
                            .to_owned(),
                    )
                };
                findings.push(
                    Diagnostic::new(Code::CollectorUseWithoutFill, qualifier.span, message, label)
                        .note(format!(
                            "`{action}` may read the matrix that an earlier `fill` left in the buffer \
                         (PTX ISA, 9.7.16.10.9)"
                        ))
                        .help(format!(
                            "write `.collector::{buffer}::fill` on the first multiply with this matrix"
                        )),
                );
            }
        }
    }
}

/// Whether an instruction names a buffer that it cannot have.
fn has_wrong_collector(checker: &Checker<'_>, decoded: &Decoded<'_>) -> bool {
    decoded.problems.iter().any(|problem| match problem {
        Problem::UnknownQualifier { span, .. } => checker.unit.source.slice(*span).starts_with(".collector"),
        Problem::NotAllowed { qualifier, .. } => qualifier.value.collector().is_some(),
        _ => false,
    })
}

/// Whether a multiply discards a buffer because it names no use of one: that of A, or the first of B if
/// it is weight-stationary.
fn discards(flow: &Flow<'_>, event: Event, buffer: CollectorBuffer) -> bool {
    let (of_a, of_b) = match flow.operation(event) {
        Some(Operation::Mma) => (Some(Slot::CollectorA), None),
        Some(Operation::MmaWs) => (None, Some(Slot::CollectorWs)),
        _ => (None, None),
    };
    let slot = match buffer {
        CollectorBuffer::A => of_a,
        CollectorBuffer::B0 => of_b,
        CollectorBuffer::B | CollectorBuffer::B1 | CollectorBuffer::B2 | CollectorBuffer::B3 => None,
    };
    slot.is_some_and(|slot| flow.decoded(event).is_some_and(|it| it.qualifiers.in_slot(slot).is_none()))
}
