//! What is shown of a source for one finding.
//!
//! An excerpt has a bounded size, whatever the text is: of a line that no compiler writes, what is
//! around the labels; of a label over many lines, its first lines and its last. So a finding costs
//! what its labels cost, not what the line costs that it stands in.

use std::ops::Range;

use codespan_reporting::files::{self, Files};
use ptx_check::source::{Source, Span};

/// Lines of at most so many bytes are shown whole: a load of 128 registers with long names fits.
const WHOLE: u32 = 1200;
/// How many bytes of a longer line are shown on each side of the start and the end of a label.
const AROUND: u32 = 100;
/// A cut that would leave out less than this is not made.
const LEAST_CUT: u32 = 20;
/// How many lines codespan shows behind the start of a label over several lines, and before its end.
const BEHIND_START: usize = 3;
const BEFORE_END: usize = 1;

/// What is shown of each source that a finding is about.
#[derive(Debug)]
pub(crate) struct Excerpts<'s> {
    files: Vec<Excerpt<'s>>,
    /// For each label, the excerpt that it is in.
    of: Vec<usize>,
}

impl<'s> Excerpts<'s> {
    /// What labels at these places need.
    pub(crate) fn new(labels: &[(&'s Source, Span)]) -> Self {
        let mut sources: Vec<(&'s Source, Vec<Span>)> = Vec::new();
        let mut of = Vec::with_capacity(labels.len());
        for &(source, span) in labels {
            let known = sources.iter().position(|(it, _)| it.name() == source.name());
            let index = known.unwrap_or_else(|| {
                sources.push((source, Vec::new()));
                sources.len() - 1
            });
            sources[index].1.push(span);
            of.push(index);
        }
        Self { files: sources.into_iter().map(|(source, spans)| Excerpt::new(source, &spans)).collect(), of }
    }

    /// The excerpt of a label, and the label's place in it.
    pub(crate) fn place(&self, label: usize, span: Span) -> (usize, Range<usize>) {
        let file = self.of.get(label).copied().unwrap_or_default();
        (file, self.files.get(file).map_or(0..0, |excerpt| excerpt.range(span)))
    }

    fn file(&self, index: usize) -> Result<&Excerpt<'s>, files::Error> {
        self.files.get(index).ok_or(files::Error::FileMissing)
    }
}

/// The lines that the labels of a finding need, as codespan wants to see them.
#[derive(Debug)]
struct Excerpt<'s> {
    source: &'s Source,
    text: String,
    lines: Vec<Line>,
    pieces: Vec<Piece>,
}

/// A line of the source that is shown.
#[derive(Debug)]
struct Line {
    /// What codespan calls it. Where lines are left out, numbers are.
    index: usize,
    /// Its index in the source.
    original: usize,
    /// Where it starts in the excerpt.
    start: usize,
}

/// A part of a source line, copied as it is.
#[derive(Debug)]
struct Piece {
    /// Where it starts in the excerpt.
    start: usize,
    original: Span,
}

impl<'s> Excerpt<'s> {
    /// What labels at `spans` need.
    fn new(source: &'s Source, spans: &[Span]) -> Self {
        let mut excerpt = Self { source, text: String::new(), lines: Vec::new(), pieces: Vec::new() };
        let mut previous: Option<Line> = None;
        for original in shown_lines(source, spans) {
            let start = excerpt.text.len();
            let index = match &previous {
                None => original,
                Some(line) if original == line.original + 1 => line.index + 1,
                // Two that are not there make codespan show that something is left out.
                Some(line) => line.index + 3,
            };
            excerpt.copy_line(original, spans);
            excerpt.lines.extend(previous.replace(Line { index, original, start }));
        }
        excerpt.lines.extend(previous);
        excerpt
    }

    /// A place of the source in the excerpt.
    fn range(&self, span: Span) -> Range<usize> {
        self.place(span.start)..self.place(span.end)
    }

    /// How long the excerpt is.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.text.len()
    }

