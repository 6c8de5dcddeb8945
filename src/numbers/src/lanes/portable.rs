//! Sixteen lanes as arrays.

use super::W;
use crate::accumulator::f64_two_to;
use crate::format::{ZERO_EXPONENT, two_to};

/// Shorts.
#[derive(Clone, Copy)]
pub(crate) struct Shorts([i16; W]);

/// Numbers of f32.
#[derive(Clone, Copy)]
pub(crate) struct Floats([f32; W]);

/// Integers of 32 bits: sums of products that were cut.
#[derive(Clone, Copy)]
pub(crate) struct Integers([i32; W]);

/// Integers in f64: sums that 32 bits do not hold, and what they become.
#[derive(Clone, Copy)]
pub(crate) struct Sums([f64; W]);

impl Shorts {
    #[inline(always)]
    pub(crate) fn splat(exponent: i16) -> Self {
        Self([exponent; W])
    }

    #[inline(always)]
    pub(crate) fn load(exponents: &[i16; W]) -> Self {
        Self(*exponents)
    }

    #[inline(always)]
    fn zip(self, other: Self, each: impl Fn(i16, i16) -> i16) -> Self {
        Self(std::array::from_fn(|j| each(self.0[j], other.0[j])))
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        self.zip(other, i16::wrapping_add)
    }

    #[inline(always)]
    pub(crate) fn minus(self, other: Self) -> Self {
        self.zip(other, i16::wrapping_sub)
    }

    #[inline(always)]
    pub(crate) fn max(self, other: Self) -> Self {
        self.zip(other, i16::max)
    }

    #[inline(always)]
    pub(crate) fn min(self, other: Self) -> Self {
        self.zip(other, i16::min)
    }

    #[inline(always)]
    pub(crate) fn times(self, other: Self) -> Self {
        self.zip(other, i16::wrapping_mul)
    }

    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// With [`ZERO_EXPONENT`] added where `other` is zero.
    #[inline(always)]
    pub(crate) fn unless_zero(self, other: Self) -> Self {
        self.zip(other, |exponent, it| if it == 0 { exponent + ZERO_EXPONENT } else { exponent })
    }

    /// 2^exponent of each, from -126 to 127.
    #[inline(always)]
    pub(crate) fn powers(self) -> Floats {
        Floats(self.0.map(|exponent| two_to(i32::from(exponent))))
    }

    /// Whether each is from `lowest` to 150, or that of a zero.
    #[inline(always)]
    pub(crate) fn are_suited(self, lowest: i16) -> bool {
        self.0.iter().all(|&it| it <= -4000 || (lowest..=150).contains(&it))
    }

    #[cfg(all(test, target_arch = "x86_64"))]
    pub(crate) fn to_array(self) -> [i16; W] {
        self.0
    }
}

impl Floats {
    #[inline(always)]
    pub(crate) fn from_bits(bits: &[u32; W]) -> Self {
        Self(bits.map(f32::from_bits))
    }

    #[inline(always)]
    pub(crate) fn load(values: &[f32; W]) -> Self {
        Self(*values)
    }

    /// The exponents of numbers. That of a zero is [`ZERO_EXPONENT`] or less.
    #[inline(always)]
    pub(crate) fn exponents(self) -> Shorts {
        let exponent = |value: f32| {
            let field = (value.to_bits() >> 23 & 0xFF) as i16;
            field.max(1) - 127 + if value == 0.0 { ZERO_EXPONENT } else { 0 }
        };
        Shorts(self.0.map(exponent))
    }

    #[inline(always)]
    pub(crate) fn are_finite(self) -> bool {
        self.0.iter().all(|value| value.is_finite())
    }
}

impl Integers {
    /// The products of two numbers each, cut towards zero. Both are exact, and the products below 2^31.
    #[inline(always)]
    pub(crate) fn cut(values: Floats, scale: Floats) -> Self {
        Self(std::array::from_fn(|j| (values.0[j] * scale.0[j]) as i32))
    }

    /// Adds `a * b * scale`, cut towards zero. Both products are exact.
    #[inline(always)]
    pub(crate) fn add(&mut self, a: f32, b: &[f32; W], scale: Floats) {
        for j in 0..W {
            self.0[j] = self.0[j].wrapping_add((a * b[j] * scale.0[j]) as i32);
        }
    }

    /// Adds them to others, and starts again.
    #[inline(always)]
    pub(crate) fn move_to(&mut self, sums: &mut Sums) {
        for j in 0..W {
            sums.0[j] += f64::from(self.0[j]);
        }
        self.0 = [0; W];
    }
}

impl Sums {
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self([0.0; W])
    }

    #[inline(always)]
    pub(crate) fn load(values: &[f64; W]) -> Self {
        Self(*values)
    }

    /// The integers of `integers`, multiplied by `factor` and by `factors`.
    #[inline(always)]
    pub(crate) fn scaled(integers: Shorts, factor: f64, factors: &[f64; W]) -> Self {
        Self(std::array::from_fn(|j| f64::from(integers.0[j]) * (factor * factors[j])))
    }

    /// Adds others without their fractions. They are below 2^51.
    #[inline(always)]
    pub(crate) fn add_cut(&mut self, others: Self) {
        for j in 0..W {
            self.0[j] += others.0[j].trunc();
        }
    }

    /// Multiplied by a power of two each.
    #[inline(always)]
    pub(crate) fn multiplied(self, exponents: Shorts) -> Self {
        Self(std::array::from_fn(|j| self.0[j] * f64_two_to(i32::from(exponents.0[j]))))
    }

    /// Bits of f32, cut towards zero. No number is so small that it would be subnormal.
    #[inline(always)]
    pub(crate) fn cut(self, d: &mut [u32; W]) {
        for (d, sum) in d.iter_mut().zip(self.0) {
            *d = (f64::from_bits(sum.to_bits() & u64::MAX << 29) as f32).to_bits();
        }
    }

    #[inline(always)]
    pub(crate) fn to_array(self) -> [f64; W] {
        self.0
    }
}
