//! What stands in which cell of Tensor Memory, and how that is drawn: cell by cell, or in bands where neighbours go on.

use std::ops::Range;

use crate::error::DrawError;
use crate::isa::tensor_memory::TensorMemory;
use crate::lines::span;
use crate::picture::{Cell, Grid, Head, Ink, Line};
use crate::window::Window;

/// Lanes of Tensor Memory.
pub(crate) const LANES: u32 = TensorMemory::LANES;
/// Lanes of a warp.
pub(crate) const WARP: u32 = LANES / 4;

/// What a cell holds: some elements of a row of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The row.
    pub(crate) row: u32,
    /// The first element.
    pub(crate) first: u32,
    /// How many.
    pub(crate) count: u32,
    /// Which of several kinds it is.
    pub(crate) tone: u32,
}

/// A layout.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    columns: u32,
    /// Parts of a column that hold something each.
    parts: u32,
    cells: Vec<Option<Content>>,
    /// What rows and elements are called.
    names: [&'static str; 2],
}

impl Map {
    /// An empty one.
    pub(crate) fn new(columns: u32, parts: u32, names: [&'static str; 2]) -> Self {
        let cells = vec![None; (LANES * columns * parts) as usize];
        Self { columns, parts, cells, names }
    }

    /// Puts something into a part of a column. Nothing is put where there is no such cell.
    pub(crate) fn put(&mut self, lane: u32, (column, part): (u32, u32), content: Content) {
        let at = self.index(lane, column * self.parts + part);
        if column < self.columns
            && lane < LANES
            && let Some(cell) = self.cells.get_mut(at)
        {
            *cell = Some(content);
        }
    }

    const fn index(&self, lane: u32, at: u32) -> usize {
        (lane * self.columns * self.parts + at) as usize
    }

    fn get(&self, lane: u32, at: u32) -> Option<Content> {
        self.cells.get(self.index(lane, at)).copied().flatten()
    }

    /// How wide it is: columns and parts.
    const fn width(&self) -> u32 {
        self.columns * self.parts
    }

    /// The grid: cells if the window asks for some, else bands.
    pub(crate) fn grid(&self, title: String, window: &Window) -> Result<Grid, DrawError> {
        if window.is_given() { self.cells(title, window) } else { Ok(self.bands(title)) }
    }

    /// Each cell by itself.
    fn cells(&self, title: String, window: &Window) -> Result<Grid, DrawError> {
        let first = (16 / self.parts).max(1);
        let (lanes, columns) = window.within((LANES, self.columns), (WARP, first))?;
        let cell = |lane: u32, at: u32| match self.get(lane, at) {
            Some(it) => Cell::new(format!("{},{}", it.row, span(it.first, it.count)), Ink::tone(it.tone)),
            None => Cell::new(".", Ink::Empty),
        };
        let row = |lane: u32| Line {
            label: lane.to_string(),
            cells: (columns.start * self.parts..columns.end * self.parts).map(|at| cell(lane, at)).collect(),
        };
        let heads = columns.clone().flat_map(|column| (0..self.parts).map(move |part| (column, part)));
        Ok(Grid {
            title,
            corner: self.corner(),
            heads: heads.map(|(column, part)| Head { text: self.head(column, part), span: 1 }).collect(),
            rows: lanes.map(row).collect(),
            fold: self.parts,
        })
    }

    fn corner(&self) -> String {
        match self.parts {
            1 => "lane\\column".to_owned(),
            4 => "lane\\column.byte".to_owned(),
            _ => "lane\\column.bits".to_owned(),
        }
    }

    fn head(&self, column: u32, part: u32) -> String {
        let bits = 32 / self.parts;
        match self.parts {
            1 => column.to_string(),
            4 => format!("{column}.{part}"),
            _ => format!("{column}.{}", span(part * bits, bits)),
        }
    }

    /// Neighbours that go on are one.
    fn bands(&self, title: String) -> Grid {
        let mut bands = self.bands_of_lanes();
        // Where each warp has the same, one is drawn.
        let are_alike = (WARP..LANES)
            .all(|lane| (0..self.width()).all(|at| self.get(lane, at) == self.get(lane - WARP, at)));
        if are_alike {
            bands.retain(|band| band.end <= WARP);
        }
        // Where a column does not go on in some band.
        let is_cut = |at: u32| {
            bands.iter().any(|lanes| {
                let (before, here) = (self.get(lanes.start, at - 1), self.get(lanes.start, at));
                !goes_on_along(before, here)
            })
        };
        let mut cuts: Vec<u32> = vec![0];
        cuts.extend((1..self.width()).filter(|at| is_cut(*at)));
        cuts.push(self.width());
        let columns: Vec<Range<u32>> = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let row = |lanes: &Range<u32>| {
            let mut cells: Vec<Cell> = Vec::new();
            let mut last: Option<(u32, Option<Content>)> = None;
            for range in &columns {
                let here = self.get(lanes.start, range.start);
                let goes_on =
                    last.is_some_and(|_| goes_on_along(self.get(lanes.start, range.start - 1), here));
                if goes_on {
                    if let Some(cell) = cells.last_mut() {
                        cell.span += 1;
                    }
                } else {
                    last = Some((range.start, here));
                    cells.push(Cell::new("not used", Ink::Empty));
                }
                let (start, content) = last.unwrap_or((range.start, here));
                if let (Some(cell), Some(content)) = (cells.last_mut(), content) {
                    cell.ink = Ink::tone(content.tone);
                    cell.text = self.said(content, lanes.len() as u32, range.end - start);
                }
            }
            let label = span(lanes.start, lanes.len() as u32);
            Line { label: if are_alike { format!("{label} of each 32") } else { label }, cells }
        };
        let rows = bands.iter().map(row).collect();
        let heads = columns.iter().map(|range| Head { text: self.heads(range), span: 1 }).collect();
        Grid { title, corner: self.corner(), heads, rows, fold: 1 }
    }

    fn heads(&self, range: &Range<u32>) -> String {
        let (first, last) = (range.start, range.end - 1);
        if self.parts == 1 {
            return span(first, range.len() as u32);
        }
        if first.is_multiple_of(self.parts) && (last + 1).is_multiple_of(self.parts) {
            return span(first / self.parts, range.len() as u32 / self.parts);
        }
        let head = |at: u32| self.head(at / self.parts, at % self.parts);
        if first == last { head(first) } else { format!("{} to {}", head(first), head(last)) }
    }

    /// `rows 0-31, columns 0-63`
    fn said(&self, content: Content, lanes: u32, cells: u32) -> String {
        let [row, element] = self.names;
        let many = |name: &str, first: u32, count: u32| {
            format!("{name}{} {}", if count == 1 || name == "k" { "" } else { "s" }, span(first, count))
        };
        let count = content.count * cells;
        format!("{}, {}", many(row, content.row, lanes), many(element, content.first, count))
    }

    /// Lanes of a warp whose rows follow each other.
    fn bands_of_lanes(&self) -> Vec<Range<u32>> {
        let goes_on = |lane: u32| {
            (0..self.width()).all(|at| match (self.get(lane - 1, at), self.get(lane, at)) {
                (None, None) => true,
                (Some(before), Some(here)) => here == Content { row: before.row + 1, ..before },
                _ => false,
            })
        };
        let mut bands: Vec<Range<u32>> = Vec::new();
        for lane in 0..LANES {
            match bands.last_mut() {
                Some(band) if !lane.is_multiple_of(WARP) && goes_on(lane) => band.end = lane + 1,
                _ => bands.push(lane..lane + 1),
            }
        }
        bands
    }
}

/// Whether elements of a row follow each other.
fn goes_on_along(before: Option<Content>, here: Option<Content>) -> bool {
    match (before, here) {
        (None, None) => true,
        (Some(before), Some(here)) => here == Content { first: before.first + before.count, ..before },
        _ => false,
    }
}
