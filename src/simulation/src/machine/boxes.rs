//! Boxes of tensors: where their bytes are in shared memory, and which those are.

use super::Machine;
use super::bytes::Contents;
use super::operation::Operation;
use super::reduction::{Unit, reduced};
use super::warp::Strand;
use crate::Checks;
use crate::addresses::{Element, Im2col, Piece, Swizzle, Tile};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::generic::LoadMode;
use crate::program::{Reduction, Slice};
use crate::tensor_map::{TensorMap, Wide};

/// What is computed with what is there, if something is; nothing in it if that is not known.
pub(super) type Reduces = Option<Option<(Reduction, Unit)>>;

/// Coordinates of a box: those of five dimensions, and one within slices of channels.
const MOST_COORDINATES: usize = 6;

/// A box under way, and the places in shared memory that it goes to, or the one that it comes from.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) boxed: Boxed,
    pub(super) places: Vec<(u32, u32)>,
}

/// A box of a tensor, between global and shared memory.
#[derive(Debug)]
pub(super) struct Boxed {
    form: Form,
    /// Where it starts; four more rows stand for those of `.tile::gather4`. Nothing if that is not known.
    coordinates: Option<Vec<i32>>,
    map: TensorMap,
}

/// Which elements a copy moves.
#[derive(Debug)]
enum Form {
    Tile(Tile),
    /// `.tile::gather4`, `.tile::scatter4`
    FourRows(Tile),
    /// `.im2col` and `.im2col::w`, and where the filter's pixel is.
    Column(Im2col, Vec<u16>),
}

/// Bytes that a copy moves, which is what its mbarrier counts; nothing if no source says it.
pub(super) fn counted(map: &TensorMap, mode: LoadMode, offsets: Option<&[i32]>) -> Option<u64> {
    match mode {
        LoadMode::Tile | LoadMode::Im2colNoOffs | LoadMode::Im2col => Some(map.box_bytes()),
        LoadMode::TileGather4 | LoadMode::TileScatter4 => Some(map.row_bytes() * 4),
        LoadMode::Im2colW | LoadMode::Im2colW128 => {
            wide_offset(map, mode, offsets)?;
            Some(map.box_bytes())
        }
        LoadMode::Im2colNoOffsW => None,
    }
}

/// `wOffset`, by which a copy along W alone sees its pixels; nothing unless that is all that the copy says.
///
/// Pixels of the halo follow the others, or each 32 of them: which pixels of the image these are, the ISA shows in
/// pictures only.
fn wide_offset(map: &TensorMap, mode: LoadMode, offsets: Option<&[i32]>) -> Option<u16> {
    let wide = map.window.as_ref()?.wide?;
    let is_fitting = match mode {
        LoadMode::Im2colW => wide == Wide::W,
        LoadMode::Im2colW128 => wide == Wide::W128,
        _ => false,
    };
    match offsets {
        Some(&[halo, offset]) if is_fitting && halo as u16 == 0 => Some(offset as u16),
        _ => None,
    }
}

impl Boxed {
    /// A box that a copy moves, unless the tensor map does not say.
    pub(super) fn new(
        map: &TensorMap,
        mode: LoadMode,
        (coordinates, offsets): (Option<Vec<i32>>, Option<Vec<i32>>),
    ) -> Option<Self> {
        let (form, wanted) = match mode {
            LoadMode::Tile => {
                let tile = map.tile()?;
                let wanted = tile.sizes.len();
                (Form::Tile(tile), wanted)
            }
            LoadMode::TileGather4 | LoadMode::TileScatter4 => (Form::FourRows(map.tile()?), 5),
            LoadMode::Im2col | LoadMode::Im2colNoOffs => {
                let column =
                    map.im2col().filter(|_| map.window.as_ref().is_some_and(|it| it.wide.is_none()))?;
                let rank = column.tensor.sizes.len();
                let is_given = mode == LoadMode::Im2col;
                let offsets = offsets.unwrap_or_default();
                // Offsets have 16 bits.
                let offsets: Vec<u16> = offsets.iter().map(|offset| *offset as u16).collect();
                if is_given && offsets.len() != column.lower.len() {
                    return None;
                }
                (Form::Column(column, offsets), rank)
            }
            LoadMode::Im2colW | LoadMode::Im2colW128 => {
                let offset = wide_offset(map, mode, offsets.as_deref())?;
                let column = map.im2col()?;
                let rank = column.tensor.sizes.len();
                (Form::Column(column, vec![offset]), rank)
            }
            LoadMode::Im2colNoOffsW => return None,
        };
        let mut coordinates = coordinates;
        if map.is_interleaved()
            && let Some(coordinates) = &mut coordinates
        {
            // The channels of a slice, of which each copy takes all.
            coordinates.insert(0, 0);
        }
        let coordinates = coordinates.filter(|coordinates| coordinates.len() == wanted);
        Some(Self { form, coordinates, map: map.clone() })
    }

