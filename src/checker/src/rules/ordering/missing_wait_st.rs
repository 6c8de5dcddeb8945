use crate::analysis::flow::first_of_each_cause;
use crate::analysis::pending::unordered_stores;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `mma`, `cp`, `shift`, `commit` or `dealloc` that follows a `tcgen05.st` in the same thread
    /// without a `wait::st` in between.
    ///
    /// ## Why is this bad?
    /// A store is asynchronous and not pipelined with these instructions: a multiply may read the old
    /// contents. A `ld` or `st` after it is pipelined and needs no wait. When a `ld` of the same columns is
    /// complete, the store is complete too.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr2], {r0};
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], [taddr2], bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr2], {r0};
    /// tcgen05.wait::st.sync.aligned;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], [taddr2], bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.6.2
    MissingWaitSt Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        for pair in first_of_each_cause(unordered_stores(&flow)) {
            let name = flow.operation(pair.then).map_or("", Operation::name);
            findings.push(
                Diagnostic::new(
                    Code::MissingWaitSt,
                    flow.span(pair.then),
                    format!("`tcgen05.{name}` follows `tcgen05.st` with no `tcgen05.wait::st` between"),
                    "the store may not be complete here",
                )
                .label(flow.span(pair.first), "stored here")
                .note(format!(
                    "`tcgen05.st` and `tcgen05.{name}` are not pipelined; `wait::st` orders them \
                     (PTX ISA, 9.7.16.6.2)"
                ))
                .help(format!(
                    "put `tcgen05.wait::st.sync.aligned;` behind the last `tcgen05.st`, before the `tcgen05.{name}`"
                )),
            );
        }
    }
}
