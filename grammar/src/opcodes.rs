//! Numbers for opcodes.
//!
//! A module has hundreds of thousands of instructions, but a few hundred opcodes. They are numbered while
//! the text is at hand, so that whoever wants to know what an instruction is need not read it again.

use rustc_hash::FxHashMap;

use crate::source::Span;

/// Opcodes that are kept at hand.
const RECENT: usize = 512;

/// The opcodes of one text that were met so far.
pub(crate) struct Opcodes<'s> {
    text: &'s str,
    known: FxHashMap<&'s str, u32>,
    /// By a few letters: the opcode that was last met with them.
    recent: [u32; RECENT],
}

impl<'s> Opcodes<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        Self { text, known: FxHashMap::default(), recent: [0; RECENT] }
    }

    /// The number of the opcode at a place: its index in `all`, where each distinct one is listed where it is
    /// first met.
    #[inline]
    pub(crate) fn number(&mut self, opcode: Span, all: &mut Vec<Span>) -> u32 {
        match self.recent(opcode, all) {
            Ok(number) => number,
            Err(place) => {
                let number = self.look_up(opcode, all);
                self.recent[place] = number;
                number
            }
        }
    }

    /// The number of what stands at a place, if that is an opcode that was met of late; else, where its number
    /// is kept once it has been met.
    #[inline]
    pub(crate) fn recent(&self, opcode: Span, all: &[Span]) -> Result<u32, usize> {
        let bytes = self.text.as_bytes();
        let written = bytes.get(opcode.range()).unwrap_or_default();
        let place = place(written);
        let recent = self.recent[place];
        let is_recent = |last: &Span| bytes.get(last.range()) == Some(written);
        if all.get(recent as usize).is_some_and(is_recent) { Ok(recent) } else { Err(place) }
    }

    fn look_up(&mut self, opcode: Span, all: &mut Vec<Span>) -> u32 {
        let written = self.text.get(opcode.range()).unwrap_or_default();
        *self.known.entry(written).or_insert_with(|| {
            all.push(opcode);
            all.len() as u32 - 1
        })
    }
}

/// By number of an opcode in `piece`: its number in `all`, where those are added that it lacks.
pub(crate) fn merge(text: &str, all: &mut Vec<Span>, piece: &[Span]) -> Vec<u32> {
    let slice = |span: &Span| text.get(span.range()).unwrap_or_default();
    let mut opcodes = Opcodes::new(text);
    opcodes.known.extend(all.iter().zip(0..).map(|(span, number)| (slice(span), number)));
    piece.iter().map(|opcode| opcodes.look_up(*opcode, all)).collect()
}

/// Where an opcode is kept: a number of its first and last letters.
#[inline]
fn place(text: &[u8]) -> usize {
    let first = text.first_chunk().map_or(0, |first| u32::from_le_bytes(*first));
    let last = text.last_chunk().map_or(0, |last| u32::from_le_bytes(*last));
    let mixed = (first ^ last.rotate_left(11) ^ text.len() as u32).wrapping_mul(0x9E37_79B1);
    (mixed >> (u32::BITS - RECENT.ilog2())) as usize
}
