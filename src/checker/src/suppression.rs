//! The stage between the rules and whoever shows the findings: comments that silence rules.
//!
//! ```text
//! // ptx-tc: allow(TC301, mixed-cta-group)    on the finding's line, or alone on the line above
//! // ptx-tc: allow-file(TC9)                  anywhere; for the whole file
//! ```
//!
//! A directive starts its comment and names rules by code, name or start of the code; what follows
//! it is for the reader. Where a statement has several lines, its first line stands for all.
//! A directive that silences nothing, or cannot be understood, is a finding of `unused-suppression`.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use crate::diagnostic::selection::{RuleSettings, Selector, UnknownRule};
use crate::diagnostic::{Diagnostic, Findings, Fix, Severity};
use crate::host::{Host, MARK};
use crate::resolve::unit::Unit;
use crate::rules::Code;
use crate::source::{Source, Span};
use crate::syntax::ast::{Module, StatementKind};
use crate::syntax::lexer::lex;
use crate::syntax::threads;

pub mod addition;

/// The directives of a text, and what they have silenced.
#[derive(Debug)]
pub struct Suppressions<'a> {
    unit: &'a Unit,
    /// The file that people see, where that is not the unit's text.
    host: Option<&'a Host>,
    directives: Vec<Directive>,
    /// What holds for the whole file.
    in_file: Vec<Held>,
    /// What holds for the line with this index.
    on_line: FxHashMap<usize, Vec<Held>>,
}

/// What directives name that hold in one place, once however many of them do. There are only so many rules and
/// families, so that many directives in one place cost no more than the same number in different ones.
#[derive(Debug)]
struct Held {
    selector: Selector,
    /// The only thing that findings change, whichever thread makes them.
    has_silenced: AtomicBool,
}

impl<'a> Suppressions<'a> {
    /// The directives of a text.
    pub fn new(unit: &'a Unit, host: Option<&'a Host>) -> Self {
        let source = host.map_or(&unit.source, |host| &host.source);
        let is_without = !has_mark(source.text().as_bytes());
        let directives = match host {
            _ if is_without => Vec::new(),
            None => directives(source, &comments_of(source)),
            Some(host) => directives(source, &host.comments),
        };
        let (mut in_file, mut on_line) = (Vec::new(), FxHashMap::<usize, Vec<Held>>::default());
        for directive in &directives {
            let held = match directive.scope {
                Scope::File => &mut in_file,
                Scope::Line(line) => on_line.entry(line).or_default(),
            };
            for selector in directive.items.iter().flatten().filter_map(|item| item.selector.as_ref()) {
                if !held.iter().any(|known| known.selector == *selector) {
                    held.push(Held { selector: selector.clone(), has_silenced: AtomicBool::new(false) });
                }
            }
        }
        Self { unit, host, directives, in_file, on_line }
    }

    /// Whether there are no directives.
    pub fn is_empty(&self) -> bool {
        self.directives.is_empty()
    }

    /// Whether directives silence the finding. All that do are used.
    pub fn silence(&self, finding: &Diagnostic) -> bool {
        if self.directives.is_empty() {
            return false;
        }
        let offset = finding.primary.span.start;
        let lines = self.source().lines();
        let line = lines.line(offset);
        let statement = match self.host {
            Some(host) => host.statement(offset),
            None => statement_at(&self.unit.source, &self.unit.module, offset),
        };
        let first = statement.map_or(line, |span| lines.line(span.start));
        self.silence_on(finding.code, (line, first))
    }

