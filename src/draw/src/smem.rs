//! Where the elements of an operand lie in shared memory (9.7.16.3, 9.7.16.10.6).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::descriptor::Features;
use crate::descriptor::operand::{Operand as Place, Sixteen};
use crate::descriptor::shared_memory::{self, Matrix, SwizzleMode};
use crate::descriptor::swizzle::Swizzle;
use crate::error::DrawError;
use crate::isa::element_types::ElementType;
use crate::isa::vocabulary::Kind;
use crate::lines::span;
use crate::picture::{Block, Cell, Grid, Head, Ink, Key, Line, Picture, Table, TableRow};
use crate::words;

/// An operand in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its descriptor.
    pub word: u64,
    /// What the target has.
    pub features: Features,
    /// The type of its elements.
    pub element: ElementType,
    /// The kind of the multiply, which says how narrow elements are stored.
    pub kind: Kind,
    /// Whether a row's elements are contiguous (K-major), not a column's (MN-major).
    pub is_k_major: bool,
    /// Rows: of M or N. Without a number, as many as show the whole pattern.
    pub rows: Option<u32>,
    /// Elements along K.
    pub columns: Option<u32>,
    /// The access whose conflicts are marked.
    pub access: Option<Access>,
}

/// What a warp asks for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Bytes of a line that follow each other: 4 bytes a thread.
    Line,
    /// The first 16 bytes of eight lines: what `ldmatrix` and the tensor core take together.
    Core,
    /// The first element of 32 lines: an element a thread.
    Column,
}

impl Access {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Line, Self::Core, Self::Column];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Core => "core",
            Self::Column => "column",
        }
    }
}

/// Sixteen bytes of an operand and the elements in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Where they are.
    pub address: u32,
    /// The row (M or N) and the column (K) of the first element.
    pub row: u32,
    /// The column.
    pub column: u32,
    /// How many elements, along the dimension that is contiguous.
    pub elements: u32,
}

/// Bytes of all banks, and of one.
const BANKS: u32 = 32;
const BANK: u32 = 4;
const SIXTEEN: u32 = 16;
const LINE: u32 = BANKS * BANK;
/// No picture has more pieces.
const MOST: u64 = 2048;
/// What the fields of a descriptor can name: 14 bits of 16 bytes.
const END: u32 = 1 << 18;
/// What a CTA can have.
const OF_CTA: u32 = 227 << 10;

impl Operand {
    /// Bits that an element takes.
    const fn bits(&self) -> u32 {
        self.element.container_bits(self.kind)
    }

    /// Elements in sixteen bytes.
    const fn each(&self) -> u32 {
        SIXTEEN * 8 / self.bits()
    }

    fn place(&self) -> Result<Place, DrawError> {
        let word = self.word;
        if !matches!(word >> 61, 0 | 1 | 2 | 4 | 6) {
            return Err(DrawError::helped(
                format!("bits 61-63 are {}, which is no swizzling mode", word >> 61),
                "0 is none, 1 128-byte with atoms of 32 bytes, 2 128-byte, 4 64-byte and 6 32-byte (Table 40)",
            ));
        }
        // The upper bits of fields that are wider in PTX ISA 9.4: nothing else here knows them.
        if self.features.wide_addresses && word & (1 << 14 | 1 << 30) != 0 {
            return Err(DrawError::helped(
                "an address or offset of 256 KiB or more is not drawn",
                "bits 14 and 30 are set, which are parts of `start` and `lbo` in PTX ISA 9.4",
            ));
        }
        Place::of_descriptor(word, self.is_k_major).ok_or_else(|| {
            DrawError::helped(
                "the leading dimension cannot be an address here",
                "an absolute address (bit 52) needs a K-major matrix, 128-byte swizzling and the base offset 0 \
                 (9.7.16.3.1.2.1)",
            )
        })
    }

    /// Rows and columns that are drawn.
    fn size(&self, swizzle: Swizzle) -> (u32, u32) {
        let along = swizzle.span().unwrap_or(2 * SIXTEEN) * 8 / self.bits();
        let (rows, columns) = if self.is_k_major { (16, along) } else { (along, 16) };
        (self.rows.unwrap_or(rows), self.columns.unwrap_or(columns))
    }

