//! TC5: combinations of qualifiers and operands of the multiplies.

pub(super) mod ashift;
pub(super) mod block_scale;
pub(super) mod collector_buffer;
pub(super) mod collector_use_without_fill;
pub(super) mod decompress;
pub(super) mod scale_input_d;
pub(super) mod scale_vector_size;
pub(super) mod weight_stationary;
