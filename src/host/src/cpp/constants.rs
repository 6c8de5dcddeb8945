//! The constants of a file, where operands are numbers.

use rustc_hash::FxHashMap;

use super::macros::Macros;

/// The constants that a file defines.
#[derive(Debug)]
pub(super) struct Constants<'s> {
    text: &'s str,
    /// Read once somebody asks.
    known: Option<FxHashMap<&'s str, Option<i128>>>,
}

impl<'s> Constants<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, known: None }
    }

    /// The value of an expression, if it is a number or the name of one.
    pub(super) fn value(&mut self, expression: &str, macros: &Macros<'s>) -> Option<i128> {
        let expression = expression.trim();
        let number = |text: &str| integer(text.trim().trim_start_matches('(').trim_end_matches(')'));
        if let Some(value) = number(expression) {
            return Some(value);
        }
        let is_name = !expression.is_empty()
            && expression.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return None;
        }
        if let Some(value) = macros.value(expression).and_then(number) {
            return Some(value);
        }
        let text = self.text;
        *self.known.get_or_insert_with(|| constants(text)).get(expression)?
    }
}

/// Every `constexpr T name = number;`. A name with two values has none.
fn constants(text: &str) -> FxHashMap<&str, Option<i128>> {
    /// No declaration of a number is longer.
    const LONGEST: usize = 200;
    let mut known = FxHashMap::default();
    for at in memchr::memmem::find_iter(text.as_bytes(), b"constexpr") {
        let end = text.len().min(at + LONGEST);
        let bytes = &text.as_bytes()[at..end];
        let Some(stop) = memchr::memchr3(b';', b'{', b'(', bytes).filter(|stop| bytes[*stop] == b';') else {
            continue;
        };
        let Some((left, right)) = text.get(at..at + stop).and_then(|it| it.split_once('=')) else { continue };
        let name = left.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
        let (Some(name), value) = (name.filter(|name| !name.is_empty()), integer(right.trim())) else {
            continue;
        };
        known
            .entry(name)
            .and_modify(|known| {
                if *known != value {
                    *known = None;
                }
            })
            .or_insert(value);
    }
    known
}

/// A number of C++.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits.trim_start()),
        None => (1, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = digits.replace('\'', "");
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L', 'z', 'Z']);
    let radix = |prefix: &str, radix| {
        let digits = digits.strip_prefix(prefix).or_else(|| digits.strip_prefix(&prefix.to_uppercase()))?;
        i128::from_str_radix(digits, radix).ok()
    };
    let value = radix("0x", 16).or_else(|| radix("0b", 2));
    let value = value.or_else(|| match digits.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(octal) => i128::from_str_radix(octal, 8).ok(),
        None => digits.parse().ok(),
    });
    value.map(|value| sign * value)
}
