//! Sums of which each addition rounds to nearest even in f32. Products of f16 are exact there.

use crate::accumulator::{Terms, nearest};
use crate::lanes::W;
use crate::multiply::OldD;
use crate::operand::{Columns, Rows};
use crate::rule::SumRounding;

/// How many products are added by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All, one after the other from zero on; then the old D.
    All,
    /// Two, to the old D.
    Pairs,
}

/// One sum for each element of `d`.
pub(crate) fn tile(order: Order, (a, b): (&Rows, &Columns), d: &mut [u32], old: OldD, negate: bool) {
    let sign = if negate { -1.0 } else { 1.0 };
    for (at, d) in d.iter_mut().enumerate() {
        let (row, column) = (at / b.count, at % b.count);
        let product = |at: usize| {
            let factor = row * a.k + at;
            let other = a.indices.as_ref().map_or(at, |indices| usize::from(indices[factor]));
            a.values[factor] * b.values[column / W * b.k + other][column % W] * sign
        };
        let (rounding, sum) = match order {
            Order::All => {
                let rounding = SumRounding::F32TowardsZero;
                let products = (0..a.k).fold(0.0_f32, |sum, at| sum + product(at));
                (rounding, f64::from(products) + Terms::one(*d, old, rounding).0)
            }
            Order::Pairs => {
                let rounding = SumRounding::F16NearestEven;
                let pair = |at: usize| product(at) + if at + 1 < a.k { product(at + 1) } else { 0.0 };
                let old = Terms::one(*d, old, rounding).0 as f32;
                (rounding, f64::from((0..a.k).step_by(2).fold(old, |sum, at| sum + pair(at))))
            }
        };
        *d = nearest(sum, rounding);
    }
}
