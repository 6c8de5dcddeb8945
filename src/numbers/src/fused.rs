//! Tiles of fused sums.

use std::ops::Range;

use crate::accumulator::{Terms, f64_two_to, round, truncate};
use crate::element::{self, Product};
use crate::format::two_to;
use crate::lanes::{W, largest, sums};
use crate::multiply::OldD;
use crate::operand::{Columns, Rows, Scales};
use crate::rule::FusedSum;

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
            let mut bits = [0; W];
            bits[..d.len()].copy_from_slice(d);
            let terms = match old {
                OldD::Zero => Terms::ZERO,
                OldD::Read { scale } => Terms::read(&bits, sum.rounding, scale),
            };
            // More than one block of scales: a product has an exponent of its own.
            let few_scales = a.blocks <= 1 && b.blocks <= 1;
            let part = Part { sum, a, b, row, block, range: range.clone(), negate };
            if few_scales && part.is_plain() {
                match &a.indices {
                    None => part.plain(&terms, &mut bits, |at| at),
                    Some(indices) => {
                        let indices = &indices[row * a.k..][..a.k];
                        part.plain(&terms, &mut bits, |at| usize::from(indices[at]));
                    }
                }
                if terms.special {
                    part.any(&terms, &mut bits, |lane| !terms.values[lane].is_finite());
                }
            } else {
                part.any(&terms, &mut bits, |_| true);
            }
            d.copy_from_slice(&bits[..d.len()]);
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
    negate: bool,
}

impl Part<'_> {
    /// Whether [`Part::plain`] is exact, unless the old D is not finite.
    fn is_plain(&self) -> bool {
        let scales = match (self.a.scales.get(self.row), self.b.scales.get(self.block)) {
            (Some(a), Some(b)) => a.values[0].is_finite() && b.values.iter().all(|value| value.is_finite()),
            _ => true,
        };
        scales && self.a.ranges[self.row].multiply_in_f32(self.b.ranges[self.block])
    }

    #[inline(always)]
    fn plain(&self, terms: &Terms, d: &mut [u32; W], index: impl Fn(usize) -> usize) {
        let Self { sum, a, b, row, block, .. } = *self;
        let values = &a.values[row * a.k..][self.range.clone()];
        let exponents = &a.exponents[row * a.k..][self.range.clone()];
        let b_values = &b.values[block * b.k..][..b.k];
        let b_exponents = &b.exponents[block * b.k..][..b.k];

        let products = exponents.iter().enumerate();
        let products = products.map(|(at, &exponent)| (exponent, &b_exponents[index(self.range.start + at)]));
        let largest = largest(products);
        let shift = self.shift();
        let (mut scale, mut unit, mut back) = ([0.0; W], [0.0; W], [0.0; W]);
        let sign = if self.negate { 1 << 31 } else { 0 };
        let fraction_bits = i16::from(sum.fraction_bits);
        for j in 0..W {
            let largest = (largest[j] + shift[j]).max(terms.exponents[j]).max(sum.zero_exponent);
            let exponent = fraction_bits - largest;
            // Beyond the range of f32 all products are zero, or cut to zero.
            let scaled = i32::from((exponent + shift[j]).clamp(-126, 127));
            scale[j] = f32::from_bits(two_to(scaled).to_bits() | sign);
            unit[j] = f64_two_to(i32::from(exponent));
            back[j] = f64_two_to(-i32::from(exponent));
        }
        let products = values.iter().enumerate();
        let products = products.map(|(at, &value)| (value, &b_values[index(self.range.start + at)]));
        let mut total = sums(products, &scale);
        for j in 0..W {
            total[j] = (total[j] + truncate(terms.values[j] * unit[j])) * back[j];
        }
        round(&total, sum.rounding, d);
    }

    /// The exponents of the scales of each column.
    #[inline(always)]
    fn shift(&self) -> [i16; W] {
        match (self.a.scales.get(self.row), self.b.scales.get(self.block)) {
            (Some(a), Some(b)) => b.exponents.map(|exponent| exponent + a.exponents[0]),
            _ => [0; W],
        }
    }

    /// Any operands, for the lanes that are chosen.
    #[cold]
    fn any(&self, terms: &Terms, d: &mut [u32; W], chosen: impl Fn(usize) -> bool) {
        let Self { a, b, row, block, .. } = *self;
        let indices = a.indices.as_ref().map(|indices| &indices[row * a.k..][..a.k]);
        for (lane, d) in d.iter_mut().enumerate().filter(|(lane, _)| chosen(*lane)) {
            let products = self.range.clone().map(|at| {
                let factor = row * a.k + at;
                let other = block * b.k + indices.map_or(at, |indices| usize::from(indices[at]));
                let scale_a = scale(&a.scales, row, a.blocks, at, a.k);
                let scale_b = scale(&b.scales, block, b.blocks, at, a.k);
                let value = f64::from(a.values[factor]) * f64::from(b.values[other][lane]);
                let (of_a, of_b) = (scale_a.map_or((1.0, 0), |it| (it.values[0], it.exponents[0])), scale_b);
                let of_b = of_b.map_or((1.0, 0), |it| (it.values[lane], it.exponents[lane]));
                let is_nan = of_a.0.is_nan() || of_b.0.is_nan();
                Product {
                    value: if is_nan { f64::NAN } else { value },
                    exponent: a.exponents[factor] + b.exponents[other][lane],
                    scale: of_a.1 + of_b.1,
                }
            });
            let old = (terms.values[lane], terms.exponents[lane]);
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
