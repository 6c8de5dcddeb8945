//! TC3: allocation of Tensor Memory.

pub(super) mod mixed_cta_group;
pub(super) mod ncols_invalid;
