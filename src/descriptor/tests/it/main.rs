//! Descriptors from outside: as values, as tables, and against what others say of them.

mod descriptors;
mod mma_shapes;
mod properties;
