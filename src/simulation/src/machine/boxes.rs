//! Boxes of tensors: where their bytes are in shared memory, and which those are.

use super::Machine;
use super::memory::Contents;
use super::operation::Operation;
use super::reduction::{Unit, reduced};
use super::warp::Strand;
use crate::addresses::{Piece, Tile};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::generic::LoadMode;
use crate::program::{Reduction, Slice};
use crate::tensor_map::TensorMap;

/// What is computed with what is there, if something is; nothing in it if that is not known.
pub(super) type Reduces = Option<Option<(Reduction, Unit)>>;

/// A box under way, and the places in shared memory that it goes to, or the one that it comes from.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) boxed: Boxed,
    pub(super) places: Vec<(u32, u32)>,
}

/// A box of a tensor, between global and shared memory.
#[derive(Debug)]
pub(super) struct Boxed {
    tile: Tile,
    /// Where it starts; four more rows stand for those of `.tile::gather4`. Nothing if that is not known.
    coordinates: Option<Vec<i32>>,
    is_four_rows: bool,
    /// The address of the tensor.
    base: u64,
}

impl Boxed {
    /// A box that a copy moves, unless the tensor map does not say.
    pub(super) fn new(map: &TensorMap, mode: LoadMode, coordinates: Option<Vec<i32>>) -> Option<Self> {
        let is_four_rows = match mode {
            LoadMode::Tile => false,
            LoadMode::TileGather4 | LoadMode::TileScatter4 => true,
            LoadMode::Im2col
            | LoadMode::Im2colW
            | LoadMode::Im2colW128
            | LoadMode::Im2colNoOffs
            | LoadMode::Im2colNoOffsW => return None,
        };
        let tile = map.tile()?;
        let wanted = if is_four_rows { 5 } else { tile.sizes.len() };
        let coordinates = coordinates.filter(|coordinates| coordinates.len() == wanted);
        Some(Self { tile, coordinates, is_four_rows, base: map.base })
    }

    /// How the box lies, for whoever reads it later.
    pub(super) fn tile(&self) -> &Tile {
        &self.tile
    }

    /// Bytes that are copied or filled.
    pub(super) fn bytes(&self) -> u64 {
        if self.is_four_rows { 4 * u64::from(self.tile.row_bytes()) } else { self.tile.bytes() }
    }

    /// Bytes from the first to the last one.
    pub(super) fn extent(&self) -> u64 {
        self.bytes() / u64::from(self.tile.row_bytes().max(1)) * u64::from(self.tile.pitch())
    }

    /// Whether the box may start where it does.
    fn may_start(&self) -> bool {
        self.coordinates.as_ref().is_none_or(|coordinates| self.tile.may_start_at(coordinates))
    }

    /// The pieces that the box has at a place in shared memory.
    fn pieces(&self, coordinates: &[i32], shared: u32, each: impl FnMut(Piece)) {
        match *coordinates {
            [first, one, two, three, four] if self.is_four_rows => {
                self.tile.rows(first, [one, two, three, four], shared, each);
            }
            _ => self.tile.pieces(coordinates, shared, each),
        }
    }

    /// The bytes of shared memory that it takes: starts and lengths.
    pub(super) fn intervals(&self, shared: u32) -> Vec<(u32, u32)> {
        let bytes = self.bytes().min(1 << 20) as u32;
        // Rows without a gap between them fill whole patterns.
        if self.tile.pitch() == self.tile.row_bytes() {
            return vec![(shared, bytes)];
        }
        let mut all = Vec::new();
        let origin = [0; 5];
        let rank = if self.is_four_rows { 5 } else { self.tile.sizes.len().min(5) };
        self.pieces(&origin[..rank], shared, |piece| all.push((piece.shared, piece.bytes)));
        all.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (start, bytes) in all {
            match merged.last_mut() {
                Some((first, len)) if *first + *len >= start => *len = (*len).max(start + bytes - *first),
                _ => merged.push((start, bytes)),
            }
        }
        merged
    }
}

impl Machine<'_> {
    /// The coordinates that a copy is given in a lane, if they are known.
    pub(super) fn coordinates(&self, strand: &Strand, coordinates: Slice, lane: usize) -> Option<Vec<i32>> {
        let operands = &self.program.operands[coordinates.range()];
        operands
            .iter()
            .map(|operand| Some((self.value_at(strand, *operand, lane)? as u32).cast_signed()))
            .collect()
    }

    /// Looks whether the hardware starts a box there.
    pub(super) fn check_start(&mut self, strand: &Strand, boxed: &Boxed) {
        if boxed.may_start() {
            return;
        }
        let first = boxed.coordinates.as_ref().and_then(|coordinates| coordinates.first()).copied();
        let finding = Finding::new(
            Code::Misaligned,
            strand.step,
            "a box of a tensor must start at a multiple of 16 bytes of its row",
            format!("it starts at element {} of {} bits", first.unwrap_or(0), boxed.tile.tensor.element.bits),
        );
        self.report(finding);
    }

    /// Brings the bytes of a box into shared memory.
    pub(super) fn fetch(&mut self, boxed: &Boxed, (cta, offset): (u32, u32)) {
        for (start, bytes) in boxed.intervals(offset) {
            self.ctas[cta as usize].shared.fill(start.into(), bytes as usize, None);
        }
        let Some(coordinates) = &boxed.coordinates else { return };
        if !self.global.may_be_known(boxed.base) {
            return;
        }
        let Self { global, ctas, .. } = self;
        let shared = &mut ctas[cta as usize].shared;
        boxed.pieces(coordinates, offset, |piece| {
            let len = piece.bytes as usize;
            let contents = match piece.global {
                Some(place) => global.contents(boxed.base.wrapping_add(place), len),
                None => Some(Contents { bytes: vec![0; len], unknown: Vec::new() }),
            };
            shared.put(piece.shared.into(), &contents.unwrap_or_else(|| Contents::unknown(len)));
        });
    }

    /// Brings the bytes of a box into global memory, or reduces them into what is there.
    pub(super) fn put(&mut self, boxed: &Boxed, (cta, offset): (u32, u32), reduces: Reduces) {
        let Self { global, ctas, .. } = self;
        let shared = &ctas[cta as usize].shared;
        let len = boxed.extent().min(1 << 20) as usize;
        if !global.may_be_known(boxed.base)
            && (reduces.is_some() || !shared.is_partly_known(offset.into(), len))
        {
            return;
        }
        let Some(coordinates) = &boxed.coordinates else { return };
        boxed.pieces(coordinates, offset, |piece| {
            let Some(place) = piece.global else { return };
            let len = piece.bytes as usize;
            let at = boxed.base.wrapping_add(place);
            let new = shared.contents(piece.shared.into(), len);
            let contents = match reduces {
                None => new,
                Some(None) => None,
                Some(Some((reduction, unit))) => {
                    let old = global.contents(at, len);
                    old.zip(new).map(|(old, new)| reduced(reduction, unit, &old, &new))
                }
            };
            // What is outside is reported of threads only.
            let contents = contents.unwrap_or_else(|| Contents::unknown(len));
            global.put(at, &contents);
        });
    }

    /// A tensor copy takes effect in memory.
    pub(super) fn move_box(
        &mut self,
        operation: &Operation,
        Moving { boxed, places }: &Moving,
        loads: bool,
        reduces: Reduces,
    ) {
        self.global.step = operation.step;
        for place in places {
            if loads {
                self.fetch(boxed, *place);
                self.remember_layout(operation, boxed, *place);
            } else {
                self.put(boxed, *place, reduces);
            }
        }
    }
}