    /// What it is made of.
    pub(super) fn element(&self) -> Element {
        self.map.element.of_addresses()
    }

    /// How it lies, for a later read.
    pub(super) fn swizzle(&self) -> Swizzle {
        match &self.form {
            Form::Tile(tile) | Form::FourRows(tile) => tile.swizzle,
            Form::Column(column, _) => column.swizzle,
        }
    }

    /// Bytes of a row in shared memory.
    fn row_bytes(&self) -> u32 {
        match &self.form {
            Form::Tile(tile) | Form::FourRows(tile) => tile.row_bytes(),
            Form::Column(column, _) => column.row_bytes(),
        }
    }

    /// Bytes from one row to the next.
    fn pitch(&self) -> u32 {
        match &self.form {
            Form::Tile(tile) | Form::FourRows(tile) => tile.pitch(),
            Form::Column(column, _) => column.pitch(),
        }
    }

    /// How many rows it has.
    fn row_count(&self) -> u64 {
        match &self.form {
            Form::Tile(tile) => tile.row_count(),
            Form::FourRows(_) => 4,
            Form::Column(column, _) => column.pixels.into(),
        }
    }

    /// Bytes of shared memory from the first to the last one.
    pub(super) fn extent(&self) -> u64 {
        self.row_count() * u64::from(self.pitch())
    }

    /// Whether the box may start where it does.
    fn may_start(&self) -> bool {
        match &self.form {
            Form::Tile(tile) | Form::FourRows(tile) => {
                self.coordinates.as_ref().is_none_or(|coordinates| tile.may_start_at(coordinates))
            }
            Form::Column(..) => true,
        }
    }

    /// A coordinate of the filter's corner that is outside of the bounding box, and what that has: the first one, from
    /// which on the box is left if it is said, and the last one.
    fn stray_corner(&self) -> Option<(usize, i32, (Option<i64>, i64))> {
        let (Form::Column(column, _), Some(coordinates)) = (&self.form, &self.coordinates) else {
            return None;
        };
        let is_wide = self.map.window.as_ref().is_some_and(|window| window.wide.is_some());
        let bounds = column.lower.iter().zip(&column.upper).enumerate();
        bounds.into_iter().find_map(|(at, (lower, upper))| {
            let coordinate = *coordinates.get(at + 1)?;
            let last = i64::from(*column.tensor.sizes.get(at + 1)?) - 1 + i64::from(*upper);
            // Along W alone, the first pixel may lie before the box.
            let first = (!is_wide).then_some(i64::from(*lower));
            let is_within =
                first.is_none_or(|first| first <= coordinate.into()) && i64::from(coordinate) <= last;
            // In the order of the instruction.
            let dimension = at + usize::from(!self.map.is_interleaved());
            (!is_within).then_some((dimension, coordinate, (first, last)))
        })
    }

    /// The pieces that the box has at a place in shared memory.
    fn pieces(&self, coordinates: &[i32], shared: u32, each: impl FnMut(Piece)) {
        match (&self.form, coordinates) {
            (Form::FourRows(tile), &[first, one, two, three, four]) => {
                tile.rows(first, [one, two, three, four], shared, each);
            }
            (Form::Tile(tile) | Form::FourRows(tile), _) => tile.pieces(coordinates, shared, each),
            (Form::Column(column, offsets), _) => column.pieces(coordinates, offsets, shared, each),
        }
    }

    /// Calls `each` with each piece of the box: its address in global memory, if it is within bounds, and in shared
    /// memory, and how many bytes it has.
    pub(super) fn each(&self, shared: u32, mut each: impl FnMut(Option<u64>, u32, u32)) {
        let Some(coordinates) = &self.coordinates else { return };
        let base = self.map.base;
        self.pieces(coordinates, shared, |piece| {
            each(piece.global.map(|at| base.wrapping_add(at)), piece.shared, piece.bytes);
        });
    }

    /// The bytes of the tensor that are in the box, row by row.
    fn global_pieces(&self) -> Vec<(u64, u32)> {
        let mut all: Vec<(u64, u32)> = Vec::new();
        self.each(0, |global, _, bytes| {
            let Some(at) = global else { return };
            match all.last_mut() {
                Some((start, len)) if *start + u64::from(*len) == at => *len += bytes,
                _ => all.push((at, bytes)),
            }
        });
        all
    }

