//! How the bytes of shared memory lie: what a tensor copy has brought there under one swizzling mode is
//! not what a matrix reads under another.

use super::Machine;
use super::boxes::Boxed;
use super::operation::Operation;
use super::tensor_core::Footprint;
use crate::addresses::Swizzle;
use crate::diagnostic::Code;
use crate::findings::Finding;

/// Bytes of a row where nothing is swizzled, and of the longest one.
const NO_SPAN: u32 = 16;
const LONGEST: u32 = 128;

/// How something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    swizzle: Swizzle,
    /// Bits of an element in the tensor, and of one in shared memory.
    bits: (u32, u32),
    /// The copy that wrote it.
    step: u32,
}

/// What is known of how the bytes of a CTA lie: starts, ends. None overlap.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    all: Vec<(u32, u32, Layout)>,
}

/// As what a matrix is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReadAs {
    /// The first operand of a multiply.
    A,
    /// The second one.
    B,
    /// What `tcgen05.cp` copies.
    Copied,
}

impl ReadAs {
    pub(super) const COUNT: usize = 3;
    pub(super) const ALL: [Self; Self::COUNT] = [Self::A, Self::B, Self::Copied];
}

/// How a matrix is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reader {
    pub(super) read_as: ReadAs,
    /// Nothing if its pattern is moved.
    pub(super) swizzle: Option<Swizzle>,
    /// Bits of an element, and how many it takes.
    pub(super) bits: (u32, u32),
}

impl Reader {
    /// Bits that an element of 4 bits takes, if the elements have so many.
    fn fours(self) -> Option<u32> {
        (self.bits.0 == 4).then_some(self.bits.1)
    }

    /// How many of 16 bytes hold elements: padding follows those of less than 8 bits (9.7.16.10.4).
    pub(super) fn bytes_of_sixteen(self) -> u32 {
        16 * self.bits.0.min(self.bits.1) / self.bits.1.max(1)
    }
}

impl Layouts {
    /// Somebody else writes there: how is not known.
    pub(super) fn forget(&mut self, start: u32, bytes: u32) {
        if !self.all.is_empty() {
            self.all.retain(|(from, to, _)| *to <= start || start.saturating_add(bytes) <= *from);
        }
    }
}

impl Machine<'_> {
    /// A tensor copy has written there.
    pub(super) fn remember_layout(
        &mut self,
        operation: &Operation,
        boxed: &Boxed,
        (cta, offset): (u32, u32),
    ) {
        let element = boxed.element();
        let bits = (element.bits, if element.is_padded { 8 } else { element.bits });
        let layout = Layout { swizzle: boxed.swizzle(), bits, step: operation.step };
        let end = offset.saturating_add(boxed.extent().min(1 << 20) as u32);
        let layouts = &mut self.ctas[cta as usize].layouts;
        layouts.forget(offset, end - offset);
        layouts.all.push((offset, end, layout));
    }

    /// Looks whether a matrix is read as it was written.
    pub(super) fn check_layout(
        &mut self,
        operation: &Operation,
        cta: u32,
        matrix: &Footprint,
        reader: Reader,
    ) {
        let layouts = &self.ctas[cta as usize].layouts.all;
        let found = layouts.iter().find_map(|(from, to, layout)| {
            let swizzled = reader.swizzle.filter(|mode| *mode != layout.swizzle);
            let packed = layout.bits.0 == 4 && reader.fours().is_some_and(|bits| bits != layout.bits.1);
            if swizzled.is_none() && !packed || *to <= matrix.start || matrix.end <= *from {
                return None;
            }
            let here = matrix
                .pieces
                .iter()
                .map(|(start, bytes)| ((*start).max(*from), (start + bytes).min(*to)))
                .filter(|(first, last)| first < last);
            let first = here.clone().next().map(|(first, _)| first)?;
            let Some(mode) = swizzled else { return Some((first, *layout, None)) };
            // The second row begins elsewhere if rows have other lengths.
            let is_longer = layout.swizzle.span().is_some_and(|span| span != mode.span().unwrap_or(NO_SPAN));
            if is_longer && here.clone().map(|(first, last)| last - first).sum::<u32>() > LONGEST {
                return Some((first, *layout, Some(mode)));
            }
            // Where both patterns leave the bytes alone, or move them the same way, they are equal.
            let differs = |at: &u32| layout.swizzle.apply(*at) != mode.apply(*at);
            let place = here.clone().find_map(|(first, last)| (first..last).step_by(8).find(differs))?;
            Some((place, *layout, Some(mode)))
        });
        let Some((offset, layout, swizzled)) = found else { return };
        let place = self.place_name(cta, offset);
        let (message, read, written) = if let Some(mode) = swizzled {
            (
                "a matrix is read under another swizzling mode than it was written with",
                format!("its descriptor reads {place} {}", words(mode)),
                format!("the tensor copy writes that {}", words(layout.swizzle)),
            )
        } else {
            (
                "elements of 4 bits are read as they were written: packed, or in bytes of their own",
                format!("elements of 4 bits take {} bits each in {place}", reader.fours().unwrap_or(0)),
                format!("the tensor copy gives each {} bits", layout.bits.1),
            )
        };
        let finding =
            Finding::new(Code::LayoutMismatch, operation.step, message, read).label(layout.step, written);
        self.report(finding);
    }
}

/// How something is swizzled.
fn words(swizzle: Swizzle) -> &'static str {
    match swizzle {
        Swizzle::None => "without swizzling",
        Swizzle::Bytes32 => "in the mode of 32 bytes",
        Swizzle::Bytes64 => "in the mode of 64 bytes",
        Swizzle::Bytes128 => "in the mode of 128 bytes",
        Swizzle::Bytes128Atom32 => "in the mode of 128 bytes with atoms of 32",
        Swizzle::Bytes128Atom32Flip8 => "in the mode of 128 bytes with atoms of 32, flipped",
        Swizzle::Bytes128Atom64 => "in the mode of 128 bytes with atoms of 64",
    }
}
