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

use rustc_hash::FxHashMap;

use crate::diagnostic::selection::{RuleSettings, Selector, UnknownRule};
use crate::diagnostic::{Diagnostic, Fix, Severity};
use crate::resolve::unit::Unit;
use crate::rules::Code;
use crate::source::{Source, Span};
use crate::syntax::ast::{Module, StatementKind};
use crate::syntax::lexer::lex;

/// What every directive contains; a file without it has none.
const MARK: &str = "ptx-tc:";

/// Removes the findings that comments silence, and adds those about the comments.
pub fn apply(unit: &Unit, settings: &RuleSettings, findings: &mut Vec<Diagnostic>) {
    let Unit { source, module, .. } = unit;
    if memchr::memmem::find(source.text().as_bytes(), MARK.as_bytes()).is_none() {
        return;
    }
    let directives = directives(source);
    if directives.is_empty() {
        return;
    }
    let mut directives = Directives::new(directives);
    let lines = |finding: &Diagnostic| {
        let offset = finding.primary.span.start;
        let line = source.lines().line(offset);
        (line, statement_at(module, offset).map_or(line, |span| source.lines().line(span.start)))
    };
    findings.retain(|finding| !directives.silence(finding.code, lines(finding)));

    // Complaints about directives can be silenced themselves, by a directive that then is used.
    let is_meta =
        |item: &Item| item.selector.as_ref().is_ok_and(|selector| selector.matches(Code::UnusedSuppression));
    for (finding, lines) in complaints(source, &directives.all, settings, |item| !is_meta(item)) {
        if !directives.silence(finding.code, lines) {
            findings.push(finding);
        }
    }
    findings.extend(
        complaints(source, &directives.all, settings, is_meta).into_iter().map(|(finding, _)| finding),
    );
    findings.sort_by_key(|finding| (finding.primary.span, finding.code));
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
    selector: Result<Selector, UnknownRule>,
    used: bool,
}

/// The directives of a text, to be found by the line that they hold for.
struct Directives {
    all: Vec<Directive>,
    /// Indices of those for the whole file.
    in_file: Vec<usize>,
    on_line: FxHashMap<usize, Vec<usize>>,
}

impl Directives {
    fn new(all: Vec<Directive>) -> Self {
        let (mut in_file, mut on_line) = (Vec::new(), FxHashMap::<usize, Vec<usize>>::default());
        for (index, directive) in all.iter().enumerate() {
            match directive.scope {
                Scope::File => in_file.push(index),
                Scope::Line(line) => on_line.entry(line).or_default().push(index),
            }
        }
        Self { all, in_file, on_line }
    }

    /// Whether a directive silences findings of `code` on one of two lines. All that do are used.
    fn silence(&mut self, code: Code, (line, first): (usize, usize)) -> bool {
        let on = |line| self.on_line.get(&line).into_iter().flatten();
        let holding = self.in_file.iter().chain(on(line)).chain(on(first).filter(|_| first != line));
        let mut silenced = false;
        for index in holding {
            for item in self.all[*index].items.iter_mut().flatten() {
                if item.selector.as_ref().is_ok_and(|selector| selector.matches(code)) {
                    item.used = true;
                    silenced = true;
                }
            }
        }
        silenced
    }
}

/// The instruction that covers `offset`, if one does.
fn statement_at(module: &Module, offset: u32) -> Option<Span> {
    let behind = module.statements.partition_point(|statement| statement.span.start <= offset);
    let statement = module.statements.get(behind.checked_sub(1)?)?;
    let is_covered = matches!(statement.kind, StatementKind::Instruction(_) | StatementKind::Broken)
        && offset < statement.span.end;
    is_covered.then_some(statement.span)
}

/// The directives of a text. Comments are what lies between tokens, so that the lexer alone decides
/// what is one: a string that looks like a comment is none.
fn directives(source: &Source) -> Vec<Directive> {
    let text = source.text();
    let mut directives = Vec::new();
    let mut end = 0;
    let tokens = lex(text).map(|(_, range)| range);
    for token in tokens.chain(std::iter::once(text.len()..text.len())) {
        let gap = text.get(end..token.start).unwrap_or_default();
        if memchr::memmem::find(gap.as_bytes(), MARK.as_bytes()).is_some() {
            directives.extend(comments(gap).filter_map(|comment| {
                let span = Span::new((end + comment.start) as u32, (end + comment.end) as u32);
                directive(source, span)
            }));
        }
        end = token.end;
    }
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
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let start = rest + gap.get(rest..)?.find(|c: char| !c.is_ascii_whitespace())?;
            let tail = &gap[start..];
            let line_end = memchr::memchr2(b'\n', b'\r', tail.as_bytes()).unwrap_or(tail.len());
            let len = if tail.starts_with("/*") { tail.find("*/").map(|at| at + 2)? } else { line_end };
            rest = start + len;
            // The other thing between tokens is a line marker of a preprocessor.
            if tail.starts_with('/') {
                return Some(start..rest);
            }
        }
    })
}