    /// The text that people see.
    fn source(&self) -> &'a Source {
        self.host.map_or(&self.unit.source, |host| &host.source)
    }

    fn silence_on(&self, code: Code, (line, first): (usize, usize)) -> bool {
        let on_lines = [line, first].into_iter().filter_map(|line| self.on_line.get(&line)).flatten();
        let mut silenced = false;
        for held in self.in_file.iter().chain(on_lines).filter(|held| held.selector.matches(code)) {
            held.has_silenced.store(true, Ordering::Relaxed);
            silenced = true;
        }
        silenced
    }

    /// Whether what a directive names has silenced something where it holds.
    fn is_used(&self, scope: Scope, selector: &Selector) -> bool {
        let held = match scope {
            Scope::File => Some(&self.in_file),
            Scope::Line(line) => self.on_line.get(&line),
        };
        let mut held = held.into_iter().flatten();
        held.any(|held| held.selector == *selector && held.has_silenced.load(Ordering::Relaxed))
    }

    /// Adds what is wrong with the directives, once they have seen all other findings.
    pub fn complain(&self, settings: &RuleSettings, findings: &mut Findings<'_>) {
        let code = Code::UnusedSuppression;
        if !settings.runs(code) {
            return;
        }
        findings.set_severity(Some(settings.severity(code)));
        // Complaints can be silenced themselves, by a directive that then is used.
        for is_meta in [false, true] {
            for directive in &self.directives {
                self.complain_about(directive, is_meta, settings, findings);
            }
        }
        findings.set_severity(None);
    }

    /// Complains about a directive's items that are about complaints, or about those that are not.
    fn complain_about(
        &self,
        directive: &Directive,
        meta: bool,
        settings: &RuleSettings,
        findings: &mut Findings<'_>,
    ) {
        let line = self.source().lines().line(directive.comment.start);
        let lines = match directive.scope {
            Scope::File => (line, line),
            Scope::Line(target) => (line, target),
        };
        let Some(items) = &directive.items else {
            // Once, with the items that are understood first.
            if !meta && !self.silence_on(Code::UnusedSuppression, lines) {
                findings.push(unreadable(directive));
            }
            return;
        };
        for (at, item) in items.iter().enumerate() {
            let is_meta = item.selector.as_ref().is_some_and(|it| it.matches(Code::UnusedSuppression));
            // A rule that did not run cannot say whether it would have found something.
            let is_fine = item
                .selector
                .as_ref()
                .is_some_and(|it| self.is_used(directive.scope, it) || is_idle(it, settings));
            if is_meta != meta || is_fine || !meta && self.silence_on(Code::UnusedSuppression, lines) {
                continue;
            }
            let has_room = findings.has_room(Code::UnusedSuppression);
            findings.extend(complaint(self.source(), directive, at, has_room));
        }
    }
}

/// Whether a text has the mark of a directive anywhere: nearly all have none.
fn has_mark(text: &[u8]) -> bool {
    /// Bytes that are worth a thread.
    const WORTH: usize = 1 << 20;
    let has = |start: usize| {
        let end = text.len().min(start + WORTH + MARK.len());
        memchr::memmem::find(&text[start..end], MARK.as_bytes()).is_some()
    };
    threads::map((0..text.len()).step_by(WORTH).collect(), has).contains(&true)
}

/// One comment that starts with [`MARK`].
#[derive(Debug)]
struct Directive {
    /// The whole comment.
    comment: Span,
    /// Where it holds.
    scope: Scope,
    /// What it names; none when it cannot be read.
    items: Option<Vec<Item>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    File,
    /// Index of the line.
    Line(usize),
}

/// A rule or family in a directive.
#[derive(Debug)]
struct Item {
    span: Span,
    /// None when there is no such rule.
    selector: Option<Selector>,
}

/// The instruction that covers `offset`, if one does.
fn statement_at(source: &Source, module: &Module, offset: u32) -> Option<Span> {
    let behind = module.statements.partition_point(|statement| statement.span.start <= offset);
    let statement = module.statements.get(behind.checked_sub(1)?)?;
    let is_covered = matches!(statement.kind(), StatementKind::Instruction(_) | StatementKind::Broken)
        && offset < statement.span.end;
    if statement.kind() == StatementKind::Broken {
        // It has the comments before it, too, which may be about the statement above.
        let first = lex(source.slice(statement.span)).next().map_or(0, |(_, range)| range.start);
        let start = statement.span.start + first as u32;
        return (is_covered && start <= offset).then_some(Span::new(start, statement.span.end));
    }
    is_covered.then_some(statement.span)
}

/// The comments of a text that may be directives. Comments are what lies between tokens, so that the
/// lexer alone decides what is one: a string that looks like a comment is none.
fn comments_of(source: &Source) -> Vec<Span> {
    let text = source.text();
    let mut found = Vec::new();
    let mut end = 0;
    let tokens = lex(text).map(|(_, range)| range);
    for token in tokens.chain(std::iter::once(text.len()..text.len())) {
        let gap = text.get(end..token.start).unwrap_or_default();
        if memchr::memmem::find(gap.as_bytes(), MARK.as_bytes()).is_some() {
            found.extend(
                comments(gap)
                    .map(|comment| Span::new((end + comment.start) as u32, (end + comment.end) as u32)),
            );
        }
        end = token.end;
    }
    found
}

