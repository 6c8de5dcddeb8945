//! Sixteen lanes in registers of 128 bits, which each x86-64 processor has.
//!
//! The functions do what those of `portable.rs` do.

use safe_arch::{
    add_i16_m128i, add_i32_m128i, add_m128d, bitand_m128d, bitand_m128i, bitandnot_m128d, bitor_m128d,
    bitor_m128i, cast_to_m128_from_m128i, cast_to_m128d_from_m128i, cast_to_m128i_from_m128,
    cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, cmp_gt_mask_i16_m128i, cmp_gt_mask_m128d,
    convert_to_m128_from_m128d, convert_to_m128d_from_lower2_i32_m128i, load_unaligned_m128,
    load_unaligned_m128d, m128, m128d, m128i, max_i16_m128i, min_i16_m128i, move_low_high_m128,
    move_mask_i8_m128i, mul_i16_keep_low_m128i, mul_m128, mul_m128d, pack_i32_to_i16_m128i,
    set_splat_i16_m128i, set_splat_i64_m128i, set_splat_m128, set_splat_m128d, shl_imm_u16_m128i,
    shl_imm_u32_m128i, shr_imm_i32_m128i, shr_imm_u32_m128i, shuffle_ai_f32_all_m128i, store_unaligned_m128d,
    sub_i16_m128i, sub_m128d, truncate_m128_to_m128i, unpack_high_i16_m128i, unpack_high_i32_m128i,
    unpack_low_i16_m128i, unpack_low_i32_m128i, zeroed_m128d, zeroed_m128i,
};

use super::W;
use crate::accumulator::f64_two_to;
use crate::format::ZERO_EXPONENT;

#[derive(Clone, Copy)]
pub(crate) struct Shorts([m128i; 2]);

#[derive(Clone, Copy)]
pub(crate) struct Floats([m128; 4]);

#[derive(Clone, Copy)]
pub(crate) struct Integers([m128i; 4]);

#[derive(Clone, Copy)]
pub(crate) struct Sums([m128d; 8]);

impl Shorts {
    #[inline(always)]
    pub(crate) fn splat(exponent: i16) -> Self {
        Self([set_splat_i16_m128i(exponent); 2])
    }

    #[inline(always)]
    pub(crate) fn load(exponents: &[i16; W]) -> Self {
        let [low, high] = exponents.as_chunks::<8>().0 else { return Self::splat(0) };
        Self([m128i::from(*low), m128i::from(*high)])
    }

    #[inline(always)]
    fn zip(self, other: Self, each: impl Fn(m128i, m128i) -> m128i) -> Self {
        Self([each(self.0[0], other.0[0]), each(self.0[1], other.0[1])])
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        self.zip(other, add_i16_m128i)
    }

    #[inline(always)]
    pub(crate) fn minus(self, other: Self) -> Self {
        self.zip(other, sub_i16_m128i)
    }

    #[inline(always)]
    pub(crate) fn max(self, other: Self) -> Self {
        self.zip(other, max_i16_m128i)
    }

    #[inline(always)]
    pub(crate) fn min(self, other: Self) -> Self {
        self.zip(other, min_i16_m128i)
    }

    #[inline(always)]
    pub(crate) fn times(self, other: Self) -> Self {
        self.zip(other, mul_i16_keep_low_m128i)
    }

    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        self.zip(other, bitor_m128i)
    }

    #[inline(always)]
    pub(crate) fn unless_zero(self, other: Self) -> Self {
        let zero = |it| {
            let mask = cmp_eq_mask_i16_m128i(it, zeroed_m128i());
            bitand_m128i(mask, set_splat_i16_m128i(ZERO_EXPONENT))
        };
        self.plus(Self([zero(other.0[0]), zero(other.0[1])]))
    }

    #[inline(always)]
    pub(crate) fn powers(self) -> Floats {
        // Sign, exponent field and the first bits of the fraction are the upper 16 bits.
        let [low, high] = self.plus(Self::splat(127)).0;
        let upper = [shl_imm_u16_m128i::<7>(low), shl_imm_u16_m128i::<7>(high)];
        let zero = zeroed_m128i();
        Floats([
            cast_to_m128_from_m128i(unpack_low_i16_m128i(zero, upper[0])),
            cast_to_m128_from_m128i(unpack_high_i16_m128i(zero, upper[0])),
            cast_to_m128_from_m128i(unpack_low_i16_m128i(zero, upper[1])),
            cast_to_m128_from_m128i(unpack_high_i16_m128i(zero, upper[1])),
        ])
    }

    #[inline(always)]
    pub(crate) fn are_suited(self, lowest: i16) -> bool {
        let unsuited = |it| {
            let small = cmp_gt_mask_i16_m128i(set_splat_i16_m128i(lowest), it);
            let small = bitand_m128i(small, cmp_gt_mask_i16_m128i(it, set_splat_i16_m128i(-4000)));
            bitor_m128i(small, cmp_gt_mask_i16_m128i(it, set_splat_i16_m128i(150)))
        };
        move_mask_i8_m128i(bitor_m128i(unsuited(self.0[0]), unsuited(self.0[1]))) == 0
    }

    #[cfg(test)]
    pub(crate) fn to_array(self) -> [i16; W] {
        let mut exponents = [0; W];
        let (halves, _) = exponents.as_chunks_mut::<8>();
        halves[0] = <[i16; 8]>::from(self.0[0]);
        halves[1] = <[i16; 8]>::from(self.0[1]);
        exponents
    }
}

