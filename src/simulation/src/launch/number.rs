//! Numbers among the arguments of launches: in the bytes of their types.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// A number that is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// Another number.
    Float(f64),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = Number;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Integer(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number::Integer(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Float(value) if value.abs() >= 1e16 => write!(formatter, "{value:e}"),
            Self::Float(value) => write!(formatter, "{value}"),
        }
    }
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// An integer without a sign, of so many bytes: 1, 2, 4 or 8.
    Unsigned(u32),
    /// An integer with a sign.
    Signed(u32),
    /// So many bytes that hold an integer with or without a sign.
    Bits(u32),
    /// Half precision.
    Half,
    /// The upper half of a single.
    Bfloat,
    /// Single precision.
    Single,
    /// Double precision.
    Double,
}

/// Why a number does not fit a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberError {
    /// Why.
    pub message: String,
    /// What would.
    pub help: String,
}

impl fmt::Display for NumberError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.message, self.help)
    }
}

impl std::error::Error for NumberError {}

impl NumberType {
    /// As launch files name them.
    const NAMES: [(&'static str, Self); 20] = [
        ("u8", Self::Unsigned(1)),
        ("u16", Self::Unsigned(2)),
        ("u32", Self::Unsigned(4)),
        ("u64", Self::Unsigned(8)),
        ("i8", Self::Signed(1)),
        ("i16", Self::Signed(2)),
        ("i32", Self::Signed(4)),
        ("i64", Self::Signed(8)),
        ("s8", Self::Signed(1)),
        ("s16", Self::Signed(2)),
        ("s32", Self::Signed(4)),
        ("s64", Self::Signed(8)),
        ("b8", Self::Bits(1)),
        ("b16", Self::Bits(2)),
        ("b32", Self::Bits(4)),
        ("b64", Self::Bits(8)),
        ("f16", Self::Half),
        ("bf16", Self::Bfloat),
        ("f32", Self::Single),
        ("f64", Self::Double),
    ];

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// The type that a launch file names so.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty)
    }

    /// The type of a parameter in PTX. Compilers write integers of C with a sign and without one alike.
    pub fn of_parameter(ty: &str) -> Option<Self> {
        Some(match Self::named(ty)? {
            Self::Unsigned(bytes) => Self::Bits(bytes),
            other => other,
        })
    }

    /// Its size.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Bits(bytes) => bytes,
            Self::Half | Self::Bfloat => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The bytes of a number.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn encode(self, number: Number) -> Result<Vec<u8>, NumberError> {
        let float = match number {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        };
        let is_too_large = |is_infinite: bool| {
            if is_infinite && float.is_finite() {
                Err(NumberError {
                    message: format!("{number} does not fit {self}"),
                    help: "write `inf` if infinity is meant".to_owned(),
                })
            } else {
                Ok(())
            }
        };
        match self {
            Self::Unsigned(_) | Self::Signed(_) | Self::Bits(_) => {
                let Number::Integer(value) = number else {
                    return Err(NumberError {
                        message: format!("{number} is no integer, and the value of {self} is one"),
                        help: "give an integer, or the bytes".to_owned(),
                    });
                };
                let (least, most) = self.range();
                if !(least..=most).contains(&value) {
                    return Err(NumberError {
                        message: format!("{value} does not fit {self}"),
                        help: format!("{self} is {least} to {most}"),
                    });
                }
                Ok(value.to_le_bytes()[..self.bytes() as usize].to_vec())
            }
            Self::Half => {
                let bits = narrowed(float, 10, -14);
                is_too_large(bits & 0x7FFF == 0x7C00).map(|()| bits.to_le_bytes().to_vec())
            }
            Self::Bfloat => {
                let bits = narrowed(float, 7, -126);
                is_too_large(bits & 0x7FFF == 0x7F80).map(|()| bits.to_le_bytes().to_vec())
            }
            Self::Single => {
                let single = float as f32;
                is_too_large(single.is_infinite()).map(|()| single.to_le_bytes().to_vec())
            }
            Self::Double => Ok(float.to_le_bytes().to_vec()),
        }
    }

    /// The least and the largest integer.
    fn range(self) -> (i128, i128) {
        let bits = self.bytes() * 8;
        let (signed, unsigned) = (1_i128 << (bits - 1), 1_i128 << bits);
        match self {
            Self::Unsigned(_) => (0, unsigned - 1),
            Self::Signed(_) => (-signed, signed - 1),
            Self::Bits(_) | Self::Half | Self::Bfloat | Self::Single | Self::Double => {
                (-signed, unsigned - 1)
            }
        }
    }
}

