//! The parts of the text that a host language decides.
//!
//! A template has operands, and pieces that only the program around it knows. In the text something has to be written
//! for each of them, or it would not parse. What stands there is told by its location alone: a name that is written
//! alike is a name.

use ptx_text::source::Span;

/// What a part of the text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoleKind {
    /// The operand with this number, which is a register.
    Operand(u32),
    /// An immediate operand whose value is not known.
    Immediate,
    /// Any text: a part of a word, an operand, several statements.
    Text,
}

/// A part of the text that the host language decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hole {
    /// Where it is.
    pub span: Span,
    /// What it stands for.
    pub kind: HoleKind,
}

/// All such parts of a text. A module that is a file of its own has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// In the order of the text.
    all: Vec<Hole>,
}

impl Holes {
    /// Those with a part in `span`; an empty one has none.
    pub fn within(&self, span: Span) -> &[Hole] {
        if span.is_empty() {
            return &[];
        }
        let first = self.all.partition_point(|hole| hole.span.end <= span.start);
        let behind = &self.all[first..];
        &behind[..behind.partition_point(|hole| hole.span.start < span.end)]
    }

    /// Whether a part of `span` is not known.
    pub fn has_unknown(&self, span: Span) -> bool {
        self.within(span).iter().any(|hole| !matches!(hole.kind, HoleKind::Operand(_)))
    }

    /// Whether a part of `span` can be any text, so that what is around it need not be what it looks like.
    pub fn has_text(&self, span: Span) -> bool {
        self.within(span).iter().any(|hole| hole.kind == HoleKind::Text)
    }

    /// Whether text that is not known starts at a location.
    pub fn is_text_at(&self, offset: u32) -> bool {
        let next = Span::new(offset, offset.saturating_add(1));
        self.within(next).iter().any(|hole| hole.kind == HoleKind::Text && hole.span.start == offset)
    }

    /// Where the unknown text starts that `span` ends with; its end if it ends otherwise.
    pub fn end_of_known(&self, span: Span) -> u32 {
        let last = self.within(span).iter().rev();
        last.take_while(|hole| hole.kind == HoleKind::Text)
            .fold(span.end, |end, hole| if hole.span.end == end { hole.span.start } else { end })
    }

    /// The number of the operand that `span` stands for, if it does.
    pub fn operand(&self, span: Span) -> Option<u32> {
        match self.within(span) {
            [Hole { span: whole, kind: HoleKind::Operand(number) }] if *whole == span => Some(*number),
            _ => None,
        }
    }

    /// Whether a part of this text has the same as a part of another one that is as long.
    pub fn are_alike(&self, span: Span, other: &Self, its: Span) -> bool {
        let relative =
            |hole: &Hole, span: Span| (hole.span.start.wrapping_sub(span.start), hole.span.len(), hole.kind);
        let (own, others) = (self.within(span), other.within(its));
        own.iter().map(|it| relative(it, span)).eq(others.iter().map(|it| relative(it, its)))
    }

    /// Adds one behind all others.
    pub(super) fn push(&mut self, span: Span, kind: HoleKind) {
        self.all.push(Hole { span, kind });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Hole> {
        self.all.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let mut holes = Holes::default();
        holes.push(Span::new(4, 6), HoleKind::Operand(1));
        holes.push(Span::new(10, 20), HoleKind::Text);
        holes.push(Span::new(20, 30), HoleKind::Text);
        holes.push(Span::new(40, 50), HoleKind::Immediate);
        assert_eq!(holes.operand(Span::new(4, 6)), Some(1));
        assert_eq!(holes.operand(Span::new(4, 7)), None);
        assert!(!holes.has_unknown(Span::new(0, 10)) && holes.has_unknown(Span::new(0, 11)));
        assert!(holes.has_unknown(Span::new(30, 60)) && !holes.has_text(Span::new(30, 60)));
        assert!(!holes.has_unknown(Span::at(15)));
        assert!(holes.is_text_at(20) && !holes.is_text_at(19) && !holes.is_text_at(40));
        let end = |start, end| holes.end_of_known(Span::new(start, end));
        assert_eq!((end(2, 30), end(2, 20), end(2, 31), end(2, 50)), (10, 10, 31, 50));
        let mut moved = Holes::default();
        moved.push(Span::new(110, 120), HoleKind::Text);
        assert!(holes.are_alike(Span::new(7, 20), &moved, Span::new(107, 120)));
        assert!(!holes.are_alike(Span::new(7, 20), &moved, Span::new(106, 119)));
        assert!(!holes.are_alike(Span::new(4, 20), &moved, Span::new(104, 120)));
    }
}
