//! Copies, lane by lane, against the text of 9.7.16.9.2.

use ptx_draw::copies::{Copied, picture};
use ptx_draw::window::Window;
use ptx_isa::vocabulary::{CpShape, CtaGroup, WarpMulticast};

use crate::{ends, grids};

/// The row that a lane receives.
fn expected(shape: CpShape, multicast: Option<WarpMulticast>, lane: u32) -> u32 {
    let (warp, of_warp) = (lane / 32, lane % 32);
    match (shape, multicast) {
        (CpShape::S128x256b | CpShape::S128x128b, None) => lane,
        // "the data being copied is multicasted into all 4 warps"
        (CpShape::S32x128b, Some(WarpMulticast::Warpx4)) => of_warp,
        // "warps 0 and 2 form a pair; warps 1 and 3 form a pair"; "each warp in the warp pair receive half of the data"
        (CpShape::S64x128b, Some(WarpMulticast::Warpx2_02_13)) => [0, 32, 0, 32][warp as usize] + of_warp,
        (CpShape::S64x128b, Some(WarpMulticast::Warpx2_01_23)) => [0, 0, 32, 32][warp as usize] + of_warp,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_lane_receives_its_row() {
    let cases = [
        (CpShape::S128x256b, None),
        (CpShape::S128x128b, None),
        (CpShape::S32x128b, Some(WarpMulticast::Warpx4)),
        (CpShape::S64x128b, Some(WarpMulticast::Warpx2_02_13)),
        (CpShape::S64x128b, Some(WarpMulticast::Warpx2_01_23)),
    ];
    for (shape, multicast) in cases {
        let columns = if shape == CpShape::S128x256b { 8 } else { 4 };
        for decompressed in [None, Some(4), Some(6)] {
            let copied = Copied { shape, multicast, decompressed, cta_group: CtaGroup::One };
            let cells = picture(&copied, &Window::ALL).unwrap();
            let grid = grids(&cells)[0];
            assert_eq!(grid.rows.len(), 128);
            for (lane, row) in grid.rows.iter().enumerate() {
                assert_eq!(row.cells.len(), columns, "{shape}");
                for (column, cell) in row.cells.iter().enumerate() {
                    let (source, part) = cell.text.split_once(',').unwrap();
                    assert_eq!(source.parse::<u32>().unwrap(), expected(shape, multicast, lane as u32));
                    // Four bytes, or four elements of a byte each.
                    assert_eq!(ends(part), (4 * column as u32, 4 * column as u32 + 3));
                }
            }
            // The overview says the same of each band.
            let bands = picture(&copied, &Window::default()).unwrap();
            for row in &grids(&bands)[0].rows {
                let label = row.label.split(' ').next().unwrap();
                let (first, last) = ends(label);
                let (rows, _) = row.cells[0].text.strip_prefix("rows ").unwrap().split_once(',').unwrap();
                let wanted = (expected(shape, multicast, first), expected(shape, multicast, last));
                assert_eq!(ends(rows), wanted, "{shape}");
            }
        }
    }
}

/// 16 elements take 16 bytes in shared memory, padding included, and four columns.
#[test]
fn decompressed_rows() {
    for (bits, padding) in [(4, 8), (6, 4)] {
        let copied = Copied {
            shape: CpShape::S128x256b,
            multicast: None,
            decompressed: Some(bits),
            cta_group: CtaGroup::One,
        };
        let picture = picture(&copied, &Window::default()).unwrap();
        let row = grids(&picture)[1];
        let spans = |at: usize| -> Vec<(&str, u32)> {
            row.rows[at].cells.iter().map(|cell| (cell.text.as_str(), cell.span)).collect()
        };
        let each = bits / 2;
        let of_source =
            [("e0-3", each), ("e4-7", each), ("e8-11", each), ("e12-15", each), ("padding", padding)];
        assert_eq!(spans(0)[..5], of_source);
        assert_eq!(spans(0).iter().map(|(_, span)| span).sum::<u32>(), 32);
        assert_eq!(spans(1)[..4], [("e0-3", 4), ("e4-7", 4), ("e8-11", 4), ("e12-15", 4)]);
    }
}

#[test]
fn four_lanes_are_not_guessed() {
    let copied =
        Copied { shape: CpShape::S4x256b, multicast: None, decompressed: None, cta_group: CtaGroup::One };
    let picture = picture(&copied, &Window::default()).unwrap();
    assert_eq!(grids(&picture).len(), 1);
    assert!(picture.notes[0].contains("not which"), "{:?}", picture.notes);
}