/// The directive in a comment, if it starts with one.
fn directive(source: &Source, comment: Span) -> Option<Directive> {
    let text = source.slice(comment);
    let inner = text.strip_prefix("//").or_else(|| text.strip_prefix("/*")?.strip_suffix("*/"))?;
    let body = inner.trim_start().strip_prefix(MARK)?.trim_start();
    let body_start = comment.start + 2 + (inner.len() - body.len()) as u32;
    let scope = Scope::Line(line_meant(source, comment));
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
fn line_meant(source: &Source, comment: Span) -> usize {
    let lines = source.lines();
    let (first, last) = (lines.line(comment.start), lines.line(comment.end));
    let line_start = lines.start(first).unwrap_or_default();
    let line_end = lines.start(last + 1).unwrap_or(source.text().len() as u32);
    let is_blank = |start, end| source.slice(Span::new(start, end)).trim().is_empty();
    match (is_blank(line_start, comment.start), is_blank(comment.end, line_end)) {
        (true, true) => last + 1,
        (true, false) => last,
        (false, _) => first,
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
            items.push(Item { span, selector: word.parse(), used: false });
        }
    }
    (!items.is_empty()).then_some(items)
}

/// Findings about the directives' items for which `which` holds, and the lines that they are on: the
/// comment's, and the one that the comment is for.
fn complaints(
    source: &Source,
    directives: &[Directive],
    settings: &RuleSettings,
    which: impl Fn(&Item) -> bool,
) -> Vec<(Diagnostic, (usize, usize))> {
    let severity = settings.severity(Code::UnusedSuppression);
    let mut findings = Vec::new();
    if !settings.runs(Code::UnusedSuppression) {
        return findings;
    }
    for directive in directives {
        let line = source.lines().line(directive.comment.start);
        let lines = match directive.scope {
            Scope::File => (line, line),
            Scope::Line(target) => (line, target),
        };
        let Some(items) = &directive.items else {
            // Once, with the items that are understood first.
            if which(&Item { span: directive.comment, selector: Err(UnknownRule::new("")), used: false }) {
                findings.push((unreadable(directive), lines));
            }
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            if item.used || !which(item) {
                continue;
            }
            let word = source.slice(item.span);
            let finding = |message: String, label: &str| {
                Diagnostic::new(Code::UnusedSuppression, item.span, message, label)
            };
            let finding = match &item.selector {
                Err(unknown) => finding(format!("unknown rule `{word}` in a suppression"), "no such rule")
                    .help(format!("did you mean `{}`?", unknown.nearest)),
                // A rule that did not run cannot say whether it would have found something.
                Ok(selector) if is_idle(selector, settings) => continue,
                Ok(_) => finding(format!("unused suppression of `{word}`"), "nothing to suppress")
                    .help("remove it"),
            };
            findings.push((finding.fix(Some(removal(source, directive, items, index))), lines));
        }
    }
    for (finding, _) in &mut findings {
        finding.severity = severity;
    }
    findings
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
    Code::all()
        .filter(|code| selector.matches(*code) && !settings.runs(*code))
        .any(|code| !is_off(code) || *selector == Selector::Rule(code))
}

/// Removes one item, or the comment when it has no other.
fn removal(source: &Source, directive: &Directive, items: &[Item], index: usize) -> Fix {
    let title = format!("Remove `{}`", source.slice(items[index].span));
    let span = match (index, items) {
        (_, [_]) => return Fix::safe("Remove the comment", whole_comment(source, directive.comment), ""),
        (0, [first, second, ..]) => Span::new(first.span.start, second.span.start),
        _ => Span::new(items[index - 1].span.end, items[index].span.end),
    };
    Fix::safe(title, span, "")
}

/// A comment with the blanks before it, and with its line when that holds nothing else.
fn whole_comment(source: &Source, comment: Span) -> Span {
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
        (false, false) if !tail.is_empty() => return comment,
        _ => comment.end as usize,
    };
    Span::new(start as u32, end as u32)
}