/// The directives among the comments of a text.
fn directives(source: &Source, comments: &[Span]) -> Vec<Directive> {
    let mut starts = LineStarts::new(source);
    let mut directives: Vec<Directive> =
        comments.iter().filter_map(|comment| directive(source, *comment, &mut starts)).collect();
    // Directives above each other hold for the same line below them.
    for index in (0..directives.len().saturating_sub(1)).rev() {
        let below = (directives[index + 1].scope, source.lines().line(directives[index + 1].comment.start));
        if let (Scope::Line(line), (Scope::Line(target), at)) = (directives[index].scope, below)
            && line == at
            && target != at
        {
            directives[index].scope = Scope::Line(target);
        }
    }
    directives
}

/// The comments in a text that has nothing but comments and white space.
fn comments(gap: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    // The other thing between tokens is a line marker of a preprocessor.
    remarks(gap).filter(|range| gap[range.start..].starts_with('/'))
}

/// What is no white space in such a text.
fn remarks(gap: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + gap.get(rest..)?.find(|c: char| !c.is_ascii_whitespace())?;
        let tail = &gap[start..];
        // The `*` of `/*` ends nothing: `/*/` is not a whole comment.
        let len = match tail.strip_prefix("/*") {
            Some(behind) => behind.find("*/").map(|at| at + 4)?,
            None => memchr::memchr2(b'\n', b'\r', tail.as_bytes()).unwrap_or(tail.len()),
        };
        rest = start + len;
        Some(start..rest)
    })
}

/// The directive in a comment, if it starts with one.
fn directive(source: &Source, comment: Span, starts: &mut LineStarts<'_>) -> Option<Directive> {
    let text = source.slice(comment);
    // Host languages have other comments.
    let inner = text
        .strip_prefix("//")
        .or_else(|| text.strip_prefix("/*")?.strip_suffix("*/"))
        .or_else(|| text.strip_prefix(['#', ';']))?;
    let body = inner.trim_start().strip_prefix(MARK)?.trim_start();
    let opening = if text.starts_with('/') { 2 } else { 1 };
    let body_start = comment.start + opening + (inner.len() - body.len()) as u32;
    let scope = Scope::Line(line_meant(source, comment, starts));
    let (scope, list) = match body.strip_prefix("allow-file") {
        Some(list) => (Scope::File, Some(list)),
        None => (scope, body.strip_prefix("allow")),
    };
    let items = list.and_then(|list| {
        let list_start = body_start + (body.len() - list.len()) as u32;
        items(list, list_start)
    });
    Some(Directive { comment, scope, items })
}

/// The line that a comment is about: its own, or when that has nothing else the one below.
fn line_meant(source: &Source, comment: Span, starts: &mut LineStarts<'_>) -> usize {
    let lines = source.lines();
    let (first, last) = (lines.line(comment.start), lines.line(comment.end));
    let line_end = lines.start(last + 1).unwrap_or(source.text().len() as u32);
    // From the front only: what is behind the next comment is not looked at again for each.
    let ends_line = source.slice(Span::new(comment.end, line_end)).trim_start().is_empty();
    match (starts.first_text(first) >= comment.start, ends_line) {
        (true, true) => last + 1,
        (true, false) => last,
        (false, _) => first,
    }
}

/// Where the text of lines starts; remembers the last, for lines with many comments.
struct LineStarts<'s> {
    source: &'s Source,
    last: Option<(usize, u32)>,
}

impl<'s> LineStarts<'s> {
    fn new(source: &'s Source) -> Self {
        Self { source, last: None }
    }

    /// The offset of what comes first on a line or, when it is blank, behind it.
    fn first_text(&mut self, line: usize) -> u32 {
        if let Some((_, offset)) = self.last.filter(|(known, _)| *known == line) {
            return offset;
        }
        let start = self.source.lines().start(line).unwrap_or_default();
        let rest = self.source.text().get(start as usize..).unwrap_or_default();
        let offset = start + (rest.len() - rest.trim_start().len()) as u32;
        self.last = Some((line, offset));
        offset
    }
}