impl Floats {
    #[inline(always)]
    pub(crate) fn from_bits(bits: &[u32; W]) -> Self {
        let [a, b, c, d] = bits.as_chunks::<4>().0 else { return Self([set_splat_m128(0.0); 4]) };
        let quarter = |bits: &[u32; 4]| cast_to_m128_from_m128i(m128i::from(*bits));
        Self([quarter(a), quarter(b), quarter(c), quarter(d)])
    }

    #[inline(always)]
    pub(crate) fn load(values: &[f32; W]) -> Self {
        let [a, b, c, d] = values.as_chunks::<4>().0 else { return Self([set_splat_m128(0.0); 4]) };
        Self([load_unaligned_m128(a), load_unaligned_m128(b), load_unaligned_m128(c), load_unaligned_m128(d)])
    }

    /// The exponent fields.
    #[inline(always)]
    fn fields(self) -> [m128i; 2] {
        let fields =
            |at: usize| shr_imm_u32_m128i::<24>(shl_imm_u32_m128i::<1>(cast_to_m128i_from_m128(self.0[at])));
        [pack_i32_to_i16_m128i(fields(0), fields(1)), pack_i32_to_i16_m128i(fields(2), fields(3))]
    }

    #[inline(always)]
    pub(crate) fn exponents(self) -> Shorts {
        let zero = |at: usize| {
            let magnitude = shl_imm_u32_m128i::<1>(cast_to_m128i_from_m128(self.0[at]));
            cmp_eq_mask_i32_m128i(magnitude, zeroed_m128i())
        };
        let zeros = |low, high| {
            let zeros = pack_i32_to_i16_m128i(zero(low), zero(high));
            bitand_m128i(zeros, set_splat_i16_m128i(ZERO_EXPONENT))
        };
        let zeros = [zeros(0, 1), zeros(2, 3)];
        Shorts(self.fields()).max(Shorts::splat(1)).minus(Shorts::splat(127)).plus(Shorts(zeros))
    }

    #[inline(always)]
    pub(crate) fn are_finite(self) -> bool {
        let special = |it| cmp_eq_mask_i16_m128i(it, set_splat_i16_m128i(0xFF));
        let [low, high] = self.fields();
        move_mask_i8_m128i(bitor_m128i(special(low), special(high))) == 0
    }
}

impl Integers {
    #[inline(always)]
    pub(crate) fn cut(values: Floats, scale: Floats) -> Self {
        let cut = |at: usize| truncate_m128_to_m128i(mul_m128(values.0[at], scale.0[at]));
        Self([cut(0), cut(1), cut(2), cut(3)])
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, a: f32, b: &[f32; W], scale: Floats) {
        let (a, b) = (set_splat_m128(a), Floats::load(b));
        for at in 0..4 {
            let product = mul_m128(mul_m128(a, b.0[at]), scale.0[at]);
            self.0[at] = add_i32_m128i(self.0[at], truncate_m128_to_m128i(product));
        }
    }

    #[inline(always)]
    pub(crate) fn move_to(&mut self, sums: &mut Sums) {
        for at in 0..4 {
            let (low, high) = (self.0[at], shuffle_ai_f32_all_m128i::<0b1110>(self.0[at]));
            sums.0[2 * at] = add_m128d(sums.0[2 * at], convert_to_m128d_from_lower2_i32_m128i(low));
            sums.0[2 * at + 1] = add_m128d(sums.0[2 * at + 1], convert_to_m128d_from_lower2_i32_m128i(high));
        }
        self.0 = [zeroed_m128i(); 4];
    }
}

