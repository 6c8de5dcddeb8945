//! Repairing a text: fixes applied until nothing is left to apply.
//!
//! A round checks the text, takes the fixes that do not touch each other in source order, and
//! applies them; what touches waits for the next round, which sees the text as it is by then. A fix
//! after which less of the text parses than before is dropped, whatever its rule believed. All are
//! tried together, and in ever smaller parts only when that goes wrong; the number of rounds, and of
//! attempts in a round, is bounded, so that a repair takes time as its text is long.
//!
//! Edits are made to the bytes of the file, not to the text: bytes that are no UTF-8 stay.

#![warn(missing_docs)]

use std::collections::BTreeMap;

use ptx_check::diagnostic::{Applicability, Diagnostic, Edit, Fix, Severity};
use ptx_check::host::{self, Extract};
use ptx_check::source::{Source, SourceError};
use ptx_check::syntax::parser;
use ptx_check::{Options, Report, check};

use self::changes::Change;

pub mod allow;
pub mod changes;

/// A repair that needs more rounds is going in circles.
const MAX_ROUNDS: usize = 64;
/// Enough to find, by halving, one fix that does harm among very many.
const MAX_ATTEMPTS: usize = 64;

/// A text after its repair.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The repaired bytes.
    pub bytes: Vec<u8>,
    /// What differs from the text before, in its order.
    pub changes: Vec<Change>,
    /// How many fixes were applied.
    pub applied: usize,
    /// The repaired text.
    pub source: Source,
    /// What is still found in it.
    pub report: Report,
}

/// Applies the fixes for what `check` finds: the safe ones, or with [`Applicability::Unsafe`] all.
///
/// ```
/// use ptx_check::Options;
/// use ptx_check::diagnostic::Applicability;
/// use ptx_fix::fix;
///
/// let text = ".version 9.0\n.target sm_100a\n.entry k() { tcgen05.wait::ld; }\n";
/// let fixed = fix("kernel.ptx", text.into(), &Options::default(), Applicability::Safe)?;
/// assert_eq!(fixed.applied, 2);
/// assert!(fixed.source.text().contains("tcgen05.wait::ld.sync.aligned;"));
/// # Ok::<(), ptx_check::source::SourceError>(())
/// ```
///
/// # Errors
/// When the bytes, or what they become, cannot be a [`Source`].
pub fn fix(
    name: &str,
    bytes: Vec<u8>,
    options: &Options,
    allowed: Applicability,
) -> Result<Fixed, SourceError> {
    // Findings that are too many to be reported are repaired all the same.
    let options = &Options { fixes_of_omitted: Some(allowed), ..options.clone() };
    let source = Source::from_bytes(name, bytes.clone())?;
    let report = check(&source, options);
    let mut fixed = Fixed { bytes, changes: Vec::new(), applied: 0, source, report };
    for _ in 0..MAX_ROUNDS {
        let fixes = choose(&fixed.report.diagnostics, &fixed.report.omitted_fixes, allowed);
        let Some(Attempt { edited, source, count }) = Round::new(name, &fixed).attempt(&fixes)? else {
            break;
        };
        let report = check(&source, options);
        let changes = changes::followed_by(fixed.changes, edited.changes);
        fixed = Fixed { bytes: edited.bytes, changes, applied: fixed.applied + count, source, report };
    }
    Ok(fixed)
}

/// Whether [`fix`] may apply the repair.
pub fn is_applicable(fix: &Fix, allowed: Applicability) -> bool {
    allowed.includes(fix.applicability)
}

/// The fixes of one round, of findings and of others that are not reported: of those that touch each
/// other, the first.
pub fn choose<'f>(findings: &'f [Diagnostic], others: &'f [Fix], allowed: Applicability) -> Vec<&'f Fix> {
    let mut candidates: Vec<&Fix> = findings
        .iter()
        .filter(|finding| finding.severity != Severity::Off)
        .filter_map(|finding| finding.fix.as_ref())
        .chain(others)
        .filter(|fix| is_applicable(fix, allowed) && !fix.edits.is_empty())
        .collect();
    candidates.sort_by_key(|fix| fix.edits.iter().map(|edit| edit.span).min());
    let mut taken = Taken::default();
    candidates.retain(|fix| taken.take(fix));
    candidates
}

/// Ranges of a text that are to be replaced; none touches another.
#[derive(Default)]
struct Taken {
    end_by_start: BTreeMap<u32, u32>,
}

impl Taken {
    /// Takes the ranges of a fix, unless one of them touches what is taken. Two insertions at one
    /// place touch: which comes first would matter.
    fn take(&mut self, fix: &Fix) -> bool {
        let touches = |edit: &Edit| {
            let before = self.end_by_start.range(..=edit.span.end).next_back();
            before.is_some_and(|(_, end)| *end >= edit.span.start)
        };
        if fix.edits.iter().any(touches) {
            return false;
        }
        self.end_by_start.extend(fix.edits.iter().map(|edit| (edit.span.start, edit.span.end)));
        true
    }
}

