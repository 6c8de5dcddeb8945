use crate::analysis::pending::overwritten_loads;
use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds Tensor Memory that is overwritten or freed while a `tcgen05.ld` may still read it: there is no
    /// `wait::ld`, no instruction has used a loaded register yet, and one will use it later.
    ///
    /// ## Why is this bad?
    /// A load is asynchronous and not pipelined with `mma`, `cp`, `shift` and `dealloc`: it may read what
    /// they write. A `st` after it is pipelined and needs no wait. An instruction that reads a loaded
    /// register also orders the load.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// st.global.b32 [adesc], r0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// st.global.b32 [adesc], r0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.6.2 and 9.7.16.6.4.5
    TmemReusedBeforeWaitLd Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        for pair in overwritten_loads(&flow) {
            let name = flow.operation(pair.then).map_or("", Operation::name);
            let (what, label) = match flow.operation(pair.then) {
                Some(Operation::Dealloc) => ("deallocated", "deallocates it"),
                _ => ("overwritten", "writes the same columns"),
            };
            findings.push(
                Diagnostic::new(
                    Code::TmemReusedBeforeWaitLd,
                    flow.span(pair.then),
                    format!("Tensor Memory is {what} while `tcgen05.ld` may still read it"),
                    label,
                )
                .label(flow.span(pair.first), "this load may not have read it yet")
                .note(format!(
                    "`tcgen05.ld` and `tcgen05.{name}` are not pipelined; `wait::ld` orders them \
                     (PTX ISA, 9.7.16.6.2 and 9.7.16.6.4.5)"
                ))
                .help(format!("put `tcgen05.wait::ld.sync.aligned;` before the `tcgen05.{name}`")),
            );
        }
    }
}
