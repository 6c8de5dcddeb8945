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

/// Of some names those that a word is the closest to, if it is close: one keystroke beside one of them, in wrong case,
/// with one `:` for two. Each once, in their order.
pub(crate) fn similar<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let normal = |text: &str| text.to_ascii_lowercase().replace(':', "").replace(['_', '-'], "");
    let wanted = normal(word);
    let allowed = match wanted.len() {
        0 => return Vec::new(),
        1..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    let mut least = allowed.min(wanted.len() - 1);
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        let distance = strsim::damerau_levenshtein(&normal(name), &wanted);
        if distance < least {
            found.clear();
            least = distance;
        }
        if distance == least && name != word && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
