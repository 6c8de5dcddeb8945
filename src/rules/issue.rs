//! TC8: who issues an instruction (9.7.16.5).

pub(super) mod aligned_in_one_thread;
pub(super) mod issued_by_every_thread;
