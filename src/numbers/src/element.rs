//! One element at a time, for operands that are not finite, or whose products f32 does not hold.

use crate::accumulator::{f64_two_to, round_any};
use crate::format::ZERO_EXPONENT;
use crate::rule::FusedSum;

/// A product of a fused sum.
pub(crate) struct Product {
    /// Exact, without its scale; infinite or NaN if a factor or its scale is.
    pub(crate) value: f64,
    /// The sum of the factors' exponents.
    pub(crate) exponent: i16,
    /// The sum of its scales' exponents.
    pub(crate) scale: i16,
}

/// D, as bits. The old D is a value and an exponent.
pub(crate) fn fused(
    sum: FusedSum,
    products: impl Iterator<Item = Product> + Clone,
    old: (f64, i16),
    negate: bool,
) -> u32 {
    let sign = if negate { -1.0 } else { 1.0 };
    let special = |total: f64, value: f64| if value.is_finite() { total } else { total + value };
    let total = products.clone().fold(special(0.0, old.0), |total, it| special(total, it.value * sign));
    if !total.is_finite() {
        return round_any(total, sum.rounding);
    }
    let exponent = |it: &Product| if it.value == 0.0 { ZERO_EXPONENT } else { it.exponent + it.scale };
    let floor = old.1.max(sum.zero_exponent);
    let largest = i32::from(products.clone().fold(floor, |largest, it| largest.max(exponent(&it))));
    let unit = i32::from(sum.fraction_bits) - largest;
    // Each is below 2^27, and has few enough bits for the multiplication to be exact.
    let cut = |value: f64, scale: i16| (value * f64_two_to(unit + i32::from(scale))) as i64;
    let total = products.fold(cut(old.0, 0), |total, it| total + cut(it.value * sign, it.scale));
    round_any(total as f64 * f64_two_to(-unit), sum.rounding)
}
