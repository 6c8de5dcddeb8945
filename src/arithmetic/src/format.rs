//! Formats of floating-point numbers, and numbers without one.
//!
//! What no native operation of the processor gives (a rounding other than to nearest, a format that
//! it does not have) is computed exactly and rounded once. [`Exact`] is wide enough for that: sums
//! whose terms are too far apart keep a sticky bit.

use ptx_isa::generic::{Rounding, Type};

/// A format of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bits of the exponent.
    pub(super) exponent: u32,
    /// Bits of the fraction.
    pub(super) fraction: u32,
    /// What the largest exponent stands for.
    pub(super) specials: Specials,
    /// Whether there is a bit for the sign.
    pub(super) signed: bool,
}

/// What the largest exponent of a format stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Specials {
    /// Infinities and what is no number.
    Ieee,
    /// Numbers, but for all ones, which are none.
    OneNan,
    /// Numbers.
    None,
}

/// A number, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Nan,
    Infinite { negative: bool },
    Finite(Exact),
}

/// `magnitude · 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) exponent: i32,
    pub(super) magnitude: u128,
}

/// What becomes of a number beyond the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Infinity, or the largest where the rounding goes towards zero. What has no infinity gets what
    /// is no number.
    Infinity,
    /// The largest number.
    Saturate,
}

impl Format {
    pub(super) const F16: Self = Self::ieee(5, 10);
    pub(super) const BF16: Self = Self::ieee(8, 7);
    pub(super) const TF32: Self = Self::ieee(8, 10);
    pub(super) const F32: Self = Self::ieee(8, 23);
    pub(super) const F64: Self = Self::ieee(11, 52);
    pub(super) const E5M2: Self = Self::ieee(5, 2);
    pub(super) const E4M3: Self = Self { specials: Specials::OneNan, ..Self::ieee(4, 3) };
    pub(super) const E3M2: Self = Self { specials: Specials::None, ..Self::ieee(3, 2) };
    pub(super) const E2M3: Self = Self { specials: Specials::None, ..Self::ieee(2, 3) };
    pub(super) const E2M1: Self = Self { specials: Specials::None, ..Self::ieee(2, 1) };
    pub(super) const UE5M3: Self = Self { specials: Specials::OneNan, signed: false, ..Self::ieee(5, 3) };

    const fn ieee(exponent: u32, fraction: u32) -> Self {
        Self { exponent, fraction, specials: Specials::Ieee, signed: true }
    }

    /// The format of the elements of a type, and how many there are.
    pub(super) fn elements(ty: Type) -> Option<(Self, u32)> {
        Some(match ty {
            Type::F16 => (Self::F16, 1),
            Type::F16x2 => (Self::F16, 2),
            Type::Bf16 => (Self::BF16, 1),
            Type::Bf16x2 => (Self::BF16, 2),
            Type::Tf32 => (Self::TF32, 1),
            Type::F32 => (Self::F32, 1),
            Type::F32x2 => (Self::F32, 2),
            Type::F64 => (Self::F64, 1),
            Type::E5m2 => (Self::E5M2, 1),
            Type::E5m2x2 => (Self::E5M2, 2),
            Type::E5m2x4 => (Self::E5M2, 4),
            Type::E4m3 => (Self::E4M3, 1),
            Type::E4m3x2 => (Self::E4M3, 2),
            Type::E4m3x4 => (Self::E4M3, 4),
            Type::E3m2 => (Self::E3M2, 1),
            Type::E3m2x2 => (Self::E3M2, 2),
            Type::E3m2x4 => (Self::E3M2, 4),
            Type::E2m3 => (Self::E2M3, 1),
            Type::E2m3x2 => (Self::E2M3, 2),
            Type::E2m3x4 => (Self::E2M3, 4),
            Type::E2m1 => (Self::E2M1, 1),
            Type::E2m1x2 => (Self::E2M1, 2),
            Type::E2m1x4 | Type::E2m1p4x4 => (Self::E2M1, 4),
            Type::Ue5m3 => (Self::UE5M3, 1),
            Type::Ue5m3x2 => (Self::UE5M3, 2),
            // Not of this kind: fixed point, an exponent alone, or no numbers of their own.
            Type::Ue8m0 | Type::Ue8m0x2 | Type::Ue4m3 | Type::S2f6x2 => return None,
            Type::Pred
            | Type::B1
            | Type::B2
            | Type::B4
            | Type::B8
            | Type::B16
            | Type::B32
            | Type::B64
            | Type::B128
            | Type::B1024
            | Type::U2
            | Type::U4
            | Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::S2
            | Type::S4
            | Type::S8
            | Type::S16
            | Type::S32
            | Type::S64
            | Type::U16x2
            | Type::S16x2
            | Type::U8x4
            | Type::S8x4
            | Type::B8x16
            | Type::B6x16P32
            | Type::B4x16P64
            | Type::Texref
            | Type::Samplerref
            | Type::Surfref => return None,
        })
    }