impl fmt::Display for NumberType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(bytes) => write!(formatter, "a `u{}`", bytes * 8),
            Self::Signed(bytes) => write!(formatter, "an `s{}`", bytes * 8),
            Self::Bits(bytes) => write!(formatter, "a number of {} bits", bytes * 8),
            Self::Half => formatter.write_str("an `f16`"),
            Self::Bfloat => formatter.write_str("a `bf16`"),
            Self::Single => formatter.write_str("an `f32`"),
            Self::Double => formatter.write_str("an `f64`"),
        }
    }
}

/// A number with a fraction of so many bits, and the exponent of its least normal number: the nearest, and the even one of
/// two. The sign is in the highest bit of 16.
fn narrowed(value: f64, fraction: i32, least: i32) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    // All bits of the exponent.
    let infinity = (0x7FFF >> fraction) << fraction;
    if value.is_nan() {
        return sign | infinity | 1 << (fraction - 1);
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    let exponent = ((value.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(least);
    let quanta = (value.abs() / 2_f64.powi(exponent - fraction)).round_ties_even();
    // A carry of the fraction raises the exponent.
    let bits = f64::from((exponent - least) << fraction) + quanta;
    sign | if bits >= f64::from(infinity) { infinity } else { bits as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a code is, by the definition of the format.
    fn value(code: u16, fraction: i32, least: i32) -> f64 {
        let exponent = i32::from(code >> fraction);
        let significand = f64::from(code & ((1 << fraction) - 1)) / 2_f64.powi(fraction);
        match exponent {
            0 => significand * 2_f64.powi(least),
            _ => (1.0 + significand) * 2_f64.powi(exponent - 1 + least),
        }
    }

    fn all(ty: NumberType, fraction: i32, least: i32, codes: u16) {
        let encoded = |value: f64| {
            let bytes = ty.encode(Number::Float(value)).expect("it fits");
            u16::from_le_bytes(bytes.try_into().expect("two bytes"))
        };
        for code in 0..codes {
            let exact = value(code, fraction, least);
            assert_eq!(encoded(exact), code);
            assert_eq!(encoded(-exact), code | 0x8000);
            if code + 1 < codes {
                let next = value(code + 1, fraction, least);
                let half = f64::midpoint(exact, next);
                assert_eq!(encoded(half), code + (code & 1), "a tie after {code:#x}");
                assert_eq!(encoded(half.next_down()), code);
                assert_eq!(encoded(half.next_up()), code + 1);
            }
        }
    }

    #[test]
    fn narrow_numbers_are_rounded_to_the_nearest() {
        all(NumberType::Half, 10, -14, 0x7C00);
        all(NumberType::Bfloat, 7, -126, 0x7F80);
        let half = |value| NumberType::Half.encode(Number::Float(value));
        assert_eq!(half(f64::INFINITY).expect("infinity"), [0x00, 0x7C]);
        assert_eq!(half(f64::NAN).expect("NaN"), [0x00, 0x7E]);
        // The largest is 65504, and half a step more becomes infinity.
        assert!(half(65519.9).is_ok() && half(65520.0).is_err());
    }

    #[test]
    fn integers_fit_or_are_refused() {
        for (name, least, most) in [
            ("u8", 0, 255),
            ("s8", -128, 127),
            ("b8", -128, 255),
            ("u64", 0, u64::MAX.into()),
            ("i64", i64::MIN.into(), i64::MAX.into()),
        ] {
            let ty = NumberType::named(name).expect(name);
            for value in [least, most] {
                let bytes = ty.encode(Number::Integer(value)).expect(name);
                assert_eq!(bytes, value.to_le_bytes()[..ty.bytes() as usize], "{name}");
            }
            for value in [least - 1, most + 1] {
                let error = ty.encode(Number::Integer(value)).expect_err(name);
                assert!(error.help.contains(&format!("is {least} to {most}")), "{error}");
            }
            assert!(ty.encode(Number::Float(1.0)).is_err(), "{name}");
        }
        assert_eq!(NumberType::of_parameter("u32"), Some(NumberType::Bits(4)));
        assert_eq!(NumberType::of_parameter("s32"), Some(NumberType::Signed(4)));
        assert_eq!(NumberType::of_parameter("pred"), None);
    }
}
