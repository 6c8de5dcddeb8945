use crate::analysis::events::{Action, Event};
use crate::analysis::flow::{Flow, Role};
use crate::analysis::reach::Direction;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::{Qualifier, Slot};
use crate::rules::{Checker, Code, rule};
use crate::source::Spanned;

rule! {
    /// ## What it does
    /// Finds multiplies that `use` or `lastuse` a collector buffer which nothing has filled on any
    /// path before.
    ///
    /// ## Why is this bad?
    /// The buffer holds no matrix; what it holds is undefined.
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

/// A collector buffer of an instruction, and what is done with it: `collector::a` and `use`.
fn collectors(
    flow: &Flow<'_>,
    event: Event,
) -> impl Iterator<Item = (&'static str, &'static str, Spanned<Qualifier>)> {
    flow.decoded(event).into_iter().flat_map(|decoded| decoded.qualifiers.iter()).filter_map(|qualifier| {
        if !matches!(qualifier.value.slot(), Slot::CollectorA | Slot::CollectorB | Slot::CollectorWs) {
            return None;
        }
        let spelling: &'static str = qualifier.value.spelling();
        let (buffer, action) = spelling.strip_prefix("collector::")?.split_once("::")?;
        Some((buffer, action, qualifier))
    })
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let mut buffers: Vec<&str> = flow
            .events()
            .iter()
            .flat_map(|event| collectors(&flow, *event))
            .filter(|(_, action, _)| matches!(*action, "use" | "lastuse"))
            .map(|(buffer, ..)| buffer)
            .collect();
        buffers.sort_unstable();
        buffers.dedup();
        for buffer in buffers {
            let does = |event: Event, actions: &[&str]| {
                collectors(&flow, event).any(|(of, action, _)| of == buffer && actions.contains(&action))
            };
            let role = |event: Event| match event.action {
                Action::Unknown => Role::Gen,
                _ if does(event, &["fill"]) => Role::Gen,
                _ if does(event, &["use", "lastuse"]) => Role::Query.only_if(flow.is_own(event)),
                _ => Role::None,
            };
            for event in flow.unreached(Direction::Forward, role) {
                let used = collectors(&flow, event).find(|(of, ..)| *of == buffer);
                let Some((_, action, qualifier)) = used else { continue };
                findings.push(
                    Diagnostic::new(
                        Code::CollectorUseWithoutFill,
                        qualifier.span,
                        format!("collector buffer {buffer} is used, but nothing has filled it"),
                        format!("no `.collector::{buffer}::fill` on any path to here"),
                    )
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
