use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::analysis::footprint::accessed;
use crate::analysis::places::{Place, Root, Slot};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds kernels that use Tensor Memory through an address from their own shared memory, or through a
    /// constant, while neither they nor a function that they call allocates it. Also kernels that allocate,
    /// but load the address from another location in shared memory than `alloc` writes, if nothing else
    /// writes that location.
    ///
    /// ## Why is this bad?
    /// Nothing has written the address there, and the columns may belong to another kernel. Tensor Memory
    /// must be allocated before it is used.
    ///
    /// ## Example
    /// ```ptx
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.1
    TensorMemoryWithoutAlloc Kernel check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        if summary.events.iter().any(|event| flow.operation(*event) == Some(Operation::Alloc)) {
            beside_slot(checker, &flow, findings);
            continue;
        }
        let found = flow.events().iter().find_map(|event| {
            let place = place_of(&flow, *event)?;
            // Where else an address comes from, nobody here knows.
            match place.root {
                Root::Slot(_) => Some((*event, Some(place.load?))),
                Root::Literal => Some((*event, None)),
                Root::Variable(_) | Root::Parameter(_) | Root::Register(_) => None,
            }
        });
        if let Some((event, load)) = found {
            let kernel = checker.unit.readable(checker.unit.module.functions[flow.function() as usize].name);
            let finding = Diagnostic::new(
                Code::TensorMemoryWithoutAlloc,
                flow.span(event),
                format!("kernel `{kernel}` uses Tensor Memory that it never allocates"),
                if load.is_some() {
                    "uses Tensor Memory"
                } else {
                    "uses Tensor Memory at a constant address"
                },
            );
            let finding = match load {
                Some(load) => finding.label(
                    checker.unit.module.instructions[load as usize].opcode,
                    "the address is loaded from shared memory here, where no `tcgen05.alloc` put it",
                ),
                None => finding,
            };
            findings.push(
                finding
                    .note("Tensor Memory must be allocated before it is used (PTX ISA, 9.7.16.1)")
                    .help("execute `tcgen05.alloc` in one warp, and load the address after a barrier"),
            );
        }
    }
}

/// What an instruction's address in Tensor Memory is computed from.
fn place_of(flow: &Flow<'_>, event: Event) -> Option<Place> {
    if !matches!(event.action, Action::Tensor { .. }) {
        return None;
    }
    let instruction = flow.instruction(event)?;
    match instruction {
        Instruction::Dealloc(dealloc) => flow.scalar_place(event, &dealloc.taddr),
        _ => accessed(instruction).and_then(|(address, _)| flow.place(event, address)),
    }
}

/// Addresses that are loaded from a location which nothing in the kernel writes, while `alloc` writes others.
fn beside_slot(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let mut judged: Vec<Slot> = Vec::new();
    for event in flow.events() {
        let Some((slot, load)) = place_of(flow, *event).and_then(|place| Some((place.slot()?, place.load?)))
        else {
            continue;
        };
        if judged.contains(&slot) {
            continue;
        }
        judged.push(slot);
        let alloc = |event: &Event| flow.alloc(*event).map(|alloc| alloc.dst.span);
        let Some(written) = flow.events().iter().find_map(alloc) else { return };
        if !flow.slots().is_never_written(flow, slot) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::TensorMemoryWithoutAlloc,
                checker.unit.module.instructions[load as usize].opcode,
                "an address of Tensor Memory is loaded from a word that nothing in the kernel writes",
                "what is here is no address that `tcgen05.alloc` returned",
            )
            .label(written, "the address is written here")
            .label(flow.span(*event), "uses what was loaded")
            .note("`tcgen05.alloc` writes the address into shared memory, at `dst` (PTX ISA, 9.7.16.7.1)")
            .help("load the word that `tcgen05.alloc` writes"),
        );
    }
}
