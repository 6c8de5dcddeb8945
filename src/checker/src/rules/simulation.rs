//! SIM: what shows in a run of a kernel. These rules look at no text: the machine finds what
//! they are about.

use crate::diagnostic::Findings;
use crate::rules::Checker;

pub(super) mod allocation_never_satisfied;
pub(super) mod arrival_overflow;
pub(super) mod barrier_reused;
pub(super) mod barrier_uninitialized;
pub(super) mod deadlock;
pub(super) mod dealloc_not_allocated;
pub(super) mod descriptor_out_of_bounds;
pub(super) mod divergent_aligned;
pub(super) mod global_memory_race;
pub(super) mod invalid_descriptor;
pub(super) mod layout_mismatch;
pub(super) mod misaligned;
pub(super) mod named_barrier_misuse;
pub(super) mod nan_or_infinity;
pub(super) mod operand_overlap;
pub(super) mod out_of_bounds;
pub(super) mod phase_overtaken;
pub(super) mod proxy_fence_missing;
pub(super) mod registers_never_granted;
pub(super) mod result_unread;
pub(super) mod shared_memory_race;
pub(super) mod shared_memory_uninitialized;
pub(super) mod tensor_memory_not_freed;
pub(super) mod tensor_memory_race;
pub(super) mod tensor_memory_unallocated;
pub(super) mod tensor_memory_uninitialized;
pub(super) mod transaction_mismatch;
pub(super) mod work_outstanding_at_exit;
pub(super) mod wrong_lanes;

/// Nothing is to be seen in the text.
fn only_in_a_run(_: &Checker<'_>, _: &mut Findings<'_>) {}
