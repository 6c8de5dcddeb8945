//! Which register of which thread holds which cell: `tcgen05.ld` and `tcgen05.st` (9.7.16.2.3.1).

use crate::error::DrawError;
use crate::isa::tensor_cells::RegisterCell;
use crate::isa::vocabulary::{LdShape, Num};
use crate::lines::span;
use crate::picture::{Block, Cell, Grid, Head, Ink, Line, Picture};
use crate::window::Window;

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its shape.
    pub shape: LdShape,
    /// How often the shape repeats.
    pub num: Num,
    /// Whether with `.pack::16b` or `.unpack::16b`.
    pub packed: bool,
    /// Whether it is a store.
    pub store: bool,
    /// The distance of the second half of `.16x32bx2` in columns, if it is known.
    pub split: Option<u32>,
}

/// Columns that are drawn where nothing is chosen.
const FIRST: u32 = 16;
/// Threads of a warp.
const THREADS: u32 = 32;

/// The picture.
///
/// # Errors
/// When there is no such instruction, or the window shows nothing or too much.
pub fn picture(moved: &Moved, window: &Window) -> Result<Picture, DrawError> {
    let Moved { shape, num, packed, store, split } = *moved;
    let Some(registers) = shape.vector_length(num) else {
        let largest = Num::all().filter(|num| shape.vector_length(*num).is_some()).last();
        return Err(DrawError::helped(
            format!("`.{shape}` has no `.{num}`: a thread has at most 128 registers"),
            format!("the largest is `.{}`", largest.unwrap_or(Num::X1)),
        ));
    };
    let columns = shape.columns(num, packed);
    let (lanes, shown) = window.within((shape.lanes(), columns), (shape.lanes(), FIRST))?;
    let halves = if shape == LdShape::S16x32bx2 { 2 } else { 1 };
    // By half, lane and column.
    let mut cells = vec![None; (halves * shape.lanes() * columns) as usize];
    for thread in 0..THREADS {
        for register in 0..registers {
            let RegisterCell { lane, column, is_second } = shape.cell(thread, register);
            let half = u32::from(is_second);
            let each = if packed { 2 } else { 1 };
            for part in 0..each {
                let at = (half * shape.lanes() + lane) * columns + column * each + part;
                if let Some(cell) = cells.get_mut(at as usize) {
                    *cell = Some((thread, register, part));
                }
            }
        }
    }
    let grid = |half: u32| {
        let cell = |lane: u32, column: u32| {
            let at = (half * shape.lanes() + lane) * columns + column;
            let Some(&Some((thread, register, part))) = cells.get(at as usize) else {
                return Cell::new("", Ink::Empty);
            };
            let half = match (packed, part) {
                (false, _) => "",
                (true, 0) => ".lo",
                (true, _) => ".hi",
            };
            Cell::new(format!("T{thread} r{register}{half}"), Ink::tone(register))
        };
        let title = match (halves, half, split) {
            (1, ..) => String::new(),
            (_, 0, _) => "from taddr".to_owned(),
            (.., Some(split)) => format!("from taddr + {split} columns"),
            (.., None) => "from taddr + immHalfSplitoff columns".to_owned(),
        };
        Grid {
            title,
            corner: "lane\\column".to_owned(),
            heads: shown.clone().map(|column| Head { text: column.to_string(), span: 1 }).collect(),
            rows: lanes
                .clone()
                .map(|lane| Line {
                    label: lane.to_string(),
                    cells: shown.clone().map(|column| cell(lane, column)).collect(),
                })
                .collect(),
            fold: 4.min(columns),
        }
    };
    let blocks = (0..halves).map(|half| Block::Grid(grid(half))).collect();
    let name = if store { "st" } else { "ld" };
    let suffix = match (packed, store) {
        (false, _) => "",
        (true, false) => ".pack::16b",
        (true, true) => ".unpack::16b",
    };
    let mut notes = vec![format!(
        "T0 to T31 are the threads of the warp, r0 to r{} the registers of the vector. Lanes and columns count from taddr.",
        registers - 1
    )];
    notes.push(
        "Warp w of the CTA reaches the lanes 32 * (w % 4) to 32 * (w % 4) + 31 only (9.7.16.8.1).".to_owned(),
    );
    if packed {
        let what = if store { "is split into" } else { "is packed from" };
        notes
            .push(format!("A register {what} the lower 16 bits of two columns: .lo and .hi are its halves."));
    }
    if shown.len() < columns as usize {
        notes.push(format!(
            "Columns {} of {} are drawn; `columns=0-{}` draws all.",
            span(shown.start, shown.len() as u32),
            columns,
            columns - 1
        ));
    }
    Ok(Picture {
        title: format!("tcgen05.{name}.{shape}.{num}{suffix}: which register of which thread is which cell"),
        blocks,
        legend: Vec::new(),
        notes,
    })
}
