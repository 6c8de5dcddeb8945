//! TC82: how many registers the threads of a warp have.

pub(super) mod register_budget_exceeded;
pub(super) mod setmaxnreg_ignored;
pub(super) mod setmaxnreg_part_of_warpgroup;
pub(super) mod too_few_registers;
