//! Changes as a patch: the format that `patch` and `git apply` read.

use std::ops::Range;

use ptx_fix::changes::Change;

/// How many lines that stay are shown around those that change.
const CONTEXT: usize = 3;

/// A text in lines.
struct Lines<'t> {
    text: &'t [u8],
    /// Where each line starts.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t [u8]) -> Self {
        let behind = memchr::memchr_iter(b'\n', text).map(|at| at + 1);
        let starts = std::iter::once(0).chain(behind).filter(|start| *start < text.len()).collect();
        Self { text, starts }
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    fn line(&self, index: usize) -> &'t [u8] {
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        &self.text[self.starts[index]..end]
    }

    /// The line that a byte is in; behind a last line that has an end, the one that would follow.
    fn at(&self, byte: usize) -> usize {
        if byte == self.text.len() && self.text.ends_with(b"\n") {
            return self.len();
        }
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The lines that a range of bytes touches.
    fn touched(&self, bytes: &Range<usize>) -> Range<usize> {
        self.at(bytes.start)..(self.at(bytes.end) + 1).min(self.len())
    }
}

/// Lines that are replaced by others.
#[derive(Debug, PartialEq, Eq)]
struct Replaced {
    before: Range<usize>,
    after: Range<usize>,
}

/// The lines that differ, as few as the changes allow.
fn replaced(before: &Lines<'_>, after: &Lines<'_>, changes: &[Change]) -> Vec<Replaced> {
    let mut found: Vec<Replaced> = Vec::new();
    for change in changes {
        let same = common(before.text, after.text, change);
        let (old, new) = (before.touched(&same.before), after.touched(&same.after));
        match found.last_mut() {
            Some(last) if old.start < last.before.end || new.start < last.after.end => {
                last.before.end = last.before.end.max(old.end);
                last.after.end = last.after.end.max(new.end);
            }
            _ => found.push(Replaced { before: old, after: new }),
        }
    }
    for it in &mut found {
        let both = it.before.len().min(it.after.len());
        let is_same = |one: usize, other: usize| before.line(one) == after.line(other);
        let first = (0..both).take_while(|by| is_same(it.before.start + by, it.after.start + by)).count();
        (it.before.start, it.after.start) = (it.before.start + first, it.after.start + first);
        let last = (0..both - first).take_while(|by| is_same(it.before.end - 1 - by, it.after.end - 1 - by));
        let last = last.count();
        (it.before.end, it.after.end) = (it.before.end - last, it.after.end - last);
    }
    found.retain(|it| !it.before.is_empty() || !it.after.is_empty());
    // What follows directly belongs together: lines go first, then lines come.
    found.dedup_by(|next, last| {
        let follows = last.before.end == next.before.start && last.after.end == next.after.start;
        if follows {
            (last.before.end, last.after.end) = (next.before.end, next.after.end);
        }
        follows
    });
    found
}

