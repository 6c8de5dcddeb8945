//! The constants of a file, where operands are numbers.

use rustc_hash::FxHashMap;

use super::expressions::evaluate;
use super::macros::Macros;

/// The constants that a file defines.
#[derive(Debug)]
pub(super) struct Constants<'s> {
    text: &'s str,
    /// Read once somebody asks.
    known: Option<FxHashMap<&'s str, Option<i128>>>,
    /// The same for what computed values are made of.
    initializers: Option<FxHashMap<&'s str, Option<&'s str>>>,
}

impl<'s> Constants<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self { text, known: None, initializers: None }
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

    /// The value of an expression of constants, where nothing demands that it is one: a variable may have the name of a
    /// constant elsewhere, and then neither is known.
    pub(super) fn computed(&mut self, expression: &'s str, macros: &Macros<'s>) -> Option<i128> {
        let text = self.text;
        evaluate(expression, &mut |name| {
            let value = macros.value(name);
            value.or_else(|| *self.initializers.get_or_insert_with(|| initializers(text)).get(name)?)
        })
    }
}

/// The text of every `const T name = ...;` and `constexpr T name = ...;`. A name that is declared otherwise, too, has none.
fn initializers(text: &str) -> FxHashMap<&str, Option<&str>> {
    /// No declaration is longer.
    const LONGEST: usize = 400;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut known: FxHashMap<&str, Option<&str>> = FxHashMap::default();
    // Where names of constants are declared.
    let mut declared = Vec::new();
    for at in memchr::memmem::find_iter(text.as_bytes(), b"const") {
        if text[..at].ends_with(is_word) {
            continue;
        }
        let bytes = &text.as_bytes()[at..text.len().min(at + LONGEST)];
        let Some(stop) = memchr::memchr(b';', bytes) else { continue };
        let Some((left, right)) = text.get(at..at + stop).and_then(|it| it.split_once('=')) else { continue };
        if left.contains(|c: char| !is_word(c) && !c.is_ascii_whitespace() && c != ':') {
            continue;
        }
        let left = left.trim_end();
        let name = &left[left.rfind(|c| !is_word(c)).map_or(0, |at| at + 1)..];
        if name.is_empty() || name.starts_with("const") {
            continue;
        }
        declared.push(at + left.len() - name.len());
        let value = Some(right.trim());
        known.entry(name).and_modify(|it| *it = it.filter(|it| Some(*it) == value)).or_insert(value);
    }
    shadow(text, &declared, &mut known);
    known
}

/// Takes the value of names that are declared elsewhere, too: behind a type, as `unsigned name` and `T* name`.
fn shadow<'s>(text: &'s str, declared: &[usize], known: &mut FxHashMap<&'s str, Option<&'s str>>) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut at = 0;
    // The last byte before the word that is not white space.
    let mut before = b';';
    let mut last = "";
    while at < bytes.len() {
        let start = at;
        if !is_word(bytes[at]) {
            if !bytes[at].is_ascii_whitespace() {
                before = bytes[at];
            }
            at += 1;
            continue;
        }
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        let Some(word) = text.get(start..at) else { continue };
        let is_behind_type = is_word(before) && !matches!(last, "return" | "case" | "else" | "define")
            || matches!(before, b'*' | b'&' | b'>');
        if is_behind_type
            && let Some(value) = known.get_mut(word)
            && declared.binary_search(&start).is_err()
        {
            *value = None;
        }
        (before, last) = (bytes[at - 1], word);
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
pub(super) fn integer(text: &str) -> Option<i128> {
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