    /// The pieces, line by line.
    ///
    /// # Errors
    /// When the descriptor cannot say where the operand lies, or it is too large or reaches too far.
    pub fn pieces(&self) -> Result<Vec<Piece>, DrawError> {
        let place = self.place()?;
        let (rows, columns) = self.size(place.swizzle);
        if rows == 0 || columns == 0 {
            return Err(DrawError::new("a matrix without rows or columns has no picture"));
        }
        let each = self.each();
        let (lines, along) = if self.is_k_major { (rows, columns) } else { (columns, rows) };
        let count = u64::from(lines) * u64::from(along.div_ceil(each));
        if count > MOST {
            return Err(DrawError::helped(
                format!(
                    "{rows} x {columns} elements are {count} pieces of 16 bytes, more than a picture shows"
                ),
                format!("choose at most {MOST} by `rows=` and `columns=`"),
            ));
        }
        let sixteens = place.sixteens(0..rows, columns, self.bits());
        let pieces: Vec<Piece> = sixteens
            .map(|Sixteen { row, column, address }| {
                let rest = if self.is_k_major { columns - column } else { rows - row };
                Piece { address, row, column, elements: each.min(rest) }
            })
            .collect();
        match pieces.iter().find(|piece| piece.address > END - SIXTEEN) {
            Some(piece) => Err(DrawError::helped(
                format!(
                    "row {}, column {} would lie at {:#x}, past all shared memory",
                    piece.row, piece.column, piece.address
                ),
                "draw less of the matrix by `rows=` and `columns=`, or look at `start`, `lbo` and `sbo`",
            )),
            None => Ok(pieces),
        }
    }

    /// The name of the dimension that is not K: it depends on the matrix.
    fn name(&self, piece: &Piece) -> String {
        let (row, column) = (piece.row, piece.column);
        if self.is_k_major {
            format!("r{row} k{}", span(column, piece.elements))
        } else {
            format!("k{column} r{}", span(row, piece.elements))
        }
    }

    /// The line of a piece, and which piece of the line it is.
    const fn line(&self, piece: &Piece) -> (u32, u32) {
        let each = self.each();
        if self.is_k_major { (piece.row, piece.column / each) } else { (piece.column, piece.row / each) }
    }

    /// The bytes that an access asks for in a piece, if any: where they start, and how many.
    fn asked(&self, access: Access, piece: &Piece) -> Option<(u32, u32)> {
        let (line, at) = self.line(piece);
        match access {
            Access::Line => (line == 0 && at < LINE / SIXTEEN).then_some((piece.address, SIXTEEN)),
            Access::Core => (line < 8 && at == 0).then_some((piece.address, SIXTEEN)),
            Access::Column => (line < BANKS && at == 0).then_some((piece.address, self.bits().div_ceil(8))),
        }
    }
}

/// The words that some bytes are in.
fn words_of(address: u32, bytes: u32) -> RangeInclusive<u32> {
    address / BANK..=address.saturating_add(bytes.max(1) - 1) / BANK
}

/// How often the banks have to be asked, and the banks that cause it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Different words of each bank.
    pub words: BTreeMap<u32, BTreeSet<u32>>,
}

impl Conflicts {
    /// Of an access to bytes at these places.
    pub fn of(bytes: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut words: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (address, count) in bytes {
            for word in words_of(address, count) {
                words.entry(word % BANKS).or_default().insert(word);
            }
        }
        Self { words }
    }

    /// How often: 1 without conflicts, 0 where nothing is asked for.
    pub fn times(&self) -> usize {
        self.words.values().map(BTreeSet::len).max().unwrap_or(0)
    }
}

