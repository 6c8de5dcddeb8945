//! The arithmetic as docs/numbers.md describes it, in integers of 128 bits, with nothing from the crate but names.

use ptx_numbers::Format;

/// A number as a significand and an exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `significand * 2^(exponent - fraction)`. The significand is below 2 * 2^fraction.
    Finite {
        significand: i128,
        fraction: i32,
        exponent: i32,
    },
}

/// Exponent bits, fraction bits, smallest normal exponent.
fn shape(format: Format) -> (u32, u32, i32) {
    match format {
        Format::F16 => (5, 10, -14),
        Format::Bf16 => (8, 7, -126),
        Format::Tf32 | Format::F32 => (8, 23, -126),
        Format::E4m3 | Format::Ue4m3 => (4, 3, -6),
        Format::E5m2 => (5, 2, -14),
        Format::E3m2 => (3, 2, -2),
        Format::E2m3 => (2, 3, 0),
        Format::E2m1 => (2, 1, 0),
        Format::Ue5m3 => (5, 3, -14),
        Format::Ue8m0 | Format::S8 | Format::U8 | Format::S4 | Format::U4 => panic!("of another shape"),
    }
}

pub(crate) fn decode(format: Format, bits: u32) -> Number {
    if format == Format::Ue8m0 {
        return match bits {
            255 => Number::Nan,
            byte => Number::Finite { significand: 1, fraction: 0, exponent: byte.cast_signed() - 127 },
        };
    }
    let (exponent_bits, fraction, smallest) = shape(format);
    let bits = if format == Format::Tf32 { bits & !0x1FFF } else { bits };
    let unsigned = matches!(format, Format::Ue4m3 | Format::Ue5m3);
    let negative = !unsigned && bits >> (exponent_bits + fraction) & 1 == 1;
    let largest = (1 << exponent_bits) - 1;
    let (field, rest) = (bits >> fraction & largest, bits & ((1 << fraction) - 1));
    match format {
        Format::F16 | Format::Bf16 | Format::Tf32 | Format::F32 | Format::E5m2 if field == largest => {
            return if rest == 0 { Number::Infinite { negative } } else { Number::Nan };
        }
        Format::E4m3 | Format::Ue4m3 | Format::Ue5m3 if field == largest && rest + 1 == 1 << fraction => {
            return Number::Nan;
        }
        _ => {}
    }
    let leading = if field == 0 { 0 } else { 1 << fraction };
    let magnitude = i128::from(rest | leading);
    Number::Finite {
        significand: if negative { -magnitude } else { magnitude },
        fraction: fraction.cast_signed(),
        exponent: smallest + field.max(1).cast_signed() - 1,
    }
}

/// The same number as one of f16, whose normal numbers go down to 2^-14.
pub(crate) fn as_half(number: Number) -> Number {
    match number {
        Number::Finite { significand, fraction, exponent }
            if significand != 0 && significand.abs() < 1 << fraction && exponent > -14 =>
        {
            as_half(Number::Finite { significand: significand * 2, fraction, exponent: exponent - 1 })
        }
        other => other,
    }
}

/// The product of two numbers, not normalised.
pub(crate) fn product(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { negative }, other) | (other, Number::Infinite { negative }) => match other {
            Number::Finite { significand: 0, .. } => Number::Nan,
            Number::Finite { significand, .. } => {
                Number::Infinite { negative: negative != (significand < 0) }
            }
            Number::Infinite { negative: also } => Number::Infinite { negative: negative != also },
            Number::Nan => Number::Nan,
        },
        (
            Number::Finite { significand: s, fraction: f, exponent: e },
            Number::Finite { significand, fraction, exponent },
        ) => Number::Finite { significand: s * significand, fraction: f + fraction, exponent: e + exponent },
    }
}

pub(crate) fn negated(number: Number) -> Number {
    match number {
        Number::Nan => Number::Nan,
        Number::Infinite { negative } => Number::Infinite { negative: !negative },
        Number::Finite { significand, fraction, exponent } => {
            Number::Finite { significand: -significand, fraction, exponent }
        }
    }
}

/// The result of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Result {
    F32,
    /// With 13 bits of fraction.
    F32Short,
    F16,
}

/// The sum of terms as D, each cut to `fraction_bits` relative to the largest exponent.
pub(crate) fn sum(terms: &[Number], fraction_bits: i32, zero: i32, result: Result) -> u32 {
    let (nan, infinity, sign) = match result {
        Result::F32 | Result::F32Short => (0x7FFF_FFFF, 0x7F80_0000, 31),
        Result::F16 => (0x7FFF, 0x7C00, 15),
    };
    let has = |number| terms.contains(&number);
    let (up, down) = (Number::Infinite { negative: false }, Number::Infinite { negative: true });
    match (has(Number::Nan), has(up), has(down)) {
        (true, _, _) | (_, true, true) => return nan,
        (_, true, _) => return infinity,
        (_, _, true) => return infinity | 1 << sign,
        (false, false, false) => {}
    }
    let finite = terms.iter().map(|term| match *term {
        Number::Finite { significand: 0, .. } => (0, 0, zero),
        Number::Finite { significand, fraction, exponent } => (significand, fraction, exponent),
        Number::Nan | Number::Infinite { .. } => unreachable!("looked for above"),
    });
    let largest = finite.clone().map(|(_, _, exponent)| exponent).max().unwrap();
    let total: i128 = finite
        .map(|(significand, fraction, exponent)| {
            let shift = fraction_bits + exponent - largest - fraction;
            if shift >= 0 { significand << shift } else { significand / (1 << (-shift).min(126)) }
        })
        .sum();
    // The sum is total * 2^(largest - fraction_bits).
    let negative = total < 0;
    let bits = match result {
        Result::F32 => rounded(total.unsigned_abs(), largest - fraction_bits, (8, 23), false),
        Result::F32Short => rounded(total.unsigned_abs(), largest - fraction_bits, (8, 23), false) & !0x3FF,
        Result::F16 => rounded(total.unsigned_abs(), largest - fraction_bits, (5, 10), true),
    };
    if negative && bits != 0 { bits | 1 << sign } else { bits }
}

/// The bits of `magnitude * 2^exponent`, cut or rounded to nearest even.
fn rounded(magnitude: u128, exponent: i32, (exponent_bits, fraction): (u32, i32), nearest: bool) -> u32 {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let Some(top) = magnitude.checked_ilog2() else { return 0 };
    let unit = (exponent + top.cast_signed() - fraction).max(1 - bias - fraction);
    let shift = unit - exponent;
    let mut kept = if shift <= 0 {
        magnitude << -shift
    } else {
        magnitude.checked_shr(shift.unsigned_abs()).unwrap_or(0)
    };
    if nearest && shift > 0 && shift < 127 {
        let (rest, half) = (magnitude & ((1 << shift) - 1), 1 << (shift - 1));
        kept += u128::from(rest > half || rest == half && kept & 1 == 1);
    }
    let bits = ((unit - (1 - bias - fraction)) as u128) * (1 << fraction) + kept;
    let infinity = ((1 << exponent_bits) - 1) << fraction;
    if bits > infinity { infinity as u32 } else { bits as u32 }
}
