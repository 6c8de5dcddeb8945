use std::cell::LazyCell;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Role;
use crate::analysis::loads::Concern;
use crate::analysis::pending::{Pending, Threads, pending_loads, pending_stores};
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds an `mbarrier.arrive` behind a `tcgen05.st` with no `wait::st` between, or behind a
    /// `tcgen05.ld` with no `wait::ld` between whose registers are read only afterwards.
    ///
    /// ## Why is this bad?
    /// A thread must wait for its operations before it signals another thread that may access the
    /// same Tensor Memory. Some shipped kernels do not, so this only informs.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// mbarrier.arrive.shared::cta.b64 _, [mbar];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};
    /// tcgen05.wait::st.sync.aligned;
    /// mbarrier.arrive.shared::cta.b64 _, [mbar];
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.4.4
    SignalBeforeWait Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        for access in [Pending::Load, Pending::Store] {
            let loads = access == Pending::Load;
            let read = LazyCell::new(|| flow.loads_that_are_read());
            let role = |event: Event| match (event.action, flow.operation(event)) {
                (_, Some(operation)) if loads && access.started_by(operation) => {
                    Role::Gen.only_if(read.contains(&event.instruction))
                }
                (Action::Unknown, _) => Role::Kill,
                (Action::MbarrierArrive, _) => Role::Query,
                (_, Some(operation)) => access.role(operation),
                _ => Role::None,
            };
            let pairs = if loads {
                pending_loads(&flow, role, |_, _| {}, |_| Concern::IfLive)
            } else {
                pending_stores(&flow, Threads::Same, role)
            };
            for pair in pairs {
                let name = flow.operation(pair.first).map_or("", Operation::name);
                let wait = if loads { "wait::ld" } else { "wait::st" };
                findings.push(
                    Diagnostic::new(
                        Code::SignalBeforeWait,
                        flow.span(pair.then),
                        format!("an mbarrier is signalled before the `tcgen05.{name}` is waited for"),
                        "signals another thread",
                    )
                    .label(flow.span(pair.first), "may still be under way")
                    .note(format!(
                        "a thread must wait for its `tcgen05.{name}` explicitly before it synchronises with \
                         another (PTX ISA, 9.7.16.6.4.4)"
                    ))
                    .help(format!("put `tcgen05.{wait}.sync.aligned;` before the `mbarrier.arrive`")),
                );
            }
        }
    }
}
