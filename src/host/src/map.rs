//! Which characters of a host file each part of a text comes from.
//!
//! A template is not a piece of its file: literals are joined, escapes stand for other characters,
//! placeholders are replaced. So the PTX that is checked is put together from pieces, and each
//! remembers where it was taken from. [`SpanMap`] leads every span of the PTX back to the characters
//! that people wrote, and every repair into the literals that hold them.

use std::ops::Range;

use super::holes::{Hole, HoleKind, Holes};
use ptx_text::source::Span;

/// Where a piece comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It stands in the host file as it is.
    Verbatim,
    /// It stands for what the host file has: an escape, a placeholder, a macro's value.
    Replaced,
    /// Code of the host language, not of a template.
    Code,
    /// Nothing in the host file; its place is one that can be pointed at.
    Glue,
}

/// A piece of text, up to where the next one starts.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where it starts in the text.
    at: u32,
    /// Where it comes from.
    host: Span,
    origin: Origin,
    /// Pieces of different regions do not belong together, however near: one is a macro's.
    region: u32,
}

/// A text of pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapped {
    text: String,
    pieces: Vec<Piece>,
    holes: Holes,
    region: u32,
}

impl Mapped {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The parts of it that stand for something else.
    pub(super) fn holes(&self) -> &Holes {
        &self.holes
    }

    /// Where two literals meet in the middle of what they hold: nothing ends a word between them.
    pub(super) fn seams(&self) -> Vec<u32> {
        let is_template = |piece: &Piece| matches!(piece.origin, Origin::Verbatim | Origin::Replaced);
        let bytes = self.text.as_bytes();
        let is_seam = |[before, next]: &[Piece; 2]| {
            // Between them there are two quotation marks.
            let are_apart = before.host.end + 2 <= next.host.start && before.region == next.region;
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b";{}()[],".contains(byte);
            let at = next.at as usize;
            let (last, first) = (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(at));
            is_template(before)
                && is_template(next)
                && are_apart
                && last.is_some_and(|last| !ends(last))
                && first.is_some_and(|first| first.is_ascii_alphabetic() || *first == b'@')
        };
        let pairs = self.pieces.iter().zip(self.pieces.iter().skip(1));
        let seams = pairs.map(|(before, next)| [*before, *next]).filter(is_seam);
        seams.map(|[_, next]| next.at).collect()
    }

    /// What is appended from now on belongs to this region.
    pub(super) fn set_region(&mut self, region: u32) {
        self.region = region;
    }

    /// Appends what stands at `start` of the host file.
    pub(super) fn verbatim(&mut self, text: &str, start: u32) {
        if text.is_empty() {
            return;
        }
        let host = Span::new(start, start + text.len() as u32);
        match self.pieces.last_mut() {
            Some(last)
                if last.origin == Origin::Verbatim
                    && last.region == self.region
                    && last.host.end == start
                    && last.at + last.host.len() == self.text.len() as u32 =>
            {
                last.host.end = host.end;
            }
            _ => self.piece(host, Origin::Verbatim),
        }
        self.text.push_str(text);
    }

    /// Appends what stands for `host`.
    pub(super) fn replaced(&mut self, text: &str, host: Span) {
        self.push(text, host, Origin::Replaced);
    }

    /// Appends what keeps the location of something that is not known, in place of `host`.
    pub(super) fn hole(&mut self, text: &str, host: Span, kind: HoleKind) {
        let start = self.len();
        self.replaced(text, host);
        self.mark(start, kind);
    }

    /// Says what the text stands for from a location on.
    pub(super) fn mark(&mut self, start: usize, kind: HoleKind) {
        self.holes.push(Span::new(start as u32, self.len() as u32), kind);
    }

    /// Appends the name of something in the host's code.
    pub(super) fn code(&mut self, text: &str, host: Span) {
        self.push(text, host, Origin::Code);
    }

    /// Appends what the host file does not have.
    pub(super) fn glue(&mut self, text: &str, place: Span) {
        self.push(text, place, Origin::Glue);
    }

    fn push(&mut self, text: &str, host: Span, origin: Origin) {
        if !text.is_empty() {
            self.piece(host, origin);
            self.text.push_str(text);
        }
    }

    fn piece(&mut self, host: Span, origin: Origin) {
        self.pieces.push(Piece { at: self.text.len() as u32, host, origin, region: self.region });
    }

