//! The values of integer literals and constant expressions.

use crate::ast::{BinaryOperator, Module, Operand, OperandKind, UnaryOperator};
use crate::source::Source;

/// Reads an integer literal: decimal, octal, hexadecimal or binary, with an optional `U`.
///
/// PTX constants are 64 bits wide; a literal that does not fit has no value.
pub fn integer(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

/// The value of a constant integer expression as a signed number wide enough for both of PTX's
/// 64-bit types; `None` when it holds a name, a float, a division by zero, or overflows.
pub fn evaluate(source: &Source, module: &Module, operand: &Operand) -> Option<i128> {
    nested(source, module, operand, MAX_DEPTH)
}

/// Deeper expressions have no value: a chain of operators can be as long as the file.
const MAX_DEPTH: u32 = 100;

fn nested(source: &Source, module: &Module, operand: &Operand, depth: u32) -> Option<i128> {
    let depth = depth.checked_sub(1)?;
    let value = |part: &Operand| nested(source, module, part, depth);
    let parts = module.parts(operand);
    match (operand.kind, parts) {
        (OperandKind::Integer, _) => integer(source.slice(operand.span)).map(i128::from),
        (OperandKind::Name, _) if source.slice(operand.span) == "WARP_SZ" => Some(32),
        (OperandKind::List(_) | OperandKind::Cast(_), [only]) => value(only),
        (OperandKind::Unary(operator, _), [only]) => {
            let argument = value(only)?;
            Some(match operator {
                UnaryOperator::Negate => argument.checked_neg()?,
                UnaryOperator::Plus => argument,
                UnaryOperator::Not => i128::from(argument == 0),
                UnaryOperator::Complement => !argument,
            })
        }
        (OperandKind::Binary(operator, _), [left, right]) => binary(operator, value(left)?, value(right)?),
        (OperandKind::Conditional(_), [condition, then, otherwise]) => {
            if value(condition)? != 0 {
                value(then)
            } else {
                value(otherwise)
            }
        }
        _ => None,
    }
}

fn binary(operator: BinaryOperator, left: i128, right: i128) -> Option<i128> {
    let shift = || u32::try_from(right).ok().filter(|&bits| bits < 64);
    match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Divide => left.checked_div(right),
        BinaryOperator::Remainder => left.checked_rem(right),
        BinaryOperator::ShiftLeft => left.checked_mul(1 << shift()?),
        BinaryOperator::ShiftRight => Some(left >> shift()?),
        BinaryOperator::Less => Some(i128::from(left < right)),
        BinaryOperator::LessOrEqual => Some(i128::from(left <= right)),
        BinaryOperator::Greater => Some(i128::from(left > right)),
        BinaryOperator::GreaterOrEqual => Some(i128::from(left >= right)),
        BinaryOperator::Equal => Some(i128::from(left == right)),
        BinaryOperator::NotEqual => Some(i128::from(left != right)),
        BinaryOperator::And => Some(left & right),
        BinaryOperator::Xor => Some(left ^ right),
        BinaryOperator::Or => Some(left | right),
        BinaryOperator::LogicalAnd => Some(i128::from(left != 0 && right != 0)),
        BinaryOperator::LogicalOr => Some(i128::from(left != 0 || right != 0)),
        BinaryOperator::Question | BinaryOperator::Colon => None,
    }
}
