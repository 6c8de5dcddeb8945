//! Findings in their source, for a terminal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use codespan_reporting::diagnostic::{self as codespan, LabelStyle};
use codespan_reporting::term::{self, Chars, Config, DisplayStyle, Styles};
use ptx_check::diagnostic::{Code, Diagnostic, Label, Omitted, Severity};
use ptx_check::source::{Source, Span};
use ptx_check::syntax::threads;
use ptx_check::words::plural;
use ptx_sources::{Line, Role, Written};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::excerpt::Excerpts;
use crate::shown::Shown;
use crate::styled::Styled;
use crate::{Checked, Reader, Summary, descriptors};

/// How much of the source to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The lines with labels under them.
    Rich,
    /// `path:line:column: error[TC301]: message`
    Short,
}

/// More causes of one finding than this are not marked.
const MAX_CAUSES: usize = 20;

/// Writes the findings of all files, and a line of totals in the rich style.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(files: &[Checked], style: Style, color: bool, out: &mut dyn Write) -> io::Result<()> {
    emit(files, style, color, out)?;
    if style == Style::Rich {
        for file in files {
            for description in file.report.descriptors.iter().flatten() {
                descriptors::render(&file.source, description, out)?;
            }
        }
        writeln!(out, "{}", totals(&Summary::of(files)))?;
    }
    Ok(())
}

/// Writes the findings in their source, and nothing else: of each rule at most `most`, if that is not 0. Returns how
/// many different ones there are.
pub(crate) fn findings(
    file: &Checked,
    (most, reader): (usize, Reader),
    color: bool,
    out: &mut dyn Write,
) -> io::Result<usize> {
    let mut shown = Shown::all(file);
    let different = shown.len();
    let omitted = limit(&mut shown, most, |shown| shown.finding);
    emit_shown(file, (&shown, &omitted), (Style::Rich, reader), color, out)?;
    Ok(different)
}

/// Leaves `most` findings of each rule; 0 leaves all. The others are counted.
pub(crate) fn limit<T>(
    findings: &mut Vec<T>,
    most: usize,
    finding: impl Fn(&T) -> &Diagnostic,
) -> Vec<Omitted> {
    let mut omitted: Vec<Omitted> = Vec::new();
    if most == 0 {
        return omitted;
    }
    let mut counts: FxHashMap<Code, usize> = FxHashMap::default();
    findings.retain(|it| {
        let &Diagnostic { code, severity, ptxas, .. } = finding(it);
        let count = counts.entry(code).or_default();
        *count += 1;
        if *count > most {
            match omitted.iter_mut().find(|it| it.code == code && it.severity == severity) {
                Some(omitted) => omitted.count += 1,
                None => {
                    omitted.push(Omitted { code, severity, ptxas, count: 1, fixable: 0, unsafe_fixable: 0 });
                }
            }
        }
        *count <= most
    });
    omitted
}

fn emit(files: &[Checked], style: Style, color: bool, out: &mut dyn Write) -> io::Result<()> {
    for file in files {
        let shown = match style {
            Style::Rich => Shown::all(file),
            Style::Short => Shown::each(file),
        };
        emit_shown(file, (&shown, &file.report.omitted), (style, Reader::CommandLine), color, out)?;
    }
    Ok(())
}

