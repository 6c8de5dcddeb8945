//! Tiles of `.kind::mxf4` and `.kind::mxf4nvf4`: exact sums of 16 products, scaled, and then summed with D.

use crate::accumulator::{Terms, f64_two_to, round, round_any, truncate};
use crate::lanes::W;
use crate::multiply::OldD;
use crate::operand::{Columns, Rows};
use crate::rule::FusedSum;

/// How many products are summed exactly.
pub(crate) const GROUP: usize = 16;

/// A product of two numbers in halves is in quarters.
const QUARTER: f64 = 0.25;

/// One sum for each element of `d`. K is a multiple of [`GROUP`].
pub(crate) fn tile(sum: FusedSum, (a, b): (&Rows, &Columns), d: &mut [u32], old: OldD, negate: bool) {
    for block in 0..b.count.div_ceil(W) {
        let columns = block * W..(block * W + W).min(b.count);
        for row in 0..a.count {
            let d = &mut d[row * b.count..][columns.clone()];
            let mut bits = [0; W];
            bits[..d.len()].copy_from_slice(d);
            part(sum, (a, row), (b, block), &mut bits, old, negate);
            d.copy_from_slice(&bits[..d.len()]);
        }
    }
}

/// The sums of a row of A with a block of columns of B.
fn part(
    sum: FusedSum,
    (a, row): (&Rows, usize),
    (b, block): (&Columns, usize),
    d: &mut [u32; W],
    old: OldD,
    negate: bool,
) {
    let sign = if negate { -QUARTER } else { QUARTER };
    let (old, mut largest) = Terms::arrays(d, old, sum.rounding);
    for j in 0..W {
        largest[j] = largest[j].max(sum.zero_exponent);
    }
    let groups = a.k / GROUP;
    // What is not finite: a scale that is NaN, or D.
    let mut special = [0.0; W];
    // The terms, without and with the exponents. There are at most `MOST` of them.
    let mut scaled = [[0.0; W]; MOST];
    for (group, scaled) in scaled.iter_mut().enumerate().take(groups) {
        let (total, any) = group_sums((a, row), (b, block), group);
        let of_a = &a.scales[row * a.blocks + group * a.blocks / groups];
        let of_b = &b.scales[block * b.blocks + group * b.blocks / groups];
        for j in 0..W {
            let scale = of_a.values[0] * sign * of_b.values[j];
            scaled[j] = f64::from(total[j]) * scale;
            special[j] += scale * 0.0;
            let exponent = if any[j] == 0 { i16::MIN } else { of_a.exponents[0] + of_b.exponents[j] };
            largest[j] = largest[j].max(exponent);
        }
    }
    let (mut unit, mut back) = ([0.0; W], [0.0; W]);
    for j in 0..W {
        let exponent = i32::from(i16::from(sum.fraction_bits) - largest[j]);
        (unit[j], back[j]) = (f64_two_to(exponent), f64_two_to(-exponent));
    }
    let mut total = [0.0; W];
    for scaled in scaled.iter().take(groups).chain([&old]) {
        for j in 0..W {
            total[j] += truncate(scaled[j] * unit[j]);
        }
    }
    for j in 0..W {
        total[j] *= back[j];
    }
    round(&total, sum.rounding, d);
    for j in 0..W {
        let special = special[j] + old[j];
        if !special.is_finite() {
            d[j] = round_any(special, sum.rounding);
        }
    }
}

/// The most groups of an instruction: K is at most 256.
const MOST: usize = 16;

/// The sums of a group, and whether it has a product that is not zero.
#[inline(always)]
fn group_sums((a, row): (&Rows, usize), (b, block): (&Columns, usize), group: usize) -> ([i16; W], [i16; W]) {
    let from = group * GROUP;
    let factors = &a.integers[row * a.k + from..][..GROUP];
    let columns = &b.integers[block * b.k..][..b.k];
    let (mut total, mut any) = ([0_i16; W], [0_i16; W]);
    let mut add = |factor: i16, columns: &[i16; W]| {
        for j in 0..W {
            let product = factor * columns[j];
            total[j] += product;
            any[j] |= product;
        }
    };
    match &a.indices {
        None => {
            for (&factor, columns) in factors.iter().zip(&columns[from..from + GROUP]) {
                add(factor, columns);
            }
        }
        Some(indices) => {
            let indices = &indices[row * a.k + from..][..GROUP];
            for (&factor, &index) in factors.iter().zip(indices) {
                add(factor, &columns[usize::from(index)]);
            }
        }
    }
    (total, any)
}
