//! ptx-tc
pub mod source;
pub mod syntax;
