//! The old D as a term of a sum, and the sum as the new D.

use crate::format::{Format, ZERO_EXPONENT};
use crate::lanes::W;
use crate::rule::SumRounding;

/// NaN as the tensor core writes it.
pub(crate) const F32_NAN: u32 = 0x7FFF_FFFF;
const F16_NAN: u32 = 0x7FFF;

/// The old D of `W` elements.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) values: [f64; W],
    /// [`ZERO_EXPONENT`] for a zero.
    pub(crate) exponents: [i16; W],
    /// Whether one of them is NaN or infinite.
    pub(crate) special: bool,
}

impl Terms {
    pub(crate) const ZERO: Self = Self { values: [0.0; W], exponents: [ZERO_EXPONENT; W], special: false };

    /// `bits` multiplied by 2^-`scale`.
    #[inline(always)]
    pub(crate) fn read(bits: &[u32; W], rounding: SumRounding, scale: u8) -> Self {
        let mut terms = Self::ZERO;
        let factor = f64_two_to(-i32::from(scale));
        match rounding {
            SumRounding::F32TowardsZero | SumRounding::F32With13Bits => {
                let mut special = 0;
                for (j, &bits) in bits.iter().enumerate() {
                    let field = bits >> 23 & 0xFF;
                    let exponent = field.max(1) as i16 - 127 - i16::from(scale);
                    terms.exponents[j] = if bits << 1 == 0 { ZERO_EXPONENT } else { exponent };
                    terms.values[j] = f64::from(f32::from_bits(bits)) * factor;
                    special |= u32::from(field == 0xFF);
                }
                terms.special = special != 0;
            }
            SumRounding::F16NearestEven => {
                for (j, &bits) in bits.iter().enumerate() {
                    let term = Format::F16.unpack(bits);
                    // A zero keeps an exponent that is below all others.
                    terms.exponents[j] = term.exponent - i16::from(scale);
                    terms.values[j] = f64::from(term.value) * factor;
                    terms.special |= !term.value.is_finite();
                }
            }
        }
        terms
    }
}

/// The new D of sums that are finite.
#[inline(always)]
pub(crate) fn round(sums: &[f64; W], rounding: SumRounding, d: &mut [u32; W]) {
    match rounding {
        SumRounding::F32TowardsZero => {
            for (d, &sum) in d.iter_mut().zip(sums) {
                *d = cut(sum);
            }
        }
        SumRounding::F32With13Bits => {
            for (d, &sum) in d.iter_mut().zip(sums) {
                *d = cut_to_13(sum);
            }
        }
        SumRounding::F16NearestEven => {
            for (d, &sum) in d.iter_mut().zip(sums) {
                *d = nearest_f16(sum);
            }
        }
    }
}

/// The new D of one sum, which may be NaN or infinite.
pub(crate) fn round_any(sum: f64, rounding: SumRounding) -> u32 {
    match rounding {
        SumRounding::F32TowardsZero | SumRounding::F32With13Bits if sum.is_nan() => F32_NAN,
        SumRounding::F16NearestEven if sum.is_nan() => F16_NAN,
        SumRounding::F32TowardsZero => cut(sum),
        SumRounding::F32With13Bits => cut_to_13(sum),
        SumRounding::F16NearestEven => nearest_f16(sum),
    }
}

/// Bits of f32, cut towards zero. 2^128 and beyond are infinity; a zero is positive.
#[inline(always)]
fn cut(sum: f64) -> u32 {
    // Without the bits that a normal number of f32 lacks, so that only a subnormal result is rounded.
    let kept = f64::from_bits(sum.to_bits() & (u64::MAX << 29));
    let rounded = kept as f32;
    let away = f64::from(rounded).abs() > kept.abs() && rounded.is_finite();
    let bits = rounded.to_bits() - u32::from(away);
    if bits == 1 << 31 { 0 } else { bits }
}

/// The same with 13 bits of fraction. Those of a subnormal result are the upper 13, too.
fn cut_to_13(sum: f64) -> u32 {
    let bits = cut(sum) & !0x3FF;
    if bits == 1 << 31 { 0 } else { bits }
}

/// Bits of f16, rounded to nearest even. 65520 and beyond are infinity; a zero is positive.
#[inline(always)]
fn nearest_f16(sum: f64) -> u32 {
    let magnitude = f64::from_bits(sum.to_bits() & !(1 << 63));
    let sign = (sum.to_bits() >> 63 << 15) as u32;
    // The exponent of the result, -14 for a subnormal one. An addition of 2^52 times the last bit rounds to it.
    let field = (magnitude.to_bits() >> 52).clamp(1023 - 14, 1023 + 17);
    let unit = f64::from_bits((field + 42) << 52);
    let rounded = (magnitude + unit) - unit;
    let bits = if rounded >= 65536.0 {
        0x7C00
    } else if rounded < f64_two_to(-14) {
        (rounded * f64_two_to(24)) as u32
    } else {
        // A normal number: the exponent's bias is another one.
        ((rounded.to_bits() >> 42) - ((1023 - 15) << 10)) as u32
    };
    if bits == 0 { 0 } else { sign | bits }
}

/// 2^`exponent`, of a normal number.
#[inline(always)]
pub(crate) const fn f64_two_to(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A number without its fraction, if it is below 2^52.
#[inline(always)]
pub(crate) fn truncate(number: f64) -> f64 {
    const TOP: f64 = f64_two_to(52);
    let magnitude = number.abs();
    let rounded = (magnitude + TOP) - TOP;
    let cut = if rounded > magnitude { rounded - 1.0 } else { rounded };
    cut.copysign(number)
}