/// A change without the bytes that it leaves as they are at both ends.
fn common(before: &[u8], after: &[u8], change: &Change) -> Change {
    let (old, new) = (&before[change.before.clone()], &after[change.after.clone()]);
    let first = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[first..], &new[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    Change {
        before: change.before.start + first..change.before.end - last,
        after: change.after.start + first..change.after.end - last,
    }
}

/// The patch that makes `after` of the file `name` with the text `before`; empty if both are the same.
pub(crate) fn patch(name: &str, before: &[u8], after: &[u8], changes: &[Change]) -> Vec<u8> {
    let (before, after) = (Lines::new(before), Lines::new(after));
    let replaced = replaced(&before, &after, changes);
    if replaced.is_empty() {
        return Vec::new();
    }
    let name = quoted(name);
    let mut out = format!("--- {name}\n+++ {name}\n").into_bytes();
    // What is shown around two changes may not be shown twice.
    for hunk in replaced.chunk_by(|one, other| other.before.start < one.before.end + 2 * CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let shown = first.before.start.min(CONTEXT);
        let behind = (before.len() - last.before.end).min(CONTEXT);
        let old = first.before.start - shown..last.before.end + behind;
        let new = first.after.start - shown..last.after.end + behind;
        out.extend_from_slice(format!("@@ -{} +{} @@\n", range(&old), range(&new)).as_bytes());
        let mut stays = old.start;
        for it in hunk {
            add_lines(&mut out, b' ', &before, stays..it.before.start);
            add_lines(&mut out, b'-', &before, it.before.clone());
            add_lines(&mut out, b'+', &after, it.after.clone());
            stays = it.before.end;
        }
        add_lines(&mut out, b' ', &before, stays..old.end);
    }
    out
}

fn add_lines(out: &mut Vec<u8>, sign: u8, lines: &Lines<'_>, range: Range<usize>) {
    for line in range.map(|index| lines.line(index)) {
        if sign != b' ' || line != b"\n" {
            out.push(sign);
        }
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Some lines, which are counted from 1; of none, the line before them.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// A name as a patch has it, with quotation marks if it has characters that would end it.
fn quoted(name: &str) -> String {
    let is_special = |character: char| character.is_ascii_control() || matches!(character, '"' | '\\');
    if !name.contains(is_special) {
        return name.to_owned();
    }
    let escaped = |character: char| match character {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        '"' | '\\' => format!("\\{character}"),
        other if other.is_ascii_control() => format!("\\{:03o}", other as u32),
        other => other.to_string(),
    };
    format!("\"{}\"", name.chars().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_check::diagnostic::Edit;
    use ptx_check::source::Span;
    use ptx_fix::changes;

    fn patched(before: &str, after: &str, changes: &[Change]) -> String {
        String::from_utf8(patch("k.ptx", before.as_bytes(), after.as_bytes(), changes)).unwrap()
    }

    /// What a comparison of both texts finds.
    fn compared(before: &str, after: &str) -> String {
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename("k.ptx").set_modified_filename("k.ptx");
        options.create_patch(before, after).to_string()
    }

    fn of_white_space(before: &str, after: &str) -> String {
        let changes = changes::of_white_space(before.as_bytes(), after.as_bytes()).unwrap();
        patched(before, after, &changes)
    }

    #[test]
    fn as_if_both_texts_were_compared() {
        let numbered = |count: usize| (0..count).map(|it| format!("line {it};\n")).collect::<String>();
        let twenty = numbered(20);
        for (before, after) in [
            ("a;\nb;\nc;\n".to_owned(), "a;\n    b;\nc;\n".to_owned()),
            ("a;\nb;".to_owned(), "a;\nb;\n".to_owned()),
            ("a;\n\n\n\nb;\n".to_owned(), "a;\n\nb;\n".to_owned()),
            ("a; b; c;\n".to_owned(), "a;\nb;\nc;\n".to_owned()),
            ("\n\na;\n".to_owned(), "a;\n".to_owned()),
            ("a;\n\n\n".to_owned(), "a;\n".to_owned()),
            (twenty.clone(), twenty.replace("line", "   line")),
            (twenty.clone(), twenty.replace("line 4", "line  4").replace("line 10", "line  10")),
            (twenty.clone(), twenty.replace("line 4", "line  4").replace("line 11", "line  11")),
            (twenty.clone(), twenty.replace("line 4", "line  4").replace("line 12", "line  12")),
            (twenty.clone(), twenty.replace("line 1;", "line\n1;").replace("line 19", "line  19")),
        ] {
            assert_eq!(of_white_space(&before, &after), compared(&before, &after));
        }
    }

    #[test]
    fn edits_are_lines() {
        let before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten";
        let edit = |start: u32, end: u32, text: &str| Edit { span: Span::new(start, end), text: text.into() };
        for edits in [
            vec![edit(4, 7, "2")],
            vec![edit(4, 8, "")],
            vec![edit(0, 0, "zero\n"), edit(48, 48, "\n")],
            vec![edit(3, 4, " "), edit(13, 14, " ")],
            vec![edit(0, 48, "")],
            vec![edit(8, 13, "2.5\n3"), edit(45, 48, "10\n")],
        ] {
            let edited = ptx_fix::edit(before.as_bytes(), &edits);
            let after = String::from_utf8(edited.bytes).unwrap();
            assert_eq!(patched(before, &after, &edited.changes), compared(before, &after), "{edits:?}");
        }
        assert_eq!(patched(before, before, &[]), "");
    }

    #[test]
    fn names_that_would_end_are_quoted() {
        assert_eq!(quoted("a b/é.ptx"), "a b/é.ptx");
        assert_eq!(quoted("a\"\\\n\u{1}"), "\"a\\\"\\\\\\n\\001\"");
    }
}
