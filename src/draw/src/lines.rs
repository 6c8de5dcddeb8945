//! Lines of text.

/// How many characters a text has.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// Lines of at most so many characters, broken at blanks.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `0-31`, or `7` for one.
pub(crate) fn span(first: u32, count: u32) -> String {
    if count <= 1 { first.to_string() } else { format!("{first}-{}", first + count - 1) }
}

/// At most so many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(3)).collect();
    format!("{kept}...")
}

/// An opcode without the words that say little in a picture.
pub(crate) fn brief(opcode: &str) -> String {
    const LITTLE: [&str; 12] = [
        "sync",
        "aligned",
        "b32",
        "b64",
        "shared::cta",
        "shared::cluster",
        "global",
        "tile",
        "cta_group::1",
        "mbarrier::arrive::one",
        "mbarrier::complete_tx::bytes",
        "parity",
    ];
    let words: Vec<&str> = opcode.split('.').filter(|word| !LITTLE.contains(word)).collect();
    words.join(".")
}