    /// Appends a part of another text with its origins; whole pieces where they are replaced.
    pub(super) fn append(&mut self, other: &Self, range: Range<usize>) {
        let part = Span::new(range.start as u32, range.end as u32);
        let moved = |at: u32| at - part.start + self.text.len() as u32;
        let is_whole = |hole: &&Hole| part.start <= hole.span.start && hole.span.end <= part.end;
        for hole in other.holes.within(part).iter().filter(is_whole) {
            self.holes.push(Span::new(moved(hole.span.start), moved(hole.span.end)), hole.kind);
        }
        for (index, text, host) in other.parts(range) {
            let piece = other.pieces[index];
            let own = std::mem::replace(&mut self.region, piece.region);
            match piece.origin {
                Origin::Verbatim => self.verbatim(text, host.start),
                origin => self.push(text, host, origin),
            }
            self.region = own;
        }
    }

    /// What a part of the text stands for.
    pub(super) fn host(&self, range: Range<usize>) -> Option<Span> {
        let mut parts = self.parts(range);
        let (_, _, first) = parts.next()?;
        let last = parts.last().map_or(first, |(_, _, last)| last);
        Some(if last.start >= first.start { first.to(last) } else { first })
    }

    /// The region that a place of the text belongs to.
    pub(super) fn region(&self, at: usize) -> u32 {
        let behind = self.pieces.partition_point(|piece| piece.at as usize <= at);
        self.pieces[..behind].last().map_or(self.region, |piece| piece.region)
    }

    /// The pieces of a part of the text: their index, text and place.
    fn parts(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &str, Span)> {
        let first = self.pieces.partition_point(|piece| piece.at as usize <= range.start).saturating_sub(1);
        let pieces = self.pieces.get(first..).unwrap_or_default().iter().enumerate();
        pieces
            .take_while({
                let end = range.end;
                move |(_, piece)| (piece.at as usize) < end
            })
            .filter_map(move |(index, piece)| {
                let index = first + index;
                let end = self.pieces.get(index + 1).map_or(self.text.len(), |next| next.at as usize);
                let start = range.start.max(piece.at as usize);
                let text = self.text.get(start..end.min(range.end))?;
                let from = piece.host.start + (start as u32 - piece.at);
                let host = match piece.origin {
                    Origin::Verbatim => Span::new(from, from + text.len() as u32),
                    Origin::Replaced | Origin::Code | Origin::Glue => piece.host,
                };
                (!text.is_empty()).then_some((index, text, host))
            })
    }

    /// The text, what parts of it stand for, and its map.
    pub(super) fn finish(self) -> (String, Holes, SpanMap) {
        (self.text, self.holes, SpanMap { pieces: self.pieces })
    }
}

/// Leads places of a text that was put together back to the file that its pieces come from.
#[derive(Clone, Debug, Default)]
pub struct SpanMap {
    pieces: Vec<Piece>,
}

/// A change of the host file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) span: Span,
    pub(super) region: u32,
    /// Whether it lies in the host's code, not in a template.
    pub(super) is_code: bool,
}

impl SpanMap {
    /// The characters of the host file that `span` stands for.
    pub fn host(&self, span: Span) -> Span {
        if span.is_empty() {
            return self.place(span.start).map_or(Span::at(0), |place| place.span);
        }
        // Pieces that stand beside each other are one place. Of several, the one with the most of the
        // text is meant.
        let mut best = (0, Span::at(0));
        let mut run: Option<(u32, Span, u32)> = None;
        for index in self.touched(span) {
            let (piece, host) = (self.pieces[index], self.part(index, span));
            let start = piece.at.max(span.start);
            let len = self.end(index).map_or(span.end, |end| end.min(span.end)) - start;
            // What was put between pieces is not what anybody wrote.
            let len = if piece.origin == Origin::Glue { 0 } else { len };
            let goes_on = |(region, before, _): &(u32, Span, u32)| {
                *region == piece.region && before.end <= host.start && piece.origin != Origin::Glue
            };
            let (region, place, sum) = match run.filter(goes_on) {
                Some((region, before, sum)) => (region, before.to(host), sum + len),
                None => (piece.region, host, len),
            };
            run = Some((region, place, sum));
            if sum > best.0 || best.1 == Span::at(0) {
                best = (sum, place);
            }
        }
        best.1
    }

