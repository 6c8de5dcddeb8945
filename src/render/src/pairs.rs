//! Which findings of a run are about copies of the same instructions.
//!
//! A run reports a race for each pair of instructions. A compiler unrolls loops and inlines functions, so that one
//! mistake in a source has many pairs: 13 copies of a read and 28 copies of a write are 364 pairs. People want to see
//! the mistake once. Two findings are the same for them if
//!
//! - the code, the message, and what is said of each instruction agree. Numbers may differ, and for an access also
//!   the warp, lanes and iteration. Names of variables and mbarriers have to agree, as does the number of labels;
//! - each instruction of the one is a copy of that instruction of the other.
//!
//! If `.loc` names the source of both, copies come from the same line and column, inlined through the same calls.
//! A second call of the same function is another place, where another repair may be needed.
//!
//! Without `.loc`, copies have the same text but for the numbers in it and in the names of registers, and there is no
//! instruction between them that synchronises. So the same barrier or fence before or after all of them repairs all.
//! This is careful: an unrolled loop that waits in each iteration has one finding for each.

use std::borrow::Cow;

use ptx_check::diagnostic::{Code, Diagnostic, Label};
use ptx_check::rules::Scope;
use ptx_check::source::{Source, Span};
use rustc_hash::FxHashMap;

use crate::shown::{Place, place};

/// The findings of runs that others may be copies of, by their number.
#[derive(Debug, Default)]
pub(crate) struct Pairs<'a> {
    known: FxHashMap<Key<'a>, usize>,
    stretches: Option<Stretches>,
}

/// What copies have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key<'a> {
    code: Code,
    message: String,
    /// The instruction itself, and those that are labelled.
    instructions: Vec<(Origin<'a>, String)>,
}

/// Where an instruction comes from.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Origin<'a> {
    /// A line of a source with the calls that it was inlined through. Several instructions of inline assembly have
    /// one line.
    Source { lines: Vec<Place<'a>>, is_near: bool, instruction: u32 },
    /// The instruction without its numbers, and the stretch that it is in.
    Text(String, u32),
}

/// Whether a run found it.
pub(crate) fn is_of_run(finding: &Diagnostic) -> bool {
    finding.code.rule().scope == Scope::Run
}

impl<'a> Pairs<'a> {
    /// The first finding that this one is a copy of; it has number `next` if there is none. `all` are the findings of
    /// the file.
    pub(crate) fn first(
        &mut self,
        source: &'a Source,
        all: &[Diagnostic],
        finding: &'a Diagnostic,
        next: usize,
    ) -> Option<usize> {
        let mut origin = |label: &'a Label| {
            if let Some(it) = &label.provenance {
                return Origin::Source {
                    lines: it.frames.iter().map(place).collect(),
                    is_near: it.is_near,
                    instruction: it.instruction,
                };
            }
            let stretches = self.stretches.get_or_insert_with(|| Stretches::new(source.text(), all));
            Origin::Text(without_numbers(source.slice(label.span)), stretches.of(label.span))
        };
        let labels = std::iter::once(&finding.primary).chain(&finding.labels);
        let instructions = labels.map(|label| (origin(label), said(&label.message))).collect();
        let key = Key { code: finding.code, message: said(&finding.message), instructions };
        let known = self.known.get(&key).copied();
        self.known.entry(key).or_insert(next);
        known
    }
}

/// What is said of an instruction, without what differs between its copies: the warp that accesses something, and
/// numbers outside of names.
fn said(text: &str) -> String {
    /// What an access does; the warp comes before it.
    const VERBS: [&str; 3] = [" reads ", " writes ", " frees "];
    let verb = VERBS.iter().filter_map(|verb| text.find(verb)).min();
    let text = &text[verb.unwrap_or(0)..];
    // What is quoted is every second piece.
    let pieces = text.split('`').enumerate().map(|(index, piece)| match index % 2 {
        0 => Cow::Owned(piece.chars().filter(|c| !c.is_ascii_digit()).collect()),
        // An offset from a variable.
        _ => match piece.rsplit_once('+') {
            Some((name, offset)) if offset.bytes().all(|it| it.is_ascii_digit()) => Cow::Borrowed(name),
            _ if piece.starts_with('%') => Cow::Borrowed("%"),
            _ => Cow::Borrowed(piece),
        },
    });
    pieces.collect::<Vec<_>>().join("`")
}

/// An instruction without the numbers that differ between its copies: literals, and those in the names that
/// compilers give to registers. Other names stay: a program may call two variables `full0` and `full1`.
fn without_numbers(instruction: &str) -> String {
    let is_guarded = instruction.starts_with('@');
    let (guard, rest) =
        instruction.split_once(char::is_whitespace).filter(|_| is_guarded).unwrap_or(("", instruction));
    // The numbers of an opcode are its types and shapes.
    let (opcode, operands) = rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest, ""));
    format!("{} {opcode} {}", operands_without_numbers(guard), operands_without_numbers(operands))
}

fn operands_without_numbers(operands: &str) -> String {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '%' | '$' | '.');
    let mut text = String::with_capacity(operands.len());
    for piece in operands.split_inclusive(|c| !is_of_word(c)) {
        let word = piece.trim_end_matches(|c| !is_of_word(c));
        match word.as_bytes().first() {
            Some(b'0'..=b'9') => text.push('#'),
            Some(b'%') => text.extend(word.chars().filter(|c| !c.is_ascii_digit())),
            _ => text.push_str(word),
        }
        text.push_str(&piece[word.len()..]);
    }
    // The first copy has no offset.
    text.replace("+#", "").replace("+-#", "")
}

