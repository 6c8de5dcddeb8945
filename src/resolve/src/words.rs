//! Words for people: what messages of all layers share.

use std::borrow::Cow;

mod names;

pub use names::{called, declaration, demangled};

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

/// Numbers in ascending order, those that follow each other as a range: `0, 2-5`.
pub fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// How many keystrokes one word is from another (Damerau and Levenshtein's distance), if that is at most `most`. Where
/// words have little in common, that costs next to nothing: a file can have as many misspelt words as lines.
pub fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    if is_far(Letters::of(one.chars()), Letters::of(other.chars()), most) {
        return None;
    }
    Some(strsim::damerau_levenshtein(one, other)).filter(|distance| *distance <= most)
}

/// What a word is made of.
#[derive(Clone, Copy)]
struct Letters {
    /// How many characters it has; enough of them.
    count: usize,
    /// A bit for each character that it has, or that is alike.
    kinds: u64,
}

impl Letters {
    fn of(characters: impl Iterator<Item = char>) -> Self {
        /// No name is as long.
        const ENOUGH: usize = 256;
        let nothing = Self { count: 0, kinds: 0 };
        characters.take(ENOUGH).fold(nothing, |Self { count, kinds }, character| Self {
            count: count + 1,
            kinds: kinds | 1 << (character as u32 % u64::BITS),
        })
    }
}

/// Whether more than `most` keystrokes lie between two words, as far as that is seen at their letters. A keystroke makes
/// a word longer or shorter by one, and brings in one letter, or takes one away, or both.
fn is_far(one: Letters, other: Letters, most: usize) -> bool {
    let added = (other.kinds & !one.kinds).count_ones() as usize;
    let removed = (one.kinds & !other.kinds).count_ones() as usize;
    one.count.abs_diff(other.count).max(added).max(removed) > most
}

/// Of some names those that a word is the closest to, if it is close: one keystroke beside one of them, in wrong case,
/// with one `:` for two. Each once, in their order.
pub fn similar<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: String = normal(word).collect();
    let allowed = match wanted.len() {
        0 => return Vec::new(),
        1..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    let mut least = allowed.min(wanted.len() - 1);
    let mut found: Vec<&str> = Vec::new();
    let letters = Letters::of(wanted.chars());
    for name in names {
        if is_far(Letters::of(normal(name)), letters, least) {
            continue;
        }
        let distance = strsim::damerau_levenshtein(&normal(name).collect::<String>(), &wanted);
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

/// A word without what is often written otherwise.
fn normal(text: &str) -> impl Iterator<Item = char> {
    let letters = text.chars().filter(|character| !matches!(character, ':' | '_' | '-'));
    letters.map(|letter| letter.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_all_pairs_that_are_near() {
        let words = [
            "", "a", "ab", "ba", "abc", "acb", "wait::ld", "wait_ld", "tiaw::ld", "é", "éa", "aé",
            "mbarrier", "mbarier",
        ];
        for one in words {
            for other in words {
                let whole = strsim::damerau_levenshtein(one, other);
                for most in 0..10 {
                    let expected = (whole <= most).then_some(whole);
                    assert_eq!(distance(one, other, most), expected, "{one} {other} {most}");
                }
            }
        }
        assert_eq!(distance(&"x".repeat(1 << 20), "mma", 2), None);
    }
}
