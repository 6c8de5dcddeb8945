//! Writing the comments that silence what was found.
//!
//! A comment stands at the end of the line of its finding. Where that line cannot have one, because it
//! has one already or ends within one, it stands alone on the line above; and where a statement has
//! several lines, its first line will do instead. A line that begins in one comment and ends in
//! another gets a third between them. A directive that is about the line already gets another name.
//!
//! In a file of another language it is not known here which lines end in strings. There it stands alone
//! above the statement or, in a line that is continued, before it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Directive, Scope, comments_of, directives, remarks, statement_at};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::host::{Host, Language, MARK};
use crate::resolve::unit::Unit;
use crate::source::{Source, Span};
use crate::syntax::lexer::lex;

/// How comments are written in a kind of file.
#[derive(Clone, Copy, Debug)]
struct CommentSyntax {
    /// What starts one that ends with its line.
    line: &'static str,
    /// What one within a line starts and ends with, where there are such comments.
    inline: Option<(&'static str, &'static str)>,
}

impl CommentSyntax {
    fn of(language: Option<Language>) -> Self {
        match language {
            None => Self { line: "//", inline: Some(("/*", "*/")) },
            Some(language @ (Language::Cpp | Language::Rust)) => {
                Self { line: language.line_comment(), inline: Some(("/*", "*/")) }
            }
            Some(language @ (Language::Python | Language::Llvm | Language::Mlir | Language::Mojo)) => {
                Self { line: language.line_comment(), inline: None }
            }
        }
    }
}

/// Whether a comment should silence findings of the rule. What does not parse has to be repaired, and a
/// comment that silences nothing has to go.
pub fn is_excusable(code: Code) -> bool {
    !matches!(code, Code::SyntaxError | Code::InvalidToken | Code::UnusedSuppression)
}

/// What silences these rules.
fn directive(names: &[&str]) -> String {
    format!("{MARK} allow({})", names.join(", "))
}

/// Where names are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// To the directive with this index.
    Directive(usize),
    /// At the end of the line with this index.
    EndOf(usize),
    /// On a line of its own above the line with this index.
    Above(usize),
    /// Behind the comment that ends here.
    Behind(u32),
    /// Before what begins here.
    Before(u32),
}

/// The edits after which comments silence the findings, as far as there is a place for comments.
/// They are edits of the file that people see, which is the unit's text or `host`, as the findings are
/// findings in it.
pub fn edits(unit: &Unit, host: Option<&Host>, findings: &[Diagnostic]) -> Vec<Edit> {
    let source = host.map_or(&unit.source, |host| &host.source);
    let directives = match host {
        None => directives(source, &comments_of(source)),
        Some(host) => directives(source, &host.comments),
    };
    let places = Places::new(source, host, &directives);
    let mut names: BTreeMap<Place, Vec<&'static str>> = BTreeMap::new();
    let excusable = findings.iter().filter(|finding| is_excusable(finding.code));
    for (finding, offset) in excusable.flat_map(|it| it.places().map(move |place| (it, place.start))) {
        let statement = match host {
            None => statement_at(source, &unit.module, offset),
            Some(host) => host.statement(offset),
        };
        let Some(place) = places.find(offset, statement.map(|span| span.start)) else { continue };
        let names = names.entry(place).or_default();
        let name = finding.code.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().filter_map(|(place, names)| places.edit(place, &names)).collect()
}

/// Where a text can have comments.
struct Places<'a> {
    source: &'a Source,
    host: Option<&'a Host>,
    syntax: CommentSyntax,
    directives: &'a [Directive],
    /// The last directive that is about the line with this index.
    by_line: BTreeMap<usize, usize>,
    /// Lines behind whose text there is a comment, or the beginning of one.
    taken: BTreeSet<usize>,
    /// Lines that begin within a comment, and where it ends.
    within: BTreeMap<usize, u32>,
}

impl<'a> Places<'a> {
    fn new(source: &'a Source, host: Option<&'a Host>, directives: &'a [Directive]) -> Self {
        let mut by_line = BTreeMap::new();
        for (index, directive) in directives.iter().enumerate() {
            if let Scope::Line(line) = directive.scope
                && directive.items.as_ref().is_some_and(|items| !items.is_empty())
            {
                by_line.insert(line, index);
            }
        }
        let mut places = Self {
            source,
            host,
            syntax: CommentSyntax::of(host.map(|host| host.language)),
            directives,
            by_line,
            taken: BTreeSet::new(),
            within: BTreeMap::new(),
        };
        if host.is_none() {
            places.read_comments();
        }
        places
    }