/// Parts of a module without instructions that synchronise, by their numbers in the order of the text.
#[derive(Debug)]
struct Stretches {
    /// By the start of an instruction.
    numbers: FxHashMap<u32, u32>,
}

impl Stretches {
    /// Those of all instructions that findings name without a source.
    fn new(text: &str, findings: &[Diagnostic]) -> Self {
        let labels = findings.iter().flat_map(|it| std::iter::once(&it.primary).chain(&it.labels));
        let unplaced = labels.filter(|label| label.provenance.is_none());
        let mut starts: Vec<u32> = unplaced.map(|label| label.span.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut numbers = FxHashMap::default();
        let (mut number, mut before) = (0, 0);
        for start in starts {
            let between = text.get(before as usize..start as usize).unwrap_or_default();
            number += u32::from(synchronises(between));
            numbers.insert(start, number);
            before = start;
        }
        Self { numbers }
    }

    fn of(&self, span: Span) -> u32 {
        self.numbers.get(&span.start).copied().unwrap_or(u32::MAX)
    }
}

/// Whether there is an instruction in the text that may order accesses, or another function. It may say so of a text
/// without one, such as a comment: then fewer findings are shown as one.
fn synchronises(text: &str) -> bool {
    const OPCODES: [&str; 17] = [
        "bar",
        "barrier",
        "fence",
        "membar",
        "mbarrier",
        "cp.async.wait_",
        "cp.async.mbarrier",
        "cp.async.bulk.wait_",
        "tcgen05.wait",
        "tcgen05.fence",
        "tcgen05.commit",
        "wgmma.wait_",
        "wgmma.fence",
        "griddepcontrol",
        "call",
        ".entry",
        ".func",
    ];
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '{' | '}'));
    words.into_iter().any(|word| {
        let is_opcode = |opcode: &str| {
            let rest = word.strip_prefix(opcode);
            rest.is_some_and(|rest| opcode.ends_with('_') || rest.is_empty() || rest.starts_with(['.', ':']))
        };
        OPCODES.iter().any(|it| is_opcode(it)) || word.contains(".acq") || word.contains(".rel")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "st.shared.v4.b32 [%r1+16], {%r2, %r3, %r4, %r5};\n\
                          st.shared.v4.b32 [%r1+32], {%r6, %r7, %r8, %r9};\n\
                          bar.sync 0;\n\
                          st.shared.v4.b32 [%r1+48], {%r6, %r7, %r8, %r9};\n\
                          st.shared.v2.b32 [%r1+64], {%r6, %r7};\n\
                          ld.shared.b32 %r10, [%r11];\n\
                          ld.shared.b32 %r12, [%r11+4];\n";

    /// A race of two lines of the module, from 0.
    fn race(read: usize, written: usize, name: &str) -> Diagnostic {
        let span = |index: usize| {
            let start: usize = MODULE.lines().take(index).map(|line| line.len() + 1).sum();
            Span::new(start as u32, (start + MODULE.lines().nth(index).unwrap().len()) as u32)
        };
        let remark = format!("warp {read} reads `{name}+{read}`, and nothing orders that");
        Diagnostic::new(Code::SharedMemoryRace, span(read), "two accesses", remark).label(
            span(written),
            format!("with what warp 7 (lane {written}), 2nd iteration of its loop, writes here"),
        )
    }

    /// The numbers of the findings that are shown, of which each is a copy.
    fn firsts(findings: &[Diagnostic]) -> Vec<usize> {
        let source = Source::new("k.ptx", MODULE).unwrap();
        let mut pairs = Pairs::default();
        let all = findings.iter().enumerate();
        all.map(|(index, it)| pairs.first(&source, findings, it, index).unwrap_or(index)).collect()
    }

    #[test]
    fn unrolled_copies_are_one() {
        assert_eq!(firsts(&[race(5, 0, "tile"), race(6, 0, "tile"), race(5, 1, "tile")]), [0, 0, 0]);
    }

    /// After a barrier it is another mistake, and so it is with another instruction or variable.
    #[test]
    fn different_mistakes_stay_apart() {
        let all = [race(5, 0, "tile"), race(5, 3, "tile"), race(5, 4, "tile"), race(5, 0, "other")];
        assert_eq!(firsts(&all), [0, 1, 2, 3]);
    }

    #[test]
    fn names_count_and_numbers_do_not() {
        assert_eq!(said("warp 3 (2 lanes) reads `a1+512` of CTA 1, and"), " reads `a1` of CTA , and");
        assert_ne!(said("warp 3 reads `full0`"), said("warp 3 reads `full1`"));
        assert_ne!(said("warp 3 reads `a`"), said("warp 3 writes `a`"));
        assert_eq!(said("`tcgen05.mma` with `%r17`"), "`tcgen05.mma` with `%`");
        assert_eq!(
            without_numbers("@%p3 st.shared.v4.b32 [%rd12+64], {%r1, 7, 0x1F, full0};"),
            "@%p st.shared.v4.b32 [%rd], {%r, #, #, full0};"
        );
        assert_eq!(without_numbers("ld.shared.b32 r1, [a2];"), " ld.shared.b32 r1, [a2];");
        assert_ne!(without_numbers("st.shared.v2.b32 [a]"), without_numbers("st.shared.v4.b32 [a]"));
    }

    #[test]
    fn what_synchronises() {
        for text in [
            "bar.sync 0;",
            "x: mbarrier.try_wait.b64 p;",
            "{fence.proxy.async;}",
            "ld.acquire.cta",
            "@p call f;",
        ] {
            assert!(synchronises(text), "{text}");
        }
        for text in ["", "barn.sync", "ld.shared.b32 %r1, [bars];", "cp.async.bulk.commit_group;", "recall"] {
            assert!(!synchronises(text), "{text}");
        }
    }
}
