//! Running a kernel without a GPU.

pub mod addresses;
pub mod arithmetic;