fn emit_shown(
    file: &Checked,
    (shown, omitted): (&[Shown<'_>], &[Omitted]),
    (style, reader): (Style, Reader),
    color: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let config = Config {
        display_style: match style {
            Style::Rich => DisplayStyle::Rich,
            Style::Short => DisplayStyle::Short,
        },
        chars: Chars::box_drawing(),
        tab_width: 4,
        ..Config::default()
    };
    let styles = Styles::default();
    let behind = omitted_behind(omitted, shown);
    let write = |from: usize, shown: &[Shown<'_>]| -> io::Result<Vec<u8>> {
        let mut text = Styled::new(color.then_some(&styles));
        for (index, shown) in (from..).zip(shown) {
            let (excerpts, diagnostic) = convert(file, shown, style, reader);
            term::emit_to_write_style(&mut text, &config, &excerpts, &diagnostic)
                .map_err(io::Error::other)?;
            if let Some(omitted) = behind.get(&index) {
                if style == Style::Short {
                    write!(text, "{}: ", file.source.name())?;
                }
                term::emit_to_write_style(&mut text, &config, &excerpts, &omission(*omitted, style, reader))
                    .map_err(io::Error::other)?;
            }
        }
        Ok(text.into_bytes())
    };
    in_pieces(shown, write, out)
}

/// Writes findings in their order, a piece at a time, side by side where there are several threads. `write` gets
/// the number of the first of a piece.
fn in_pieces(
    findings: &[Shown<'_>],
    write: impl Fn(usize, &[Shown<'_>]) -> io::Result<Vec<u8>> + Sync,
    out: &mut dyn Write,
) -> io::Result<()> {
    /// Findings that are worth a thread.
    const PIECE: usize = 64;
    /// What is written of more would be too much to hold.
    const WINDOW: usize = PIECE * 64;
    for (window, findings) in findings.chunks(WINDOW).enumerate() {
        let pieces: Vec<(usize, &[Shown<'_>])> = findings.chunks(PIECE).enumerate().collect();
        let write = |(piece, findings)| write(window * WINDOW + piece * PIECE, findings);
        for text in threads::map(pieces, write) {
            out.write_all(&text?)?;
        }
    }
    Ok(())
}

/// What is omitted, by the finding that it comes behind: the last of the same rule.
fn omitted_behind(omitted: &[Omitted], shown: &[Shown<'_>]) -> BTreeMap<usize, Omitted> {
    let omitted = Omitted::by_code(omitted).into_iter();
    let last = |code| shown.iter().rposition(|shown| shown.finding.code == code);
    omitted.filter_map(|omitted| Some((last(omitted.code)?, omitted))).collect()
}

fn omission(omitted: Omitted, style: Style, reader: Reader) -> codespan::Diagnostic<usize> {
    let Omitted { code, count, .. } = omitted;
    let diagnostic = codespan::Diagnostic::new(severity(omitted.severity))
        .with_code(code.as_str())
        .with_message(format!("and {count} more in this file ({})", code.name()));
    match style {
        Style::Rich => diagnostic.with_notes(vec![format!("help: {}", reader.omitted())]),
        Style::Short => diagnostic,
    }
}

fn convert<'s>(
    file: &'s Checked,
    shown: &Shown<'s>,
    style: Style,
    reader: Reader,
) -> (Excerpts<'s>, codespan::Diagnostic<usize>) {
    let finding = shown.finding;
    let code = finding.code;
    let causes = match style {
        Style::Rich => &finding.labels[..finding.labels.len().min(MAX_CAUSES)],
        Style::Short => &[],
    };
    let mut marks: Vec<Mark<'s>> = Vec::new();
    let mut notes = Vec::new();
    let mut message = format!("{} ({})", shorten(&finding.message), code.name());
    match style {
        // What people wrote comes first, and then what was made of it.
        Style::Rich => {
            marks.extend(written(file, finding, causes));
            notes.extend(unseen(file, finding, causes));
            notes.extend(shown.remark(file, reader));
        }
        Style::Short => {
            if let Some(line) = file.lines(&finding.primary).first() {
                message.push_str(&format!(", from {line}"));
            }
        }
    }
    let mark = |style, label: &'s Label| Mark {
        style,
        source: &file.source,
        span: label.span,
        message: shorten(&label.message),
    };
    marks.push(mark(LabelStyle::Primary, &finding.primary));
    marks.extend(causes.iter().map(|cause| mark(LabelStyle::Secondary, cause)));
    if let Some(note) = &finding.note {
        notes.push(format!("note: {}", shorten(note)));
    }
    if let Some(help) = &finding.help {
        notes.push(format!("help: {}", shorten(help)));
    }
    let places: Vec<(&Source, Span)> = marks.iter().map(|mark| (mark.source, mark.span)).collect();
    let excerpts = Excerpts::new(&places);
    let labels = marks.into_iter().enumerate().map(|(index, mark)| {
        let (file, range) = excerpts.place(index, mark.span);
        codespan::Label::new(mark.style, file, range).with_message(mark.message)
    });
    let diagnostic = codespan::Diagnostic::new(severity(finding.severity))
        .with_code(code.as_str())
        .with_message(message)
        .with_labels(labels.collect())
        .with_notes(notes);
    (excerpts, diagnostic)
}

/// A place to show.
struct Mark<'s> {
    style: LabelStyle,
    source: &'s Source,
    span: Span,
    message: Cow<'s, str>,
}

/// The lines that people wrote: of the finding, of its causes, and of the calls through which they were inlined.
fn written<'s>(file: &'s Checked, finding: &'s Diagnostic, causes: &'s [Label]) -> Vec<Mark<'s>> {
    let written = file.sources.written(finding, causes, |line| line.shown().is_some());
    let marks = written.into_iter().filter_map(|Written { line, role }| {
        let (source, span) = line.shown()?;
        let (style, message) = match role {
            Role::Offence => (LabelStyle::Primary, "compiled to the PTX below".into()),
            Role::NearOffence => (LabelStyle::Primary, "the last line before the PTX below".into()),
            Role::CallOfOffence => {
                (LabelStyle::Primary, "what is inlined here is compiled to the PTX below".into())
            }
            Role::Call => (LabelStyle::Secondary, "inlined here".into()),
            Role::Cause(said) => (LabelStyle::Secondary, shorten(said)),
            Role::CallOfCause(said) => {
                (LabelStyle::Secondary, format!("{} (inlined here)", shorten(said)).into())
            }
        };
        Some(Mark { style, source, span, message })
    });
    marks.collect()
}

/// The lines as remarks, where not all can be shown.
fn unseen(file: &Checked, finding: &Diagnostic, causes: &[Label]) -> Vec<String> {
    let remark = |label: &Label, said: &str| {
        let lines = file.lines(label);
        lines.iter().find(|line| line.shown().is_none())?;
        let lines: Vec<String> = lines.iter().map(Line::to_string).collect();
        Some((lines.join(", inlined at "), shorten(said).into_owned()))
    };
    let mut known = FxHashSet::default();
    let own = remark(&finding.primary, "").into_iter();
    let all = own.chain(causes.iter().filter_map(|cause| remark(cause, &cause.message)));
    all.filter(|(lines, _)| known.insert(lines.clone()))
        .map(|(lines, said)| match said.as_str() {
            "" => format!("source: {lines}"),
            said => format!("source: {lines}: {said}"),
        })
        .collect()
}

fn severity(severity: Severity) -> codespan::Severity {
    match severity {
        Severity::Error => codespan::Severity::Error,
        Severity::Warning => codespan::Severity::Warning,
        Severity::Info | Severity::Off => codespan::Severity::Note,
    }
}

/// A text without its middle when that is too long to be read, as with a name of a megabyte in it.
fn shorten(text: &str) -> Cow<'_, str> {
    const LONG: usize = 2000;
    const KEPT: usize = 600;
    if text.len() <= LONG {
        return text.into();
    }
    let boundary = |at: usize| (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
    format!("{}…{}", &text[..boundary(KEPT)], &text[boundary(text.len() - KEPT)..]).into()
}

/// What a run amounts to, in a line.
pub(crate) fn totals(summary: &Summary) -> String {
    if summary.errors + summary.warnings + summary.infos == 0 {
        return format!("{} checked, nothing found", plural(summary.files, "file"));
    }
    let mut parts = vec![plural(summary.errors, "error"), plural(summary.warnings, "warning")];
    if summary.infos > 0 {
        parts.push(plural(summary.infos, "info"));
    }
    format!("{} checked: {}", plural(summary.files, "file"), parts.join(", "))
}
