//! What `tcgen05.cp` copies to which cell (9.7.16.9).

use crate::error::DrawError;
use crate::isa::vocabulary::{CpShape, CtaGroup, WarpMulticast};
use crate::lines::span;
use crate::map::{Content, Map, WARP};
use crate::picture::{Block, Cell, Grid, Head, Ink, Line, Picture};
use crate::window::Window;

/// A copy from shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its shape.
    pub shape: CpShape,
    /// Which warps' lanes receive the same.
    pub multicast: Option<WarpMulticast>,
    /// Bits of the elements that become bytes, 4 or 6, if it decompresses.
    pub decompressed: Option<u32>,
    /// The CTAs that receive it.
    pub cta_group: CtaGroup,
}

/// The picture.
///
/// # Errors
/// When there is no such copy, or the window shows nothing or too much.
pub fn picture(copied: &Copied, window: &Window) -> Result<Picture, DrawError> {
    let Copied { shape, multicast, decompressed, cta_group } = *copied;
    check(shape, multicast)?;
    let names = if decompressed.is_some() { ["row", "element"] } else { ["row", "byte"] };
    let columns = shape.columns();
    let mut map = Map::new(columns, 1, names);
    for row in 0..shape.rows() {
        for lane in shape.lanes(multicast, row).into_iter().flatten() {
            for column in 0..columns {
                let content = Content { row, first: column * 4, count: 4, tone: row / WARP };
                map.put(lane, (column, 0), content);
            }
        }
    }
    let mut blocks = Vec::new();
    let mut notes = Vec::new();
    if shape.fills_lanes() {
        blocks.push(Block::Grid(map.grid("Tensor Memory, lanes and columns from taddr".to_owned(), window)?));
    } else {
        notes.push(
            "The ISA says of .4x256b that it writes 4 lanes, but not which; so no lanes are drawn."
                .to_owned(),
        );
    }
    blocks.push(Block::Grid(row_of(copied)));
    notes.push(format!(
        "The source is a K-major matrix of {} rows of {} bytes, where its descriptor says.",
        shape.rows(),
        columns * 4
    ));
    match multicast {
        Some(WarpMulticast::Warpx4) => {
            notes.push("Each of the four warps' lanes receives all rows.".to_owned());
        }
        Some(WarpMulticast::Warpx2_02_13) => notes.push(
            "The lanes of warps 0 and 2 receive rows 0 to 31, those of warps 1 and 3 rows 32 to 63."
                .to_owned(),
        ),
        Some(WarpMulticast::Warpx2_01_23) => notes.push(
            "The lanes of warps 0 and 1 receive rows 0 to 31, those of warps 2 and 3 rows 32 to 63."
                .to_owned(),
        ),
        None => {}
    }
    if let Some(bits) = decompressed {
        notes.push(format!(
            "16 elements of {bits} bits become bytes. Each stands in the middle of its byte: {} zero bit{} below it.",
            (8 - bits) / 2,
            if bits == 6 { "" } else { "s" }
        ));
    }
    if cta_group == CtaGroup::Two {
        notes.push(
            "Both CTAs of the pair receive it in their Tensor Memory, each from its own shared memory."
                .to_owned(),
        );
    }
    let suffix = multicast.map_or_else(String::new, |it| format!(".{it}"));
    let formats = match decompressed {
        Some(4) => ".b8x16.b4x16_p64",
        Some(_) => ".b8x16.b6x16_p32",
        None => "",
    };
    Ok(Picture {
        title: format!("tcgen05.cp.{cta_group}.{shape}{suffix}{formats}: which rows come to which lanes"),
        blocks,
        legend: Vec::new(),
        notes,
    })
}

fn check(shape: CpShape, multicast: Option<WarpMulticast>) -> Result<(), DrawError> {
    let allowed = shape.multicasts();
    let names: Vec<String> = allowed.iter().map(|it| format!("`.{it}`")).collect();
    match multicast {
        None if !allowed.is_empty() => Err(DrawError::helped(
            format!("`.{shape}` needs a multicast"),
            format!("add {} (9.7.16.9.2)", names.join(" or ")),
        )),
        Some(given) if !allowed.contains(&given) => Err(DrawError::helped(
            format!("`.{shape}` has no `.{given}`"),
            if names.is_empty() {
                "leave it out".to_owned()
            } else {
                format!("write {}", names.join(" or "))
            },
        )),
        _ => Ok(()),
    }
}

/// The bytes of a row: in shared memory, and in the columns of its lane.
fn row_of(copied: &Copied) -> Grid {
    let Copied { shape, decompressed, .. } = *copied;
    let bytes = shape.columns() * 4;
    let groups = bytes / 16;
    let mut source = Vec::new();
    let mut target = Vec::new();
    for group in 0..groups {
        let Some(bits) = decompressed else {
            for column in group * 4..group * 4 + 4 {
                let cell = || Cell::new(format!("bytes {}", span(column * 4, 4)), Ink::tone(column)).over(4);
                source.push(cell());
                target.push(cell());
            }
            continue;
        };
        // Four columns of the target have 16 elements; in the source these fill 2 * bits bytes.
        for part in 0..4 {
            let elements = format!("e{}", span(group * 16 + part * 4, 4));
            source.push(Cell::new(elements.clone(), Ink::tone(part)).over(bits / 2));
            target.push(Cell::new(elements, Ink::tone(part)).over(4));
        }
        source.push(Cell::new("padding", Ink::Empty).over(16 - 2 * bits));
    }
    let columns =
        (0..shape.columns()).map(|column| Cell::new(format!("column {column}"), Ink::Plain).over(4));
    Grid {
        title: "A row, byte by byte".to_owned(),
        corner: "byte".to_owned(),
        heads: (0..bytes).map(|byte| Head { text: byte.to_string(), span: 1 }).collect(),
        rows: vec![
            Line { label: "shared memory".to_owned(), cells: source },
            Line { label: "Tensor Memory".to_owned(), cells: target },
            Line { label: String::new(), cells: columns.collect() },
        ],
        fold: 16,
    }
}