    fn copy_line(&mut self, original: usize, spans: &[Span]) {
        let line = line_span(self.source, original);
        let mut reached = line.start;
        for window in windows(self.source, original, line, spans) {
            if window.start > reached {
                self.text.push('…');
            }
            reached = window.end;
            self.pieces.push(Piece { start: self.text.len(), original: window });
            self.text.push_str(self.source.slice(window));
        }
        if reached < line.end {
            self.text.push_str("…\n");
        }
    }

    fn place(&self, offset: u32) -> usize {
        let behind = self.pieces.partition_point(|piece| piece.original.start <= offset);
        let Some(piece) = behind.checked_sub(1).and_then(|at| self.pieces.get(at)) else { return 0 };
        piece.start + (offset - piece.original.start).min(piece.original.len()) as usize
    }

    /// The place in the source that a place in the excerpt was copied from.
    fn original(&self, place: usize) -> u32 {
        let behind = self.pieces.partition_point(|piece| piece.start <= place);
        let Some(piece) = behind.checked_sub(1).and_then(|at| self.pieces.get(at)) else { return 0 };
        piece.original.start + ((place - piece.start) as u32).min(piece.original.len())
    }

    /// The line that codespan calls so, or the one before it.
    fn line(&self, index: usize) -> Option<&Line> {
        let behind = self.lines.partition_point(|line| line.index <= index);
        self.lines.get(behind.checked_sub(1)?)
    }
}

/// The source lines to show, in order.
fn shown_lines(source: &Source, spans: &[Span]) -> Vec<usize> {
    let index = source.lines();
    let mut lines = Vec::new();
    for span in spans {
        let (first, last) = (index.line(span.start), index.line(span.end));
        lines.extend(first..=last.min(first + BEHIND_START));
        lines.extend(first.max(last.saturating_sub(BEFORE_END))..=last);
    }
    lines.sort_unstable();
    lines.dedup();
    // Instead of a mark for one line that is left out, codespan shows the line.
    let between: Vec<usize> =
        lines.windows(2).filter(|pair| pair[0] + 2 == pair[1]).map(|pair| pair[0] + 1).collect();
    lines.extend(between);
    lines.sort_unstable();
    lines
}

/// A line with its end.
fn line_span(source: &Source, index: usize) -> Span {
    let end = source.text().len() as u32;
    let lines = source.lines();
    Span::new(lines.start(index).unwrap_or(end), lines.start(index + 1).unwrap_or(end))
}

/// The parts of `line`, which has this index, that are shown, in order; none touches another.
fn windows(source: &Source, index: usize, line: Span, spans: &[Span]) -> Vec<Span> {
    if line.len() <= WHOLE {
        return vec![line];
    }
    let ends = spans.iter().flat_map(|span| [span.start, span.end]);
    let mut places: Vec<u32> = ends.filter(|place| source.lines().line(*place) == index).collect();
    if places.is_empty() {
        // In the midst of a label: how it starts will do.
        places.push(line.start);
    }
    places.sort_unstable();
    let mut windows: Vec<Span> = Vec::new();
    for place in places {
        let mut start = floor_char(source, place.saturating_sub(AROUND).max(line.start));
        let mut end = floor_char(source, place.saturating_add(AROUND).min(line.end));
        if start - line.start < LEAST_CUT {
            start = line.start;
        }
        if line.end - end < LEAST_CUT {
            end = line.end;
        }
        match windows.last_mut() {
            Some(last) if start < last.end + LEAST_CUT => last.end = last.end.max(end),
            _ => windows.push(Span::new(start, end)),
        }
    }
    windows
}

/// The start of the character that `offset` is in.
pub(crate) fn floor_char(source: &Source, mut offset: u32) -> u32 {
    while !source.text().is_char_boundary(offset as usize) {
        offset -= 1;
    }
    offset
}

