//! TC3: allocation of Tensor Memory.

use rustc_hash::FxHashMap;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::rules::Checker;

pub(super) mod alloc_after_relinquish;
pub(super) mod cta_group_2_without_cluster;
pub(super) mod dealloc_address;
pub(super) mod dealloc_races_access;
pub(super) mod dealloc_size_mismatch;
pub(super) mod literal_tmem_address;
pub(super) mod missing_dealloc;
pub(super) mod mixed_cta_group;
pub(super) mod ncols_increases;
pub(super) mod ncols_invalid;
pub(super) mod over_allocation;
pub(super) mod slot_read_too_early;
pub(super) mod tensor_memory_without_alloc;
pub(super) mod use_after_dealloc;

/// The columns that an event allocates, if it does and they are known.
pub(super) fn allocated(checker: &Checker<'_>, flow: &Flow<'_>, event: Event) -> Option<u32> {
    flow.alloc(event)?;
    checker.columns(flow.decoded(event)?)
}

/// The instructions of a function that allocate, themselves or in what they call, with the fewest
/// columns that they do.
pub(super) fn allocating(checker: &Checker<'_>, flow: &Flow<'_>) -> Vec<(u32, u32)> {
    let mut callees: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    let mut found = Vec::new();
    for event in flow.events() {
        let fewest = match event.action {
            Action::Call(callee) => *callees.entry(callee).or_insert_with(|| {
                let events = flow.all.summary(callee).into_iter().flat_map(|summary| &summary.events);
                events.filter_map(|event| allocated(checker, flow, *event)).min()
            }),
            _ => allocated(checker, flow, *event),
        };
        found.extend(fewest.map(|columns| (event.instruction, columns)));
    }
    found
}
