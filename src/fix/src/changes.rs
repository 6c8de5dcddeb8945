//! What differs between two versions of a text, as those know it who changed it.
//!
//! Two texts can be compared for what differs, but that takes long where much does. Whoever makes edits
//! knows where they are, in any number of rounds.

use std::ops::Range;

/// A part of a text that was replaced: from the byte in the text before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was replaced.
    pub before: Range<usize>,
    /// By what.
    pub after: Range<usize>,
}

/// The changes of two rounds as those of one, in their order: `first` leads to the text that `second` is
/// about.
#[must_use]
pub fn followed_by(first: Vec<Change>, second: Vec<Change>) -> Vec<Change> {
    let mut joined: Vec<Change> = Vec::with_capacity(first.len() + second.len());
    let mut firsts = first.into_iter().peekable();
    let mut seconds = second.into_iter().peekable();
    // Up to where changes were seen: in the text between, and in the one before, or after.
    let (mut old, mut new) = ((0, 0), (0, 0));
    let moved = |place: usize, (from, to): (usize, usize)| to + (place - from);
    loop {
        // What was changed twice, and all that touches it, is one change: a range of the text between.
        let starts = [firsts.peek().map(|it| it.after.start), seconds.peek().map(|it| it.before.start)];
        let Some(start) = starts.into_iter().flatten().min() else { return joined };
        let (before, after) = (moved(start, old), moved(start, new));
        let mut end = start;
        loop {
            if let Some(it) = firsts.next_if(|it| it.after.start <= end) {
                end = end.max(it.after.end);
                old = (it.after.end, it.before.end);
            } else if let Some(it) = seconds.next_if(|it| it.before.start <= end) {
                end = end.max(it.before.end);
                new = (it.before.end, it.after.end);
            } else {
                break;
            }
        }
        joined.push(Change { before: before..moved(end, old), after: after..moved(end, new) });
    }
}

/// Where white space differs between two texts that are the same otherwise; `None` if they are not.
#[must_use]
pub fn of_white_space(before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
    let blank_from = |text: &[u8], mut at: usize| {
        while let Some(length) = blank(&text[at..]) {
            at += length;
        }
        at
    };
    let mut changes = Vec::new();
    let (mut at, mut then) = (0, 0);
    loop {
        let (end, then_end) = (blank_from(before, at), blank_from(after, then));
        if before[at..end] != after[then..then_end] {
            changes.push(Change { before: at..end, after: then..then_end });
        }
        (at, then) = (end, then_end);
        match (before.get(at), after.get(then)) {
            (None, None) => return Some(changes),
            (Some(one), Some(other)) if one == other => (at, then) = (at + 1, then + 1),
            (Some(_) | None, Some(_) | None) => return None,
        }
    }
}

/// How many bytes the white space takes that a text starts with, if it does.
fn blank(text: &[u8]) -> Option<usize> {
    match text {
        [b'\t'..=b'\r' | b' ', ..] => Some(1),
        [0..0x80, ..] | [] => None,
        _ => (2..=text.len().min(4)).find_map(|length| {
            let character = std::str::from_utf8(&text[..length]).ok()?.chars().next()?;
            character.is_whitespace().then_some(length)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit as make;
    use ptx_check::diagnostic::Edit;
    use ptx_check::source::Span;

    fn edit(start: u32, end: u32, text: &str) -> Edit {
        Edit { span: Span::new(start, end), text: text.to_owned() }
    }

    /// The text before with each change made.
    fn made(before: &[u8], after: &[u8], changes: &[Change]) -> Vec<u8> {
        let (mut text, mut done) = (Vec::new(), 0);
        for change in changes {
            text.extend_from_slice(&before[done..change.before.start]);
            assert_eq!(text.len(), change.after.start);
            text.extend_from_slice(&after[change.after.clone()]);
            done = change.before.end;
        }
        text.extend_from_slice(&before[done..]);
        text
    }

    fn change(before: Range<usize>, after: Range<usize>) -> Change {
        Change { before, after }
    }

    #[test]
    fn rounds_are_joined() {
        let before = b"one two three four five".to_vec();
        let rounds = [
            vec![edit(4, 7, "2"), edit(14, 18, "fourth"), edit(23, 23, "!")],
            vec![edit(0, 3, ""), edit(4, 5, "second"), edit(12, 14, "F")],
            vec![edit(3, 3, "<"), edit(9, 10, ">")],
            vec![],
        ];
        let (mut text, mut changes) = (before.clone(), Vec::new());
        for round in &rounds {
            let edited = make(&text, round);
            changes = followed_by(changes, edited.changes);
            text = edited.bytes;
            assert_eq!(made(&before, &text, &changes), text);
            assert!(changes.windows(2).all(|pair| pair[0].before.end < pair[1].before.start));
        }
        assert_eq!(changes.len(), 5, "{changes:?}");
    }

    #[test]
    fn white_space_alone() {
        let changes = of_white_space(b" a;\n b ;\n", b"a;\n    b;\n").unwrap();
        assert_eq!(changes, [change(0..1, 0..0), change(3..5, 2..7), change(6..7, 8..8)]);
        assert_eq!(made(b" a;\n b ;\n", b"a;\n    b;\n", &changes), b"a;\n    b;\n");
        assert_eq!(of_white_space(b"a b", b"a c"), None);
        assert_eq!(of_white_space(b"a b", b"a b c"), None);
        assert_eq!(of_white_space(b"", b"\n"), Some(vec![change(0..0, 0..1)]));
        let changes = of_white_space("// a\u{a0}\u{3000}\n\u{e9}\n".as_bytes(), "// a\n\u{e9}\n".as_bytes());
        assert_eq!(changes, Some(vec![change(4..10, 4..5)]));
    }
}
