//! TC8: who issues an instruction (9.7.16.5).

pub(super) mod aligned_in_one_thread;
pub(super) mod allocated_by_every_warp;
pub(super) mod issued_by_every_thread;
pub(super) mod operand_differs_in_warp;
