//! Tiles of fused sums.

use std::ops::Range;

use crate::accumulator::{Terms, round};
use crate::element::{self, Product};
use crate::lanes::{EXACT, Integers, Shorts, Sums, W};
use crate::multiply::OldD;
use crate::operand::{Columns, Rows, Scales};
use crate::rule::{FusedSum, SumRounding};

/// One fused sum for each element of `d`, over the products in `range` along K.
pub(crate) fn tile(
    sum: FusedSum,
    (a, b): (&Rows, &Columns),
    range: Range<usize>,
    d: &mut [u32],
    old: OldD,
    negate: bool,
) {
    for block in 0..b.count.div_ceil(W) {
        let columns = block * W..(block * W + W).min(b.count);
        for row in 0..a.count {
            let d = &mut d[row * b.count..][columns.clone()];
            let part = Part { sum, a, b, row, block, range: range.clone(), old, negate };
            if let Ok(d) = <&mut [u32; W]>::try_from(&mut *d) {
                part.compute(d);
            } else {
                let mut bits = [0; W];
                bits[..d.len()].copy_from_slice(d);
                part.compute(&mut bits);
                d.copy_from_slice(&bits[..d.len()]);
            }
        }
    }
}

/// A row of A and a block of columns of B.
struct Part<'a> {
    sum: FusedSum,
    a: &'a Rows,
    b: &'a Columns,
    row: usize,
    block: usize,
    range: Range<usize>,
    old: OldD,
    negate: bool,
}

impl Part<'_> {
    #[inline(always)]
    fn compute(&self, d: &mut [u32; W]) {
        // More than one block of scales: a product has an exponent of its own.
        let few_scales = self.a.blocks <= 1 && self.b.blocks <= 1;
        let computed = few_scales
            && !self.range.is_empty()
            && self.a.ranges[self.row].multiply_in_f32(self.b.ranges[self.block])
            && match &self.a.indices {
                None => self.plain(d, |range, at| range.start + at),
                Some(indices) => {
                    let indices = &indices[self.row * self.a.k..][self.range.clone()];
                    self.plain(d, |_, at| usize::from(indices[at]))
                }
            };
        if !computed {
            self.any(d);
        }
    }

    /// Computes what f32 is exact for, and returns whether that is so.
    #[inline(always)]
    fn plain(&self, d: &mut [u32; W], index: impl Fn(&Range<usize>, usize) -> usize) -> bool {
        let Self { sum, a, b, row, block, .. } = *self;
        let values = &a.values[row * a.k..][self.range.clone()];
        let exponents = &a.exponents[row * a.k..][self.range.clone()];
        let b_values = &b.values[block * b.k..][..b.k];
        let b_exponents = &b.exponents[block * b.k..][..b.k];
        let (old, old_exponents) = match self.old {
            OldD::Zero => Terms::zero(),
            OldD::Read { scale: 0 } => Terms::read(d, sum.rounding),
            OldD::Read { .. } => return false,
        };
        let Some(shift) = self.shift() else { return false };

        let mut largest = Shorts::splat(2 * crate::format::ZERO_EXPONENT);
        for (at, &exponent) in exponents.iter().enumerate() {
            let columns = Shorts::load(&b_exponents[index(&self.range, at)]);
            largest = largest.max(columns.plus(Shorts::splat(exponent)));
        }
        let limit = largest.plus(shift).max(old_exponents);
        if !limit.are_suited(-100) || !old.are_finite() {
            return false;
        }
        // With D in f32, the exponent of a zero is below all that are suited.
        let limit = limit.max(Shorts::splat(sum.zero_exponent.max(-102)));
        let exponent = Shorts::splat(i16::from(sum.fraction_bits)).minus(limit);
        // Beyond the range of f32, all products are zero or cut to zero.
        let scale = exponent.plus(shift).max(Shorts::splat(-126)).min(Shorts::splat(127)).powers();
        let sign = u32::from(self.negate) << 31;

        let mut sums = Sums::zero();
        let mut integers = Integers::cut(old, exponent.powers());
        let mut from = 0;
        for values in values.chunks(EXACT) {
            for (at, &value) in values.iter().enumerate() {
                let value = f32::from_bits(value.to_bits() ^ sign);
                integers.add(value, &b_values[index(&self.range, from + at)], scale);
            }
            integers.move_to(&mut sums);
            from += EXACT;
        }
        let sums = sums.multiplied(Shorts::splat(0).minus(exponent));
        match sum.rounding {
            SumRounding::F32TowardsZero => sums.cut(d),
            SumRounding::F32With13Bits | SumRounding::F16NearestEven => {
                round(&sums.to_array(), sum.rounding, d);
            }
        }
        true
    }

    /// The exponents of the scales of each column, if all are numbers.
    #[inline(always)]
    fn shift(&self) -> Option<Shorts> {
        match (self.a.scales.get(self.row), self.b.scales.get(self.block)) {
            (Some(a), Some(b)) => {
                let finite = a.values[0].is_finite() && b.finite;
                finite.then(|| Shorts::load(&b.exponents).plus(Shorts::splat(a.exponents[0])))
            }
            _ => Some(Shorts::splat(0)),
        }
    }

    /// Any operands.
    #[cold]
    fn any(&self, d: &mut [u32; W]) {
        let Self { a, b, row, block, .. } = *self;
        let indices = a.indices.as_ref().map(|indices| &indices[row * a.k..][..a.k]);
        for (lane, d) in d.iter_mut().enumerate() {
            let products = self.range.clone().map(|at| {
                let factor = row * a.k + at;
                let other = block * b.k + indices.map_or(at, |indices| usize::from(indices[at]));
                let scale_a = scale(&a.scales, row, a.blocks, at, a.k);
                let scale_b = scale(&b.scales, block, b.blocks, at, a.k);
                let (scale_a, exponent_a) = scale_a.map_or((1.0, 0), |it| (it.values[0], it.exponents[0]));
                let (scale_b, exponent_b) =
                    scale_b.map_or((1.0, 0), |it| (it.values[lane], it.exponents[lane]));
                let is_nan = scale_a.is_nan() || scale_b.is_nan();
                let value = f64::from(a.values[factor]) * f64::from(b.values[other][lane]);
                Product {
                    value: if is_nan { f64::NAN } else { value },
                    exponent: a.exponents[factor] + b.exponents[other][lane],
                    scale: exponent_a + exponent_b,
                }
            });
            let old = Terms::one(*d, self.old, self.sum.rounding);
            *d = element::fused(self.sum, products, old, self.negate);
        }
    }
}

/// The scale of the product at an index, of rows or blocks that have `blocks` scales each.
fn scale<const N: usize>(
    scales: &[Scales<N>],
    of: usize,
    blocks: usize,
    at: usize,
    k: usize,
) -> Option<&Scales<N>> {
    scales.get(of * blocks + at * blocks / k.max(1)).filter(|_| blocks > 0)
}
