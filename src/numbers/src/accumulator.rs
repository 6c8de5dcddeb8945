//! The old D as a term of a sum, and the sum as the new D.

use crate::format::{Format, ZERO_EXPONENT, two_to};
use crate::lanes::{Floats, Shorts, Sums, W};
use crate::multiply::OldD;
use crate::rule::SumRounding;

/// NaN as the tensor core writes it.
const F32_NAN: u32 = 0x7FFF_FFFF;
const F16_NAN: u32 = 0x7FFF;

/// The old D as terms.
pub(crate) struct Terms;

impl Terms {
    /// A D that is not read.
    #[inline(always)]
    pub(crate) fn zero() -> (Floats, Shorts) {
        (Floats::load(&[0.0; W]), Shorts::splat(ZERO_EXPONENT))
    }

    /// Values and exponents of a block. The exponent of a zero is [`ZERO_EXPONENT`] or less.
    #[inline(always)]
    pub(crate) fn read(bits: &[u32; W], rounding: SumRounding) -> (Floats, Shorts) {
        match rounding {
            SumRounding::F32TowardsZero | SumRounding::F32With13Bits => {
                let values = Floats::from_bits(bits);
                (values, values.exponents())
            }
            SumRounding::F16NearestEven => {
                let decoder = Format::F16.decoder();
                let (mut values, mut exponents) = ([0.0; W], [0; W]);
                for j in 0..W {
                    let term = decoder.unpack(bits[j]);
                    (values[j], exponents[j]) = (term.value, term.exponent);
                }
                (Floats::load(&values), Shorts::load(&exponents))
            }
        }
    }

    /// The same for any D, in f64.
    #[inline(always)]
    pub(crate) fn wide(bits: &[u32; W], old: OldD, rounding: SumRounding) -> (Sums, Shorts) {
        let (mut values, mut exponents) = ([0.0; W], [ZERO_EXPONENT; W]);
        match old {
            OldD::Zero => return (Sums::zero(), Shorts::splat(ZERO_EXPONENT)),
            OldD::Read { scale: 0 } if rounding == SumRounding::F32TowardsZero => {
                for j in 0..W {
                    values[j] = f64::from(f32::from_bits(bits[j]));
                }
                return (Sums::load(&values), Floats::from_bits(bits).exponents());
            }
            OldD::Read { .. } => {
                for j in 0..W {
                    (values[j], exponents[j]) = Self::one(bits[j], old, rounding);
                }
            }
        }
        (Sums::load(&values), Shorts::load(&exponents))
    }

    /// Value and exponent of one element.
    pub(crate) fn one(bits: u32, old: OldD, rounding: SumRounding) -> (f64, i16) {
        let format = match rounding {
            SumRounding::F32TowardsZero | SumRounding::F32With13Bits => Format::F32,
            SumRounding::F16NearestEven => Format::F16,
        };
        match old {
            OldD::Zero => (0.0, ZERO_EXPONENT),
            OldD::Read { scale } => {
                let term = format.unpack(bits);
                (f64::from(term.value) * f64_two_to(-i32::from(scale)), term.exponent - i16::from(scale))
            }
        }
    }
}

/// The new D of sums that are finite.
#[inline(always)]
pub(crate) fn round(sums: &[f64; W], rounding: SumRounding, d: &mut [u32; W]) {
    match rounding {
        SumRounding::F32TowardsZero => {
            for j in 0..W {
                d[j] = cut(sums[j]);
            }
        }
        SumRounding::F32With13Bits => {
            for j in 0..W {
                d[j] = cut_to_13(sums[j]);
            }
        }
        SumRounding::F16NearestEven => {
            for j in 0..W {
                d[j] = nearest_f16(sums[j]);
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

/// An addition of two values of D, rounded to nearest even. The sum of two numbers of f32 in f64 is rounded twice, which
/// gives the same: f64 has more than twice the bits.
pub(crate) fn nearest(sum: f64, rounding: SumRounding) -> u32 {
    match rounding {
        SumRounding::F32TowardsZero | SumRounding::F32With13Bits if sum.is_nan() => F32_NAN,
        SumRounding::F32TowardsZero | SumRounding::F32With13Bits => (sum as f32).to_bits(),
        SumRounding::F16NearestEven => round_any(sum, rounding),
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
    // f32 is exact for it. With the bias of f16, the fields of f32 are those of f16, also of a subnormal number.
    let bits = ((rounded as f32 * two_to(15 - 127)).to_bits() >> 13).min(0x7C00);
    if bits == 0 { 0 } else { sign | bits }
}

/// 2^`exponent`, of a normal number.
#[inline(always)]
pub(crate) const fn f64_two_to(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
