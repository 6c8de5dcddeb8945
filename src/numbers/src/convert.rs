//! Conversion of numbers to a format, as `cvt` does it.

use crate::format::{Format, Parameters, Specials};

/// How a conversion treats a value between two numbers of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`: the nearest number; of two, the one whose last bit is 0.
    NearestEven,
    /// `.rz`: the next number towards zero.
    TowardsZero,
    /// `.rp`: the next number towards positive infinity.
    TowardsPositive,
}

/// What a conversion makes of a value beyond the largest number of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// `.satfinite`: the largest number, with the sign of the value.
    Saturate,
    /// Infinity; NaN if the format has no infinity, the largest number if it has no NaN either. If the rounding is
    /// towards zero, only an infinite value becomes infinity.
    Infinity,
}

impl Format {
    /// The bits of a value in this format, rounded once.
    ///
    /// The rules are those of `cvt` (PTX ISA, `cvt`): NaN becomes the NaN with all bits set except the sign. A format
    /// without NaN gets its largest number. `Ue8m0` takes the exponent of the magnitude; values below 2^-127, zero
    /// included, become 2^-127. The other scales drop the sign, too. No instruction converts to them on any target
    /// whose results are known, so for `Ue4m3` and `Ue5m3` this is an assumption. An integer format always saturates,
    /// and turns NaN into 0.
    ///
    /// ```
    /// use ptx_numbers::{Format, Overflow, Rounding};
    ///
    /// let cvt = |value| Format::E4m3.encode(value, Rounding::NearestEven, Overflow::Saturate);
    /// assert_eq!(cvt(1.0), 0x38);
    /// assert_eq!(cvt(1e6), 0x7E); // 448
    /// assert_eq!(cvt(f64::NAN), 0x7F);
    /// ```
    pub fn encode(self, value: f64, rounding: Rounding, overflow: Overflow) -> u32 {
        let parameters = self.parameters();
        if self.is_integer() {
            return integer(value, rounding, &parameters);
        }
        if self == Self::Ue8m0 {
            return power_of_two(value.abs(), rounding, overflow);
        }
        let negative = parameters.signed && value.is_sign_negative();
        let bits = match value {
            value if value.is_nan() => parameters.nan(),
            value => {
                let magnitude = value.abs();
                let sign = if negative { parameters.sign() } else { 0 };
                sign | parameters.magnitude(magnitude, direction(rounding, negative), overflow)
            }
        };
        // The ignored bits of the register are 0.
        if self == Self::Tf32 { bits << 13 } else { bits }
    }
}

/// How a magnitude is rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Nearest,
    Down,
    Up,
}

fn direction(rounding: Rounding, negative: bool) -> Direction {
    match rounding {
        Rounding::NearestEven => Direction::Nearest,
        Rounding::TowardsZero => Direction::Down,
        Rounding::TowardsPositive if negative => Direction::Down,
        Rounding::TowardsPositive => Direction::Up,
    }
}

impl Parameters {
    const fn sign(&self) -> u32 {
        1 << (self.exponent + self.fraction)
    }

    /// All bits but the sign. It is NaN, if the format has one.
    const fn nan(&self) -> u32 {
        self.sign() - 1
    }

    const fn infinity(&self) -> u32 {
        self.sign() - (1 << self.fraction)
    }

    /// The largest finite number.
    const fn largest(&self) -> u32 {
        match self.specials {
            Specials::Ieee => self.infinity() - 1,
            Specials::OneNan => self.nan() - 1,
            Specials::None => self.nan(),
        }
    }

    /// The bits of a number that is not negative and not NaN.
    fn magnitude(&self, value: f64, direction: Direction, overflow: Overflow) -> u32 {
        if value.is_infinite() {
            return self.beyond(overflow);
        }
        let (significand, exponent) = parts(value);
        let smallest = 1 - self.bias - self.fraction.cast_signed();
        // The exponent of the last bit that is kept.
        let unit = (exponent + 52 - self.fraction.cast_signed()).max(smallest);
        let kept = shifted(significand, unit - exponent, direction);
        let binade = u64::from((unit - smallest).unsigned_abs());
        // A carry out of the fraction is one into the exponent field; the leading bit of a normal number is one, too.
        let bits = (binade << self.fraction) + kept;
        match u32::try_from(bits) {
            Ok(bits) if bits <= self.largest() => bits,
            Ok(_) | Err(_) if direction == Direction::Down => self.largest(),
            Ok(_) | Err(_) => self.beyond(overflow),
        }
    }

    const fn beyond(&self, overflow: Overflow) -> u32 {
        match (overflow, self.specials) {
            (Overflow::Saturate, _) | (Overflow::Infinity, Specials::None) => self.largest(),
            (Overflow::Infinity, Specials::Ieee) => self.infinity(),
            (Overflow::Infinity, Specials::OneNan) => self.nan(),
        }
    }
}

/// Significand and exponent of the significand's last bit. The significand has 53 bits unless the number is subnormal.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7FF) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) }
}

/// A significand of at most 53 bits without its last `count` bits, which is at least 1.
fn shifted(significand: u64, count: i32, direction: Direction) -> u64 {
    let count = count.unsigned_abs().min(60);
    let (kept, rest) = (significand >> count, significand & ((1 << count) - 1));
    let half = 1 << (count - 1);
    let up = match direction {
        Direction::Nearest => rest > half || rest == half && kept & 1 == 1,
        Direction::Down => false,
        Direction::Up => rest > 0,
    };
    kept + u64::from(up)
}

/// The bits in `Ue8m0` of a number that has no sign.
fn power_of_two(value: f64, rounding: Rounding, overflow: Overflow) -> u32 {
    let largest: i32 = match overflow {
        Overflow::Saturate => 0xFE,
        Overflow::Infinity => 0xFF,
    };
    if value.is_nan() {
        return 0xFF;
    }
    if value.is_infinite() {
        return largest.cast_unsigned();
    }
    let (significand, exponent) = parts(value);
    let fraction = significand & ((1 << 52) - 1);
    let up = match rounding {
        Rounding::TowardsZero => false,
        Rounding::TowardsPositive => fraction != 0,
        // Nearest in value; the middle between two powers of two goes to the larger one.
        Rounding::NearestEven => fraction >= 1 << 51,
    };
    let field = exponent + 52 + 127 + i32::from(up);
    if significand >> 52 == 0 { 0 } else { field.clamp(0, largest).cast_unsigned() }
}

fn integer(value: f64, rounding: Rounding, parameters: &Parameters) -> u32 {
    let rounded = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::TowardsZero => value.trunc(),
        Rounding::TowardsPositive => value.ceil(),
    };
    let limit = 1_i64 << parameters.fraction;
    let lowest = if parameters.signed { -limit } else { 0 };
    // The conversion saturates and turns NaN into 0.
    let integer = (rounded as i64).clamp(lowest, limit - 1);
    integer as u32 & ((1 << parameters.bits) - 1)
}