impl Sums {
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self([zeroed_m128d(); 8])
    }

    #[inline(always)]
    pub(crate) fn load(values: &[f64; W]) -> Self {
        let mut sums = Self::zero();
        let (pairs, _) = values.as_chunks::<2>();
        for at in 0..8 {
            sums.0[at] = load_unaligned_m128d(&pairs[at]);
        }
        sums
    }

    #[inline(always)]
    pub(crate) fn scaled(integers: Shorts, factor: f64, factors: &[f64; W]) -> Self {
        let (mut sums, factor) = (Self::load(factors), set_splat_m128d(factor));
        for half in 0..2 {
            let it = integers.0[half];
            // Each in the upper half of 32 bits, from where it is shifted with its sign.
            let quarters = [unpack_low_i16_m128i(it, it), unpack_high_i16_m128i(it, it)];
            for quarter in 0..2 {
                let low = shr_imm_i32_m128i::<16>(quarters[quarter]);
                let high = shuffle_ai_f32_all_m128i::<0b1110>(low);
                let at = 4 * half + 2 * quarter;
                for (at, pair) in [(at, low), (at + 1, high)] {
                    let factors = mul_m128d(sums.0[at], factor);
                    sums.0[at] = mul_m128d(convert_to_m128d_from_lower2_i32_m128i(pair), factors);
                }
            }
        }
        sums
    }

    #[inline(always)]
    pub(crate) fn add_cut(&mut self, others: Self) {
        let (sign, top, one) = (set_splat_m128d(-0.0), set_splat_m128d(f64_two_to(52)), set_splat_m128d(1.0));
        for at in 0..8 {
            let it = others.0[at];
            let magnitude = bitandnot_m128d(sign, it);
            // To the nearest integer, and one less if that is larger.
            let nearest = sub_m128d(add_m128d(magnitude, top), top);
            let cut = sub_m128d(nearest, bitand_m128d(cmp_gt_mask_m128d(nearest, magnitude), one));
            self.0[at] = add_m128d(self.0[at], bitor_m128d(cut, bitand_m128d(it, sign)));
        }
    }

    #[inline(always)]
    pub(crate) fn multiplied(self, exponents: Shorts) -> Self {
        // As in `Shorts::powers`, the upper 16 of 64 bits.
        let [low, high] = exponents.plus(Shorts::splat(1023)).0;
        let upper = [shl_imm_u16_m128i::<4>(low), shl_imm_u16_m128i::<4>(high)];
        let zero = zeroed_m128i();
        let quarters = [
            unpack_low_i16_m128i(zero, upper[0]),
            unpack_high_i16_m128i(zero, upper[0]),
            unpack_low_i16_m128i(zero, upper[1]),
            unpack_high_i16_m128i(zero, upper[1]),
        ];
        let mut sums = self;
        for at in 0..4 {
            let quarter = quarters[at];
            let (low, high) = (unpack_low_i32_m128i(zero, quarter), unpack_high_i32_m128i(zero, quarter));
            sums.0[2 * at] = mul_m128d(sums.0[2 * at], cast_to_m128d_from_m128i(low));
            sums.0[2 * at + 1] = mul_m128d(sums.0[2 * at + 1], cast_to_m128d_from_m128i(high));
        }
        sums
    }

    #[inline(always)]
    pub(crate) fn cut(self, d: &mut [u32; W]) {
        let mask = cast_to_m128d_from_m128i(set_splat_i64_m128i(-1 << 29));
        let half = |at: usize| convert_to_m128_from_m128d(bitand_m128d(self.0[at], mask));
        let (quarters, _) = d.as_chunks_mut::<4>();
        for at in 0..4 {
            let quarter = move_low_high_m128(half(2 * at), half(2 * at + 1));
            quarters[at] = <[u32; 4]>::from(cast_to_m128i_from_m128(quarter));
        }
    }

    #[inline(always)]
    pub(crate) fn to_array(self) -> [f64; W] {
        let mut sums = [0.0; W];
        let (pairs, _) = sums.as_chunks_mut::<2>();
        for at in 0..8 {
            store_unaligned_m128d(&mut pairs[at], self.0[at]);
        }
        sums
    }
}