    /// Bits of a number.
    pub(super) const fn bits(self) -> u32 {
        self.exponent + self.fraction + self.signed as u32
    }

    pub(super) const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The bit of the sign.
    pub(super) const fn sign(self) -> u64 {
        if self.signed { 1 << (self.bits() - 1) } else { 0 }
    }

    pub(super) const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    const fn largest_exponent_field(self) -> u64 {
        (1 << self.exponent) - 1
    }

    /// What the hardware gives where there is no number: all ones but for the sign.
    pub(super) const fn nan(self) -> u64 {
        match (self.fraction, self.specials) {
            // The only one that keeps what it got, and gives this where it got none.
            (52, _) => 0xFFF8_0000_0000_0000,
            (_, Specials::Ieee | Specials::OneNan) => self.mask() & !self.sign(),
            // Without one, the largest number stands for it.
            (_, Specials::None) => self.mask() & !self.sign(),
        }
    }

    /// What the hardware makes of what is no number: doubles keep it, but for the bit that says that
    /// nothing is to happen.
    pub(super) const fn nan_of(self, bits: u64) -> u64 {
        if self.fraction == 52 { bits | 1 << 51 } else { self.nan() }
    }

    pub(super) const fn infinity(self) -> u64 {
        self.largest_exponent_field() << self.fraction
    }

    /// The largest number.
    pub(super) const fn largest(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity() - 1,
            Specials::OneNan => (self.mask() & !self.sign()) - 1,
            Specials::None => self.mask() & !self.sign(),
        }
    }

    /// The fields of a number.
    const fn fields(self, bits: u64) -> (bool, u64, u64) {
        let exponent = bits >> self.fraction & self.largest_exponent_field();
        (bits & self.sign() != 0, exponent, bits & ((1 << self.fraction) - 1))
    }

    pub(super) const fn is_nan(self, bits: u64) -> bool {
        let (_, exponent, fraction) = self.fields(bits);
        let is_special = exponent == self.largest_exponent_field();
        match self.specials {
            Specials::Ieee => is_special && fraction != 0,
            Specials::OneNan => is_special && fraction == (1 << self.fraction) - 1,
            Specials::None => false,
        }
    }

    pub(super) const fn is_infinite(self, bits: u64) -> bool {
        let (_, exponent, fraction) = self.fields(bits);
        matches!(self.specials, Specials::Ieee) && exponent == self.largest_exponent_field() && fraction == 0
    }

    /// Whether it is smaller than what has all bits of the fraction, and not zero.
    pub(super) const fn is_subnormal(self, bits: u64) -> bool {
        let (_, exponent, fraction) = self.fields(bits);
        exponent == 0 && fraction != 0
    }

    /// With zero instead of a subnormal number.
    pub(super) const fn flushed(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// The number that bits stand for.
    pub(super) const fn decode(self, bits: u64) -> Number {
        let (negative, exponent, fraction) = self.fields(bits);
        if self.is_nan(bits) {
            return Number::Nan;
        }
        if self.is_infinite(bits) {
            return Number::Infinite { negative };
        }
        let hidden = if exponent == 0 { 0 } else { 1 << self.fraction };
        let scale = if exponent == 0 { 1 } else { exponent as i32 };
        let exponent = scale - self.bias() - self.fraction as i32;
        Number::Finite(Exact { negative, exponent, magnitude: (fraction | hidden) as u128 })
    }

    /// A number as a double, which has all those of the narrower formats.
    pub(super) fn to_f64(self, bits: u64) -> f64 {
        match self.fraction {
            52 => f64::from_bits(bits),
            23 => f64::from(f32::from_bits(bits as u32)),
            7 => f64::from(f32::from_bits((bits as u32) << 16)),
            10 if self.exponent == 5 => {
                // The same fields in a single, whose exponents are 112 higher.
                let moved = f32::from_bits(((bits & 0x7FFF) << 13) as u32);
                let magnitude = match bits & 0x7C00 {
                    0x7C00 => f64::from(f32::from_bits(moved.to_bits() | 0x7F80_0000)),
                    _ => f64::from(moved) * f64::from_bits(0x46F0_0000_0000_0000),
                };
                if bits & self.sign() == 0 { magnitude } else { -magnitude }
            }
            _ => match self.decode(bits) {
                Number::Nan => f64::NAN,
                Number::Infinite { negative } => {
                    if negative {
                        f64::NEG_INFINITY
                    } else {
                        f64::INFINITY
                    }
                }
                Number::Finite(exact) => {
                    f64::from_bits(Self::F64.encode(exact, Rounding::Rn, Overflow::Infinity))
                }
            },
        }
    }

    /// The bits of a number in this format.
    pub(super) fn encode_number(self, number: Number, rounding: Rounding, overflow: Overflow) -> u64 {
        match number {
            Number::Nan => self.nan(),
            Number::Infinite { negative } => {
                let magnitude = match (overflow, self.specials) {
                    (Overflow::Infinity, Specials::Ieee) => self.infinity(),
                    (Overflow::Infinity, Specials::OneNan) => self.nan(),
                    (Overflow::Saturate, _) | (_, Specials::None) => self.largest(),
                };
                magnitude | if negative { self.sign() } else { 0 }
            }
            Number::Finite(exact) => self.encode(exact, rounding, overflow),
        }
    }

    /// The bits of the number of this format that is next to another one.
    pub(super) fn encode(self, exact: Exact, rounding: Rounding, overflow: Overflow) -> u64 {
        let Exact { negative, exponent, magnitude } = exact;
        let sign = if negative { self.sign() } else { 0 };
        let Some(top) = magnitude.checked_ilog2() else { return sign };
        // The exponent that the lowest bit of the result has: that of a normal number, or of the
        // subnormal ones.
        let smallest = 1 - self.bias() - self.fraction as i32;
        let unit = (exponent + top as i32 - self.fraction as i32).max(smallest);
        let (mut kept, rest) = split(magnitude, unit - exponent);
        if rounds_up(rounding, negative, kept, rest) {
            kept += 1;
        }
        self.assemble(negative, (unit - smallest) as u64, kept, rounding, overflow)
    }

    /// The bits of a number that has no more than the format's.
    pub(super) fn assemble(
        self,
        negative: bool,
        exponent: u64,
        kept: u64,
        rounding: Rounding,
        overflow: Overflow,
    ) -> u64 {
        let sign = if negative { self.sign() } else { 0 };
        // Beyond every format, and beyond what its field could say.
        if exponent > self.largest_exponent_field() {
            return sign | self.beyond(negative, rounding, overflow);
        }
        // A carry into the next power of two is one into the exponent's field.
        let rounded = if kept >> self.fraction == 0 { kept } else { (exponent << self.fraction) + kept };
        sign | if rounded > self.largest() { self.beyond(negative, rounding, overflow) } else { rounded }
    }

    /// What stands for a number that is too large.
    fn beyond(self, negative: bool, rounding: Rounding, overflow: Overflow) -> u64 {
        let is_towards_zero = match rounding {
            Rounding::Rz | Rounding::Rzi => true,
            Rounding::Rm | Rounding::Rmi => !negative,
            Rounding::Rp | Rounding::Rpi => negative,
            Rounding::Rn | Rounding::Rna | Rounding::Rs | Rounding::Rni => false,
        };
        match (overflow, self.specials) {
            (Overflow::Saturate, _) | (_, Specials::None) => self.largest(),
            (Overflow::Infinity, Specials::Ieee) if is_towards_zero => self.largest(),
            (Overflow::Infinity, Specials::Ieee) => self.infinity(),
            (Overflow::Infinity, Specials::OneNan) => self.nan(),
        }
    }
}

