//! TC4: loads, stores, copies and shifts.

pub(super) mod column_range;
pub(super) mod cp_format;
pub(super) mod cp_multicast;
pub(super) mod half_split_offset;
pub(super) mod lane_restriction;
pub(super) mod lanes_of_another_warp;
pub(super) mod lanes_of_first_warp;
pub(super) mod never_written;
pub(super) mod outside_tensor_memory;
pub(super) mod shape_num;
pub(super) mod shift_lane_alignment;
pub(super) mod spcompress_types;