/// A text after some fixes that do no harm.
struct Attempt {
    edited: Edited,
    source: Source,
    /// How many they are.
    count: usize,
}

/// A text while fixes are tried on it.
struct Round<'a> {
    name: &'a str,
    before: &'a [u8],
    /// How many syntax errors it has.
    errors: usize,
    /// How many attempts are left.
    attempts: usize,
}

impl<'a> Round<'a> {
    fn new(name: &'a str, before: &'a Fixed) -> Self {
        let errors = syntax_errors(&before.source);
        Self { name, before: &before.bytes, errors, attempts: MAX_ATTEMPTS }
    }

    /// Applies `fixes`; without those that break the syntax, if some do. None when none is left.
    fn attempt(&mut self, fixes: &[&Fix]) -> Result<Option<Attempt>, SourceError> {
        if fixes.is_empty() || self.attempts == 0 {
            return Ok(None);
        }
        self.attempts -= 1;
        let edited = edit(self.before, fixes.iter().flat_map(|fix| &fix.edits));
        let source = Source::from_bytes(self.name, edited.bytes.clone())?;
        if edited.bytes != self.before && syntax_errors(&source) <= self.errors {
            return Ok(Some(Attempt { edited, source, count: fixes.len() }));
        }
        let [_] = fixes else {
            let (left, right) = fixes.split_at(fixes.len() / 2);
            // What was dropped in one half does not stand in the way of the other in the next round.
            return match self.attempt(left)? {
                Some(done) => Ok(Some(done)),
                None => self.attempt(right),
            };
        };
        Ok(None)
    }
}

/// How much of the PTX in a file does not parse.
fn syntax_errors(source: &Source) -> usize {
    let errors_in = |ptx: &Source| parser::parse(ptx).errors.len();
    match host::extract(source) {
        Some(Extract { ptx, modules, .. }) => {
            errors_in(&ptx) + modules.iter().map(|module| errors_in(&module.ptx)).sum::<usize>()
        }
        None => errors_in(source),
    }
}

/// A text with edits, which do not overlap, made.
pub fn apply<'a>(bytes: &[u8], edits: impl IntoIterator<Item = &'a Edit>) -> Vec<u8> {
    edit(bytes, edits).bytes
}

/// A text after some edits, and where it differs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Edited {
    /// The bytes of the text.
    pub bytes: Vec<u8>,
    /// What differs from the text before, in its order.
    pub changes: Vec<Change>,
}

