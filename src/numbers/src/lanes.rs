//! The innermost loop: products, cut and summed, of `W` elements of D at a time.

/// The columns of B that are computed at a time.
pub(crate) const W: usize = 16;

/// How many cut products fit an `i32`: each is below 2^27.
const EXACT: usize = 8;

/// The sums of products of one row of A with `W` columns of B. Each product is multiplied by its column's `scale` and
/// cut towards zero to an integer.
///
/// A product of two factors and its scaled value are exact in f32, and the scaled value is below 2^27.
#[inline(always)]
pub(crate) fn sums<'a>(factors: impl Iterator<Item = (f32, &'a [f32; W])>, scale: &[f32; W]) -> [f64; W] {
    let mut sums = [[0.0; 2]; W / 2];
    let mut partial = Partial::new(scale);
    let mut left = EXACT;
    for (a, b) in factors {
        partial.add(a, b);
        left -= 1;
        if left == 0 {
            partial.flush(&mut sums);
            left = EXACT;
        }
    }
    if left < EXACT {
        partial.flush(&mut sums);
    }
    std::array::from_fn(|at| sums[at / 2][at % 2])
}

#[cfg(target_arch = "x86_64")]
use x86_64::Partial;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::largest;

#[cfg(not(target_arch = "x86_64"))]
use portable::Partial;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::largest;

/// `f32 as i32` saturates. The instruction does not, and what makes up for it would take most of the time.
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use safe_arch::{
        add_i16_m128i, add_i32_m128i, add_m128d, convert_to_m128d_from_lower2_i32_m128i, load_unaligned_m128,
        m128, m128d, m128i, max_i16_m128i, mul_m128, set_splat_i16_m128i, set_splat_m128,
        shuffle_ai_f32_all_m128i, truncate_m128_to_m128i, zeroed_m128i,
    };

    use super::W;

    /// The largest sum of an exponent of A and one of B, for each column. There is at least one of each.
    #[inline(always)]
    pub(crate) fn largest<'a>(exponents: impl Iterator<Item = (i16, &'a [i16; W])>) -> [i16; W] {
        let mut largest = [set_splat_i16_m128i(i16::MIN); W / 8];
        for (a, b) in exponents {
            let a = set_splat_i16_m128i(a);
            let (halves, _) = b.as_chunks::<8>();
            for (largest, half) in largest.iter_mut().zip(halves) {
                *largest = max_i16_m128i(*largest, add_i16_m128i(a, m128i::from(*half)));
            }
        }
        let halves: [[i16; 8]; W / 8] = largest.map(<[i16; 8]>::from);
        std::array::from_fn(|at| halves[at / 8][at % 8])
    }

    pub(super) struct Partial {
        scale: [m128; W / 4],
        sums: [m128i; W / 4],
    }

    impl Partial {
        #[inline(always)]
        pub(super) fn new(scale: &[f32; W]) -> Self {
            let (quarters, _) = scale.as_chunks();
            let scale = std::array::from_fn(|at| load_unaligned_m128(&quarters[at]));
            Self { scale, sums: [zeroed_m128i(); W / 4] }
        }

        #[inline(always)]
        pub(super) fn add(&mut self, a: f32, b: &[f32; W]) {
            let a = set_splat_m128(a);
            let (quarters, _) = b.as_chunks();
            for (at, quarter) in quarters.iter().enumerate() {
                let product = mul_m128(a, load_unaligned_m128(quarter));
                let cut = truncate_m128_to_m128i(mul_m128(product, self.scale[at]));
                self.sums[at] = add_i32_m128i(self.sums[at], cut);
            }
        }

        #[inline(always)]
        pub(super) fn flush(&mut self, sums: &mut [[f64; 2]; W / 2]) {
            for (at, partial) in self.sums.iter_mut().enumerate() {
                let upper = shuffle_ai_f32_all_m128i::<0b1110>(*partial);
                for (half, lanes) in [*partial, upper].into_iter().enumerate() {
                    let sum = &mut sums[2 * at + half];
                    let lanes = convert_to_m128d_from_lower2_i32_m128i(lanes);
                    *sum = add_m128d(m128d::from(*sum), lanes).to_array();
                }
                *partial = zeroed_m128i();
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use super::W;

    #[inline(always)]
    pub(crate) fn largest<'a>(exponents: impl Iterator<Item = (i16, &'a [i16; W])>) -> [i16; W] {
        let mut largest = [i16::MIN; W];
        for (a, b) in exponents {
            for j in 0..W {
                largest[j] = largest[j].max(a + b[j]);
            }
        }
        largest
    }

    pub(super) struct Partial {
        scale: [f32; W],
        sums: [i32; W],
    }

    impl Partial {
        #[inline(always)]
        pub(super) fn new(scale: &[f32; W]) -> Self {
            Self { scale: *scale, sums: [0; W] }
        }

        #[inline(always)]
        pub(super) fn add(&mut self, a: f32, b: &[f32; W]) {
            for j in 0..W {
                self.sums[j] += (a * b[j] * self.scale[j]) as i32;
            }
        }

        #[inline(always)]
        pub(super) fn flush(&mut self, sums: &mut [[f64; 2]; W / 2]) {
            for (sums, partial) in sums.as_flattened_mut().iter_mut().zip(&mut self.sums) {
                *sums += f64::from(*partial);
                *partial = 0;
            }
        }
    }
}
