use crate::analysis::allocated::is_stored_to;
use crate::analysis::events::Event;
use crate::analysis::flow::Flow;
use crate::analysis::footprint;
use crate::analysis::places::{Slot, SlotRoot};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds kernels that allocate Tensor Memory and never deallocate, neither themselves nor in a
    /// function that they call; and of several allocations one whose address no `dealloc` is given.
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
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        let of = |operation| summary.events.iter().find(|event| flow.operation(**event) == Some(operation));
        let (Some(alloc), None) = (of(Operation::Alloc), of(Operation::Dealloc)) else {
            one_of_several(&flow, findings);
            continue;
        };
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

/// Allocations whose slot no `dealloc` reads, where it is known of each which slot that is.
fn one_of_several(flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let Some(summary) = flow.summary() else { return };
    let mut allocated: Vec<(Event, Slot)> = Vec::new();
    let mut freed: Vec<Slot> = Vec::new();
    for event in &summary.events {
        let slot = match flow.instruction(*event) {
            Some(Instruction::Alloc(alloc)) => {
                flow.is_own(*event).then(|| footprint::slot(flow, *event, &alloc.dst)).flatten()
            }
            Some(Instruction::Dealloc(dealloc)) => {
                flow.scalar_place(*event, &dealloc.taddr).and_then(|place| place.slot())
            }
            _ => continue,
        };
        let Some(slot) =
            slot.filter(|slot| !matches!(slot.root, SlotRoot::Register(_) | SlotRoot::Parameter(_)))
        else {
            return;
        };
        match flow.operation(*event) {
            Some(Operation::Alloc) => allocated.push((*event, slot)),
            _ => freed.push(slot),
        }
    }
    if allocated.iter().all(|(_, slot)| freed.contains(slot)) {
        return;
    }
    // What comes from elsewhere may be any of them.
    let is_allocated = |slot: &Slot| allocated.iter().any(|(_, other)| other == slot);
    if !freed.iter().all(is_allocated) || freed.iter().any(|slot| is_stored_to(flow, *slot)) {
        return;
    }
    for (event, slot) in &allocated {
        if freed.contains(slot) {
            continue;
        }
        let Some(other) = freed.first().and_then(|slot| allocated.iter().find(|(_, it)| it == slot)) else {
            continue;
        };
        findings.push(
            Diagnostic::new(
                Code::MissingDealloc,
                flow.span(*event),
                "Tensor Memory is allocated and never deallocated",
                "no `tcgen05.dealloc` is given the address that this writes",
            )
            .label(flow.span(other.0), "what is deallocated is allocated here")
            .note(
                "all Tensor Memory that a kernel allocates must be deallocated before the kernel exits \
                 (PTX ISA, 9.7.16.7.1)",
            )
            .help("deallocate each allocation"),
        );
    }
}