/// `bytes` with the edits, which do not overlap, made.
pub fn edit<'a>(bytes: &[u8], edits: impl IntoIterator<Item = &'a Edit>) -> Edited {
    let mut edits: Vec<&Edit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| edit.span);
    let mut edited =
        Edited { bytes: Vec::with_capacity(bytes.len()), changes: Vec::with_capacity(edits.len()) };
    let mut done = 0;
    for edit in edits {
        let before = edit.span.range();
        if before.start < done || before.end > bytes.len() {
            continue;
        }
        edited.bytes.extend_from_slice(&bytes[done..before.start]);
        let start = edited.bytes.len();
        edited.bytes.extend_from_slice(edit.text.as_bytes());
        done = before.end;
        edited.changes.push(Change { before, after: start..edited.bytes.len() });
    }
    edited.bytes.extend_from_slice(&bytes[done..]);
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(text: &[u8], allowed: Applicability) -> Fixed {
        fix("k.ptx", text.to_vec(), &Options::default(), allowed).unwrap()
    }

    const HEADER: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 r0, t;\n";

    #[test]
    fn rounds_go_on_until_nothing_is_left() {
        let text = format!("{HEADER}tcgen05.wait::ld;\ntcgen05.wait::st.aligned.sync.sync;\n}}\n");
        let fixed = fixed(text.as_bytes(), Applicability::Safe);
        let expected =
            format!("{HEADER}tcgen05.wait::ld.sync.aligned;\ntcgen05.wait::st.sync.aligned;\n}}\n");
        assert_eq!(String::from_utf8(fixed.bytes).unwrap(), expected);
        assert_eq!(fixed.applied, 4);
        assert!(fixed.report.diagnostics.is_empty());
    }

    #[test]
    fn findings_that_are_not_reported_are_repaired() {
        let text = format!("{HEADER}{}}}\n", "tcgen05.wait::ld.sync;\n".repeat(500));
        let options = Options { max_findings: Some(10), ..Options::default() };
        let fixed = fix("k.ptx", text.into(), &options, Applicability::Safe).unwrap();
        assert_eq!(fixed.applied, 500);
        assert!(fixed.report.diagnostics.is_empty() && fixed.report.omitted.is_empty());
    }

    /// The parser goes on at the next `;` only.
    #[test]
    fn statements_without_ends_are_ended_together() {
        let lines = "mov.b32 r0, /*\nadd */ t // first\n@!p add.u32 r0, r0,\n  t\nret // }\n".repeat(200);
        let fixed =
            fixed(format!("{HEADER}.reg .pred p;\n{lines}ret;\n}}\n").as_bytes(), Applicability::Safe);
        let ended = "mov.b32 r0, /*\nadd */ t; // first\n@!p add.u32 r0, r0,\n  t;\nret; // }\n".repeat(200);
        assert_eq!(fixed.source.text(), format!("{HEADER}.reg .pred p;\n{ended}ret;\n}}\n"));
    }

    /// Whatever follows: the end of a scope, a label, a directive, a scope, or another statement in the same line.
    #[test]
    fn statements_are_ended_before_what_can_only_be_the_next() {
        for (before, after) in [
            ("ret\n", "ret;\n"),
            ("{ mov.b32 r0, t }\nret;\n", "{ mov.b32 r0, t; }\nret;\n"),
            ("mov.b32 r0, t\nL:\nret;\n", "mov.b32 r0, t;\nL:\nret;\n"),
            ("bra L\nL: ret;\n", "bra L;\nL: ret;\n"),
            ("mov.b32 r0, t\n.reg .b32 a;\nret;\n", "mov.b32 r0, t;\n.reg .b32 a;\nret;\n"),
            (".reg .b32 a\n.reg .b32 b\nret;\n", ".reg .b32 a;\n.reg .b32 b;\nret;\n"),
            ("mov.b32 r0, t // why\n{\nret;\n}\nret;\n", "mov.b32 r0, t; // why\n{\nret;\n}\nret;\n"),
            ("mov.b32 r0, t\n.loc 1 2 3\nret;\n", "mov.b32 r0, t;\n.loc 1 2 3\nret;\n"),
            ("mov.b32 r0, t mov.b32 r0, t;\nret;\n", "mov.b32 r0, t; mov.b32 r0, t;\nret;\n"),
            ("mov.b32 r0, t $L0: ret;\n", "mov.b32 r0, t; $L0: ret;\n"),
            ("mov.b32 r0, t\nbogus.b32 r0, t;\nret;\n", "mov.b32 r0, t;\nbogus.b32 r0, t;\nret;\n"),
            ("ret\nret;\n", "ret;\nret;\n"),
        ] {
            let fixed = fixed(format!("{HEADER}{before}}}\n").as_bytes(), Applicability::Safe);
            assert_eq!(fixed.source.text(), format!("{HEADER}{after}}}\n"));
        }
        // What may be a name, an element of a vector or a vector is left to people.
        for before in
            ["mov.b32 r0, t ret;\n", "mov.b32 r0, t t.x;\n", "mov.b64 r0\n{t, t};\n", "mov.b32 r0 t;\n"]
        {
            let text = format!("{HEADER}{before}ret;\n}}\n");
            assert_eq!(fixed(text.as_bytes(), Applicability::Safe).source.text(), text);
        }
    }

    #[test]
    fn other_bytes_stay() {
        let mut text = b"// caf\xe9 \xff\r\n".to_vec();
        text.extend(HEADER.bytes());
        text.extend(b"tcgen05.wait::ld.sync; // \xe9\r\n}\r\n");
        let fixed = fixed(&text, Applicability::Safe);
        assert!(fixed.bytes.starts_with(b"// caf\xe9 \xff\r\n.version"));
        assert!(fixed.bytes.ends_with(b"tcgen05.wait::ld.sync.aligned; // \xe9\r\n}\r\n"));
    }

    #[test]
    fn a_fix_that_breaks_the_syntax_is_dropped() {
        let source = Source::new("k.ptx", format!("{HEADER}mov.b32 r0, t;\n}}\n")).unwrap();
        let report = check(&source, &Options::default());
        let bytes = source.text().as_bytes().to_vec();
        let before = Fixed { bytes, changes: Vec::new(), applied: 0, source, report };
        let at = |needle: &str, text: &str| {
            let start = before.source.text().find(needle).unwrap() as u32;
            Fix::safe("", ptx_check::source::Span::new(start, start + needle.len() as u32), text)
        };
        let (good, bad) = (at("mov.b32", "mov.u32"), at(";\n}", "{\n}"));
        let mut round = Round::new("k.ptx", &before);
        let Attempt { edited, count, .. } = round.attempt(&[&good, &bad]).unwrap().unwrap();
        assert!(String::from_utf8(edited.bytes).unwrap().contains("mov.u32 r0, t;\n}"));
        assert_eq!(count, 1);
        assert!(round.attempt(&[&bad]).unwrap().is_none());
        // Where all do harm, trying does not go on for as long as there are fixes.
        assert!(round.attempt(&vec![&bad; 100_000]).unwrap().is_none());
        assert_eq!(round.attempts, 0);
    }

    #[test]
    fn unsafe_fixes_only_when_asked() {
        let text = b".version 9.0\n.target sm_100\n.entry k() { tcgen05.fence::after_thread_sync; }\n";
        assert_eq!(fixed(text, Applicability::Safe).applied, 0);
        let fixed = fixed(text, Applicability::Unsafe);
        assert!(fixed.bytes.starts_with(b".version 9.0\n.target sm_100a\n"));
    }
}