/// What rounding takes away, compared with half of the last bit that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    Nothing,
    LessThanHalf,
    Half,
    MoreThanHalf,
}

/// A magnitude without its low bits, and what they are.
pub(super) fn split(magnitude: u128, low_bits: i32) -> (u64, Rest) {
    if low_bits <= 0 {
        // Only what is rounded to fewer bits than it has comes here with more than 64.
        return ((magnitude << low_bits.unsigned_abs().min(127)) as u64, Rest::Nothing);
    }
    let low_bits = low_bits as u32;
    let kept = magnitude.checked_shr(low_bits).unwrap_or(0);
    let rest = if low_bits > 128 { magnitude } else { magnitude & (u128::MAX >> (128 - low_bits)) };
    let half = 1_u128.checked_shl(low_bits - 1);
    let rest = match half {
        _ if rest == 0 => Rest::Nothing,
        Some(half) if rest == half => Rest::Half,
        Some(half) if rest > half => Rest::MoreThanHalf,
        Some(_) | None => Rest::LessThanHalf,
    };
    (kept as u64, rest)
}

/// Whether what was kept of a magnitude is to be one more.
pub(super) fn rounds_up(rounding: Rounding, negative: bool, kept: u64, rest: Rest) -> bool {
    match rounding {
        Rounding::Rn | Rounding::Rni => rest > Rest::Half || rest == Rest::Half && kept & 1 == 1,
        Rounding::Rna => rest >= Rest::Half,
        // Stochastic rounding has added its bits before.
        Rounding::Rz | Rounding::Rzi | Rounding::Rs => false,
        Rounding::Rm | Rounding::Rmi => negative && rest > Rest::Nothing,
        Rounding::Rp | Rounding::Rpi => !negative && rest > Rest::Nothing,
    }
}
