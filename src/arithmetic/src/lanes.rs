//! The lanes of a warp, one after the other.

use super::Lanes;

/// Does something for each active lane.
#[inline(always)]
#[allow(clippy::inline_always, reason = "so that what a lane computes becomes the body of the loop")]
pub(super) fn each(active: u32, mut compute: impl FnMut(usize)) {
    // Nearly always all are: without the branches in between this becomes vector code.
    if active == u32::MAX {
        for lane in 0..32 {
            compute(lane);
        }
    } else {
        let mut rest = active;
        while rest != 0 {
            compute(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// A destination from one source.
#[inline(always)]
#[allow(clippy::inline_always, reason = "as above")]
pub(super) fn map1(
    active: u32,
    sources: &[&Lanes],
    destinations: &mut [&mut Lanes],
    compute: impl Fn(u64) -> u64,
) {
    if let ([a, ..], [d, ..]) = (sources, destinations) {
        each(active, |lane| d[lane] = compute(a[lane]));
    }
}

/// A destination from two sources.
#[inline(always)]
#[allow(clippy::inline_always, reason = "as above")]
pub(super) fn map2(
    active: u32,
    sources: &[&Lanes],
    destinations: &mut [&mut Lanes],
    compute: impl Fn(u64, u64) -> u64,
) {
    if let ([a, b, ..], [d, ..]) = (sources, destinations) {
        each(active, |lane| d[lane] = compute(a[lane], b[lane]));
    }
}

/// A destination from three sources.
#[inline(always)]
#[allow(clippy::inline_always, reason = "as above")]
pub(super) fn map3(
    active: u32,
    sources: &[&Lanes],
    destinations: &mut [&mut Lanes],
    compute: impl Fn(u64, u64, u64) -> u64,
) {
    if let ([a, b, c, ..], [d, ..]) = (sources, destinations) {
        each(active, |lane| d[lane] = compute(a[lane], b[lane], c[lane]));
    }
}

/// A destination from four sources.
#[inline(always)]
#[allow(clippy::inline_always, reason = "as above")]
pub(super) fn map4(
    active: u32,
    sources: &[&Lanes],
    destinations: &mut [&mut Lanes],
    compute: impl Fn([u64; 4]) -> u64,
) {
    if let ([a, b, c, e, ..], [d, ..]) = (sources, destinations) {
        each(active, |lane| d[lane] = compute([a[lane], b[lane], c[lane], e[lane]]));
    }
}

/// The elements of a packed register, computed each for itself.
#[inline]
pub(super) fn packed(bits: u32, count: u32, mut compute: impl FnMut(u32) -> u64) -> u64 {
    (0..count).fold(0, |sum, index| sum | compute(index * bits) << (index * bits))
}
