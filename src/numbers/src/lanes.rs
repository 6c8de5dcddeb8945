//! Sixteen elements of D at a time: their terms, cut and summed.
//!
//! Two files have the same types. `sse2.rs` is for x86-64, where `f32 as i32` would take most of the time: it saturates,
//! and the instruction does not. `portable.rs` is for other processors.

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::{Floats, Integers, Shorts, Sums};
#[cfg(target_arch = "x86_64")]
pub(crate) use sse2::{Floats, Integers, Shorts, Sums};

/// The columns of B that are computed at a time.
pub(crate) const W: usize = 16;

/// How many cut products [`Integers`] can hold: each is below 2^27.
pub(crate) const EXACT: usize = 8;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{W, portable, sse2};
    use crate::format::ZERO_EXPONENT;

    /// Numbers that all operations are defined for.
    fn numbers(seed: u32) -> [u32; W] {
        std::array::from_fn(|at| {
            let random =
                (seed + at as u32).wrapping_mul(0x9E37_79B9).rotate_left(at as u32) ^ seed.wrapping_mul(77);
            if random.is_multiple_of(7) { random & 1 << 31 } else { random & 0x9FFF_FFFF | 0x2000_0000 }
        })
    }

    #[test]
    fn both_files_compute_the_same() {
        for seed in 0..5_000 {
            let (bits, other) = (numbers(seed), numbers(seed + 40_000));
            let values = other.map(|it| f32::from_bits(it & 0x007F_FFFF | 0x4000_0000));
            let shifts = other.map(|it| (it % 200) as i16 - 100);
            macro_rules! compute {
                ($lanes:ident) => {{
                    use $lanes::{Floats, Integers, Shorts, Sums};
                    let old = Floats::load(&bits.map(f32::from_bits));
                    assert_eq!(old.exponents().to_array(), Floats::from_bits(&bits).exponents().to_array());
                    let exponents = old.exponents();
                    let limit = exponents.max(Shorts::load(&shifts)).max(Shorts::splat(-102));
                    let exponent = Shorts::splat(25).minus(limit);
                    let mut integers = Integers::cut(old, exponent.powers());
                    integers.add(1.5, &values, Shorts::splat(4).powers());
                    let mut sums = Sums::zero();
                    integers.move_to(&mut sums);
                    let (mut cut, all) = ([0; W], sums.multiplied(Shorts::splat(0).minus(exponent)));
                    all.cut(&mut cut);
                    let plain = exponents.plus(Shorts::load(&shifts)).min(Shorts::splat(90));
                    let suited = [plain, limit, exponents].map(|it| it.are_suited(-100));
                    let products = exponents.times(Shorts::load(&shifts));
                    let masked = limit.unless_zero(products.or(Shorts::splat(0)));
                    let mut terms = Sums::zero();
                    terms.add_cut(Sums::scaled(products, 0.75, &all.to_array()));
                    terms.add_cut(Sums::load(&[-1.75; W]));
                    let more = (products.to_array(), masked.to_array(), terms.to_array());
                    (
                        more,
                        exponents.to_array(),
                        plain.to_array(),
                        suited,
                        old.are_finite(),
                        all.to_array(),
                        cut,
                    )
                }};
            }
            assert_eq!(compute!(sse2), compute!(portable), "{bits:08x?}");
        }
        assert!(portable::Floats::from_bits(&[0; W]).exponents().to_array()[0] <= ZERO_EXPONENT);
    }
}
