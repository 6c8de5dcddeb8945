use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds kernels that allocate Tensor Memory and never deallocate, neither themselves nor in a
    /// function that they call.
    ///
    /// ## Why is this bad?
    /// All Tensor Memory that a kernel allocates must be deallocated before the kernel exits: the
    /// next kernel on the multiprocessor waits for columns that never come back.
    ///
    /// It is not a matter of paths: one role of warps may allocate and another deallocate.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    MissingDealloc Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(crate::analysis::flow::Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let of = |operation| summary.events.iter().find(|event| flow.operation(**event) == Some(operation));
        let (Some(alloc), None) = (of(Operation::Alloc), of(Operation::Dealloc)) else { continue };
        let kernel = checker.unit.module.functions[flow.facts.function as usize].name;
        let name = checker.unit.source.slice(kernel);
        findings.push(
            Diagnostic::new(
                Code::MissingDealloc,
                flow.span(*alloc),
                format!("kernel `{name}` allocates Tensor Memory and never deallocates it"),
                "allocated here",
            )
            .label(kernel, "neither the kernel nor what it calls has a `tcgen05.dealloc`")
            .note(
                "all Tensor Memory that a kernel allocates must be deallocated before the kernel exits \
                 (PTX ISA, 9.7.16.7.1)",
            )
            .help("let one warp execute `tcgen05.dealloc` with the same number of columns before it exits"),
        );
    }
}
