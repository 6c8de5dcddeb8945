//! TC82: how many registers the threads of a warp have.

pub(super) mod setmaxnreg_ignored;
