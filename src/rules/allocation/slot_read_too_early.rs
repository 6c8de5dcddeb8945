use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::analysis::footprint::{accessed, slot};
use crate::analysis::places::Slot;
use crate::analysis::reach::Direction;
use crate::analysis::reach::Reach;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds loads of the slot in shared memory to which `alloc` writes its address, on a path from
    /// the kernel's start with neither that `alloc` nor a barrier or wait on an mbarrier before.
    ///
    /// ## Why is this bad?
    /// Another warp executes the `alloc`; without a barrier its result may not be there yet.
    ///
    /// ## Example
    /// ```ptx
    /// @p bra READ;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// READ:
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// @p bra READ;
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    /// READ:
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.7.1
    SlotReadTooEarly Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        // What each `alloc` writes, and the first that writes each slot.
        let mut written: FxHashMap<u32, Slot> = FxHashMap::default();
        let mut allocs: Vec<(Slot, Event)> = Vec::new();
        let mut is_written: FxHashSet<Slot> = FxHashSet::default();
        for event in flow.events() {
            if let Some(Instruction::Alloc(alloc)) = flow.instruction(*event)
                && let Some(slot) = slot(&flow, *event, &alloc.dst)
            {
                written.insert(event.instruction, slot);
                if is_written.insert(slot) {
                    allocs.push((slot, *event));
                }
            }
        }
        if allocs.is_empty() {
            continue;
        }
        // The loads of these slots whose value is used as an address.
        let mut loads: BTreeSet<u32> = BTreeSet::new();
        let mut slots: Vec<(u32, Slot)> = Vec::new();
        for event in flow.events() {
            let Some(instruction) = flow.instruction(*event) else { continue };
            let place = match instruction {
                Instruction::Dealloc(dealloc) => flow.scalar_place(*event, &dealloc.taddr),
                _ => accessed(instruction).and_then(|(address, _)| flow.place(*event, address)),
            };
            if let Some((slot, load)) = place.and_then(|place| Some((place.slot()?, place.load?)))
                && is_written.contains(&slot)
                && loads.insert(load)
            {
                slots.push((load, slot));
            }
        }
        for (slot, alloc) in &allocs {
            if !flow.facts.budget.take(flow.events().len() as u64) {
                break;
            }
            let mut reach = Reach::default();
            let entry = reach.fact();
            reach.start_at_entry(entry);
            for event in flow.events() {
                let stops = match event.action {
                    Action::Barrier | Action::WarpBarrier | Action::MbarrierWait | Action::Unknown => true,
                    Action::Tensor { .. } => written.get(&event.instruction) == Some(slot),
                    Action::Call(callee) => flow.all.summary(callee).is_none_or(|summary| {
                        summary.unknown
                            || summary.events.iter().any(|event| {
                                matches!(
                                    event.action,
                                    Action::Barrier | Action::WarpBarrier | Action::MbarrierWait
                                ) || matches!(flow.instruction(*event), Some(Instruction::Alloc(_)))
                            })
                    }),
                    _ => false,
                };
                if stops {
                    reach.stop(event.instruction);
                }
            }
            let asked: Vec<u32> =
                slots.iter().filter(|(_, read)| read == slot).map(|(load, _)| *load).collect();
            for load in &asked {
                reach.ask(*load);
            }
            reach.solve(flow.cfg(), Direction::Forward, &flow.facts.budget, &mut |ask, _| {
                let raw = &checker.unit.module.instructions[asked[ask.0 as usize] as usize];
                let finding = Diagnostic::new(
                    Code::SlotReadTooEarly,
                    raw.opcode,
                    "the address of the allocation can be loaded before it is written",
                    "no barrier on a path from the kernel's start to here",
                );
                findings.push(
                    finding
                        .label(flow.span(*alloc), "this writes it, perhaps in another warp")
                        .note(
                            "the store of `alloc` is a weak memory operation: other threads see it only \
                             after synchronisation (PTX ISA, 9.7.16.7.1)",
                        )
                        .help("put a barrier, such as `bar.sync 0;`, between the `alloc` and the load"),
                );
                true
            });
        }
    }
}
