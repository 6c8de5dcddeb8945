//! TC8: who issues an instruction (9.7.16.5).

use crate::analysis::cfg::BlockId;
use crate::analysis::events::Event;
use crate::analysis::flow::Flow;
use crate::analysis::uniformity::Uniformity;

pub(super) mod aligned_in_one_thread;
pub(super) mod issued_by_every_thread;

/// Who executes some events of a function.
fn uniformity(flow: &Flow<'_>, events: &[Event]) -> Uniformity {
    let blocks: Vec<BlockId> =
        events.iter().filter_map(|event| flow.cfg().block_of(event.instruction)).collect();
    let guarded: Vec<u32> = events
        .iter()
        .map(|event| event.instruction)
        .filter(|index| flow.context.module.instructions[*index as usize].guard.is_some())
        .collect();
    Uniformity::new(&flow.facts.view(flow.context), &blocks, &guarded)
}
