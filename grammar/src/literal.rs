//! The values of literals and constant expressions.
//!
//! Integers are 64 bits wide, signed or not, and wrap; floating-point numbers are double precision,
//! save those that are written as the bits of a single-precision one. Which is which the ISA says in
//! "Constants"; where it leaves something open, or `ptxas` does otherwise, this does as `ptxas`:
//! a shift takes its distance modulo 64, `%` is unsigned and so is its result, and `a ? b : c` is of the
//! type of what was chosen.

use crate::ast::{BinaryOperator, CastType, Module, Operand, OperandKind, UnaryOperator};
use crate::source::{Source, Span};

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// An integer of type `.s64`.
    Signed(i64),
    /// An integer of type `.u64`.
    Unsigned(u64),
    /// A number of type `.f64`.
    Double(f64),
    /// A number of type `.f32`, which only `0f` and eight digits write; no operator takes it.
    Single(f32),
}

impl Constant {
    /// The bits: 64 of them, or 32 of a [`Constant::Single`].
    pub const fn bits(self) -> u64 {
        match self {
            Self::Signed(value) => value.cast_unsigned(),
            Self::Unsigned(value) => value,
            Self::Double(value) => value.to_bits(),
            Self::Single(value) => value.to_bits() as u64,
        }
    }

    /// An integer in a type that is wide enough for both of PTX's; `None` for other numbers.
    pub fn integer(self) -> Option<i128> {
        match self {
            Self::Signed(value) => Some(value.into()),
            Self::Unsigned(value) => Some(value.into()),
            Self::Double(_) | Self::Single(_) => None,
        }
    }

    /// As double precision.
    pub fn double(self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(value),
            Self::Single(value) => Some(value.into()),
            Self::Signed(_) | Self::Unsigned(_) => None,
        }
    }

    /// As single precision: a double is rounded to the nearest, ties to even.
    #[allow(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
    pub const fn single(self) -> Option<f32> {
        match self {
            Self::Double(value) => Some(value as f32),
            Self::Single(value) => Some(value),
            Self::Signed(_) | Self::Unsigned(_) => None,
        }
    }
}