/// The items of `(a, b) ...`, which starts at `offset`.
fn items(list: &str, offset: u32) -> Option<Vec<Item>> {
    let open = list.len() - list.trim_start().len();
    let inner = list.trim_start().strip_prefix('(')?.split_once(')')?.0;
    let mut start = offset + open as u32 + 1;
    let mut items = Vec::new();
    for part in inner.split(',') {
        let word = part.trim();
        let at = start + (part.len() - part.trim_start().len()) as u32;
        start += part.len() as u32 + 1;
        if !word.is_empty() {
            let span = Span::new(at, at + word.len() as u32);
            items.push(Item { span, selector: Selector::known(word) });
        }
    }
    (!items.is_empty()).then_some(items)
}

/// The finding about an item that is not used. What might have been meant is a question that takes
/// time, so that it is not asked where nobody will see the answer.
fn complaint(source: &Source, directive: &Directive, at: usize, is_shown: bool) -> Option<Diagnostic> {
    let items = directive.items.as_ref()?;
    let item = items.get(at)?;
    let word = source.slice(item.span);
    let finding =
        |message: String, label: &str| Diagnostic::new(Code::UnusedSuppression, item.span, message, label);
    let finding = match &item.selector {
        None => {
            let finding = finding(format!("unknown rule `{word}` in a suppression"), "no such rule");
            let nearest = if is_shown { UnknownRule::new(word).nearest } else { "" };
            finding.help(format!("did you mean `{nearest}`?"))
        }
        Some(_) => {
            finding(format!("unused suppression of `{word}`"), "nothing to suppress").help("remove it")
        }
    };
    Some(finding.fix(Some(removal(source, directive, items, at))))
}

fn unreadable(directive: &Directive) -> Diagnostic {
    Diagnostic::new(
        Code::UnusedSuppression,
        directive.comment,
        "a suppression that cannot be understood",
        "this suppresses nothing",
    )
    .help("write `ptx-tc: allow(TC301)` with codes or names of rules, or `ptx-tc: allow-file(TC301)`")
}

/// Whether a rule that is meant would run by default, and does not.
fn is_idle(selector: &Selector, settings: &RuleSettings) -> bool {
    let is_off = |code: Code| code.severity() == Severity::Off;
    // No check runs what shows in runs only.
    if Code::all().any(|code| selector.matches(code) && code.is_about_runs()) {
        return true;
    }
    Code::all()
        .filter(|code| selector.matches(*code) && !settings.runs(*code))
        .any(|code| !is_off(code) || *selector == Selector::Rule(code))
}

/// Removes one item, or the comment when it has no other.
fn removal(source: &Source, directive: &Directive, items: &[Item], index: usize) -> Fix {
    let title = format!("Remove `{}`", source.slice(items[index].span));
    let span = match (index, items) {
        (_, [_]) => {
            let (span, left) = whole_comment(source, directive.comment);
            return Fix::safe("Remove the comment", span, left);
        }
        (0, [first, second, ..]) => Span::new(first.span.start, second.span.start),
        _ => Span::new(items[index - 1].span.end, items[index].span.end),
    };
    Fix::safe(title, span, "")
}

/// A comment with the blanks before it, and with its line when that holds nothing else; and what stays of it.
fn whole_comment(source: &Source, comment: Span) -> (Span, &'static str) {
    let text = source.text();
    let head = text.get(..comment.start as usize).unwrap_or_default();
    let start = head.trim_end_matches([' ', '\t']).len();
    let tail = text.get(comment.end as usize..).unwrap_or_default();
    let blank = tail.len() - tail.trim_start_matches([' ', '\t', '\r']).len();
    let starts_line = start == 0 || text.as_bytes().get(start - 1) == Some(&b'\n');
    let line_ends = tail.as_bytes().get(blank) == Some(&b'\n');
    let end = match (starts_line, line_ends) {
        (true, true) => comment.end as usize + blank + 1,
        // Between tokens a blank has to stay.
        (false, false) if !tail.is_empty() => {
            let is_parted = start < head.len() || blank > 0;
            return (comment, if is_parted { "" } else { " " });
        }
        _ => comment.end as usize,
    };
    (Span::new(start as u32, end as u32), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where a long text is cut to be searched by several threads.
    #[test]
    fn a_mark_is_found_wherever_it_is() {
        let mut text = vec![b' '; (1 << 21) + 100];
        assert!(!has_mark(&text));
        let cut = 1 << 20;
        for at in [0, cut - MARK.len(), cut - 3, cut, 2 * cut - 1, text.len() - MARK.len()] {
            text[at..at + MARK.len()].copy_from_slice(MARK.as_bytes());
            assert!(has_mark(&text), "{at}");
            text[at..at + MARK.len()].fill(b' ');
        }
    }
}
