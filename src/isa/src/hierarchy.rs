//! How many threads, warps, CTAs and clusters there can be.

/// Threads of a warp: `WARP_SZ`.
pub const THREADS_OF_WARP: u32 = 32;

/// Warps of a warpgroup.
pub const WARPS_OF_WARPGROUP: u32 = 4;

/// The most threads of a CTA in each direction (10.2).
pub const MOST_THREADS: [u32; 3] = [1024, 1024, 64];

/// The most threads of a CTA together.
pub const THREADS_OF_CTA: u32 = 1024;

/// Registers of 32 bits that an SM has.
pub const REGISTERS_OF_SM: u64 = 1 << 16;

/// The most warps of a CTA.
pub const WARPS_OF_CTA: u32 = THREADS_OF_CTA / THREADS_OF_WARP;

/// The most CTAs of a cluster, where the kernel allows more than 8.
pub const CTAS_OF_CLUSTER: u32 = 16;

/// The most CTAs of a grid in each direction (10.7).
pub const MOST_CTAS: [u32; 3] = [i32::MAX.unsigned_abs(), 65535, 65535];