/// The picture.
///
/// # Errors
/// When the descriptor cannot say where the operand lies, or it is too large or reaches too far.
pub fn picture(operand: &Operand) -> Result<Picture, DrawError> {
    let pieces = operand.pieces()?;
    let place = operand.place()?;
    let layout = shared_memory::layout(operand.features.wide_addresses);
    let problems = shared_memory::check(&Matrix::any(operand.features), operand.word.into());
    let word = words::picture(layout, operand.word, &problems);
    let (rows, columns) = operand.size(place.swizzle);
    let mut by_address: BTreeMap<u32, Vec<Piece>> = BTreeMap::new();
    for piece in &pieces {
        by_address.entry(piece.address / SIXTEEN * SIXTEEN).or_default().push(*piece);
    }
    let mut blocks = word.blocks;
    blocks.push(Block::Grid(addresses(operand, &by_address)));
    blocks.push(Block::Grid(lines(operand, &pieces)));
    blocks.push(Block::Table(conflicts(operand, &pieces)));
    let major = if operand.is_k_major { "K-major" } else { "MN-major" };
    let element = operand.element.name();
    let mut notes = word.notes;
    let overlaps = by_address.values().filter(|pieces| pieces.len() > 1).count();
    if overlaps > 0 {
        notes.push(format!(
            "{overlaps} pieces of 16 bytes hold several pieces of the matrix: the strides are too short, or 0 where the \
             matrix has only one group."
        ));
    }
    let end = by_address.keys().next_back().map_or(0, |last| last + SIXTEEN);
    if end > OF_CTA {
        notes.push(format!("The matrix ends at {end:#x}, but a CTA has at most 227 KiB ({OF_CTA:#x})."));
    }
    if operand.bits() > operand.element.bits() {
        notes.push(format!(
            "16 elements of {} bits fill the first {} of each 16 bytes; the rest is padding (9.7.16.10.4).",
            operand.element.bits(),
            2 * operand.element.bits()
        ));
    }
    let swizzling = match place.swizzle {
        Swizzle::None => "Nothing is swizzled.".to_owned(),
        swizzle => {
            format!("Swizzling is {}: a permutation within {} bytes.", mode(swizzle), span_of(swizzle))
        }
    };
    notes.push(format!(
        "r counts rows of M or N, k elements along K. {swizzling} The colours are the pieces of a line in their order."
    ));
    Ok(Picture {
        title: format!(
            "{:#018x}: {rows} x {columns} elements of {element}, {major}, in shared memory",
            operand.word
        ),
        blocks,
        legend: legend(operand),
        notes,
    })
}

fn span_of(swizzle: Swizzle) -> u32 {
    swizzle.span().unwrap_or(SIXTEEN)
}

fn mode(swizzle: Swizzle) -> &'static str {
    match swizzle {
        Swizzle::None => SwizzleMode::None.name(),
        Swizzle::Bytes32 => SwizzleMode::Bytes32.name(),
        Swizzle::Bytes64 => SwizzleMode::Bytes64.name(),
        Swizzle::Bytes128 => SwizzleMode::Bytes128.name(),
        Swizzle::Bytes128Atom32 | Swizzle::Bytes128Atom32Flip8 | Swizzle::Bytes128Atom64 => {
            SwizzleMode::Bytes128Atom32.name()
        }
    }
}

fn legend(operand: &Operand) -> Vec<Key> {
    let Some(access) = operand.access else { return Vec::new() };
    let text = match access {
        Access::Line => "asked for together: a line, 4 bytes a thread",
        Access::Core => "asked for together: 16 bytes of 8 lines",
        Access::Column => "asked for together: the first element of 32 lines",
    };
    vec![
        Key { ink: Ink::Plain, sign: "*".to_owned(), text: text.to_owned() },
        Key { ink: Ink::Wrong, sign: "*!".to_owned(), text: "in a bank with others of these".to_owned() },
    ]
}

