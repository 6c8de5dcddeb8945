//! What people are shown of a file's findings, and in which order.
//!
//! Errors come first, then warnings, then remarks, each in the order of the source. A line that was compiled
//! more than once, as in an unrolled loop or in the instances of a template, has a mistake once: its copies are
//! one finding here. Programs get each of them. [`pairs`](crate::pairs) says what copies are in the findings of runs.

use std::cmp::Reverse;

use ptx_check::diagnostic::{Code, Diagnostic, Severity};
use ptx_check::resolve::provenance::Frame;
use ptx_sources::Line;
use rustc_hash::FxHashMap;

use crate::pairs::{Pairs, is_of_run};
use crate::{Checked, Reader};

/// A finding, and those that say the same of other copies of its line.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) finding: &'a Diagnostic,
    pub(crate) copies: Vec<&'a Diagnostic>,
}

impl<'a> Shown<'a> {
    /// All findings of a file, errors first.
    pub(crate) fn all(file: &'a Checked) -> Vec<Self> {
        let mut order: Vec<&Diagnostic> = file.report.diagnostics.iter().collect();
        order.sort_by_key(|finding| Reverse(finding.severity));
        let mut all: Vec<Self> = Vec::with_capacity(order.len());
        let mut copies = Copies::default();
        let mut pairs = Pairs::default();
        for finding in order {
            let first = if is_of_run(finding) {
                pairs.first(&file.source, &file.report.diagnostics, finding, all.len())
            } else {
                copies.first(file, finding, all.len())
            };
            match first {
                Some(first) => all[first].copies.push(finding),
                None => all.push(Self { finding, copies: Vec::new() }),
            }
        }
        all
    }

    /// All findings of a file as they stand in the source, each for itself.
    pub(crate) fn each(file: &'a Checked) -> Vec<Self> {
        let findings = file.report.diagnostics.iter();
        findings.map(|finding| Self { finding, copies: Vec::new() }).collect()
    }

    /// What is said of the copies.
    pub(crate) fn remark(&self, file: &Checked, reader: Reader) -> Option<String> {
        /// So many other calls are named.
        const NAMED: usize = 3;
        if self.copies.is_empty() {
            return None;
        }
        if is_of_run(self.finding) {
            let what = match (self.finding.labels.is_empty(), self.copies.len()) {
                (true, 1) => "instruction",
                (true, _) => "instructions",
                (false, 1) => "pair of instructions",
                (false, _) => "pairs of instructions",
            };
            return Some(format!("and {} more {what} like this: {}", self.copies.len(), reader.copies()));
        }
        let mut remark = format!("and {} more from this line", self.copies.len());
        let caller = |finding: &'a Diagnostic| Some(place(calls(finding)?.last()?));
        let mut known = vec![caller(self.finding)];
        let mut named: Vec<String> = Vec::new();
        let mut others = 0;
        for copy in &self.copies {
            let place = caller(copy);
            if known.contains(&place) {
                continue;
            }
            if known.len() > NAMED {
                others += 1;
                continue;
            }
            known.push(place);
            named.extend(file.lines(&copy.primary).last().map(Line::to_string));
        }
        if !named.is_empty() {
            remark.push_str(&format!(", inlined at {}", named.join(", ")));
        }
        if others > 0 {
            remark.push_str(" and elsewhere");
        }
        Some(remark)
    }
}

/// The findings that others may be copies of, by their number.
#[derive(Default)]
struct Copies<'a> {
    /// By the calls through which the line was inlined.
    by_calls: FxHashMap<(Key<'a>, Vec<Place<'a>>), usize>,
    /// By what exactly is said.
    by_text: FxHashMap<(Key<'a>, String), usize>,
    /// How many findings of a key there are in a line of the PTX.
    in_line: FxHashMap<(Key<'a>, u32), u32>,
}

/// What copies have in common, wherever their line was inlined.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key<'a> {
    code: Code,
    severity: Severity,
    line: Place<'a>,
    is_near: bool,
    /// What the line was compiled to are many instructions, and the mistakes in two of them are two.
    instruction: u32,
    /// So are two in one instruction.
    number: u32,
    /// The message, without what is another in each copy.
    message: String,
}

/// A path, a line and a column.
pub(crate) type Place<'a> = (&'a str, u32, Option<u32>);

impl<'a> Copies<'a> {
    /// The first finding that this one is a copy of; it has number `next` if there is none.
    fn first(&mut self, file: &'a Checked, finding: &'a Diagnostic, next: usize) -> Option<usize> {
        let provenance = finding.primary.provenance.as_ref()?;
        let mut key = Key {
            code: finding.code,
            severity: finding.severity,
            line: place(provenance.frames.first()?),
            is_near: provenance.is_near,
            instruction: provenance.instruction,
            number: 0,
            message: without_numbers(&without_names(&finding.message)),
        };
        let line = file.source.position(finding.primary.span.start).line;
        let in_line = self.in_line.entry((key.clone(), line)).or_default();
        key.number = *in_line;
        *in_line += 1;
        let calls = calls(finding)?.iter().map(place).collect();
        let text =
            format!("{}\n{}", without_names(&finding.message), without_names(&finding.primary.message));
        let by_calls = (key.clone(), calls);
        let by_text = (key, text);
        let known = self.by_calls.get(&by_calls).or_else(|| self.by_text.get(&by_text)).copied();
        self.by_calls.entry(by_calls).or_insert(known.unwrap_or(next));
        self.by_text.entry(by_text).or_insert(known.unwrap_or(next));
        known
    }
}

/// The calls through which the line of a finding was inlined.
fn calls(finding: &Diagnostic) -> Option<&[Frame]> {
    finding.primary.provenance.as_ref()?.frames.get(1..)
}

pub(crate) fn place(frame: &Frame) -> Place<'_> {
    (&frame.path, frame.line, frame.column)
}

/// A message without the names that a compiler makes: of registers, labels and instances of functions.
fn without_names(message: &str) -> String {
    let is_made = |word: &str| word.starts_with(['%', '$', '_']) || word.contains(['(', '<']);
    // What is quoted is every second piece.
    let pieces = message.split('`').enumerate();
    let pieces = pieces.map(|(index, piece)| if index % 2 == 1 && is_made(piece) { "" } else { piece });
    pieces.collect::<Vec<_>>().join("`")
}

fn without_numbers(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_makes_is_no_difference() {
        let text = without_names("`%r12` of `tcgen05.mma` in `_Z1kILi2EEvPjj` is `$L_3`, 48 of `64`");
        assert_eq!(text, "`` of `tcgen05.mma` in `` is ``, 48 of `64`");
        assert_eq!(without_numbers(&text), "`` of `tcgen.mma` in `` is ``,  of ``");
    }
}