    /// Coordinates: as many as it has.
    fn rank(&self) -> usize {
        match &self.form {
            Form::Tile(tile) => tile.sizes.len().min(MOST_COORDINATES),
            Form::FourRows(_) => 5,
            Form::Column(column, _) => column.tensor.sizes.len().min(MOST_COORDINATES),
        }
    }

    /// The bytes of shared memory that it takes: starts and lengths.
    pub(super) fn intervals(&self, shared: u32) -> Vec<(u32, u32)> {
        let bytes = self.extent().min(1 << 20) as u32;
        // Rows without a gap between them fill whole patterns.
        if self.pitch() == self.row_bytes() {
            return vec![(shared, bytes)];
        }
        let mut all = Vec::new();
        let origin = [0; MOST_COORDINATES];
        self.pieces(&origin[..self.rank()], shared, |piece| all.push((piece.shared, piece.bytes)));
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

    /// Looks whether a filter's corner is where the tensor map lets it be.
    ///
    /// Where a box lies is not judged otherwise: what is out of bounds is filled, even if all of it is (PTX ISA,
    /// "Out of Boundary Access").
    pub(super) fn check_corner(&mut self, strand: &Strand, boxed: &Boxed) {
        let Some((dimension, coordinate, (first, last))) = boxed.stray_corner() else { return };
        let from = match first {
            Some(first) => format!("{first} to {last}"),
            None => format!("at most {last}"),
        };
        let role = self.role_of(strand, strand.mask);
        let finding = Finding::new(
            Code::OutOfBounds,
            strand.step,
            "the filter's corner of a copy in im2col mode must be within the bounding box of its tensor map",
            format!("{role}: coordinate {dimension} is {coordinate}, and the bounding box has {from}"),
        );
        self.report(finding);
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
            format!("it starts at element {} of {} bits", first.unwrap_or(0), boxed.element().bits),
        );
        self.report(finding);
    }

    /// Brings the bytes of a box into shared memory.
    pub(super) fn fetch(&mut self, boxed: &Boxed, (cta, offset): (u32, u32)) {
        for (start, bytes) in boxed.intervals(offset) {
            self.ctas[cta as usize].shared.fill(start.into(), bytes as usize, None);
        }
        let Some(coordinates) = &boxed.coordinates else { return };
        let base = boxed.map.base;
        if !self.global.may_be_known(base) {
            return;
        }
        let Self { global, ctas, .. } = self;
        let shared = &mut ctas[cta as usize].shared;
        boxed.pieces(coordinates, offset, |piece| {
            let len = piece.bytes as usize;
            let contents = match piece.global {
                Some(place) => global.contents(base.wrapping_add(place), len),
                None => boxed.map.filled(len).map(|bytes| Contents { bytes, unknown: Vec::new() }),
            };
            shared.put(piece.shared.into(), &contents.unwrap_or_else(|| Contents::unknown(len)));
        });
    }

    /// Brings the bytes of a box into global memory, or reduces them into what is there.
    pub(super) fn put(&mut self, boxed: &Boxed, (cta, offset): (u32, u32), reduces: Reduces) {
        let Self { global, ctas, .. } = self;
        let shared = &ctas[cta as usize].shared;
        let base = boxed.map.base;
        let len = boxed.extent().min(1 << 20) as usize;
        if !global.may_be_known(base) && (reduces.is_some() || !shared.is_partly_known(offset.into(), len)) {
            global.lose(base);
            return;
        }
        let Some(coordinates) = &boxed.coordinates else { return };
        boxed.pieces(coordinates, offset, |piece| {
            let Some(place) = piece.global else { return };
            let len = piece.bytes as usize;
            let at = base.wrapping_add(place);
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

    /// Whether some of the bytes of a box in shared memory are not known.
    fn is_partly_unknown(&self, boxed: &Boxed, (cta, offset): (u32, u32)) -> bool {
        let shared = &self.ctas[cta as usize].shared;
        boxed
            .intervals(offset)
            .iter()
            .any(|(at, bytes)| shared.known((*at).into(), *bytes as usize).is_none())
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
        let changes = self.global.changes();
        for place in places {
            if self.trace.is_some() {
                self.trace_box(operation, boxed, *place, (loads, reduces));
            }
            if loads {
                self.fetch(boxed, *place);
                self.remember_layout(operation, boxed, *place);
            } else {
                self.put(boxed, *place, reduces);
            }
        }
        if self.checks == Checks::All && !self.is_assumed {
            let pieces = boxed.global_pieces();
            let is_unknown = places.first().is_some_and(|place| self.is_partly_unknown(boxed, *place));
            let keeps = !loads && self.global.changes() == changes;
            self.touch_global_by(operation, &pieces, (!loads, keeps, is_unknown), reduces.is_some());
        }
    }
}