/// What stands at which address: 128 bytes, all banks, to a row.
fn addresses(operand: &Operand, by_address: &BTreeMap<u32, Vec<Piece>>) -> Grid {
    let lines: BTreeSet<u32> = by_address.keys().map(|address| address / LINE * LINE).collect();
    let all = by_address.values().flatten();
    let asked = |access: Access| all.clone().filter_map(move |piece| operand.asked(access, piece));
    let found = operand.access.map(|access| Conflicts::of(asked(access)));
    let is_crowded = |bytes: (u32, u32)| {
        let Some(found) = &found else { return false };
        let mut banks = words_of(bytes.0, bytes.1).map(|word| word % BANKS);
        banks.any(|bank| found.words.get(&bank).is_some_and(|words| words.len() > 1))
    };
    let cell = |address: u32| {
        let Some(pieces) = by_address.get(&address) else { return Cell::new("", Ink::Empty) };
        let names: Vec<String> = pieces.iter().take(2).map(|piece| operand.name(piece)).collect();
        let mut text = names.join(" + ");
        if pieces.len() > 2 {
            text.push_str(" ...");
        }
        let mut ink = match pieces.as_slice() {
            [piece] => Ink::tone(operand.line(piece).1),
            _ => Ink::Wrong,
        };
        let bytes =
            operand.access.and_then(|access| pieces.iter().find_map(|piece| operand.asked(access, piece)));
        if let Some(bytes) = bytes {
            text.push_str(" *");
            if is_crowded(bytes) {
                text.push('!');
                ink = Ink::Wrong;
            }
        }
        Cell::new(text, ink)
    };
    let mut rows: Vec<Line> = Vec::new();
    let mut expected = None;
    for line in lines {
        if expected.is_some_and(|expected| expected != line) {
            let label = "...".to_owned();
            rows.push(Line { label, cells: vec![Cell::new("", Ink::Plain).over(LINE / SIXTEEN)] });
        }
        expected = Some(line + LINE);
        let cells = (0..LINE / SIXTEEN).map(|at| cell(line + at * SIXTEEN)).collect();
        rows.push(Line { label: format!("{line:#x}"), cells });
    }
    Grid {
        title: "What stands at which address".to_owned(),
        corner: "banks".to_owned(),
        heads: (0..LINE / SIXTEEN).map(|at| Head { text: span(at * 4, 4), span: 1 }).collect(),
        rows,
        fold: 1,
    }
}

/// At which address each piece of a line stands.
fn lines(operand: &Operand, pieces: &[Piece]) -> Grid {
    let mut lines: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    for piece in pieces {
        let (line, at) = operand.line(piece);
        lines.entry(line).or_default().push((at, piece.address));
    }
    let (each, name) = (operand.each(), if operand.is_k_major { "k" } else { "r" });
    let count = lines.values().map(Vec::len).max().unwrap_or(0) as u32;
    let row = |(line, cells): (u32, Vec<(u32, u32)>)| Line {
        label: line.to_string(),
        cells: cells.iter().map(|(at, address)| Cell::new(format!("{address:#x}"), Ink::tone(*at))).collect(),
    };
    Grid {
        title: "At which address each 16 bytes stand".to_owned(),
        corner: if operand.is_k_major { "row" } else { "column" }.to_owned(),
        heads: (0..count)
            .map(|at| Head { text: format!("{name}{}", span(at * each, each)), span: 1 })
            .collect(),
        rows: lines.into_iter().map(row).collect(),
        fold: 1,
    }
}

/// How often the banks have to be asked.
fn conflicts(operand: &Operand, pieces: &[Piece]) -> Table {
    let (line, other) = if operand.is_k_major { ("row", "rows") } else { ("column", "columns") };
    let count = |access: Access| pieces.iter().filter(|piece| operand.asked(access, piece).is_some()).count();
    let row = |access: Access| {
        let found = Conflicts::of(pieces.iter().filter_map(|piece| operand.asked(access, piece)));
        let what = match access {
            Access::Line => format!("{} bytes of a {line}, 4 a thread", count(access) * SIXTEEN as usize),
            Access::Core => format!("16 bytes of {} {other} (ldmatrix, a core matrix)", count(access)),
            Access::Column => format!("an element of {} {other}, one a thread", count(access)),
        };
        let times = match found.times() {
            1 => "1: no conflict".to_owned(),
            times => format!("{times}-way conflict"),
        };
        TableRow {
            ink: if found.times() > 1 { Ink::Wrong } else { Ink::Plain },
            words: vec![access.name().to_owned(), what, found.words.len().to_string(), times],
        }
    };
    Table {
        title: "Banks".to_owned(),
        heads: ["access", "what a warp asks for", "banks", "times"].map(str::to_owned).to_vec(),
        rows: Access::ALL.into_iter().map(row).collect(),
    }
}
