//! Words for people: what messages of all layers share.

use std::borrow::Cow;

/// `1 register`, `2 registers`
pub fn plural(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Joins words as prose does: `a`, `a or b`, `a, b or c`.
pub fn list_words<'a, I>(words: I, conjunction: &str) -> String
where
    I: IntoIterator,
    I::Item: Into<Cow<'a, str>>,
{
    let words: Vec<Cow<'a, str>> = words.into_iter().map(Into::into).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.to_string(),
        [head @ .., last] => format!("{} {conjunction} {last}", head.join(", ")),
    }
}
