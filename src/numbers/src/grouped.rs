//! Tiles of `.kind::mxf4` and `.kind::mxf4nvf4`: exact sums of 16 products, scaled, and then summed with D.

use crate::accumulator::{Terms, round, round_any};
use crate::lanes::{Shorts, Sums, W};
use crate::multiply::OldD;
use crate::operand::{Columns, Rows};
use crate::rule::{FusedSum, SumRounding};

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

/// The most groups of an instruction: K is at most 256.
const MOST: usize = 16;

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
    let (old, exponents) = Terms::wide(d, old, sum.rounding);
    let mut largest = exponents.max(Shorts::splat(sum.zero_exponent));
    let groups = (a.k / GROUP).min(MOST);
    let scales = |group: usize| {
        let of_a = &a.scales[row * a.blocks + group * a.blocks / groups];
        (of_a, &b.scales[block * b.blocks + group * b.blocks / groups])
    };
    let mut terms = [Sums::zero(); MOST];
    let mut finite = true;
    for (group, term) in terms[..groups].iter_mut().enumerate() {
        let (total, any) = group_sums((a, row), (b, block), group);
        let (of_a, of_b) = scales(group);
        *term = Sums::scaled(total, of_a.values[0] * sign, &of_b.values);
        let exponents = Shorts::load(&of_b.exponents).plus(Shorts::splat(of_a.exponents[0]));
        largest = largest.max(exponents.unless_zero(any));
        finite &= of_a.finite && of_b.finite;
    }
    let exponent = Shorts::splat(i16::from(sum.fraction_bits)).minus(largest);
    let mut total = Sums::zero();
    for term in terms[..groups].iter().chain([&old]) {
        total.add_cut(term.multiplied(exponent));
    }
    let total = total.multiplied(Shorts::splat(0).minus(exponent));
    // What is not finite: a scale that is NaN, or D.
    let old = old.to_array();
    finite &= old.iter().all(|value| value.is_finite());
    // So that the last of 35 bits is no subnormal number of f32.
    if finite && largest.are_suited(-90) && sum.rounding == SumRounding::F32TowardsZero {
        total.cut(d);
        return;
    }
    round(&total.to_array(), sum.rounding, d);
    for j in 0..W {
        let special = (0..groups).fold(old[j], |special, group| {
            let (of_a, of_b) = scales(group);
            special + of_a.values[0] * of_b.values[j] * 0.0
        });
        if !special.is_finite() {
            d[j] = round_any(special, sum.rounding);
        }
    }
}

/// The sums of a group, and what is zero if all its products are.
#[inline(always)]
fn group_sums((a, row): (&Rows, usize), (b, block): (&Columns, usize), group: usize) -> (Shorts, Shorts) {
    let from = group * GROUP;
    let factors = &a.integers[row * a.k + from..][..GROUP];
    let columns = &b.integers[block * b.k..][..b.k];
    let (mut total, mut any) = (Shorts::splat(0), Shorts::splat(0));
    let mut add = |factor: i16, columns: &[i16; W]| {
        let products = Shorts::load(columns).times(Shorts::splat(factor));
        total = total.plus(products);
        any = any.or(products);
    };
    match &a.indices {
        None => {
            let columns = &columns[from..][..GROUP];
            for at in 0..GROUP {
                add(factors[at], &columns[at]);
            }
        }
        Some(indices) => {
            let indices = &indices[row * a.k + from..][..GROUP];
            for at in 0..GROUP {
                add(factors[at], &columns[usize::from(indices[at])]);
            }
        }
    }
    (total, any)
}