    /// Finds out where the lines of PTX have comments.
    fn read_comments(&mut self) {
        let source = self.source;
        let (text, lines) = (source.text(), source.lines());
        let mut end = 0;
        for token in lex(text).map(|(_, range)| range).chain(std::iter::once(text.len()..text.len())) {
            for remark in remarks(text.get(end..token.start).unwrap_or_default()) {
                let span = Span::new((end + remark.start) as u32, (end + remark.end) as u32);
                let (first, last) = (lines.line(span.start), lines.line(span.end));
                self.taken.extend(first..last);
                self.within.extend((first + 1..=last).map(|line| (line, span.end)));
                if !source.slice(span).starts_with("/*") {
                    self.taken.insert(first);
                }
            }
            end = token.end;
        }
    }

    /// Where a comment stands that is about the line of a finding, or about the first line of its
    /// statement.
    fn find(&self, offset: u32, statement: Option<u32>) -> Option<Place> {
        let line_of = |offset| self.source.lines().line(offset);
        let line = line_of(offset);
        let lines = [line, statement.map_or(line, line_of)];
        if let Some(index) = lines.iter().find_map(|line| self.by_line.get(line)) {
            return Some(Place::Directive(*index));
        }
        if self.host.is_some() {
            return self.find_in_host(statement.unwrap_or(offset), statement.is_some());
        }
        let own_line = |line: &usize| {
            // Alone on a line, it would be about the next one.
            let is_blank = self.line(*line).is_none_or(|line| self.source.slice(line).trim().is_empty());
            if !is_blank && !self.taken.contains(line) {
                Some(Place::EndOf(*line))
            } else if self.within.contains_key(line) {
                None
            } else {
                Some(Place::Above(*line))
            }
        };
        let behind = || self.within.get(&line).map(|end| Place::Behind(*end));
        lines.iter().find_map(own_line).or_else(|| self.syntax.inline.and_then(|_| behind()))
    }

    /// The same in another language: above the line where a statement or else what was found starts.
    fn find_in_host(&self, start: u32, is_statement: bool) -> Option<Place> {
        let index = self.source.lines().line(start);
        let line = self.line(index)?;
        let before = self.source.slice(Span::new(line.start, start));
        let above = index.checked_sub(1).and_then(|above| self.line(above));
        let is_continued = above.is_some_and(|above| self.source.slice(above).ends_with('\\'));
        // The line may begin in a string or a comment that ends before the statement does.
        // In MLIR, the operation may be in quotes itself.
        let is_operation = self.syntax.line == "//" && self.syntax.inline.is_none() && before.trim() == "\"";
        let is_clear =
            is_operation || !is_statement || !before.contains(['"', '\'', '`']) && !before.contains("*/");
        if !is_continued && is_clear {
            return Some(Place::Above(index));
        }
        let text = self.source.slice(line);
        let first = line.start + (text.len() - text.trim_start().len()) as u32;
        self.syntax.inline.map(|_| Place::Before(if is_statement { start } else { first }))
    }

    /// A line without what ends it.
    fn line(&self, index: usize) -> Option<Span> {
        let text = self.source.text();
        let start = self.source.lines().start(index)?;
        let end = self.source.lines().start(index + 1).map_or(text.len(), |end| end as usize - 1);
        let line = text.get(start as usize..end)?;
        Some(Span::new(start, start + line.strip_suffix('\r').unwrap_or(line).len() as u32))
    }

    fn edit(&self, place: Place, names: &[&str]) -> Option<Edit> {
        Some(match place {
            Place::Directive(index) => {
                let last = self.directives.get(index)?.items.as_ref()?.last()?;
                Edit { span: Span::at(last.span.end), text: format!(", {}", names.join(", ")) }
            }
            Place::EndOf(line) => {
                let line = self.line(line)?;
                let blank = Span::new(line.start + self.source.slice(line).trim_end().len() as u32, line.end);
                Edit { span: blank, text: format!(" {} {}", self.syntax.line, directive(names)) }
            }
            Place::Above(line) => {
                let line = self.line(line)?;
                let text = self.source.slice(line);
                let indentation = &text[..text.len() - text.trim_start_matches([' ', '\t']).len()];
                let newline =
                    if self.source.text()[line.end as usize..].starts_with('\r') { "\r\n" } else { "\n" };
                let comment = format!("{} {}", self.syntax.line, directive(names));
                Edit { span: Span::at(line.start), text: format!("{indentation}{comment}{newline}") }
            }
            Place::Behind(offset) => {
                let (open, close) = self.syntax.inline?;
                Edit { span: Span::at(offset), text: format!(" {open} {} {close}", directive(names)) }
            }
            Place::Before(offset) => {
                let (open, close) = self.syntax.inline?;
                Edit { span: Span::at(offset), text: format!("{open} {} {close} ", directive(names)) }
            }
        })
    }
}