impl Excerpt<'_> {
    fn line_index(&self, byte_index: usize) -> usize {
        let behind = self.lines.partition_point(|line| line.start <= byte_index);
        behind.checked_sub(1).and_then(|at| self.lines.get(at)).map_or(0, |line| line.index)
    }

    fn line_number(&self, line_index: usize) -> usize {
        self.line(line_index).map_or(1, |line| line.original + 1)
    }

    fn column_number(&self, byte_index: usize) -> usize {
        self.source.position(self.original(byte_index)).column as usize
    }

    fn line_range(&self, line_index: usize) -> Range<usize> {
        let behind = self.lines.partition_point(|line| line.index <= line_index);
        let end = self.lines.get(behind).map_or(self.text.len(), |line| line.start);
        let start = self.line(line_index).filter(|line| line.index == line_index);
        start.map_or(end, |line| line.start)..end
    }
}

impl<'a> Files<'a> for Excerpts<'_> {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, file: usize) -> Result<&'a str, files::Error> {
        Ok(self.file(file)?.source.name())
    }

    fn source(&'a self, file: usize) -> Result<&'a str, files::Error> {
        Ok(&self.file(file)?.text)
    }

    fn line_index(&'a self, file: usize, byte_index: usize) -> Result<usize, files::Error> {
        Ok(self.file(file)?.line_index(byte_index))
    }

    fn line_number(&'a self, file: usize, line_index: usize) -> Result<usize, files::Error> {
        Ok(self.file(file)?.line_number(line_index))
    }

    fn column_number(&'a self, file: usize, _: usize, byte_index: usize) -> Result<usize, files::Error> {
        Ok(self.file(file)?.column_number(byte_index))
    }

    fn line_range(&'a self, file: usize, line_index: usize) -> Result<Range<usize>, files::Error> {
        Ok(self.file(file)?.line_range(line_index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: impl Into<String>) -> Source {
        Source::new("k.ptx", text).unwrap()
    }

    fn shown<'e>(excerpt: &'e Excerpt<'_>, span: Span) -> &'e str {
        &excerpt.text[excerpt.range(span)]
    }

    #[test]
    fn an_excerpt_does_not_grow_with_the_text() {
        for text in ["; ".repeat(1 << 16), "é".repeat(1 << 16), format!("{}\n", "a".repeat(1 << 17))] {
            let source = source(text);
            let end = source.text().len() as u32;
            for start in [0, 2, 50_000, end - 2, end] {
                let spans =
                    [Span::new(start, (start + 2).min(end)), Span::new(0, end), Span::new(1 << 15, end)];
                let excerpt = Excerpt::new(&source, &spans);
                assert!(excerpt.len() < 2000, "{}", excerpt.len());
                assert!(excerpt.lines.len() < 20, "{}", excerpt.lines.len());
                assert_eq!(shown(&excerpt, spans[0]), source.slice(spans[0]));
            }
        }
    }

    #[test]
    fn a_label_over_many_lines_shows_its_ends() {
        let source =
            source((0..100_000).map(|line| [line.to_string(), "\n".to_owned()].concat()).collect::<String>());
        let text = source.text();
        let place = |line: &str| text.find(&format!("\n{line}\n")).unwrap() as u32 + 1;
        let excerpt = Excerpt::new(&source, &[Span::new(place("100"), place("90000") + 5)]);
        assert_eq!(excerpt.text, "100\n101\n102\n103\n89999\n90000\n");
        let last = excerpt.line_index(excerpt.text.len() - 2);
        assert_eq!(excerpt.line_number(last), 90_001);
        assert_eq!(excerpt.line_range(last), 22..28);
    }

    #[test]
    fn labels_far_from_each_other_are_both_there() {
        let source = source(format!("{}x{}y{}", "-".repeat(5000), "-".repeat(5000), "-".repeat(5000)));
        let (x, y) = (Span::new(5000, 5001), Span::new(10_001, 10_002));
        let excerpt = Excerpt::new(&source, &[y, x]);
        assert_eq!((shown(&excerpt, x), shown(&excerpt, y)), ("x", "y"));
        assert_eq!(excerpt.text.matches('…').count(), 3);
        let column = excerpt.column_number(excerpt.range(y).start);
        assert_eq!(column, 10_002);
    }
}
