//! TC8: which threads issue an instruction (9.7.16.5).

pub(super) mod aligned_in_one_thread;
pub(super) mod aligned_in_part_of_warp;
pub(super) mod allocated_by_every_warp;
pub(super) mod issued_by_every_thread;
pub(super) mod issued_by_several_threads;
pub(super) mod operand_differs_in_warp;
pub(super) mod pair_in_one_cta;
pub(super) mod pair_multiplied_twice;
pub(super) mod pair_not_synchronised;