/// Reads an integer literal: decimal, octal, hexadecimal or binary, with an optional `U`.
///
/// PTX constants are 64 bits wide; a literal that does not fit has no value.
pub fn integer(text: &str) -> Option<u64> {
    /// So many decimal digits always fit.
    const SHORT: usize = 18;
    // Nearly all are short decimal numbers.
    if text.len() <= SHORT
        && let [b'1'..=b'9', rest @ ..] | rest @ [b'0'] = text.as_bytes()
        && rest.iter().all(u8::is_ascii_digit)
    {
        return Some(text.bytes().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')));
    }
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

/// The value of a short decimal number, as most are, which [`integer`] reads in the same way. A tree keeps
/// it, so that who asks for it need not read the text.
#[inline]
pub(crate) fn small(text: &str, number: Span) -> Option<u32> {
    /// So many digits always fit.
    const SHORT: u32 = 9;
    if number.len() > SHORT {
        return None;
    }
    let digits = text.as_bytes().get(number.range())?;
    // A leading zero makes it octal.
    if let [] | [b'0', _, ..] = digits {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0')))
}

/// Reads a floating-point literal: `1.5`, `1e3`, `0f3F800000`, `0d3FF0000000000000`.
///
/// `None` for one that is too large; the exact notations write infinities and NaNs, too.
pub fn float(text: &str) -> Option<Constant> {
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => {
            u32::from_str_radix(&text[2..], 16).ok().map(|bits| Constant::Single(f32::from_bits(bits)))
        }
        [b'0', b'd' | b'D', ..] => {
            u64::from_str_radix(&text[2..], 16).ok().map(|bits| Constant::Double(f64::from_bits(bits)))
        }
        _ => text.parse().ok().filter(|value: &f64| value.is_finite()).map(Constant::Double),
    }
}

/// The value of a constant integer expression as a number wide enough for both of PTX's 64-bit
/// types; `None` when it holds a name, a float, or a division by zero.
pub fn evaluate(source: &Source, module: &Module, operand: &Operand) -> Option<i128> {
    constant(source, module, operand)?.integer()
}

/// The value of a constant expression; `None` when it holds a name, mixes integers and other
/// numbers, or divides by zero.
pub fn constant(source: &Source, module: &Module, operand: &Operand) -> Option<Constant> {
    nested(source, module, operand, MAX_DEPTH)
}

/// The constant that has a name: how many threads a warp has.
const WARP_SIZE: &str = "WARP_SZ";

/// Deeper expressions have no value: a chain of operators can be as long as the file.
const MAX_DEPTH: u32 = 100;

fn nested(source: &Source, module: &Module, operand: &Operand, depth: u32) -> Option<Constant> {
    let depth = depth.checked_sub(1)?;
    // What is asked for most, and is soon answered.
    if operand.is_name() {
        let span = operand.span();
        let is_warp_size = span.len() as usize == WARP_SIZE.len() && source.slice(span) == WARP_SIZE;
        return is_warp_size.then_some(Constant::Signed(32));
    }
    if let Some(value) = operand.small_integer() {
        return Some(Constant::Signed(value.into()));
    }
    let parts = module.parts(operand);
    let value = |index: usize| nested(source, module, parts.get(index)?, depth);
    match operand.kind() {
        OperandKind::Integer => {
            let text = source.slice(operand.span());
            let number = integer(text)?;
            Some(match i64::try_from(number) {
                Ok(signed) if !text.ends_with('U') => Constant::Signed(signed),
                _ => Constant::Unsigned(number),
            })
        }
        OperandKind::Float => float(source.slice(operand.span())),
        OperandKind::List(_) if parts.len() == 1 => value(0),
        OperandKind::Cast(ty, _) => {
            let bits = value(0)?;
            bits.integer()?;
            match ty {
                CastType::U64 => Some(Constant::Unsigned(bits.bits())),
                CastType::S64 => Some(Constant::Signed(bits.bits().cast_signed())),
                CastType::Unknown => None,
            }
        }
        OperandKind::Unary(operator, _) => unary(operator, value(0)?),
        OperandKind::Binary(operator, _) => binary(operator, value(0)?, value(1)?),
        OperandKind::Conditional(_) => {
            if is_true(value(0)?)? {
                value(1)
            } else {
                value(2)
            }
        }
        OperandKind::Name
        | OperandKind::String
        | OperandKind::Sink
        | OperandKind::Vector(_)
        | OperandKind::Address(_)
        | OperandKind::List(_)
        | OperandKind::Apply(_)
        | OperandKind::Element(_) => None,
    }
}

fn is_true(value: Constant) -> Option<bool> {
    Some(value.integer()? != 0)
}

fn truth(value: bool) -> Constant {
    Constant::Signed(value.into())
}

fn unary(operator: UnaryOperator, argument: Constant) -> Option<Constant> {
    Some(match (operator, argument) {
        (_, Constant::Single(_)) => return None,
        (UnaryOperator::Plus, _) => argument,
        (UnaryOperator::Negate, Constant::Signed(value)) => Constant::Signed(value.wrapping_neg()),
        (UnaryOperator::Negate, Constant::Unsigned(value)) => Constant::Unsigned(value.wrapping_neg()),
        (UnaryOperator::Negate, Constant::Double(value)) => Constant::Double(-value),
        (UnaryOperator::Not, _) => truth(!is_true(argument)?),
        (UnaryOperator::Complement, Constant::Double(_)) => return None,
        (UnaryOperator::Complement, _) => Constant::Unsigned(!argument.bits()),
    })
}

fn binary(operator: BinaryOperator, left: Constant, right: Constant) -> Option<Constant> {
    match (left, right) {
        (Constant::Signed(a), Constant::Signed(b)) => signed(operator, a, b),
        (Constant::Double(a), Constant::Double(b)) => double(operator, a, b),
        (Constant::Signed(a), Constant::Unsigned(b)) if is_shift(operator) => {
            signed(operator, a, b.cast_signed())
        }
        (Constant::Signed(_) | Constant::Unsigned(_), Constant::Signed(_) | Constant::Unsigned(_)) => {
            unsigned(operator, left.bits(), right.bits())
        }
        _ => None,
    }
}

/// Whether the left argument alone decides about the type.
fn is_shift(operator: BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight)
}

fn signed(operator: BinaryOperator, a: i64, b: i64) -> Option<Constant> {
    let is_less = match operator {
        BinaryOperator::Divide => return a.checked_div(b).map(Constant::Signed),
        BinaryOperator::ShiftRight => return Some(Constant::Signed(a.wrapping_shr(b as u32))),
        BinaryOperator::Less => a < b,
        BinaryOperator::LessOrEqual => a <= b,
        BinaryOperator::Greater => a > b,
        BinaryOperator::GreaterOrEqual => a >= b,
        BinaryOperator::Remainder => return unsigned(operator, a.cast_unsigned(), b.cast_unsigned()),
        // The same bits as without a sign.
        BinaryOperator::Add
        | BinaryOperator::Subtract
        | BinaryOperator::Multiply
        | BinaryOperator::ShiftLeft
        | BinaryOperator::Equal
        | BinaryOperator::NotEqual
        | BinaryOperator::And
        | BinaryOperator::Xor
        | BinaryOperator::Or
        | BinaryOperator::LogicalAnd
        | BinaryOperator::LogicalOr
        | BinaryOperator::Question
        | BinaryOperator::Colon => {
            let value = unsigned(operator, a.cast_unsigned(), b.cast_unsigned())?;
            return Some(Constant::Signed(value.bits().cast_signed()));
        }
    };
    Some(truth(is_less))
}

fn unsigned(operator: BinaryOperator, a: u64, b: u64) -> Option<Constant> {
    Some(match operator {
        BinaryOperator::Add => Constant::Unsigned(a.wrapping_add(b)),
        BinaryOperator::Subtract => Constant::Unsigned(a.wrapping_sub(b)),
        BinaryOperator::Multiply => Constant::Unsigned(a.wrapping_mul(b)),
        BinaryOperator::Divide => Constant::Unsigned(a.checked_div(b)?),
        BinaryOperator::Remainder => Constant::Unsigned(a.checked_rem(b)?),
        BinaryOperator::ShiftLeft => Constant::Unsigned(a.wrapping_shl(b as u32)),
        BinaryOperator::ShiftRight => Constant::Unsigned(a.wrapping_shr(b as u32)),
        BinaryOperator::And => Constant::Unsigned(a & b),
        BinaryOperator::Xor => Constant::Unsigned(a ^ b),
        BinaryOperator::Or => Constant::Unsigned(a | b),
        BinaryOperator::Less => truth(a < b),
        BinaryOperator::LessOrEqual => truth(a <= b),
        BinaryOperator::Greater => truth(a > b),
        BinaryOperator::GreaterOrEqual => truth(a >= b),
        BinaryOperator::Equal => truth(a == b),
        BinaryOperator::NotEqual => truth(a != b),
        BinaryOperator::LogicalAnd => truth(a != 0 && b != 0),
        BinaryOperator::LogicalOr => truth(a != 0 || b != 0),
        BinaryOperator::Question | BinaryOperator::Colon => return None,
    })
}

#[allow(clippy::float_cmp, reason = "constants are compared as they are")]
fn double(operator: BinaryOperator, a: f64, b: f64) -> Option<Constant> {
    Some(match operator {
        BinaryOperator::Add => Constant::Double(a + b),
        BinaryOperator::Subtract => Constant::Double(a - b),
        BinaryOperator::Multiply => Constant::Double(a * b),
        BinaryOperator::Divide => Constant::Double((b != 0.0).then_some(a / b)?),
        BinaryOperator::Less => truth(a < b),
        BinaryOperator::LessOrEqual => truth(a <= b),
        BinaryOperator::Greater => truth(a > b),
        BinaryOperator::GreaterOrEqual => truth(a >= b),
        BinaryOperator::Equal => truth(a == b),
        BinaryOperator::NotEqual => truth(a != b),
        BinaryOperator::Remainder
        | BinaryOperator::ShiftLeft
        | BinaryOperator::ShiftRight
        | BinaryOperator::And
        | BinaryOperator::Xor
        | BinaryOperator::Or
        | BinaryOperator::LogicalAnd
        | BinaryOperator::LogicalOr
        | BinaryOperator::Question
        | BinaryOperator::Colon => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_short_number_is_read_like_any(text in "0?[0-9]{0,11}|0x[0-9a-f]{1,4}|[0-9]{1,3}U") {
            let span = Span::new(2, 2 + text.len() as u32);
            let value = small(&format!("- {text};"), span);
            if let Some(value) = value {
                prop_assert_eq!(integer(&text), Some(value.into()));
            }
            let is_short = (1..10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(value.is_some(), is_short && (text.len() == 1 || !text.starts_with('0')));
        }
    }
}
