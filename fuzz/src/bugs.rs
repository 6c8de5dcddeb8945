//! Bugs put into kernels that have none, and which of them the checker finds.
//!
//! Each [`Bug`] is one kind of mistake: a statement that is missing, another number, another thread. It
//! is put into each function that has a place for it; a bug counts as found if a rule that is meant for
//! it says something in that function that it did not say before.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ptx_check::descriptor::shared_memory::SwizzleMode;
use ptx_check::diagnostic::Severity;
use ptx_check::instruction::decode::decode_all;
use ptx_check::syntax::ast::StatementKind;
use ptx_check::{Options, Source, Unit, check};

mod function;
mod list;

use function::{Edit, Function};
pub use list::{BUGS, Bug};

fn apply(text: &str, mut edits: Vec<Edit>) -> (String, Vec<(usize, isize)>) {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 1000);
    let mut shifts = Vec::new();
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
        shifts.push((range.end, out.len().cast_signed() - at.cast_signed()));
    }
    out.push_str(&text[at..]);
    (out, shifts)
}

/// How many of a kind of bug had a place, and were found.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// In how many functions it had a place.
    pub placed: usize,
    /// In how many of those it was found.
    pub caught: usize,
    /// Which rules found it, and in how many.
    pub by_rule: BTreeMap<&'static str, usize>,
    /// Where it was not found.
    pub missed: Vec<Missed>,
}

/// A place where a bug was put and not found.
#[derive(Clone, Debug)]
pub struct Missed {
    /// The module.
    pub module: String,
    /// The function.
    pub function: String,
    /// The lines of the module that were changed.
    pub lines: Vec<u32>,
}

/// Which bugs are put where.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only classes whose name contains this.
    pub class: String,
    /// At most this many functions of a module for each class; 0 for all.
    pub places: usize,
}

/// What was found of all bugs, in all modules so far.
#[derive(Debug)]
pub struct Tallies {
    /// One for each of [`BUGS`].
    pub tallies: Vec<Tally>,
    /// What was found besides, that the modules do not have by themselves.
    pub unexpected: BTreeSet<String>,
    choice: Choice,
}

impl Default for Tallies {
    fn default() -> Self {
        Self::of(Choice::default())
    }
}

impl Tallies {
    /// Nothing yet.
    pub fn of(choice: Choice) -> Self {
        let tallies = BUGS.iter().map(|_| Tally::default()).collect();
        Self { tallies, unexpected: BTreeSet::new(), choice }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (tally, more) in self.tallies.iter_mut().zip(other.tallies) {
            tally.placed += more.placed;
            tally.caught += more.caught;
            for (code, count) in more.by_rule {
                *tally.by_rule.entry(code).or_default() += count;
            }
            tally.missed.extend(more.missed);
        }
        self.unexpected.extend(other.unexpected);
        self
    }

    /// Puts every bug into a module, one kind at a time, and counts what is found.
    ///
    /// # Errors
    /// If a changed module is too large to be checked.
    pub fn add(&mut self, source: &Source) -> Result<(), ptx_check::source::SourceError> {
        let unit = Unit::new(source);
        let decoded = decode_all(&unit);
        let module = &unit.module;
        let report = check(source, &Options { describe: true, ..Options::default() });
        let own: BTreeSet<(&str, String)> = report
            .diagnostics
            .iter()
            .map(|finding| (finding.code.as_str(), finding.message.clone()))
            .collect();
        let unswizzled: BTreeSet<u32> = report
            .descriptors
            .iter()
            .flatten()
            .filter(|it| {
                it.multiply.as_ref().is_some_and(|multiply| multiply.b.swizzle == Some(SwizzleMode::None))
            })
            .flat_map(|it| it.words.iter().filter(|word| word.name == "b-desc").map(|word| word.span.start))
            .collect();
        let functions: Vec<(Range<usize>, Function<'_>)> = module
            .bodies()
            .map(|(_, function)| {
                let statements = &module.statements[function.body.range()];
                let instructions = statements
                    .iter()
                    .filter_map(|statement| match statement.kind() {
                        StatementKind::Instruction(index) => {
                            let found = decoded.binary_search_by_key(&index, |it| it.index).ok();
                            let opcode = source.slice(module.instructions[index as usize].opcode);
                            Some((statement.span, opcode, found.map(|at| &decoded[at])))
                        }
                        _ => None,
                    })
                    .collect();
                let start = function.name.range().start;
                let end = statements.last().map_or(start, |last| last.span.range().end);
                let name = source.slice(function.name);
                (start..end, Function { source, name, instructions, unswizzled: &unswizzled })
            })
            .collect();
        for (bug, tally) in BUGS.iter().zip(&mut self.tallies) {
            if !bug.name.contains(&self.choice.class) {
                continue;
            }
            let mut edits = Vec::new();
            let mut places = Vec::new();
            for (range, function) in &functions {
                let injected = (bug.inject)(function);
                if !injected.is_empty() {
                    let line = |edit: &Edit| source.position(edit.0.start as u32).line;
                    let lines: Vec<u32> = injected.iter().map(line).collect();
                    places.push((range.clone(), function.name, lines));
                    edits.extend(injected);
                    if places.len() == self.choice.places {
                        break;
                    }
                }
            }
            if places.is_empty() {
                continue;
            }
            let (text, shifts) = apply(source.text(), edits);
            let moved = |offset: usize| {
                let at = shifts.partition_point(|(end, _)| *end <= offset);
                let shift = if at == 0 { 0 } else { shifts[at - 1].1 };
                offset.saturating_add_signed(shift)
            };
            let mutated = Source::new(source.name(), text)?;
            // All of them: what is in the first hundred functions is in the others, too.
            let report = check(&mutated, &Options { max_findings: None, ..Options::default() });
            let mut found: Vec<(usize, &'static str)> = Vec::new();
            for finding in &report.diagnostics {
                let code = finding.code.as_str();
                if own.contains(&(code, finding.message.clone())) {
                    continue;
                }
                if bug.expected.contains(&code) {
                    found.push((finding.primary.span.range().start, code));
                    // A finding in a callee belongs to the kernels that its labels name, too.
                    found.extend(finding.labels.iter().map(|label| (label.span.range().start, code)));
                } else if finding.severity >= Severity::Warning {
                    self.unexpected.insert(format!(
                        "{}: {}: {code} {}",
                        bug.name,
                        source.name(),
                        finding.message
                    ));
                }
            }
            for (place, name, lines) in places {
                tally.placed += 1;
                let range = moved(place.start)..moved(place.end);
                let codes: BTreeSet<&'static str> =
                    found.iter().filter(|(at, _)| range.contains(at)).map(|(_, code)| *code).collect();
                tally.caught += usize::from(!codes.is_empty());
                if codes.is_empty() {
                    let (module, function) = (source.name().to_owned(), name.to_owned());
                    tally.missed.push(Missed { module, function, lines });
                }
                for code in codes {
                    *tally.by_rule.entry(code).or_default() += 1;
                }
            }
        }
        Ok(())
    }

    /// The share that was found of each kind.
    pub fn table(&self) -> String {
        let mut table = String::from("bug                                  placed  caught  by\n");
        for (bug, tally) in BUGS.iter().zip(&self.tallies) {
            let by: Vec<String> =
                tally.by_rule.iter().map(|(code, count)| format!("{code} {count}")).collect();
            let share = 100.0 * tally.caught as f64 / tally.placed.max(1) as f64;
            let row = format!("{:<36} {:>6}  {share:>5.1} %  {}", bug.name, tally.placed, by.join(", "));
            table.push_str(row.trim_end());
            table.push('\n');
        }
        table
    }
}