    /// Where a text that is put in front of `offset` goes.
    pub(super) fn place(&self, offset: u32) -> Option<Place> {
        let behind = self.pieces.partition_point(|piece| piece.at < offset);
        let next = self.pieces.get(behind).filter(|piece| piece.at == offset);
        let before = behind.checked_sub(1).map(|index| (index, self.pieces[index]));
        let place = |span, piece: &Piece| {
            let is_code = piece.origin == Origin::Code;
            Place { span, region: piece.region, is_code }
        };
        match (before, next) {
            (Some((_, piece)), next) if piece.origin != Origin::Glue || next.is_none() => {
                let end = match (piece.origin, next) {
                    (Origin::Verbatim, _) => piece.host.start + (offset - piece.at),
                    (Origin::Replaced | Origin::Code, Some(_)) => piece.host.end,
                    (Origin::Replaced | Origin::Code | Origin::Glue, _) => piece.host.start,
                };
                Some(place(Span::at(end), &piece))
            }
            (_, Some(next)) => Some(place(Span::at(next.host.start), next)),
            (before, None) => before.map(|(_, piece)| place(Span::at(piece.host.start), &piece)),
        }
    }

    /// The places of the host file that have to change when `span` is replaced: the first gets the new
    /// text, the others go. None when that cannot be said.
    pub(super) fn places(&self, span: Span) -> Option<Vec<Place>> {
        if span.is_empty() {
            let touches_glue =
                |index: usize| self.pieces.get(index).is_some_and(|it| it.origin == Origin::Glue);
            let behind = self.pieces.partition_point(|piece| piece.at < span.start);
            let is_between = self.pieces.get(behind).is_none_or(|piece| piece.at == span.start);
            if is_between && touches_glue(behind) && behind.checked_sub(1).is_none_or(touches_glue)
                || !is_between && behind.checked_sub(1).is_some_and(touches_glue)
            {
                return None;
            }
            return self.place(span.start).map(|place| vec![place]);
        }
        let mut places: Vec<Place> = Vec::new();
        for index in self.touched(span) {
            let piece = self.pieces[index];
            let is_whole = span.start <= piece.at && self.end(index).is_some_and(|end| end <= span.end);
            let is_code = match piece.origin {
                Origin::Verbatim => false,
                Origin::Replaced if is_whole => false,
                Origin::Code if is_whole => true,
                Origin::Replaced | Origin::Code | Origin::Glue => return None,
            };
            let host = self.part(index, span);
            match places.last_mut() {
                Some(last) if last.region != piece.region || last.is_code != is_code => return None,
                Some(last) if last.span.end == host.start => last.span.end = host.end,
                Some(last) if host.start < last.span.end => return None,
                _ => places.push(Place { span: host, region: piece.region, is_code }),
            }
        }
        (!places.is_empty()).then_some(places)
    }

    /// Where a place of the host file went: the piece that has it, or that it ends.
    pub fn text(&self, host: u32) -> Option<u32> {
        let is_at = |piece: &&Piece| {
            piece.origin == Origin::Verbatim && piece.host.start <= host && host <= piece.host.end
        };
        let inside = self.pieces.iter().find(|piece| is_at(piece) && host < piece.host.end);
        if let Some(piece) = inside.or_else(|| self.pieces.iter().find(is_at)) {
            return Some(piece.at + (host - piece.host.start));
        }
        // Behind an escape or a placeholder that ends a literal.
        let is_behind = |piece: &Piece| piece.origin == Origin::Replaced && piece.host.end == host;
        self.end(self.pieces.iter().position(is_behind)?)
    }

    /// The pieces that a span that is not empty has a part of.
    fn touched(&self, span: Span) -> Range<usize> {
        let first = self.pieces.partition_point(|piece| piece.at <= span.start).saturating_sub(1);
        let end = self.pieces.partition_point(|piece| piece.at < span.end);
        first..end
    }

    /// What a span has of a piece, in the host file.
    fn part(&self, index: usize, span: Span) -> Span {
        let piece = self.pieces[index];
        match piece.origin {
            Origin::Verbatim => {
                let start = span.start.max(piece.at) - piece.at;
                let end = span.end.min(piece.at + piece.host.len()) - piece.at;
                Span::new(piece.host.start + start, piece.host.start + end.max(start))
            }
            Origin::Replaced | Origin::Code | Origin::Glue => piece.host,
        }
    }

    /// Where a piece ends that is not the last.
    fn end(&self, index: usize) -> Option<u32> {
        self.pieces.get(index + 1).map(|next| next.at)
    }
}
