//! Running a kernel without a GPU.

pub mod arithmetic;
