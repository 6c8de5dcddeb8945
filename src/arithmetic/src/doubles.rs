//! Singles and narrower numbers, computed as doubles.
//!
//! A double holds the product of two singles. What it does not hold is every sum; so sums are rounded
//! to odd: where bits are lost, the last bit that stays says so. Rounding such a double once more, to
//! fewer bits and in whatever way, gives what rounding the exact sum would.

use super::format::{Format, Number, Overflow, Rest, rounds_up};
use ptx_isa::generic::Rounding;

/// A sum rounded to odd.
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "without branches it becomes vector code")]
pub(super) fn add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // What the sum lacks, exactly (Knuth's sum of two). It is no number where the sum is infinite.
    let rest = sum - a;
    let lost = (a - (sum - rest)) + (b - rest);
    // The exact sum is between an even one and its neighbour.
    let bits = sum.to_bits();
    let is_between = (lost < 0.0) | (lost > 0.0);
    let is_beyond = (lost > 0.0) == (sum > 0.0);
    let step = u64::from(is_between) & !bits & 1;
    f64::from_bits(if is_beyond { bits + step } else { bits - step })
}

/// A product of singles and a single, rounded to odd.
#[inline]
pub(super) fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
    add(a * b, c)
}

impl Format {
    /// The bits of the number of this format that is next to a double.
    /// The same for a single that is rounded to nearest, unless the result is subnormal but not zero, or too large.
    #[inline]
    pub(super) fn round_single(self, bits: u64) -> Option<u64> {
        let shift = Self::F32.fraction - self.fraction;
        let lowered = ((Self::F32.bias() - self.bias()) as u64) << Self::F32.fraction;
        let sign = if bits & 0x8000_0000 == 0 { 0 } else { self.sign() };
        let magnitude = bits & 0x7FFF_FFFF;
        if magnitude == 0 {
            return Some(sign);
        }
        let magnitude = magnitude.checked_sub(lowered)?;
        // To nearest even: a half more, less a bit where the kept part is even.
        let rounded = (magnitude + (1 << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift;
        let is_normal = magnitude >> Self::F32.fraction != 0 && rounded <= self.largest();
        is_normal.then_some(sign | rounded)
    }

    pub(super) fn encode_double(self, value: f64, rounding: Rounding, overflow: Overflow) -> u64 {
        let bits = value.to_bits();
        let negative = value.is_sign_negative();
        let field = (bits >> 52 & 0x7FF) as i32;
        if field == 0x7FF {
            let number = if value.is_nan() { Number::Nan } else { Number::Infinite { negative } };
            return self.encode_number(number, rounding, overflow);
        }
        let sign = if negative { self.sign() } else { 0 };
        let hidden = u64::from(field != 0) << 52;
        let magnitude = bits & ((1 << 52) - 1) | hidden;
        let Some(top) = magnitude.checked_ilog2() else { return sign };
        let exponent = field.max(1) - 1075;
        // As for an exact number, but that 64 bits are enough.
        let smallest = 1 - self.bias() - self.fraction as i32;
        let unit = (exponent + top as i32 - self.fraction as i32).max(smallest);
        let low_bits = (unit - exponent) as u32;
        let (kept, rest) = match low_bits {
            0 => (magnitude, Rest::Nothing),
            1..64 => {
                let half = 1 << (low_bits - 1);
                let rest = magnitude & ((half << 1) - 1);
                let rest = match rest.cmp(&half) {
                    _ if rest == 0 => Rest::Nothing,
                    std::cmp::Ordering::Less => Rest::LessThanHalf,
                    std::cmp::Ordering::Equal => Rest::Half,
                    std::cmp::Ordering::Greater => Rest::MoreThanHalf,
                };
                (magnitude >> low_bits, rest)
            }
            _ => (0, Rest::LessThanHalf),
        };
        let kept = kept + u64::from(rounds_up(rounding, negative, kept, rest));
        self.assemble(negative, (unit - smallest) as u64, kept, rounding, overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All singles around where a format begins and ends, and every 997th of the others.
    #[test]
    fn singles_are_rounded_as_exact_numbers_are() {
        for format in [Format::F16, Format::BF16, Format::E4M3, Format::E5M2, Format::TF32] {
            let mut rounded = 0_u32;
            let shift = Format::F32.fraction - format.fraction;
            let lowest = ((Format::F32.bias() - format.bias()) as u64) << 23;
            let around = |bits: u64| (bits.saturating_sub(3 << shift)..bits + (3 << shift)).step_by(61);
            let largest = (format.largest() << shift) + lowest;
            for bits in (0..1 << 32).step_by(99_991).chain(around(lowest)).chain(around(largest)).chain([0]) {
                for bits in [bits, bits | 0x8000_0000] {
                    let value = Format::F32.to_f64(bits);
                    let Some(result) = format.round_single(bits) else { continue };
                    rounded += 1;
                    let exact = format.encode_double(value, Rounding::Rn, Overflow::Infinity);
                    assert_eq!(result, exact, "{bits:#x} as {format:?}");
                }
            }
            assert!(rounded > 5_000, "{format:?}: {rounded}");
        }
    }
}
